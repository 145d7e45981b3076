"""The report: what its page says is derived, true, escaped and well formed."""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import replace
from fractions import Fraction
from importlib.resources import files as resources
from typing import Any

import numpy as np
import pandas as pd
import pytest
from brute import every_threshold
from designs import noisy
from report_pages import Page, contrast
from typer.testing import CliRunner

from milpscore.certificate import certify, verify_certificate
from milpscore.cli.app import app
from milpscore.comparison import Comparison, compare
from milpscore.core.design import Column, Design
from milpscore.core.errors import DataError, NotApplicableError
from milpscore.core.result import Claim
from milpscore.data import Binner, make_design
from milpscore.fitting import fit_card
from milpscore.scorecard import Scorecard, certified_card
from milpscore.scorecard.certified import allowed_cards, most_penalty
from milpscore.scorecard.claims import least_errors
from milpscore_show.report import report
from milpscore_show.report.figures import cuts_of
from milpscore_show.report.proof import proof_of
from milpscore_show.report.subject import subject_of

MINUS = "\u2212"
STYLE = (resources("milpscore_show.report") / "templates" / "page.css").read_text(encoding="utf-8")
QUICK: dict[str, Any] = {"time_limit": 300, "progress": False}


def solved(
    design: Design, formulation: str = "slim", **arguments: Any
) -> tuple[Any, Any, Scorecard]:
    """Program, result and card of a quick solve."""
    program, result = fit_card(design, formulation, **QUICK, **arguments)
    return program, result, certified_card(design, result, "Tiny", statement=program.statement)


def errors_of_every_card(design: Design, reach: int, terms: int) -> dict[tuple[int, ...], int]:
    """The fewest errors of each vector of points, over every threshold, by enumeration."""
    found = {}
    for w in itertools.product(range(-reach, reach + 1), repeat=design.shape[1]):
        if np.count_nonzero(w) <= terms:
            totals = [Fraction(int(t)) for t in design.X @ np.array(w)]
            answers = [np.array([t >= -b for t in totals]) for b in every_threshold(totals)]
            found[w] = min(int((each != (design.y > 0)).sum()) for each in answers)
    return found


def figure_in(sentence: str) -> int:
    """The number after "fewer than"."""
    return int(re.search(r"fewer than (\d+) of", sentence).group(1))  # type: ignore[union-attr]


