"""Coordinate descent on a quadratic plus a penalty; imported where it is used.

The last two kernels are for OWL, whose coordinates move in clusters; the three before them are for
the penalty of a ``Ramps``. They differ in how they know the quadratic d'Hd/2 + slope'd: by H
itself, or by the columns of a dense or sparse X with H = X' diag(curvature) X, never formed. There
the intercept is eliminated: ``means`` are the columns' means under the curvature, and a column
counts less its mean.
Each ends when a full sweep moves no coordinate by more than ``tol`` in units of the gradient, or
after ``sweeps``, and returns its number of sweeps, one more than ``sweeps`` where it had not ended;
between full sweeps coordinates at zero are left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from milpscore.core.jit import compiled, inner
from milpscore.penalties.kernels import least, pooled

_EPS = float(np.finfo(np.float64).eps)


@inner
def _moved(
    old: float, slope: float, h: float, j: int, weight: Any, ridge: Any, shape: Any
) -> float:
    """Where coordinate j goes from ``old``: slope and second derivative h of the quadratic."""
    v = old - slope / h
    slopes, growth, gamma = shape
    x = least(h * abs(v), h + ridge[j], weight[j], slopes, growth, gamma)
    return x if v > 0.0 else -x


@compiled
def descend_gram(
    gram: Any, slope: Any, w: Any, weight: Any, ridge: Any, shape: Any, tol: float, sweeps: int
) -> int:
    """H = ``gram`` (m, m); ``slope`` (m,) is kept at its value in the moved point ``w``."""
    flat = 0.0
    for j in range(len(w)):
        flat = max(flat, gram[j, j])
    flat = flat * 1e-14 + 1e-300  # a column that is constant has no curvature of its own
    full = True
    for sweep in range(sweeps):
        worst = 0.0
        for j in range(len(w)):
            old = w[j]
            if not full and old == 0.0:
                continue
            h = max(gram[j, j], flat)
            new = _moved(old, slope[j], h, j, weight, ridge, shape)
            if new != old:
                slope += (new - old) * gram[j]
                w[j] = new
                worst = max(worst, abs(new - old) * h)
        if worst <= tol and full:
            return sweep + 1
        full = worst <= tol
    return sweeps + 1


@inner
def _pass(kind: int, y: Any, weight: Any, eta: Any, b: float, u: Any, bends: Any) -> float:
    """The mean loss of the scores eta + b (n,); ``u`` gets loss', ``bends`` weight loss''.

    ``kind`` 0 is the squared loss, 1 the logistic one, 2 Poisson's.
    """
    value = 0.0
    if kind == 0:
        for i in range(len(y)):
            u[i] = eta[i] + b - y[i]
            bends[i] = weight[i]
            value += 0.5 * weight[i] * u[i] * u[i]
    elif kind == 1:
        for i in range(len(y)):
            t = y[i] * (eta[i] + b)
            e = np.exp(-abs(t))
            share = 1.0 / (1.0 + e)
            u[i] = -y[i] * (e * share if t > 0.0 else share)
            bends[i] = weight[i] * e * share * share
            value += weight[i] * (np.log1p(e) - min(t, 0.0))
    else:
        for i in range(len(y)):
            z = eta[i] + b
            e = np.exp(z)
            u[i] = e - y[i]
            bends[i] = weight[i] * e
            value += weight[i] * (e - y[i] * z)
    return value


@inner
def _worth(w: Any, weight: Any, ridge: Any, shape: Any) -> float:
    """The penalty of a ``Ramps`` at w (m,)."""
    slopes, growth, gamma = shape
    top, total = len(slopes) - 1, 0.0
    for j in range(len(w)):
        size = abs(w[j])
        if size == 0.0:
            continue
        phi = slopes[0] * size
        for k in range(1, top + 1):
            phi += (slopes[k] - slopes[k - 1]) * max(size - k * gamma, 0.0)
        if growth > 0.0:
            r = max(size / gamma - top, 0.0)
            k = np.floor(r)
            phi += growth * gamma * k * (r - 0.5 * (k + 1.0))
        total += weight[j] * phi + 0.5 * ridge[j] * size * size
    return total


@inner
def _farthest(w: Any, gradient: Any, weight: Any, ridge: Any, shape: Any) -> float:
    """The largest distance of -gradient_j to the subdifferential of a ``Ramps`` at w_j."""
    slopes, growth, gamma = shape
    top, worst = len(slopes) - 1, 0.0
    for j in range(len(w)):
        size = abs(w[j])
        if size == 0.0:
            worst = max(worst, abs(gradient[j]) - weight[j] * slopes[0])
            continue
        pull = (-gradient[j] if w[j] > 0.0 else gradient[j]) - ridge[j] * size
        at, below = 0, 0
        if top > 0 or growth > 0.0:
            at = below = int(np.floor(size / gamma))
            near = np.rint(size / gamma)
            if abs(size / gamma - near) <= 8 * _EPS * near:
                at, below = int(near), int(near) - 1
        upper = slopes[min(at, top)] + growth * max(at - top, 0)
        lower = slopes[min(below, top)] + growth * max(below - top, 0)
        worst = max(worst, weight[j] * lower - pull, pull - weight[j] * upper)
    return worst


@inner
def _copy(of: Any, into: Any) -> None:
    """As ``into[:] = of``, which takes a fifth of a second to compile."""
    for i in range(len(of)):
        into[i] = of[i]


@inner
def _scores(Xt: Any, w: Any, eta: Any) -> None:
    """Write X w to ``eta`` (n,), with ``Xt`` = X' (p, n)."""
    for i in range(len(eta)):
        eta[i] = 0.0
    for j in range(len(w)):
        if w[j] != 0.0:
            column = Xt[j]
            for i in range(len(eta)):
                eta[i] += w[j] * column[i]


