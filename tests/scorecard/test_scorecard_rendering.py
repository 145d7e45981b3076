"""What a card looks like: merged bins, the decision rule, the certificate, and safe text."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from html.parser import HTMLParser
from itertools import pairwise
from typing import ClassVar

import pytest

from milpscore import Scorecard
from milpscore.core.design import Column
from milpscore.core.writing import printable
from milpscore.scorecard.claims import certificate_sentences
from milpscore.scorecard.rendering import escape_latex

NASTY = "<script>alert('&')</script> | a_b*c* \\ {x} $5 100% #1 ~^ `q` -- \"z\" [1]\n\x1b[2J"


def bins(feature: str, *edges: float) -> list[Column]:
    ends = [-math.inf, *edges, math.inf]
    return [
        Column(f"{feature} [{low}, {high})", feature, "interval", lower=low, upper=high)
        for low, high in pairwise(ends)
    ]


@pytest.fixture
def diarem() -> Scorecard:
    """The score of Still et al. (2014), with bins that are finer than it needs."""
    columns = [
        *bins("Age", 40, 45, 50, 60),
        *bins("HbA1c", 6.5, 7, 9),
        Column("Insulin=no", "Insulin", "category", category="no"),
        Column("Insulin=yes", "Insulin", "category", category="yes"),
        *bins("Height", 150, 180),
        *bins("Weight", 80),
    ]
    points = [0, 1, 1, 2, 3, 0, 2, 4, 6, 0, 10, 0, 0, 0, 4, 4]
    blocks = ((0, 1, 2, 3, 4), (5, 6, 7, 8), (9, 10), (11, 12, 13), (14, 15))
    return Scorecard(columns, points, 11, blocks, ("Remission", "Non-remission"), title="DiaRem")


def awkward() -> Scorecard:
    columns = (
        Column("a", NASTY, "category", category=NASTY),
        Column("b", "| " + NASTY, "step", lower=2),
        Column("c", "zero"),
    )
    certificate = {"claim": NASTY, "caveat": NASTY, "formulation": NASTY, "verified": False}
    return Scorecard(columns, (1, -2, 0), "1/2", (), (NASTY, "ok"), None, certificate, title=NASTY)


def test_equal_neighbours_print_as_one_bin_in_the_form_of_diarem(diarem):
    assert str(diarem) == "\n".join(
        [
            "DiaRem",
            "",
            "Variable | Value      | Points",
            "---------+------------+-------",
            "Age      | < 40       |      0",
            "         | 40 to < 50 |      1",
            "         | 50 to < 60 |      2",
            "         | ≥ 60       |      3",
            "---------+------------+-------",
            "HbA1c    | < 6.5      |      0",
            "         | 6.5 to < 7 |      2",
            "         | 7 to < 9   |      4",
            "         | ≥ 9        |      6",
            "---------+------------+-------",
            "Insulin  | = no       |      0",
            "         | = yes      |     10",
            "---------+------------+-------",
            "Weight   | any value  |      4",
            "",
            "Decision: Non-remission if total ≥ 11, otherwise Remission.",
            "Total: the sum of the points of every line that applies.",
        ]
    )


def test_terms_count_features_that_vary_and_bins_their_merged_intervals(diarem):
    assert diarem.terms == 3, "equal points in every bin of Weight are a constant"
    assert diarem.bins == 4 + 4 + 2 + 1


def test_a_bin_for_missing_values_belongs_to_the_block():
    columns = (*bins("a", 1), Column("a missing", "a", "missing"))
    constant = Scorecard(columns, (2, 2, 2), 1, ((0, 1),))
    varying = Scorecard(columns, (2, 2, 0), 1, ((0, 1),))
    assert (constant.terms, varying.terms) == (0, 1)
    assert [row.condition for row in varying.rows[0]] == ["any value", "missing"]


def test_bins_that_do_not_touch_are_not_merged():
    columns = (
        Column("a", "f", "interval", lower=0, upper=1),
        Column("b", "f", "interval", lower=2, upper=3),
    )
    rows = Scorecard(columns, (1, 1), 1, ((0, 1),)).rows[0]
    assert [row.condition for row in rows] == ["0 to < 1", "2 to < 3"]


def test_steps_and_units_and_lone_columns_show_only_what_has_points():
    columns = (
        Column("a", "Age", "step", lower=40),
        Column("b", "Age", "step", lower=50),
        Column("c", "Age", "step", lower=60.25),
        Column("d", "Density"),
        Column("e", "Other"),
    )
    card = Scorecard(columns, (2, 0, -1, 3, 0), 1, blocks=((0, 1, 2),))
    shown = [(row.feature, row.condition, row.points_text) for rows in card.rows for row in rows]
    assert shown == [
        ("Age", "40 to < 60.25", "2"),
        ("Age", "≥ 60.25", "1"),
        ("Density", "per unit", "3"),
    ]
    assert (card.terms, card.bins) == (2, 0)
    equal_steps = Scorecard(columns, (2, 2, 2, 0, 0), 1, blocks=((0, 1, 2),))
    assert equal_steps.terms == 1, "steps add up, so equal points are no constant"


def test_points_per_unit_are_explained():
    per_unit = Scorecard((Column("a", "a"), Column("b", "b", "step", lower=1)), (2, 1), 1)
    steps_alone = Scorecard(per_unit.columns, (0, 1), 1)
    assert "line that applies; 'per unit' means points times the value." in per_unit.to_text()
    assert "per unit" not in steps_alone.to_text()


def test_a_card_without_points_says_so():
    card = Scorecard((Column("a", "a"),), (0,), 0)
    for text in (card.to_text(), card.to_markdown(), card.to_latex(), card.to_html()):
        assert "No variable has points" in text
    assert (card.terms, card.bins, card.rows) == (0, 0, ())


@pytest.mark.parametrize(
    ("threshold", "text"),
    [
        (3, "3"),
        ("3/10", "0.3"),
        (-2, "−2"),
        (10**15, "1000000000000000"),
        ("1/3", "0.333333333333"),
    ],
)
def test_the_threshold_prints_as_a_decimal(threshold, text):
    card = Scorecard((Column("a", "a"),), (1,), threshold)
    assert f"total ≥ {text}, otherwise" in card.to_text()


class TestCertificate:
    base: ClassVar = {"claim": "optimal", "verified": True, "objective": 0.5, "bound": 0.25}

    def test_no_certificate_says_nothing(self):
        assert certificate_sentences({}) == ()

    def test_the_proved_figure_is_the_bound_rounded_down(self):
        for bound, text in [
            (0.25, "0.25"),
            (0.19647399999, "0.196473"),
            (-0.19647399999, "−0.196474"),
            (0.0, "0"),
            (-0.0, "0"),
            (123456789.0, "123456000"),
            (1e-9, "1e−09"),
        ]:
            claim = certificate_sentences({**self.base, "bound": bound})[0]
            proved = re.search(r"objective below (\S+)\.$", claim)[1]
            assert proved == text
            assert Fraction(proved.replace("−", "-")) <= Fraction(bound)

    def test_the_objective_is_never_given_for_the_bound(self):
        claim, objective = certificate_sentences({**self.base, "gap": 0.0})
        assert claim == (
            "Claim: optimal (re-checked on the data); "
            "proved: no card of this kind has objective below 0.25."
        )
        assert objective == "Objective: 0.5; gap 50.00%, in all 0.25."

    @pytest.mark.parametrize("bound", [None, -math.inf, math.nan])
    def test_without_a_bound_nothing_is_proved(self, bound):
        claim = certificate_sentences({**self.base, "bound": bound})[0]
        assert claim.endswith("nothing is proved about better cards.")

    @pytest.mark.parametrize("claim", ["feasible", "none"])
    def test_a_claim_without_proof_says_so(self, claim):
        sentence = certificate_sentences({**self.base, "claim": claim})[0]
        assert "nothing is proved" in sentence
        assert "0.25" not in sentence

    def test_everything_recorded_is_said(self):
        said = "\n".join(
            certificate_sentences(
                {
                    **self.base,
                    "verified": False,
                    "loss": 0.4,
                    "penalty": 0.1,
                    "bound_source": "solver",
                    "errors": 184,
                    "n_rows": 961,
                    "formulation": "slim",
                    "caveat": "among cards whose negative totals stay 0.1 below T",
                }
            )
        )
        for part in [
            "(not re-checked on the data)",
            "(bound: solver)",
            "= loss 0.4 + penalty 0.1",
            "184 of 961",
            "Formulation: slim.",
            "The bound holds among cards whose negative totals stay 0.1 below T.",
        ]:
            assert part in said


class _Texts(HTMLParser):
    """Collects tags and the text between them."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.texts: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)

    def handle_data(self, data):
        self.texts.append(data.strip())