class TestBound:
    @pytest.mark.parametrize("l0_penalty", [0.0, 1e-3, 0.04, 0.15])
    @pytest.mark.parametrize("seed", range(3))
    def test_no_card_beats_what_is_said(self, seed: int, l0_penalty: float) -> None:
        design = noisy(n=16, p=3, seed=seed)
        program, _, card = solved(
            design, coef_min=-2, coef_max=2, max_terms=2, l0_penalty=l0_penalty
        )
        errors = errors_of_every_card(design, 2, 2)
        proof = proof_of(subject_of(card, design, None, program=program))
        assert proof.standing == "optimal"
        claims = [s for s in (proof.headline, *proof.sentences) if "fewer than" in s]
        assert claims
        assert all(f"from {MINUS}2 to 2" in s or s.startswith("None that") for s in claims)
        own = l0_penalty * np.count_nonzero(card.points)
        for sentence in claims:
            among = [
                count
                for w, count in errors.items()
                if "no more penalty" not in sentence
                or l0_penalty * np.count_nonzero(w) <= own + 1e-12
            ]
            assert figure_in(sentence) <= min(among)
        if l0_penalty <= 1e-3:
            assert figure_in(proof.headline) == min(errors.values())

    def test_a_penalty_may_hide_a_card_with_fewer_errors(self) -> None:
        X = np.array(
            [[1, 1], [1, 1], [1, 0], [0, 1], [0, 0], [0, 0], [1, 0], [0, 1], [0, 0], [1, 1]]
        )
        y = [1, 1, 0, 0, 0, 0, 0, 0, 0, 1]
        design = make_design(X, y)
        program, result, card = solved(design, coef_min=-2, coef_max=2, l0_penalty=0.2)
        errors = errors_of_every_card(design, 2, 2)
        assert min(errors.values()) == 0
        assert card.certificate["errors"] > 0
        # taking the least penalty off the bound would leave more errors than the best card makes
        assert least_errors(result.dual_bound - 0.0, design.weight).amount > 0
        proof = proof_of(subject_of(card, design, None, program=program))
        assert "no more penalty than this one" in proof.headline
        assert figure_in(proof.headline) == card.certificate["errors"]

    def test_the_figure_is_the_bounds_and_not_the_cards(self) -> None:
        base = noisy(n=40, p=3, seed=1)
        design = make_design(base.X, np.where(np.arange(40) % 4, base.y, -base.y))
        program, _, card = solved(design, l0_penalty=0.0)
        wrong = card.certificate["errors"]
        lower = (wrong - 4.5) / 40
        weaker = replace(card, certificate={**card.certificate, "bound": lower, "claim": "gap"})
        proof = proof_of(subject_of(weaker, design, None, program=program))
        assert proof.standing == "gap"
        assert figure_in(proof.headline) == wrong - 4
        assert "that is proved, and no more" in proof.headline
        assert proof.own == f"This card makes {wrong} errors in 40 rows."
        assert any("not known" in sentence for sentence in proof.sentences)
        # the claim the file states does not matter: the bound does
        boasting = replace(weaker, certificate={**weaker.certificate, "claim": "optimal"})
        assert proof_of(subject_of(boasting, design, None)).standing == "gap"

    def test_without_a_bound_nothing_is_claimed(self) -> None:
        design = noisy(n=30, p=2, seed=2)
        program, result = fit_card(design, "slim", time_limit=0, progress=False)
        assert result.claim is Claim.FEASIBLE
        card = certified_card(design, result)
        proof = proof_of(subject_of(card, design, None, program=program))
        assert proof.standing == "feasible"
        assert "Nothing is proved about better cards" in proof.headline
        assert "fewer than" not in " ".join(proof.sentences)
        bare = replace(card, certificate={})
        assert "no certificate" in proof_of(subject_of(bare, design, None)).headline

    def test_a_smooth_loss_is_bounded_itself(self) -> None:
        design = noisy(n=30, p=2, seed=3)
        program, result, card = solved(design, "risk_score", max_terms=1, coef_min=-3, coef_max=3)
        proof = proof_of(subject_of(card, design, None, program=program))
        assert f"points from {MINUS}3 to 3, whatever the scale, has" in proof.headline
        said = float(re.search(r"below ([\d.]+\d)", proof.headline).group(1))  # type: ignore[union-attr]
        assert said <= result.dual_bound < said + 1e-5

    def test_a_card_alone_does_not_know_its_limits(self) -> None:
        design = noisy(n=30, p=2, seed=3)
        program, _, card = solved(design, max_terms=1)
        plain = replace(
            card, certificate={k: v for k, v in card.certificate.items() if k != "allowed"}
        )
        assert "'slim' allowed" in proof_of(subject_of(plain, design, None)).headline
        _, _, smooth = solved(design, "risk_score", max_terms=1)
        said = proof_of(subject_of(smooth, design, None)).sentences
        assert any("taken as it stands" in sentence for sentence in said)
        known = {**plain.certificate, "allowed": allowed_cards(program.statement)}
        told = Scorecard.from_json(replace(plain, certificate=known).to_json())
        assert "at most 1 term" in proof_of(subject_of(told, design, None)).headline


class TestLeastErrors:
    def test_equal_weights_are_rows(self) -> None:
        least = least_errors(0.25, np.full(8, 3.0))
        assert least.rows == 8
        assert least.amount == 2
        assert (
            least_errors(0.2500001, np.ones(8)).amount == 2
        )  # a bound may be too high by rounding
        assert least_errors(0.26, np.ones(8)).amount == 3
        assert least_errors(-1.0, np.ones(8)).amount == 0

    def test_unequal_weights_are_weight(self) -> None:
        weight = np.array([0.5, 0.5, 1.0, 2.0, 0.0])
        least = least_errors(0.3, weight)
        assert least.rows is None
        assert least.amount == Fraction(3, 2)  # the least sum of weights from 1.2 on
        assert "weigh less than 1.5" in least.refusal
        odd = least_errors(0.3, np.array([np.pi, np.e, np.sqrt(2)]))
        assert float(odd.amount) <= 0.3 * (np.pi + np.e + np.sqrt(2))

    def test_weighted_cards_speak_of_weight(self) -> None:
        base = noisy(n=20, p=2, seed=5)
        design = make_design(base.X, base.y, sample_weight=1 + np.arange(20) % 3)
        program, _, card = solved(design, l0_penalty=0.0)
        subject = subject_of(card, design, None, program=program)
        lost = float(design.weight[subject.wrong].sum())
        assert (
            f"weigh less than {lost:g} in all on these data: proved" in proof_of(subject).headline
        )

    def test_the_most_penalty_bounds_every_card(self) -> None:
        design = noisy(n=20, p=3, seed=5)
        program, _, _ = solved(design, coef_min=-1, coef_max=3, max_terms=2, l1_penalty=0.01)
        most = most_penalty(program.statement)
        assert most == pytest.approx(2 * 1e-3 + 6 * 0.01)
        risk, _, _ = solved(design, "risk_score", penalty="l2", lam=0.1, max_terms=1)
        assert most_penalty(risk.statement) is None


