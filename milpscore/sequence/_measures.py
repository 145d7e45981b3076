"""Measures of predicted labels: by token, by sequence, by label, by span."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from milpscore.core.design import IntArray
from milpscore.core.errors import DataError
from milpscore.sequence._data import pointer
from milpscore.sequence.coding import check_labels

if TYPE_CHECKING:
    from pandas import DataFrame

Labels: TypeAlias = Sequence[Sequence[str]]
Span: TypeAlias = tuple[int, int, str]

_OUTSIDE = "O"
_PREFIXES = "BIES"


def token_accuracy(y_true: Labels, y_pred: Labels) -> float:
    """Share of positions with the right label; NaN where there is none.

    Parameters
    ----------
    y_true, y_pred : lists of lists of str

    Raises
    ------
    DataError
        They differ in shape.
    """
    right, _ = _right(y_true, y_pred)
    return float(right.mean()) if len(right) else float("nan")


def sequence_accuracy(y_true: Labels, y_pred: Labels) -> float:
    """Share of sequences with every label right; NaN where there is none.

    Parameters
    ----------
    y_true, y_pred : lists of lists of str

    Raises
    ------
    DataError
        They differ in shape.
    """
    right, offsets = _right(y_true, y_pred)
    if len(offsets) < 2:
        return float("nan")
    missed = np.concatenate([[0], np.cumsum(~right)])
    return float(np.mean(np.diff(missed[offsets]) == 0))


def spans(labels: Sequence[str]) -> list[Span]:
    """The spans that the labels of one sequence mark.

    Labels are ``O`` outside, else a prefix B, I, E or S, a hyphen, and the type. The rules are
    those of CoNLL's evaluation: a span begins at B and S, at I and E where the position before is
    outside, of another type, or ends a span (E, S); it ends before the next one or before O. They
    read IOB1 (B only between neighbours of one type), IOB2 (BIO) and BIOES alike.

    Parameters
    ----------
    labels : sequence of str

    Returns
    -------
    list of (start, stop, type)
        Positions start to stop - 1.

    Raises
    ------
    DataError
        A label has no such shape.

    References
    ----------
    Tjong Kim Sang and Buchholz, "Introduction to the CoNLL-2000 shared task: chunking" (2000).
    """
    return sorted(_span_set(np.array([0, len(labels)]), list(labels)))


def marks_spans(labels: Sequence[str]) -> bool:
    """Whether all these labels can be read as spans, and one of them has a hyphen."""
    return all(map(_parts, labels)) and any("-" in label for label in labels)


def span_scores(y_true: Labels, y_pred: Labels) -> dict[str, float]:
    """Precision, recall and F1 of whole spans, all types together; counts beside them.

    Parameters
    ----------
    y_true, y_pred : lists of lists of str

    Returns
    -------
    dict
        ``precision``, ``recall``, ``f1``, each 0 where undefined (as in CoNLL's evaluation), and
        ``support``, ``predicted``, ``right``.

    Raises
    ------
    DataError
        They differ in shape, or a label marks no span.
    """
    counts = _span_counts(y_true, y_pred)
    total = {name: sum(row[name] for row in counts.values()) for name in _COUNTS}
    return {**_rates(**total), **total}


def report(y_true: Labels, y_pred: Labels, *, by_span: bool | None = None) -> DataFrame:
    """Precision, recall, F1 and support of every label, and of every type of span.

    Parameters
    ----------
    y_true, y_pred : lists of lists of str
    by_span : bool or None
        Whether to add the rows of spans; None where all labels can be read as such.

    Returns
    -------
    DataFrame
        Columns ``kind`` ("label" or "span"), ``name``, ``precision``, ``recall``, ``f1``,
        ``support``, ``predicted``, ``right``; a span's row named ``all`` counts the types together.
        Rates that are undefined are 0.

    Raises
    ------
    DataError
        They differ in shape, or ``by_span`` is true and a label marks no span.
    """
    import pandas as pd

    _offsets, true, predicted = _flat(y_true, y_pred)
    names, codes = np.unique(np.array([*true, *predicted], dtype=object), return_inverse=True)
    n, split = len(names), len(true)
    tally = {
        "support": np.bincount(codes[:split], minlength=n),
        "predicted": np.bincount(codes[split:], minlength=n),
        "right": np.bincount(codes[:split][codes[:split] == codes[split:]], minlength=n),
    }
    rows = [
        _row("label", str(name), **{key: int(tally[key][at]) for key in _COUNTS})
        for at, name in enumerate(names)
    ]
    if marks_spans([str(name) for name in names]) if by_span is None else by_span:
        counts = _span_counts(y_true, y_pred)
        rows += [_row("span", name, **row) for name, row in sorted(counts.items())]
        total = {key: sum(row[key] for row in counts.values()) for key in _COUNTS}
        rows.append(_row("span", "all", **total))
    columns = ["kind", "name", "precision", "recall", "f1", *_COUNTS]
    return pd.DataFrame(rows, columns=columns)


_COUNTS = ("support", "predicted", "right")


def _row(kind: str, name: str, **counts: int) -> dict[str, Any]:
    """A row of a report."""
    return {"kind": kind, "name": name, **_rates(**counts), **counts}


def _rates(support: int, predicted: int, right: int) -> dict[str, float]:
    """Precision, recall and F1 from counts; 0 where undefined."""
    precision = right / predicted if predicted else 0.0
    recall = right / support if support else 0.0
    f1 = 2 * right / (support + predicted) if right else 0.0
    return {"precision": precision, "recall": recall, "f1": f1}


def _flat(y_true: Labels, y_pred: Labels) -> tuple[IntArray, list[str], list[str]]:
    """Offsets, and both sides end to end."""
    lengths = np.array([len(sequence) for sequence in y_true], dtype=np.int64)
    offsets = pointer(lengths)
    true = check_labels(y_true, offsets, "y_true")
    return offsets, true, check_labels(y_pred, offsets, "y_pred")


def _right(y_true: Labels, y_pred: Labels) -> tuple[npt.NDArray[np.bool_], IntArray]:
    """Whether each position is right, and the offsets of the sequences."""
    offsets, true, predicted = _flat(y_true, y_pred)
    right = [a == b for a, b in zip(true, predicted, strict=True)]
    return np.array(right, dtype=bool), offsets


def _span_counts(y_true: Labels, y_pred: Labels) -> dict[str, dict[str, int]]:
    """Spans by type: how many there are, how many were predicted, how many of these exactly."""
    offsets, true, predicted = _flat(y_true, y_pred)
    there, found = _span_set(offsets, true), _span_set(offsets, predicted)
    counts: dict[str, dict[str, int]] = {}
    for key, some in (("support", there), ("predicted", found), ("right", there & found)):
        for span in some:
            row = counts.setdefault(span[2], dict.fromkeys(_COUNTS, 0))
            row[key] += 1
    return counts


def _span_set(offsets: IntArray, labels: list[str]) -> set[Span]:
    """The spans (start, stop, type) of sequences that stand end to end."""
    n = len(labels)
    distinct = sorted(set(labels))
    parts = [_parts(label) for label in distinct]
    for label, part in zip(distinct, parts, strict=True):
        if not part:
            raise DataError(
                f"the label {label!r} marks no span: spans need O, or one of B-, I-, E-, S- "
                "followed by a type"
            )
    number = {label: at for at, label in enumerate(distinct)}
    codes = np.array([number[label] for label in labels], dtype=np.int64)
    prefix = np.array([part[0] for part in parts] or [_OUTSIDE])[codes]
    kind = np.unique(np.array([part[1:] for part in parts] or [""]), return_inverse=True)[1][codes]
    inside = prefix != _OUTSIDE
    ended = np.ones(n, dtype=bool)
    ended[1:] = np.isin(prefix[:-1], [_OUTSIDE, "E", "S"]) | (kind[1:] != kind[:-1])
    opens = offsets[:-1][np.diff(offsets) > 0]
    ended[opens] = True
    starts = np.flatnonzero(inside & (np.isin(prefix, ["B", "S"]) | ended))
    # a span stops where the next begins, outside, or at the end of its sequence
    edge = ~inside
    edge[starts] = edge[opens] = True
    edges = np.append(np.flatnonzero(edge), n)
    stops = edges[np.searchsorted(edges, starts, side="right")]
    pairs = zip(starts.tolist(), stops.tolist(), strict=True)
    return {(start, stop, labels[start][2:]) for start, stop in pairs}


def _parts(label: str) -> str:
    """A label's prefix followed by its type; empty where it has no such shape."""
    if label == _OUTSIDE:
        return _OUTSIDE
    if label[:1] in _PREFIXES and label[:1] and (len(label) == 1 or label[1] == "-"):
        return label[0] + label[2:]
    return ""
