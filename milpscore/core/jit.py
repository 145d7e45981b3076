"""numba where it is installed: sequential kernels are compiled once and kept on disk."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeVar

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


@cache
def has_numba() -> bool:
    """Whether numba can be used and MILPSCORE_NUMBA is not 0 (which leaves kernels in Python).

    Warns
    -----
    RuntimeWarning
        Where numba is installed but cannot be imported (most often: too old for this NumPy).
    """
    if os.environ.get("MILPSCORE_NUMBA", "1") == "0" or find_spec("numba") is None:
        return False
    try:
        import_module("numba")
    except ImportError as error:
        warnings.warn(
            f"numba cannot be imported, the slower paths are taken: {error}",
            RuntimeWarning,
            stacklevel=2,
        )
        return False
    return True


def compiled(kernel: Kernel) -> Kernel:
    """The kernel compiled by numba with its machine code cached on disk; itself without numba.

    Importing numba takes half a second, so a module of kernels is imported where it is used, never
    at the top of another one.

    Parameters
    ----------
    kernel : function
        Of arrays and numbers, written so that it also runs as plain Python.
    """
    if not has_numba():
        return kernel
    from numba import njit

    compile_kernel: Any = njit(cache=True, nogil=True)
    fast: Kernel = compile_kernel(kernel)
    return fast


def is_interrupt(error: BaseException) -> bool:
    """Whether an exception is Ctrl-C: one that comes while compiled code returns is wrapped."""
    return isinstance(error, KeyboardInterrupt) or (
        isinstance(error, SystemError) and isinstance(error.__cause__, KeyboardInterrupt)
    )
