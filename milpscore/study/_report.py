"""What a file of results holds: how far it is, its table, its cards, exports."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from milpscore.core.errors import DataError, MissingDependencyError, NotApplicableError, OptionError
from milpscore.study._sqlite import FIGURES, is_new, opened
from milpscore.study._store import parsed

if TYPE_CHECKING:
    import pandas as pd

FORMATS = ("csv", "parquet")

_FIRST = ("number", "key", "status", "seed", "data", "model", "fold")
_TEXTS = ("bound_source", "claim", "verified", "termination", "solver", "message")
_COUNTS = ("seed", "fold", "terms", "nodes", "train_errors", "test_errors", "train_rows",
           "test_rows")  # fmt: skip


@dataclass(frozen=True)
class StudyReport:
    """How far a study is.

    Attributes
    ----------
    path : Path
    experiment : str
        "study", or the name of a paper's experiment.
    settings : mapping
        What all of its rows depend on.
    request : mapping or None
        Of a finished experiment: the settings as they were asked for.
    planned : int or None
        Solves in all.
    done, failed : int
    created : str
        UTC, ISO 8601.
    """

    path: Path
    experiment: str
    settings: Mapping[str, Any]
    request: Mapping[str, Any] | None
    planned: int | None
    done: int
    failed: int
    created: str

    @property
    def left(self) -> int | None:
        """Solves neither done nor failed; None where the plan is not known."""
        return None if self.planned is None else max(self.planned - self.done - self.failed, 0)

    def table(self) -> pd.DataFrame:
        """As :func:`study_table`."""
        return study_table(self.path)

    def card(self, key: str) -> Any:
        """The scorecard of a row.

        Raises
        ------
        NotApplicableError
            There is no such row, or it has no card.
        """
        from milpscore.scorecard import Scorecard

        with opened(self.path) as connection:
            found = connection.execute("SELECT card FROM solves WHERE key = ?", (key,)).fetchone()
        if found is None or found[0] is None:
            raise NotApplicableError(
                f"{self.path.name} has no card under the key {key!r}: the table's column 'key' "
                "lists the rows, and relaxed and failed ones have no card"
            )
        return Scorecard.from_json(found[0])

    def certificate(self, key: str) -> dict[str, Any]:
        """The certificate of a row: its figures and bound source, or the evidence as well.

        Raises
        ------
        NotApplicableError
            There is no such row, or it failed.
        """
        query = "SELECT certificate FROM solves WHERE key = ?"
        with opened(self.path) as connection:
            found = connection.execute(query, (key,)).fetchone()
        if found is None or found[0] is None:
            raise NotApplicableError(f"{self.path.name} has no certificate under the key {key!r}")
        content: dict[str, Any] = parsed(found[0], self.path)
        return content


def read_study(path: str | os.PathLike[str]) -> StudyReport:
    """How far the study in a file is; also while another process works on it.

    Parameters
    ----------
    path : path-like

    Raises
    ------
    DataError
        There is no file, or it is no file of results, or damaged.
    """
    path = Path(path)
    if path.exists() and is_new(path):
        raise DataError(f"{str(path)!r} is empty: run the study first")
    with opened(path) as connection:
        found = connection.execute(
            "SELECT experiment, settings, request, planned, created FROM study"
        ).fetchone()
        counts = dict(connection.execute("SELECT status, count(*) FROM solves GROUP BY status"))
    if found is None:
        raise DataError(f"{str(path)!r} holds no study yet: run one first")
    experiment, settings, request, planned, created = found
    return StudyReport(
        path, experiment, parsed(settings, path),
        None if request is None else parsed(request, path),
        planned, counts.get("done", 0), counts.get("failed", 0), created,
    )  # fmt: skip


def study_table(path: str | os.PathLike[str]) -> pd.DataFrame:
    """The rows of a study.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    DataFrame
        One row a solve, in the order of the study: number, key, status, seed, data, model, fold
        (missing: all rows), a column ``parameters.NAME`` for each parameter of a grid, the figures
        of :data:`milpscore.study.FIGURES`, error, seconds (in all), milpscore (the version) and
        finished (UTC). Of an experiment: its results' plain numbers and texts instead.

    Raises
    ------
    DataError
        As :func:`read_study`.
    """
    import pandas as pd

    report = read_study(path)
    names = (
        "number",
        "key",
        "status",
        "seed",
        "result",
        "error",
        "seconds",
        "versions",
        "finished",
    )
    with opened(report.path) as connection:
        found = connection.execute(f"SELECT {', '.join(names)} FROM solves ORDER BY number")
        rows = [_row(dict(zip(names, values, strict=True)), report.path) for values in found]
    is_study = report.experiment == "study"
    table = pd.DataFrame(rows, columns=_columns(rows, FIGURES if is_study else ()))
    if not is_study:
        return table
    # a column in which nothing was found yet is one of numbers all the same
    numbers = [name for name in FIGURES if name not in _TEXTS]
    grid = [name for name in table.columns if name.startswith("parameters.")]
    table[grid] = table[grid].convert_dtypes()
    return table.astype(dict.fromkeys(numbers, "float64")).astype(dict.fromkeys(_COUNTS, "Int64"))


def _row(kept: dict[str, Any], path: Path) -> dict[str, Any]:
    """A row as the file has it, its JSON spread over columns."""
    result, made_with = kept.pop("result"), parsed(kept.pop("versions"), path)
    content = {} if result is None else parsed(result, path)
    return {**kept, **_flat_row(content), "milpscore": made_with["milpscore"]}


def _flat_row(content: Mapping[str, Any]) -> dict[str, Any]:
    """Plain values as they are, a grid's parameters one by one, lists as JSON, tables left out."""
    row: dict[str, Any] = {}
    for name, value in content.items():
        if name == "parameters":
            row |= {f"parameters.{key}": _cell(entry) for key, entry in value.items()}
        elif not isinstance(value, list | Mapping):
            row[name] = value
    return row


