"""What a file of results holds: how far it is, its table, its cards, exports."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct, field, to_builtins

from milpscore.core.errors import DataError, NotApplicableError, OptionError, optional
from milpscore.core.reading import parsed, rows as read
from milpscore.core.result import Claim, Result, Termination, TracePoint
from milpscore.core.writing import replacing, write_text
from milpscore_show.plots.drawing import EARLIEST
from milpscore_study._spec import RACE
from milpscore_study.profiles import BoundCurves, bound_curves, performance_profile
from milpscore_study.store import FIGURES, Figures, Status, head_of, is_new, opened

if TYPE_CHECKING:
    import pandas as pd

    from milpscore.scorecard import Scorecard, SurvivalCard

_FORMATS = ("csv", "parquet")
_SEARCHES = ("card", "exact", "estimator", RACE)
_CLAIMS = {str(each): each for each in Claim}
_TERMINATIONS = {str(each): each for each in Termination}


class _Row(Struct, array_like=True):
    """A row of the file, its card and certificate left out."""

    number: int
    key: str
    status: Status
    seed: int | None
    result: str | None
    error: str | None
    seconds: float | None
    versions: str
    finished: str


class _Solve(Figures):
    """The result of a study's row."""

    data: str | None = None
    model: str | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    fold: int | None = None
    trace: list[tuple[float, float | None, float | None, int]] = field(default_factory=list)


class _Versions(Struct):
    """What computed a row."""

    milpscore: str


_SHOWN = ("number", "key", "status", "seed", "error", "seconds", "finished")
_FIRST = ("number", "key", "status", "seed", "data", "model", "fold")
_LAST = ("error", "seconds", "milpscore", "finished")
_TEXTS = ("bound_source", "claim", "verified", "termination", "solver", "message",
          "refused", "caveat")  # fmt: skip
_COUNTS = ("seed", "fold", "terms", "nodes", "train_errors", "test_errors", "train_rows",
           "test_rows")  # fmt: skip


