"""Hull covers: a card errs on rows of either class whose hulls meet, unless its signs part them.

For a row i of one class and weights lambda on rows K of the other, adding up to 1, let
d = x_i - sum_k lambda_k x_k. A card that is right about all of them has w.d >= gap for positive i,
so that some column of d pays for it: with w+_j and w-_j the binaries of its points' signs,

    z_i + sum_{k in K} z_k + sum_{d_j > 0} w+_j + sum_{d_j < 0} w-_j >= 1,

and the other way round for negative i. Columns that together cannot make up the gap are left out
of the sums. One row k of weight 1 makes a pair cover. The weights come from a linear program per
row, at the point of the relaxation, in rounds.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import highspy
import numpy as np
from scipy import sparse

from milpscore.core.clock import Clock
from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import NotApplicableError
from milpscore.core.program import Parting, Program
from milpscore.solvers.options import Options
from milpscore.solvers.policy import POLICY
from milpscore.solvers.running import add_rows, highs_of, limit_run, run_here, set_option
from milpscore.solvers.session import Session


class Cover(NamedTuple):
    """A row: rows that may be errors, columns whose sign parts them, and its sum at a point."""

    rows: IntArray
    above: IntArray
    below: IntArray
    value: float


def add_hull_covers(program: Program, **options: Any) -> int:
    """Add the hull covers of a program to its model, for a file or for another solver.

    HiGHS gets them before each search; the relaxation and written files hold them after this.

    Parameters
    ----------
    program : Program
        By :func:`milpscore.formulations.slim` or :func:`~milpscore.formulations.ordinal`; its model
        gets the constraints ``hull_covers``, which no card breaks. An edit (:meth:`Program.set`)
        that has to build the model anew leaves them out.
    **options
        As in :class:`milpscore.solvers.Options`; ``time_limit`` ends the rounds.

    Returns
    -------
    int
        How many rows were added: 0 for a large table, the hinge loss, or ``pair_covers=False``.

    Raises
    ------
    NotApplicableError
        If the model holds them already, or is one of cones.

    Notes
    -----
    A kind of infeasible-subsystem cut: Codato & Fischetti, "Combinatorial Benders' cuts for
    mixed-integer linear programming", Operations Research 54 (2006), whose subsystems of rows are
    sought here among rows that signs of points do not part.
    """
    import pyomo.environ as pyo

    _require_errors(program)
    model, session = program.model, Session(program)
    if model.component("hull_covers") is not None:
        raise NotApplicableError("the model has its hull covers: build the program anew for others")
    covers = hull_covers(session, Options(**options))
    columns = [covers.indices[a:b].tolist() for a, b in itertools.pairwise(covers.indptr.tolist())]
    edit = program.edited()
    model.hull_covers = pyo.Constraint(
        pyo.RangeSet(0, len(columns) - 1),
        rule=lambda m, k: sum(session.columns[j] for j in columns[k]) >= 1,
    )
    program.remember(edit, frozenset({"hull_covers"}))
    return len(columns)


def broken_covers(program: Program) -> list[Any]:
    """Return the hull covers that the values of a model break, for a callback of its solver.

    Parameters
    ----------
    program : Program
        As in :func:`add_hull_covers`. Its variables hold a point of the relaxation, as
        ``cbGetNodeRel`` of Pyomo's ``gurobi_persistent`` leaves it there.

    Returns
    -------
    list of Pyomo expressions
        At most one per row, the one that is broken most first; no card breaks any, so that each may
        be a cut at every node. Empty for a large table, the hinge loss, or ``pair_covers=False``.

    Raises
    ------
    NotApplicableError
        If the program is one of cones, or a variable has no value.
    """
    _require_errors(program)
    parting = None if program.layout.parting is None else program.layout.parting(program.model)
    if parting is None or parting.X.size > POLICY.cover_entries:
        return []
    held = parting.errors, parting.above, parting.below
    if any(var is not None and var.value is None for part in held for var in part):
        raise NotApplicableError("the model holds no values: solve its relaxation first")
    errors, above, below = (
        np.array([0.0 if v is None else v.value for v in part]) for part in held
    )
    broken = _broken(parting, errors, above, below, Clock())
    broken.sort(key=lambda cover: cover.value)
    rows = []
    for cover in broken:
        chosen = zip(held, (cover.rows, cover.above, cover.below), strict=True)
        columns = [part[k] for part, places in chosen for k in places.tolist()]
        rows.append(sum(var for var in columns if var is not None) >= 1)
    return rows


def _require_errors(program: Program) -> None:
    """Refuse a program without errors of rows."""
    if program.conic:
        raise NotApplicableError("a conic program has no errors to cover: state slim or ordinal")


def hull_covers(session: Session, options: Options) -> sparse.csr_array:
    """Return rows A with A @ x >= 1 for the columns of a session, from rounds at its relaxation.

    No rows if the model's errors are not binaries, or the table is large.
    """
    none = sparse.csr_array((0, len(session.columns)))
    program = session.program
    parting = None if program.layout.parting is None else program.layout.parting(program.model)
    if parting is None or parting.X.size > POLICY.cover_entries:
        return none
    places, clock = _Places(session, parting), options.clock.part(POLICY.cover_time)
    relaxation, covers, bound = session.copy(relaxed=True), none, -np.inf
    for turn in range(POLICY.cover_rounds + 1):
        # 1) the relaxation with what is known, of which what is far from it is left out
        limit_run(relaxation, clock.left, None, mip=False)
        run_here(relaxation)
        if relaxation.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            break
        value = relaxation.getInfo().objective_function_value
        point = np.asarray(relaxation.getSolution().col_value)
        held = covers @ point <= 1.0 + POLICY.cover_slack
        # 2) an end where rounds no longer pay
        rise = value - bound
        if turn == POLICY.cover_rounds or rise <= POLICY.cover_rise * abs(bound) < np.inf:
            return covers[held]
        bound = value
        # 3) the covers that this point breaks most
        broken = _broken(parting, *places.at(point), clock)
        broken.sort(key=lambda cover: cover.value)
        rows = places.matrix(broken[: POLICY.covers_at_once])
        if not rows.shape[0]:
            return covers[held]
        add_rows(relaxation, rows, np.ones(rows.shape[0]), np.full(rows.shape[0], np.inf))
        covers = sparse.csr_array(sparse.vstack([covers, rows]))
    return covers


_ABSENT, _OPEN = -1, -2
"""Places beside the columns: of a variable that is 0 for every card, and of one fixed otherwise."""


class _Places:
    """Where a session holds errors and signs, or what is known of those it does not hold."""

    def __init__(self, session: Session, parting: Parting) -> None:
        known = {id(var): j for j, var in enumerate(session.columns)}

        def place(var: Any) -> int:
            if id(var) in known:
                return known[id(var)]
            return _ABSENT if var is None or var.ub == 0 or (var.fixed and not var.value) else _OPEN

        def of(variables: list[Any]) -> IntArray:
            return np.array([place(var) for var in variables], dtype=np.int64)

        self.width = len(session.columns)
        self.errors, self.above, self.below = map(
            of, (parting.errors, parting.above, parting.below)
        )

    def at(self, point: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the errors, and the signs above and below 0, at a point."""
        padded = np.append(point, [1.0, 0.0])  # what is open breaks no cover
        return padded[self.errors], padded[self.above], padded[self.below]

    def matrix(self, covers: list[Cover]) -> sparse.csr_array:
        """Return covers as rows over the columns of the session."""
        held = [
            np.concatenate([self.errors[c.rows], self.above[c.above], self.below[c.below]])
            for c in covers
        ]
        held = [places[places >= 0] for places in held]
        starts = np.cumsum([0, *(len(places) for places in held)])
        indices = np.concatenate([*held, np.empty(0, np.int64)])
        shape = (len(covers), self.width)
        return sparse.csr_array((np.ones(len(indices)), indices, starts), shape=shape)


