"""One experiment, its runs kept in a file as they finish: what is there is not run again."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, Self, TypeAlias

import msgspec
import pandas as pd
from joblib import Parallel, delayed

from milpscore.core.errors import DataError, MilpscoreError, NotApplicableError, OptionError

Progress: TypeAlias = Callable[[int, int], None]
Result: TypeAlias = dict[str, Any]
Results: TypeAlias = dict[int, Result]

_TABLES = """
CREATE TABLE IF NOT EXISTS about (experiment TEXT, settings TEXT);
CREATE TABLE IF NOT EXISTS runs (number INTEGER PRIMARY KEY, result TEXT NOT NULL);
"""


class RunError(MilpscoreError):
    """Runs failed, or their file is being written by another process."""


class Finding(SimpleNamespace):
    """What the runs say: tables, ``runs`` with a row a run, and what only a figure needs."""

    def tables(self) -> dict[str, pd.DataFrame]:
        """The tables that a person reads: all but the single runs."""
        return {
            name: table
            for name, table in vars(self).items()
            if isinstance(table, pd.DataFrame) and name != "runs"
        }


class Experiment(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table or figure of a source: the fields are its settings, a call is one run.

    A run is known by its number, from 0; its seed follows from number and settings, so that it is
    the same run however many there are.
    """

    random_state: int = 0

    name: ClassVar[str]
    repetitions: ClassVar[int]
    """Draws of the data unless told otherwise."""
    free: ClassVar[frozenset[str]] = frozenset({"data"})
    """Fields no run depends on: a folder that may move, what only the tables are made with."""

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Self:
        """The experiment with settings as JSON or TOML hold them; OptionError for a wrong one."""
        try:
            return msgspec.convert(dict(settings), cls)
        except msgspec.ValidationError as error:
            known = ", ".join(cls.__struct_fields__)
            raise OptionError(f"settings of {cls.name}: {error}; there are {known}") from error

    def __call__(self, run: int) -> Result:
        """One run's result, as JSON can hold it."""
        raise NotImplementedError

    def finding(self, results: Results) -> Finding:
        """What the source makes of the runs."""
        raise NotImplementedError

    def draw(self, found: Finding) -> Any:
        """The source's figure of a finding."""
        raise NotApplicableError(f"{self.name} has no figure: print its tables")

    def total(self, repetitions: int) -> int:
        """Runs of so many repetitions."""
        return repetitions

    def settings(self) -> dict[str, Any]:
        """Everything a run depends on besides its number."""
        content = msgspec.structs.asdict(self)
        kept = {name: value for name, value in content.items() if name not in self.free}
        settings: dict[str, Any] = msgspec.to_builtins(kept)
        return settings

    def run(
        self,
        repetitions: int | None = None,
        *,
        out: str | os.PathLike[str] | None = None,
        n_jobs: int = 1,
        progress: Progress | None = None,
    ) -> Finding:
        """Do the runs that a file lacks, and make of all what the source does.

        Parameters
        ----------
        repetitions : int, optional
            Draws of the data, or of the folds; by default the experiment's own number.
        out : path-like, optional
            A SQLite file; each run is on the disk when it is counted.
        n_jobs : int
            Processes: -1 for all cores.
        progress : callable, optional
            ``progress(done, total)``, at the start and after each run.

        Raises
        ------
        OptionError
            The file holds runs of another experiment or with other settings.
        RunError
            Some runs failed (the others are kept, the same call tries the failed ones again), or
            another process writes to the file.
        DataError
            A file cannot be read.
        """
        repetitions = self.repetitions if repetitions is None else repetitions
        if repetitions < 1:
            raise OptionError(f"runs={repetitions}; use at least 1.")
        store = RunStore(out, self.name, self.settings())
        return self.finding(store.finish(self, self.total(repetitions), n_jobs, progress))


