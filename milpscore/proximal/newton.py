"""Proximal Newton steps for any penalty with a prox: a quadratic model of the loss at a time."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from milpscore.core.clock import Clock
from milpscore.core.design import FloatArray
from milpscore.core.errors import NotApplicableError
from milpscore.core.result import Termination
from milpscore.core.statement import ProxPenalty
from milpscore.penalties import Box
from milpscore.penalties.cones import PenaltyCones, cone_form, stacked
from milpscore.penalties.ramps import Ramps
from milpscore.proximal.coordinate import Quadratic
from milpscore.proximal.engine import faster
from milpscore.proximal.operators import DenseOperator
from milpscore.proximal.problem import ENDLESS, PerClass, Primal, Run, Smooth


@dataclass(frozen=True)
class NewtonPolicy:
    """Proximal Newton steps, measured by bench_prox.py and the harsh cases of the tests."""

    # first-order steps for one model, and from the best of several candidates for it
    model_steps: int = 300
    mixed_steps: int = 30
    # residual of a model, as a share of the first, at which these steps end; directions that bend
    # by 1e6 or more apart take far more
    model_tol: float = 1e-2
    sweeps: int = 2000  # of coordinate descent on one model
    # distance to the subdifferential, as a share of that at the start, at which sweeps end
    coordinates_tol: float = 1e-6
    saved: float = 1e-24  # share of the mean loss that a sweep inside a box must save to go on
    # Newton steps after which up to this number of coefficients are given to cones
    patience: int = 4
    few_coefficients: int = 100
    cone_tol: float = 1e-12  # of the cones' solver
    # share of the curvature: rounding must not make a semidefinite matrix indefinite
    ridge: float = 1e-13
    # share of the inverse curvature: step of a prox that only moves a point into the domain
    null_step: float = 1e-14
    # variables up to which an answer of cones is made exact, with this shift and refinements
    most_polished: int = 300
    polish_shift: float = 1e-10
    refinements: int = 10
    # the line search, which doubles a full step while that helps
    shortest_step: float = 1e-6
    longest_step: float = 1e6
    rise: float = 1e-13  # relative, that a full step near the optimum may take: its rounding
    progress: float = 1e-15  # relative fall of the objective below which a step is idle
    idle_steps: int = 3  # that end the run
    # least curvature of a row, as a share of its weight, tried in turn
    curvature_floors: tuple[float, ...] = (1e-13, 1e-9, 1e-6)
    flat: float = 1e-14  # curvature of a column, as a share of its rows', below which it is flat


POLICY = NewtonPolicy()


def proximal_newton(
    smooth: Smooth,
    penalty: ProxPenalty,
    *,
    ramps: Ramps | None = None,
    tol: float,
    max_iter: int,
    start: Primal,
    clock: Clock = ENDLESS,
) -> Run:
    """Minimise with a quadratic model of the loss at a time, the intercepts eliminated."""
    # A line search guards the step (Lee, Sun, Saunders, SIAM J. Optim. 24, 2014). Where margins are
    # large the loss hardly bends along most rows, and where columns are collinear or of different
    # sizes it bends by powers of ten more along some: first-order steps take tens of thousands of
    # passes where this takes tens.
    run = Run(smooth, penalty, "newton", tol, clock)
    run.look(0, start)
    models = _Models(penalty, ramps, smooth.X.shape[1], smooth.n_classes, smooth.n_classes > 0)
    at, idle = start, 0
    while run.stop is None and run.iterations < max_iter:
        # 1) A step; few coefficients are given to cones once steps have become many.
        if run.iterations >= POLICY.patience and at.w.size <= POLICY.few_coefficients:
            models.hard = True
        following = _step(smooth, penalty, models, at)
        if following is None:
            run.stop = Termination.STALLED
            break
        # 2) A look at the gap; steps that save nothing end the run.
        cost = _cost(penalty, at)
        idle = 0 if cost - _cost(penalty, following) > POLICY.progress * abs(cost) else idle + 1
        at = following
        run.look(run.iterations + 1, at)
        if run.stop is None and idle >= POLICY.idle_steps:
            run.stop = Termination.STALLED
    return run


def _step(smooth: Smooth, penalty: ProxPenalty, models: _Models, at: Primal) -> Primal | None:
    """Take one Newton step with its line search; return None if no step descends."""
    # A loss that is straight in places (the hinges) makes the model singular: where its step does
    # not descend, rows get more curvature. Not before: with large margins little is all there is.
    # losses may fall below 0: that of Poisson does
    room = float(penalty.value(at.w)) + abs(at.loss)
    while True:
        for floor in POLICY.curvature_floors:
            gram = _gram(smooth, at, floor)
            if gram is None:
                return None
            # coefficients class by class
            target = models.minimiser(gram, at.gradient.T.ravel(), at.w.T.ravel(), room)
            whole = np.ascontiguousarray(target.reshape(at.w.T.shape).T)
            following = _searched(smooth, penalty, at, whole)
            if following is not None:
                return following
        if models.hard:
            return None
        models.hard = True


def _gram(smooth: Smooth, at: Primal, floor: float) -> FloatArray | None:
    """Return the second derivative of the mean loss, (p, p) or (K p, K p); None if infinite."""
    # in the coefficients, class by class, each intercept following at its best
    z = at.eta + at.b
    if smooth.n_classes:
        return _classes_gram(smooth, z, at.w.shape, floor)
    rows = smooth.row_hessian(z)
    if not np.isfinite(rows).all():
        return None
    rows = np.maximum(rows, floor * smooth.weight)
    table = Quadratic(smooth.X, rows, smooth.intercept).gram
    # a column that is constant, but for rounding
    flat = np.diag(table) <= POLICY.flat * smooth.X.squares(rows)
    table[flat], table[:, flat] = 0.0, 0.0
    return table


def _classes_gram(smooth: Smooth, z: FloatArray, shape: Any, floor: float) -> FloatArray:
    """Return that of the multinomial loss: diag(q) - q q' for probabilities q in every row."""
    share = smooth.loss.gradient(z, smooth.y)
    share[np.arange(len(z)), smooth.y.astype(np.int64)] += 1.0
    p, classes = shape
    X = smooth.X
    if smooth.intercept and isinstance(X, DenseOperator):
        # what the intercept takes off must not swamp what is left
        X = DenseOperator(X.X - smooth.means)
    gram = np.empty((classes, p, classes, p))
    sums, masses = np.empty((classes, p, classes)), np.empty((classes, classes))
    for k in range(classes):
        for m in range(k + 1):
            rows = smooth.weight * share[:, k] * share[:, m]
            if m == k:
                rows = smooth.weight * (share[:, k] * (1.0 - share[:, k]) + floor)
            sign = 1.0 if m == k else -1.0
            gram[k, :, m] = gram[m, :, k] = sign * X.gram(rows)
            sums[k, :, m] = sums[m, :, k] = sign * X.rmatvec(rows)
            masses[k, m] = masses[m, k] = sign * rows.sum()
    table = gram.reshape(classes * p, classes * p)
    if smooth.intercept:
        # the common direction of the intercepts is flat: any of it will do
        moved = sums.reshape(classes * p, classes)
        table -= moved @ np.linalg.pinv(masses, hermitian=True) @ moved.T
    return table


