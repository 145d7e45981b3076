"""ECOS: the first choice for cones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import sparse

from milpscore.core.cone_form import ConeForm
from milpscore.core.errors import MissingDependencyError, OptionError
from milpscore.core.result import Termination
from milpscore.solvers._cone_outcome import ConeOutcome
from milpscore.solvers._conic_options import ConicOptions

PACKAGE = "ecos"

# Exit flags of ECOS: every member is here, and an unknown one is an error.
TERMINATIONS: dict[int, tuple[str, Termination]] = {
    0: ("optimal", Termination.COMPLETED),
    1: ("primal infeasible", Termination.INFEASIBLE),
    2: ("dual infeasible", Termination.UNBOUNDED),
    10: ("close to optimal", Termination.INACCURATE),
    11: ("close to primal infeasible", Termination.INACCURATE),
    12: ("close to dual infeasible", Termination.INACCURATE),
    -1: ("maximum iterations", Termination.ITERATION_LIMIT),
    -2: ("numerical problems", Termination.ERROR),
    -3: ("outside the cone", Termination.ERROR),
    -4: ("interrupted", Termination.INTERRUPTED),
    -7: ("unknown problem", Termination.ERROR),
}

_NO_POINT = (1, 2, 11, 12, -4, -7)


def version() -> str:
    """The installed version.

    Raises
    ------
    MissingDependencyError
        Where ECOS is not installed.
    """
    try:
        import ecos
    except ImportError as error:
        raise MissingDependencyError(
            "ECOS is not installed (it is GPLv3, and has wheels up to Python 3.12 only): pip "
            "install 'milpscore[ecos]', or use solver='clarabel'"
        ) from error
    return str(ecos.__version__)


def run(form: ConeForm, options: ConicOptions) -> ConeOutcome:
    """Solve a standard form.

    Parameters
    ----------
    form : ConeForm
    options : ConicOptions

    Returns
    -------
    ConeOutcome

    Raises
    ------
    MissingDependencyError
        Where ECOS is not installed.
    OptionError
        For a time limit.
    """
    version()
    if math.isfinite(options.time_limit):
        raise OptionError(
            "ECOS cannot be stopped by the clock: use max_iter, or solver='clarabel', which knows "
            "a time_limit"
        )
    import ecos

    order = _order(form)
    equal = form.zero
    cones = {"l": form.nonneg, "q": list(form.soc), "e": form.exp}
    settings: dict[str, Any] = dict.fromkeys(("feastol", "abstol", "reltol"), options.tol)
    if options.max_iter is not None:
        settings["max_iters"] = options.max_iter
    rows = form.A.tocsr()[order]
    equalities = (sparse.csc_matrix(rows[:equal]), form.b[order][:equal]) if equal else ()
    answer = ecos.solve(
        form.c,
        sparse.csc_matrix(rows[equal:]),
        form.b[order][equal:],
        cones,
        *equalities,
        verbose=options.verbose,
        **settings,
    )
    info = answer["info"]
    flag = int(info["exitFlag"])
    status, termination = TERMINATIONS.get(flag, (f"exit flag {flag}", Termination.ERROR))
    x = np.asarray(answer["x"], dtype=np.float64)
    z = np.empty(len(form.b))
    z[order] = np.concatenate([np.ravel(answer["y"]), np.ravel(answer["z"])])
    has_point = flag not in _NO_POINT and bool(np.isfinite(x).all() and np.isfinite(z).all())
    return ConeOutcome(
        termination,
        status,
        x if has_point else None,
        z if has_point else None,
        iterations=int(info["iter"]),
        seconds=float(info["timing"]["runtime"]),
    )


def _order(form: ConeForm) -> Any:
    """ECOS takes the entries of an exponential cone as (x, z, y)."""
    order = np.arange(len(form.b))
    tail = order[form.exp_start :].reshape(-1, 3)[:, [0, 2, 1]].ravel()
    return np.concatenate([order[: form.exp_start], tail])
