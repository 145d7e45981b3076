"""Small tables, their certificates, and risk scores solved by trying every card."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from brute import best_card, decimals, whole_numbers

from milpscore.certificate import Certificate, certify
from milpscore.constraints import AtMost, Implies, Sign
from milpscore.core.card import Card
from milpscore.core.program import Program
from milpscore.formulations import risk_score
from milpscore.losses import smooth_loss
from milpscore.solvers import solve


def table(seed: int = 0, rows: int = 40, columns: int = 4) -> tuple[pd.DataFrame, Any]:
    """Small whole numbers and noisy labels."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (rows, columns))
    score = X @ np.array([2, -2, 1, 0, 1, -1])[:columns] + rng.normal(0, 1.5, rows)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(columns)])
    return frame, np.where(score > np.median(score), "ill", "well")


X, Y = table()


def certificate_of(program: Program, solver: str, **options: Any) -> Certificate:
    result = solve(program, solver, progress=False, time_limit=60)
    return certify(program, result, **options)


def random_program(seed: int, loss: str = "logistic") -> tuple[Program, dict[str, Any]]:
    """A tiny risk score, and its optimum by trying every card."""
    rng = np.random.default_rng(seed)
    p, n = int(rng.integers(1, 4)), int(rng.integers(4, 14))
    X = rng.integers(-2, 4, (n, p))
    y = rng.choice([-1, 1], n)
    y[:2] = -1, 1
    scale = float(rng.choice([1.0, 3.0]))
    penalty = ["none", "l1", "l2", "facets"][seed % 4]
    lam = 0.0 if penalty == "none" else float(rng.choice([0.01, 0.2]))
    low, high = -rng.integers(0, 3, p), rng.integers(0, 3, p)
    sets = {"x0": [-3, -1, 2]} if rng.random() < 0.3 else {}
    weight = rng.integers(1, 4, n).astype(float)
    limit = int(rng.integers(1, p + 1))
    l0 = float(rng.choice([0.0, 0.02]))
    constraints: list[Any] = [[], [Sign("x0", "-")], [AtMost(1, ["x0", f"x{p - 1}"])], []][seed % 4]
    if p > 1 and seed % 7 == 0:
        constraints = [Implies("x0", "x1")]
    program = risk_score(
        pd.DataFrame(X, columns=[f"x{j}" for j in range(p)]),
        y,
        loss=loss,
        scale=scale,
        coef_min=low.tolist(),
        coef_max=high.tolist(),
        coef_sets=sets,
        max_terms=limit,
        l0_penalty=l0,
        penalty=penalty,  # type: ignore[arg-type]
        lam=lam,
        intercept_bounds=(-4, 4),
        sample_weight=weight,
        constraints=constraints,
    )
    values = [sets["x0"] if j == 0 and sets else range(low[j], high[j] + 1) for j in range(p)]
    base = smooth_loss(loss)

    def mean(totals: Any, y: Any, s: Any, b: Fraction) -> float:
        z = (np.array([float(t) for t in totals]) + float(b)) / scale
        return float(np.average(base.value(z, np.array(y, dtype=float)), weights=s))

    def omega(w: Any) -> float:
        size = np.abs(np.array(w, dtype=float))
        kinds: dict[str, Callable[[], float]] = {
            "none": lambda: 0.0,
            "l1": lambda: float(size.sum()),
            "l2": lambda: float(size @ size) / 2,
            "facets": lambda: float((size * (size + 1)).sum()) / 2,
        }
        return lam * kinds[penalty]() + l0 * int(np.count_nonzero(w))

    best = best_card(
        decimals(X),
        y.tolist(),
        weight.tolist(),
        loss=mean,
        values=[list(v) for v in values],
        intercepts=whole_numbers(-4, 4),
        penalty=omega,
        max_terms=limit,
        allowed=lambda w, b: not program.statement.violations(Card(np.array(w), Fraction(b))),
    )
    return program, {"objective": best.objective}
