"""Certificates: what was claimed is proved again, and what was tampered with is not."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from milpscore.certificate import Certificate, Verification, certify, verify_certificate
from milpscore.certificate.policy import POLICY
from milpscore.cli.app import app
from milpscore.constraints import MaxFPR
from milpscore.core.clock import Clock
from milpscore.core.errors import DataError, FormulationError, NotApplicableError, OptionError
from milpscore.core.program import Program
from milpscore.core.result import Claim, Result, Termination
from milpscore.data import Binner
from milpscore.fitting import fit_card
from milpscore.formulations import convex_rounding, hinge, risk_score, slim
from milpscore.solvers import solve
from milpscore.verify import evaluate
from milpscore_check import Refused, check, proved
from milpscore_check.values import MOST_BYTES
from tests.certificate_cases import X, Y, certificate_of, table

PARTS = ("file", "data", "statement", "card", "objective", "bound", "claim")


@pytest.fixture(scope="module")
def leaves() -> Certificate:
    program = risk_score(X, Y, scale=1.0, max_terms=3, positive="ill")
    return certificate_of(program, "tree")


@pytest.fixture(scope="module")
def bare() -> Certificate:
    program = slim(X, Y, max_terms=2, coef_min=-2, coef_max=2)
    return certificate_of(program, "highs", evidence="none")


def changed(made: Certificate, seal: bool = True, **parts: Any) -> Certificate:
    """Other entries; the digest made anew unless a clumsy forger is meant."""
    other = replace(made, **parts)
    return other.sealed() if seal else other


def failed(made: Certificate, frame: Any = X, labels: Any = Y) -> tuple[str, ...]:
    return verify_certificate(made, frame, labels, time_limit=300).failed


# -- what is proved ------------------------------------------------------------------------------


def test_leaves_prove_everything_and_survive_the_file(leaves: Certificate, tmp_path: Path) -> None:
    assert leaves.evidence["kind"] == "leaves"
    again = Certificate.from_json(leaves.to_json(tmp_path / "card.json"))
    assert again == leaves
    found = verify_certificate(again, X, Y)
    assert found.proved, found.to_text()
    assert tuple(part.name for part in found.parts) == PARTS
    assert "leaves cover every card" in found["bound"].sentence
    assert found.to_text().endswith("Verdict: everything claimed was proved.")


@pytest.mark.parametrize("kind", ["slim", "hinge", "convex_rounding"])
def test_without_evidence_a_second_opinion_is_taken_and_named(kind: str) -> None:
    arguments: dict[str, Any] = {"coef_min": -1, "coef_max": 1}
    design = {"slim": slim, "hinge": hinge, "convex_rounding": convex_rounding}[kind]
    given = {} if kind == "convex_rounding" else arguments
    made = design(X, Y, **given).statement.design
    program, result = fit_card(made, kind, progress=False, **given)
    certificate = certify(program, result, evidence="none")
    assert certificate.evidence["kind"] == "none"
    found = verify_certificate(certificate, X, Y)
    assert found.proved, found.to_text()
    assert "solved again" in found["bound"].sentence
    if kind == "convex_rounding":
        assert f"keeps none for {kind}" in certify(program, result).evidence["reason"]


def test_the_leaves_of_any_risk_score_can_be_asked_for() -> None:
    program = risk_score(X, Y, max_terms=2)
    made = certificate_of(program, "outer_approximation")
    assert made.engine["solver"] == "outer_approximation"
    assert made.evidence["kind"] == "leaves"
    assert verify_certificate(made, X, Y).proved


def test_a_gap_is_certified_as_a_gap() -> None:
    frame, labels = table(3, 60, 6)
    program = risk_score(frame, labels)
    result = solve(program, "tree", progress=False, node_limit=3)
    assert result.claim is Claim.GAP
    made = certify(program, result)
    assert made.claim == "gap"
    assert made.bound == pytest.approx(result.dual_bound, abs=1e-8)
    assert verify_certificate(made, frame, labels).proved
    assert failed(changed(made, claim="optimal"), frame, labels) == ("claim",)


def test_the_verifier_loads_no_engine(leaves: Certificate, tmp_path: Path) -> None:
    leaves.to_json(tmp_path / "card.json")
    X.assign(y=Y).to_csv(tmp_path / "data.csv", index=False)
    code = (
        "import sys, pandas as pd\n"
        "from milpscore.certificate import Certificate, verify_certificate\n"
        "made = Certificate.from_json('card.json')\n"
        "table = pd.read_csv('data.csv')\n"
        "assert verify_certificate(made, table.drop(columns='y'), table['y']).proved\n"
        "loaded = [m for m in sys.modules if m.startswith(('milpscore.solvers', 'highspy'))]\n"
        "assert not loaded, loaded\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={"PYTHONPATH": str(Path(__file__).parents[2]), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


# -- what is rejected ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["leaves", "bare"])
def test_a_clumsy_forger_leaves_another_digest(kind: str, request: pytest.FixtureRequest) -> None:
    made: Certificate = request.getfixturevalue(kind)
    assert "file" in failed(changed(made, seal=False, claim="feasible"))


def test_another_card_is_rejected(leaves: Certificate) -> None:
    w = list(leaves.card["coefficients"])
    w[0] += 1 if w[0] < 5 else -1
    assert failed(changed(leaves, card={**leaves.card, "coefficients": w})) == ("objective",)
    other = str(Fraction(leaves.card["intercept"]) + 1)
    assert failed(changed(leaves, card={**leaves.card, "intercept": other})) == ("objective",)
    w[0] = 99
    assert "card" in failed(changed(leaves, card={**leaves.card, "coefficients": w}))
    too_many = {**leaves.card, "coefficients": [1, 1, 1, 1]}
    assert "card" in failed(changed(leaves, card=too_many))
    for damaged in ({"coefficients": [0.5] * 4}, {"intercept": "b"}, {"coefficients": None}):
        forged = changed(leaves, card={**leaves.card, **damaged})
        assert failed(forged) == ("card",)
        assert verify_certificate(forged, X, Y)["bound"].sentence == "it rests on the card"
    half = {**leaves.card, "intercept": "1/2"}
    assert "card" in failed(changed(leaves, card=half))


@pytest.mark.parametrize("name", ["objective", "loss", "penalty"])
@pytest.mark.parametrize("kind", ["leaves", "bare"])
def test_another_objective_is_rejected(
    kind: str, name: str, request: pytest.FixtureRequest
) -> None:
    made: Certificate = request.getfixturevalue(kind)
    for shift in (-1e-9, 1e-9):
        parts = {name: getattr(made, name) + shift}
        assert failed(changed(made, **parts)) == ("objective",)


@pytest.mark.parametrize("kind", ["leaves", "bare"])
def test_a_raised_bound_is_rejected(kind: str, request: pytest.FixtureRequest) -> None:
    made: Certificate = request.getfixturevalue(kind)
    above = changed(made, bound=made.objective + 1e-9)
    assert failed(above) == ("bound", "claim")
    assert verify_certificate(above, X, Y)["bound"].status == "refuted"


def test_a_second_opinion_asks_the_next_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    program = slim(X, Y, max_terms=2, coef_min=-2, coef_max=2)
    made = certificate_of(program, "tree", evidence="none")
    assert "by another engine (highs" in verify_certificate(made, X, Y)["bound"].sentence
    hurried = replace(POLICY, engine_share=0.0)
    monkeypatch.setattr("milpscore.certificate._verify.POLICY", hurried)
    found = verify_certificate(made, X, Y)
    assert found.proved
    assert "with another seed (tree" in found["bound"].sentence


def worse_card(made: Certificate, program: Program) -> Certificate:
    """A certificate that calls another card optimal, its figures true."""
    w = np.array(made.points.coefficients)
    w[np.flatnonzero(w)[0]] = 0
    card = program.statement.with_best_intercept(w)
    found = evaluate(program.statement, card)
    assert found.feasible
    assert found.objective > made.objective + 1e-3
    return changed(
        made,
        card={"coefficients": w.tolist(), "intercept": str(card.intercept)},
        objective=found.objective,
        loss=found.loss,
        penalty=found.penalty,
        bound=found.objective - 5e-7,
    )


@pytest.mark.parametrize("kind", ["leaves", "bare"])
def test_a_bound_above_the_optimum_is_rejected(kind: str, request: pytest.FixtureRequest) -> None:
    made: Certificate = request.getfixturevalue(kind)
    stated = risk_score(X, Y, scale=1.0, max_terms=3, positive="ill")
    if kind == "bare":
        stated = slim(X, Y, max_terms=2, coef_min=-2, coef_max=2)
    forged = worse_card(made, stated)
    assert failed(forged) == ("bound", "claim")
    if kind != "leaves":
        assert verify_certificate(forged, X, Y)["bound"].status == "refuted"


def with_evidence(made: Certificate, **evidence: Any) -> Certificate:
    return changed(made, evidence={**made.evidence, **evidence})


def test_a_missing_leaf_is_rejected(leaves: Certificate) -> None:
    tree = list(leaves.evidence["tree"])
    ends = [k for k, node in enumerate(tree) if isinstance(node, int)]
    assert len(ends) > 2
    for k in ends:
        rest = tree[:k] + tree[k + 1 :]
        assert failed(with_evidence(leaves, tree=rest)) == ("bound", "claim"), k
    assert failed(with_evidence(leaves, tree=[])) == ("bound", "claim")
    assert failed(with_evidence(leaves, tree=[*tree, -1])) == ("bound", "claim")


def test_a_split_cut_short_or_a_moved_point_is_rejected(leaves: Certificate) -> None:
    tree, points = list(leaves.evidence["tree"]), leaves.evidence["points"]
    assert failed(with_evidence(leaves, tree=[0])) == ("bound", "claim")
    assert failed(with_evidence(leaves, tree=[-1 if n == 0 else n for n in tree])) != ()
    # the same tree with every line drawn elsewhere covers all cards and proves nothing
    blunt = [[[], [], 0.0, slope] for *_, slope in points]
    assert failed(with_evidence(leaves, points=blunt)) == ("bound", "claim")


@pytest.mark.parametrize(
    "point",
    [
        [[0], [1.0], 0.0],
        [[9], [1.0], 0.0, 1.0],
        [[0], [1.0, 2.0], 0.0, 1.0],
        [[0], ["a"], 0.0, 1.0],
        [[0], [1.0], None, 1.0],
        "point",
        None,
    ],
)
def test_damaged_points_are_rejected(point: Any, leaves: Certificate) -> None:
    points = [point for _ in leaves.evidence["points"]]
    assert failed(with_evidence(leaves, points=points)) == ("bound", "claim")


@pytest.mark.parametrize(
    "node", [[7, 0], [-1, 0], ["x0", 0], [0], [0, "1"], {}, [1e308, 0], "leaf", 10**6, True]
)
def test_damaged_nodes_are_rejected(node: Any, leaves: Certificate) -> None:
    forged = with_evidence(leaves, tree=[node, *leaves.evidence["tree"][1:]])
    assert failed(forged) == ("bound", "claim")


@pytest.mark.parametrize(
    "damage",
    [{"name": True}, {"feature": ["x1"]}, {"feature": 1}, {"kind": "magic"}, {"category": 1.5}],
)
def test_damaged_columns_are_rejected(damage: dict[str, Any], leaves: Certificate) -> None:
    first, *rest = leaves.data["columns"]
    forged = changed(leaves, data={**leaves.data, "columns": [{**first, **damage}, *rest]})
    with pytest.raises(DataError, match="columns are damaged"):
        forged.columns  # noqa: B018
    assert failed(forged) == ("data",)


@pytest.mark.parametrize("block", [None, "x0", [0.5], [True]])
def test_damaged_blocks_are_rejected(block: Any, leaves: Certificate, tmp_path: Path) -> None:
    forged = changed(leaves, data={**leaves.data, "blocks": [block]})
    with pytest.raises(DataError, match="data: blocks: "):
        Certificate.from_json(forged.to_json(tmp_path / "forged.json"))


def test_another_negative_label_is_rejected(leaves: Certificate) -> None:
    forged = changed(leaves, data={**leaves.data, "classes": ["healthy", "ill"]})
    found = verify_certificate(forged, X, Y)
    assert found.failed == ("data",)
    assert "labels are ['well', 'ill'], not ['healthy', 'ill']" in found["data"].sentence


def test_unknown_evidence_is_rejected(leaves: Certificate) -> None:
    assert failed(changed(leaves, evidence={"kind": "magic"})) == ("bound", "claim")
    assert failed(changed(leaves, evidence={"kind": "leaves"})) == ("bound", "claim")


@pytest.mark.parametrize("kind", ["leaves", "bare"])
def test_other_data_are_rejected(kind: str, request: pytest.FixtureRequest) -> None:
    made: Certificate = request.getfixturevalue(kind)
    value = X.copy()
    value.iloc[3, 1] += 1
    label = Y.copy()
    label[5] = "ill" if label[5] == "well" else "well"
    assert failed(made, value, Y) == ("data",)
    assert failed(made, X, label) == ("data",)
    assert failed(made, X.iloc[:-1], Y[:-1]) == ("data",)
    assert failed(made, X.rename(columns={"x0": "z"}), Y) == ("data",)
    found = verify_certificate(made, X.iloc[:-1], Y[:-1])
    assert "39 rows, not 40" in found["data"].sentence
    assert found["bound"].status == "not checked"


@pytest.mark.parametrize(
    ("entry", "value", "part"),
    [
        ("max_terms", 2, "card"),
        ("points", ["0", "1/100", "1/50", "3/100", "1/25", "1/20"], "objective"),
        ("scale", ["2", "2"], "objective"),
        ("values", [[[-1, 1]]] * 4, "card"),
        ("max_terms", 4, "bound"),  # cards that are better, which no leaf covers
        ("intercept", ["-20", "20", "1/2"], "bound"),
        ("gap", "1/10", "claim"),
    ],
)
def test_the_checker_rejects_other_cards(
    entry: str, value: Any, part: str, leaves: Certificate, tmp_path: Path
) -> None:
    """Without the builder's word, each entry alone makes what is said false."""
    cards = {**leaves.cards, entry: value}
    made = changed(leaves, cards=cards).to_json(tmp_path / "forged.json")
    X.assign(y=Y).to_csv(tmp_path / "data.csv", index=False)
    found = check(tmp_path / "data.csv", made, target="y")
    assert part in [name for name, status, _ in found if status != "proved"], found
    assert failed(Certificate.from_json(made)) == ("statement",)


