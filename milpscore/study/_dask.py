"""Solves on the workers of a Dask scheduler."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from itertools import islice
from typing import Any

from milpscore.core.errors import MissingDependencyError
from milpscore.study._engines import Answer, Work, attempt
from milpscore.study._errors import StudyError
from milpscore.study._store import versions

CONNECT_SECONDS = 10
"""How long to wait for the scheduler, and then for a first worker."""

_PER_THREAD = 8
"""Solves handed out ahead of a worker's thread: enough to keep it busy while answers travel."""


def dask_answers(address: str, work: Work, items: Sequence[Any]) -> Iterator[Answer]:
    """Have the work done on every item by the workers of a scheduler.

    The work travels once, as a task whose result the solves share: should all workers that hold it
    die, the scheduler makes it again. A solve whose worker dies is given to another.

    Parameters
    ----------
    address : str
    work : callable
        Picklable.
    items : sequence

    Yields
    ------
    Answer
        A solve that has killed several workers is an answer with an error.

    Raises
    ------
    MissingDependencyError
        Dask is not installed.
    StudyError
        There is no scheduler or no worker at the address, or the scheduler is gone.
    """
    with _client(address) as client:
        name = f"milpscore-{secrets.token_hex(4)}"
        shared = _handed_over(client, work, name)
        waiting = enumerate(items)
        sent: dict[str, Any] = {}

        def hand_out(count: int) -> list[Any]:
            batch = list(islice(waiting, count))
            if not batch:
                return []
            given = {f"{name}-solve-{number}": item for number, item in batch}
            sent.update(given)
            futures = client.map(
                _attempt_shared, list(given.values()), work=shared, key=list(given), pure=False
            )
            return list(futures)

        threads = sum(client.nthreads().values())
        first = hand_out(_PER_THREAD * max(threads, 1))
        done = _distributed().as_completed(
            first, loop=client.loop, with_results=True, raise_errors=False
        )
        try:
            while not done.is_empty():
                batch = done.next_batch()
                done.update(hand_out(len(batch)))
                for future, result in batch:
                    yield _answer(address, future, result, sent.pop(future.key))
        finally:
            client.cancel(list(done.futures), force=True)


@contextmanager
def _client(address: str) -> Iterator[Any]:
    """A connection to a scheduler that has a worker."""
    distributed = _distributed()
    try:
        # asked first: a client that fails on a malformed address waits 20 s when it is collected
        import_module("distributed.comm").resolve_address(address)
        client = distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise StudyError(
            f"there is no Dask scheduler at {address!r} ({error}): start one with 'dask scheduler' "
            "and pass the address it prints"
        ) from error
    with client:
        try:
            client.wait_for_workers(1, timeout=CONNECT_SECONDS)
        except TimeoutError as error:
            raise StudyError(
                f"the scheduler at {address} has no workers: start some with 'dask worker "
                f"{address}'"
            ) from error
        try:
            yield client
        except OSError as error:
            raise _gone(address, error) from error


def _distributed() -> Any:
    """The package, which is untyped and optional.

    Raises
    ------
    MissingDependencyError
    """
    try:
        return import_module("distributed")
    except ModuleNotFoundError as error:
        raise MissingDependencyError(
            "--dask needs Dask: pip install 'milpscore[distributed]', here and on the workers"
        ) from error


def _handed_over(client: Any, work: Work, name: str) -> Any:
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
    if future.status == "finished":
        found: Answer = result
        return found
    if future.status == "error":
        _, error, _ = result
        text = f"{type(error).__name__}: {error}"
        return Answer(item, None, versions(), text, f"(on a worker of Dask's)\n{text}")
    raise _gone(address, future.status)


def _gone(address: str, why: Any) -> StudyError:
    """What is said of a scheduler that answers no more."""
    return StudyError(
        f"the Dask scheduler at {address} is gone ({why}); the finished rows are kept: start it "
        "again, and run the same again"
    )


def _itself(work: Work) -> Work:
    return work


def _attempt_shared(item: Any, work: Work) -> Answer:
    return attempt(work, item)