@dataclass(frozen=True)
class StudyReport:
    """How far a study is, and what came of it.

    Attributes
    ----------
    path : Path
    experiment : str
        "study", or what else the rows are of.
    settings : mapping
        What all of its rows depend on.
    planned : int or None
        Solves in all.
    done, failed : int
    created : str
        UTC, ISO 8601.
    """

    path: Path
    experiment: str
    settings: Mapping[str, Any]
    planned: int | None
    done: int
    failed: int
    created: str

    @property
    def left(self) -> int | None:
        """Solves neither done nor failed; None where the plan is not known."""
        return None if self.planned is None else max(self.planned - self.done - self.failed, 0)

    @property
    def is_race(self) -> bool:
        """Whether it holds a race of solvers: see :class:`Race`."""
        return {model.get("kind") for model in self.settings.get("models", [])} == {RACE}

    def table(self) -> pd.DataFrame:
        """The rows as they are now.

        Returns
        -------
        DataFrame
            One row a solve, in the order of the study: number, key, status, seed, data, model, fold
            (missing: all rows), a column ``parameters.NAME`` for each parameter of a grid, the
            figures (objective, bound, accuracies, seconds...), error, seconds (in all), milpscore
            (the version) and finished (UTC). For runs that are not a study's: their results' plain
            numbers and texts instead.

        Raises
        ------
        DataError
            As :func:`read_study`.
        """
        import pandas as pd

        query = f"SELECT {', '.join(_Row.__struct_fields__)} FROM solves WHERE number >= 0"
        study, what = self.experiment == "study", str(self.path)
        with opened(self.path) as connection:
            kept = read(connection, f"{query} ORDER BY number", _Row, what)
        rows = [_row(each, _Solve if study else dict[str, Any], what) for each in kept]
        if not study:
            return pd.DataFrame(rows, columns=_columns(rows, _FIRST[:4], ()))
        table = pd.DataFrame(rows, columns=_columns(rows, _FIRST, FIGURES))
        # a column in which nothing was found yet is one of numbers all the same
        numbers = dict.fromkeys((name for name in FIGURES if name not in _TEXTS), "float64")
        grid = [name for name in table.columns if name.startswith("parameters.")]
        table[grid] = table[grid].convert_dtypes()
        return table.astype(numbers).astype(dict.fromkeys(_COUNTS, "Int64"))

    def card(self, key: str) -> Scorecard | SurvivalCard:
        """The scorecard of a row.

        Raises
        ------
        NotApplicableError
            There is no such row, or it has no card.
        """
        from milpscore.scorecard import Scorecard, SurvivalCard

        text = self._cell("card", key)
        if text is None:
            raise NotApplicableError(
                f"{self.path.name} has no card under the key {key!r}: the table's column 'key' "
                "lists the rows, and relaxed and failed ones have no card"
            )
        timed = json.loads(text).get("kind") == SurvivalCard.file_kind
        return SurvivalCard.from_json(text) if timed else Scorecard.from_json(text)

    def certificate(self, key: str) -> dict[str, Any]:
        """The certificate of a row: its figures and bound source, or the evidence as well.

        Raises
        ------
        NotApplicableError
            There is no such row, or it failed.
        """
        text = self._cell("certificate", key)
        if text is None:
            raise NotApplicableError(f"{self.path.name} has no certificate under the key {key!r}")
        content: dict[str, Any] = parsed(text, dict[str, Any], str(self.path))
        return content

    def profiles(self) -> dict[str, pd.DataFrame]:
        """A performance profile: seconds to a proof, a problem a data set, grid point and fold.

        Returns
        -------
        dict
            No name to one :func:`milpscore_study.performance_profile` over the models that search
            for a card and a bound.
        """
        rows = self._searched()
        rows = rows[rows["entrant"].isin(rows["entrant"][rows["status"] == "done"])]
        if not len(rows):
            raise NotApplicableError(f"{self.path.name} holds no search with a card and a bound")
        cost = rows["solve_seconds"].clip(lower=EARLIEST)
        table = rows.assign(cost=cost.where(rows["claim"] == "optimal", np.inf)).pivot(
            index=["set", "run"], columns="entrant", values="cost"
        )
        return {"": performance_profile(table[list(dict.fromkeys(rows["entrant"]))])}

    def curves(self) -> BoundCurves:
        """Best card and bound over time of the models that search for both.

        A set for each data set and point of the grid; folds and seeds are its runs. Integrals are
        measured by the best card of the set: they compare models of one statement only.
        """
        return curves_of(self._searched(), self.traces())

    def _searched(self) -> pd.DataFrame:
        """Rows of models that search for a card and a bound: in which set and run, who answers."""
        if self.experiment != "study":
            raise NotApplicableError(f"{self.path.name} holds the runs of {self.experiment}")
        kinds = {model["name"]: model["kind"] for model in self.settings["models"]}
        rows = self.table()
        rows = rows[rows["model"].map(kinds).isin(_SEARCHES)]
        grid = [name for name in rows.columns if name.startswith("parameters.")]

        def set_of(row: Any) -> str:
            points = {name.removeprefix("parameters."): row[name] for name in grid}
            held = [f"{name} {value}" for name, value in points.items() if not pd.isna(value)]
            return ", ".join([row["data"], *held])

        import pandas as pd

        where = [set_of(row) for row in rows.to_dict("records")]
        run = rows["fold"].astype("string").fillna("") + " " + rows["seed"].astype("string")
        return rows.assign(set=where, run=run, entrant=rows["model"])

    def traces(self) -> dict[str, tuple[TracePoint, ...]]:
        """How the searches went, by the keys of their rows."""
        query = "SELECT key, result FROM solves WHERE number >= 0 AND status = 'done'"
        what = str(self.path)
        with opened(self.path) as connection:
            kept = read(connection, query, tuple[str, str], what)
        return {
            key: tuple(
                TracePoint(
                    at,
                    math.inf if objective is None else objective,
                    -math.inf if bound is None else bound,
                    nodes,
                )
                for at, objective, bound, nodes in parsed(text, _Solve, what).trace
            )
            for key, text in kept
        }

    def export(self, out: str | os.PathLike[str], format: str = "csv") -> Path:
        """Write the table to a file.

        Parameters
        ----------
        out : path-like
        format : {"csv", "parquet"}

        Returns
        -------
        Path

        Raises
        ------
        OptionError
            An unknown format.
        MissingDependencyError
            Parquet is asked for, and PyArrow is not installed.
        """
        if format not in _FORMATS:
            raise OptionError(f"format={format!r} is unknown; use one of {', '.join(_FORMATS)}")
        table, out = self.table(), Path(out)
        if format == "csv":
            write_text(out, table.to_csv(index=False))
            return out
        need = "parquet needs PyArrow (pip install pyarrow); the format csv needs nothing"
        optional("pyarrow", need)
        # a grid may hold numbers beside texts in one parameter; a column of Parquet has one type
        grid = [name for name in table.columns if str(name).startswith("parameters.")]
        mixed = [name for name in grid if table[name].dtype == object]
        table = table.astype(dict.fromkeys(mixed, "string"))
        with replacing(out) as part:
            table.to_parquet(part, index=False, engine="pyarrow")
        return out

    def _cell(self, column: str, key: str) -> str | None:
        """What a row has in a column; None without such a row."""
        with opened(self.path) as connection:
            query = f"SELECT {column} FROM solves WHERE key = ? AND number >= 0"
            found = read(connection, query, tuple[str | None], str(self.path), key)
        return found[0][0] if found else None


