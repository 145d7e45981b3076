"""Proximal Newton steps by coordinate descent on a growing working set; OWL's by clusters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from milpscore.core.clock import Clock
from milpscore.core.design import FloatArray, IntArray
from milpscore.core.result import Termination
from milpscore.losses import Squared
from milpscore.penalties import OWL
from milpscore.penalties.ramps import Ramps
from milpscore.proximal.operators import BinnedOperator, DenseOperator, Operator, SparseOperator
from milpscore.proximal.problem import ENDLESS, DualityGap, Primal, Run, Smooth


@dataclass(frozen=True)
class WorkingSetPolicy:
    """The working set, measured by bench_l1_path.py."""

    gram_columns: int = 400  # up to which a Gram matrix is formed; beyond, kernels read the rows
    stale: float = 0.1  # relative change of curvatures up to which a Gram matrix is used again
    all_columns: int = 64  # up to which the working set is all of them
    fewest: int = 20  # columns of a working set
    fewest_sorted: int = 100  # columns that OWL's working set adds
    # OWL goes on by first-order steps beyond this number of columns in use, or with fewer than
    # ``early`` rows per column in use if many columns want to enter
    most_sorted: int = 8000
    early: int = 8
    inner_steps: int = 10  # Newton steps on one working set
    sweeps: int = 2000  # of coordinate descent on one model
    few_sweeps: int = 20  # before conjugate gradients are tried
    products: int = 100  # of these conjugate gradients
    curvature_floor: float = 1e-6  # least curvature of a row, as a share of its weight
    spare: float = 0.3  # share of the distance that would just do, to which a set is solved
    idle_looks: int = 5  # without a smaller objective, that end the run
    progress: float = 1e-15  # relative fall of the objective below which a look is idle
    # a Newton step's model on OWL's clusters: its rounds, at most, and those without a tenth nearer
    # after which the next Newton step does the rest; sweeps per round, at first and at most
    cluster_rounds: int = 200
    idle_rounds: int = 12
    cluster_sweeps: int = 40
    most_sweeps: int = 640
    settled_share: float = 0.001  # a round settles sizes to this share of what pulls them apart
    together_share: float = 0.05  # of the tolerance: what pulls less leaves a cluster together
    line_halvings: int = 10  # of the line search on clusters
    cluster_ridge: float = 1e-11  # relative, of the clusters' Gram matrix


POLICY = WorkingSetPolicy()

Part: TypeAlias = Ramps | OWL  # known for some of the coefficients while all others are zero


@dataclass(frozen=True, eq=False)
class Quadratic:
    """The loss near a point, in the columns of X (n, m)."""

    X: Operator
    curvature: FloatArray  # of the rows, positive, (n,)
    intercept: bool  # follows at its optimum
    whole: bool = False  # form the Gram matrix of any number of columns

    @cached_property
    def mass(self) -> float:
        """Return the sum of the curvatures."""
        return float(self.curvature.sum())

    @cached_property
    def means(self) -> FloatArray:
        """Return the column means under the curvature, zeros without an intercept; (m,)."""
        if not self.intercept:
            return np.zeros(self.X.shape[1])
        return self.X.rmatvec(self.curvature) / self.mass

    @property
    def by_gram(self) -> bool:
        """Whether X' diag(curvature) X is formed: for few columns, or if rows are slow to read."""
        few = self.X.shape[1] <= POLICY.gram_columns
        return self.whole or few or isinstance(self.X, BinnedOperator)

    def near(self, curvature: FloatArray) -> bool:
        """Whether a Gram matrix of these curvatures can stand for that of others."""
        # row by row: a column that few rows have sees little of a sum over all
        change = np.abs(curvature - self.curvature)
        return self.by_gram and bool(np.all(change <= POLICY.stale * self.curvature))

    @cached_property
    def gram(self) -> FloatArray:
        """Return X' diag(curvature) X with the intercept eliminated, shape (m, m)."""
        table = self.X.gram(self.curvature)
        if self.intercept:
            table -= np.multiply.outer(self.means * self.mass, self.means)
        return np.ascontiguousarray(table)

    def taken(self, X: Operator, at: IntArray, of: IntArray) -> Quadratic:
        """Return the model of the columns of X; those at ``at`` are the columns ``of`` this one."""
        other = replace(self, X=X)
        if not isinstance(X, DenseOperator | SparseOperator) or not other.by_gram:
            return other
        size = X.shape[1]
        table = np.empty((size, size))
        table[np.ix_(at, at)] = self.gram[np.ix_(of, of)]
        fresh = np.setdiff1d(np.arange(size), at)
        if len(fresh):
            rows = X.cross(fresh, self.curvature)
            if self.intercept:
                rows -= np.multiply.outer(other.means[fresh] * self.mass, other.means)
            table[fresh] = rows
            table[:, fresh] = rows.T
        other.__dict__["gram"] = table
        return other

    def descend(
        self, rows: FloatArray, gradient: FloatArray, w: FloatArray, part: Part, tol: float
    ) -> FloatArray:
        """Return the w (m,) that minimises the model plus the penalty, to ``tol`` in its slope."""
        # ``rows`` (n,) are the row derivatives of the loss, ``gradient`` = X' rows; the intercept
        # moves by -means.(w_new - w) - rows.sum() / mass
        from milpscore.proximal import _kernels

        if self.by_gram:
            slope = gradient - self.means * float(rows.sum()) if self.intercept else gradient.copy()
        if isinstance(part, OWL):
            return descend_sorted(self.gram, slope, w, part, tol)
        new, penalty = w.copy(), part.for_kernels
        if self.by_gram:
            _kernels.descend_gram(self.gram, slope, new, penalty, float(tol), POLICY.sweeps)
            return new
        bends = self.X.squares(self.curvature) - self.means**2 * self.mass
        bends = np.maximum(bends, 1e-14 * float(bends.max()) + 1e-300)
        state = self.curvature, rows.copy(), self.means, bends
        X: Any
        if isinstance(self.X, DenseOperator):
            kernel, X = _kernels.descend_dense, self.X.X
        else:
            assert isinstance(self.X, SparseOperator)
            kernel, X = _kernels.descend_sparse, self.X.parts
        done, sweeps = 0, POLICY.few_sweeps
        while done < POLICY.sweeps:
            if kernel(X, state, new, penalty, float(tol), sweeps) <= sweeps:
                break
            done += sweeps
            if not self._straight(state, new, part, tol):
                sweeps *= 2
        return new

    def _straight(
        self, state: tuple[FloatArray, ...], w: FloatArray, ramps: Ramps, tol: float
    ) -> bool:
        """Move what lies between two kinks by conjugate gradients; False if that went nowhere."""
        # Where columns are many and alike, coordinates take turns in small steps, and this is what
        # they would come to. ``w`` and the residual are changed in place; no kink is passed, and
        # less than a tenth of the way counts as nowhere.
        curvature, residual, means, bends = state
        free, low, high, slope = ramps.between_kinks(w)
        if not len(free):
            return False
        X, means, ridge = self.X.columns(free), means[free], ramps.ridge[free]
        slope += X.rmatvec(residual) - means * float(residual.sum())

        def bent(d: FloatArray) -> tuple[FloatArray, FloatArray]:
            """Return the change of ``residual`` and of the slope with a move d."""
            change = curvature * X.matvec(d)
            return change, X.rmatvec(change) - means * (self.mass * float(means @ d)) + ridge * d

        wanted = _conjugate_gradients(lambda d: bent(d)[1], -slope, bends[free] + ridge, 0.1 * tol)
        here = w[free]
        move = np.clip(here + wanted, low, high) - here
        change, pull = bent(move)
        fall, bend = -float(slope @ move), float(pull @ move)
        if not (fall > 0.0 and bend > 0.0):
            return False
        length = min(1.0, fall / bend)
        w[free] = np.clip(here + length * move, low, high)
        residual += length * change
        return length * fall > 0.1 * -float(slope @ wanted)


