"""Times to an event as a design: when each row was first and last seen, and whether it ended so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from milpscore.core.design import (
    BoolArray,
    Column,
    Design,
    FloatArray,
    IntArray,
    plain_label,
    unmasked,
)
from milpscore.core.errors import DataError, FormulationError, is_number, is_whole, listing, places
from milpscore.data.checking import positive_label
from milpscore.data.designs import make_design

Named = tuple[pd.DataFrame, dict[str, Any]]
"""A table without the columns that hold times, and these by their argument."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SurvivalDesign(Design):
    """Rows with the time of an event, or the time until which none was seen.

    Its classes are False and True, whether the event was seen.

    Attributes
    ----------
    time : ndarray of shape (n,)
        When the event was seen, or the row last; > 0.
    entry : ndarray of shape (n,)
        When the row was first seen, 0 by default; less than ``time``.
    cuts : tuple of float, optional
        The intervals of time within which rows were merged while they were read
        (:func:`milpscore.data.read_times`).
    """

    time: FloatArray
    entry: FloatArray
    cuts: tuple[float, ...] | None = None

    def of_rows(self, rows: IntArray) -> Self:
        """Return the design of some of its rows, with their times."""
        whole = super().of_rows(rows)
        return replace(whole, time=self.time[rows], entry=self.entry[rows])

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over the distinct rows with their times, in order, and the column names."""
        numbers = np.column_stack([self.X, self.time, self.entry])
        columns = (*self.columns, Column("time", "time"), Column("entry", "entry"))
        plain = Design(numbers, self.y, self.weight, columns, counts=self.counts)
        return plain.fingerprint

    @property
    def event(self) -> BoolArray:
        """Whether each row's time is one of an event, shape (n,)."""
        return self.y > 0


def make_survival_design(
    X: Any,
    y: Any = None,
    *,
    time: Any = None,
    event: Any = None,
    entry: Any = None,
    positive: Any = None,
    sample_weight: Any = None,
    columns: Sequence[Column] | None = None,
    blocks: Sequence[Sequence[int]] | None = None,
) -> SurvivalDesign:
    """Check a table with its times to an event and put it in the form the formulations read.

    Parameters
    ----------
    X : DataFrame, array or list of rows, shape (n, p)
    y : structured array of shape (n,), optional
        One boolean field, the event, and one of numbers, the time: as scikit-survival has it.
    time, event, entry : arrays of shape (n,), or names of columns of X, optional
        In the place of ``y``; ``event`` is 1 or True where the event was seen. Rows may come under
        observation late, at ``entry`` (left truncation). Named columns are no features.
    positive : label, optional
        The value of ``event`` to score, where it names one of several causes: rows with another
        value were last seen at their time, without the event (a cause-specific hazard).
    sample_weight, columns, blocks
        As for :func:`make_design`.

    Returns
    -------
    SurvivalDesign

    Raises
    ------
    DataError
        Times are missing, not above 0 or not above their entry; no event was seen; or as for
        :func:`make_design`.
    """
    X, given = named_times(X, {"time": time, "event": event, "entry": entry})
    if y is not None:
        if given["time"] is not None or given["event"] is not None:
            raise DataError("give either y or time and event: both hold the same")
        given["event"], given["time"], *late = structured(y)
        given["entry"] = late[0] if late else given["entry"]
    if given["time"] is None or given["event"] is None:
        raise DataError(
            "{time} and {event} are needed: when, and whether it happened", time=..., event=...
        )
    seen, ends = events_of(given["event"], positive), times_of("time", given["time"])
    starts = entries_of(given["entry"], len(ends))
    _refuse_lengths(len(X) if hasattr(X, "__len__") else len(ends), seen, ends, starts)
    # the labels only have to be two: what became of the rows is put in their place
    base = make_design(
        X, np.arange(len(ends)) % 2, sample_weight=sample_weight, positive=1, columns=columns,
        blocks=blocks,
    )  # fmt: skip
    return timed(base, seen, ends, starts)


def timed(
    base: Design,
    event: BoolArray,
    time: FloatArray,
    entry: FloatArray,
    cuts: tuple[float, ...] | None = None,
) -> SurvivalDesign:
    """Put checked times, (n,) each, in the place of a design's classes."""
    _refuse_lengths(len(base.y), event, time, entry)
    _refuse(~np.isfinite(time), "no finite number as time", time)
    _refuse(~(time > 0.0), "a time that is not above 0", time)
    _refuse(~(entry >= 0.0), "an entry below 0", entry)
    _refuse(~(entry < time), "an entry at or after the time it ends", entry)
    if not (event & (base.weight > 0)).any():
        raise DataError("no row with weight has an event: there is nothing to tell rows apart by")
    fields = {name: getattr(base, name) for name in Design.__dataclass_fields__}
    fields |= {"y": np.where(event, 1, -1), "classes": (False, True), "class_factors": None}
    return SurvivalDesign(**fields, time=time, entry=entry, cuts=cuts)


def _refuse_lengths(rows: int, event: BoolArray, time: FloatArray, entry: FloatArray) -> None:
    """Raise DataError unless there is one of each per row."""
    if {len(event), len(time), len(entry)} != {rows}:
        raise DataError(
            f"{rows} rows, {len(time)} times, {len(event)} events and {len(entry)} entries: "
            "one each per row"
        )


def named_times(X: Any, given: dict[str, Any]) -> Named:
    """Take the columns that arguments name out of a table."""
    named = {key: name for key, name in given.items() if isinstance(name, str)}
    if not named:
        return X, dict(given)
    if not isinstance(X, pd.DataFrame):
        raise DataError(f"{listing(named)} can be named in a DataFrame only: give arrays")
    for name in named.values():
        if name not in X.columns:
            raise DataError(
                f"there is no column {name!r}; there are {listing(map(str, X.columns))}"
            )
    found = {key: X[name].to_numpy() for key, name in named.items()}
    return X.drop(columns=list(named.values())), {**given, **found}


