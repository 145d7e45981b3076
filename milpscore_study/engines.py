"""Who does the solves: this process, processes of joblib's, or the workers of a Dask cluster."""

from __future__ import annotations

import pickle
import secrets
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

from milpscore.core.cluster import connected, distributed_package
from milpscore_study.store import Answer, StudyError

Work: TypeAlias = "Callable[[Any], Mapping[str, Any]]"

_PER_THREAD = 8
"""Solves sent ahead of each worker thread: enough to keep it busy while answers travel."""

_CLUSTER: ContextVar[str | None] = ContextVar("cluster", default=None)


@contextmanager
def on_dask(address: str | None) -> Iterator[None]:
    """Have the solves within done by the workers of the Dask scheduler at an address, if any."""
    token = _CLUSTER.set(address or _CLUSTER.get())
    try:
        yield
    finally:
        _CLUSTER.reset(token)


def answers(work: Work, items: Sequence[Any], n_jobs: int = 1) -> Generator[Answer, None, None]:
    """Do the work on every item; answers as they come, in any order.

    An error of the work is an answer. The work is pickled once where other processes do it.
    """
    if (address := _CLUSTER.get()) is not None:
        yield from _of_dask(address, work, items)
    elif n_jobs == 1 or len(items) < 2:
        for item in items:
            yield attempt(item, work)
    else:
        yield from _of_processes(work, items, n_jobs)


def attempt(item: Any, work: Work) -> Answer:
    """Do the work on one item; its error is an answer too."""
    began = time.perf_counter()
    try:
        content = dict(work(item))
    except Exception as error:  # noqa: BLE001 recorded with its traceback: one failure ends no study
        text, seconds = f"{type(error).__name__}: {error}", time.perf_counter() - began
        return Answer(item, None, text, traceback.format_exc(), seconds)
    return Answer(item, content, seconds=time.perf_counter() - began)


# --- processes of this machine -------------------------------------------------------------------


def _of_processes(work: Work, items: Sequence[Any], n_jobs: int) -> Iterator[Answer]:
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
    return attempt(item, _unpickled(file))


@lru_cache(maxsize=1)
def _unpickled(file: str) -> Work:
    found: Work = pickle.loads(Path(file).read_bytes())
    return found


# --- Dask ----------------------------------------------------------------------------------------
# Through Dask's own client: joblib's Dask backend waits for ever once a solve has killed as many
# workers as the scheduler allows, and cannot make lost data again.


def _of_dask(address: str, work: Work, items: Sequence[Any]) -> Iterator[Answer]:
    """Answers of a scheduler's workers; a solve whose worker dies is given to another.

    The work travels once, as the result of a task that all solves share: should every worker that
    holds it die, the scheduler makes it again. A solve that killed several workers is an error.
    """
    distributed = distributed_package()
    with _client(address) as client:
        name = f"milpscore-{secrets.token_hex(4)}"
        shared = _share(client, work, name)
        waiting, sent = enumerate(items), {}

        def send(count: int) -> list[Any]:
            batch = {f"{name}-solve-{number}": item for number, item in islice(waiting, count)}
            sent.update(batch)
            futures = client.map(attempt, [*batch.values()], work=shared, key=[*batch], pure=False)
            return list(futures) if batch else []

        first = send(_PER_THREAD * max(sum(client.nthreads().values()), 1))
        done = distributed.as_completed(
            first, loop=client.loop, with_results=True, raise_errors=False
        )
        try:
            while not done.is_empty():
                batch = done.next_batch()
                done.update(send(len(batch)))
                for future, result in batch:
                    yield _answer(address, future, result, sent.pop(future.key))
        finally:
            client.cancel(list(done.futures), force=True)


@contextmanager
def _client(address: str) -> Iterator[Any]:
    """A connection to a scheduler that has a worker."""
    with connected(address, StudyError) as client:
        try:
            yield client
        except OSError as error:
            raise _gone(address, error) from error


def _share(client: Any, work: Work, name: str) -> Any:
    """The work as a task's result, once a worker has been able to read it."""
    shared = client.submit(_itself, work, key=f"{name}-work", pure=False)
    error = shared.exception()  # waits
    if error is not None:
        raise StudyError(
            f"the workers cannot read the study ({error!r}): install the same milpscore and Python "
            "there"
        ) from error
    return shared


def _answer(address: str, future: Any, result: Any, item: Any) -> Answer:
    """What a future brought."""
    if isinstance(result, Answer):  # whatever has become of the worker that still held it
        return result
    if future.status == "error":
        _, error, _ = result
        text = f"{type(error).__name__}: {error}"
        return Answer(item, None, text, f"(on a worker of Dask's)\n{text}")
    raise _gone(address, future.status)


def _gone(address: str, why: Any) -> StudyError:
    """What is said of a scheduler that answers no more."""
    return StudyError(
        f"the Dask scheduler at {address} is gone ({why}); the finished rows are kept: start it "
        "again, and run the same again"
    )


def _itself(work: Work) -> Work:
    return work
