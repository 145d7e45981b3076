"""Weak against strong on several sets, HiGHS's presolve and cuts on and off."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from experiments.runner import Finding, Result, Results
from experiments.sets import OfSets, read_set
from experiments.strength.slim import slim_strength
from milpscore.core.design import Design
from milpscore.data import make_design
from milpscore.formulations.strength import STRENGTHS
from milpscore_show import plots
from milpscore_show.plots.drawing import styled
from milpscore_study import bound_curves, performance_profile, seconds_to_gap

SWITCHED = {"on": (True, True), "off": (False, False)}
"""Presolve and cuts."""

_INTEGRALS = ["primal_integral", "dual_integral", "gap_integral"]
_CLOSE = 1e-9


class SlimStrength(OfSets, frozen=True, kw_only=True):
    """The four programs of :func:`slim_program` on several sets; a run is one set, all seeds.

    Points in [0, reach] or [-reach, 0] by the sign of each column's correlation with the label, one
    thread. The seeds permute the rows and are HiGHS's random_seed. Sets of more than
    ``most_rows`` rows are sampled by strata, the same for all.

    Tables: ``summary`` (medians over the seeds, a row per set and program; ``lp_bound`` is that
    of the LP alone), ``profile`` (share of set, seed and switches with a gap of at most ``gap``, by
    time ratio), ``integrals`` (of |f - g| / max(|f|, |g|) over the seconds of the limit, f the best
    card, g the bound, 1 while one of them is missing; medians over all), ``checks`` (LP bounds
    never fall from weak to strong; no bound lies above the best card of all runs).
    """

    sets: tuple[str, ...] = (
        "bankruptcy", "haberman", "breastcancer", "mammo", "mushroom", "adult"
    )  # fmt: skip
    seeds: tuple[int, ...] = (0, 1, 2)
    time_limit: float = 1.0
    node_limit: int | None = None
    max_terms: int = 5
    l0_penalty: float = 1e-3
    reach: int = 5
    most_rows: int = 1000
    gap: float = 0.5

    name = "slim-strength"
    repetitions = 1

    def total(self, repetitions: int) -> int:
        """A run a set: the seeds stand for repetitions."""
        return len(self.here)

    def __call__(self, run: int) -> Result:
        """Every program of one set, with every switch and seed."""
        name = self.here[run]
        design = self._sample(make_design(*read_set(self.folder, name)))
        slope = (design.X - design.X.mean(axis=0)).T @ design.y
        table = slim_strength(
            design, seeds=self.seeds, time_limit=self.time_limit, node_limit=self.node_limit,
            coef_min=np.where(slope < 0, -self.reach, 0).tolist(),
            coef_max=np.where(slope < 0, 0, self.reach).tolist(),
            max_terms=self.max_terms, l0_penalty=self.l0_penalty,
        )  # fmt: skip
        results = table.attrs["results"]
        keys = zip(table["strength"], table["presolve"], table["cuts"], table["seed"], strict=True)
        reached = [seconds_to_gap(results[key], self.gap) for key in keys]
        answer: Result = {"rows": _plain(table.assign(seconds_to_gap=reached))}
        for label, switches in SWITCHED.items():
            own = {
                (name, strength, seed): result
                for (strength, presolve, cuts, seed), result in results.items()
                if (presolve, cuts) == switches
            }
            curves = bound_curves(own, horizon=self.time_limit)
            answer[label] = {"runs": _plain(curves.runs), "curves": _plain(curves.curves)}
        return answer

    def finding(self, results: Results) -> Finding:
        """Medians, the profile, the integrals, and what must hold."""
        parts = zip(self.here, results.values(), strict=True)
        runs = pd.concat([_table(found["rows"]).assign(set=name) for name, found in parts])
        runs = runs.replace({None: np.nan}).infer_objects()
        curves = {
            label: pd.concat([_table(found[label]["curves"]) for found in results.values()])
            for label in SWITCHED
        }
        integrals = [
            pd.concat([_table(found[label]["runs"]) for found in results.values()])
            .groupby("formulation", sort=False)[_INTEGRALS].median().loc[list(STRENGTHS)]
            .assign(presolve_and_cuts=label)
            for label in SWITCHED
        ]  # fmt: skip
        times = runs.pivot_table(
            index=["set", "seed", "presolve", "cuts"], columns="strength", values="seconds_to_gap",
            dropna=False,
        )[list(STRENGTHS)]  # fmt: skip
        profile = performance_profile(times.fillna(np.inf), [1, 2, 4, 8, 1e6]).T
        profile.columns = ["1x", "2x", "4x", "8x", "ever"]
        return Finding(
            runs=runs,
            summary=_summary(runs),
            profile=profile.rename_axis("program").reset_index(),
            integrals=pd.concat(integrals).rename_axis("program").reset_index(),
            checks=_checks(runs),
            times=times.fillna(np.inf).to_dict(),
            curves=curves,
            notes=self.notes(),
        )

    @styled
    def draw(self, found: Finding) -> Any:
        """The performance profile, and bounds over time without the solver's own repair."""
        figure = plt.figure(figsize=(13, 11))
        parts: Any = figure.subfigures(2, 1, height_ratios=[2, 3])
        top, bottom = parts
        plots.performance_profile(performance_profile(found.times), top.subplots())
        curves: Any = SimpleNamespace(curves=found.curves["off"], horizon=self.time_limit)
        plots.bound_curves(curves, bottom)
        return figure

    def _sample(self, design: Design) -> Design:
        """At most ``most_rows`` rows, the classes in their proportions."""
        if len(design.y) <= self.most_rows:
            return design
        rows, _ = train_test_split(
            np.arange(len(design.y)), train_size=self.most_rows, stratify=design.y, random_state=0
        )
        return replace(design, X=design.X[rows], y=design.y[rows], weight=design.weight[rows])


def _plain(table: pd.DataFrame) -> dict[Any, Any]:
    """A table as JSON can hold it: columns, None for what is not finite."""
    finite = table.astype(object).where(~table.isin([np.inf, -np.inf]) & table.notna(), None)
    return finite.to_dict("list")


def _table(columns: dict[str, Any]) -> pd.DataFrame:
    """And back; what was not finite is missing."""
    return pd.DataFrame(columns).infer_objects()


def _summary(runs: pd.DataFrame) -> pd.DataFrame:
    """One row a set and program; bounds and nodes with the switches on and off."""
    grouped = runs.groupby(["set", "strength"], sort=False)
    table = grouped[["rows", "binaries", "lp_bound"]].median()
    for label, (presolve, cuts) in SWITCHED.items():
        part = runs[(runs["presolve"] == presolve) & (runs["cuts"] == cuts)]
        medians = part.groupby(["set", "strength"])[["bound", "gap", "nodes", "seconds"]].median()
        table = table.join(medians.add_suffix(f"_{label}"))
    return table.reset_index().astype({"rows": int, "binaries": int})


def _checks(runs: pd.DataFrame) -> pd.DataFrame:
    """What must hold on every set."""
    rows = []
    for name, table in runs.groupby("set", sort=False):
        medians = table.groupby("strength")["lp_bound"].median()[list(STRENGTHS)]
        best, bound = table["objective"].min(), table["bound"].max()
        rows.append(
            {
                "set": name,
                "lp_bounds_grow": bool((np.diff(medians) >= -_CLOSE).all()),
                "best_card": best,
                "greatest_bound": bound,
                "no_bound_above": bool(bound <= best + _CLOSE),
            }
        )
    return pd.DataFrame(rows)
