"""Options of every solver: names, defaults and ranges stand here once, checked before any run."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from milpscore.core.clock import Clock
from milpscore.core.errors import OptionError, Registry, did_you_mean, is_number, is_whole

if TYPE_CHECKING:
    from milpscore.solvers.engine import Solver

OUTSIDE = ("cbc", "glpk", "gurobi", "cplex", "xpress", "scip")
"""Solvers of others that are known by a name of their own; ``pyomo:NAME`` is any other."""

OUTSIDE_CONES = ("scs", "mosek", "copt", "cvxopt", "qoco")
"""The same for cones; ``cvxpy:NAME`` is any other."""


class _Solvers(Registry["type[Solver]"]):
    """Solvers by name; those of Pyomo's factory or CVXPY's by "pyomo:", "cvxpy:" and their name."""

    prefixes: ClassVar = {"pyomo": OUTSIDE, "cvxpy": OUTSIDE_CONES}

    def name_of(self, name: str) -> str:
        """As any registry's; "pyomo:cbc" is "cbc", and what only Pyomo knows keeps its name."""
        prefix, found, plugin = name.partition(":")
        if not found or (prefix := prefix.lower()) not in self.prefixes:
            return super().name_of(name)
        plugin = plugin.lower() if prefix == "cvxpy" else plugin
        return plugin if plugin in self.prefixes[prefix] else f"{prefix}:{plugin}"

    def __getitem__(self, name: str) -> type[Solver]:
        prefix, _, plugin = self.name_of(name).rpartition(":")
        if prefix == "pyomo" or plugin in OUTSIDE:
            from milpscore.solvers._pyomo import through_pyomo

            return through_pyomo(plugin)
        if prefix == "cvxpy" or plugin in OUTSIDE_CONES:
            from milpscore.solvers._conic import through_cvxpy

            return through_cvxpy(plugin)
        return super().__getitem__(plugin)


SOLVERS: Registry[type[Solver]] = _Solvers(
    "solver",
    {
        name: f"milpscore.solvers.{where}"
        for name, where in {
            "highs": "session:Highs",
            "outer_approximation": "_outer_approximation:OuterApproximation",
            "support_tree": "_support_tree:SupportTree",
            "tree": "trees.shared.answer:Tree",
            **{name.lower(): f"_conic:{name}" for name in ("Ecos", "Clarabel", "Proximal")},
            **{name: f"_pyomo:{name}" for name in OUTSIDE},
            **{name: f"_conic:{name}" for name in OUTSIDE_CONES},
        }.items()
    },
)
"""Solvers by name, subclasses of :class:`milpscore.solvers.engine.Solver`."""


def require_solver(name: str) -> None:
    """Refuse a name that is neither a solver's nor "auto"."""
    if name == "auto":
        return
    try:
        SOLVERS.name_of(name)
    except OptionError as error:
        raise OptionError(f"{error}, auto, pyomo:NAME or cvxpy:NAME of any other") from None


def require(fine: bool, name: str, value: Any, wanted: str) -> None:
    """Raise OptionError unless ``fine``."""
    if not fine:
        raise OptionError(f"{{argument}} must be {wanted}, got {value!r}", argument=name)


def _option(default: Any, fits: Callable[[Any], bool], wanted: str) -> Any:
    """A field with its default, its check and the words for what it takes."""
    return field(default=default, metadata={"fits": fits, "wanted": wanted})


def _switch(default: bool) -> Any:
    return _option(default, lambda value: isinstance(value, bool), "True or False")


def _gap(default: float) -> Any:
    fits = lambda gap: is_number(gap) and 0 <= gap < math.inf  # noqa: E731
    return _option(default, fits, "a finite number >= 0")


def _seconds(default: float) -> Any:
    return _option(default, lambda t: is_number(t) and t >= 0, "a number of seconds >= 0")