class TestTrust:
    def test_other_data_get_figures_and_no_claim(self) -> None:
        design = noisy(n=40, p=3, seed=1)
        _, _, card = solved(design)
        other = Design(design.X, -design.y, design.weight, design.columns)
        subject = subject_of(card, other, None)
        page = Page(report(card, other))
        assert not page.problems
        assert "its certificate is not claimed for them" in page.text
        assert "proved." not in page.text
        matrix = page.tables["Rows by class and answer"]
        assert int(matrix[1][2]) + int(matrix[2][1]) == subject.wrong.sum()
        assert "These are the rows the card was made from" not in page.text

    @pytest.mark.parametrize(
        ("change", "why"),
        [
            ({"loss": 0.01}, "the loss it records"),
            ({"objective": 0.9}, "the objective it records"),
            ({"bound": 0.99}, "lies above the card's own objective"),
            ({"penalty": -1.0}, "states no objective"),
            ({"penalty": float("nan")}, "states no objective"),
        ],
    )
    def test_a_certificate_that_was_changed_is_not_believed(self, change: Any, why: str) -> None:
        design = noisy(n=40, p=3, seed=1)
        _, _, card = solved(design)
        forged = replace(card, certificate={**card.certificate, **change})
        proof = proof_of(subject_of(forged, design, None))
        assert proof.standing == "contradicted"
        assert why in proof.sentences[0]
        assert "not to be believed" in Page(report(forged, design)).text

    def test_a_certificate_tells_the_cards_and_its_file_is_checked(self) -> None:
        design = noisy(n=30, p=2, seed=3)
        program, result, card = solved(design, "risk_score", max_terms=1)
        proof = certify(program, result)
        again = verify_certificate(proof, design)
        page = Page(report(proof, design, verification=again, bootstraps=0))
        assert not page.problems
        assert "at most 1 term" in page.text
        assert "was proved again for this page" in page.text
        assert "counts by the unit" in page.text
        assert "The certificate, part by part" in page.tables
        assert page.tables["Risk: the probability of 1 at each total"]
        forged = replace(proof, bound=0.0)
        assert "digest differs" in Page(report(card, design, certificate=forged, bootstraps=0)).text
        with pytest.raises(DataError, match="not that of this card"):
            report(replace(card, fitted_threshold=card.threshold + 1), design, certificate=proof)
        moved = replace(card, threshold=card.threshold + 1)  # another decision, the same card
        assert not Page(report(moved, design, certificate=proof, bootstraps=0)).problems

    def test_what_cannot_be_reported_is_refused(self) -> None:
        design = noisy(n=30, p=2, seed=3)
        _, _, card = solved(design)
        with pytest.raises(NotApplicableError, match="scorecard_"):
            report("card", design)  # type: ignore[arg-type]
        with pytest.raises(DataError, match="needs the labels"):
            report(card, design.X)
        with pytest.raises(DataError, match="labels"):
            report(card, design.X, np.where(design.y > 0, 1, 7))
        with pytest.raises(DataError, match="no row of positive weight"):
            report(card, design.X, design.y > 0, sample_weight=design.y > 0)
        with pytest.raises(DataError, match="other data"):
            report(card, design, program=solved(noisy(n=20, p=2))[0])
        with pytest.raises(NotApplicableError, match="not a comparison"):
            report(card, design, comparison=Comparison(pd.DataFrame({"a": [1]})))
        with pytest.raises(NotApplicableError, match="not a pool"):
            report(card, design, pool=_Pool(None))