def test_a_cleared_caveat_is_rejected() -> None:
    rough = np.random.default_rng(1).normal(0, 1, (30, 2))
    frame, labels = pd.DataFrame(rough, columns=["a", "b"]), rough[:, 0] + rough[:, 1] > 0
    made = certificate_of(slim(frame, labels, coef_min=-1, coef_max=1), "highs")
    assert made.caveat
    assert failed(changed(made, caveat=""), frame, labels) == ("statement",)
    forged = changed(made, caveat="", cards={**made.cards, "gap": "0"})
    assert failed(forged, frame, labels) == ("statement",)


def test_no_column_can_be_renamed_against_its_cut(tmp_path: Path) -> None:
    """Names are no part of a certificate: they follow from the cuts."""
    frame = pd.DataFrame({"age": [20, 30, 45, 50, 65, 70, 80, 25], "y": [0, 0, 1, 0, 1, 1, 1, 1]})
    design = Binner(thresholds={"age": [40, 60]}, encoding="cumulative").fit_design(
        frame[["age"]], frame["y"]
    )
    made = certificate_of(risk_score(design), "tree", source={"target": "y"})
    assert [column.name for column in made.columns] == ["age >= 40", "age >= 60"]
    frame.to_csv(tmp_path / "data.csv", index=False)
    assert proved(check(tmp_path / "data.csv", made.to_json(tmp_path / "true.json")))
    columns = [{**column, "name": "age >= 50"} for column in made.data["columns"]]
    assert failed(changed(made, data={**made.data, "columns": columns}), frame[["age"]], frame["y"])
    columns = [{**column, "lower": "50.0"} for column in made.data["columns"]]
    forged = changed(made, data={**made.data, "columns": columns})
    assert failed(forged, frame[["age"]], frame["y"]) == ("data",)
    found = check(tmp_path / "data.csv", forged.to_json(tmp_path / "forged.json"))
    assert not proved(found)


