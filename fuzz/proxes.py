"""Prox operators against their definition: the minimum of a strongly convex function is checked.

Where x minimises F(z) = ||z - v||^2 / 2 + step * Omega(z), every z has
F(z) >= F(x) + ||z - x||^2 / 2; a point x that is not the minimiser has a neighbour that says so.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from fuzz.cases import Random, pick
from fuzz.meaning import Array
from fuzz.running import Wrong
from milpscore.core.errors import MilpscoreError
from milpscore.penalties import PENALTIES

BLOCKS = ((0, 1, 2), (3, 4), (5,))
SIZE = 6


def _ramps(alpha: Any, gamma: float) -> Any:
    """sum_i alpha_i max(0, |w| / gamma - i), the last alpha repeated."""

    def value(w: Array) -> float:
        total = 0.0
        for size in (np.abs(w) / gamma).tolist():
            most = min(math.ceil(size), 10**6)
            total += math.fsum(
                alpha[min(i, len(alpha) - 1)] * max(0.0, size - i) for i in range(most)
            )
        return total

    return value


def _blocks(w: Array, v: Any, zero: bool) -> float:
    if zero and any(
        abs(w[list(b)].sum()) > 1e-12 * np.abs(w[list(b)]).max() + 1e-300 for b in BLOCKS
    ):
        return math.inf
    return math.fsum(
        v[b] * abs(w[b] - w[a]) for each in BLOCKS for a, b in itertools.pairwise(each)
    )


def penalty(rng: Random) -> tuple[str, dict[str, Any], Any]:
    """A penalty's name, its arguments beside lam, and Omega."""
    v = np.array([pick(rng, 0.0, 0.5, 1.0, float(rng.uniform(0, 3))) for _ in range(SIZE)])
    r = np.array([pick(rng, 0.0, 1.0, 0.5, 1e-3) for _ in range(SIZE)])
    ratio, gamma = pick(rng, 0.0, 0.3, 1.0), pick(rng, 1.0, 0.3, 7.0)
    alpha = tuple(rng.uniform(0.1, 2, int(rng.integers(1, 4))).tolist())
    eps, k = pick(rng, 0.01, 0.5, 1.0), int(rng.integers(1, SIZE + 1))
    down = np.sort(v)[::-1].copy()
    down[0] = max(down[0], 0.1)
    full = np.maximum(v, 0.1)
    groups = full[: len(BLOCKS)]
    low, high = -v, np.where(v > 2, np.inf, v)
    facets = _ramps((1.0,), gamma)

    def eye(w: Array) -> float:
        a = math.fsum((1 - r) * np.abs(w))
        return a + math.hypot(a, *(r * w).tolist())

    def hull(w: Array) -> float:
        inside = np.abs(w).max() <= 1 + 1e-12 and np.abs(w).sum() <= k + 1e-9
        return 0.0 if inside else math.inf

    size = np.abs
    known: dict[str, tuple[dict[str, Any], Any]] = {
        "l1": ({}, lambda w: size(w).sum()),
        "l2": ({}, lambda w: w @ w / 2),
        "elastic_net": (
            {"l1_ratio": ratio},
            lambda w: ratio * size(w).sum() + (1 - ratio) * (w @ w) / 2,
        ),
        "weighted_l1": ({"weights": v}, lambda w: v @ size(w)),
        "weighted_l2": ({"weights": v}, lambda w: ((v * w) ** 2).sum() / 2),
        "adaptive_l1": ({"initial": full}, lambda w: (size(w) / full).sum()),
        "naive_credibility": (
            {"expert": r, "beta": ratio},
            lambda w: (1 - ratio) * ((r * w) ** 2).sum() + 2 * ratio * ((1 - r) * size(w)).sum(),
        ),
        "facets": ({"gamma": gamma}, facets),
        "alpha_facets": ({"gamma": gamma, "alpha": alpha}, _ramps(alpha, gamma)),
        "scf": (
            {"gamma": gamma, "eps": eps},
            lambda w: (1 - eps) * facets(w) + eps * (size(w) / gamma + (w / gamma) ** 2 / 2).sum(),
        ),
        "owl": ({"weights": down}, lambda w: down @ np.sort(size(w))[::-1]),
        "group_l1": (
            {"blocks": BLOCKS, "weights": groups},
            lambda w: math.fsum(
                s * math.hypot(*w[list(b)].tolist()) for s, b in zip(groups, BLOCKS, strict=True)
            ),
        ),
        "eye": ({"expert": r}, eye),
        "weighted_tv": ({"weights": v[1:]}, lambda w: v[1:] @ size(np.diff(w))),
        "binarsity": ({"blocks": BLOCKS, "weights": v}, lambda w: _blocks(w, v, zero=True)),
        "box": (
            {"lower": low, "upper": high},
            lambda w: 0.0 if ((w >= low) & (w <= high)).all() else math.inf,
        ),
        "sparse_hull": ({"max_terms": k}, hull),
    }
    name = pick(rng, *known)
    return name, *known[name]


