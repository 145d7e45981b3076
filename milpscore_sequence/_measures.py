"""Measures of predicted labels: by token, by sequence, by label, by span."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from operator import eq
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from milpscore.core.errors import DataError
from milpscore_sequence._data import pointer
from milpscore_sequence.coding import check_labels

if TYPE_CHECKING:
    from pandas import DataFrame

Labels: TypeAlias = Sequence[Sequence[str]]
Span: TypeAlias = tuple[int, int, str]

_SPAN = re.compile(r"O|(?P<prefix>[BIES])(?:-(?P<kind>.*))?", flags=re.DOTALL)
_COUNTS = ("support", "predicted", "right")


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
    return _share(list(map(eq, *_flat(y_true, y_pred))))


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
    _flat(y_true, y_pred)
    return _share([list(a) == list(b) for a, b in zip(y_true, y_pred, strict=True)])


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
    found: list[Span] = []
    begun: int | None = None
    before, before_kind = "O", ""
    for t, label in enumerate([*labels, "O"]):
        match = _SPAN.fullmatch(label)
        if match is None:
            raise DataError(
                f"the label {label!r} marks no span: spans need O, or one of B-, I-, E-, S- "
                "followed by a type"
            )
        prefix, kind = match["prefix"] or "O", match["kind"] or ""
        begins = prefix in "BS" or before in "OES" or kind != before_kind
        if begun is not None and (begins or prefix == "O"):
            found.append((begun, t, before_kind))
            begun = None
        if begins and prefix != "O":
            begun = t
        before, before_kind = prefix, kind
    return found


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
    *_, total = _span_rows(y_true, y_pred)
    return {name: value for name, value in total.items() if name not in ("kind", "name")}


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

    true, predicted = _flat(y_true, y_pred)
    right = [a for a, b in zip(true, predicted, strict=True) if a == b]
    rows = _rows("label", true, predicted, right)
    if by_span is None:
        names = {*true, *predicted}
        by_span = all(map(_SPAN.fullmatch, names)) and any("-" in name for name in names)
    if by_span:
        rows += _span_rows(y_true, y_pred)
    columns = ["kind", "name", "precision", "recall", "f1", *_COUNTS]
    return pd.DataFrame(rows, columns=columns)


def _share(right: list[bool]) -> float:
    """The share of what is right; NaN of nothing."""
    return float(np.mean(right)) if right else float("nan")


def _flat(y_true: Labels, y_pred: Labels) -> tuple[list[str], list[str]]:
    """Both sides end to end, checked."""
    offsets = pointer(np.array([len(sequence) for sequence in y_true], dtype=np.int64))
    check_labels(y_true, offsets, "y_true")
    check_labels(y_pred, offsets, "y_pred")
    return list(chain.from_iterable(y_true)), list(chain.from_iterable(y_pred))


def _span_rows(y_true: Labels, y_pred: Labels) -> list[dict[str, Any]]:
    """The rows of all types of span, and of all together."""
    _flat(y_true, y_pred)
    true, predicted = (
        {(number, *span) for number, labels in enumerate(side) for span in spans(labels)}
        for side in (y_true, y_pred)
    )
    kinds = [[span[-1] for span in group] for group in (true, predicted, true & predicted)]
    together = [["all"] * len(group) for group in kinds]
    return _rows("span", *kinds) + (_rows("span", *together) or [_row("span", "all", 0, 0, 0)])


def _rows(kind: str, *names: Iterable[str]) -> list[dict[str, Any]]:
    """A row for each name, from those there are, those predicted, those rightly so."""
    counts = [Counter(some) for some in names]
    every = sorted(set().union(*counts))
    return [_row(kind, name, *(some[name] for some in counts)) for name in every]


def _row(kind: str, name: str, support: int, predicted: int, right: int) -> dict[str, Any]:
    """A row of a report: precision, recall and F1 from counts; 0 where undefined."""
    return {
        "kind": kind,
        "name": name,
        "precision": right / predicted if predicted else 0.0,
        "recall": right / support if support else 0.0,
        "f1": 2 * right / (support + predicted) if right else 0.0,
        **dict(zip(_COUNTS, (support, predicted, right), strict=True)),
    }