class _Pool:
    """What a page asks of a pool."""

    epsilon, missing = 0.05, "complete, no card is missing"

    def __init__(self, importance: Any) -> None:
        self.importance = importance

    def __len__(self) -> int:
        return 3


class TestFigures:
    @pytest.fixture
    def subject(self) -> Any:
        base = noisy(n=60, p=3, seed=4)
        design = make_design(base.X, base.y, sample_weight=1 + np.arange(60) % 2)
        program, _, card = solved(design)
        return subject_of(card, design, None, program=program)

    def test_every_threshold_is_counted(self, subject: Any) -> None:
        cuts, y, weight = cuts_of(subject), subject.positive, subject.design.weight
        assert cuts.left_out == 0
        for k, threshold in enumerate(cuts.thresholds):
            said = subject.totals >= threshold
            assert cuts.true_positive[k] == (said & y).sum()
            assert cuts.false_positive[k] == (said & ~y).sum()
            assert cuts.false_negative[k] == (~said & y).sum()
            assert cuts.true_negative[k] == (~said & ~y).sum()
            assert cuts.error[k] == pytest.approx(weight[said != y].sum() / weight.sum())
            assert cuts.sensitivity[k] == pytest.approx(weight[said & y].sum() / weight[y].sum())
        wrong = cuts.false_positive[cuts.own] + cuts.false_negative[cuts.own]
        assert wrong == subject.wrong.sum() == subject.record["errors"]

    def test_the_page_shows_these_figures(self, subject: Any) -> None:
        page = Page(report(subject.card, subject.design, program=subject.program, bootstraps=0))
        assert not page.problems
        assert page.svgs == 4
        cuts = cuts_of(subject)
        k = cuts.own
        matrix = page.tables["Rows by class and answer"]
        shown = [int(matrix[1][1]), int(matrix[1][2]), int(matrix[2][1]), int(matrix[2][2])]
        sides = (cuts.true_positive, cuts.false_negative, cuts.false_positive, cuts.true_negative)
        assert shown == [int(side[k]) for side in sides]
        data = json.loads(page.scripts["cuts"])
        assert [each["tp"] for each in data] == cuts.true_positive.tolist()
        rows = page.tables["What other thresholds would answer"]
        assert len(rows) == len(data) + 1
        assert f"{cuts.sensitivity[k]:.1%}" in page.text
        assert "Shares and areas weigh the rows" in page.text

    def test_the_cards_threshold_is_told_as_on_the_card(self) -> None:
        """Whole totals reach 0.281 where they reach 1."""
        step = Column("a >= 1", "a", "step", lower=1)
        card = Scorecard((step,), (1,), Fraction("0.281"))
        assert "1 if total ≥ 1, otherwise 0" in card.to_text()
        page = Page(report(card, pd.DataFrame({"a": [0, 0, 1, 1, 1]}), [0, 1, 1, 1, 0]))
        own = [row[0] for row in page.tables["What other thresholds would answer"][1:]]
        assert "1 or more (the card)" in own

    def test_data_checks_are_counts(self) -> None:
        X = pd.DataFrame({"a": [0, 0, 0, 1, 1, 1], "same": 2, "b": [0, 0, 0, 0, 1, 1]})
        y = [0, 0, 1, 1, 1, 0]
        design = make_design(X, y)
        card = Scorecard(design.columns, (1, 0, 0), Fraction(1))
        found = dict(Page(report(card, X, y)).tables["Data checks"][1:])
        assert found["Rows"] == "6"
        assert found["Constant columns"] == "same"
        assert found["Rows that repeat an earlier one"] == "1"
        assert found["Different rows of values"] == "3"
        assert found["Rows with the values of a row of the other class"] == "5"
        assert found["Least errors of any rule on these columns"] == "2 (33.33%)"
        assert found["Missing values"] == "none"


