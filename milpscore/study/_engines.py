"""Who does the solves: this process, processes of joblib's, or the workers of a Dask cluster."""

from __future__ import annotations

import pickle
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

from milpscore.study._errors import StudyError
from milpscore.study._store import versions

Work: TypeAlias = "Callable[[Any], Mapping[str, Any]]"

_SCHEDULER: ContextVar[str | None] = ContextVar("scheduler", default=None)


@dataclass(frozen=True)
class Answer:
    """What came of one item: content, or an error."""

    item: Any
    content: Mapping[str, Any] | None
    versions: Mapping[str, str]
    error: str = ""
    traceback: str = ""
    seconds: float | None = None


@contextmanager
def using_scheduler(address: str | None) -> Iterator[None]:
    """Have the solves within done by the workers of a Dask scheduler.

    Parameters
    ----------
    address : str or None
        Say ``tcp://127.0.0.1:8786``; None leaves things as they are.
    """
    if address is None:
        yield
        return
    token = _SCHEDULER.set(address)
    try:
        yield
    finally:
        _SCHEDULER.reset(token)


def answers(work: Work, items: Sequence[Any], n_jobs: int = 1) -> Generator[Answer, None, None]:
    """Do the work on every item; answers as they come, in any order.

    Parameters
    ----------
    work : callable
        An item -> a mapping; picklable where other processes do it.
    items : sequence
    n_jobs : int
        Processes of this machine, -1 for all cores; unused with a Dask scheduler.

    Yields
    ------
    Answer
        An error of the work is an answer; only Ctrl-C and the like end the iteration.

    Raises
    ------
    StudyError
        The workers were lost.
    MissingDependencyError
        There is a scheduler, and Dask is not installed.
    """
    address = _SCHEDULER.get()
    if address is not None:
        from milpscore.study._dask import dask_answers

        yield from dask_answers(address, work, items)
    elif n_jobs == 1 or len(items) < 2:
        for item in items:
            yield attempt(work, item)
    else:
        yield from _joblib_answers(work, items, n_jobs)


def attempt(work: Work, item: Any) -> Answer:
    """Do the work on one item; its error is an answer too."""
    began = time.perf_counter()
    try:
        content = dict(work(item))
        return Answer(item, content, versions(), seconds=time.perf_counter() - began)
    except Exception as error:  # noqa: BLE001 recorded with its traceback: one failure ends no study
        text = f"{type(error).__name__}: {error}"
        seconds = time.perf_counter() - began
        return Answer(item, None, versions(), text, traceback.format_exc(), seconds)


def _joblib_answers(work: Work, items: Sequence[Any], n_jobs: int) -> Iterator[Answer]:
    """Answers of processes, which read the work (and its data) once, from a file."""
    from joblib import Parallel, delayed
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    with tempfile.TemporaryDirectory(prefix="milpscore-") as folder:
        file = Path(folder) / "work.pickle"
        file.write_bytes(pickle.dumps(work))
        parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
        found = parallel(delayed(_attempt_from)(str(file), item) for item in items)
        try:
            for answer in found:  # noqa: UP028 'yield from' would close it outside the block below
                yield answer
        except TerminatedWorkerError as error:
            raise StudyError(
                "a process of --jobs was killed, perhaps for lack of memory; the finished rows are "
                "kept: run the same again, with fewer jobs if it recurs"
            ) from error
        finally:
            with warnings.catch_warnings():
                # joblib warns of answers nobody took: after Ctrl-C nobody wants them
                warnings.simplefilter("ignore", UserWarning)
                found.close()


def _attempt_from(file: str, item: Any) -> Answer:
    """In another process: do the work that lies in a file."""
    return attempt(_unpickled(file), item)


@lru_cache(maxsize=1)
def _unpickled(file: str) -> Work:
    found: Work = pickle.loads(Path(file).read_bytes())
    return found
