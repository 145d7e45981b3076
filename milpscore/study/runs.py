"""Solves done one by one and kept: those of a study, or the numbered runs of anything else."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing, nullcontext
from dataclasses import dataclass
from typing import Any, TypeAlias

from milpscore.core.errors import OptionError
from milpscore.study._report import StudyReport, read_study
from milpscore.study._spec import Study, Task, load_study
from milpscore.study.engines import answers, on_dask
from milpscore.study.store import Answer, Store, StudyError, parsed

Progress: TypeAlias = Callable[[int, int], None]
"""Called with how many runs are done, and there are in all."""

Results: TypeAlias = dict[int, dict[str, Any]]
"""Number of a run -> what it gave."""

STUDY = "study"
"""What the file of a study of data sets and models says it is of."""


@dataclass(frozen=True)
class Counts:
    """How far a study is: solves done, failed, and in all."""

    done: int
    failed: int
    total: int


def run_study(
    study: Study | str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    jobs: int = 1,
    dask: str | None = None,
    retry_failed: bool = False,
    progress: Callable[[Counts], None] | None = None,
) -> StudyReport:
    """Do the solves of a study that a file of results lacks.

    Each is committed to the file when it is finished: a process killed at any moment loses the
    solves in flight, and the same call goes on from there. A solve that fails is kept with its
    error and traceback, and done again only where that is asked for.

    Parameters
    ----------
    study : Study or path
        A path is that of a TOML or JSON file; ``docs/studies.md`` has its keys.
    out : path-like
        The file of results, SQLite; made where there is none.
    jobs : int
        Processes of this machine; -1 for all cores.
    dask : str, optional
        The address of a Dask scheduler, whose workers then do the solves; this process alone
        writes. The results are those of one process, seconds and what depends on them apart.
    retry_failed : bool
        Do the failed ones again.
    progress : callable, optional
        Called at the start and after each solve with what has the counts ``done``, ``failed`` and
        ``total``.

    Returns
    -------
    StudyReport
        As :func:`read_study` gives it.

    Raises
    ------
    OptionError
        The study's file has an unknown key or a wrong value, or ``out`` holds a study with other
        settings.
    DataError
        The data cannot be used, or ``out`` is no file of results.
    StudyError
        Another process writes to ``out``, the disk is full, or the workers were lost.
    MissingDependencyError
        ``dask`` is given, and Dask is not installed.
    """
    if jobs == 0 or jobs < -1:
        raise OptionError(f"jobs={jobs}; use a number of processes, or -1 for all cores")
    asked = load_study(study) if isinstance(study, str | os.PathLike) else study
    tasks = asked.tasks()
    store = Store(out, STUDY, asked.settings(), planned=len(tasks))
    settled = {"done"} if retry_failed else {"done", "failed"}

    def left() -> list[Task]:
        return [task for task in tasks if store.status.get(task.key) not in settled]

    def tell() -> None:
        if progress is not None:
            states = list(store.status.values())
            progress(Counts(states.count("done"), states.count("failed"), len(tasks)))

    if not left():
        tell()
        return read_study(out)
    from milpscore.study.work import StudyWork, load_data_set  # loads the solvers

    work = StudyWork(asked, {spec.name: load_data_set(spec) for spec in asked.data})
    with store.writing(), on_dask(dask):
        tell()
        # closed at once on Ctrl-C or a full disk, so that no more solves are begun
        with closing(answers(work, left(), jobs)) as finished:
            for answer in finished:
                task: Task = answer.item
                content = answer.content or {"result": task.place}
                store.commit(task.key, task.number, answer, seed=task.seed, **content)
                tell()
    return read_study(out)


# --- numbered runs -------------------------------------------------------------------------------


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

    Attributes
    ----------
    results : dict of int to dict
        What is finished.

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

    def keep(self, answer: Answer) -> None:
        """Commit the answer of a run, inside :meth:`writing`."""
        run = answer.item
        self.commit(str(run), run, answer, result=answer.content)
        if answer.content is not None:
            self.results[run] = json.loads(json.dumps(answer.content, allow_nan=False))

    def missing(self, runs: int) -> list[int]:
        """Numbers below ``runs`` that are not finished."""
        return [run for run in range(runs) if run not in self.results]

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
    failures: list[Answer] = []

    def tell() -> None:
        if progress is not None:
            progress(runs - len(store.missing(runs)), runs)

    # a file that has all of them is read even while another process writes to it
    with store.writing() if store.missing(runs) else nullcontext():
        tell()
        with closing(answers(function, store.missing(runs), n_jobs)) as finished:
            for answer in finished:
                store.keep(answer)
                if answer.content is None:
                    failures.append(answer)
                else:
                    tell()
    if failures:
        first = min(failures, key=lambda answer: int(answer.item))
        raise StudyError(
            f"{len(failures)} of {runs} runs failed, run {first.item} with {first.error}; the "
            "others are kept, and the same call tries the failed ones again"
        )
    return {run: store.results[run] for run in range(runs)}