@dataclass(eq=False)
class _Models:
    """Minimisers of gradient.(x - w) + (x - w)'gram(x - w)/2 + penalty(x)."""

    penalty: ProxPenalty
    ramps: Ramps | None  # of one class, if the penalty is a sum over the coefficients
    columns: int
    classes: int = 0
    # whether first-order steps take too long: then an interior-point method, which collinear
    # columns and columns of all sizes do not slow down
    hard: bool = False

    @property
    def copies(self) -> int:
        """Number of classes the penalty counts for."""
        return max(self.classes, 1)

    @cached_property
    def base(self) -> Any:
        """The penalty of one class."""
        return self.penalty.base if isinstance(self.penalty, PerClass) else self.penalty

    @cached_property
    def form(self) -> PenaltyCones | None:
        """The base as cones, if it has that form."""
        return cone_form(self.base, self.columns)

    def minimiser(
        self, gram: FloatArray, gradient: FloatArray, w: FloatArray, room: float
    ) -> FloatArray:
        """Return nearly that x; ``room`` is what the penalty may come to."""
        if self.ramps is not None:
            return self._by_coordinates(self.ramps, gram, gradient, w)
        if isinstance(self.base, Box):
            return self._in_a_box(self.base, gram, gradient, w)
        bend = float(np.linalg.eigvalsh(gram)[-1]) * (1 + 1e-7) + 1e-300
        if not self.hard or self.form is None:
            x, done = self._by_first_order(gram, gradient, w, bend)
            if done or self.form is None:
                return x
            self.hard = True
        targets = self._by_cones(self.form, gram, gradient, w, room)
        if not targets:
            return self._by_first_order(gram, gradient, w, bend)[0]
        # what lies outside the penalty's domain by a rounding goes back to it; then one step more,
        # of little use but for what must be exactly zero, or equal
        inside = [self._prox(x, POLICY.null_step / bend) for x in targets]
        best = min(inside, key=lambda x: self._value(gram, gradient, w, x))
        slope = gradient + gram @ (best - w)
        if not self.form.lengths:
            return self._prox(best - slope / bend, 1.0 / bend)
        # (which such cones leave further away)
        nearer = self._by_first_order(gram, slope, best, bend, POLICY.mixed_steps)[0]
        return min(nearer, best, key=lambda x: self._value(gram, gradient, w, x))

    def _value(self, gram: FloatArray, gradient: FloatArray, w: FloatArray, x: FloatArray) -> float:
        """Return the model's value beyond that at w."""
        move = x - w
        table = x if not self.classes else x.reshape(self.classes, -1).T
        value = float((gradient + 0.5 * (gram @ move)) @ move) + float(self.penalty.value(table))
        return value if math.isfinite(value) else math.inf

    def _prox(self, x: FloatArray, step: float) -> FloatArray:
        """Return the prox of coefficients class by class."""
        if not self.classes:
            return self.penalty.prox(x, step)
        table = np.ascontiguousarray(x.reshape(self.classes, -1).T)
        return np.asarray(self.penalty.prox(table, step).T.ravel())

    def _by_first_order(
        self, gram: FloatArray, gradient: FloatArray, w: FloatArray, bend: float,
        steps: int = POLICY.model_steps,
    ) -> tuple[FloatArray, bool]:  # fmt: skip
        """Minimise by FISTA with restarts; return whether its residual fell far enough."""
        step = 1.0 / bend
        x, ahead, speed, first = w.copy(), w, 1.0, 0.0
        for k in range(steps):
            slope = gradient + gram @ (ahead - w)
            new = self._prox(ahead - step * slope, step)
            residual = float(np.abs(new - ahead).max(initial=0.0)) * bend
            first = residual if k == 0 else first
            if residual <= POLICY.model_tol * first and k:
                return new, True
            if (ahead - new) @ (new - x) > 0:  # the momentum points uphill
                speed, x, ahead = 1.0, new, new
                continue
            speed, factor = faster(speed)
            ahead = new + factor * (new - x)
            x = new
        return x, False

    def _by_coordinates(
        self, ramps: Ramps, gram: FloatArray, gradient: FloatArray, w: FloatArray
    ) -> FloatArray:
        """Minimise by coordinate descent, to a share of the first distance."""
        from milpscore.proximal import _kernels

        weight, ridge = np.tile(ramps.weight, self.copies), np.tile(ramps.ridge, self.copies)
        whole = replace(ramps, weight=weight, ridge=ridge)
        new, slope = w.copy(), gradient.copy()
        tol = POLICY.coordinates_tol * float(whole.distance(w, gradient).max(initial=0.0))
        _kernels.descend_gram(gram, slope, new, whole.for_kernels, tol, POLICY.sweeps)
        return new

    def _in_a_box(
        self, box: Box, gram: FloatArray, gradient: FloatArray, w: FloatArray
    ) -> FloatArray:
        """Minimise by coordinate descent, until a sweep saves next to nothing."""
        from milpscore.proximal import _kernels

        lower, upper = (np.tile(end, self.copies) for end in box.ends(np.zeros(self.columns)))
        new = np.clip(w, lower, upper)
        slope = gradient + gram @ (new - w)
        _kernels.descend_box(gram, slope, new, lower, upper, POLICY.saved, POLICY.sweeps)
        return new

    def _by_cones(
        self, form: PenaltyCones, gram: FloatArray, gradient: FloatArray, w: FloatArray, room: float
    ) -> list[FloatArray]:
        """Return Clarabel's minimiser, and one made exact; nothing if it fails."""
        import clarabel
        from scipy.sparse import csc_array, diags_array

        bends = np.diag(gram).copy()
        bends[bends <= 0] = np.median(bends[bends > 0]) if (bends > 0).any() else 1.0
        cones = stacked(form, self.copies, 1.0 / np.sqrt(bends), room)
        # every variable and every row in units of its own
        p = len(w)
        unit = cones.unit
        linear = cones.cost * unit
        linear[:p] += gradient * unit[:p]
        quadratic = np.zeros((len(unit), len(unit)))
        quadratic[:p, :p] = gram * np.multiply.outer(unit[:p], unit[:p])
        quadratic[np.arange(p), np.arange(p)] += POLICY.ridge
        table = cones.rows @ diags_array(unit)
        size = np.abs(table).max(axis=1).toarray().ravel()
        at = cones.zero + cones.signs
        for length in cones.lengths:
            size[at : at + length] = size[at : at + length].max()
            at += length
        shrink = 1.0 / np.where(size > 0, size, 1.0)
        offset = (cones.offset + cones.rows[:, :p] @ w) * shrink
        table = csc_array(diags_array(shrink) @ table)
        kinds = [clarabel.ZeroConeT(cones.zero)] if cones.zero else []
        kinds += [clarabel.NonnegativeConeT(cones.signs)] if cones.signs else []
        kinds += [clarabel.SecondOrderConeT(length) for length in cones.lengths]
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = POLICY.cone_tol
        answer = clarabel.DefaultSolver(
            csc_array(np.triu(quadratic)), linear, -table, offset, kinds, settings
        ).solve()
        x = np.array(answer.x)
        if len(x) != len(unit) or not np.isfinite(x).all():
            return []
        answers = [x]
        if not cones.lengths and len(x) <= POLICY.most_polished:
            tight = np.array(answer.z) > np.array(answer.s)
            tight[: cones.zero] = True
            rows = table[tight].toarray()
            answers.append(_polished(quadratic, linear, rows, offset[tight], x))
        return [w + x[:p] * unit[:p] for x in answers]