@inner
def _back(X: Any, weight: Any, u: Any, out: Any) -> float:
    """Write X' (weight u) to ``out`` (p,); returns the sum of weight u."""
    total = 0.0
    for j in range(len(out)):
        out[j] = 0.0
    for i in range(len(u)):
        row, value = X[i], weight[i] * u[i]
        total += value
        for j in range(len(out)):
            out[j] += value * row[j]
    return total


@inner
def _curved(  # noqa: PLR0912 - the plainest of loops compile soonest
    X: Any, curvature: Any, free: bool, gram: Any, means: Any
) -> None:
    """Write X' diag(curvature) X to ``gram`` and the columns' means, four rows at a time.

    Without the means, and these 0, where the intercept is not ``free``.
    """
    n, p = X.shape
    for j in range(p):
        for k in range(j + 1):
            gram[j, k] = 0.0
    for i in range(0, n - n % 4, 4):
        r0, r1, r2, r3 = X[i], X[i + 1], X[i + 2], X[i + 3]
        c0, c1, c2, c3 = curvature[i], curvature[i + 1], curvature[i + 2], curvature[i + 3]
        for j in range(p):
            line, a0, a1, a2, a3 = gram[j], c0 * r0[j], c1 * r1[j], c2 * r2[j], c3 * r3[j]
            for k in range(j + 1):
                line[k] += (a0 * r0[k] + a1 * r1[k]) + (a2 * r2[k] + a3 * r3[k])
    for i in range(n - n % 4, n):
        for j in range(p):
            for k in range(j + 1):
                gram[j, k] += curvature[i] * X[i, j] * X[i, k]
    if free:
        mass = _back(X, curvature, np.ones(n), means)
        for j in range(p):
            means[j] /= mass
            for k in range(j + 1):
                gram[j, k] -= mass * means[j] * means[k]
    for j in range(p):
        for k in range(j):
            gram[k, j] = gram[j, k]


@inner
def _intercept(
    kind: int, rows: Any, eta: Any, b: float, loss: float, u: Any, bends: Any
) -> tuple[float, float, bool]:
    """Newton steps from b to the intercept of least loss; that, its loss, and whether it is."""
    y, weight = rows
    for _ in range(20):
        pull, size, bend = 0.0, 0.0, 0.0
        for i in range(len(u)):
            pull += weight[i] * u[i]
            size += weight[i] * abs(u[i])
            bend += bends[i]
        if abs(pull) <= 1e-13 * size or b - pull / bend == b:
            return b, loss, True
        if not 0.0 < bend < np.inf or abs(pull / bend) > 10.0:
            break
        b -= pull / bend
        loss = _pass(kind, y, weight, eta, b, u, bends)
    return b, loss, False