def test_html_keeps_foreign_text_as_text():
    reader = _Texts()
    reader.feed(awkward()._repr_html_())
    assert "script" not in reader.tags
    assert printable(NASTY) in reader.texts
    assert f"= {printable(NASTY)}" in reader.texts


def test_markdown_rows_have_three_cells_and_give_the_text_back():
    lines = [line for line in awkward().to_markdown().splitlines() if line.startswith("|")]
    cells = [re.split(r"(?<!\\)\|", line)[1:-1] for line in lines]
    assert [len(row) for row in cells] == [3] * 4
    name = re.sub(r"\\([\\`*_{}\[\]<>|#$~&])", r"\1", cells[2][0].strip())
    assert name == printable(NASTY)


def test_latex_leaves_no_special_character_bare():
    text = awkward().to_latex()
    assert all(sign.isprintable() for sign in text.replace("\n", ""))
    plain = re.sub(r"\\[\\{}$&#%_]", "", escape_latex(printable(NASTY)))
    assert not set(plain) & set('$&#%_^~<>|"`')
    assert plain.count("{") == plain.count("}")
    assert "--" not in plain
    body = text.split("Points \\\\\n\\hline\n")[1].split("\\multicolumn")[0]
    rows = [line for line in body.splitlines() if line != r"\hline"]
    assert [len(re.findall(r"(?<!\\)&", row)) for row in rows] == [2, 2]
    assert not any(row.startswith(("[", "*")) for row in rows)


def test_text_cannot_move_the_cursor_or_break_lines():
    text = awkward().to_text()
    assert "\x1b" not in text
    assert text.splitlines() == text.split("\n")
    assert len(text.split("\n")) == 2 + 5 + 1 + 4
    assert "\\n\\x1b[2J" in text


def test_wide_letters_keep_the_columns_in_line():
    card = Scorecard((Column("a", "身高"), Column("b", "height")), (1, 2), 1)
    lines = card.to_text().splitlines()
    assert lines[4].startswith("身高     |")
    assert lines[6].startswith("height   |")