def _conjugate_gradients(
    product: Callable[[FloatArray], FloatArray], b: FloatArray, diagonal: FloatArray, tol: float
) -> FloatArray:
    """Solve product(x) = b, to ``tol`` in every entry, preconditioned by a diagonal."""
    x, r = np.zeros_like(b), b.copy()
    z = r / diagonal
    way, size = z, float(r @ z)
    for _ in range(POLICY.products):
        if np.abs(r).max() <= tol:
            break
        image = product(way)
        bend = float(way @ image)
        if not bend > 0.0:
            break
        x += (size / bend) * way
        r -= (size / bend) * image
        z = r / diagonal
        size, before = float(r @ z), size
        way = z + (size / before) * way
    return x


@dataclass(eq=False)
class _Panel:
    """The columns at work."""

    index: IntArray
    X: Operator
    part: Part
    quadratic: Quadratic | None = None  # the last model
    # a model of other columns, and which of this one's are which of that one's
    seed: tuple[Quadratic, IntArray, IntArray] | None = None


@dataclass(eq=False)
class Memory:
    """What one fit of a path leaves to the next: its last columns and their model."""

    panel: _Panel | None = None


@dataclass(eq=False)
class _Point:
    """A point of Newton's method, its intercept not yet at its best."""

    w: FloatArray  # (p,)
    eta: FloatArray  # X w, (n,)
    b: float
    loss: float  # weighted mean
    penalty: float
    rows: FloatArray  # row derivatives of the loss, (n,)