def test_slopes_too_small_for_a_solver_count() -> None:
    """Columns of 2e-9: what a line says of them is 0 for HiGHS, and still not 0."""
    frame, labels = pd.DataFrame({"a": [2e-9, 2e-9, 0.0, 0.0]}), [1, 1, 0, 0]
    program = risk_score(
        frame,
        labels,
        scale=1.0,
        coef_min=-10_000,
        coef_max=10_000,
        l0_penalty=0.0,
        intercept="zero",
    )
    made = certificate_of(program, "tree")
    assert made.objective < np.log(2) - 4e-6
    assert verify_certificate(made, frame, labels).proved
    empty = program.statement.empty_card()
    found = evaluate(program.statement, empty)
    forged = changed(
        made,
        card={"coefficients": [0], "intercept": "0"},
        objective=found.objective,
        loss=found.loss,
        penalty=0.0,
        bound=found.objective - 5e-7,
        evidence={"kind": "leaves", "points": [[[], [], 0.0, 1.0]], "tree": [0]},
    )
    assert failed(forged, frame, labels) == ("bound", "claim")


def test_another_statement_is_rejected(leaves: Certificate) -> None:
    def stated(**arguments: Any) -> Certificate:
        given = {**leaves.statement["arguments"], **arguments}
        return changed(leaves, statement={**leaves.statement, "arguments": given})

    for other in (
        {"max_terms": 2},
        {"l0_penalty": 1e-4},
        {"penalty": "l1", "lam": 0.01},
        {"scale": 2.0},
        {"coef_min": -10, "coef_max": 10, "max_terms": 4},
        {"intercept_bounds": [-1, 1]},
        {"constraints": [{"type": "at_most", "k": 3, "columns": ["x0", "x1", "x2", "x3"]}]},
    ):
        assert failed(stated(**other)) == ("statement",)
    assert failed(stated(nonsense=1)) == ("statement",)
    assert failed(stated(constraints=3)) == ("statement",)
    assert failed(stated(coef_sets={"x9": [1]})) == ("statement",)
    assert failed(stated(penalty="nonsense")) == ("statement",)
    unknown = {"formulation": "nonsense", "arguments": {}}
    assert failed(changed(leaves, statement=unknown)) == ("statement",)