@compiled
def newton_small(  # noqa: PLR0912, PLR0915 - one loop over much state
    kind: int,
    table: Any,
    rows: Any,
    free: bool,
    penalty: Any,
    w: Any,
    ahead: Any,
    state: Any,
    model: Any,
    rule: Any,
) -> Any:
    """Proximal Newton steps on a small dense design, all of them, then the best intercept.

    ``table`` = (X, X'), both by rows; ``rows`` = (y, weight); ``penalty`` = (weight, ridge, shape)
    of a ``Ramps``; ``w`` (p,) is moved, from ``ahead`` where the objective is less there. ``state``
    = (eta, u, gradient), (n,), (n,) and (p,), is filled with X w, loss' and X' (weight u).
    ``model`` = (gram, curvature, means) is kept from call to call, the curvature zero where there
    is none yet; ``rule`` = (intercept to begin with, distance there, distance wanted, share of the
    distance to which a model is solved, steps at most, how far curvatures may be off).

    Returns steps, intercept, mean loss, and whether the intercept is at its best.
    """
    X, Xt = table
    y, mass_of = rows
    weight, ridge, shape = penalty
    eta, u, gradient = state
    gram, curvature, means = model
    b, worst, target, share, most, stale = rule
    n, p = X.shape
    bends, new_u, new_bends = np.empty(n), np.empty(n), np.empty(n)
    there, scores = np.empty(n), np.empty(n)
    new, slope, move = np.empty(p), np.empty(p), np.empty(p)
    _scores(Xt, w, eta)
    loss = _pass(kind, y, mass_of, eta, b, u, bends)
    cost = _worth(w, weight, ridge, shape)
    if len(ahead):
        _scores(Xt, ahead, there)
        c, value = b, _pass(kind, y, mass_of, there, b, new_u, new_bends)
        if free:
            pull, bend = 0.0, 1e-300
            for i in range(n):
                pull += mass_of[i] * new_u[i]
                bend += new_bends[i]
            c = b - pull / bend
            value = _pass(kind, y, mass_of, there, c, new_u, new_bends)
        other = _worth(ahead, weight, ridge, shape)
        if value + other < loss + cost:
            _copy(ahead, w)
            eta, there, u, new_u, bends, new_bends = there, eta, new_u, u, new_bends, bends
            b, loss, cost = c, value, other
    pull = _back(X, mass_of, u, gradient)
    if len(ahead):
        worst = _farthest(w, gradient, weight, ridge, shape)
    steps = 0
    while steps < most and (worst > target or steps == 0):
        far, mass = False, 0.0
        for i in range(n):
            bends[i] = max(bends[i], 1e-6 * mass_of[i])
            far = far or abs(bends[i] - curvature[i]) > stale * curvature[i]
            mass += bends[i]
        if not np.isfinite(mass):
            break
        if far:
            _copy(bends, curvature)
            _curved(X, curvature, free, gram, means)
        mass = 0.0
        for i in range(n):
            mass += curvature[i]
        for j in range(p):
            slope[j] = gradient[j] - means[j] * pull
            new[j] = w[j]
        descend_gram(gram, slope, new, weight, ridge, shape, max(share * worst, target), 2000)
        other = _worth(new, weight, ridge, shape)
        shift, promised, moved = -pull / mass if free else 0.0, other - cost, False
        for j in range(p):
            move[j] = new[j] - w[j]
            shift -= means[j] * move[j]
            promised += gradient[j] * move[j]
            moved = moved or move[j] != 0.0
        promised += shift * pull
        _scores(Xt, move, scores)
        length = 1.0
        while length > 1e-9:
            for i in range(n):
                there[i] = eta[i] + length * scores[i]
            value = _pass(kind, y, mass_of, there, b + length * shift, new_u, new_bends)
            change = value - loss + other - cost
            if change <= 1e-4 * length * min(promised, 0.0) + 1e-14 * abs(loss):
                break
            length *= 0.5
            for j in range(p):
                new[j] = w[j] + length * move[j]
            other = _worth(new, weight, ridge, shape)
        if length <= 1e-9 or not moved:
            break
        steps += 1
        _copy(new, w)
        eta, there, u, new_u, bends, new_bends = there, eta, new_u, u, new_bends, bends
        b, loss, cost = b + length * shift, value, other
        pull = _back(X, mass_of, u, gradient)
        worst = _farthest(w, gradient, weight, ridge, shape)
    settled = not free
    if free:
        b, loss, settled = _intercept(kind, rows, eta, b, loss, u, bends)
        _back(X, mass_of, u, gradient)
    _copy(eta, state[0])
    _copy(u, state[1])
    return steps, b, loss, settled