def working_set(
    smooth: Smooth,
    penalty: Any,
    part: Part,
    *,
    tol: float,
    max_iter: int,
    start: Primal,
    hint: IntArray | None = None,
    memory: Memory | None = None,
    clock: Clock = ENDLESS,
) -> Run:
    """Minimise with a separable penalty or OWL, most of whose columns at zero are left out."""
    # Friedman, Hastie, Tibshirani, J. Stat. Softw. 33 (2010); Lee, Sun, Saunders, SIAM J. Optim. 24
    # (2014); Bertrand et al., "Beyond L1: faster and better sparse models with skglm" (2022) for
    # the choice of the working set by distance to the subdifferential.
    run = Run(smooth, penalty, "working_set", tol, clock)
    point = run.look(0, start)
    panel: _Panel | None = None
    memory = memory or Memory()
    idle = 0
    while run.stop is None and run.iterations < max_iter:
        # 1) Take the columns in use, those farthest from optimal, at first those of ``hint`` too.
        away = part.distance(point.at.w, point.at.gradient)
        panel = _choose(smooth, part, point.at.w, away, panel, hint)
        if panel is not memory.panel:
            _take_up(panel, memory.panel)
        hint, memory.panel = None, panel
        if isinstance(part, OWL) and _too_many(smooth, point.at.w, away):
            break  # unfinished: first-order steps end sooner, without so large a Gram matrix
        # 2) Solve the problem in these by proximal Newton steps.
        worst = float(away.max(initial=0.0))
        following, steps = _solve(run, panel, point, worst, max_iter - run.iterations)
        if steps == 0:
            run.stop = Termination.STALLED
            break
        # 3) Look at all columns again; end where looks save nothing any more.
        at = smooth.settled(following.w, following.eta, np.asarray(following.b))
        before, point = point, run.look(run.iterations + steps, at)
        saved = before.objective - point.objective
        idle = 0 if saved > POLICY.progress * abs(point.objective) else idle + 1
        if run.stop is None and idle >= POLICY.idle_looks:
            run.stop = Termination.STALLED
    return run


def _too_many(smooth: Smooth, w: FloatArray, away: FloatArray) -> bool:
    """Whether too many columns are in use for Gram matrices of them, or are going to be."""
    # with squares half as many as rows, or an eighth if far more want in; with losses that flatten
    # as they fit, so that fewer come in than want to, nearly as many as rows
    n, used = smooth.X.shape[0], int(np.count_nonzero(w))
    if not isinstance(smooth.loss, Squared):
        return used > min(POLICY.most_sorted, 0.8 * n)
    if used > min(POLICY.most_sorted, 0.5 * n):
        return True
    return POLICY.early * used > n and bool(np.count_nonzero(away) > 2 * n)