def _are_by_solver(value: Any) -> bool:
    """Whether a value maps names of solvers to mappings from their options to values."""
    if value is None:
        return True
    if not isinstance(value, Mapping):
        return False
    for name, given in value.items():
        if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
            return False
        require_solver(name)
    return True


def _is_log(value: Any) -> bool:
    """Whether a log can be written to a file of this name; HiGHS would leave it out unsaid."""
    if value is None or not isinstance(value, str):
        return value is None
    path = Path(value)
    try:
        there = path.exists()
        if not there or path.is_file() or path.is_dir():  # to open a pipe may wait
            path.open("ab").close()
        if not there:
            path.unlink()
    except (OSError, ValueError):
        return False
    return True


def _bytes(said: str) -> re.Match[str] | None:
    """Read an amount of memory in words."""
    return re.fullmatch(r"(\d+(?:\.\d+)?) ?(?:([kMGT])B?|B)", said)


class _Checked:
    """Options whose values are checked, and whose clock starts, when they are made."""

    time_limit: float
    options: Mapping[str, Mapping[str, Any]] | None

    def own(self, solver: str) -> dict[str, Any]:
        """Return the options given in a solver's own words."""
        given = self.options or {}
        name = SOLVERS.name_of(solver)
        return {
            k: v for each in given if SOLVERS.name_of(each) == name for k, v in given[each].items()
        }

    def __post_init__(self) -> None:
        for each in fields(self):  # type: ignore[arg-type]
            value = getattr(self, each.name)
            require(each.metadata["fits"](value), each.name, value, each.metadata["wanted"])
        # one that the caller made runs on, another starts here
        object.__setattr__(self, "time_limit", Clock.of(self.time_limit))

    @property
    def clock(self) -> Clock:
        """The time limit, and since when."""
        return Clock.of(self.time_limit)

    def as_dict(self) -> dict[str, Any]:
        """Name to value, of what can be written down."""
        names = (each.name for each in fields(self))  # type: ignore[arg-type]
        plain = {name: getattr(self, name) for name in names if name != "client"}
        return {**plain, "time_limit": float(self.time_limit)}

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """Options from keyword arguments; OptionError for a bad one, naming the nearest known."""
        known = [each.name for each in fields(cls)]  # type: ignore[arg-type]
        if "tee" in given and "verbose" not in given:  # Pyomo's word for CVXPY's
            given = {("verbose" if name == "tee" else name): v for name, v in given.items()}
        for name in given:
            if name not in known:
                there = did_you_mean(name, known) or f"known are {', '.join(known)}"
                raise OptionError(f"unknown solver option {name!r}; {there.strip()}")
        if isinstance(given.get("log_file"), Path):
            given = {**given, "log_file": str(given["log_file"])}
        return cls(**given)