@compiled
def descend_box(
    gram: Any, slope: Any, w: Any, lower: Any, upper: Any, tol: float, sweeps: int
) -> int:
    """The same with every coordinate held to [lower, upper] (m,), and no penalty."""
    for sweep in range(sweeps):
        worst = 0.0
        for j in range(len(w)):
            h = gram[j, j]
            if h <= 0.0:
                continue
            old = w[j]
            new = min(max(old - slope[j] / h, lower[j]), upper[j])
            if new != old:
                slope += (new - old) * gram[j]
                w[j] = new
                worst = max(worst, (new - old) * (new - old) * h)
        if worst <= tol:
            return sweep + 1
    return sweeps


@compiled
def descend_dense(
    X: Any,
    rows: Any,
    w: Any,
    weight: Any,
    ridge: Any,
    shape: Any,
    tol: float,
    sweeps: int,
) -> int:
    """X (n, m) by columns; ``rows`` = (curvature, residual, means, bends).

    ``residual`` (n,) holds the row derivatives of the loss and follows the moves, ``bends`` (m,)
    the diagonal of H.
    """
    curvature, residual, means, bends = rows
    mass, total = curvature.sum(), residual.sum()
    full = True
    for sweep in range(sweeps):
        worst = 0.0
        for j in range(len(w)):
            old = w[j]
            if not full and old == 0.0:
                continue
            column = X[:, j]
            slope = np.dot(column, residual) - means[j] * total
            new = _moved(old, slope, bends[j], j, weight, ridge, shape)
            if new != old:
                move = new - old
                for i in range(len(column)):
                    residual[i] += move * column[i] * curvature[i]
                total += move * means[j] * mass
                w[j] = new
                worst = max(worst, abs(move) * bends[j])
        if worst <= tol and full:
            return sweep + 1
        full = worst <= tol
    return sweeps + 1


@compiled
def descend_sparse(
    X: Any,
    rows: Any,
    w: Any,
    weight: Any,
    ridge: Any,
    shape: Any,
    tol: float,
    sweeps: int,
) -> int:
    """The same for X = (data, row positions, column starts), CSC without repeated entries."""
    curvature, residual, means, bends = rows
    data, positions, starts = X
    mass, total = curvature.sum(), residual.sum()
    busy = np.arange(len(w))  # its first ``count`` entries are looked at
    count, full = len(w), True
    for sweep in range(sweeps):
        worst, used = 0.0, 0
        for at in range(count):
            j = busy[at]
            old, slope = w[j], -means[j] * total
            # unsigned: no test for indices that count from the end
            begin, end = np.uint64(starts[j]), np.uint64(starts[j + 1])
            for k in range(begin, end):
                slope += data[k] * residual[np.uint64(positions[k])]
            new = _moved(old, slope, bends[j], j, weight, ridge, shape)
            if new != old:
                move = new - old
                for k in range(begin, end):
                    i = np.uint64(positions[k])
                    residual[i] += move * data[k] * curvature[i]
                total += move * means[j] * mass
                w[j] = new
                worst = max(worst, abs(move) * bends[j])
            if full and new != 0.0:
                busy[used] = j
                used += 1
        if worst <= tol and full:
            return sweep + 1
        if full:
            count, full = used, False
        elif worst <= tol:
            busy, count, full = np.arange(len(w)), len(w), True
    return sweeps + 1