def _choose(
    smooth: Smooth, part: Part, w: FloatArray, away: FloatArray, old: _Panel | None,
    hint: IntArray | None,
) -> _Panel:  # fmt: skip
    """Choose the columns in use and the worst of the others, at least as many again."""
    p = len(w)
    if p <= POLICY.all_columns:
        return old or _Panel(np.arange(p), smooth.X, part)
    used = np.flatnonzero(w)
    size_before = 0 if old is None else len(old.index)
    urgency = away.copy()
    if isinstance(part, OWL):  # its Gram matrix grows; what is in it stays
        size = min(p, max(len(used), size_before) + max(len(used), POLICY.fewest_sorted))
        urgency[[] if old is None else old.index] = np.inf
    else:
        size = min(p, max(2 * len(used), POLICY.fewest, size_before))
    urgency[used] = np.inf
    if hint is not None:
        size = min(p, max(size, len(used) + len(hint)))
        urgency[hint] = np.maximum(urgency[hint], 1e300)
    if old is not None:
        urgency[old.index] = np.maximum(urgency[old.index], 1e-300)
    wanted = np.argpartition(-urgency, size - 1)[:size]
    wanted = np.sort(wanted[urgency[wanted] > 0])
    if old is not None and np.array_equal(wanted, old.index):
        return old
    return _Panel(wanted, smooth.X.columns(wanted), part.some(wanted))


def _take_up(panel: _Panel, old: _Panel | None) -> None:
    """Note the last model of a panel that has most of this one's columns, and which are which."""
    if old is None or old.quadratic is None or not old.quadratic.by_gram:
        return
    if np.array_equal(panel.index, old.index):
        panel.quadratic = old.quadratic
        return
    common, at, of = np.intersect1d(panel.index, old.index, assume_unique=True, return_indices=True)
    if 2 * len(common) >= len(panel.index):
        panel.seed = old.quadratic, at, of


def _solve(
    run: Run, panel: _Panel, look: DualityGap, worst: float, max_steps: int
) -> tuple[_Point, int]:
    """Take Newton steps on the panel until it is much closer to optimal than the whole was."""
    smooth, at = run.smooth, look.at
    point = _Point(at.w, at.eta, float(at.b), at.loss, look.penalty, at.u * smooth.weight)
    gradient = at.gradient[panel.index]
    limit = min(max_steps, POLICY.inner_steps)
    share, near = (0.05, 0.3) if isinstance(panel.part, OWL) else (0.01, 0.1)
    # near the optimum the gap is nearly proportional to the worst coordinate's distance: what the
    # tolerance does not ask for is left
    enough = POLICY.spare * worst * run.tol / look.gap
    # where the panel is the whole, no other columns are waiting
    target = enough if len(panel.index) == len(point.w) else max(near * worst, enough)
    if isinstance(smooth.loss, Squared):  # the model is the problem
        limit, share = 1, target / worst
    steps = 0
    while steps < limit:
        following = _newton(smooth, panel, point, gradient, max(share * worst, enough))
        if following is None:
            break
        steps += 1
        point = following
        if steps == limit or run.clock.is_up:
            break
        gradient = panel.X.rmatvec(point.rows)
        worst = float(panel.part.distance(point.w[panel.index], gradient).max(initial=0.0))
        if worst <= target:
            break
    return point, steps


def _newton(
    smooth: Smooth, panel: _Panel, point: _Point, gradient: FloatArray, tol: float
) -> _Point | None:
    """Take one proximal Newton step with its line search; None if no step descends."""
    curvature = smooth.row_hessian(point.eta + point.b)
    # a loss that is straight in places (the hinges) would make the model singular
    np.maximum(curvature, POLICY.curvature_floor * smooth.weight, out=curvature)
    if not np.isfinite(curvature).all():
        return None
    quadratic = _quadratic(smooth, panel, curvature)
    old = point.w[panel.index]
    new = quadratic.descend(point.rows, gradient, old, panel.part, tol)
    move = new - old
    if not move.any():
        return None
    shift = 0.0
    if smooth.intercept:
        shift = -float(quadratic.means @ move) - float(point.rows.sum()) / quadratic.mass
    return _line_search(smooth, panel, point, gradient, new, shift)


