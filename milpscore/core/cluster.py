"""Who computes: one thread of linear algebra here, or the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from threading import Lock, local
from typing import Any

from threadpoolctl import ThreadpoolController

from milpscore.core.errors import MilpscoreError, optional

CONNECT_SECONDS = 10
"""How long to wait for a Dask scheduler, and then for a first worker."""


def distributed_package() -> Any:
    """Dask's package, which is untyped and optional."""
    return optional(
        "distributed",
        "--dask needs Dask: pip install 'milpscore[distributed]', here and on the workers",
    )


@contextmanager
def connected(address: str, refusal: type[MilpscoreError]) -> Iterator[Any]:
    """Yield a client of a scheduler that has a worker; else an error of the kind ``refusal``."""
    distributed = distributed_package()
    try:
        # asked first: a client that fails on a malformed address waits 20 s when it is collected
        import_module("distributed.comm").resolve_address(address)
        client = distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise refusal(
            f"there is no Dask scheduler at {address!r} ({error}): start one with 'dask scheduler' "
            "and pass the address it prints"
        ) from error
    with client:
        try:
            client.wait_for_workers(1, timeout=CONNECT_SECONDS)
        except TimeoutError as error:
            raise refusal(
                f"the scheduler at {address} has no workers: start some with 'dask worker "
                f"{address}'"
            ) from error
        yield client


class _OneThread:
    """The limit on the threads of linear algebra, while anything in this process asks for it."""

    def __init__(self) -> None:
        self._lock, self._own, self._depth, self._limit = Lock(), local(), 0, None

    @staticmethod
    @cache
    def _libraries() -> Any:
        return ThreadpoolController()

    def __enter__(self) -> None:
        with self._lock:
            # once the main thread has set it, OpenBLAS heeds no other: each thread asks for itself
            limit = self._libraries().limit(limits=1, user_api="blas")
            self._limit = limit if self._depth == 0 else self._limit
            self._depth += 1
            self._own.depth = getattr(self._own, "depth", 0) + 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._depth -= 1
            self._own.depth -= 1
            if self._own.depth == 0 and self._limit is not None:
                self._limit.restore_original_limits()


one_thread = _OneThread()
"""Within it, linear algebra keeps to one thread.

A search solves thousands of small systems: further threads gain little where a core is idle, and
where none is, they spin and wait for one another, for up to fifteen times the work.
"""