@compiled
def gather(gram: Any, index: Any, sign: Any, member: Any, size: int) -> Any:
    """S'GS for ``size`` clusters of coordinates: w[index[i]] = sign[i] z[member[i]]."""
    table = np.zeros((size, size))
    for i in range(len(index)):
        line, row = gram[index[i]], table[member[i]]
        for j in range(len(index)):
            row[member[j]] += sign[i] * sign[j] * line[index[j]]
    return table


@compiled
def descend_clusters(  # noqa: PLR0912, PLR0915 - one loop over much state
    table: Any, slope: Any, z: Any, count: Any, sums: Any, into: Any, tol: float, sweeps: int
) -> int:
    """Move the sizes of clusters, one after the other, to the optimum of each; they may merge.

    The model is z'Qz/2 + ..., Q = ``table`` (k, k) with ``slope`` (k,) its gradient at ``z`` (k,),
    signed sizes; ``count`` (k,) says how many coefficients a cluster has, ``sums`` (p + 1,) holds
    the sums of OWL's weights. Where cluster i merges with another one, ``into[i]`` is that + 1,
    negative where their signs differ, and it is out of the game; so is one that becomes 0.

    A cluster of m coefficients that has ``above`` others above it pays per unit of its size for
    weights above + 1 to above + m. Going up or down it passes a neighbour, or stops at its size.

    Larsson, Klopfenstein, Massias and Wallin, "Coordinate descent for SLOPE" (2023).
    """
    size = len(z)
    order = np.argsort(-np.abs(z), kind="mergesort")
    place, above = np.empty(size, np.int64), np.empty(size, np.int64)
    total, flat = 0, 0.0
    for at in range(size):
        place[order[at]], above[at] = at, total
        total += count[order[at]]
        flat = max(flat, table[at, at])
    flat = flat * 1e-14 + 1e-300
    alive = size
    for sweep in range(sweeps):
        worst = 0.0
        for i in range(size):
            at = place[i]
            if at < 0:
                continue
            h, m, old = max(table[i, i], flat), count[i], z[i]
            wanted = old - slope[i] / h
            far, over = abs(wanted), above[at]
            x = far - (sums[over + m] - sums[over]) / h
            partner = -1
            if at > 0 and x > abs(z[order[at - 1]]):
                while at > 0 and partner < 0:
                    other = order[at - 1]
                    theirs = abs(z[other])
                    if x <= theirs:
                        break
                    under = over - count[other]
                    x = far - (sums[under + m] - sums[under]) / h
                    if x <= theirs:
                        x, partner = theirs, other
                    else:
                        order[at], place[other], above[at] = other, at, under + m
                        at, over = at - 1, under
            else:
                while at < alive - 1 and partner < 0:
                    other = order[at + 1]
                    theirs = abs(z[other])
                    if x >= theirs:
                        break
                    under = over + count[other]
                    x = far - (sums[under + m] - sums[under]) / h
                    if x >= theirs:
                        x, partner = theirs, other
                    else:
                        order[at], place[other], above[at] = other, at, over
                        at, over = at + 1, under
            order[at], place[i], above[at] = i, at, over
            new = np.copysign(x, wanted) if x > 0.0 else 0.0
            if new != old:
                line, move = table[i], new - old
                for other in range(size):
                    slope[other] += move * line[other]
                z[i] = new
                worst = max(worst, abs(move) * h / m)
            if new != 0.0 and partner < 0:
                continue
            # it leaves the game: all below it go up by one place
            rise = m if new == 0.0 else 0
            for below in range(at + 1, alive):
                order[below - 1], above[below - 1] = order[below], above[below] - rise
                place[order[below]] = below - 1
            alive -= 1
            place[i] = -1
            if new == 0.0:
                into[i] = i + 1
                continue
            above[place[partner]] = min(above[place[partner]], over)
            same = 1.0 if (new > 0.0) == (z[partner] > 0.0) else -1.0
            into[i] = np.int64(same) * (partner + 1)
            count[partner] += m
            slope[partner] += same * slope[i]
            table[partner] += same * table[i]
            for other in range(size):
                table[other, partner] += same * table[other, i]
        if worst <= tol:
            return sweep + 1
    return sweeps + 1


