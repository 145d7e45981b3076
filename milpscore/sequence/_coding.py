"""From sequences of texts to numbers and back: patterns, vocabularies and labels together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from milpscore.core.design import IntArray
from milpscore.core.errors import DataError, OptionError
from milpscore.sequence._data import SequenceData
from milpscore.sequence._patterns import Pattern, PatternSource, parse_patterns, resolve_patterns
from milpscore.sequence._tokens import Tokens, as_tokens, check_labels, in_sequences
from milpscore.sequence._vocabulary import PLAIN, Vocabulary, observe


@dataclass(frozen=True, eq=False)
class Coding:
    """How a model reads sequences; fixed by training.

    Attributes
    ----------
    n_columns : int or None
        None where positions are mappings of named features.
    patterns : tuple of Pattern
        Empty for named features.
    unigrams, bigrams : Vocabulary
    labels : tuple of str
        Sorted.
    """

    n_columns: int | None
    patterns: tuple[Pattern, ...]
    unigrams: Vocabulary
    bigrams: Vocabulary
    labels: tuple[str, ...]

    @classmethod
    def learn(
        cls, X: Any, y: Any, patterns: PatternSource | None, min_count: int
    ) -> tuple[Coding, SequenceData]:
        """The coding of training data, and the data in it.

        Raises
        ------
        DataError
            The sequences, labels or patterns cannot be used, or there is no position.
        OptionError
            Patterns are given for named features.
        """
        tokens = as_tokens(X)
        labels = check_labels(y, tokens.offsets)
        if not labels:
            raise DataError("there is no position to learn from: give sequences that are not empty")
        used: tuple[Pattern, ...] = ()
        if tokens.features is None:
            used = resolve_patterns(patterns, len(tokens.columns))
        elif patterns is not None:
            raise OptionError(
                "patterns look at columns, but the positions are mappings of named features, which "
                "are observations already: drop patterns, or give tuples of columns"
            )
        unigrams, bigrams = observe(used, tokens)
        coding = cls(
            None if tokens.features is not None else len(tokens.columns),
            used,
            Vocabulary.learn(unigrams, min_count),
            Vocabulary.learn(bigrams, min_count),
            tuple(sorted(set(labels))),
        )
        if not len(coding.unigrams) + len(coding.bigrams):
            raise DataError(
                f"no observation is made at {min_count} positions or more: lower min_count, or "
                "write other patterns"
            )
        return coding, coding.data(tokens, labels)

    @property
    def plain(self) -> str | None:
        """Name of the bigram observation that holds everywhere, if there is one."""
        if self.n_columns is None:
            return PLAIN
        names = (
            "".join(part for part in pattern.parts if isinstance(part, str))
            for pattern in self.patterns
            if pattern.plain and pattern.kind != "u"
        )
        return next(names, None)

    def encode(self, X: Any, y: Any = None, name: str = "y") -> SequenceData:
        """Sequences in this coding; what training never saw is dropped, such labels are -1.

        Parameters
        ----------
        X : list of sequences
        y : list of lists of str, optional
        name : str
            What messages call the labels.

        Raises
        ------
        DataError
            They cannot be used, or are of another shape than in training.
        """
        tokens = as_tokens(X)
        if tokens.n_positions:
            self._check_shape(tokens)
        return self.data(tokens, None if y is None else check_labels(y, tokens.offsets, name))

    def data(self, tokens: Tokens, labels: list[str] | None) -> SequenceData:
        """Checked sequences in numbers."""
        unigrams, bigrams = observe(self.patterns, tokens)
        unigram_ptr, unigram_ids = self.unigrams.encode(unigrams, tokens.n_positions)
        bigram_ptr, bigram_ids = self.bigrams.encode(bigrams, tokens.n_positions)
        numbers = {label: number for number, label in enumerate(self.labels)}
        codes = None
        if labels is not None:
            codes = np.array([numbers.get(label, -1) for label in labels], dtype=np.int32)
        return SequenceData(
            offsets=tokens.offsets,
            unigram_ptr=unigram_ptr,
            unigram_ids=unigram_ids,
            bigram_ptr=bigram_ptr,
            bigram_ids=bigram_ids,
            n_unigrams=len(self.unigrams),
            n_bigrams=len(self.bigrams),
            n_labels=len(self.labels),
            labels=codes,
        )

    def spell(self, codes: npt.NDArray[np.integer[Any]], offsets: IntArray) -> list[list[str]]:
        """Labels of all positions as texts, sequence by sequence."""
        return in_sequences([self.labels[code] for code in codes.tolist()], offsets)

    def to_json(self) -> dict[str, Any]:
        """What, beside vocabularies and labels, makes the coding."""
        return {"n_columns": self.n_columns, "patterns": [p.line for p in self.patterns]}

    @classmethod
    def from_json(
        cls,
        content: dict[str, Any],
        unigrams: Vocabulary,
        bigrams: Vocabulary,
        labels: tuple[str, ...],
    ) -> Coding:
        """The inverse of :meth:`to_json`.

        Raises
        ------
        KeyError, TypeError, DataError
            The content is damaged.
        """
        lines, n_columns = content["patterns"], content["n_columns"]
        patterns = parse_patterns(lines, "the model's patterns") if lines else ()
        if n_columns is not None and not isinstance(n_columns, int):
            raise TypeError(f"{n_columns!r} is no number of columns")
        return cls(n_columns, patterns, unigrams, bigrams, labels)

    def _check_shape(self, tokens: Tokens) -> None:
        found = None if tokens.features is not None else len(tokens.columns)
        if found != self.n_columns:
            raise DataError(
                f"the model was trained on {_shape(self.n_columns)}, these sequences have "
                f"{_shape(found)}: give positions as in training"
            )


def _shape(n_columns: int | None) -> str:
    if n_columns is None:
        return "named features"
    return "1 column" if n_columns == 1 else f"{n_columns} columns"
