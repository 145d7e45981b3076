"""The evidence of every engine: accepted at the optimum, never above it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from milpscore.certificate import certify, verify_certificate
from milpscore.certificate.cards import exact_rows, plain_cards
from milpscore.certificate.leaves import grow_tree
from milpscore.constraints import AtMost, Implies, MaxErrors, MaxFPR, Monotone, Sign, TotalRange
from milpscore.core.errors import NotApplicableError
from milpscore.core.program import Program
from milpscore.data import Binner
from milpscore.formulations import facets_hinge, fused_lasso, hinge, risk_score, slim
from milpscore.solvers import solve
from milpscore_check import check, proved
from milpscore_check.__main__ import main
from milpscore_check.cards import Cards
from milpscore_check.proof import CELLS, prove
from milpscore_check.values import Refused, number
from tests.certificate_cases import X, Y, certificate_of


def proves(statement: Any, evidence: Any, goal: float) -> bool:
    cards = Cards(plain_cards(statement), statement.shape[1])
    return prove(exact_rows(statement.design), cards, evidence, Fraction(goal))[0]


def program_of(kind: str, seed: int) -> Program:
    """A tiny program of a formulation, its arguments drawn."""
    rng = np.random.default_rng(seed)
    p, n = int(rng.integers(1, 4)), int(rng.integers(5, 16))
    X = pd.DataFrame(rng.integers(-2, 4, (n, p)), columns=[f"x{j}" for j in range(p)])
    if seed % 3 == 0:
        X = X / 4
    y = rng.choice([-1, 1], n)
    y[:2] = -1, 1
    given: dict[str, Any] = {"sample_weight": rng.integers(1, 4, n).astype(float)}
    limit = int(rng.integers(1, p + 1))
    rules: list[Any] = [[], [Sign("x0", "-")], [AtMost(1, ["x0", f"x{p - 1}"])], []][seed % 4]
    if p > 1 and seed % 5 == 0:
        rules = [Implies("x0", "x1")]
    if kind == "fused_lasso":
        design = Binner(n_bins=3, encoding="onehot").fit_design(X, y)
        rules = [Monotone("x0")] if seed % 3 == 0 else []
        weights = [None, "data"][seed % 2]
        return fused_lasso(
            design, coef_min=-2, coef_max=2, lam=0.03, weights=weights, constraints=rules
        )
    given |= {"coef_min": -2, "coef_max": 2, "max_terms": limit, "constraints": rules}
    if kind == "slim":
        return slim(X, y, l1_penalty=[0.0, 0.01][seed % 2], **given)
    if kind == "facets_hinge":
        return facets_hinge(X, y, lam=0.05, gamma=[1.0, 0.5][seed % 2], **given)
    intercept = ["integer", "zero", "real"][seed % 3]
    return hinge(X, y, margin=[1.0, 0.3][seed % 2], intercept=intercept, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(24))
@pytest.mark.parametrize("kind", ["slim", "hinge", "facets_hinge", "fused_lasso"])
def test_leaves_prove_the_optimum_and_nothing_above_it(kind: str, seed: int) -> None:
    program = program_of(kind, seed)
    statement, result = program.statement, solve(program, progress=False, time_limit=300)
    optimum = result.objective
    if optimum > 1e-6:
        evidence = grow_tree(statement, optimum - 1e-8, 30, 10**7)
        assert proves(statement, evidence, optimum - 1e-8)
        assert not proves(statement, evidence, optimum + 1e-8)
    above = optimum + 1e-8
    try:
        evidence = grow_tree(statement, above, 30, 10**7)
    except NotApplicableError as error:
        assert "single card" in str(error)  # noqa: PT017
    else:
        assert not proves(statement, evidence, above)


@pytest.mark.parametrize("kind", [hinge, facets_hinge])
def test_cells_of_two_valued_columns_prove_hinges_too(kind: Any) -> None:
    """Where a hinge is far below its best: a leaf for all choices of columns, not one a card."""
    rng = np.random.default_rng(4)
    X = (rng.random((80, 7)) < 0.4).astype(float)
    y = X @ [2.0, -2.0, 1.0, 0.0, 1.0, -1.0, 0.0] + rng.logistic(size=80) > 0.3
    program = kind(X, y.astype(int), max_terms=2, coef_min=-2, coef_max=2)
    optimum = solve(program, progress=False).objective
    evidence = grow_tree(program.statement, 0.6 * optimum, 30, 10**7)
    assert CELLS in evidence["tree"]
    assert proves(program.statement, evidence, 0.6 * optimum)
    for goal in (optimum - 1e-8, optimum + 1e-8):
        forged = {**evidence, "tree": [CELLS]}
        assert not proves(program.statement, forged, goal)
    assert proves(
        program.statement, grow_tree(program.statement, optimum - 1e-8, 30, 10**7), optimum - 1e-8
    )


@pytest.mark.parametrize("kind", ["hinge", "facets_hinge", "fused_lasso"])
@pytest.mark.parametrize("seed", range(6))
def test_no_multipliers_prove_too_much(kind: str, seed: int) -> None:
    """Whatever a forger writes beside a point: what is accepted holds, the rest is refused."""
    statement = program_of(kind, seed).statement
    best = solve(program_of(kind, seed), progress=False, time_limit=300).objective
    rng = np.random.default_rng(seed)
    n, p = statement.shape
    for _ in range(30):
        share = rng.choice([-0.5, 0.0, 0.3, 0.9, 1.0, 1.2], n).tolist()
        point = [list(range(p)), rng.normal(0, 1, p).tolist(), float(rng.normal()), 1.0]
        point += [[list(range(n)), share], [[0], [float(rng.choice([-2.0, 0.0, 1.0]))]]]
        evidence = {"points": [point], "tree": [0]}
        try:
            assert not proves(statement, evidence, best + 1e-9)
        except Refused as error:
            assert "multiplier" in str(error)  # noqa: PT017


@pytest.mark.parametrize("kind", ["slim", "hinge", "facets_hinge"])
def test_every_engine_writes_what_the_checker_accepts(kind: str, tmp_path: Any) -> None:
    program = {"slim": slim, "hinge": hinge, "facets_hinge": facets_hinge}[kind](
        X, Y, max_terms=3, positive="ill", sample_weight=np.arange(len(Y)) % 3 + 1.0
    )
    made = certificate_of(program, "auto", source={"target": "y", "weights_column": "s"})
    assert made.claim == "optimal"
    X.assign(y=Y, s=np.arange(len(Y)) % 3 + 1).to_csv(tmp_path / "data.csv", index=False)
    found = check(tmp_path / "data.csv", made.to_json(tmp_path / "made.json"))
    assert proved(found), found
    assert verify_certificate(made, X, Y, sample_weight=np.arange(len(Y)) % 3 + 1.0).proved


@pytest.mark.parametrize("scale", ["auto", (0.5, 8.0), 2.5])
def test_a_free_scale_is_proved(scale: Any) -> None:
    program = risk_score(X, Y, scale=scale, max_terms=2, coef_min=-2, coef_max=2)
    made = certificate_of(program, "tree")
    assert made.evidence["kind"] == "leaves", made.evidence
    found = verify_certificate(made, X, Y)
    assert found.proved, found.to_text()
    above = made.objective + 1e-9
    assert not proves(program.statement, made.evidence, above)


def test_weights_of_many_digits_are_not_counted() -> None:
    """A row is counted as often as it has shares of the weight: up to ten million of them."""
    weight = [1e4, 1e4, 1e-4, 1e4]
    program = slim(np.array([[0.0], [0.0], [1.0], [1.0]]), [0, 1, 1, 0], sample_weight=weight)
    made = certify(program, solve(program, progress=False))
    assert made.claim == "optimal"
    assert made.evidence["kind"] == "none"
    assert "weights of too many digits" in made.evidence["reason"]


def test_rules_are_proved_and_checked(tmp_path: Any) -> None:
    rules = [
        MaxErrors("x0 >= 1", share=0.4),
        TotalRange(-6, 6),
        Implies("x1", "x0"),
        Sign("x3", "positive"),
    ]
    program = slim(X, Y, max_terms=3, positive="ill", constraints=rules)
    made = certificate_of(program, "auto", source={"target": "y"})
    X.assign(y=Y).to_csv(tmp_path / "data.csv", index=False)
    found = check(tmp_path / "data.csv", made.to_json(tmp_path / "made.json"))
    assert proved(found), found
    for k, rule in enumerate(made.cards["rules"]):
        tighter = {
            "errors": {"share": "0", "count": None},
            "totals": {"lower": "0", "upper": "0"},
            "used": {"lower": 9},
        }[rule["kind"]]
        other = [*made.cards["rules"]]
        other[k] = {**rule, **tighter}
        forged = replace(made, cards={**made.cards, "rules": other}).sealed()
        found = check(tmp_path / "data.csv", forged.to_json(tmp_path / "forged.json"))
        name, _, sentence = found[-1]
        assert name == "card"
        assert rule["name"] in sentence


@pytest.mark.parametrize(("share", "source"), [(0.0, "solver"), (0.5, "evidence")])
@pytest.mark.parametrize("kind", ["slim", "risk_score"])
def test_a_bound_within_limits_on_errors_is_called_what_stands_behind_it(
    kind: str, share: float, source: str, tmp_path: Any
) -> None:
    """Leaves where the limit costs nothing; else the engine's word, in certificate and result."""
    build = {"slim": slim, "risk_score": risk_score}[kind]
    program = build(X, Y, max_terms=2, positive="ill", constraints=[MaxFPR(share)])
    result = solve(program, progress=False)
    assert (result.solver, result.bound_source) == ("tree", "solver")
    assert result.message == "the bound is tree's word alone"
    made = certify(program, result, source={"target": "y"})
    assert made.bound_source == source
    assert made.evidence["kind"] == {"solver": "none", "evidence": "leaves"}[source]
    data, file = tmp_path / "data.csv", tmp_path / "made.json"
    X.assign(y=Y).to_csv(data, index=False)
    found = check(data, made.to_json(file))
    assert proved(found) == (source == "evidence")
    if source == "solver":
        assert found[4][1] == "not proved"
        assert "a solver's word" in found[4][2]
        forged = replace(made, bound_source="evidence").sealed()
        found = check(data, forged.to_json(file))
        assert found[5][1:] == ("refuted", "its bound_source is 'evidence', and it holds none")
        assert verify_certificate(forged, X, Y)["claim"].sentence == found[5][2]


