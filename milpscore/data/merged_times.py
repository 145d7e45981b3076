"""A table of times of any size as a SurvivalDesign of weighted rows, read in streaming passes.

The likelihood depends on the times through what each pattern has in each interval: its events, and
the sum of its exposures. So rows of one pattern whose times end in one interval, and began in one,
are merged to one of their mean times; the sums stay what they were.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from milpscore.core.design import Design, FloatArray, merge_rows
from milpscore.core.errors import DataError, OptionError
from milpscore.data.cells import file_and_cells
from milpscore.data.cut_points import ENOUGH, Learned
from milpscore.data.designs import doubts, uses
from milpscore.data.merged_rows import (
    _cutting,
    _Labels,
    _Scan,
)
from milpscore.data.sources import Ask, Value, literal, opened
from milpscore.data.sql_codes import Reading, _compared, plain_values
from milpscore.data.survival import (
    SurvivalDesign,
    cuts_of,
    events_of,
    timed,
)


def read_times(
    source: Any,
    event: str,
    time: str,
    entry: str | None = None,
    *,
    times: int | Sequence[float] = 20,
    positive: Any = None,
    weights: str | None = None,
    drop: Sequence[str] = (),
    features: Sequence[str] | None = None,
    binner: Any = "auto",
    memory_limit: int | str | None = None,
    progress: bool | None = None,
    **written: Any,
) -> SurvivalDesign:
    """Read a table of times to an event of any size, merged within intervals of time.

    What :func:`milpscore.formulations.survival_score` proves of the design it proves of the table,
    but for a constant of the objective: exposures are counted in another unit. Kaplan and Meier's
    estimates on its card are of the merged times.

    Parameters
    ----------
    source : path, DataFrame, or table of Arrow, Polars or DuckDB
        As for :func:`read_patterns`.
    event, time, entry : str
        Columns, as for :func:`make_survival_design`; they are no features.
    times : int or increasing sequence of float
        The cuts of time: at most that many quantiles of the times of events, or those given.
    positive, weights, drop, features, binner, memory_limit, progress, **written
        As for :func:`read_patterns`; ``positive`` is the value of ``event`` to score where it names
        one of several causes.

    Returns
    -------
    SurvivalDesign
        Its ``cuts`` are those of time; ``counts`` the rows of the table behind each row.

    Raises
    ------
    DataError, SizeError, MissingDependencyError
        As for :func:`read_patterns` and :func:`make_survival_design`.
    OptionError
        ``times`` is neither a number nor a sequence of cuts.
    """
    if isinstance(times, str):
        raise OptionError(
            "{times} of a table beyond memory: a number of cuts, or cuts; rows of equal columns "
            "merge within them",
            times=times,
        )
    file, writing = file_and_cells(written)
    with opened(source, memory_limit=memory_limit, progress=progress, once=False, **file) as rows:
        own = [time, *([] if entry is None else [entry])]
        taken, named = uses(list(rows.types), event, weights, [*drop, *own], features)
        scan = _TimedScan(
            rows, named, taken[0], taken[1] if weights is not None else None, positive,
            time=time, entry=entry,
        )  # fmt: skip
        scan.kept = named if features is not None else ()
        scan.question(writing)
        scan.check_times()
        scan.ends = scan.cut_times(times)
        found = scan.cut(_cutting(binner), None)
        assert isinstance(found, SurvivalDesign)
        return found


@dataclass
class _TimedScan(_Scan):
    """The passes over rows with times."""

    time: str = ""
    entry: str | None = None
    ends: FloatArray | None = None
    """The cuts of time."""
    longest: float = 1.0
    """The latest time."""

    def _labels(self, raw: pd.Series[Any], rows: pd.Series[Any]) -> _Labels:
        """Whether each value of the event's column is one of an event."""
        seen = events_of(plain_values(raw), self.positive)
        return _Labels(dict(zip(raw.tolist(), np.where(seen, 1, -1), strict=True)), (False, True))

    def _rarer(self) -> int:
        """Distinct rows of the rarer class; of all rows where each has an event."""
        both = {*self.labels.signs.values()} == {-1, 1}
        return super()._rarer() if both else self._distinct(ENOUGH)

    def check_times(self) -> None:
        """Refuse times that are missing, not above 0, or not above their entry."""
        own = [self.time, *([] if self.entry is None else [self.entry])]
        for name in own:
            if name not in self.rows.types:
                raise DataError(
                    f"there is no column {name!r}; there are {', '.join(self.rows.types)}"
                )
            if self.kind_of(name) != "number":
                raise DataError(f"column {name!r} holds no numbers, which times have to be")
        end, begin = self.number_of(self.time), self._begin
        wrong = {
            "a missing or infinite time": f"{end} IS NULL OR isinf({end})",
            "a time that is not above 0": f"{end} <= 0",
            "a missing or infinite entry": f"{begin} IS NULL OR isinf({begin})",
            "an entry below 0": f"{begin} < 0",
            "an entry at or after the time it ends": f"{begin} >= {end}",
        }
        asked = [Value(f"count_if({text})") for text in wrong.values()]
        where = self._and.removeprefix(" AND ")
        (found,) = self.rows.ask(
            Ask("looking at times", values=[*asked, Value(f"max({end})", "DOUBLE")], where=where)
        )
        *counts, longest = found.iloc[0].tolist()
        for what, count in zip(wrong, counts, strict=True):
            if count:
                raise DataError(f"{int(count)} row(s) have {what}: correct or drop them")
        self.longest = float(longest)

    def cut_times(self, times: Any) -> FloatArray:
        """The ends of the intervals of time."""
        events = [label for label, side in self.labels.signs.items() if side > 0]
        said = [literal(label) if isinstance(label, str) else str(label) for label in events]
        where = f"{self.key_of(self.target)} IN ({', '.join(said or ['NULL'])}){self._and}"
        read = self.number_of(self.time)
        (found,) = self.rows.ask(Ask("counting times", [read], self._figures, where))
        if not len(found):
            raise DataError("no row with weight has an event: there is nothing to tell rows apart")
        found = found.sort_values("k0")
        ends = found["k0"].to_numpy(np.float64)
        return cuts_of(times, ends, self._mass(found))

    @property
    def _begin(self) -> str:
        """When a row came under observation, in SQL."""
        return "0::DOUBLE" if self.entry is None else self.number_of(self.entry)

    def design(
        self,
        learned: Learned,
        class_weight: Any,
        relearn: Callable[[FloatArray], Learned] | None = None,
        drawn: tuple[float, int] | None = None,
    ) -> Design:
        """The patterns of the columns within intervals of time, with their mean times."""
        assert self.ends is not None
        # 1. equal columns, events and intervals are one group
        reading = Reading.of(learned.columns, self)
        end, begin, cuts = self.number_of(self.time), self._begin, self.ends.tolist()
        places = [
            _compared(end, cuts, True),
            f"({end} IN ({', '.join(f'{cut!r}::DOUBLE' for cut in cuts)}))::INTEGER",
            _compared(begin, cuts, True) if self.entry is not None else "0",
        ]
        keys = [*reading.keys, self.key_of(self.target), *places]
        # whole parts of a unit add up to the same sum in whatever order they come
        unit = 2.0 ** (60 - math.frexp(self.longest)[1])
        mass = "1" if self.weights is None else f"{self._weight}"
        sums = [
            Value(f"sum(({mass} * {read} * {unit!r}::DOUBLE)::HUGEINT)", "DOUBLE")
            for read in (end, begin)
        ]
        found = self.groups(keys, [*self._figures, *sums], len(learned.columns), drawn)
        found = found.sort_values([f"k{j}" for j in range(len(keys))], ignore_index=True)
        X = reading.values(found)
        if relearn is not None:
            learned = relearn(X)
            assert learned.values is not None
            X = learned.values
        # 2. groups of equal columns merge, their times to the mean
        at = len(reading.keys)
        label, *place = (found[f"k{j}"] for j in range(at, at + 4))
        y = np.array([self.labels.signs[each] for each in label.tolist()], dtype=np.int64)
        held = np.column_stack([X, *(each.to_numpy(np.float64) for each in place)])
        merged = merge_rows(held, y, self._mass(found))
        X, spots = merged.X[:, : X.shape[1]], merged.X[:, X.shape[1] :].astype(np.int64)
        n = len(self._figures)
        means = [
            merged.sums(found[f"v{n + k}"].to_numpy(np.float64)) / unit / merged.weight
            for k in range(2)
        ]
        ended, at_cut, begun = spots.T
        time, entry = _within(means[0], means[1], ended, at_cut, begun, self.ends)
        count = merged.sums(found["v0"].to_numpy(np.int64)).astype(np.int64)
        remarks = (*learned.remarks, *(() if learned.unlike else doubts(X, learned.columns)))
        base = Design(
            X, merged.y, merged.weight, learned.columns, learned.blocks, (False, True), remarks,
            count,
        )  # fmt: skip
        return timed(base, merged.y > 0, time, entry, tuple(self.ends.tolist()))


def _within(
    time: FloatArray, entry: FloatArray, ended: Any, at_cut: Any, begun: Any, cuts: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return mean times and entries, (m,), in the very intervals of their rows.

    ``ended`` and ``begun`` count cuts at or below a row's time and entry.
    """
    edges = np.concatenate([[0.0], cuts, [np.inf]])
    inside = np.clip(
        time, np.nextafter(edges[ended], np.inf), np.nextafter(edges[ended + 1], -np.inf)
    )
    time = np.where(at_cut == 1, edges[ended], inside)
    last = np.minimum(np.nextafter(edges[begun + 1], -np.inf), np.nextafter(time, -np.inf))
    return time, np.clip(entry, edges[begun], last)
