"""The weights of a CRF under the names people know: observations and labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from milpscore.core.design import FloatArray, IntArray
from milpscore.sequence._data import Layout
from milpscore.sequence._vocabulary import Vocabulary

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, eq=False)
class Weights:
    """Parameters, and what each of them belongs to.

    Attributes
    ----------
    theta : ndarray of shape (n_parameters,)
        See :class:`milpscore.sequence.Layout`.
    labels : tuple of str
    unigrams, bigrams : Vocabulary
    plain : str or None
        Name of the bigram observation that holds at every position.
    """

    theta: FloatArray
    labels: tuple[str, ...]
    unigrams: Vocabulary
    bigrams: Vocabulary
    plain: str | None

    @property
    def layout(self) -> Layout:
        """Where each parameter stands."""
        return Layout(len(self.unigrams), len(self.bigrams), len(self.labels))

    def state_features(self) -> dict[tuple[str, str], float]:
        """(observation, label) -> weight, those that are not zero."""
        mu, _ = self.layout.split(self.theta)
        return {(self.unigrams.names[x], self.labels[y]): float(mu[x, y]) for x, y in _nonzero(mu)}

    def transition_features(self) -> dict[tuple[str, str], float]:
        """(label before, label) -> weight of the plain bigram, those that are not zero."""
        at = self.bigrams.numbers.get(self.plain) if self.plain is not None else None
        if at is None:
            return {}
        plain = self.layout.split(self.theta)[1][at]
        return {
            (self.labels[before], self.labels[y]): float(plain[before, y])
            for before, y in _nonzero(plain)
        }

    def bigram_features(self) -> dict[tuple[str, str, str], float]:
        """(observation, label before, label) -> weight, the plain bigram and zeros left out."""
        _, lam = self.layout.split(self.theta)
        names = self.bigrams.names
        return {
            (names[x], self.labels[before], self.labels[y]): float(lam[x, before, y])
            for x, before, y in _nonzero(lam)
            if names[x] != self.plain
        }

    def table(self, top: int | None = None) -> DataFrame:
        """Active features by falling |weight|, ties in the order of theta.

        Parameters
        ----------
        top : int, optional
            At most so many.

        Returns
        -------
        DataFrame
            Columns ``observation``, ``label_before`` (None for unigrams), ``label``, ``weight``.
        """
        import pandas as pd

        active = np.flatnonzero(self.theta)
        active = active[np.argsort(-np.abs(self.theta[active]), kind="stable")][:top]
        observation, before, label = self._places(active)
        return pd.DataFrame(
            {
                "observation": observation,
                "label_before": pd.Series(before, dtype=object),
                "label": label,
                "weight": self.theta[active],
            }
        )

    def lines(self, top: int | None = None) -> Iterator[str]:
        """One line an active feature: observation, label before (# for unigrams), label, weight.

        Parted by tabs, sorted as :meth:`table`; the columns are those of Wapiti's dump.
        """
        table = self.table(top)
        columns = (table[name].tolist() for name in table)
        for observation, before, label, weight in zip(*columns, strict=True):
            yield f"{observation}\t{'#' if before is None else before}\t{label}\t{weight!r}"

    def moved_to(
        self, labels: Sequence[str], unigrams: Vocabulary, bigrams: Vocabulary
    ) -> FloatArray:
        """The same weights for other vocabularies, zero for what is new there."""
        layout = Layout(len(unigrams), len(bigrams), len(labels))
        theta = layout.zeros()
        mu, lam = layout.split(theta)
        old_mu, old_lam = self.layout.split(self.theta)
        numbers = {label: at for at, label in enumerate(labels)}
        y_from, y_to = _common(self.labels, numbers)
        u_from, u_to = _common(self.unigrams.names, unigrams.numbers)
        b_from, b_to = _common(self.bigrams.names, bigrams.numbers)
        mu[np.ix_(u_to, y_to)] = old_mu[np.ix_(u_from, y_from)]
        lam[np.ix_(b_to, y_to, y_to)] = old_lam[np.ix_(b_from, y_from, y_from)]
        return theta

    def compact(self) -> Weights:
        """The same model without the observations that have no active feature."""
        mu, lam = self.layout.split(self.theta)
        unigrams = _kept(self.unigrams, mu.any(axis=1))
        bigrams = _kept(self.bigrams, lam.any(axis=(1, 2)))
        theta = self.moved_to(self.labels, unigrams, bigrams)
        return Weights(theta, self.labels, unigrams, bigrams, self.plain)

    def _places(self, at: IntArray) -> tuple[list[str], list[str | None], list[str]]:
        """Observation, label before and label of parameters."""
        n_labels, n_mu = len(self.labels), self.layout.n_mu
        names = [*self.unigrams.names, *self.bigrams.names]
        later = at - n_mu
        single = later < 0
        x = np.where(single, at // n_labels, len(self.unigrams) + later // n_labels**2)
        before = np.where(single, -1, later // n_labels % n_labels)
        label = np.where(single, at % n_labels, later % n_labels)
        return (
            [names[i] for i in x.tolist()],
            [None if i < 0 else self.labels[i] for i in before.tolist()],
            [self.labels[i] for i in label.tolist()],
        )


def _nonzero(values: FloatArray) -> list[list[int]]:
    found: list[list[int]] = np.argwhere(values).tolist()
    return found


def _common(names: Sequence[str], numbers: dict[str, int]) -> tuple[IntArray, IntArray]:
    """Where the names that both sides know stand on each."""
    pairs = [(at, numbers[name]) for at, name in enumerate(names) if name in numbers]
    both = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def _kept(vocabulary: Vocabulary, mask: Any) -> Vocabulary:
    return Vocabulary(tuple(vocabulary.names[at] for at in np.flatnonzero(mask).tolist()))