def test_a_category_that_no_row_has_is_told(tmp_path: Any) -> None:
    """It is 0 in every row, as a binner fitted on more of them may have it."""
    frame, labels = pd.DataFrame({"sex": ["f", "m"] * 4, "x": [0, 1, 2, 3] * 2}), [0, 0, 1, 1] * 2
    program = slim(frame, labels, max_terms=1)
    made = certificate_of(program, "tree", source={"target": "y"})
    data = tmp_path / "data.csv"
    frame.assign(y=labels).to_csv(data, index=False)
    columns = [dict(each) for each in made.data["columns"]]
    columns[0]["category"] = "other"
    other = replace(made, data={**made.data, "columns": columns}).sealed()
    for file, alike in ((made, 0), (other, 1)):
        found = check(data, file.to_json(tmp_path / "made.json"))
        assert proved(found), found
        assert found[1][2] == f"8 of 8 rows, {len(columns)} columns, {alike} alike in every row"


def test_evidence_speaks_of_the_rows_by_their_place(tmp_path: Any) -> None:
    """Rows of weight 0 keep their place, and cannot be named."""
    weight = np.ones(len(Y))
    weight[:3] = 0
    program = hinge(X, Y, max_terms=2, positive="ill", sample_weight=weight)
    made = certify(program, solve(program, progress=False))
    named = {i for point in made.evidence["points"] for i in point[4][0]}
    assert named
    assert min(named) >= 3
    assert verify_certificate(made, X, Y, sample_weight=weight).proved


