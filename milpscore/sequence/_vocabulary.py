"""Observations: what patterns see at each position, and the numbers it gets in training."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import compress

import numpy as np

from milpscore.core.design import IntArray
from milpscore.sequence._data import pointer
from milpscore.sequence._patterns import Pattern, Reference
from milpscore.sequence._tokens import Column, Occurrences, Tokens

PLAIN = "b"
"""The plain bigram of data with named features."""


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Observations by number, as training saw them; never grows.

    Attributes
    ----------
    names : tuple of str
        Distinct.
    """

    names: tuple[str, ...]

    @classmethod
    def learn(cls, seen: Occurrences, min_count: int = 1) -> Vocabulary:
        """The observations made at ``min_count`` positions or more, in order of their numbers."""
        at = _distinct(seen.positions, seen.codes, len(seen.names))[1]
        often = np.bincount(at, minlength=len(seen.names)) >= max(min_count, 1)
        return cls(tuple(compress(seen.names, often.tolist())))

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Name -> number."""
        return {name: number for number, name in enumerate(self.names)}

    def encode(self, seen: Occurrences, n_positions: int) -> tuple[IntArray, IntArray]:
        """CSR of the known observations at each position; unknown ones are dropped.

        An observation made twice at a position counts once: the features are indicators.

        Parameters
        ----------
        seen : Occurrences
        n_positions : int

        Returns
        -------
        ptr : int64 array of shape (n_positions + 1,)
        ids : int32 array
            Sorted within each position.
        """
        numbers = self.numbers
        lookup = np.array([numbers.get(name, -1) for name in seen.names], dtype=np.int64)
        ids = lookup[seen.codes] if len(lookup) else seen.codes
        known = ids >= 0
        positions, ids = _distinct(seen.positions[known], ids[known], max(len(self), 1))
        ptr = pointer(np.bincount(positions, minlength=n_positions))
        return ptr, ids.astype(np.int32)


def observe(patterns: Iterable[Pattern], tokens: Tokens) -> tuple[Occurrences, Occurrences]:
    """All unigram and all bigram observations of some sequences.

    The first position of a sequence has no bigram observations: there is no label before it.

    Parameters
    ----------
    patterns : iterable of Pattern
        For named features these are not needed: every feature is a unigram, and there is one
        plain bigram.
    tokens : Tokens

    Returns
    -------
    unigrams, bigrams : Occurrences
    """
    inner = np.ones(tokens.n_positions, dtype=bool)
    inner[tokens.offsets[:-1][np.diff(tokens.offsets) > 0]] = False
    if not tokens.n_positions:
        return _merged((), inner), _merged((), inner)
    if tokens.features is not None:
        return tokens.features, _everywhere(PLAIN, np.flatnonzero(inner))
    shifted = _Shifted(tokens)
    found = [(pattern.kind, _expand(pattern, shifted)) for pattern in patterns]
    everywhere = np.ones(tokens.n_positions, dtype=bool)
    return (
        _merged((seen for kind, seen in found if kind in "u*"), everywhere),
        _merged((seen for kind, seen in found if kind in "b*"), inner),
    )


class _Shifted:
    """Columns moved by some rows, with padding beyond both ends of each sequence."""

    def __init__(self, tokens: Tokens) -> None:
        self._columns = tokens.columns
        self.n_positions = tokens.n_positions
        lengths = np.diff(tokens.offsets)
        self._at = np.arange(self.n_positions)
        self._starts = np.repeat(tokens.offsets[:-1], lengths)
        self._ends = np.repeat(tokens.offsets[1:], lengths)

    def answers(self, reference: Reference) -> Column:
        """What a reference gives at each position; each distinct token is looked at once."""
        column = self._columns[reference.column]
        source = self._at + reference.row
        before, after = self._starts - source, source - self._ends + 1
        inside = (before <= 0) & (after <= 0)
        n, reach = len(column.values), abs(reference.row)
        codes = np.where(before > 0, n + before - 1, n + reach + after - 1)
        codes[inside] = column.codes[source[inside]]
        texts = [reference.answer(token) for token in column.values]
        texts += [reference.beyond(f"_B-{rows}") for rows in range(1, reach + 1)]
        texts += [reference.beyond(f"_B+{rows}") for rows in range(1, reach + 1)]
        return _renumbered(texts.__getitem__, codes)


def _expand(pattern: Pattern, shifted: _Shifted) -> Column:
    """The observation of one pattern at each position."""
    texts, codes = [""], np.zeros(shifted.n_positions, dtype=np.int64)
    for part in pattern.parts:
        if isinstance(part, str):
            texts = [text + part for text in texts]
            continue
        answer = shifted.answers(part)
        width = len(answer.values)
        joined = _renumbered(_joining(texts, answer.values), codes * max(width, 1) + answer.codes)
        texts, codes = joined.values, joined.codes
    return Column(texts, codes)


def _joining(left: list[str], right: list[str]) -> Callable[[int], str]:
    """The text of a pair's number."""
    return lambda pair: left[pair // len(right)] + right[pair % len(right)]


def _renumbered(text_of: Callable[[int], str], codes: IntArray) -> Column:
    """Texts for the codes that occur, equal ones under one number, by first appearance."""
    import pandas as pd

    compact, distinct = pd.factorize(codes)
    table: dict[str, int] = {}
    numbers = [table.setdefault(text_of(code), len(table)) for code in distinct.tolist()]
    return Column(list(table), np.array(numbers, dtype=np.int64)[compact])


def _merged(columns: Iterable[Column], where: np.ndarray) -> Occurrences:
    """Observations of several patterns under one numbering; equal names are one observation."""
    at = np.flatnonzero(where)
    table: dict[str, int] = {}
    codes = []
    for column in columns:
        numbers = [table.setdefault(name, len(table)) for name in column.values]
        codes.append(np.array(numbers, dtype=np.int64)[column.codes[at]])
    if not codes:
        return Occurrences([], np.zeros(0, np.int64), np.zeros(0, np.int64))
    return Occurrences(list(table), np.tile(at, len(codes)), np.concatenate(codes))


def _everywhere(name: str, positions: IntArray) -> Occurrences:
    return Occurrences([name], positions, np.zeros(len(positions), dtype=np.int64))


def _distinct(positions: IntArray, ids: IntArray, size: int) -> tuple[IntArray, IntArray]:
    """Distinct pairs in order."""
    pairs = np.unique(positions * size + ids)
    return pairs // max(size, 1), pairs % max(size, 1)
