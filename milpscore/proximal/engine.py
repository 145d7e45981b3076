"""Which algorithm fits a prepared problem, and what makes a penalty from its weight."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from milpscore.core.design import IntArray
from milpscore.core.errors import OptionError
from milpscore.core.statement import ProxPenalty
from milpscore.penalties.ramps import Ramps
from milpscore.proximal._gradient import proximal_gradient, proximal_newton
from milpscore.proximal.coordinate import working_set
from milpscore.proximal.duality import ProximalResult
from milpscore.proximal.operators import BinnedOperator
from milpscore.proximal.problem import Primal, Smooth

Algorithm: TypeAlias = Literal["auto", "fista", "ista", "newton", "working_set"]
Maker: TypeAlias = Callable[[float], ProxPenalty]
Progress: TypeAlias = Callable[[int, int], None]

MAX_ITER = {"working_set": 500, "newton": 200, "fista": 20_000, "ista": 100_000}
"""The algorithms but "auto", and how many of its steps each makes unless told otherwise."""

# columns, and multiplications for one Gram matrix, up to which Newton steps are the quicker
_NEWTON_COLUMNS = 500
_NEWTON_WORK = 1e10
# pairs of bins to count for one Gram matrix of a binned design, beyond which FISTA is quicker
_MOST_PAIRS = 50_000_000


@dataclass(frozen=True)
class Options:
    """How a fit is made: relative gap, steps at most, algorithm; checked, the one default of each.

    Raises OptionError for a value outside its range.
    """

    tol: float = 1e-6
    max_iter: int | None = None
    algorithm: Algorithm = "auto"

    def __post_init__(self) -> None:
        tol, most = self.tol, self.max_iter
        if not (isinstance(tol, int | float) and math.isfinite(tol) and tol > 0):
            raise OptionError(f"tol={tol!r}; use a positive relative gap, say 1e-6.")
        if most is not None and not (isinstance(most, int | np.integer) and most >= 0):
            raise OptionError(f"max_iter={most!r}; use a whole number, or None for the default.")
        if self.algorithm not in ("auto", *MAX_ITER):
            known = ", ".join(("auto", *MAX_ITER))
            raise OptionError(f"no algorithm {self.algorithm!r}; there are {known}.")


def solve(
    smooth: Smooth,
    penalty: ProxPenalty,
    options: Options,
    *,
    start: Primal,
    step: float = 0.0,
    hint: IntArray | None = None,
) -> tuple[ProximalResult, Primal]:
    """Fit a prepared problem from ``start``; the answer, and its point for the next fit.

    ``step`` is a step length to try first (0: any), ``hint`` the columns a working set begins with.
    """
    ramps = ramps_of(penalty, smooth)
    chosen = _choose(options.algorithm, penalty, ramps, smooth)
    most = MAX_ITER[chosen] if options.max_iter is None else options.max_iter
    common: dict[str, Any] = {"tol": options.tol, "max_iter": most, "start": start}
    if chosen == "working_set" and ramps is not None:
        run = working_set(smooth, penalty, ramps, hint=hint, **common)
    else:
        penalty.prox(start.w, 1.0)  # whatever it compiles stands outside the clock
        if chosen == "newton":
            run = proximal_newton(smooth, penalty, **common)
        else:
            fast = chosen == "fista"
            run = proximal_gradient(smooth, penalty, momentum=fast, step=step, **common)
    assert run.point is not None
    return run.result(), run.point.at


def ramps_of(penalty: ProxPenalty, smooth: Smooth) -> Ramps | None:
    """The penalty coefficient by coefficient, or None where it has no such form."""
    made = getattr(penalty, "ramps", None)
    if made is None or smooth.n_classes:
        return None
    ramps: Ramps = made(smooth.X.shape[1])
    return ramps


def _choose(algorithm: Algorithm, penalty: ProxPenalty, ramps: Ramps | None, smooth: Smooth) -> str:
    """The algorithm asked for where it can treat the problem, or the quickest one."""
    if algorithm == "newton" and smooth.n_classes:
        raise OptionError(
            "the multinomial loss has no Newton steps here; use algorithm='fista' or 'auto'."
        )
    if algorithm == "working_set" and ramps is None:
        why = "the multinomial loss" if smooth.n_classes else f"the penalty {penalty.name!r}"
        raise OptionError(
            f"the working set goes coefficient by coefficient, which {why} does not allow; use"
            " algorithm='fista' or 'auto'."
        )
    if algorithm != "auto":
        return algorithm
    binned = isinstance(smooth.X, BinnedOperator)
    rows, columns = smooth.X.shape
    if ramps is None:
        small = columns <= _NEWTON_COLUMNS and rows * columns**2 <= _NEWTON_WORK
        newton = penalty.is_norm and small and not smooth.n_classes and not binned
        return "newton" if newton else "fista"
    if isinstance(smooth.X, BinnedOperator) and len(smooth.X.X.n_bins) ** 2 * rows > _MOST_PAIRS:
        return "fista"
    return "working_set"


def as_maker(penalty: Any) -> Maker:
    """What makes the penalty from lam: a class, a function, or an instance whose lam is replaced.

    Raises OptionError where there is no lam to vary.
    """
    if isinstance(penalty, type) or (callable(penalty) and not is_dataclass(penalty)):
        made: Maker = penalty
        return made
    if is_dataclass(penalty) and any(field.name == "lam" for field in fields(penalty)):
        template: Any = penalty
        return lambda lam: replace(template, lam=lam)
    raise OptionError(
        f"{penalty!r} has no lam to vary; pass a penalty of milpscore.penalties with one, its"
        " class, or a function of lam."
    )
