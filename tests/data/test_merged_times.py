"""Times of a table of any size, merged within intervals, beside those of its rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from milpscore.certificate import certify
from milpscore.core.errors import DataError, FormulationError, NotApplicableError, OptionError
from milpscore.data import Binner, SurvivalDesign, make_survival_design, read_times
from milpscore.data.survival import timed
from milpscore.formulations import survival_score
from milpscore.scorecard import survival_card
from milpscore.solvers import solve

pytest.importorskip("duckdb", reason="tables beyond memory are read by DuckDB")


def frame(seed: int = 0, rows: int = 300) -> pd.DataFrame:
    """Times with ties and on cuts, two causes, late entries, weights, a category."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({
        "a": rng.integers(0, 3, rows), "b": rng.integers(0, 2, rows),
        "c": rng.choice(["u", "v"], rows),
    })  # fmt: skip
    score = 0.8 * (table["a"] > 1) - 0.7 * table["b"]
    time = np.ceil(8 * rng.exponential(np.exp(-score))) / 4
    censored = rng.choice([rng.exponential(3.0, rows), np.full(rows, 1.0)])
    ended = np.maximum(np.minimum(time, censored), 0.05)
    cause = np.where(time <= censored, rng.integers(1, 3, rows), 0)
    return table.assign(
        time=ended, cause=cause, came=np.where(rng.random(rows) < 0.4, ended * rng.random(rows), 0),
        mass=rng.integers(0, 4, rows) / 2,
    )  # fmt: skip


def by_rows(
    table: pd.DataFrame, entry: str | None = None, weights: str | None = None
) -> SurvivalDesign:
    """The design of the rows as they are."""
    seen = (table["cause"] == 1).to_numpy()
    mass = None if weights is None else table[weights]
    base = Binner().fit_design(table[["a", "b", "c"]], seen.astype(int), sample_weight=mass)
    start = np.zeros(len(table)) if entry is None else table[entry].to_numpy()
    return timed(base, seen, table["time"].to_numpy(), start)


def merged(table: Any, **options: Any) -> SurvivalDesign:
    """The design that is read in passes."""
    spare = {"came", "mass"} - {options.get("entry"), options.get("weights")}
    return read_times(
        table, "cause", "time", positive=1, drop=sorted(spare), progress=False, **options
    )


@pytest.mark.parametrize("exposure", ["time", "at_risk", "discrete"])
@pytest.mark.parametrize("own", [{}, {"entry": "came"}, {"weights": "mass"}], ids=str)
def test_exposures_and_events_of_each_pattern_are_those_of_its_rows(own, exposure):
    table = frame()
    few, all_rows = merged(table, times=5, **own), by_rows(table, **own)
    assert few.names == all_rows.names
    assert few.rows.sum() == (all_rows.weight > 0).sum()
    programs = [survival_score(d, times=5, exposure=exposure) for d in (few, all_rows)]
    bases = [program.statement.loss.base for program in programs]
    assert (bases[0].intervals.cuts == bases[1].intervals.cuts).all()
    held = [base.design.merged.X for base in bases]
    assert (held[0] == held[1]).all()
    exposed = [base.rows.exposed * base.intervals.unit for base in bases]
    assert exposed[0] == pytest.approx(exposed[1], rel=1e-12, abs=1e-12)
    assert bases[0].rows.died == pytest.approx(bases[1].rows.died, rel=1e-12)


def test_the_best_card_is_that_of_the_rows_and_the_loss_differs_by_a_constant():
    table = frame(3)
    programs = [survival_score(d, max_terms=2) for d in (merged(table), by_rows(table))]
    results = [solve(program, "tree", progress=False) for program in programs]
    assert str(results[0].claim) == str(results[1].claim) == "optimal"
    assert (results[0].coefficients == results[1].coefficients).all()
    empty = [
        p.statement.loss.mean_rows(p.statement.design.y, p.statement.design.weight)
        for p in programs
    ]
    apart = [rows.mean(np.zeros(len(rows.died))) for rows in empty]
    assert results[0].objective - results[1].objective == pytest.approx(apart[0] - apart[1])
    cards = [survival_card(p, r, at=[1.0]) for p, r in zip(programs, results, strict=True)]
    assert cards[0].hazard == pytest.approx(cards[1].hazard, rel=1e-9)
    for few, rows in zip(cards[0].observed, cards[1].observed, strict=True):
        assert (few.rows, few.events) == (rows.rows, rows.events)
        assert few.stated == pytest.approx(rows.stated)
    assert any("merged within the cuts" in text for text in cards[0].sentences)


def test_the_order_of_the_rows_changes_nothing(tmp_path):
    table = frame(1).assign(time=lambda t: t["time"] * np.pi)
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    table.to_parquet(paths[0])
    table.iloc[::-1].to_parquet(paths[1])
    first, second = (merged(path, entry="came", weights="mass") for path in paths)
    assert first.fingerprint == second.fingerprint
    assert (first.time == second.time).all()
    assert (first.entry == second.entry).all()


def test_rows_on_a_cut_and_all_events(tmp_path):
    table = frame(2)
    design = merged(table, times=[0.5, 1.0, 2.0, 50.0])
    assert design.cuts == (0.5, 1.0, 2.0, 50.0)
    intervals = survival_score(design, exposure="at_risk").statement.loss.base.intervals
    assert intervals.cuts.tolist() == list(design.cuts)
    coarser = survival_score(design, times=[1.0, 50.0]).statement.loss.base.intervals
    assert coarser.cuts.tolist() == [1.0, 50.0]
    ended = table.assign(cause=1).drop(columns=["came", "mass"])
    every = read_times(ended, "cause", "time", progress=False)
    assert every.event.all()
    assert every.rows.sum() == len(table)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"time": 0.0}, "not above 0"),
        ({"time": np.inf}, "infinite time"),
        ({"came": -1.0}, "entry below 0"),
        ({"came": 1e9}, "at or after"),
        ({"cause": 0}, "not a label"),
    ],
    ids=str,
)
def test_what_cannot_be_read_is_refused_in_words(change, says):
    name, value = next(iter(change.items()))
    table = frame()
    table.loc[table.index if name == "cause" else [5], name] = value
    with pytest.raises(DataError, match=says):
        merged(table, entry="came")


def test_other_cuts_than_those_of_the_design_are_refused():
    with pytest.raises(OptionError, match="number of cuts"):
        merged(frame(), times="events")
    design = merged(frame())
    for times in ("events", [0.123]):
        with pytest.raises(FormulationError, match="own cuts"):
            survival_score(design, times=times)
    with pytest.raises(FormulationError, match="whole number"):
        merged(frame(), times=0)
    with pytest.raises(FormulationError, match="after the last"):
        merged(frame(), times=[0.3])
    program = survival_score(design, max_terms=1)
    with pytest.raises(NotApplicableError, match="merged"):
        certify(program, solve(program, "tree", progress=False))


def test_a_cause_is_named_by_its_value():
    table = frame()
    named = make_survival_design(
        table[["a", "b", "time", "cause"]], time="time", event="cause", positive="2"
    )
    assert (named.event == (table["cause"] == 2)).all()
    with pytest.raises(DataError, match="name the value"):
        make_survival_design(table[["a", "time", "cause"]], time="time", event="cause")