# -- what cannot be certified --------------------------------------------------------------------


def test_a_file_too_large_is_written_without_evidence() -> None:
    program = risk_score(X, Y, max_terms=2)
    result = solve(program, "tree", progress=False)
    whole = certify(program, result)
    limit = len(whole.to_text()) - 1
    made = certify(program, result, max_bytes=limit)
    assert made.evidence["kind"] == "none"
    assert "MB" in made.evidence["reason"]
    assert len(made.to_text()) <= limit
    tiny = certify(program, result, max_bytes=100)
    assert "MB" in tiny.evidence["reason"]
    found = verify_certificate(made, X, Y)
    assert found.proved
    assert "by another engine (outer_approximation" in found["bound"].sentence


def test_no_time_means_no_evidence() -> None:
    program = risk_score(X, Y, max_terms=2)
    made = certify(program, solve(program, "tree", progress=False), time_limit=0.0)
    assert "within 0 s of CPU time (0 nodes stand, 1 parts are open)" in made.evidence["reason"]
    found = verify_certificate(made, X, Y, time_limit=0.0)
    assert found.failed == ("bound", "claim")
    assert found["bound"].status == "not proved"


@pytest.mark.parametrize("build", [slim, hinge, risk_score])
def test_a_busy_machine_takes_no_evidence(build: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    program = build(X, Y, max_terms=2)
    result = solve(program, progress=False)
    looks = iter(range(10**9))
    monkeypatch.setattr(Clock, "now", staticmethod(lambda: 1e6 * next(looks)))
    assert Clock.of(30.0).is_up
    assert certify(program, result, time_limit=30.0).evidence["kind"] == "leaves"


def test_evidence_may_take_longer_than_the_solve() -> None:
    """Three times the solve's limit, whatever the solve took of it."""
    program = risk_score(X, Y, max_terms=2)
    solved = solve(program, "tree", progress=False)
    spent = replace(solved, solve_seconds=float(solved.options["time_limit"]))
    assert certify(program, spent).evidence["kind"] == "leaves"
    none = replace(solved, options={**solved.options, "time_limit": 0.0})
    assert "within 0 s" in certify(program, none).evidence["reason"]
    assert certify(program, none, time_limit=60).evidence["kind"] == "leaves"


def test_a_file_too_large_is_refused_by_its_size(tmp_path: Path) -> None:
    X.assign(y=Y).to_csv(tmp_path / "data.csv", index=False)
    large = tmp_path / "large.json"
    with large.open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    with pytest.raises(Refused, match="more than 8 MB"):
        check(tmp_path / "data.csv", large)
    (tmp_path / "lists.json").write_text("[" * 600_000, encoding="utf-8")
    with pytest.raises(Refused, match="more than 300000 signs"):
        check(tmp_path / "data.csv", tmp_path / "lists.json")
    with pytest.raises(DataError, match="more than 8 MB"):
        Certificate.from_json(large)


def test_the_largest_certificate_is_read_within_bounds(leaves: Certificate, tmp_path: Path) -> None:
    """About the densest file there can be, in a process of its own."""
    X.assign(y=Y).to_csv(tmp_path / "data.csv", index=False)
    lists, numbers = "[]," * 290_000, ".10," * 1_100_000
    dense = '"tree": [' + lists + numbers.replace(".", "0.")
    text = leaves.to_text().replace('"tree": [', dense, 1)
    assert len(text) < MOST_BYTES
    (tmp_path / "large.json").write_text(text, encoding="utf-8")
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (250_000_000, 250_000_000)); "
        "from milpscore_check.__main__ import main; sys.exit(main(sys.argv[1:]))"
    )
    files = [str(tmp_path / "data.csv"), str(tmp_path / "large.json"), "--target", "y"]
    call = [sys.executable, "-c", code, *files]
    done = subprocess.run(call, check=False, capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    assert (
        "not a list, or not of that length" in done.stderr
    )  # at a node of the tree that is an empty list


def test_a_card_without_a_bound_claims_none() -> None:
    program = slim(X, Y)
    _, result = fit_card(program.statement.design, "slim", heuristic=True)
    made = certify(program, result)
    assert made.bound is None
    found = verify_certificate(made, X, Y)
    assert found.proved
    assert found["bound"].sentence.startswith("none is claimed")
    assert failed(changed(made, claim="optimal")) == ("claim",)


def test_refusals_say_what_to_do() -> None:
    program = slim(X, Y, max_terms=2)
    result = solve(program, progress=False, time_limit=0)
    with pytest.raises(OptionError, match="evidence must be one of"):
        certify(program, result, evidence="magic")  # type: ignore[arg-type]
    no_card = Result("slim", "exact", Claim.NONE, Termination.TIME_LIMIT, verified=False)
    with pytest.raises(NotApplicableError, match="no card to certify"):
        certify(program, no_card)
    fewer = replace(program, arguments={**program.arguments, "max_terms": 1})
    with pytest.raises(FormulationError, match="max_terms differs"):
        certify(fewer, result)
    with pytest.raises(NotApplicableError, match="does not know its arguments"):
        certify(replace(program, arguments={}), result)
    mask = slim(X, Y, constraints=[MaxFPR(0.5, where=[True] * len(Y))])
    with pytest.raises(FormulationError, match="mask of rows is not plain data"):
        certify(mask, solve(mask, progress=False, time_limit=0))
    import pyomo.environ as pyo

    program.model.mine = pyo.Constraint(expr=program.model.w[0] >= 1)
    with pytest.raises(NotApplicableError, match=r"milpscore\.constraints"):
        certify(program, result)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON"),
        ('{"kind": "milpscore.scorecard"}', "is not a certificate"),
        ('{"kind": "milpscore.certificate", "version": 0}', "version 0 is not 3"),
        ('{"kind": "milpscore.certificate", "version": 1}', "version 1 is not 3"),
        ('{"kind": "milpscore.certificate", "version": 2}', "version 2 is not 3"),
        ('{"kind": "milpscore.certificate", "version": 3}', "'fingerprint' is missing"),
        ('{"kind": "milpscore.certificate", "version": NaN}', "is not JSON"),
    ],
)
def test_a_file_that_is_no_certificate(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "card.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        Certificate.from_json(path)


# -- the command line ----------------------------------------------------------------------------


def run(*arguments: object) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.mark.parametrize(
    "options",
    [
        ["--formulation", "risk-score", "--max-terms", "2"],
        ["--formulation", "risk-score", "--bins", "2", "--max-terms", "2"],
        ["--formulation", "slim", "--max-terms", "2", "--class-weight", "balanced"],
        ["--formulation", "hinge", "--set", "coef_min=-1", "--set", "coef_max=1"],
        ["--formulation", "convex-rounding"],
    ],
)
def test_fit_writes_and_verify_proves(options: list[str], tmp_path: Path) -> None:
    data, card = tmp_path / "data.csv", tmp_path / "card.json"
    X.assign(y=Y).to_csv(data, index=False)
    made = run("fit", data, "--target", "y", "--certificate", card, *options)
    assert made.exit_code == 0, made.output
    assert "The certificate was saved" in made.stderr
    done = run("verify", card, data, "--json")
    assert done.exit_code == 0, done.output
    answer = json.loads(done.stdout)
    assert answer["proved"] is True
    assert [part["name"] for part in answer["parts"]] == list(PARTS)
    X.assign(y=Y).iloc[1:].to_csv(data, index=False)
    done = run("verify", card, data)
    assert done.exit_code == 1
    assert "refuted: the data are not those" in done.stdout


def test_verify_reports_bad_input_in_one_line(leaves: Certificate, tmp_path: Path) -> None:
    data, card = tmp_path / "data.csv", tmp_path / "card.json"
    X.assign(y=Y).to_csv(data, index=False)
    done = run("verify", card, data)
    assert done.exit_code == 2
    leaves.to_json(card)
    done = run("verify", card, data)
    assert (done.exit_code, len(done.stderr.splitlines())) == (2, 1)
    assert "add --target" in done.stderr
    assert run("verify", card, data, "--target", "y").exit_code == 0


@pytest.mark.data
def test_uci_risk_score_is_proved_by_its_leaves(uci: Callable[[str], tuple[Any, Any]]) -> None:
    frame, labels = uci("mammo")
    program = risk_score(frame, labels, max_terms=4)
    made = certificate_of(program, "tree")
    found: Verification = verify_certificate(made, frame, labels)
    assert made.claim == "optimal"
    assert found.proved, found.to_text()


def test_a_number_beyond_floats_is_refused(tmp_path: Path) -> None:
    made = certificate_of(slim(X, Y, max_terms=1), "highs")
    made.to_json(path := tmp_path / "c.json")
    content = json.loads(path.read_text())
    content["engine"] = {"seconds": "@"}
    path.write_text(json.dumps(content).replace('"@"', "1e999"))
    with pytest.raises(DataError, match="too large"):
        Certificate.from_json(path)