def _broken(
    parting: Parting, errors: FloatArray, above: FloatArray, below: FloatArray, clock: Clock
) -> list[Cover]:
    """Return covers that a point of the relaxation breaks, at most one per row."""
    covers: list[Cover] = []
    boundaries = np.unique(parting.boundary)
    most = max(POLICY.cover_rows // len(boundaries), 1)
    for boundary in boundaries:
        for sign in (1, -1):
            about = parting.boundary == boundary
            own = np.flatnonzero(about & (parting.y == sign) & (errors < 1 - POLICY.cover_lack))
            own = own[np.argsort(errors[own], kind="stable")][:most]
            others = np.flatnonzero(about & (parting.y == -sign) & (errors < 0.5))
            if not len(own) or not len(others):
                continue
            # of a negative row, signs the other way round
            up, down = (above, below) if sign > 0 else (below, above)
            hull = _Hull(parting, others, errors[others], up, down)
            for i in own.tolist():
                if clock.is_up:
                    return covers
                if (cover := hull.cover(i, float(errors[i]))) is not None:
                    swapped = cover if sign > 0 else cover._replace(
                        above=cover.below, below=cover.above
                    )  # fmt: skip
                    covers.append(swapped)
    return covers


class _Hull:
    """The hull of one class's rows, and what it costs to part a row of the other class from it."""

    def __init__(
        self, parting: Parting, others: IntArray, errors: FloatArray, up: FloatArray,
        down: FloatArray,
    ) -> None:  # fmt: skip
        self.parting, self.others, self.errors, self.up, self.down = (
            parting, others, errors, up, down,
        )  # fmt: skip
        X = parting.X
        # columns without any sign cost nothing
        self.at_work = np.flatnonzero(up + down > 0)
        self.width = np.maximum(np.ptp(X[:, self.at_work], axis=0), 1e-9)
        n, q = len(others), len(self.at_work)
        # sum_k lambda_k x_k + width (above - below) = x_i, sum_k lambda_k = 1
        part = X[others][:, self.at_work] / self.width
        matrix = sparse.csc_array(
            np.block([[part.T, np.eye(q), -np.eye(q)], [np.ones((1, n)), np.zeros((1, 2 * q))]])
        )
        cost = np.concatenate([errors, up[self.at_work], down[self.at_work]])
        ends = np.zeros(n + 2 * q), np.append(np.ones(n), np.full(2 * q, np.inf))
        self.places = np.arange(q + 1, dtype=np.int32)
        right = np.append(np.zeros(q), 1.0)
        self.highs = highs_of(matrix, (cost, 0.0), ends, (right, right))
        set_option(self.highs, "presolve", "off")  # each row goes on from the basis of the last

    def cover(self, i: int, error: float) -> Cover | None:
        """Return the cover of row i that the point lacks most of, if it breaks one."""
        parting, n = self.parting, len(self.others)
        right = np.append(parting.X[i, self.at_work] / self.width, 1.0)
        self.highs.changeRowsBounds(len(right), self.places, right, right)
        run_here(self.highs)
        if self.highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        weights = np.asarray(self.highs.getSolution().col_value)[:n]
        chosen = np.flatnonzero(weights > 1e-9)
        share = weights[chosen] / weights[chosen].sum()
        rows = self.others[chosen]
        apart = parting.X[i] - share @ parting.X[rows]
        # what the columns may make up of the gap: the least ones together need not be charged
        most = parting.reach * np.abs(apart)
        order = np.argsort(most, kind="stable")
        charged = np.ones(len(most), dtype=bool)
        charged[order[np.cumsum(most[order]) < POLICY.cover_share * parting.gap]] = False
        above, below = (np.flatnonzero(charged & side) for side in (apart > 0, apart < 0))
        value = error + self.errors[chosen].sum() + self.up[above].sum() + self.down[below].sum()
        if value > 1.0 - POLICY.cover_lack:
            return None
        return Cover(np.append(i, rows), above, below, float(value))
