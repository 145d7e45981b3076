"""From sequences of texts to numbers and back: tokens, vocabularies, labels, named weights."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, compress, pairwise, repeat
from numbers import Real
from operator import itemgetter
from typing import Any

import numpy as np

from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import DataError, OptionError
from milpscore_sequence._data import Layout, SequenceData, first_seen, pointer
from milpscore_sequence.patterns import (
    Pattern,
    PatternSource,
    Reference,
    parse_patterns,
    resolve_patterns,
)

PLAIN = "b"
"""The plain bigram of data with named features."""

# Positions laid out at once: all their columns stay in the cache.
_BLOCK = 4096
# Also what NumPy makes of them.
_SEQUENCES = (list, tuple, np.ndarray)


@dataclass(frozen=True, eq=False)
class Column:
    """Aligned tokens of all positions: distinct ``values``, and ``codes`` (T,) into them."""

    values: list[str]
    codes: IntArray


@dataclass(frozen=True, eq=False)
class Occurrences:
    """Observations made: ``names[codes[i]]`` (names distinct) at ``positions[i]``, shapes (k,)."""

    names: list[str]
    positions: IntArray
    codes: IntArray
    rising: bool = False  # positions never fall, and codes rise within one: none is held twice


@dataclass(frozen=True, eq=False)
class Tokens:
    """Sequences of columns, or of named features; sequence i holds offsets[i]:offsets[i+1]."""

    offsets: IntArray
    columns: tuple[Column, ...]  # empty where there are named features, or no position at all
    features: Occurrences | None = None

    @property
    def n_positions(self) -> int:
        """Positions of all sequences together."""
        return int(self.offsets[-1])

    @cached_property
    def bounds(self) -> tuple[IntArray, IntArray]:
        """Where the sequence of each position begins, and ends."""
        lengths = np.diff(self.offsets)
        return np.repeat(self.offsets[:-1], lengths), np.repeat(self.offsets[1:], lengths)


def as_tokens(X: Any) -> Tokens:
    """Check sequences and bring them into columns."""
    # Each is a list of texts (one column), of tuples or lists of texts (as many columns in all), or
    # of mappings name -> text, truth value, 0 or 1; a DataError names the sequence that is not.
    offsets = pointer(_lengths(X, "X"))
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
    # `read_sequences` gives lines that are equal as one tuple
    rows, codes = same_objects(flat)
    _all_of(rows, _SEQUENCES, offsets, codes)
    widths = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
    uneven = np.flatnonzero(widths != widths[0])
    if uneven.size or widths[0] == 0:
        at = int(uneven[0]) if uneven.size else 0
        raise DataError(
            f"{_place(at, offsets, codes)} has {widths[at]} columns where the first position has "
            f"{widths[0]}: give every position the same columns, at least one"
        )
    columns = [list(map(itemgetter(k), rows)) for k in range(widths[0])]
    for column in columns:
        _all_of(column, str, offsets, codes)
    return Tokens(offsets, tuple(_column(column, codes) for column in columns))


def check_labels(y: Any, offsets: IntArray, name: str = "y") -> Column:
    """The labels of all positions end to end; DataError where ``name`` does not fit the offsets."""
    lengths = _lengths(y, name)
    wanted = np.diff(offsets)
    if len(lengths) != len(wanted):
        raise DataError(
            f"{name} has {len(lengths)} sequences of labels for {len(wanted)} sequences: give one "
            "list of labels for each sequence"
        )
    wrong = np.flatnonzero(lengths != wanted)
    if wrong.size:
        raise DataError(
            f"sequence {wrong[0]} has {wanted[wrong[0]]} positions and {lengths[wrong[0]]} labels "
            f"in {name}: give each position one label"
        )
    flat = list(chain.from_iterable(y))
    _all_of(flat, str, offsets, what="label")
    return _column(flat)


@contextmanager
def uncollected() -> Iterator[None]:
    """Look for no garbage inside: among many tuples a third of the time would go into that."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def in_sequences(flat: list[Any], offsets: IntArray) -> list[list[Any]]:
    """Cut what stands end to end into its sequences."""
    return [flat[a:b] for a, b in pairwise(offsets.tolist())]


class _Numbers(dict[Any, int]):
    """Numbers keys as they come."""

    def __missing__(self, key: Any) -> int:
        self[key] = number = len(self)
        return number


def numbered(values: Sequence[Any]) -> tuple[list[Any], IntArray]:
    """The distinct values in the order in which they come, and which of them each is."""
    table = _Numbers()
    codes = np.fromiter(map(table.__getitem__, values), np.int64, count=len(values))
    return list(table), codes


def same_objects(values: Sequence[Any]) -> tuple[list[Any], IntArray]:
    """`numbered` of whatever objects, each equal to itself alone."""
    ids, codes = numbered(list(map(id, values)))
    held = np.empty(len(ids), dtype=np.int64)
    held[codes] = np.arange(len(values))
    return [values[at] for at in held.tolist()], codes


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