def _neighbours(x: Array, v: Array, rng: Random) -> list[Array]:
    """Points a little and far away: along axes, merged, at zero, towards v."""
    size = float(np.abs(v).max()) + 1e-300
    found = [np.zeros_like(x), v, (x + v) / 2]
    for far in (1e-6, 1e-3, 0.1, 1.0):
        found += [x + far * size * rng.normal(size=SIZE) for _ in range(3)]
        for j in range(SIZE):
            for sign in (-1, 1):
                moved = x.copy()
                moved[j] += sign * far * size
                found.append(moved)
                block = next(list(b) for b in BLOCKS if j in b)
                shifted = x.copy()  # within a block, its sum kept
                shifted[j] += sign * far * size
                shifted[block[0]] -= sign * far * size
                found.append(shifted)
                found.append(np.where(np.arange(SIZE) <= j, x + sign * far * size, x))
    for a, b in itertools.combinations(range(SIZE), 2):
        merged = x.copy()
        merged[a] = merged[b] = (x[a] + x[b]) / 2
        found.append(merged)
    return found


def check_prox(rng: Random) -> None:
    """One prox of a random penalty at an awkward point; Wrong where it is not a minimiser."""
    name, arguments, omega = penalty(rng)
    lam, step = pick(rng, 1e-6, 0.1, 0.7, 5.0), pick(rng, 1e-3, 1.0, 3.7)
    v = rng.normal(size=SIZE) * pick(rng, 1e-6, 0.1, 1.0, 20.0)
    v = pick(
        rng, v, v, np.rint(v), np.sort(v), np.repeat(v[:1], SIZE), v * rng.integers(0, 2, SIZE)
    )
    sets = name in ("box", "sparse_hull")
    said = f"{name}(lam={lam!r}, {arguments}) at {v.tolist()}, step {step}"
    try:
        made = PENALTIES[name](*(() if sets else (lam,)), **arguments)
        x = np.asarray(made.prox(v.copy(), step), dtype=float)
    except MilpscoreError as error:
        raise Wrong("refused prox", f"{said}: {error}") from error
    weight = step * (1.0 if sets else lam)

    def objective(z: Array) -> float:
        charge = omega(z)
        return math.inf if math.isinf(charge) else math.fsum((z - v) ** 2) / 2 + weight * charge

    if name == "binarsity":  # sums vanish up to rounding of v; made exact before F is compared
        centred = x.copy()
        for block in map(list, BLOCKS):
            centred[block] -= x[block].mean()
        x = centred if np.abs(centred - x).max() <= 1e-12 * np.abs(v).max() else x
    least = objective(x)
    size = max(float(v @ v), least if math.isfinite(least) else 0.0, 1e-300)
    if not math.isfinite(least):
        raise Wrong("a prox outside the domain", f"{said}: {x.tolist()}")
    for z in _neighbours(x, v, rng):
        if objective(z) < least + math.fsum((z - x) ** 2) / 2 - 1e-9 * size:
            raise Wrong(
                "a prox that is not a minimiser", f"{said}: {x.tolist()}, better {z.tolist()}"
            )
    if not sets and abs(float(made.value(x)) - lam * omega(x)) > 1e-9 * max(1.0, lam * omega(x)):
        raise Wrong("another penalty", f"{said}: value {made.value(x)!r}, own {lam * omega(x)!r}")