def _quadratic(smooth: Smooth, panel: _Panel, curvature: FloatArray) -> Quadratic:
    """Return a model with these curvatures or near ones, with as little to form as possible."""
    seed, panel.seed = panel.seed, None
    if panel.quadratic is None or not panel.quadratic.near(curvature):
        if seed is not None and seed[0].near(curvature):
            panel.quadratic = seed[0].taken(panel.X, *seed[1:])
        else:
            whole = isinstance(panel.part, OWL)
            panel.quadratic = Quadratic(panel.X, curvature, smooth.intercept, whole)
    return panel.quadratic


def _line_search(
    smooth: Smooth,
    panel: _Panel,
    point: _Point,
    gradient: FloatArray,
    new: FloatArray,
    shift: float,
) -> _Point | None:
    """Halve the step until the objective falls by a share of what the model promised, or None."""
    old = point.w[panel.index]
    move = new - old
    scores = panel.X.matvec(move)
    after = panel.part.value(new)  # all other coefficients are zero
    promised = float(gradient @ move) + shift * float(point.rows.sum()) + after - point.penalty
    length = 1.0
    part = new  # not old + (new - old), which would leave a plateau by a rounding
    while length > 1e-9:
        eta = point.eta + length * scores
        b = point.b + length * shift
        loss = smooth.value(eta + b)
        change = loss - point.loss + after - point.penalty
        if change <= 1e-4 * length * min(promised, 0.0) + 1e-14 * abs(point.loss):
            w = point.w.copy()
            w[panel.index] = part
            return _Point(w, eta, b, loss, after, smooth.row_gradient(eta + b))
        length *= 0.5
        part = old + length * move
        after = panel.part.value(part)
    return None


# -- OWL on a quadratic: clusters of equal size, and Newton steps of these -------------------------


@dataclass(eq=False)
class _Clusters:
    """Coefficients that share their sizes: w[index] = sign * z[member]."""

    index: IntArray
    sign: FloatArray
    member: IntArray
    count: IntArray  # coefficients per cluster
    z: FloatArray
    slope: FloatArray  # of the model in z
    table: FloatArray  # its Gram matrix


def descend_sorted(
    gram: FloatArray, slope: FloatArray, w: FloatArray, penalty: OWL, tol: float
) -> FloatArray:
    """Minimise slope.(x - w) + (x - w)'gram(x - w)/2 + penalty(x), to ``tol``; return x."""
    sums = np.concatenate([[0.0], np.cumsum(penalty.lam * penalty.weights)])
    x, now = w.copy(), slope
    best, idle = np.inf, 0
    for _ in range(POLICY.cluster_rounds):
        # 1) End where nothing is pulled any more.
        pulls = penalty.pulls(x, now)
        worst = float(np.abs(pulls[2]).max(initial=0.0))
        best, idle = (worst, 0) if worst < 0.9 * best else (best, idle + 1)
        if worst <= tol or idle >= POLICY.idle_rounds:
            break
        # 2) Part clusters where the subgradient of least norm pulls them apart.
        clusters = _parted(gram, now, x, pulls, tol)
        # 3) Sizes take turns and merge, with Newton steps in between, which are exact once nothing
        # merges any more.
        _settle(clusters, sums, max(0.3 * tol, POLICY.settled_share * worst))
        x = np.zeros_like(w)
        x[clusters.index] = clusters.sign * clusters.z[clusters.member]
        now = slope + gram @ (x - w)
    return x