def structured(y: Any) -> tuple[Any, ...]:
    """Return (events, times) of an array in scikit-survival's form, and entries if it has them."""
    array = np.asarray(y)
    names = array.dtype.names or ()
    flags = [name for name in names if array.dtype[name] == np.bool_]
    late = ["entry"] if "entry" in names else []
    numbers = [name for name in names if array.dtype[name].kind in "fiu" and name not in late]
    if len(names) != 2 + len(late) or len(flags) != 1 or len(numbers) != 1:
        raise DataError(
            "y must be a structured array of two fields, a boolean event and a time: make one with "
            "sksurv.util.Surv.from_arrays(event, time)"
        )
    return array[flags[0]], *(array[name].astype(np.float64) for name in (*numbers, *late))


def survival_target(event: Any, time: Any, entry: Any = None, positive: Any = None) -> np.ndarray:
    """Return events and times as a structured array, in scikit-survival's form.

    Parameters
    ----------
    event : array of shape (n,), booleans or 0 and 1
    time : array of shape (n,)
    entry : array of shape (n,), optional
        When rows came under observation; a third field, which scikit-survival does not know.
    positive : label, optional
        The value of ``event`` to score, as for :func:`make_survival_design`.

    Returns
    -------
    structured ndarray of shape (n,), with the fields "event" and "time"
    """
    seen, ends = events_of(event, positive), times_of("time", time)
    fields = [("event", "?"), ("time", "f8"), *([] if entry is None else [("entry", "f8")])]
    target = np.empty(len(ends), dtype=fields)
    target["event"], target["time"] = seen, ends
    if entry is not None:
        target["entry"] = times_of("entry", entry)
    return target


def events_of(values: Any, positive: Any = None) -> BoolArray:
    """Return events as booleans: those of one cause, or of all."""
    column = pd.Series(unmasked(values))
    if column.isna().any():
        rows = np.flatnonzero(column.isna()).tolist()
        raise DataError(f"{{event}} is missing in {places(rows)}: drop them", event=...)
    if positive is not None:
        codes, causes = pd.factorize(column)
        return np.asarray(codes == positive_label(causes.tolist(), positive, list))
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(np.float64)
    if not np.isin(numbers, (0.0, 1.0)).all():
        odd = plain_label(column[~np.isin(numbers, (0.0, 1.0))].iloc[0])
        raise DataError(
            f"{{event}} holds {odd!r}: use 1 or True where the event was seen, and 0 or False "
            "where the row was last seen without it, or name the value to score with {positive}",
            event=...,
            positive=...,
        )
    return np.asarray(numbers == 1.0)


def times_of(name: str, values: Any) -> FloatArray:
    """Return finite times."""
    column = pd.Series(unmasked(values))
    if column.dtype.kind in "mM":  # pandas would count nanoseconds
        raise DataError(
            f"{{{name}}} holds dates or spans of time: give numbers, say days since the start",
            **{name: ...},
        )
    found = pd.to_numeric(column, errors="coerce").to_numpy(np.float64)
    _refuse(~np.isfinite(found), f"no finite number as {name}", column.to_numpy())
    return found


def labels_by_event(event: BoolArray) -> IntArray:
    """Return two classes for bins to see, 0 or 1: events; nothing, where all rows are alike."""
    return np.where(event.any() and not event.all(), event, np.arange(len(event)) % 2)


def cuts_of(times: Any, ends: FloatArray, weight: FloatArray) -> FloatArray:
    """Return the ends of intervals of time, (K,): that many quantiles of events, or those given.

    ``ends`` are the times of events, ascending, and ``weight`` what lies at each, (m,).
    """
    if is_number(times):
        if not is_whole(times, 1):
            raise FormulationError(
                f"{{times}} must be a whole number >= 1, got {times!r}", times=...
            )
        count, mass = int(times), np.cumsum(weight)  # a weight of 2 is two rows
        goals = np.arange(1, count + 1) / count * mass[-1] * (1.0 - 1e-12)
        return np.unique(ends[np.searchsorted(mass, goals)])
    try:
        cuts = np.asarray(times, dtype=np.float64)
    except (TypeError, ValueError):
        cuts = np.zeros(0)
    rising = cuts.ndim == 1 and len(cuts) > 0 and np.isfinite(cuts).all()
    if not (rising and cuts[0] > 0 and (np.diff(cuts) > 0).all()):
        raise FormulationError(
            f"{{times}} must be positive numbers, ascending, got {times!r}", times=...
        )
    if late := int((ends > cuts[-1]).sum()):
        raise FormulationError(
            f"{late} event(s) lie after the last of {{times}}, {cuts[-1]:g} (the latest at "
            f"{ends[-1]:g}): add a later one, or end these rows there without an event",
            times=...,
        )
    return cuts


def _refuse(bad: BoolArray, what: str, values: npt.NDArray[Any]) -> None:
    """Raise DataError if some rows are bad."""
    rows = np.flatnonzero(bad).tolist()
    if rows:
        raise DataError(
            f"{len(rows)} row(s) have {what} (first {values[rows[0]]}), {places(rows)}: "
            "correct or drop them"
        )


def entries_of(entry: Any, rows: int) -> FloatArray:
    """Return when rows came under observation, (n,): at 0 if nothing is said."""
    return np.zeros(rows) if entry is None else times_of("entry", entry)
