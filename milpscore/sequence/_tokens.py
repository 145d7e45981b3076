"""Sequences as users give them, checked and brought into columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from numbers import Real
from typing import Any

import numpy as np

from milpscore.core.design import IntArray
from milpscore.core.errors import DataError
from milpscore.sequence._data import pointer

# Also what NumPy makes of them.
_SEQUENCES = (list, tuple, np.ndarray)


@dataclass(frozen=True, eq=False)
class Column:
    """One aligned sequence of tokens, all sequences end to end.

    Attributes
    ----------
    values : list of str
        Distinct tokens.
    codes : int64 array of shape (T,)
        Which of them stands at each position.
    """

    values: list[str]
    codes: IntArray


@dataclass(frozen=True, eq=False)
class Tokens:
    """Sequences of columns, or of named features.

    Attributes
    ----------
    offsets : int64 array of shape (N + 1,)
        Sequence i holds the positions offsets[i]:offsets[i+1].
    columns : tuple of Column
        Empty where there are named features, and where there is no position at all.
    features : Occurrences or None
        The named features, where positions are mappings.
    """

    offsets: IntArray
    columns: tuple[Column, ...]
    features: Occurrences | None = None

    @property
    def n_positions(self) -> int:
        """Positions of all sequences together."""
        return int(self.offsets[-1])


@dataclass(frozen=True, eq=False)
class Occurrences:
    """Which observations were made where.

    Attributes
    ----------
    names : list of str
        Distinct.
    positions, codes : int64 arrays of shape (k,)
        The observation ``names[codes[i]]`` was made at ``positions[i]``.
    """

    names: list[str]
    positions: IntArray
    codes: IntArray


def as_tokens(X: Any) -> Tokens:
    """Check sequences and bring them into columns.

    Parameters
    ----------
    X : list of sequences
        Each a list of texts (one column), of tuples or lists of texts (as many columns
        everywhere), or of mappings name -> text, truth value, 0 or 1.

    Raises
    ------
    DataError
        They are none of these, or are mixed; the message names the sequence.
    """
    lengths = _lengths(X, "X")
    offsets = pointer(lengths)
    flat = list(chain.from_iterable(X))
    if not flat:
        return Tokens(offsets, ())
    first = flat[0]
    if isinstance(first, Mapping):
        _all_of(flat, Mapping, offsets)
        return Tokens(offsets, (), _named_features(flat, offsets))
    if isinstance(first, str):
        _all_of(flat, str, offsets)
        return Tokens(offsets, (_column(flat),))
    _all_of(flat, _SEQUENCES, offsets)
    widths = np.fromiter(map(len, flat), dtype=np.int64, count=len(flat))
    uneven = np.flatnonzero(widths != widths[0])
    if uneven.size or widths[0] == 0:
        at = int(uneven[0]) if uneven.size else 0
        raise DataError(
            f"{_place(at, offsets)} has {widths[at]} columns where the first position has "
            f"{widths[0]}: give every position the same columns, at least one"
        )
    columns = list(zip(*flat, strict=True))
    for column in columns:
        _all_of(column, str, offsets)
    return Tokens(offsets, tuple(map(_column, columns)))


def check_labels(y: Any, offsets: IntArray, name: str = "y") -> list[str]:
    """The labels of all positions end to end.

    Parameters
    ----------
    y : list of lists of str
    offsets : ndarray of shape (N + 1,)
        Of the sequences they belong to.
    name : str
        What messages call them.

    Raises
    ------
    DataError
        There are not as many sequences or labels, or a label is no text.
    """
    lengths = _lengths(y, name)
    wanted = np.diff(offsets)
    if len(lengths) != len(wanted):
        raise DataError(
            f"{name} has {len(lengths)} sequences of labels for {len(wanted)} sequences: give one "
            "list of labels a sequence"
        )
    wrong = np.flatnonzero(lengths != wanted)
    if wrong.size:
        raise DataError(
            f"sequence {wrong[0]} has {wanted[wrong[0]]} positions and {lengths[wrong[0]]} labels "
            f"in {name}: give one label a position"
        )
    flat = list(chain.from_iterable(y))
    _all_of(flat, str, offsets, "label")
    return [str(label) for label in flat]


def in_sequences(flat: Sequence[Any], offsets: IntArray) -> list[list[Any]]:
    """Cut what stands end to end into its sequences."""
    bounds = offsets.tolist()
    return [list(flat[a:b]) for a, b in pairwise(bounds)]


def _lengths(given: Any, name: str) -> IntArray:
    """Lengths of the sequences of a list."""
    if not isinstance(given, _SEQUENCES):
        raise DataError(f"{name} must be a list of sequences, got {type(given).__name__}")
    for number, sequence in enumerate(given):
        if not isinstance(sequence, _SEQUENCES):
            hint = f"; use list({name}[{number}])" if isinstance(sequence, str) else ""
            raise DataError(
                f"{name}[{number}] is a {type(sequence).__name__}, not a list of positions: "
                f"{name} is a list of sequences, each a list{hint}"
            )
    return np.fromiter(map(len, given), dtype=np.int64, count=len(given))


def _all_of(flat: Sequence[Any], wanted: Any, offsets: IntArray, what: str = "token") -> None:
    """Refuse the first entry that is of another kind."""
    if all(issubclass(kind, wanted) for kind in set(map(type, flat))):
        return
    at = next(number for number, entry in enumerate(flat) if not isinstance(entry, wanted))
    expected = {str: "a text", Mapping: "a mapping of features"}.get(wanted, "a tuple of columns")
    raise DataError(
        f"{_place(at, offsets)}: the {what} {flat[at]!r} is a {type(flat[at]).__name__} where "
        f"{expected} was expected; use one kind throughout, and str() for texts"
    )


def _place(at: int, offsets: IntArray) -> str:
    """Sequence and position of a position counted from the very first."""
    sequence = int(np.searchsorted(offsets, at, side="right")) - 1
    return f"sequence {sequence}, position {at - offsets[sequence]}"


def _column(tokens: Sequence[str]) -> Column:
    import pandas as pd

    # np.array would cut trailing NUL characters off texts
    values = np.empty(len(tokens), dtype=object)
    values[:] = tokens
    codes, distinct = pd.factorize(values)
    return Column([str(value) for value in distinct], codes.astype(np.int64))


def _named_features(flat: Sequence[Mapping[str, Any]], offsets: IntArray) -> Occurrences:
    """Features as sklearn-crfsuite reads them: ``name:text``, or ``name`` where true."""
    table: dict[str, int] = {}
    positions: list[int] = []
    codes: list[int] = []
    for at, features in enumerate(flat):
        for name, value in features.items():
            text = _feature(name, value, at, offsets)
            if text is not None:
                positions.append(at)
                codes.append(table.setdefault(text, len(table)))
    return Occurrences(list(table), np.array(positions, np.int64), np.array(codes, np.int64))


def _feature(name: Any, value: Any, at: int, offsets: IntArray) -> str | None:
    """The observation of one named feature; None where it is false."""
    if not isinstance(name, str):
        raise DataError(f"{_place(at, offsets)}: the feature name {name!r} is no text; use str()")
    if isinstance(value, str):
        return f"{name}:{value}"
    if isinstance(value, bool | np.bool_) or (isinstance(value, Real) and value in (0, 1)):
        return name if value else None
    kind = "the number" if isinstance(value, Real) else f"a {type(value).__name__},"
    raise DataError(
        f"{_place(at, offsets)}: the feature {name!r} is {kind} {value!r}; features are texts, "
        "truth values, 0 or 1: cut numbers into classes (say 'long'), spell lists out as names"
    )