def _parted(
    gram: FloatArray, slope: FloatArray, x: FloatArray,
    pulls: tuple[IntArray, FloatArray, FloatArray], tol: float,
) -> _Clusters:  # fmt: skip
    """Return the clusters of x, parted where they are pulled apart by more than rounding."""
    from milpscore.proximal import _kernels

    order, sizes, pull = pulls
    used = int(np.count_nonzero((sizes > 0) | (pull > POLICY.together_share * tol)))
    index, sizes, pull = order[:used], sizes[:used], pull[:used]
    apart = (np.diff(sizes) != 0) | (np.diff(pull) < -POLICY.together_share * tol)
    starts = np.concatenate([[0], np.flatnonzero(apart) + 1, [used]])
    sign = np.where(x[index] != 0, np.sign(x[index]), -np.sign(slope[index]))
    count = np.diff(starts)
    member = np.repeat(np.arange(len(count)), count)
    return _Clusters(
        index=index,
        sign=sign,
        member=member,
        count=count,
        z=sizes[starts[:-1]],
        slope=np.add.reduceat(sign * slope[index], starts[:-1]),
        table=_kernels.gather(gram, index, sign, member, len(count)),
    )


def _settle(clusters: _Clusters, sums: FloatArray, tol: float) -> None:
    """Bring the sizes to their optimum, to ``tol``; in place."""
    from milpscore.proximal import _kernels

    done, sweeps = 0, POLICY.cluster_sweeps
    while len(clusters.z):
        into = np.zeros(len(clusters.z), dtype=np.int64)
        took = _kernels.descend_clusters(
            clusters.table, clusters.slope, clusters.z, clusters.count, sums, into, tol, sweeps
        )
        done += sweeps
        last = took <= sweeps or done >= POLICY.most_sweeps
        if into.any():
            _merge(clusters, into, last)
        if last:
            break
        if len(clusters.z) and not _newton_of_sizes(clusters, sums):
            sweeps *= 2


def _merge(clusters: _Clusters, into: IntArray, last: bool) -> None:
    """Remove clusters that merged or became 0; the last time the model stays as it is."""
    size = len(into)
    target, turn = np.arange(size), np.ones(size)
    gone = np.flatnonzero(into)
    target[gone], turn[gone] = np.abs(into[gone]) - 1, np.sign(into[gone])
    while True:  # whom a cluster merged with may have merged with a third
        further = target[target]
        if np.array_equal(further, target):
            break
        turn = turn * turn[target]
        target = further
    alive = np.flatnonzero(into == 0)
    number = np.full(size, -1)
    number[alive] = np.arange(len(alive))
    member = number[target][clusters.member]
    sign = clusters.sign * turn[clusters.member]
    used = member >= 0
    clusters.index, clusters.member, clusters.sign = clusters.index[used], member[used], sign[used]
    clusters.z = clusters.z[alive]
    if last:
        return
    clusters.count, clusters.slope = clusters.count[alive], clusters.slope[alive]
    clusters.table = clusters.table[np.ix_(alive, alive)]


def _newton_of_sizes(clusters: _Clusters, sums: FloatArray) -> bool:
    """Go towards the optimum of this order while the model falls; False if hardly anywhere."""
    from scipy.linalg.lapack import dposv

    z, table = clusters.z, clusters.table

    def price(at: FloatArray) -> FloatArray:
        """Return the penalty's slope in every z, the first of equal ones the steepest."""
        order = np.argsort(-np.abs(at), kind="stable")
        ends = np.cumsum(clusters.count[order])
        paid = np.empty(len(at))
        paid[order] = sums[ends] - sums[ends - clusters.count[order]]
        return paid * np.where(at != 0, np.sign(at), 1.0)

    slope = clusters.slope + price(z)
    lifted = table.copy()
    lifted.flat[:: len(z) + 1] += POLICY.cluster_ridge * float(table.diagonal().max())
    _, way, flaw = dposv(lifted.T, -slope, overwrite_a=True, overwrite_b=True)
    if flaw:
        return False
    image = table @ way
    along, bend = float(clusters.slope @ way), float(image @ way)

    def rises(length: float) -> bool:
        return along + length * bend + float(price(z + length * way) @ way) > 1e-9 * abs(along)

    length = 1.0
    if rises(1.0):
        low, high = 0.0, 1.0
        for _ in range(POLICY.line_halvings):
            middle = 0.5 * (low + high)
            low, high = (low, middle) if rises(middle) else (middle, high)
        length = low
    clusters.z = z + length * way
    clusters.slope = clusters.slope + length * image
    return length > 0.1
