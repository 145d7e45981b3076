"""Runs of an experiment, kept in a file as they finish: what is there is not run again."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, TypeAlias

from milpscore.core.errors import DataError, MilpscoreError, OptionError

Progress: TypeAlias = Callable[[int, int], None]
Results: TypeAlias = dict[int, dict[str, Any]]
Run: TypeAlias = Callable[[int], Mapping[str, Any]]

_TABLES = """
CREATE TABLE IF NOT EXISTS about (experiment TEXT, settings TEXT);
CREATE TABLE IF NOT EXISTS runs (number INTEGER PRIMARY KEY, result TEXT NOT NULL);
"""


class RunError(MilpscoreError):
    """Runs failed, or their file is being written by another process."""


class RunStore:
    """The finished runs of one experiment with one set of settings.

    Runs are counted from 0; a run's seed follows from its number and the settings, so that it is
    the same run however many there are.

    Parameters
    ----------
    path : path-like or None
        A SQLite file, made with the first run; None keeps the runs in memory.
    experiment : str
    settings : mapping
        Whatever a run depends on besides its number, as JSON can hold it.

    Raises
    ------
    OptionError
        The file holds runs of another experiment or with other settings.
    DataError
        The file is no file of runs.
    """

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
        self, function: Run, runs: int, n_jobs: int = 1, progress: Progress | None = None
    ) -> Results:
        """Do the runs below ``runs`` that are missing; each is on the disk when it is counted.

        Parameters
        ----------
        function : callable
            A run's number -> its result; picklable where other processes call it.
        runs, n_jobs : int
            Processes: -1 for all cores.
        progress : callable, optional
            ``progress(done, total)``, once at the start and after each run.

        Raises
        ------
        OptionError
            ``runs`` is below 1.
        RunError
            Some runs failed; the others are kept, and the next call tries the failed ones again.
            Or another process writes to the file.
        """
        if runs < 1:
            raise OptionError(f"runs={runs}; use at least 1.")
        tell = progress or (lambda done, total: None)
        missing = [run for run in range(runs) if run not in self.results]
        tell(runs - len(missing), runs)
        errors: dict[int, str] = {}
        if missing:
            with closing(self._begun()) as file:
                for run, result, error in _answers(function, missing, n_jobs):
                    if result is None:
                        errors[run] = error
                        continue
                    self._keep(file, run, result)
                    tell(runs - len(missing) + sum(each in self.results for each in missing), runs)
        if errors:
            raise RunError(
                f"{len(errors)} of {runs} runs failed, run {min(errors)} with "
                f"{errors[min(errors)]}; the others are kept, and the same call tries the failed "
                "ones again"
            )
        return {run: self.results[run] for run in range(runs)}

    def _keep(self, file: sqlite3.Connection, run: int, result: Mapping[str, Any]) -> None:
        """Commit a finished run."""
        text = json.dumps(result, allow_nan=False)
        with file:
            file.execute("INSERT INTO runs VALUES (?, ?)", (run, text))
        self.results[run] = json.loads(text)

    def _begun(self) -> sqlite3.Connection:
        """The file as its only writer, until it is closed."""
        file = self._opened()
        file.execute("PRAGMA locking_mode = EXCLUSIVE")
        try:
            file.executescript(_TABLES)
            self._load(file)
            with file:
                file.execute("DELETE FROM about")
                about = self.experiment, json.dumps(self.settings)
                file.execute("INSERT INTO about VALUES (?, ?)", about)
        except sqlite3.OperationalError as error:
            file.close()
            raise RunError(f"{self.path} cannot be written ({error})") from error
        return file

    def _opened(self) -> sqlite3.Connection:
        """The file, or one in memory."""
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


def finish_runs(
    store: RunStore,
    function: Run,
    runs: int,
    *,
    n_jobs: int = 1,
    progress: Progress | None = None,
) -> Results:
    """As :meth:`RunStore.finish`."""
    return store.finish(function, runs, n_jobs, progress)


def _answers(
    function: Run, runs: list[int], n_jobs: int
) -> Iterator[tuple[int, Mapping[str, Any] | None, str]]:
    """(run, result or None, error) of every run, as they come."""
    from joblib import Parallel, delayed

    # one process: an interrupt must reach this one between two runs
    if n_jobs == 1:
        yield from (_attempt(function, run) for run in runs)
        return
    parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
    yield from parallel(delayed(_attempt)(function, run) for run in runs)


def _attempt(function: Run, run: int) -> tuple[int, Mapping[str, Any] | None, str]:
    try:
        return run, function(run), ""
    except Exception as error:  # noqa: BLE001 one failed run ends no experiment
        return run, None, f"{type(error).__name__}: {error}"