class RunStore:
    """The finished runs of one experiment with one set of settings, in a file or in memory."""

    def __init__(
        self, path: str | os.PathLike[str] | None, experiment: str, settings: Mapping[str, Any]
    ) -> None:
        self.path = None if path is None else Path(path)
        self.experiment = experiment
        # through JSON once, so that tuples compare with the lists that are read back
        self.settings: dict[str, Any] = json.loads(json.dumps(dict(settings), allow_nan=False))
        self.results: Results = {}
        if self.path is not None and self.path.exists():
            with closing(self._opened()) as file:
                self._load(file)

    def finish(
        self,
        function: Callable[[int], Mapping[str, Any]],
        total: int,
        n_jobs: int = 1,
        progress: Progress | None = None,
    ) -> Results:
        """Do the runs below ``total`` that are missing; as :meth:`Experiment.run`."""
        tell = progress or (lambda done, total: None)
        missing = [run for run in range(total) if run not in self.results]
        done, errors = total - len(missing), {}
        tell(done, total)
        if missing:
            with closing(self._begun()) as file:
                for run, result, error in _answers(function, missing, n_jobs):
                    if result is None:
                        errors[run] = error
                        continue
                    text = json.dumps(result, allow_nan=False)
                    with file:
                        file.execute("INSERT OR IGNORE INTO runs VALUES (?, ?)", (run, text))
                    self.results[run] = json.loads(text)
                    done += 1
                    tell(done, total)
        if errors:
            first = min(errors)
            raise RunError(
                f"{len(errors)} of {total} runs failed, run {first} with {errors[first]}; the "
                "others are kept, and the same call tries the failed ones again"
            )
        return {run: self.results[run] for run in range(total)}

    def _begun(self) -> sqlite3.Connection:
        """The file, nobody else's until it is closed."""
        file = self._opened()
        try:
            file.execute("PRAGMA locking_mode = EXCLUSIVE")
            self._load(file)
            with file:
                file.execute("DELETE FROM about")
                about = self.experiment, json.dumps(self.settings)
                file.execute("INSERT INTO about VALUES (?, ?)", about)
        except (sqlite3.Error, MilpscoreError) as error:
            file.close()
            if isinstance(error, MilpscoreError):
                raise
            raise RunError(f"{self.path} cannot be written ({error})") from error
        return file

    def _opened(self) -> sqlite3.Connection:
        return sqlite3.connect(self.path or ":memory:", timeout=1.0)

    def _load(self, file: sqlite3.Connection) -> None:
        """Read what is finished; refuse to mix."""
        try:
            file.executescript(_TABLES)
            about = file.execute("SELECT experiment, settings FROM about").fetchone()
            kept = file.execute("SELECT number, result FROM runs ORDER BY number").fetchall()
        except sqlite3.OperationalError as error:
            raise RunError(f"another process is using {self.path} ({error})") from error
        except sqlite3.DatabaseError as error:
            raise DataError(f"{str(self.path)!r} is no file of runs ({error})") from error
        if about is not None:
            self._check(about[0], json.loads(about[1]))
        self.results |= {number: json.loads(text) for number, text in kept}

    def _check(self, experiment: str, settings: dict[str, Any]) -> None:
        if experiment != self.experiment:
            raise OptionError(
                f"{str(self.path)!r} holds runs of {experiment}, not of {self.experiment}: name "
                "another file"
            )
        changed = [
            f"{key}={settings.get(key)!r} (now {self.settings.get(key)!r})"
            for key in sorted({*settings, *self.settings})
            if settings.get(key) != self.settings.get(key)
        ]
        if changed:
            raise OptionError(
                f"{str(self.path)!r} holds runs with other settings, {', '.join(changed)}: name "
                "another file, or use those settings"
            )


def _answers(
    function: Callable[[int], Mapping[str, Any]], runs: list[int], n_jobs: int
) -> Iterator[tuple[int, Mapping[str, Any] | None, str]]:
    """(run, result or None, error) of every run, as they come."""
    if n_jobs == 1:  # in this process, so that an interrupt falls between two runs
        yield from (_attempt(function, run) for run in runs)
        return
    parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
    yield from parallel(delayed(_attempt)(function, run) for run in runs)


def _attempt(
    function: Callable[[int], Mapping[str, Any]], run: int
) -> tuple[int, Mapping[str, Any] | None, str]:
    try:
        return run, function(run), ""
    except Exception as error:  # noqa: BLE001 one failed run ends no experiment
        return run, None, f"{type(error).__name__}: {error}"


def means_of(runs: pd.DataFrame, by: list[str], columns: list[str]) -> pd.DataFrame:
    """A row a group: each column's mean and standard deviation (NAME_stdev), and the runs."""
    grouped = runs.groupby(by, sort=False)
    table = pd.DataFrame(
        {
            name: values
            for column in columns
            for name, values in (
                (column, grouped[column].mean()),
                (f"{column}_stdev", grouped[column].std()),
            )
        }
    )
    return table.assign(runs=grouped["run"].nunique()).reset_index()