def _polished(
    quadratic: FloatArray, linear: FloatArray, rows: FloatArray, offset: FloatArray, x: FloatArray
) -> FloatArray:
    """Return the minimiser of a quadratic where ``rows`` x + offset = 0, to the last digits."""
    # one system of equations, solved with a little of the identity added and then refined, as OSQP
    # polishes: Stellato et al., Math. Program. Comput. 12 (2020)
    from scipy.linalg import lu_factor, lu_solve

    n, m = len(x), len(rows)
    table = np.zeros((n + m, n + m))
    table[:n, :n], table[n:, :n], table[:n, n:] = quadratic, rows, rows.T
    right = np.concatenate([-linear, -offset])
    factor = lu_factor(table + POLICY.polish_shift * np.diag(np.repeat([1.0, -1.0], [n, m])))
    answer = np.concatenate([x, np.zeros(m)])
    for _ in range(POLICY.refinements):
        answer = answer + lu_solve(factor, right - table @ answer)
    return answer[:n] if np.isfinite(answer).all() else x


def model_minimiser(
    gram: FloatArray, gradient: FloatArray, penalty: ProxPenalty, w: FloatArray, room: float
) -> FloatArray:
    """Minimise gradient.(x - w) + (x - w)'gram(x - w)/2 + penalty(x), at most ``room`` of it."""
    return _Models(penalty, None, len(w)).minimiser(gram, gradient, w, room)


