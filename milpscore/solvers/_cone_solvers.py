"""Solvers of conic programs: ECOS, Clarabel, and the proximal path."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from milpscore.core.conic import ConeForm
from milpscore.core.errors import MissingDependencyError, NotApplicableError
from milpscore.core.result import Termination
from milpscore.solvers._conic import ConeSolver, fit_statement
from milpscore.solvers.engine import Outcome, Solver, Task
from milpscore.solvers.options import ConicOptions


def _outcome(
    ended: tuple[str, Termination], x: Any, z: Any, has_point: bool, **counts: Any
) -> Outcome:
    """An outcome with x and its duals z, where they are a point of finite numbers."""
    x, z = np.asarray(x, dtype=np.float64), np.asarray(z, dtype=np.float64)
    status, termination = ended
    if not has_point or not (np.isfinite(x).all() and np.isfinite(z).all()):
        return Outcome(termination, status, **counts)
    return Outcome(termination, status, values=x, row_dual=z, **counts)


class Ecos(ConeSolver):
    """ECOS: the first choice for cones."""

    clock = False

    # exit flags of ECOS: every member is here, and an unknown one is an error
    TERMINATIONS: ClassVar[dict[int, tuple[str, Termination]]] = {
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
    NO_POINT = (1, 2, 11, 12, -4, -7)

    def version(self) -> str:
        """The installed version; MissingDependencyError where there is none."""
        try:
            import ecos
        except ImportError as error:
            raise MissingDependencyError(
                "ECOS is not installed (it is GPLv3, and has wheels up to Python 3.12 only): pip "
                "install 'milpscore[ecos]', or use solver='clarabel'"
            ) from error
        return str(ecos.__version__)

    def run(self, form: ConeForm, options: ConicOptions) -> Outcome:
        """Solve a standard form."""
        self.version()
        import ecos

        # ECOS takes the entries of an exponential cone as (x, z, y)
        order = np.arange(len(form.b))
        tail = order[form.exp_start :].reshape(-1, 3)[:, [0, 2, 1]].ravel()
        order, equal = np.concatenate([order[: form.exp_start], tail]), form.zero
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
        flag = int(answer["info"]["exitFlag"])
        ended = self.TERMINATIONS.get(flag, (f"exit flag {flag}", Termination.ERROR))
        z = np.empty(len(form.b))
        z[order] = np.concatenate([np.ravel(answer["y"]), np.ravel(answer["z"])])
        seconds = float(answer["info"]["timing"]["runtime"])
        return _outcome(ended, answer["x"], z, flag not in self.NO_POINT, seconds=seconds)


class Clarabel(ConeSolver):
    """Clarabel: the second opinion on cones, and the first where ECOS is absent."""

    # statuses of Clarabel: every member is here, and an unknown one is an error
    TERMINATIONS: ClassVar[dict[str, Termination]] = {
        "Unsolved": Termination.ERROR,
        "Solved": Termination.COMPLETED,
        "PrimalInfeasible": Termination.INFEASIBLE,
        "DualInfeasible": Termination.UNBOUNDED,
        "AlmostSolved": Termination.INACCURATE,
        "AlmostPrimalInfeasible": Termination.INACCURATE,
        "AlmostDualInfeasible": Termination.INACCURATE,
        "MaxIterations": Termination.ITERATION_LIMIT,
        "MaxTime": Termination.TIME_LIMIT,
        "NumericalError": Termination.ERROR,
        "InsufficientProgress": Termination.INACCURATE,
        "CallbackTerminated": Termination.INTERRUPTED,
    }
    NO_POINT = ("Unsolved", "PrimalInfeasible", "DualInfeasible",
                "AlmostPrimalInfeasible", "AlmostDualInfeasible")  # fmt: skip

    def version(self) -> str:
        """The installed version."""
        import clarabel

        return str(clarabel.__version__)

    def run(self, form: ConeForm, options: ConicOptions) -> Outcome:
        """Solve a standard form."""
        import clarabel

        settings = clarabel.DefaultSettings()
        settings.verbose = options.verbose
        settings.tol_feas = settings.tol_gap_abs = settings.tol_gap_rel = options.tol
        if options.max_iter is not None:
            settings.max_iter = options.max_iter
        if math.isfinite(options.time_limit):
            settings.time_limit = options.time_limit
        cones: list[Any] = []
        if form.zero:
            cones.append(clarabel.ZeroConeT(form.zero))
        if form.nonneg:
            cones.append(clarabel.NonnegativeConeT(form.nonneg))
        cones += [clarabel.SecondOrderConeT(size) for size in form.soc]
        cones += [clarabel.ExponentialConeT() for _ in range(form.exp)]
        no_squares = sparse.csc_matrix((len(form.c), len(form.c)))
        solver = clarabel.DefaultSolver(no_squares, form.c, form.A, form.b, cones, settings)
        answer = solver.solve()
        status, seconds = str(answer.status), float(answer.solve_time)
        ended = status, self.TERMINATIONS.get(status, Termination.ERROR)
        return _outcome(ended, answer.x, answer.z, status not in self.NO_POINT, seconds=seconds)


class Proximal(Solver):
    """The proximal path, to the duality gap ``tol``."""

    conic = True
    clock = False

    TERMINATIONS: ClassVar[dict[Termination, Termination]] = {
        Termination.GAP_REACHED: Termination.COMPLETED,
        Termination.CONVERGED: Termination.COMPLETED,
        Termination.STALLED: Termination.INACCURATE,
        Termination.ITERATION_LIMIT: Termination.ITERATION_LIMIT,
    }

    def refuse(self, task: Task) -> None:
        """Refuse added constraints and losses that are not smooth."""
        added, loss = task.program.added_by_user(), task.program.statement.loss
        if added:
            raise NotApplicableError(
                f"the proximal path cannot hold the constraint {added}: use solver='ecos' or "
                "'clarabel'"
            )
        if not hasattr(loss, "gradient"):
            raise NotApplicableError(
                f"the {loss.name} loss has no derivative, which the proximal path needs: use "
                "solver='ecos' or 'clarabel'"
            )

    def solve(self, task: Task) -> Outcome:
        """Fit the statement."""
        statement: Any = task.program.statement
        found = fit_statement(statement, statement.rows, task.options)
        return Outcome(
            self.TERMINATIONS[found.termination],
            str(found.termination),
            point=(found.coefficients, float(found.intercept)),
            dual_bound=found.dual_objective,
            bound_source="evidence",
            seconds=found.seconds,
        )
