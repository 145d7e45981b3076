"""Running a study: every task once, each kept when it is finished."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import TypeAlias

from milpscore.core.errors import OptionError
from milpscore.study._data_sets import load_data_set
from milpscore.study._engines import Answer, answers, using_scheduler
from milpscore.study._file import load_study
from milpscore.study._report import StudyReport, read_study
from milpscore.study._spec import Study, Task
from milpscore.study._store import Row, Store
from milpscore.study._work import StudyWork

STUDY = "study"
"""What the file of a study of data sets and models says it is of."""


@dataclass(frozen=True)
class Counts:
    """How far a study is: solves done, failed, and in all."""

    done: int
    failed: int
    total: int


StudyProgress: TypeAlias = Callable[[Counts], None]


def run_study(
    study: Study | str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    jobs: int = 1,
    dask: str | None = None,
    retry_failed: bool = False,
    progress: StudyProgress | None = None,
) -> StudyReport:
    """Do the solves of a study that a file of results lacks.

    Each is committed to the file when it is finished: a process killed at any moment loses the
    solves in flight, and the same call goes on from there. A solve that fails is kept with its
    error and traceback, and done again only where that is asked for.

    Parameters
    ----------
    study : Study or path
        A path is that of a TOML file; ``docs/studies.md`` has its keys.
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
        Called with :class:`Counts` at the start and after each solve.

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
    if _left(store, tasks, retry_failed):
        work = StudyWork(asked, {spec.name: load_data_set(spec) for spec in asked.data})
        with store.writing(), using_scheduler(dask):
            _finish(store, work, tasks, jobs, retry_failed, progress)
    elif progress is not None:
        progress(_counts(store, len(tasks)))
    return read_study(out)


def _finish(
    store: Store,
    work: StudyWork,
    tasks: tuple[Task, ...],
    jobs: int,
    retry_failed: bool,
    progress: StudyProgress | None,
) -> None:
    """Do what is left and keep it."""
    left = _left(store, tasks, retry_failed)
    if progress is not None:
        progress(_counts(store, len(tasks)))
    # closed at once on Ctrl-C or a full disk: nothing more is handed to the workers
    with closing(answers(work, left, jobs)) as finished:
        for answer in finished:
            store.commit(_row(answer))
            if progress is not None:
                progress(_counts(store, len(tasks)))


def _left(store: Store, tasks: tuple[Task, ...], retry_failed: bool) -> list[Task]:
    """Tasks to do."""
    settled = {"done"} if retry_failed else {"done", "failed"}
    return [task for task in tasks if store.status.get(task.key) not in settled]


def _counts(store: Store, total: int) -> Counts:
    states = list(store.status.values())
    return Counts(states.count("done"), states.count("failed"), total)


def _row(answer: Answer) -> Row:
    """An answer as it is kept."""
    task: Task = answer.item
    identity = {name: value for name, value in task.identity.items() if name != "seed"}
    if answer.content is None:
        return Row(
            task.key, task.number, "failed", result=identity, seed=task.seed, error=answer.error,
            traceback=answer.traceback, seconds=answer.seconds, versions=answer.versions,
        )  # fmt: skip
    return Row(
        task.key, task.number, "done", seed=task.seed, seconds=answer.seconds,
        versions=answer.versions, **answer.content,
    )  # fmt: skip
