"""What the ternary paper says its figures show, and whether ours show it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from milpscore.core.design import FloatArray, IntArray

POINTS = ("vertex", "interior")

BINARY = {"vertex": 1e-9, "interior": 1e-4}
"""Distance to 0 or 1 of a binary weight; a barrier nears its bounds only so far."""

ORDER = 1e-7
"""Two objectives closer than this count as equal: the LP's is one of floating point."""

NEARLY_ALL = 0.95
"""The share that counts as nearly all."""

MUCH = 0.1
"""A difference of error rates that counts as a huge one."""

NEAR = 0.05
"""A difference of error rates below which one method does nearly as well as another."""

PATH = 20
"""Weights drawn in Figure 4."""

MIDDLE = (5.0, 25.0)
"""Margins of the paper's last statement, in the unit of its data; ours are of like size."""

Row = tuple[str, str, str, bool]
"""Figure, statement, what was measured here, whether it holds."""


def count_binary(weights: Any, tolerance: float) -> IntArray:
    """How many of the doubled weights (last axis) are 0 or 1."""
    c = np.asarray(weights, dtype=np.float64)
    return np.asarray((np.minimum(np.abs(c), np.abs(1.0 - c)) <= tolerance).sum(axis=-1))


def shape_of(runs: pd.DataFrame, weights: FloatArray, gammas: FloatArray) -> pd.DataFrame:
    """One row a statement: figure, reproduced ("yes", "no"), statement, here.

    Weights have the shape (runs, g, 2, d), gammas (g,) ascending.
    """
    errors = runs.pivot_table(index="gamma", columns="method", values="error")
    rows = [
        *_binary_rows(weights, gammas),
        *_rounding_rows(errors),
        *_search_rows(errors),
        *_optimum_rows(runs),
    ]
    return pd.DataFrame(
        [(figure, "yes" if fine else "no", said, here) for figure, said, here, fine in rows],
        columns=["figure", "reproduced", "statement", "here"],
    )


def _binary_rows(weights: FloatArray, gammas: FloatArray) -> list[Row]:
    """Figures 3 and 4, at both points of the LP's optima, at the least and the largest margin."""
    d, rows = weights.shape[-1], []
    last, few = f"gamma = {gammas[-1]:g}", min(PATH, d)
    for k, point in enumerate(POINTS):
        ends = weights[:, [0, -1], k]
        counts = count_binary(ends, BINARY[point])
        first, end = counts.mean(axis=0)
        shares = count_binary(ends[..., :PATH], BINARY[point]).mean(axis=0) / few
        rows += [
            (
                "3",
                f"as the margin grows, nearly all weights become binary ({point})",
                f"{first:.1f} -> {end:.1f} of {d}",
                bool(end >= NEARLY_ALL * d and end > first),
            ),
            (
                "3",
                f"all are binary where it is large enough ({point})",
                f"at {last}: all in {(counts[:, 1] == d).sum()} of {len(weights)} runs",
                bool(counts[:, 1].min() == d),
            ),
            (
                "4",
                f"most of the first {PATH} lie between 0 and 1 at low margins ({point})",
                f"{1 - shares[0]:.0%} at gamma = {gammas[0]:g}",
                bool(1 - shares[0] > 0.5),
            ),
            (
                "4",
                f"nearly all of the first {PATH} are 0 or 1 at large margins ({point})",
                f"{shares[1]:.0%} at {last}",
                bool(shares[1] >= NEARLY_ALL),
            ),
        ]
    return rows


def _rounding_rows(errors: pd.DataFrame) -> list[Row]:
    """Figure 7."""
    rows = []
    for method, point in zip(("draw", "draw_of_interior"), POINTS, strict=True):
        harm = errors[method] - errors["relaxed"]
        first, end = float(harm.iloc[0]), float(harm.iloc[-1])
        rows += [
            (
                "7",
                f"at low margins randomised rounding adds a huge error ({point})",
                f"+{first:.3f} at gamma = {errors.index[0]:g}, {end:+.3f} at {errors.index[-1]:g}",
                first > MUCH and end < first,
            ),
            _u_shaped("7", f"its error is U-shaped ({point})", errors[method]),
        ]
    return rows


def _search_rows(errors: pd.DataFrame) -> list[Row]:
    """Figure 8."""
    search, relaxed = errors["local_search"], errors["relaxed"]
    first, least = float(search.iloc[0]), float(search.min())
    wins = (search <= errors["draw_of_interior"]) & (search <= errors["draw"])
    rows = [
        _u_shaped("8", "the error of local search is U-shaped", search),
        (
            "8",
            "at very low margins local search does badly",
            f"{first:.3f} at gamma = {errors.index[0]:g}, {least:.3f} at its best",
            first - least > MUCH,
        ),
        (
            "7, 8",
            "local search dominates convex rounding",
            f"its mean error is at most as large at {int(wins.sum())} of {len(wins)} margins",
            bool(wins.all()),
        ),
    ]
    middle = errors.index[(errors.index >= MIDDLE[0]) & (errors.index <= MIDDLE[1])]
    if len(middle):
        behind = float((search - relaxed)[middle].max())
        rows.append(
            (
                "8",
                f"for gamma in [{MIDDLE[0]:g}, {MIDDLE[1]:g}] it does nearly as well as the LP",
                f"at most {behind:+.3f} in the mean error",
                behind <= NEAR,
            )
        )
    return rows


def _optimum_rows(runs: pd.DataFrame) -> list[Row]:
    """What only the exact optimum can tell."""
    places = ["run", "gamma"]
    wide = runs.pivot_table(index=places, columns="method", values="objective")
    once = runs[runs["method"] == "exact"].set_index(places)
    proved = once["claim"] == "optimal"
    reached = wide["local_search"] <= wide["exact"] + ORDER
    gamma = wide.index.get_level_values("gamma")
    everywhere = np.full(len(wide), True)
    middle = (gamma >= MIDDLE[0]) & (gamma <= MIDDLE[1])
    rows = []
    for where, part in (
        ("at any margin", everywhere),
        (f"for gamma in [{MIDDLE[0]:g}, {MIDDLE[1]:g}]", middle),
    ):
        if not part.any():
            continue
        best, worse = int((reached & proved)[part].sum()), int((~reached)[part].sum())
        rows.append(
            (
                "8",
                f"local search reaches an optimal solution ({where})",
                f"a proved one in {best}, a better card is known in {worse} of {part.sum()}",
                worse == 0,
            )
        )
    within = wide["draw"] <= wide["exact"] + once["slack"] + ORDER
    rows.append(
        (
            "Prop. 1",
            "the mean loss of draws is at most the optimum + X_1/(2 gamma)",
            f"in {int(within.sum())} of {len(within)}",
            bool(within.all()),
        )
    )
    return rows


def _u_shaped(figure: str, said: str, error: pd.Series[float]) -> Row:
    """Whether the least error lies within, and both ends are higher."""
    at, least = error.idxmin(), float(error.min())
    first, end = float(error.iloc[0]), float(error.iloc[-1])
    here = f"{first:.3f}, {least:.3f} at gamma = {at:g}, {end:.3f} at the other end"
    return figure, said, here, first > least < end