def _cell(value: Any) -> Any:
    """What fits into a cell."""
    return json.dumps(value) if isinstance(value, list | Mapping) else value


def _columns(rows: list[dict[str, Any]], figures: tuple[str, ...]) -> list[str]:
    """All columns that occur, and a study's figures whether or not they do, in a fixed order."""
    there = dict.fromkeys(name for row in rows for name in row)
    parameters = sorted(name for name in there if name.startswith("parameters."))
    last = ("error", "seconds", "milpscore", "finished")
    first = _FIRST if figures else _FIRST[:4]
    taken = {*first, *parameters, *figures, *last}
    return [*first, *parameters, *figures, *(name for name in there if name not in taken), *last]


def export_study(
    path: str | os.PathLike[str], out: str | os.PathLike[str], format: str = "csv"
) -> Path:
    """Write the table of a study to a file.

    Parameters
    ----------
    path : path-like
        The file of results.
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
    DataError
        As :func:`read_study`.
    """
    if format not in FORMATS:
        raise OptionError(f"format={format!r} is unknown; use one of {', '.join(FORMATS)}")
    table, out = study_table(path), Path(out)
    if format == "csv":
        table.to_csv(out, index=False)
        return out
    try:
        import pyarrow  # noqa: F401
    except ModuleNotFoundError as error:
        raise MissingDependencyError(
            "parquet needs PyArrow (pip install pyarrow); the format csv needs nothing"
        ) from error
    # a grid may hold numbers beside texts in one parameter; a column of Parquet has one type
    grid = [name for name in table.columns if str(name).startswith("parameters.")]
    mixed = [name for name in grid if table[name].dtype == object]
    table = table.astype(dict.fromkeys(mixed, "string"))
    table.to_parquet(out, index=False, engine="pyarrow")
    return out
