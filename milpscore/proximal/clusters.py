"""OWL on a quadratic: coordinate descent over clusters of equal size, and Newton steps of these."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from milpscore.core.design import FloatArray, IntArray
from milpscore.penalties import OWL
from milpscore.proximal.policy import POLICY


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
        if len(clusters.z) and not _newton(clusters, sums):
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


def _newton(clusters: _Clusters, sums: FloatArray) -> bool:
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
