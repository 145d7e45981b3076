"""Kernels compiled by numba: once, kept on disk, and never without a word."""

from __future__ import annotations

import gc
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

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
    """The kernel compiled by numba at its first call (or by `prepare`), the machine code on disk.

    Importing numba takes a quarter of a second, so a module of kernels is imported where it is
    used, never at the top of another one. Division by zero gives what NumPy gives: the test for it
    would keep the compiler from vectorising, up to seven times as slow.
    """
    return _compiled(kernel, no_cfunc_wrapper=True)


def inner(kernel: Kernel) -> Kernel:
    """The same for a kernel that kernels alone call: optimised and kept as a part of these."""
    return _compiled(kernel, cache=False, no_cpython_wrapper=True, no_cfunc_wrapper=True)


@cache
def _pipelines() -> tuple[Any, Any]:
    """How numba makes a kernel that is called from Python, and one that kernels alone call."""
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import Compiler, Flags

    class Options(Flags):
        """numba asks of each expression whether two sets of forty options are equal."""

        __slots__ = ()
        known = hash(Flags())  # of the names alone

        def __hash__(self) -> int:
            return self.known

        def __eq__(self, other: object) -> Any:
            if not isinstance(other, Flags):
                return NotImplemented
            own, its = self._values, other._values
            # those that neither of them has set have one default
            return own == its or all(
                getattr(self, name) == getattr(other, name) for name in own.keys() | its.keys()
            )

    class Whole(Compiler):
        def __init__(
            self, typing: Any, target: Any, library: Any, args: Any, returns: Any, flags: Any,
            names: Any,
        ) -> None:  # fmt: skip
            super().__init__(typing, target, library, args, returns, Options(flags), names)

    class Library(JITCodeLibrary):
        """Code that never runs alone: not optimised, no machine code, and nowhere to be found."""

        @property
        def codegen(self) -> Any:
            return self

        def set_env(self, name: str, env: Any) -> None:
            pass

        def _optimize_final_module(self) -> None:
            pass

        def _finalize_final_module(self) -> None:
            self._finalize_dynamic_globals()
            self._finalized = True

    class Part(Whole):
        def __init__(self, typing: Any, target: Any, library: Any, *rest: Any) -> None:
            super().__init__(typing, target, Library(target.codegen(), "part"), *rest)

    return Whole, Part


def _compiled(kernel: Kernel, **options: bool) -> Kernel:
    """The kernel by numba with these options."""
    with making:
        from numba import njit

        _listen()
        _type_calls_once()
        whole, part = _pipelines()
    settings: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy", **options}
    settings["pipeline_class"] = whole if settings["cache"] else part
    compile_kernel: Any = njit(**settings)
    fast: Any = compile_kernel(kernel)
    if settings["cache"]:
        # numba asks when the kernel's own file was written; what it calls may stand in the room's
        # others, and files that are only copied or installed again make no other kernel
        fast._cache._cache_file._source_stamp = _sources(Path(kernel.__code__.co_filename).parent)
    made: Kernel = fast
    return made


@cache
def _type_calls_once() -> None:
    """Have numba find once what a call of plain values gives, not for every expression anew.

    It tries dozens of templates for each; an eighth of the time goes into that.
    """
    from numba.core import targetconfig, types

    plain = (types.Number, types.Boolean, types.Array, types.BaseTuple, types.SliceType)
    known: dict[Any, Any] = {}
    function: Any = types.Function
    look = function.get_call_type

    def get_call_type(self: Any, context: Any, args: Any, kws: Any) -> Any:
        if kws or not all(isinstance(each, plain) for each in args):
            return look(self, context, args, kws)
        key = self, context, tuple(args), targetconfig.ConfigStack.top_or_none()
        if key not in known:
            known[key] = look(self, context, args, kws)
        return known[key]

    function.get_call_type = get_call_type


@cache
def _sources(folder: Path) -> str:
    """A digest of the modules of a folder."""
    files = sorted(folder.glob("*.py"))
    return sha256(b"".join(file.name.encode() + file.read_bytes() for file in files)).hexdigest()


def prepare(kernel: Any, *example: Any) -> None:
    """Have a kernel ready for arguments of these types, without running it.

    An engine calls this before its search, with the arguments of the call to come. Machine code
    is taken from the disk; where there is none yet, a line of the log ``milpscore`` (on standard
    error unless logging is set up) says once in a process that it is being made.
    """
    kernel.compile(tuple(kernel.typeof_pyval(each) for each in example))


@cache
def _listen() -> None:
    """Announce the first compilation of a kernel of ours, and time it and every loading.

    No garbage is collected meanwhile: a tenth of the time would go into looking for some.
    """
    from numba.core import event
    from numba.np import linalg

    # numba loads SciPy's linear algebra to see that it is there: an eighth of a first card
    asked: Any = linalg.ensure_blas
    linalg.ensure_blas = lambda: None
    arraymath: Any = import_module("numba.np.arraymath")
    linalg.ensure_blas = arraymath.ensure_blas = asked

    class Listener(event.Listener):
        announced, depth, collects = False, 0, True

        def on_start(self, event: Any) -> None:
            self.collects = gc.isenabled() if self.depth == 0 else self.collects
            self.depth += 1
            gc.disable()
            module = event.data["dispatcher"].py_func.__module__ or ""  # of code made at run time
            if not self.announced and module.startswith("milpscore"):
                self.announced = True
                logging.getLogger("milpscore").warning(
                    "milpscore: compiling its kernels once; they are kept on disk for later runs"
                )

        def on_end(self, event: Any) -> None:
            self.depth -= 1
            if self.depth == 0 and self.collects:
                gc.enable()

    class Timer(event.Listener):
        def on_start(self, event: Any) -> None:
            making.__enter__()

        def on_end(self, event: Any) -> None:
            making.__exit__()

    event.register("numba:compile", Listener())
    # held while a kernel is compiled or taken from the disk
    event.register("numba:compiler_lock", Timer())


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
