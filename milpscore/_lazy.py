"""Exports imported when first touched (PEP 562), so that ``import milpscore`` stays cheap."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any


def lazy_exports(
    package: str, exports: Mapping[str, str], subpackages: Iterable[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make the module-level ``__getattr__`` and ``__dir__`` of a package with lazy names.

    A package calls it once, at the end of its ``__init__.py``::

        _EXPORTS = {"slim": "milpscore.formulations._slim"}
        __getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)

    Parameters
    ----------
    package : str
        The package's ``__name__``.
    exports : mapping of str to str
        Public name -> absolute name of the module that defines it.
    subpackages : iterable of str
        Names of modules below ``package`` that are themselves attributes of it.

    Returns
    -------
    getattr_, dir_ : callable
        The two functions to bind at module level. A name is imported on first use and then kept
        in the package, so the function runs once a name.
    """
    targets = dict(exports)
    children = frozenset(subpackages)

    def getattr_(name: str) -> Any:
        if name in targets:
            value = getattr(import_module(targets[name]), name)
        elif name in children:
            value = import_module(f"{package}.{name}")
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        setattr(sys.modules[package], name, value)
        return value

    def dir_() -> list[str]:
        return sorted({*vars(sys.modules[package]), *targets, *children})

    return getattr_, dir_