class TestPage:
    def test_odd_names_stay_text(self) -> None:
        names = [
            '<script>alert("x")</script>',
            "Größe & Maß ≥ 3 'μ'",
            "x" * 300,
            "a</style>\n\x07b",
        ]
        random = np.random.default_rng(0)
        X = pd.DataFrame(random.integers(0, 3, (40, 4)), columns=names)
        y = np.where(X.iloc[:, 0] + X.iloc[:, 2] > 2, "<b>yes</b>", "no</script>")
        y[:3] = ["<b>yes</b>", "no</script>", "<b>yes</b>"]
        design = make_design(X, y, positive="<b>yes</b>")
        card = Scorecard(
            design.columns,
            (2, -1, 3, 1),
            Fraction(3),
            classes=design.classes,
            title="<i>T</i>&amp;",
        )
        html = report(card, X, y)
        page = Page(html)
        assert not page.problems
        assert "<script>alert" not in html
        assert '<script>alert("x")</script>' in page.text
        assert "<b>yes</b>" in page.text
        assert "a</style>\\n\\x07b" in page.text
        assert "</script>" not in page.scripts["cuts"]

    def test_the_same_input_gives_the_same_page(self) -> None:
        design = noisy(n=40, p=3, seed=1)
        program, _, card = solved(design)
        given: dict[str, Any] = {"program": program, "bootstraps": 2, "date": "2026-11-23"}
        pages = [report(card, design, **given) for _ in range(2)]
        assert pages[0] == pages[1]
        assert pages[0] != report(card, design, **given, random_state=1)

    def test_a_comparison_and_a_pool_are_shown(self) -> None:
        design = noisy(n=30, p=2, seed=3)
        frame = compare(design, formulations=["slim"], time_limit=300, cv=0, progress=False)
        _, _, card = solved(design)
        ranges = pd.DataFrame(
            {"share": [1.0, 0.0], "min_points": [-2, 0], "max_points": [3, 0],
             "min_reliance": [0.1, 0.0], "max_reliance": [0.2, 0.0]},
            index=["<a>", "b"],
        )  # fmt: skip
        page = Page(report(card, design, comparison=frame, pool=_Pool(ranges)))
        assert not page.problems
        assert page.svgs == 5
        rows = page.tables["Exact programs, their relaxations, and rounded cards"]
        assert [row[1] for row in rows[1:]] == [
            "exact", "LP relaxation", "randomised rounding", "nearest rounding",
        ]  # fmt: skip
        assert rows[1][3] == f"{frame.table['objective'][0]:.5f}"
        pooled = page.tables["Ranges over the pool; 1 column has points in none"]
        assert pooled[1] == ["<a>", "100%", f"{MINUS}2", "3", "0.1000", "0.2000"]
        bare = Page(report(card, design, comparison=Comparison(frame.table)))
        assert not bare.problems
        assert bare.svgs == 4

    def test_cards_without_points_and_with_bins_have_a_page(self) -> None:
        design = noisy(n=40, p=3, seed=1)
        empty = Scorecard(design.columns, (0, 0, 0), Fraction(0))
        assert not Page(report(empty, design)).problems
        X = pd.DataFrame({"age": np.r_[np.arange(39.0), np.nan], "kind": list("ab") * 20})
        y = np.r_[np.zeros(20, int), np.ones(20, int)]
        binned = Binner(4, missing="bin", encoding="onehot").fit_design(X, y)
        program, result = fit_card(binned, "slim", **QUICK, max_terms=3)
        card = certified_card(binned, result)
        page = Page(report(card, X, y, program=program, bootstraps=0))
        assert not page.problems
        assert "at most 3 columns and points" in page.text
        power = page.tables["Power over the answer, every combination of lines counted once"]
        assert [row[0] for row in power[1:]] == ["age"]
        assert "proved." in page.text
        assert dict(page.tables["Data checks"][1:])["Missing values"] == "age (1)"

    def test_data_without_an_unused_column_are_other_data(self) -> None:
        X = pd.DataFrame({"a": [0, 1, 0, 1], "unused": [0, 0, 1, 1]})
        design = make_design(X, [0, 1, 0, 1])
        card = Scorecard(
            design.columns, (1, 0), Fraction(1), fingerprint=design.fingerprint,
            certificate={"claim": "optimal", "objective": 0.0, "loss": 0.0, "penalty": 0.0,
                         "bound": 0.0},
        )  # fmt: skip
        page = Page(report(card, X[["a"]], [0, 1, 0, 1]))
        assert "lack columns the card was made from: 'unused'" in page.text
        with pytest.raises(DataError, match="'a'"):
            report(card, X[["unused"]], [0, 1, 0, 1])

    def test_text_has_enough_contrast(self) -> None:
        colours = re.findall(r"(?<!-)(?:color|fill): (#[0-9a-f]{6})", STYLE)
        assert len(colours) > 4
        for colour in colours:
            for ground in ("#ffffff", "#f1f1f1"):
                assert contrast(colour, ground) >= 4.5, (colour, ground)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("report")
    base = noisy(n=40, p=3, seed=1)
    table = pd.DataFrame(base.X, columns=["a", "b", "c"]).assign(y=(base.y > 0).astype(int))
    table.to_csv(folder / "data.csv", index=False)
    table.assign(y=1 - table["y"]).to_csv(folder / "other.csv", index=False)
    run(
        "fit", folder / "data.csv", "--target", "y", "--max-terms", 2, "--quiet",
        "--formulation", "slim", "--raw",
        "--out", folder / "card.json", "--certificate", folder / "proof.json",
    )  # fmt: skip
    return folder


