"""``Tagger``: what labels sequences, without what is needed to learn it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Self

from milpscore.core.design import FloatArray
from milpscore_sequence._data import SequenceData
from milpscore_sequence._files import ModelFile, read_model
from milpscore_sequence.coding import Coding, Weights, in_sequences, uncollected
from milpscore_sequence.inference import n_best, posterior_marginals, viterbi

if TYPE_CHECKING:
    from pandas import DataFrame


class Tagger:
    """A fitted linear-chain CRF that labels sequences; :class:`SparseCRF` learns one.

    Loading and applying it imports neither scikit-learn nor pandas.

    Attributes
    ----------
    coding_ : Coding
        Patterns, vocabularies and labels.
    theta_ : ndarray of shape (n_features_,)
        All weights; see :class:`Layout`.
    n_columns_ : int or None
        Columns of a position; None for named features.
    """

    coding_: Coding
    theta_: FloatArray

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model written by :meth:`SparseCRF.save`.

        Raises
        ------
        DataError
            The file cannot be read, is not a model or damaged, or a newer milpscore wrote it.
        """
        return read_model(path, cls._of_file)

    @classmethod
    def _of_file(cls, content: ModelFile, **parameters: Any) -> Self:
        """The model of a file."""
        model = cls(**parameters)
        model.coding_, model.theta_ = content.weights.coding, content.weights.theta
        return model

    def _fitted(self) -> Coding:
        """The coding."""
        return self.coding_

    def predict(self, X: Any) -> list[list[str]]:
        """The most probable labels of each sequence.

        Parameters
        ----------
        X : list of sequences
            As in ``fit``; observations that training never saw are left out.

        Raises
        ------
        DataError
            They are of another shape than in training.
        """
        with uncollected():
            data = self.encode(X)
            labels, codes = self.coding_.labels, viterbi(data, self.theta_).tolist()
            return in_sequences([labels[code] for code in codes], data.offsets)

    def predict_marginals(self, X: Any) -> list[list[dict[str, float]]]:
        """The probability of every label at every position.

        Parameters
        ----------
        X : list of sequences

        Returns
        -------
        list of lists of dict
            Label -> p(y_t = label | x).
        """
        data = self.encode(X)
        labels = self.coding_.labels
        rows = posterior_marginals(data, self.theta_).tolist()
        flat = [dict(zip(labels, row, strict=True)) for row in rows]
        return in_sequences(flat, data.offsets)

    def predict_n_best(self, X: Any, k: int) -> list[list[tuple[list[str], float]]]:
        """The k most probable labellings of each sequence, best first.

        Parameters
        ----------
        X : list of sequences
        k : int

        Returns
        -------
        list of lists of (labels, probability)
            Fewer than k where there are no more.

        Raises
        ------
        OptionError
            ``k`` is below 1.
        """
        labels = self._fitted().labels
        return [
            [
                ([labels[code] for code in one.labels.tolist()], one.probability)
                for one in labellings
            ]
            for labellings in n_best(self.encode(X), self.theta_, k)
        ]

    def encode(self, X: Any, y: Any = None) -> SequenceData:
        """Sequences in numbers, for the functions of :mod:`milpscore_sequence`.

        Parameters
        ----------
        X : list of sequences
        y : list of lists of str, optional
        """
        return self._fitted().encode(X, y)

    @property
    def weights_(self) -> Weights:
        """The weights with their names."""
        return Weights(self.theta_, self._fitted())

    @property
    def n_columns_(self) -> int | None:
        """Columns of a position; None for named features."""
        return self._fitted().n_columns

    def features(self, top: int | None = None) -> DataFrame:
        """Active features by falling |weight|: observation, label_before, label, weight.

        Parameters
        ----------
        top : int, optional
            Maximal number.
        """
        import pandas as pd

        columns = list(zip(*self.weights_.named(top), strict=True)) or [()] * 4
        kinds = {"observation": object, "label_before": object, "label": object, "weight": float}
        series = zip(kinds.items(), columns, strict=True)
        return pd.DataFrame({name: pd.Series(c, dtype=kind) for (name, kind), c in series})

    def dump(self, top: int | None = None) -> Iterator[str]:
        """The same as lines, parted by tabs; a # stands for the label before of unigrams.

        Parameters
        ----------
        top : int, optional
            Maximal number.
        """
        for x, before, y, weight in self.weights_.named(top):
            yield f"{x}\t{'#' if before is None else before}\t{y}\t{weight!r}"