def _cost(penalty: ProxPenalty, at: Primal) -> float:
    """Return the mean loss plus the penalty."""
    return at.loss + float(penalty.value(at.w))


def _searched(
    smooth: Smooth, penalty: ProxPenalty, at: Primal, target: FloatArray
) -> Primal | None:
    """Return the first point on the way back from ``target`` that is not worse, or None."""
    # From ``target`` itself the way goes on, in doubled lengths, as long as that saves: where the
    # loss is flat the model bends too little, and its minimiser comes nowhere near.

    def at_length(length: float) -> tuple[Primal, float]:
        w = target if length == 1.0 else at.w + length * (target - at.w)
        eta = smooth.X.matvec(w)
        if not np.isfinite(eta).all():
            return at, math.inf
        try:
            new = smooth.settled(w, eta, at.b)
        except NotApplicableError:  # so far out the loss overflows, whatever the intercept
            return at, math.inf
        return new, _cost(penalty, new)

    cost, length = _cost(penalty, at), 1.0
    while length > POLICY.shortest_step:
        new, reached = at_length(length)
        if reached <= cost + POLICY.rise * abs(cost):
            break
        length /= 2.0
    else:
        return None
    while 1.0 <= length < POLICY.longest_step:
        further, lower = at_length(2.0 * length)
        if not lower < reached - POLICY.rise * abs(reached):
            break
        new, reached, length = further, lower, 2.0 * length
    return new