def test_the_command_says_what_is_proved(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    program = risk_score(X, Y, max_terms=2, positive="ill", coef_min=-2, coef_max=2)
    made = certificate_of(program, "tree").to_json(tmp_path / "made.json")
    data = tmp_path / "data.csv"
    X.assign(y=Y).to_csv(data, index=False)
    assert main([str(data), str(made)]) == 2
    assert "give --target" in capsys.readouterr().err
    assert main([str(data), str(made), "--target", "y"]) == 0
    assert "Verdict: everything claimed was proved" in capsys.readouterr().out
    X.assign(y=Y).iloc[1:].to_csv(data, index=False)
    assert main([str(data), str(made), "--target", "y"]) == 1
    assert "39 of 40 rows" in capsys.readouterr().out


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[" * 100_000,
        '{"kind": "milpscore.certificate", "version": 1}',
        '{"kind": "milpscore.certificate", "version": 3}',
        '{"kind": "milpscore.certificate", "version": 3, "digest": 3, "data": []}',
        '{"kind": "other"}',
        '{"a": ' + "9" * 5000 + "}",
        "NaN",
    ],
)
def test_a_damaged_certificate_is_one_line(
    text: str, tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    made, data = tmp_path / "made.json", tmp_path / "data.csv"
    made.write_text(text, encoding="utf-8")
    X.assign(y=Y).to_csv(data, index=False)
    assert main([str(data), str(made), "--target", "y"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize("text", ["1e99999999", "x", "1/0", "", "inf", "9" * 5000, None])
def test_no_numerictakes_long_or_passes_for_another(text: Any) -> None:
    with pytest.raises(Refused):
        number(text)


def test_the_table_is_read_as_its_columns_say(tmp_path: Any) -> None:
    frame = pd.DataFrame({
        "age": [20.5, 30, np.nan, 50, 61, 70, 20, 66],
        "sex": ["f", "m", "f", None, "m", "f", "m", "f"],
        "ill": ["no", "yes", "no", "yes", "yes", "no", "no", "yes"],
    })  # fmt: skip
    design = Binner(thresholds={"age": [40, 60]}, encoding="onehot", missing="bin").fit_design(
        frame[["age", "sex"]], frame["ill"], positive="yes"
    )
    made = certify(
        program := slim(design, max_terms=2),
        solve(program, progress=False),
        source={"target": "ill"},
    )
    for separator, decimal in ((",", "."), (";", ",")):
        data = tmp_path / "data.csv"
        frame.to_csv(data, index=False, sep=separator, decimal=decimal)
        told = replace(made, data={**made.data, "decimal": decimal}).sealed()
        found = check(data, told.to_json(tmp_path / "made.json"))
        assert proved(found), found


def test_no_entry_makes_the_table_read_as_another(tmp_path: Any) -> None:
    """A file whose x is 10 or 1, by class, read so that nothing tells the classes apart."""
    frame = pd.DataFrame({"x": [1, 10] * 4, "sex": [1, 2] * 4})
    labels = np.array([0, 1] * 4)
    program = slim(frame, labels, l0_penalty=0.0, coef_min=0, coef_max=1, max_terms=1)
    made = certificate_of(program, "tree", source={"target": "y"})
    forged = {
        "card": {"coefficients": [0, 0], "intercept": "-1"},
        **dict.fromkeys(("objective", "loss", "bound"), 0.5),
    }
    numeric, category = (dict(each) for each in made.data["columns"])
    category |= {"kind": "category", "category": "1"}
    rule = {"name": "x", "kind": "used", "groups": [[-1], [-2]], "factors": [1, 1]}
    data = tmp_path / "data.csv"
    frame.assign(y=labels).to_csv(data, index=False)

    def answer(cards: dict[str, Any], **entries: Any) -> Any:
        cards, entries = {**made.cards, **cards}, {**made.data, **entries}
        file = replace(made, **forged, cards=cards, data=entries).sealed()
        return check(data, file.to_json(tmp_path / "forged.json"))

    assert answer({})[4][:2] == ("bound", "not proved")
    for cards, entries, said in (
        ({}, {"decimal": "0"}, "'0' is not a decimal point"),
        ({}, {"columns": [numeric, {**category, "category": 1}]}, "category: 1 is not str"),
        ({}, {"columns": [{**numeric, "kind": "step", "upper": "9"}, category]}, "'step' is not"),
        ({}, {"class_weight": {"1": -1.0}}, "weighs nothing, or less"),
        ({}, {"class_weight": {"2": 0.5}}, "'2'"),
        ({"rules": [{**rule, "lower": None, "upper": 0}]}, {}, "groups: -1 is not a whole"),
        (
            {},
            {"columns": [{**numeric, "kind": "interval", "lower": "6", "upper": "6"}, category]},
            "'interval' is not a kind of column, or not with these ends",
        ),
        ({"values": [[[1, 0]], [[0, 1]]]}, {}, "a range of values is empty"),
        ({"values": [[[0, 1], [1, 1]], [[0, 1]]]}, {}, "not above the one before"),
        ({"intercept": ["1", "0", None]}, {}, "no intercept is left"),
        ({"scale": ["2", "1"]}, {}, "no scale"),
    ):
        with pytest.raises(Refused, match=said):
            answer(cards, **entries)


def test_a_card_whose_loss_overflows_is_refuted() -> None:
    """No figure lies within the rounding of an infinite one."""
    X, y = np.array([[-300.0, 1.0], [-600.0, -1.0], [-300.0, 0.0]]), np.array([1, 0, 0])
    program = risk_score(X, y, coef_min=-3, coef_max=0, loss="poisson", scale=1.0, l0_penalty=0.0)
    made = certify(program, solve(program, "tree", node_limit=50, progress=False))
    assert verify_certificate(made, program.statement.design)["objective"].status == "proved"
    other = replace(made, card={**made.card, "coefficients": [-3, 0]}).sealed()
    assert verify_certificate(other, program.statement.design)["objective"].status == "refuted"