def curves_of(rows: pd.DataFrame, traces: Mapping[str, tuple[TracePoint, ...]]) -> BoundCurves:
    """Gaps over time of a table's solves that are done, by set, entrant and run."""
    results = {}
    for row in rows[rows["status"] == "done"].to_dict("records"):
        bound = row["bound"] if math.isfinite(row["bound"]) else -math.inf
        results[row["set"], row["entrant"], row["run"]] = Result(
            row["model"], "exact", _CLAIMS[row["claim"]], _TERMINATIONS[row["termination"]],
            bool(row["verified"]), objective=row["objective"], dual_bound=bound,
            solve_seconds=row["solve_seconds"], trace=traces[row["key"]],
        )  # fmt: skip
    return bound_curves(results)


def read_study(path: str | os.PathLike[str]) -> StudyReport:
    """How far the study in a file is; also while another process works on it.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    StudyReport

    Raises
    ------
    DataError
        There is no file, or it is not a file of results, or damaged.
    """
    path = Path(path)
    if path.exists() and is_new(path):
        raise DataError(f"{str(path)!r} is empty: run the study first")
    with opened(path) as connection:
        head, created = head_of(connection, path)
        query = "SELECT status, count(*) FROM solves GROUP BY status"
        counts = dict(read(connection, query, tuple[str, int], str(path)))
    if head is None:
        raise DataError(f"{str(path)!r} holds no study yet: run one first")
    return StudyReport(
        path, head.experiment, head.settings, head.planned, counts.get("done", 0),
        counts.get("failed", 0), created,
    )  # fmt: skip


def _row(kept: _Row, layout: Any, what: str) -> dict[str, Any]:
    """A row as the file has it, its JSON spread over columns; lists and tables left out."""
    made_with = parsed(kept.versions, _Versions, what)
    found = {} if kept.result is None else to_builtins(parsed(kept.result, layout, what))
    grid = found.pop("parameters", {}) if isinstance(found.get("parameters"), dict) else {}
    plain = {name: v for name, v in found.items() if not isinstance(v, list | Mapping)}
    cells = {f"parameters.{name}": _cell(value) for name, value in grid.items()}
    own = {name: getattr(kept, name) for name in _Row.__struct_fields__ if name in _SHOWN}
    return {**own, **plain, **cells, "milpscore": made_with.milpscore}


def _cell(value: Any) -> Any:
    """What fits into a cell."""
    return json.dumps(value) if isinstance(value, list | Mapping) else value


def _columns(
    rows: list[dict[str, Any]], first: tuple[str, ...], figures: tuple[str, ...]
) -> list[str]:
    """All columns that occur, and a study's figures whether or not they do, in a fixed order."""
    there = dict.fromkeys(name for row in rows for name in row)
    parameters = sorted(name for name in there if name.startswith("parameters."))
    taken = {*first, *parameters, *figures, *_LAST}
    return [*first, *parameters, *figures, *(name for name in there if name not in taken), *_LAST]
