"""Weak against strong: one 0-1 statement in four programs, HiGHS's presolve and cuts on and off.

Points in [0, 5] or [-5, 0] by the sign of each column's correlation with the label, at most 5
terms, L0 penalty 1e-3, one thread. Three seeds permute the rows and are HiGHS's random_seed. Of
sets with more than 1,000 rows a stratified sample is taken, the same for all.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from _common import SETS, Report, arguments, percent, present, uci

from experiments.strength.slim import STRENGTHS, slim_strength
from milpscore.core.design import Design
from milpscore.core.result import Result
from milpscore.study import bound_curves, performance_profile, seconds_to_gap

MOST_ROWS, REACH, SEEDS = 1000, 5, (0, 1, 2)
ON, OFF = (True, True), (False, False)
GAP = 0.5
"""The gap a run must reach to count as a success in the profile."""


def main() -> None:
    settings = arguments(__doc__ or "", _options)
    limit = settings.time_limit or (0.5 if settings.quick else 1.0)
    report = Report("Weak and strong programs of the 0-1 loss", settings)
    names, absent = present(settings.sets or (SETS[:2] if settings.quick else SETS))
    report.note(*absent)
    tables = {}
    for name in names:
        design = sample(uci(name))
        low, high = signs(design)
        tables[name] = slim_strength(
            design, seeds=SEEDS, time_limit=limit, coef_min=low, coef_max=high, max_terms=5,
            l0_penalty=1e-3,
        )  # fmt: skip
        print(name, tables[name].groupby("strength", sort=False)["bound"].median().to_dict())
    report.records = [
        {"set": name, **row} for name, table in tables.items() for row in table.to_dict("records")
    ]
    report.tables = [
        (f"Medians of three seeds after at most {limit:g} s", summary(tables)),
        (f"Share of set, seed and switches with a gap <= {GAP:.0%}, by time ratio", shares(tables)),
        ("Gap integrals in seconds, medians over all", integrals(tables, limit)),
    ]
    if settings.figures is not None:
        draw(tables, limit, settings.figures)
    check(report, tables)
    report.note(
        "`lp bound` is the bound of the LP alone. HiGHS has no switch for its cuts at the root: "
        "`cuts off` forbids those at all other nodes.",
        "Gap integral: of |f - g| / max(|f|, |g|) over the seconds of the limit, f the best card, "
        "g the bound; 1 while one of them is missing.",
    )
    report.finish()


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sets", nargs="+", choices=SETS, help="only these sets")
    parser.add_argument("--figures", type=Path, help="a folder for the figures, as PNG")


def sample(design: Design | None) -> Design:
    """At most so many rows, the classes in their proportions."""
    assert design is not None
    if len(design.y) <= MOST_ROWS:
        return design
    from sklearn.model_selection import train_test_split

    rows, _ = train_test_split(
        np.arange(len(design.y)), train_size=MOST_ROWS, stratify=design.y, random_state=0
    )
    return replace(design, X=design.X[rows], y=design.y[rows], weight=design.weight[rows])


def signs(design: Design) -> tuple[list[int], list[int]]:
    """Ranges of the points: one sign a column."""
    slope = (design.X - design.X.mean(axis=0)).T @ design.y
    low, high = np.where(slope < 0, -REACH, 0), np.where(slope < 0, 0, REACH)
    return low.tolist(), high.tolist()


def summary(tables: dict[str, Any]) -> list[dict[str, Any]]:
    """One line a set and strength; bounds and nodes with the switches on and off."""
    rows = []
    for name, table in tables.items():
        for strength in STRENGTHS:
            part = table[table["strength"] == strength]
            row: dict[str, Any] = {
                "set": name,
                "program": strength,
                "rows": int(part["rows"].iloc[0]),
                "binaries": int(part["binaries"].iloc[0]),
                "lp bound": f"{part['lp_bound'].median():.5f}",
            }
            for label, (presolve, cuts) in (("on", ON), ("off", OFF)):
                of = part[(part["presolve"] == presolve) & (part["cuts"] == cuts)].median(
                    numeric_only=True
                )
                row[f"bound, {label}"] = f"{of['bound']:.5f}"
                row[f"gap, {label}"] = percent(of["gap"])
                row[f"nodes, {label}"] = int(of["nodes"])
                row[f"s, {label}"] = f"{of['seconds']:.2f}"
            rows.append(row)
    return rows


def times(tables: dict[str, Any]) -> Any:
    """Seconds to the gap that counts, one line a set, seed and switches; a failure is infinite."""
    import pandas as pd

    costs = {
        (name, seed, presolve, cuts, strength): seconds_to_gap(result, GAP)
        for name, table in tables.items()
        for (strength, presolve, cuts, seed), result in table.attrs["results"].items()
    }
    return pd.Series(costs).unstack()[list(STRENGTHS)]


def shares(tables: dict[str, Any]) -> list[dict[str, Any]]:
    """The performance profile at a few ratios."""
    profile = performance_profile(times(tables), [1, 2, 4, 8, 1e6])
    return [
        {"program": name, **{f"{tau:g}x": percent(profile.loc[tau, name]) for tau in (1, 2, 4, 8)},
         "ever": percent(profile[name].iloc[-1])}
        for name in STRENGTHS
    ]  # fmt: skip


def curves(tables: dict[str, Any], limit: float, switches: tuple[bool, bool]) -> Any:
    """Bounds over time with these switches."""
    results: dict[tuple[str, str, int], Result] = {
        (name, strength, seed): result
        for name, table in tables.items()
        for (strength, presolve, cuts, seed), result in table.attrs["results"].items()
        if (presolve, cuts) == switches
    }
    return bound_curves(results, horizon=limit)


def integrals(tables: dict[str, Any], limit: float) -> list[dict[str, Any]]:
    """Medians over sets and seeds."""
    rows = []
    for label, switches in (("on", ON), ("off", OFF)):
        runs = curves(tables, limit, switches).runs.groupby("formulation", sort=False)
        medians = runs.median(numeric_only=True)
        for strength in STRENGTHS:
            row = {"program": strength, "presolve and cuts": label}
            for kind in ("primal", "dual", "gap"):
                row[kind] = f"{medians.loc[strength, f'{kind}_integral']:.3f}"
            rows.append(row)
    return rows


def draw(tables: dict[str, Any], limit: float, folder: Path) -> None:
    """The figures, for looking."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    from milpscore import plots

    folder.mkdir(parents=True, exist_ok=True)
    figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
    plots.performance_profile(performance_profile(times(tables)), ax)
    figure.savefig(folder / "profile.png", dpi=110)
    for label, switches in (("on", ON), ("off", OFF)):
        plots.bound_curves(curves(tables, limit, switches)).savefig(
            folder / f"bounds_{label}.png", dpi=110
        )


def check(report: Report, tables: dict[str, Any]) -> None:
    """What must hold on every set: LP bounds grow, and no bound passes a card of another run."""
    for name, table in tables.items():
        medians = table.groupby("strength", sort=False)["lp_bound"].median()[list(STRENGTHS)]
        grow = bool((np.diff(medians) >= -1e-9).all())
        got = ", ".join(f"{value:.4f}" for value in medians)
        report.target(f"{name}: LP bounds", "never fall from weak to strong", got, grow)
        best, bound = table["objective"].min(), table["bound"].max()
        report.target(
            f"{name}: bounds and cards",
            "no bound above the best card of all runs",
            f"{bound:.5f} <= {best:.5f}",
            bound <= best + 1e-9,
        )


if __name__ == "__main__":
    main()
