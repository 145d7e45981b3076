"""The solves of a study, done one by one and kept."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

from milpscore.core.errors import OptionError
from milpscore_study._report import StudyReport, read_study
from milpscore_study._spec import Study, Task, load_study
from milpscore_study.engines import answers, on_dask
from milpscore_study.store import Store

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
        The data cannot be used, or ``out`` is not a file of results.
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
    from milpscore_study.work import StudyWork, load_data_set  # loads the solvers

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
