"""numba where it is installed: sequential kernels are compiled once and kept on disk."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Any, TypeVar

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


@cache
def has_numba() -> bool:
    """Whether numba is there and MILPSCORE_NUMBA is not 0 (which forces the NumPy road)."""
    return os.environ.get("MILPSCORE_NUMBA", "1") != "0" and find_spec("numba") is not None


def compiled(kernel: Kernel) -> Kernel:
    """The kernel compiled by numba, its machine code cached on disk.

    A module of kernels is imported only where :func:`has_numba` holds, because importing numba
    takes half a second.

    Parameters
    ----------
    kernel : function
        Loops over arrays, nothing else.
    """
    from numba import njit

    fast: Kernel = njit(cache=True, nogil=True)(kernel)
    return fast