def _all_of(
    values: Sequence[Any],
    wanted: Any,
    offsets: IntArray,
    codes: IntArray | None = None,
    what: str = "token",
) -> None:
    """Refuse the first entry that is of another kind; position i holds values[codes[i]]."""
    if all(issubclass(kind, wanted) for kind in set(map(type, values))):
        return
    at = next(number for number, entry in enumerate(values) if not isinstance(entry, wanted))
    expected = {str: "a text", Mapping: "a mapping of features"}.get(wanted, "a tuple of columns")
    raise DataError(
        f"{_place(at, offsets, codes)}: the {what} {values[at]!r} is a "
        f"{type(values[at]).__name__} where {expected} was expected; use one kind throughout, and "
        "str() for texts"
    )


def _place(at: int, offsets: IntArray, codes: IntArray | None = None) -> str:
    """Sequence and position of a position counted from the very first, or first of a code."""
    at = at if codes is None else int(np.argmax(codes == at))
    sequence = int(np.searchsorted(offsets, at, side="right")) - 1
    return f"sequence {sequence}, position {at - offsets[sequence]}"


def _column(tokens: Sequence[str], codes: IntArray | None = None) -> Column:
    """The distinct texts, and which of them stands at each position (tokens[codes[i]])."""
    values, own = numbered(tokens)
    return Column(list(map(str, values)), own if codes is None else own[codes])


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
        raise DataError(f"{_place(at, offsets)}: the feature name {name!r} is not text; use str()")
    if isinstance(value, str):
        return f"{name}:{value}"
    if isinstance(value, bool | np.bool_) or (isinstance(value, Real) and value in (0, 1)):
        return name if value else None
    kind = "the number" if isinstance(value, Real) else f"a {type(value).__name__},"
    raise DataError(
        f"{_place(at, offsets)}: the feature {name!r} is {kind} {value!r}; features are texts, "
        "truth values, 0 or 1: cut numbers into classes (say 'long'), spell lists out as names"
    )


def observe(patterns: Iterable[Pattern], tokens: Tokens) -> tuple[Occurrences, Occurrences]:
    """All unigram and all bigram observations of some sequences."""
    # The first position of a sequence has no bigram observations: there is no label before it.
    # Every named feature is a unigram beside one plain bigram; they need no patterns.
    everywhere = np.arange(tokens.n_positions)
    opens = tokens.offsets[:-1][np.diff(tokens.offsets) > 0]
    inner = np.setdiff1d(everywhere, opens, assume_unique=True)
    if tokens.features is not None:
        return tokens.features, Occurrences([PLAIN], inner, np.zeros(len(inner), dtype=np.int64))
    if not tokens.n_positions:
        return _merged((), inner), _merged((), inner)
    answers: dict[Reference, Column] = {}
    found = [(pattern.kind, _expand(pattern, tokens, answers)) for pattern in patterns]
    return (
        _merged([seen for kind, seen in found if kind in "u*"], everywhere),
        _merged([seen for kind, seen in found if kind in "b*"], inner),
    )


def _expand(pattern: Pattern, tokens: Tokens, answers: dict[Reference, Column]) -> Column:
    """The observation of one pattern at each position; some values may be equal."""
    # ``answers`` keeps what references give for the patterns to come.
    for reference in pattern.references:
        if reference not in answers:
            answers[reference] = _answers(reference, tokens)
    columns = [answers[reference] for reference in pattern.references]
    if len(columns) == 1:
        codes, first = columns[0].codes, np.arange(len(columns[0].values))
        held = iter([columns[0].values])
    else:
        codes, first = np.zeros(tokens.n_positions, dtype=np.int64), np.zeros(1, dtype=np.int64)
        for column in columns:
            codes, first = first_seen(codes * len(column.values) + column.codes)
        held = iter([[each.values[k] for k in each.codes[first].tolist()] for each in columns])
    pieces = [repeat(part) if isinstance(part, str) else next(held) for part in pattern.parts]
    return Column(["".join(row) for _, *row in zip(first, *pieces, strict=False)], codes)


def _answers(reference: Reference, tokens: Tokens) -> Column:
    """What a reference gives at each position; each distinct token is looked at once."""
    column, reach = tokens.columns[reference.column], abs(reference.row)
    texts = [reference.answer(token) for token in column.values]
    if not reach:
        return Column(texts, column.codes)
    begin, end = tokens.bounds
    source = np.arange(tokens.n_positions) + reference.row
    before, after = begin - source, source - end + 1
    inside = (before <= 0) & (after <= 0)
    # beyond both ends of a sequence stand _B-1, _B-2, ... and _B+1, _B+2, ...
    n = len(column.values)
    codes = np.where(before > 0, n + before - 1, n + reach + after - 1)
    codes[inside] = column.codes[source[inside]]
    texts += [reference.beyond(f"_B{side}{rows}") for side in "-+" for rows in range(1, reach + 1)]
    return Column(texts, codes)