@inner
def _by_size(size: Any, slope: Any, order: Any) -> None:
    """Bring ``order`` to falling sizes, those that are equal to falling slopes."""
    for at in range(1, len(order)):
        j, to = order[at], at
        while to > 0:
            i = order[to - 1]
            if size[i] > size[j] or (size[i] == size[j] and slope[i] >= slope[j]):
                break
            order[to] = i
            to -= 1
        order[to] = j


@inner
def _merged(into: Any, member: Any, sign: Any, count: Any, z: Any) -> int:
    """Number the clusters that stayed in the game anew, in place; how many there are."""
    number = np.empty(len(into), np.int64)
    alive = 0
    for i in range(len(into)):
        number[i] = -1
        if into[i] == 0:
            number[i] = alive
            count[alive], z[alive] = count[i], z[i]
            alive += 1
    for k in range(len(member)):
        at = member[k]
        while at >= 0 and into[at] != 0:  # whom it merged with may have merged with a third
            to = abs(into[at]) - 1
            sign[k] *= 1.0 if into[at] > 0 else -1.0
            at = to if to != at else -1
        member[k] = number[at] if at >= 0 else -1
    return alive


@compiled
def descend_sorted(  # noqa: PLR0912 - one loop over much state
    gram: Any, slope: Any, w: Any, x: Any, sums: Any, together: float, tol: float, sweeps: int
) -> bool:
    """Clusters parted, moved and merged in turns, as ``clusters.descend_sorted``, without Newton.

    Moves ``x`` (p,), the model's slope at ``w`` being ``slope``; ``sums`` (p + 1,) as below, and
    what is pulled apart less than ``together`` is not parted. False where more than ``sweeps`` in
    one round were needed, or the rounds came no nearer.
    """
    p = len(w)
    order, size, pull, now = np.arange(p), np.empty(p), np.empty(p), slope.copy()
    value, sizes, best, idle = np.empty(p), np.empty(p), np.inf, 0
    for _ in range(200):
        for j in range(p):
            size[j] = abs(x[j])
            pull[j] = abs(now[j]) if x[j] == 0.0 else (-now[j] if x[j] > 0.0 else now[j])
        _by_size(size, pull, order)
        for k in range(p):
            sizes[k] = size[order[k]]
            value[k] = pull[order[k]] - (sums[k + 1] - sums[k])
        found, worst, used = pooled(value, sizes), 0.0, 0
        for k in range(p):
            if sizes[k] == 0.0:
                found[k] = max(found[k], 0.0)
            worst = max(worst, abs(found[k]))
            if sizes[k] > 0.0 or found[k] > together:
                used += 1
        if worst < 0.9 * best:
            best, idle = worst, 0
        else:
            idle += 1
        if worst <= tol:
            return True
        if idle >= 12:
            return False
        index, sign = order[:used].copy(), np.empty(used)
        member, count = np.empty(used, np.int64), np.zeros(used, np.int64)
        z, bent = np.empty(used), np.zeros(used)
        clusters = 0
        for k in range(used):
            j = index[k]
            if k == 0 or sizes[k] != sizes[k - 1] or found[k] < found[k - 1] - together:
                z[clusters] = sizes[k]
                clusters += 1
            at = member[k] = clusters - 1
            up = x[j] > 0.0 if x[j] != 0.0 else now[j] < 0.0
            sign[k] = 1.0 if up else -1.0
            count[at] += 1
            bent[at] += sign[k] * now[j]
        table = gather(gram, index, sign, member, clusters)
        into, room = np.zeros(clusters, np.int64), max(0.3 * tol, 0.001 * worst)
        z, count, bent = z[:clusters], count[:clusters], bent[:clusters]
        took = descend_clusters(table, bent, z, count, sums, into, room, sweeps)
        _merged(into, member, sign, count, z)
        for j in range(p):
            x[j] = 0.0
            now[j] = slope[j]
        for k in range(used):
            if member[k] >= 0:
                x[index[k]] = sign[k] * z[member[k]]
        for j in range(p):
            if x[j] != w[j]:
                move, line = x[j] - w[j], gram[j]
                for k in range(p):
                    now[k] += move * line[k]
        if took > sweeps:
            return False
    return False
