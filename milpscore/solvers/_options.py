"""Solver options under one set of names, checked before anything runs."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from milpscore.core.errors import OptionError


@dataclass(frozen=True)
class Options:
    """What may be asked of any solver.

    Attributes
    ----------
    time_limit : float
        Seconds of solving; 0 returns the verified empty card.
    mip_gap : float
        Relative gap at which to stop; 0 asks for a proof.
    node_limit : int or None
        Branch-and-bound nodes; unlike a time limit it stops at the same point on every machine.
    threads : int
        1 by default: parallel runs are not reproducible.
    random_state : int
        The solver's seed.
    presolve : bool
    log_file : str or None
        Where the solver writes its own log.
    """

    time_limit: float = 60.0
    mip_gap: float = 0.0
    node_limit: int | None = None
    threads: int = 1
    random_state: int = 0
    presolve: bool = True
    log_file: str | None = None

    def __post_init__(self) -> None:
        require(
            is_number(self.time_limit) and self.time_limit >= 0,
            "time_limit",
            self.time_limit,
            "a number of seconds >= 0",
        )
        require(
            is_number(self.mip_gap) and 0 <= self.mip_gap < math.inf,
            "mip_gap",
            self.mip_gap,
            "a finite number >= 0",
        )
        require(
            self.node_limit is None or (is_whole(self.node_limit, 0) and self.node_limit < 2**31),
            "node_limit",
            self.node_limit,
            "a whole number in [0, 2^31) or None",
        )
        require(is_whole(self.threads, 1), "threads", self.threads, "a whole number >= 1")
        require(
            is_whole(self.random_state, 0) and self.random_state < 2**31,
            "random_state",
            self.random_state,
            "a whole number in [0, 2^31)",
        )
        require(isinstance(self.presolve, bool), "presolve", self.presolve, "True or False")
        require(
            self.log_file is None
            or (isinstance(self.log_file, str) and Path(self.log_file).parent.is_dir()),
            "log_file",
            self.log_file,
            "the name of a file in a folder that exists, or None",
        )

    def as_dict(self) -> dict[str, Any]:
        """The options as a mapping."""
        return asdict(self)


def is_number(value: Any) -> bool:
    """Whether the value is a real number, NaN excluded."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool) and not math.isnan(value)


def is_whole(value: Any, least: int) -> bool:
    """Whether the value is a whole number of at least ``least``."""
    return hasattr(value, "__index__") and not isinstance(value, bool) and int(value) >= least


def require(fine: bool, name: str, value: Any, wanted: str) -> None:
    """Raise OptionError unless ``fine``."""
    if not fine:
        raise OptionError(f"{name} must be {wanted}, got {value!r}")


def refuse_unknown(given: Mapping[str, Any], known: Sequence[str]) -> None:
    """Raise OptionError for an unknown name; the message names the nearest known one."""
    for name in given:
        if name not in known:
            close = get_close_matches(name, known, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else f"; known are {', '.join(known)}"
            raise OptionError(f"unknown solver option {name!r}{hint}")


def make_options(given: Mapping[str, Any]) -> Options:
    """Options from keyword arguments.

    Raises
    ------
    OptionError
        For an unknown name or a value outside its range.
    """
    refuse_unknown(given, [field.name for field in fields(Options)])
    if isinstance(given.get("log_file"), Path):
        given = {**given, "log_file": str(given["log_file"])}
    return Options(**given)