@dataclass(frozen=True)
class Options(_Checked):
    """What may be asked of any solver of a card; ``Options.time_limit`` is the one default.

    Attributes
    ----------
    time_limit : float
        Seconds from the first line of the call to its last; 0 returns the verified empty card.
    mip_gap : float
        Relative gap at which to stop. A smaller one than the default asks for no more than the
        claim ``optimal`` needs.
    mip_gap_abs : float
        Absolute gap at which to stop; 0 leaves the matter to ``mip_gap``.
    node_limit : int or None
        Branch-and-bound nodes: HiGHS's, of all its rounds in outer approximation; LPs of the
        support tree and programs of its supports; relaxations of the tree, under the 0-1 loss
        weight vectors bounded. With ``time_limit=math.inf`` a run stops at the same point however
        fast it goes: what comes before the nodes, and a second run, are counted as well.
    threads : int
        Processes of the tree search, with the same answer whatever their number; threads of HiGHS,
        whose parallel runs are not reproducible.
    client : distributed.Client or str or None
        A Dask cluster whose workers search the tree together, in place of ``threads``: a client, or
        the address of a scheduler.
    memory_limit : int or str or None
        Bytes that the tree search may keep open nodes in, or "2GB"; None is half of what is free
        at the start. Beyond it the search goes depth first, and its bound still holds.
    random_state : int
        The solver's seed.
    presolve : bool
    log_file : str or None
        Where the solver writes its own log; of the tree a line a second, and one for each better
        card: seconds, nodes, best objective, bound and gap.
    cutoff : float or None
        Nothing is sought but cards of a smaller objective: the search stops where its bound
        reaches it.
    options : mapping from a solver's name to its own options, or None
        ``{"highs": {"mip_heuristic_effort": 0.2}}``: in the words of that solver, HiGHS or one
        reached by Pyomo, which checks them. Those that would change what is claimed are refused.
    verbose : bool
        Show the solver's own log (HiGHS's on standard output; the searches', a line an event, on
        standard error); ``tee`` is another name for it.
    """

    time_limit: float = _seconds(30.0)
    mip_gap: float = _gap(1e-6)
    mip_gap_abs: float = _gap(0.0)
    node_limit: int | None = _option(
        None,
        lambda n: n is None or (is_whole(n, 0) and n < 2**31),
        "a whole number in [0, 2^31) or None",
    )
    threads: int = _option(1, lambda n: is_whole(n, 1), "a whole number >= 1")
    client: Any = _option(  # noqa: RUF009 as the others, but that anything may be one
        None,
        lambda c: c is None or isinstance(c, str) or hasattr(c, "submit"),
        "a Dask client, the address of a scheduler, or None",
    )
    memory_limit: int | str | None = _option(
        None,
        lambda m: m is None or bool(_bytes(m) if isinstance(m, str) else is_whole(m, 0)),
        'bytes, "500MB", "2G" or None',
    )
    random_state: int = _option(
        0, lambda n: is_whole(n, 0) and n < 2**31, "a whole number in [0, 2^31)"
    )
    presolve: bool = _switch(True)
    log_file: str | None = _option(
        None, _is_log, "the name of a file that can be written, in a folder that exists, or None"
    )
    cutoff: float | None = _option(None, lambda c: c is None or is_number(c), "a number or None")
    options: Mapping[str, Mapping[str, Any]] | None = _option(
        None, _are_by_solver, 'a mapping like {"highs": {"mip_heuristic_effort": 0.2}}, or None'
    )
    verbose: bool = _switch(False)

    @property
    def loose_gap(self) -> float:
        """The relative gap at which to stop short of a proof; 0 where a proof is asked for."""
        return self.mip_gap if self.mip_gap > Options.mip_gap else 0.0

    @property
    def memory(self) -> float | None:
        """The memory limit in bytes."""
        if not isinstance(self.memory_limit, str):
            return self.memory_limit
        said = _bytes(self.memory_limit)
        assert said is not None
        return float(said[1]) * 1000.0 ** " kMGT".index(said[2] or " ")


@dataclass(frozen=True)
class ConicOptions(_Checked):
    """What may be asked of any solver of conic programs; ``tol`` is that of the duality gap."""

    tol: float = _option(1e-9, lambda tol: is_number(tol) and 0 < tol < 1, "a number in (0, 1)")
    max_iter: int | None = _option(
        None, lambda n: n is None or is_whole(n, 1), "a whole number >= 1 or None"
    )
    time_limit: float = _seconds(math.inf)  # ECOS cannot be stopped by the clock
    # a coefficient is tried at exactly 0, or on gamma's grid, where that moves no score by more
    # than this share of the largest; kept where the objective allows it
    zero_tol: float = _option(1e-6, lambda t: is_number(t) and 0 <= t < 1, "a number in [0, 1)")
    # in a solver's own words, which checks them; points and bounds are computed anew in any case
    options: Mapping[str, Mapping[str, Any]] | None = _option(
        None, _are_by_solver, 'a mapping like {"clarabel": {"max_step_fraction": 0.9}}, or None'
    )
    verbose: bool = _switch(False)