class TestCommand:
    def test_a_card_with_its_certificate(self, files: Any) -> None:
        out = files / "page.html"
        run(
            "report", files / "card.json", files / "data.csv", "--target", "y", "--out", out,
            "--certificate", files / "proof.json", "--compare", "--verify",
            "--time-limit", 300, "-q", "--bootstraps", 3,
        )  # fmt: skip
        page = Page(out.read_text(encoding="utf-8"))
        assert not page.problems
        assert (
            f"No card with at most 2 terms and points from {MINUS}5 to 5 misclassifies fewer"
            in page.text
        )
        assert "was proved again for this page" in page.text
        assert page.svgs == 5

    def test_a_certificate_alone_and_other_data(self, files: Any) -> None:
        out = files / "alone.html"
        run("report", files / "proof.json", files / "data.csv", "--out", out, "--bootstraps", 0)
        assert "at most 2 terms" in Page(out.read_text(encoding="utf-8")).text
        run("report", files / "proof.json", files / "other.csv", "--out", out)
        assert "not claimed for them" in Page(out.read_text(encoding="utf-8")).text

    def test_a_comparison_writes_its_page(self, files: Any) -> None:
        out = files / "compared.html"
        run(
            "compare", files / "data.csv", "--target", "y", "--formulations", "slim", "--cv", 0,
            "--raw", "--max-terms", 1, "--time-limit", 300, "--report", out, "-q",
        )  # fmt: skip
        page = Page(out.read_text(encoding="utf-8"))
        assert not page.problems
        assert "at most 1 term" in page.text
        assert "y, scored by slim" in page.text

    @pytest.mark.parametrize(
        ("arguments", "why"),
        [
            (("card.json", "data.csv"), "add --target"),
            (("card.json", "data.csv", "--target", "y", "--compare"), "needs the program"),
            (("proof.json", "data.csv", "--certificate", "proof.json"), "leave out"),
            (("data.csv", "data.csv", "--target", "y"), "JSON"),
        ],
    )
    def test_bad_input_is_one_line(self, files: Any, arguments: Any, why: str) -> None:
        given = [str(files / a) if a.endswith(("json", "csv")) else a for a in arguments]
        answer = CliRunner().invoke(app, ["report", *given, "--out", str(files / "no.html")])
        assert answer.exit_code == 2
        assert why in answer.stderr
        assert len(answer.stderr.strip().splitlines()) == 1
        assert not (files / "no.html").exists()


def run(*arguments: object) -> None:
    """Run a command that succeeds."""
    answer = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert answer.exit_code == 0, answer.output


def test_labels_are_compared_by_their_meaning() -> None:
    columns = (Column("a", "a"), Column("b", "b"))
    card = Scorecard(columns, (2, -1), 1, classes=(0, 1), title="In use")
    X = pd.DataFrame({"a": [0, 1, 0, 1, 0, 1] * 5, "b": [0, 0, 1, 1, 1, 0] * 5})
    y = X["a"].to_numpy()
    for labels in (y, y.astype(float), y.astype(bool), y.astype(str)):
        assert "In use" in report(card, X, labels, bootstraps=0)
    with pytest.raises(DataError, match=r"labels are \['no', 'yes'\], the card answers \[0, 1\]"):
        report(card, X, np.where(y, "yes", "no"), bootstraps=0)