def _merged(columns: Sequence[Column], at: IntArray) -> Occurrences:
    """Observations of several patterns, position by position; equal names are one observation."""
    table: dict[str, int] = {}
    numbers, rising = [], True
    for column in columns:
        before = len(table)
        own = [table.setdefault(name, len(table)) for name in column.values]
        numbers.append(np.array(own, dtype=np.int64))
        rising = rising and min(own, default=before) >= before
    codes = np.empty((len(at), len(columns)), dtype=np.int64)
    for start in range(0, len(at), _BLOCK):
        rows = at[start : start + _BLOCK]
        for k, column in enumerate(columns):
            codes[start : start + _BLOCK, k] = numbers[k][column.codes[rows]]
    return Occurrences(list(table), np.repeat(at, len(columns)), codes.reshape(-1), rising)


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Observations by number, as training saw them; ``names`` are distinct, and never grow."""

    names: tuple[str, ...]

    @classmethod
    def learn(cls, seen: Occurrences, min_count: int = 1) -> Vocabulary:
        """The observations made at ``min_count`` positions or more, in order of their numbers."""
        at = seen.codes
        if not seen.rising:
            at = _distinct(seen.positions, seen.codes, len(seen.names))[1]
        often = np.bincount(at, minlength=len(seen.names)) >= max(min_count, 1)
        return cls(tuple(compress(seen.names, often.tolist())))

    def __len__(self) -> int:
        """Number of observations."""
        return len(self.names)

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Name -> number."""
        return {name: number for number, name in enumerate(self.names)}

    def encode(self, seen: Occurrences, n_positions: int) -> tuple[IntArray, IntArray]:
        """CSR (ptr, ids sorted) of the known observations at each position; others are dropped."""
        # An observation made twice at a position counts once: the features are indicators.
        positions, ids, rising = seen.positions, seen.codes, seen.rising
        if tuple(seen.names) != self.names:
            rising = False
            lookup = np.array([self.numbers.get(name, -1) for name in seen.names], dtype=np.int64)
            ids = lookup[ids] if len(lookup) else ids
            positions, ids = positions[ids >= 0], ids[ids >= 0]
        if not rising:
            positions, ids = _distinct(positions, ids, max(len(self), 1))
        return pointer(np.bincount(positions, minlength=n_positions)), ids.astype(np.int32)

    def kept(self, mask: Any) -> Vocabulary:
        """These observations alone."""
        return Vocabulary(tuple(compress(self.names, mask.tolist())))


def _distinct(positions: IntArray, ids: IntArray, size: int) -> tuple[IntArray, IntArray]:
    """Distinct pairs in order, which those of patterns that share no name are from the start."""
    pairs = positions * size + ids
    if (pairs[1:] > pairs[:-1]).all():
        return positions, ids
    pairs.sort()  # NumPy's unique hashes whole numbers, at ten times the cost
    pairs = pairs[np.append(True, pairs[1:] != pairs[:-1])]
    return pairs // max(size, 1), pairs % max(size, 1)


