"""A connection to a Dask cluster, by its scheduler's address."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from milpscore.core.errors import MilpscoreError, MissingDependencyError

CONNECT_SECONDS = 10
"""How long to wait for a Dask scheduler, and then for a first worker."""


def distributed_package() -> Any:
    """Dask's package, which is untyped and optional."""
    try:
        return import_module("distributed")
    except ModuleNotFoundError as error:
        raise MissingDependencyError(
            "--dask needs Dask: pip install 'milpscore[distributed]', here and on the workers"
        ) from error


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
