"""Every figure of the report, again by another route: scikit-learn, SciPy, pandas, rows."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from report_pages import Page
from scipy.optimize import brentq
from scipy.stats import binomtest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    brier_score_loss,
    class_likelihood_ratios,
    precision_score,
    recall_score,
    roc_auc_score,
)
from typer.testing import CliRunner

from milpscore.cli.app import app
from milpscore.constraints import Exclude
from milpscore.core.errors import DataError, OptionError
from milpscore.data import Binner, make_design
from milpscore.data.cut_points import Cutting
from milpscore.fitting import fit_card
from milpscore.formulations import risk_score
from milpscore.pools import redraws, stability
from milpscore.scorecard import RiskScale, Scorecard, certified_card
from milpscore_show.report import refits as refits_module, report
from milpscore_show.report.measures import (
    GRID,
    at_cut,
    condensed,
    in_group,
    integrated_calibration,
    measured,
    net_benefits,
    performance_of,
    recalibrated,
    smoothed,
)
from milpscore_show.report.population import in_order, quartiles
from milpscore_show.report.refits import refits_of
from milpscore_show.report.subject import subject_of
from milpscore_show.report.tables import gathered, group_edges, subgroups_tables

ROWS = 240


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    random = np.random.default_rng(7)
    frame = pd.DataFrame({
        "age": random.integers(20, 90, ROWS).astype(float),
        "sex": random.choice(["f", "m"], ROWS),
        "stage": random.integers(0, 4, ROWS),
        "site": random.choice(["north", "south", "west"], ROWS),
        "weight": 1.0 + np.arange(ROWS) % 3,
    })  # fmt: skip
    frame.loc[::17, "age"] = np.nan
    score = frame["stage"] + (frame["age"].fillna(50) - 50) / 20 + random.logistic(0, 1.5, ROWS)
    return frame.assign(ill=np.where(score > 2, "ill", "well"))


FEATURES = ["age", "sex", "stage"]


@pytest.fixture(scope="module")
def card(table: pd.DataFrame) -> Scorecard:
    """A card with risks, bins, a missing value and a number by the unit."""
    design = Binner(thresholds={"age": [40, 60]}, missing="bin", encoding="cumulative").fit_design(
        table[["age", "sex"]].assign(stage=table["stage"]), table["ill"], positive="ill"
    )
    points = {"age >= 40": 1, "age >= 60": 2, "age missing": 1, "stage >= 1": 1, "stage >= 2": 2}
    found = tuple(points.get(name, 0) for name in design.names)
    assert sum(map(bool, found)) == 5, design.names
    return Scorecard(
        design.columns, found, Fraction(3), design.blocks, design.classes,
        risk=RiskScale(scale=1.2), fingerprint=design.fingerprint,
    )  # fmt: skip


@pytest.fixture(scope="module", params=["equal", "weighted"])
def subject(request: Any, card: Scorecard, table: pd.DataFrame) -> Any:
    weight = None if request.param == "equal" else table["weight"].to_numpy()
    return subject_of(card, table, table["ill"], sample_weight=weight)


def rows_of(subject: Any) -> tuple[Any, Any, Any, Any]:
    """Class, total, risk and weight of every row, and nothing gathered."""
    risk = subject.card.risks(subject.totals)
    return subject.positive, subject.totals, risk, subject.design.weight


@pytest.fixture(scope="module")
def fitted(table: pd.DataFrame) -> Any:
    X = table[["stage"]].assign(old=(table["age"] > 55) * 1, male=(table["sex"] == "m") * 1)
    design = make_design(X, table["ill"], positive="ill")
    program, result = fit_card(design, "risk_score", max_terms=2, heuristic=True, progress=False)
    made = certified_card(design, result, statement=program.statement)
    return program, subject_of(made, design, None, program=program)


@pytest.fixture(scope="module")
def other(table: pd.DataFrame) -> pd.DataFrame:
    return table.iloc[::-1].iloc[:150].assign(stage=lambda f: (f["stage"] + 1) % 4)


class TestMeasures:
    def test_each_is_the_libraries(self, subject: Any) -> None:
        given = gathered(subject)
        found = {name: v[0] for name, v in measured(given, given.mass[None]).items()}
        y, totals, risk, weight = rows_of(subject)
        score = np.log(risk / (1 - risk))
        assert found["auc"] == pytest.approx(roc_auc_score(y, totals, sample_weight=weight))
        assert found["brier"] == pytest.approx(brier_score_loss(y, risk, sample_weight=weight))
        line = LogisticRegression(C=np.inf, tol=1e-10).fit(score[:, None], y, weight)
        assert found["slope"] == pytest.approx(line.coef_[0, 0], abs=1e-5)
        shift = brentq(lambda a: weight @ (y - 1 / (1 + np.exp(-a - score))), -9, 9, xtol=1e-12)
        assert found["intercept"] == pytest.approx(shift, abs=1e-8)
        assert found["ratio"] == pytest.approx((weight @ y) / (weight @ risk))
        answer = totals >= 3
        assert found["error"] == pytest.approx(weight @ (answer != y) / weight.sum())
        assert found["sensitivity"] == pytest.approx(recall_score(y, answer, sample_weight=weight))
        assert found["specificity"] == pytest.approx(
            recall_score(~y, ~answer, sample_weight=weight)
        )

    def test_the_ici_is_that_of_local_lines_on_the_rows(self, subject: Any) -> None:
        y, _, risk, weight = rows_of(subject)
        y, risk = (np.repeat(each, weight.astype(int)) for each in (y, risk))
        near = int(np.ceil(0.75 * len(risk) - 1e-9))
        distances = []
        for at in risk:
            reach = np.sort(np.abs(risk - at))[near - 1]
            W = np.clip(1 - (np.abs(risk - at) / reach) ** 3, 0, None) ** 3
            _, level = np.polyfit(risk - at, y, 1, w=np.sqrt(W))
            distances.append(abs(min(max(level, 0), 1) - at))
        given = gathered(subject)
        found = integrated_calibration(given.risk, given.mass[None])
        assert found[0] == pytest.approx(np.mean(distances), abs=1e-9)

    def test_the_curve_is_that_of_statsmodels(self) -> None:
        """statsmodels 0.15: lowess(y, x, frac=0.75, it=0)."""
        x = np.array([0.02, 0.05, 0.07, 0.1, 0.14, 0.18, 0.21, 0.3, 0.33, 0.4, 0.47, 0.5, 0.58,
                      0.61, 0.7, 0.75, 0.8, 0.88, 0.93, 0.97])  # fmt: skip
        y = np.array([0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 0, 1, 0, 1, 1, 1, 0, 1, 1, 1.0])
        theirs = [
            0.08472949, 0.11895572, 0.14172991, 0.17590931, 0.22160422, 0.26674522, 0.29964142,
            0.3903889, 0.4180328, 0.47941683, 0.55806099, 0.58586167, 0.62753891, 0.64308898,
            0.71083935, 0.75114889, 0.79144058, 0.85495774, 0.89529259, 0.92834332,
        ]  # fmt: skip
        assert smoothed(x, np.stack([1 - y, y])[None])[0] == pytest.approx(theirs, abs=1e-8)

    def test_many_risks_stand_together(self) -> None:
        random = np.random.default_rng(0)
        risk = np.sort(random.uniform(0.05, 0.95, 900))
        mass = random.uniform(0, 1, (1, 2, 900))
        near = integrated_calibration(risk, mass)[0]
        assert len(condensed(risk, mass)[0]) == condensed(risk, mass)[1].shape[2] == 100
        far = np.abs(smoothed(risk, mass) - risk)[0] @ mass.sum(axis=1)[0] / mass.sum()
        assert near == pytest.approx(far, abs=2e-3)

    def test_classes_that_do_not_overlap_have_no_slope(self) -> None:
        apart = np.array([[[3.0, 1, 0, 0], [0, 0, 2, 2]], [[3, 1, 1, 0], [0, 1, 2, 2]]])
        found = recalibrated(np.array([-2.0, -1, 1, 2]), apart)
        assert np.isnan(found[0]).all()
        assert np.isfinite(found[1]).all()
        alone = np.array([[[3.0, 1, 0, 0], [0, 0, 0, 0]]])
        assert np.isnan(recalibrated(np.zeros(4), alone, slope=False)[0, 0])

    def test_intervals_are_those_of_resampled_rows(self, subject: Any) -> None:
        y, totals, risk, weight = rows_of(subject)
        random, drawn = np.random.default_rng(1), []
        for _ in range(150):
            rows = random.integers(0, ROWS, ROWS)
            own: dict[str, Any] = {"sample_weight": weight[rows]}
            drawn.append([
                roc_auc_score(y[rows], totals[rows], **own),
                brier_score_loss(y[rows], risk[rows], **own),
                (weight[rows] @ y[rows]) / (weight[rows] @ risk[rows]),
            ])  # fmt: skip
        low, high = np.percentile(drawn, [2.5, 97.5], axis=0)
        found, roc = performance_of(gathered(subject), 3)
        for k, (name, room) in enumerate([("auc", 0.02), ("brier", 0.01), ("ratio", 0.06)]):
            assert found[name].lower == pytest.approx(low[k], abs=room)
            assert found[name].upper == pytest.approx(high[k], abs=room)
        assert found["slope"].lower < found["slope"].value < found["slope"].upper
        middle = np.interp(GRID, roc.false, roc.true)[1:-1]
        assert ((roc.lower[1:-1] <= middle) & (middle <= roc.upper[1:-1])).mean() > 0.95
        again = performance_of(gathered(subject), 3)[0]
        assert again["auc"] == found["auc"]
        assert performance_of(gathered(subject), 4)[0]["auc"] != found["auc"]


class TestGroups:
    def test_a_cut_answers_as_the_libraries_count(self, subject: Any) -> None:
        y, totals, _, weight = rows_of(subject)
        given, answer = gathered(subject), totals >= 4
        found = at_cut(given, given.totals >= 4)
        own: dict[str, Any] = {"sample_weight": weight}
        assert found["ppv"].value == pytest.approx(precision_score(y, answer, **own))
        assert found["npv"].value == pytest.approx(precision_score(~y, ~answer, **own))
        ratios = class_likelihood_ratios(y, answer, **own)
        assert (found["lr_positive"].value, found["lr_negative"].value) == pytest.approx(ratios)
        if not subject.weighted:
            ends = binomtest(int((answer & y).sum()), int(y.sum())).proportion_ci(method="wilson")
            shown = found["sensitivity"]
            assert (shown.lower, shown.upper) == pytest.approx(ends, abs=1e-9)
            a, b = (answer & y).sum(), (answer & ~y).sum()
            spread = 1.959964 * np.sqrt(1 / a - 1 / y.sum() + 1 / b - 1 / (~y).sum())
            ends = ratios[0] * np.exp([-spread, spread])
            ratio = found["lr_positive"]
            assert (ratio.lower, ratio.upper) == pytest.approx(ends, rel=1e-5)

    def test_a_group_is_counted(self, subject: Any) -> None:
        y, totals, _, weight = rows_of(subject)
        given, inside = gathered(subject), (totals >= 2) & (totals <= 3)
        found = in_group(given, (given.totals >= 2) & (given.totals <= 3))
        assert (found["rows"], found["events"]) == (inside.sum(), (inside & y).sum())
        assert found["observed"].value == pytest.approx(weight @ (inside & y) / (weight @ inside))
        among = [weight @ (inside & side) / (weight @ side) for side in (y, ~y)]
        assert found["lr"].value == pytest.approx(among[0] / among[1])
        nobody = at_cut(given, given.totals > 99)
        assert np.isnan(nobody["ppv"].value)
        assert np.isnan(nobody["lr_positive"].value)

    def test_groups_begin_at_half_and_twice_the_odds(self) -> None:
        low, high = group_edges(None, 0.2)
        assert low / (1 - low) == pytest.approx(0.5 * 0.25, rel=0.05)
        assert high / (1 - high) == pytest.approx(2 * 0.25, rel=0.05)
        for odd in ([0.2, 0.1], [0.0], [1.2], ["x"], []):
            with pytest.raises(OptionError, match="ascending risks"):
                group_edges(odd, 0.2)

    def test_net_benefit_is_counted_row_by_row(self, subject: Any) -> None:
        y, totals, risk, weight = rows_of(subject)
        given, whole = gathered(subject), weight.sum()
        plain = replace(given, risk=None)
        for limit in (0.05, 0.31, 0.7):
            odds, at = limit / (1 - limit), np.array([limit])
            for rows, answer in ((given, risk >= limit), (plain, totals >= 3)):
                true, false = (weight @ (answer & side) / whole for side in (y, ~y))
                assert net_benefits(rows, at)["card"][0] == pytest.approx(true - odds * false)
            everybody = weight @ y / whole - odds * (weight @ ~y / whole)
            assert net_benefits(given, at)["all"][0] == pytest.approx(everybody)


class TestRefits:
    def test_optimism_is_that_of_cards_made_on_repeated_rows(self, fitted: Any) -> None:
        program, subject = fitted
        found = refits_of(subject, 3, 5, progress=False)
        design = subject.design
        differences, alike, answers, moved, uses = [], [], [], [], []
        for seed in np.random.SeedSequence(5).spawn(3):
            random = np.random.default_rng(seed)
            rows = np.repeat(np.arange(ROWS), random.multinomial(ROWS, np.full(ROWS, 1 / ROWS)))
            sample = make_design(
                design.X[rows], design.y[rows] > 0, columns=design.columns, blocks=design.blocks
            )
            again = risk_score(sample, **program.arguments)
            _, result = fit_card(
                sample, "risk_score", heuristic=True, progress=False, **program.arguments
            )
            made = certified_card(sample, result, statement=again.statement)
            both = []
            for X, y in ((sample.X, sample.y > 0), (design.X, design.y > 0)):
                totals = made.score_design(X)
                both.append([roc_auc_score(y, totals), brier_score_loss(y, made.risks(totals))])
            differences.append(np.subtract(*both))
            answers.append((made.rule.positive(totals) == subject.card.rule.positive(
                subject.totals)).mean())  # fmt: skip
            moved.append(np.abs(made.risks(totals) - subject.card.risks(subject.totals)).mean())
            used = {feature.name for feature in made.used_features}
            alike.append(used == {feature.name for feature in subject.card.used_features})
            uses += sorted(used)
        assert (found.made, found.interrupted, found.failed) == (3, False, {})
        auc, brier = np.mean(differences, axis=0)
        assert found.optimism["auc"] == pytest.approx(auc)
        assert found.optimism["brier"] == pytest.approx(brier)
        assert (found.alike, found.answers) == pytest.approx((np.mean(alike), np.mean(answers)))
        assert found.moved == pytest.approx(np.mean(moved))
        assert found.uses == pytest.approx({name: uses.count(name) / 3 for name in set(uses)})
        asked = stability(program, bootstraps=3, random_state=5, progress=False)
        assert asked.frequency["bootstrap"].to_dict() == pytest.approx(found.uses)
        assert asked.index == pytest.approx(found.stability, nan_ok=True)

    def test_the_page_corrects_by_it(self, fitted: Any) -> None:
        program, subject = fitted
        given: dict[str, Any] = {"program": program, "bootstraps": 3, "random_state": 5}
        page = Page(report(subject.card, subject.design, **given, progress=False))
        assert not page.problems
        optimism = refits_of(subject, 3, 5, progress=False).optimism["auc"]
        own = performance_of(gathered(subject), 5)[0]["auc"]
        rows = {row[0]: row[1:] for row in page.tables["How the card does"]}
        assert rows["AUC"][1] == f"{optimism:z.3f}".replace("-", "\u2212")
        ends = (own.value, own.lower, own.upper)
        middle, low, high = (f"{each - optimism:.3f}" for each in ends)
        assert rows["AUC"][2] == f"{middle} ({low} to {high})"
        assert page.tables["Which features other cards use"][1][2].endswith("%")
        assert "Who decides is not known: 'stage' counts by the unit" in page.text

    def test_ctrl_c_keeps_what_there_is(self, fitted: Any, monkeypatch: Any) -> None:
        program, subject = fitted
        drawn = refits_module.resampled

        def interrupted(design: Any, random: Any) -> Any:
            if next(counter) == 2:
                raise KeyboardInterrupt
            return drawn(design, random)

        counter = iter(range(9))
        monkeypatch.setattr(refits_module, "resampled", interrupted)
        page = Page(report(subject.card, subject.design, program=program, progress=False))
        assert "on 2 bootstrap samples of its rows of the 100 asked for" in page.text

    def test_samples_without_a_card_are_told(self, fitted: Any, monkeypatch: Any) -> None:
        program, subject = fitted

        def refused(*arguments: Any, **more: Any) -> Any:
            raise DataError("there is no row of one class; mend that")

        monkeypatch.setattr(redraws, "fit_card", refused)
        found = refits_of(subject, 2, 0, progress=False)
        assert (found.made, found.failed) == (0, {"there is no row of one class": 2})
        page = Page(report(subject.card, subject.design, program=program, bootstraps=2))
        assert "2 samples gave no card: there is no row of one class." in page.text
        assert "Corrected (95 % interval)" not in page.tables["How the card does"][0]

    def test_why_it_is_not_done(self, fitted: Any, card: Scorecard, table: pd.DataFrame) -> None:
        _, subject = fitted
        page = Page(report(subject.card, subject.design))
        assert "not known: give its certificate" in page.text
        other = table.iloc[:99]
        assert "not known to be the rows" in Page(report(card, other, other["ill"])).text
        with pytest.raises(OptionError, match="bootstraps"):
            report(subject.card, subject.design, bootstraps=-1)


class TestPopulation:
    def test_features_by_class_are_counted(self, card: Scorecard, table: pd.DataFrame) -> None:
        page = Page(report(card, table, table["ill"]))
        ill, well = (table[table["ill"] == name] for name in ("ill", "well"))
        head, *rows = page.tables["Features with points, by outcome"]
        assert head[2:] == [f"ill (n = {len(ill)})", f"well (n = {len(well)})"]
        cells = {(row[0], row[1]): row[2:] for row in rows}
        for k, part in enumerate((ill, well)):
            ends = part["age"].dropna().quantile([0.5, 0.25, 0.75], interpolation="lower")
            assert cells["age", "median (quartiles)"][k] == "{:.4g} ({:.4g} to {:.4g})".format(
                *ends
            )
            gone = part["age"].isna()
            assert cells["", "missing"][k] == f"{gone.sum()} ({gone.mean():.1%})"
            there = part["stage"] == 2
            assert cells["", "2"][k] == f"{there.sum()} ({there.mean():.1%})"
        sex = page.tables["Features without points, by outcome"][1]
        assert sex[:3] == [
            "sex",
            "f",
            f"{(ill['sex'] == 'f').sum()} ({(ill['sex'] == 'f').mean():.1%})",
        ]
        gone = page.tables[
            "Missing values of the features with points, and how the card counts them"
        ]
        counts = [str(part["age"].isna().sum()) for part in (ill, well)]
        assert gone[1:] == [["age", *counts, "1 point"]]
        checks = dict(page.tables["Data checks"][1:])
        rarer = min(len(ill), len(well))
        assert (
            checks["Rows of the rarer class for each of 3 features looked at"] == f"{rarer / 3:.1f}"
        )
        assert (
            checks["Rows of the rarer class for each of 2 features with points"]
            == f"{rarer / 2:.1f}"
        )

    def test_a_design_tells_its_columns(self, card: Scorecard, table: pd.DataFrame) -> None:
        subject = subject_of(card, table, table["ill"])
        page = Page(report(card, subject.design))
        rows = {row[1]: row[2] for row in page.tables["Features with points, by outcome"][1:]}
        ill = table[table["ill"] == "ill"]
        older = ill["age"] >= 60
        assert rows["age >= 60"] == f"{older.sum()} ({older.mean():.1%})"
        gone = page.tables[
            "Missing values of the features with points, and how the card counts them"
        ]
        assert gone[1][1] == str(ill["age"].isna().sum())

    def test_quartiles_count_rows(self) -> None:
        random = np.random.default_rng(0)
        values, rows = random.normal(size=30), random.integers(1, 5, 30)
        ends = np.quantile(np.repeat(values, rows), [0.5, 0.25, 0.75], method="inverted_cdf")
        shown = "{:.4g} ({:.4g} to {:.4g})".format(*ends).replace("-", "\u2212")
        assert quartiles(values, rows) == shown

    def test_a_subgroup_is_the_report_on_its_rows(
        self, card: Scorecard, table: pd.DataFrame
    ) -> None:
        page = Page(report(card, table, table["ill"], by="site"))
        rows = {row[0]: row for row in page.tables["Development: by site, with 95 % intervals"]}
        assert set(rows) == {"site", "north", "south", "west"}
        part = table[table["site"] == "south"].reset_index(drop=True)
        alone = Page(report(card, part, part["ill"])).tables["How the card does"]
        figures = {row[0]: row[1] for row in alone}
        assert rows["south"][1] == str(len(part))
        assert (
            rows["south"][2]
            == f"{(part['ill'] == 'ill').sum()} ({(part['ill'] == 'ill').mean():.1%})"
        )
        for k, name in enumerate(rows["site"][3:], 3):
            assert rows["south"][k] == figures[name]

    def test_numbers_are_cut_in_thirds_and_few_levels_stay(
        self, card: Scorecard, table: pd.DataFrame
    ) -> None:
        subject = {"Development": subject_of(card, table, table["ill"])}
        rows = subgroups_tables(subject, table["age"], 0)["Development"].rows
        low, high = table["age"].dropna().quantile([1 / 3, 2 / 3], interpolation="lower")
        between = ((table["age"] > low) & (table["age"] <= high)).sum()
        assert rows[-1][0] == "missing"
        assert abs(int(rows[1][1]) - between) <= 3
        assert sum(int(row[1]) for row in rows) == ROWS
        many = pd.Series([f"level {k % 30}" for k in range(ROWS)])
        rows = subgroups_tables(subject, many, 0)["Development"].rows
        assert (len(rows), rows[-1][0]) == (12, "all others")
        alike = table["ill"].where(table["site"] == "north", "others")
        rows = subgroups_tables(subject, alike, 0)["Development"].rows
        for label, _, events, *figures in (
            row for row in rows if row[0] != "others"
        ):  # one class alone
            assert events.endswith("(100.0%)" if label == "ill" else "(0.0%)")
            assert figures[0] == figures[1] == "\u2013"
            shown = figures[-2] if label == "ill" else figures[-1]
            assert "to" in shown
            assert "\u2013" in figures[-2:]
        with pytest.raises(DataError, match="no column 'sight'"):
            report(card, table, table["ill"], by="sight")
        with pytest.raises(DataError, match="2 values for 240 rows"):
            report(card, table, table["ill"], by=[1, 2])
        design = subject_of(card, table, table["ill"]).design
        with pytest.raises(DataError, match="no table"):
            report(card, design, by="site")


class TestWholePage:
    def test_validation_stands_beside(
        self, card: Scorecard, table: pd.DataFrame, other: pd.DataFrame
    ) -> None:
        html = report(
            card, table, table["ill"], validation=(other, other["ill"]), by="site",
            risk_groups=(0.1, 0.5), population="patients", author="A. Author", date="2026-01-31",
            outcome="<illness>", title="Who is ill?",
        )  # fmt: skip
        page = Page(html)
        assert not page.problems
        figures = {row[0]: row for row in page.tables["How the card does"]}
        assert figures["Measure"][1:] == [
            "Development (95 % interval)", "Validation (95 % interval)",
        ]  # fmt: skip
        area = roc_auc_score(other["ill"] == "ill", card.score(other))
        assert figures["AUC"][2].startswith(f"{area:.3f} (")
        groups = page.tables["Groups, with 95 % intervals; an event is a row of <illness>"]
        assert groups[-1][0] == "Validation: risk \u2265 50%"
        risk = card.risks(card.score(other))
        assert groups[-1][2] == f"{(risk >= 0.5).sum()} ({(risk >= 0.5).mean():.1%})"
        assert "Validation: by site, with 95 % intervals" in page.tables
        assert "Validation: observed share by total" in page.tables
        for words in ("patients", "A. Author", "2026-01-31", "Who is ill?", "<illness>"):
            assert words in page.text
        assert page.text.count("Not for clinical use before external validation.") == 2
        assert "Validation data" in page.text
        triple = (other, other["ill"], other["weight"])
        weighted = Page(report(card, table, table["ill"], validation=triple))
        assert "weigh the rows of: Validation." in weighted.text
        area = roc_auc_score(
            other["ill"] == "ill", card.score(other), sample_weight=other["weight"]
        )
        assert weighted.tables["How the card does"][1][2].startswith(f"{area:.3f} (")
        with pytest.raises(DataError, match="or \\(X, y, sample_weight\\)"):
            report(card, table, table["ill"], validation=(other,))
        with pytest.raises(DataError, match="the rows reported on"):
            report(card, table, table["ill"], validation=(table, table["ill"]))

    def test_items_are_ticked_where_the_page_answers(
        self, card: Scorecard, table: pd.DataFrame, other: pd.DataFrame
    ) -> None:
        bare = Page(report(card, table, table["ill"])).text
        stated = Page(
            report(card, table, table["ill"], validation=(other, other["ill"]), outcome="illness",
                   population="patients")
        ).text  # fmt: skip
        apart = Page(report(card, table, table["ill"], by="sex")).text
        for text, answered in ((bare, 10), (stated, 16), (apart, 12)):
            assert text.count("\u2013 answered:") == answered
            assert text.count("\u2013 not on this page") == 44 - answered

    def test_each_sample_is_cut_anew_where_the_rule_is_known(self, table: pd.DataFrame) -> None:
        frame = table[["age", "sex"]].assign(bmi=np.random.default_rng(1).normal(25, 4, ROWS))
        weight = table["weight"]

        def subject(cutting: Cutting, **more: Any) -> Any:
            design = cutting.design(frame, table["ill"], sample_weight=weight, positive="ill")
            program, result = fit_card(
                design, max_terms=3, heuristic=True, progress=False, time_limit=math.inf, **more
            )
            card = certified_card(design, result, statement=program.statement)
            return subject_of(card, frame, table["ill"], sample_weight=weight, program=program)

        for encoding in ("onehot", "cumulative"):
            own = subject(Cutting(encoding=encoding))
            again = refits_module.cutting_of(own)
            assert again == Cutting(encoding=encoding)
            found = refits_of(own, 3, 0, progress=False)
            assert (found.made, found.anew) == (3, True)
            work = refits_module._Work(own, redraws.CardsAgain.of(own.program, 0), again)
            sample = work.cut(np.random.default_rng(3))
            assert sample.names != own.design.names
            drawn = np.random.default_rng(3).multinomial(ROWS, np.full(ROWS, 1 / ROWS))
            assert sample.weight.sum() == pytest.approx((drawn * weight).sum())
        fixed = Cutting(thresholds={"age": [41.5], "bmi": [20.25]})
        assert refits_module.cutting_of(subject(fixed)) is None
        rule = {"constraints": [Exclude("bmi")]}
        assert refits_module.cutting_of(subject(Cutting(), **rule)) is None
        assert not refits_of(subject(fixed), 1, 0, progress=False).anew
        bare = subject(Cutting())
        assert refits_module.cutting_of(replace(bare, raw=None)) is None

    def test_levels_stand_in_their_order(self) -> None:
        for levels in (
            ["I", "II", "III", "IV", "IX", "X"], ["low", "medium", "high"], ["1", "9", "10"],
            ["never", "former", "current"], ["< 30", "30 to < 60", "\u2265 60"], ["a", "b", "C"],
            ["none", "mild", "severe"], ["grade 2", "grade 10"], ["NYHA I", "NYHA II", "NYHA IV"],
            ["<40", "40-49", "50+"], ["\u221210", "\u22123", "2"], ["-0.5", "1.5"],
        ):  # fmt: skip
            assert in_order(levels[::-1], None) == levels
        own = pd.CategoricalDtype(["c", "a", "b"], ordered=True)
        assert in_order(["a", "b", "c"], own) == ["c", "a", "b"]

    def test_pooled_totals_are_said(self, table: pd.DataFrame) -> None:
        design = make_design(table[["age", "stage"]].fillna(0), table["ill"], positive="ill")
        card = Scorecard(design.columns, (1, 2), 60, classes=("well", "ill"), step=1,
                         fingerprint=design.fingerprint)  # fmt: skip
        page = Page(report(card, design))
        totals = len(np.unique(card.score_design(design.X)))
        assert f"{totals} totals pooled into" in page.text
        assert page.text.count("points of 12 rows or more, each at its mean total") == 1

    def test_missing_values_of_no_points_share_a_line(self, table: pd.DataFrame) -> None:
        whole = np.arange(ROWS)[:, None] % [7, 8, 9] > 1
        holes = table[FEATURES].where(whole)
        binner = Binner(missing="bin").fit(holes)
        columns = binner.columns_
        points = tuple(0 if c.kind == "missing" else 1 + k % 3 for k, c in enumerate(columns))
        card = Scorecard(columns, points, 4, binner.blocks_, ("well", "ill"))
        gone = [row for rows in card.rows for row in rows if row.kind == "missing"]
        assert [(row.feature, row.points) for row in gone] == [("any variable", 0)]
        assert card.to_text().count("missing  ") == 1
        page = Page(report(card, holes, table["ill"]))
        boxes = json.loads(page.scripts["boxes"])["features"]
        assert [[line["points"] for line in lines] for lines in boxes] == [
            [row.points for row in rows] for rows in card.rows
        ]
        heavy = replace(card, points=tuple(
            2 if c.kind == "missing" and c.feature == "age" else w
            for c, w in zip(columns, points, strict=True)
        ))  # fmt: skip
        gone = [(row.feature, row.points) for rows in heavy.rows for row in rows
                if row.kind == "missing"]  # fmt: skip
        assert gone == [("age", 2), ("sex or stage", 0)]
        again = json.loads(heavy.to_json())["lines"]  # what a machine reads stays by feature
        assert sum(line["condition"] == "missing" for line in again) == 3

    def test_boxes_hold_the_printed_lines(self, card: Scorecard, table: pd.DataFrame) -> None:
        boxes = json.loads(Page(report(card, table, table["ill"])).scripts["boxes"])
        assert [[line["points"] for line in lines] for lines in boxes["features"]] == [
            [row.points for row in rows] for rows in card.rows
        ]
        assert boxes["cut"] == 3
        assert boxes["risk"] == [3.0, 1.2]
        assert boxes["answers"] == ["well", "ill"]

    def test_every_line_of_a_legend_has_a_sample(
        self, card: Scorecard, table: pd.DataFrame
    ) -> None:
        html = report(card, table, table["ill"])
        assert html.count('<ul class="legend">') == html.count("<figure>") == 5
        for figure in html.split("<figure>")[1:]:
            colours = {"#0072b2": "blue", "#d55e00": "orange", "#009e73": "green"}
            drawn, _, legend = figure.partition("<figcaption>")
            for colour, name in colours.items():
                assert (colour in drawn.lower()) <= (name in legend)

    def test_a_card_without_risks_has_no_calibration(self, table: pd.DataFrame) -> None:
        design = make_design(table[["stage"]], table["ill"], positive="ill")
        card = Scorecard(design.columns, (1,), Fraction(2), classes=design.classes)
        page = Page(report(card, design))
        assert not page.problems
        assert [row[0] for row in page.tables["How the card does"]] == [
            "Measure", "AUC", "Error", "Sensitivity", "Specificity",
        ]  # fmt: skip
        groups = page.tables["Groups, with 95 % intervals; an event is a row of ill"]
        assert [row[0] for row in groups[1:]] == ["answered well", "answered ill"]


def test_the_command_takes_all_of_it(tmp_path: Any, table: pd.DataFrame) -> None:
    for name, part in (("data", table[:160]), ("other", table[160:])):
        part.drop(columns="weight").to_csv(tmp_path / f"{name}.csv", index=False)
    files = {name: str(tmp_path / name) for name in ("data.csv", "other.csv", "card.json")}

    def run(*arguments: Any) -> Any:
        return CliRunner().invoke(app, [str(each) for each in arguments])

    proof, out = tmp_path / "proof.json", tmp_path / "page.html"
    fitted = run(
        "fit", files["data.csv"], "--target", "ill", "--drop", "site", "--heuristic", "--positive",
        "ill", "--out", files["card.json"], "--certificate", proof, "--max-terms", 2, "-q",
    )  # fmt: skip
    assert fitted.exit_code == 0, fitted.output
    made = run(
        "report", files["card.json"], files["data.csv"], "--certificate", proof, "--validation",
        files["other.csv"], "--by", "site", "--target", "ill", "--bootstraps", 2, "--risk-groups",
        "20%,0.6", "--pool", 0, "--population", "patients", "--outcome", "illness", "--out", out,
        "-q",
    )  # fmt: skip
    assert made.exit_code == 0, made.output
    page = Page(out.read_text(encoding="utf-8"))
    assert not page.problems
    assert "Validation: by site, with 95 % intervals" in page.tables
    assert "Used by the 2 cards made again" in page.tables["Which features other cards use"][0]
    assert any(head.startswith("Ranges over the pool") for head in page.tables)
    assert "20% to < 60%" in page.text
    odd = run("report", files["card.json"], files["data.csv"], "--risk-groups", "a", "--target",
              "ill")  # fmt: skip
    assert (odd.exit_code, "--risk-groups" in odd.stderr) == (2, True)