@dataclass(frozen=True, eq=False)
class Coding:
    """How a model reads sequences; fixed by training.

    ``n_columns`` is None and ``patterns`` empty where positions are mappings of named features;
    ``labels`` are sorted.
    """

    n_columns: int | None
    patterns: tuple[Pattern, ...]
    unigrams: Vocabulary
    bigrams: Vocabulary
    labels: tuple[str, ...]

    @classmethod
    def learn(
        cls, X: Any, y: Any, patterns: PatternSource | None = None, min_count: int = 1
    ) -> tuple[Coding, SequenceData]:
        """The coding of training data, and the data in it; DataError, OptionError: see `fit`."""
        tokens = as_tokens(X)
        labels = check_labels(y, tokens.offsets)
        if not labels.values:
            raise DataError("there is no position to learn from: give sequences that are not empty")
        n_columns: int | None = None
        used: tuple[Pattern, ...] = ()
        if tokens.features is None:
            n_columns = len(tokens.columns)
            used = resolve_patterns(patterns, n_columns)
        elif patterns is not None:
            raise OptionError(
                "patterns look at columns, but the positions are mappings of named features, which "
                "are observations already: drop patterns, or give tuples of columns"
            )
        observed = observe(used, tokens)
        unigrams, bigrams = (Vocabulary.learn(seen, min_count) for seen in observed)
        if not len(unigrams) + len(bigrams):
            raise DataError(
                f"no observation is made at {min_count} positions or more: lower min_count, or "
                "write other patterns"
            )
        coding = cls(n_columns, used, unigrams, bigrams, tuple(sorted(labels.values)))
        return coding, coding._numbered(observed, tokens, labels)

    @property
    def layout(self) -> Layout:
        """Where each parameter of a model stands."""
        return Layout(len(self.unigrams), len(self.bigrams), len(self.labels))

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
        """Sequences in this coding; what training never saw is dropped, such labels are -1."""
        # DataError where they cannot be used, or are of another shape than in training.
        tokens = as_tokens(X)
        found = None if tokens.features is not None else len(tokens.columns)
        if tokens.n_positions and found != self.n_columns:
            raise DataError(
                f"the model was trained on {_shape(self.n_columns)}, these sequences have "
                f"{_shape(found)}: give positions as in training"
            )
        labels = None if y is None else check_labels(y, tokens.offsets, name)
        return self._numbered(observe(self.patterns, tokens), tokens, labels)

    def _numbered(
        self, observed: tuple[Occurrences, Occurrences], tokens: Tokens, labels: Column | None
    ) -> SequenceData:
        """Checked sequences in numbers."""
        unigrams, bigrams = observed
        unigram_ptr, unigram_ids = self.unigrams.encode(unigrams, tokens.n_positions)
        bigram_ptr, bigram_ids = self.bigrams.encode(bigrams, tokens.n_positions)
        numbers = {label: number for number, label in enumerate(self.labels)}
        codes = None
        if labels is not None:
            known = [numbers.get(label, -1) for label in labels.values]
            codes = np.array(known, dtype=np.int32)[labels.codes]
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

    def to_json(self) -> dict[str, Any]:
        """What, beside vocabularies and labels, makes the coding."""
        return {"n_columns": self.n_columns, "patterns": [p.line for p in self.patterns]}

    @classmethod
    def read(
        cls,
        n_columns: int | None,
        lines: Sequence[str],
        names: tuple[Vocabulary, Vocabulary],
        labels: Any,
    ) -> Coding:
        """The inverse of `to_json`; DataError where a line is damaged."""
        patterns = parse_patterns(lines, "the model's patterns") if lines else ()
        return cls(n_columns, patterns, *names, labels)


def _shape(n_columns: int | None) -> str:
    """What positions consist of, in words."""
    if n_columns is None:
        return "named features"
    return "1 column" if n_columns == 1 else f"{n_columns} columns"


@dataclass(frozen=True, eq=False)
class Weights:
    """Parameters ``theta``, see `Layout`, and the observations and labels they belong to."""

    theta: FloatArray
    coding: Coding

    def named(self, top: int | None = None) -> Iterator[tuple[str, str | None, str, float]]:
        """Active features by falling |weight|: observation, label before or None, label, weight.

        Ties stand in the order of theta.
        """
        active = np.flatnonzero(self.theta)
        active = active[np.argsort(-np.abs(self.theta[active]), kind="stable")][:top]
        coding, n_mu = self.coding, self.coding.layout.n_mu
        labels, n_labels = coding.labels, len(coding.labels)
        for at, weight in zip(active.tolist(), self.theta[active].tolist(), strict=True):
            if at < n_mu:
                yield coding.unigrams.names[at // n_labels], None, labels[at % n_labels], weight
            else:
                x, pair = divmod(at - n_mu, n_labels**2)
                before, y = divmod(pair, n_labels)
                yield coding.bigrams.names[x], labels[before], labels[y], weight

    def moved_to(self, coding: Coding) -> FloatArray:
        """The same weights for another coding, zero for what is new there."""
        theta = coding.layout.zeros()
        mu, lam = coding.layout.split(theta)
        old_mu, old_lam = self.coding.layout.split(self.theta)
        y_from, y_to = _common(self.coding.labels, Vocabulary(coding.labels))
        u_from, u_to = _common(self.coding.unigrams.names, coding.unigrams)
        b_from, b_to = _common(self.coding.bigrams.names, coding.bigrams)
        mu[np.ix_(u_to, y_to)] = old_mu[np.ix_(u_from, y_from)]
        lam[np.ix_(b_to, y_to, y_to)] = old_lam[np.ix_(b_from, y_from, y_from)]
        return theta

    def compact(self) -> Weights:
        """The same model without the observations that have no active feature."""
        mu, lam = self.coding.layout.split(self.theta)
        unigrams = self.coding.unigrams.kept(mu.any(axis=1))
        bigrams = self.coding.bigrams.kept(lam.any(axis=(1, 2)))
        coding = replace(self.coding, unigrams=unigrams, bigrams=bigrams)
        return Weights(self.moved_to(coding), coding)


def _common(names: Sequence[str], other: Vocabulary) -> tuple[IntArray, IntArray]:
    """Where the names that both sides know stand on each."""
    pairs = [(at, other.numbers[name]) for at, name in enumerate(names) if name in other.numbers]
    both = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]
