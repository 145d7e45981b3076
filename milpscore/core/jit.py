"""Kernels compiled by numba: once, kept on disk, and never without a word."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from pathlib import Path
from pickle import PickleError
from typing import Any, TypeVar, cast

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


class _Making:
    """Seconds this process has spent on making or loading kernels: they count for no clock."""

    now = staticmethod(time.perf_counter)

    def __init__(self) -> None:
        self.seconds, self._depth, self._since = 0.0, 0, 0.0

    def __enter__(self) -> None:
        self._since = self.now() if self._depth == 0 else self._since
        self._depth += 1

    def __exit__(self, *error: object) -> None:
        self._depth -= 1
        if self._depth == 0:
            self.seconds += self.now() - self._since


making = _Making()


def compiled(kernel: Kernel) -> Kernel:
    """Return the kernel compiled by numba at its first call and kept on disk.

    No clock counts the seconds of making or loading it.

    Importing numba takes a quarter of a second, so a module of kernels is imported where it is
    used, never at the top of another one. Division by zero gives what NumPy gives: the test for it
    would keep the compiler from vectorising, up to seven times as slow.
    """
    fast = _compiled(kernel, cache=True)
    # By default numba's cache expires with the file of the kernel alone. What it calls may stand
    # in other files of the folder, and copied or reinstalled files are no change.
    files = fast._cache._cache_file
    files._source_stamp = _sources(Path(kernel.__code__.co_filename).parent)
    _remove_damaged(files)
    return cast("Kernel", fast)


def _remove_damaged(files: Any) -> None:
    """Remove the machine code of a kernel whose files numba cannot load; it is compiled again."""
    try:
        for name in files._load_index().values():
            files._load_data(name)
    except FileNotFoundError:
        pass  # numba compiles what is missing
    # pickle raises whatever the damaged bytes lead to
    except (PickleError, EOFError, ValueError, TypeError, LookupError, ArithmeticError,
            AttributeError, ImportError, RuntimeError, MemoryError) as error:  # fmt: skip
        index = Path(files._index_path)
        logging.getLogger("milpscore").warning(
            "milpscore: the compiled kernel %s is damaged (%s) and is compiled again; if this "
            "returns, delete the folder %s", index.stem, type(error).__name__, index.parent,
        )  # fmt: skip
        index.unlink(missing_ok=True)


def inner(kernel: Kernel) -> Kernel:
    """Return a kernel that only kernels call: compiled into its callers and kept with them."""
    return cast("Kernel", _compiled(kernel, no_cpython_wrapper=True))


def inlined(kernel: Kernel) -> Kernel:
    """Return a step of a hot loop: always written into its caller, where a call costs too much."""
    return cast("Kernel", _compiled(kernel, no_cpython_wrapper=True, forceinline=True))


def _compiled(kernel: Kernel, **options: bool) -> Any:
    """Return numba's dispatcher for a kernel."""
    with making:
        from numba import njit

        _listen()
    compiler: Any = njit
    return compiler(nogil=True, error_model="numpy", no_cfunc_wrapper=True, **options)(kernel)


@cache
def _sources(folder: Path) -> str:
    """Return a digest of the modules of a room: a kernel may call those of its other folders."""
    while all((above / "__init__.py").exists() for above in folder.parents[:2]):
        folder = folder.parent
    files = sorted(folder.rglob("*.py"))
    return sha256(b"".join(file.name.encode() + file.read_bytes() for file in files)).hexdigest()


@cache
def _listen() -> None:
    """Announce the first compilation of a kernel of ours, and time every compilation and load."""
    from numba.core import event

    class Announcer(event.Listener):
        announced = False

        def on_start(self, event: Any) -> None:
            module = event.data["dispatcher"].py_func.__module__ or ""  # of code made at run time
            if not self.announced and module.startswith("milpscore"):
                self.announced = True
                logging.getLogger("milpscore").warning(
                    "milpscore: compiling its kernels once; they are kept on disk for later runs"
                )

        def on_end(self, event: Any) -> None:
            pass

    class Timer(event.Listener):
        def on_start(self, event: Any) -> None:
            making.__enter__()

        def on_end(self, event: Any) -> None:
            making.__exit__()

    register: Any = event.register
    register("numba:compile", Announcer())
    # This lock is held while a kernel is compiled or loaded from the disk.
    register("numba:compiler_lock", Timer())


def is_interrupt(error: BaseException) -> bool:
    """Whether an exception is Ctrl-C: one that comes while compiled code returns is wrapped."""
    return isinstance(error, KeyboardInterrupt) or (
        isinstance(error, SystemError) and isinstance(error.__cause__, KeyboardInterrupt)
    )


@contextmanager
def heeding_interrupts(then: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Leave what is inside at Ctrl-C, do ``then``, and go on: what was found until then stays."""
    try:
        yield
    except (KeyboardInterrupt, SystemError) as error:
        if not is_interrupt(error):
            raise
        then()
