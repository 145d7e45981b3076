"""Runs of an experiment, kept in a file of results: what is there is not run again."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing, nullcontext
from typing import Any, TypeAlias

from milpscore.core.errors import OptionError
from milpscore.study._engines import Answer, answers
from milpscore.study._errors import StudyError
from milpscore.study._store import Row, Store, parsed

Progress: TypeAlias = Callable[[int, int], None]
Results: TypeAlias = dict[int, dict[str, Any]]


class RunStore(Store):
    """The finished runs of one experiment with one set of settings.

    Runs are counted from 0; a run's seed follows from its number and the settings' random_state,
    so that it is the same run however many there are.

    Parameters
    ----------
    path : path-like or None
        A SQLite file; made with the first run. None keeps the runs in memory only.
    experiment : str
    settings : mapping
        Whatever a run depends on besides its number, as JSON can hold it.

    Raises
    ------
    OptionError
        The file holds runs of another experiment or with other settings.
    DataError
        The file is no file of results, or damaged.
    """

    def __init__(
        self, path: str | os.PathLike[str] | None, experiment: str, settings: Mapping[str, Any]
    ) -> None:
        self.results: Results = {}
        super().__init__(path, experiment, settings)

    def append(self, run: int, result: Mapping[str, Any]) -> None:
        """Keep a finished run, and write it to the disk before returning.

        Parameters
        ----------
        run : int
        result : mapping
            As JSON can hold it, without infinities and NaN.

        Raises
        ------
        StudyError
            Another process is writing to the file, or there is no room.
        """
        with self.writing() if self._writer is None else nullcontext():
            self.commit(Row(str(run), run, "done", result))

    def commit(self, row: Row) -> None:
        """As :meth:`Store.commit`."""
        super().commit(row)
        if row.status == "done":
            self.results[row.number] = json.loads(json.dumps(row.result, allow_nan=False))

    def missing(self, runs: int) -> list[int]:
        """Numbers below ``runs`` that are not finished."""
        return [run for run in range(runs) if run not in self.results]

    def first(self, runs: int) -> Results:
        """The results of the runs below ``runs``, in order."""
        return {run: self.results[run] for run in range(runs) if run in self.results}

    def _load(self, connection: sqlite3.Connection) -> None:
        super()._load(connection)
        found = connection.execute("SELECT number, result FROM solves WHERE status = 'done'")
        assert self.path is not None
        self.results = {number: parsed(text, self.path) for number, text in found}


def finish_runs(
    store: RunStore,
    function: Callable[[int], Mapping[str, Any]],
    runs: int,
    *,
    n_jobs: int = 1,
    progress: Progress | None = None,
) -> Results:
    """Do the runs below ``runs`` that a store lacks, and keep each one when it is finished.

    A run that fails is kept as such, with its traceback; the others are done all the same. The
    next call tries it again.

    Parameters
    ----------
    store : RunStore
    function : callable
        A run's number -> its result; with several processes it must be picklable.
    runs : int
    n_jobs : int
        Processes; -1 for all cores.
    progress : callable, optional
        ``progress(done, total)``, once at the start and after each run.

    Returns
    -------
    dict of int to dict
        The results of runs 0 to ``runs`` - 1.

    Raises
    ------
    OptionError
        ``runs`` is below 1.
    StudyError
        Some runs failed, another process is writing to the file, or there is no room.
    """
    if runs < 1:
        raise OptionError(f"runs={runs}; use at least 1.")
    store.planned = runs
    failures = []
    # a file that has all of them is read even while another process writes to it
    with store.writing() if store.missing(runs) else nullcontext():
        missing = store.missing(runs)
        done = runs - len(missing)
        if progress is not None:
            progress(done, runs)
        # closed at once on Ctrl-C or a full disk: nothing more is handed to the workers
        with closing(answers(function, missing, n_jobs)) as finished:
            for answer in finished:
                store.commit(_row(answer))
                if answer.content is None:
                    failures.append(answer)
                    continue
                done += 1
                if progress is not None:
                    progress(done, runs)
    if failures:
        first = min(failures, key=lambda answer: int(answer.item))
        raise StudyError(
            f"{len(failures)} of {runs} runs failed, run {first.item} with {first.error}; the "
            "others are kept, and the same call tries the failed ones again"
        )
    return store.first(runs)


def _row(answer: Answer) -> Row:
    """A run as it is kept."""
    return Row(
        str(answer.item), answer.item, "done" if answer.content is not None else "failed",
        answer.content, error=answer.error, traceback=answer.traceback,
        seconds=answer.seconds, versions=answer.versions,
    )  # fmt: skip
