"""The desk: edits, wishes, undo, and prices that equal what fresh constrained solves say."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from milpscore.certificate import Certificate, verify_certificate
from milpscore.constraints import (
    AtMost,
    Constraint,
    Exclude,
    Include,
    MaxFPR,
    Range,
    Sign,
    read_constraints,
)
from milpscore.core.design import Design
from milpscore.core.errors import FormulationError, NotApplicableError, OptionError, SolverError
from milpscore.data import make_design
from milpscore.data.cut_points import Cutting
from milpscore.fitting import fit_card
from milpscore.scorecard import Scorecard, certified_card
from milpscore.scorecard.claims import few_events
from milpscore.scorecard.rendering import card_cells, decision_sentence, least_positive
from milpscore.verify import evaluate
from milpscore_show.studio import Desk, Price
from milpscore_show.studio.questions import Question
from milpscore_show.studio.showing import Export, act, rule_of, view, written

NODES = 5000
NAMES = ("age", "smokes", "pain", "fever")


def table(rows: int = 120) -> Design:
    random = np.random.default_rng(3)
    X = random.integers(0, 3, (rows, len(NAMES)))
    noise = random.logistic(0, 1.5, rows)
    y = (X @ [2, 1, 0, -1] + noise > 2).astype(int)
    return make_design(pd.DataFrame(X, columns=list(NAMES)), y)


def at_desk(formulation: str = "risk_score", **arguments: Any) -> Desk:
    common = {"max_terms": 3, "coef_min": -3, "coef_max": 3}
    return Desk(table(), formulation, **{**common, **arguments})


def fresh(desk: Desk, *rules: Constraint) -> float:
    """The optimum under some rules, over the desk's scales, by a solve that knows no other card."""
    arguments = {**desk.bench.arguments, "max_terms": desk.sheet.max_terms}
    if (held := desk.bench.scale) is not None:
        arguments["scale"] = (held.lower, held.upper)
    _, result = fit_card(
        desk.bench.design, desk.bench.formulation, constraints=rules, progress=False,
        options={"node_limit": NODES}, time_limit=600, **arguments,
    )  # fmt: skip
    if result.card is None:
        assert str(result.termination) == "infeasible"
        return np.inf
    assert str(result.claim) == "optimal", result
    return result.objective


def wish(desk: Desk, random: np.random.Generator) -> str:
    """Make one random wish; its key."""
    names, columns = desk.features, desk.design.names
    before = set(desk.wishes)
    match int(random.integers(5)):
        case 0:
            desk.forbid(str(random.choice(names)))
        case 1:
            desk.demand(str(random.choice(names)))
        case 2 | 3:
            j = int(random.integers(len(columns)))
            desk.set_points(columns[j], int(random.integers(-3, 4)))
            desk.lock(columns[j])
        case _:
            some = random.choice(names, size=min(3, len(names)), replace=False)
            desk.add_rule(AtMost(1, [str(each) for each in some]))
    return (set(desk.wishes) - before).pop()


def assert_prices(desk: Desk, turns: int, seed: int, gathered: int) -> None:
    """Random wishes; each proved price is the difference of two fresh optima."""
    random = np.random.default_rng(seed)
    begun = desk.sheet
    desk.ask(desk.free, node_limit=NODES, time_limit=600)
    best = fresh(desk)
    for turn in range(turns):
        if turn == gathered:
            desk.gather(node_limit=NODES, time_limit=600)
        desk.put(begun)
        key = wish(desk, random)
        true = fresh(desk, desk.wishes[key]) - best
        early = desk.price(key)  # what is known already must hold, too
        assert early.least <= true + 2e-6
        assert early.most >= true - 2e-6
        for question in desk.to_be_asked(key):
            desk.ask(question, node_limit=NODES, time_limit=600)
        told = desk.price(key)
        assert told.proved, (key, told)
        assert told.least == true or told.least <= true + 2e-6
        assert told.most >= true - 2e-6


@pytest.mark.parametrize("formulation", ["risk_score", "slim"])
def test_proved_prices_are_those_of_fresh_solves(formulation: str) -> None:
    assert_prices(at_desk(formulation), 6, seed=1, gathered=3)


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize(("name", "columns", "terms"), [("breastcancer", 4, 2), ("mammo", 14, 3)])
def test_prices_on_real_tables_are_those_of_fresh_solves(
    name: str, columns: int, terms: int, uci: Callable[[str], tuple[Any, Any]]
) -> None:
    X, y = uci(name)
    desk = Desk(Cutting().design(X.iloc[:, :columns], y), max_terms=terms)
    assert_prices(desk, 10, seed=2, gathered=5)


def test_two_wishes_cost_what_both_together_cost() -> None:
    desk = at_desk()
    desk.ask()
    best = fresh(desk)
    desk.take()
    desk.forbid("age")
    desk.demand("pain")
    for question in desk.to_be_asked():
        desk.ask(question)
    assert desk.price().proved
    assert desk.price().most == pytest.approx(
        fresh(desk, Exclude("age"), Include("pain")) - best, abs=3e-6
    )
    desk.take()
    assert desk.sheet.points[NAMES.index("age")] == 0
    assert desk.sheet.points[NAMES.index("pain")] != 0


def test_a_pool_answers_a_wish_without_a_solve() -> None:
    desk = at_desk()
    desk.ask()
    desk.gather(epsilon=0.1)
    used = desk.design.names[int(np.flatnonzero(desk.ledger.best(desk.free)[0].coefficients)[0])]
    # a multiple of a card is none of the pool's, and yet an answer
    desk.set_points(used, 3)
    desk.lock(used)
    assert not desk.to_be_asked(f"lock {used}")
    true = fresh(desk, Range(used, 3, 3)) - fresh(desk)
    assert desk.price(f"lock {used}").most == pytest.approx(true, abs=3e-6)


def test_a_pool_says_nothing_of_limits_on_errors() -> None:
    """A pool keeps one intercept of each points; a limit may ask for another."""
    desk = at_desk()
    desk.ask()
    desk.gather(epsilon=0.05)
    desk.add_rule(MaxFPR(0.05))
    question = desk.question
    answer = desk.ask(question, node_limit=NODES)
    own = Desk(desk.design, max_terms=3, coef_min=-3, coef_max=3)  # of no pool
    own.add_rule(MaxFPR(0.05))
    assert desk.ledger.bound(question) <= own.ask(node_limit=NODES).objective + 2e-6
    assert answer.objective == pytest.approx(own.ledger.best(question)[1], abs=2e-6)
    desk.take()
    assert desk.figures.specificity >= 0.95 - 1e-12
    assert not evaluate(desk.bench.statement(question), desk.card).violations


def test_what_no_card_obeys_is_proved() -> None:
    desk = at_desk()
    desk.add_rule(Include(["age", "smokes", "pain", "fever"]))  # four of them, three terms
    desk.ask()
    assert str(desk.price()) == "no card obeys (proved)"
    with pytest.raises(NotApplicableError, match="no card is known"):
        desk.take()


def test_the_figures_are_those_of_the_rows() -> None:
    from sklearn.metrics import roc_auc_score

    desk, design = at_desk(), table()
    for name, points in zip(NAMES, (3, 1, 0, -2), strict=True):
        desk.set_points(name, points)
    totals, positive = design.X @ [3, 1, 0, -2], design.y > 0
    answer = totals >= float(desk.scorecard.threshold)
    assert desk.figures.errors == int((answer != positive).sum())
    assert desk.figures.sensitivity == pytest.approx(answer[positive].mean())
    assert desk.figures.specificity == pytest.approx(1 - answer[~positive].mean())
    assert desk.figures.auc == pytest.approx(roc_auc_score(positive, totals))
    risks = 1 / (1 + np.exp(-(totals + float(desk.card.intercept)) / float(desk.card.scale)))
    loss = -np.log(np.where(positive, risks, 1 - risks)).mean()
    assert view(desk)["figures"]["loss"] == pytest.approx(loss)


@pytest.mark.parametrize("formulation", ["risk_score", "slim"])
def test_a_moved_threshold(formulation: str) -> None:
    desk = at_desk(formulation)
    before = view(desk)["figures"]
    desk.set_threshold(4)
    after = view(desk)["figures"]
    positive = table().y > 0
    answer = desk.scorecard.score_design(table().X) >= 4
    assert after["errors"] == int((answer != positive).sum())
    # a risk score keeps its risks; under the 0-1 loss the threshold is the card's
    assert (after["loss"] == before["loss"]) == (formulation == "risk_score")
    desk.set_threshold(None)
    assert view(desk)["figures"] == before


@pytest.mark.parametrize("formulation", ["risk_score", "slim"])
def test_the_studio_shows_the_card_that_fit_prints(formulation: str) -> None:
    rows = table()
    flags = make_design(pd.DataFrame(rows.X > 0, columns=list(NAMES)).astype(int), rows.y > 0)
    desk = Desk(flags, formulation, max_terms=4)
    result = desk.ask(node_limit=NODES)
    statement = desk.bench.statement(desk.free)
    card = certified_card(desk.design, result, statement=statement)
    assert card.base_points  # points are shifted
    desk.take()
    shown = view(desk)["print"]
    lines = [list(cells) for rows in card_cells(card) for cells in rows]
    assert [list(cells) for cells in shown["lines"][1:]] == lines
    said = [decision_sentence(card), few_events(card.certificate)]
    assert shown["says"] == " ".join(filter(None, said))
    assert view(desk)["threshold"]["total"] == float(least_positive(card))
    # moved by one, in totals as they are printed, and held where points shift again
    desk.set_threshold(float(least_positive(card)) + 1)
    moved = view(desk)
    assert moved["threshold"]["total"] == float(least_positive(card)) + 1
    assert moved["print"]["lines"] == shown["lines"]
    assert desk.scorecard.fitted_total(desk.scorecard.threshold) == desk.sheet.threshold


def test_too_few_events_are_said_of_the_card_as_it_is_edited() -> None:
    X = pd.DataFrame({"a": [0, 1] * 20, "b": [0, 0, 1, 1] * 10})
    desk = Desk(make_design(X, [1] * 12 + [0] * 28), "risk_score", max_terms=2)
    desk.set_points("a", 1)
    assert "Too few events" not in view(desk)["print"]["says"]  # 12 rows for a line
    desk.set_points("b", 1)
    said = f"{decision_sentence(desk.scorecard)} {few_events({'rarer_rows': 12, 'lines': 2})}"
    assert view(desk)["print"]["says"] == said
    assert "has 12 rows for 2 lines" in said


def test_undo_and_redo() -> None:
    desk = at_desk()
    sheets = [desk.sheet]
    for edit in (
        lambda: desk.set_points("age", -2),
        lambda: desk.lock("age"),
        lambda: desk.demand("fever"),
        lambda: desk.forbid("age"),
        lambda: desk.set_terms(2),
        lambda: desk.add_rule(rule_of('type = "sign"\ncolumns = "fever"\nsign = "+"')),
        lambda: desk.drop("rule 1"),
    ):
        edit()
        assert desk.sheet != sheets[-1]
        sheets.append(desk.sheet)
    for sheet in reversed(sheets[:-1]):
        desk.undo()
        assert desk.sheet == sheet
    desk.undo()  # nothing is left, and nothing happens
    for sheet in sheets[1:]:
        desk.redo()
        assert desk.sheet == sheet
    assert not desk.can_redo


def test_a_lock_holds_what_is_typed_later() -> None:
    desk = at_desk()
    desk.set_points("age", 1)
    desk.lock("age")
    desk.set_points("age", 2)
    assert desk.wishes == {"lock age": Range("age", 2, 2, name="2 points for age")}
    desk.forbid("age")
    assert list(desk.wishes) == ["forbid age"]
    assert desk.sheet.points[0] == 0


def test_ctrl_c_within_an_edit_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def pressed(*_: object) -> None:
        raise KeyboardInterrupt

    desk = at_desk()
    before = desk.sheet
    other = 1 if before.points[0] == 0 else 0
    with monkeypatch.context() as patch:
        patch.setattr(Desk, "_figures", pressed)
        with pytest.raises(KeyboardInterrupt):
            desk.set_points("age", other)
    assert desk.sheet == before
    desk.set_points("age", other)
    desk.undo()
    assert desk.sheet == before


@pytest.mark.parametrize(
    ("request_", "error", "said"),
    [
        ('{"do": "points", "column": "agee", "points": 1}', OptionError, "did you mean 'age'"),
        ('{"do": "points", "column": "age", "points": 9}', OptionError, "between -3 and 3"),
        ('{"do": "points", "column": "age", "points": 1.5}', Exception, "damaged"),
        ('{"do": "points", "column": "age"}', Exception, "damaged"),
        ('{"do": "explode"}', Exception, "damaged"),
        ("[]", Exception, "damaged"),
        ("{", Exception, "not JSON"),
        ('{"do": "threshold", "total": 1e999}', Exception, "."),
        ('{"do": "terms", "most": -1}', OptionError, "0 or more"),
        ('{"do": "forbid", "name": "sex"}', OptionError, "no column"),
        ('{"do": "drop", "key": "forbid age"}', OptionError, "no wish"),
        ('{"do": "rule", "text": "type = "}', FormulationError, "cannot be read"),
        ('{"do": "rule", "text": "type = \\"sine\\""}', FormulationError, "did you mean"),
        (
            '{"do": "rule", "text": "type = \\"exclude\\"\\ncolumns = \\"sex\\""}',
            FormulationError,
            "sex",
        ),
    ],
)
def test_bad_input_is_refused_and_changes_nothing(
    request_: str, error: type[Exception], said: str
) -> None:
    desk = at_desk()
    before = desk.sheet, desk.revision, desk.can_undo
    with pytest.raises(error, match=said):
        act(desk, request_)
    assert (desk.sheet, desk.revision, desk.can_undo) == before


def test_other_formulations_are_refused() -> None:
    with pytest.raises(NotApplicableError, match="risk_score, slim and survival_score"):
        at_desk("convex_rounding")


def test_an_answer_that_the_rows_belie_is_refused() -> None:
    desk = at_desk()
    result = desk.best_of(desk.free).run(desk.bench)
    with pytest.raises(SolverError, match="not what the rows say"):
        desk.learn(desk.free, replace(result, objective=result.objective - 0.01))


@pytest.mark.parametrize(
    ("least", "most", "said"),
    [
        (0.0, np.inf, "not known yet"),
        (np.inf, np.inf, "no card obeys (proved)"),
        (0.0, 0.0, "free (proved)"),
        (0.01312, 0.01312, "0.01312 worse (proved)"),
        (0.013129, np.inf, "at least 0.01312 worse (proved)"),
        (0.013129, 0.020001, "at least 0.01312 (proved), at most 0.02001 worse"),
        (0.0, 0.5, "perhaps nothing, at most 0.50000 worse"),
    ],
)
def test_a_price_in_words_says_no_more_than_is_proved(least: float, most: float, said: str) -> None:
    assert str(Price(least, most)) == said


def test_a_bound_of_fewer_wishes_holds_for_more() -> None:
    few, many = Question((Exclude("age"),), 3), Question((Exclude("age"), Sign("pain", "+")), 2)
    assert many.within(few)
    assert not few.within(many)
    assert Question((Exclude("age", name="no age"),), 3) == few
    assert not Question((), None).within(few)


def test_the_export_proves_and_reproduces_the_card(tmp_path: Path) -> None:
    desk = at_desk()
    with pytest.raises(NotApplicableError, match="nothing is proved"):
        Export.of(desk)
    desk.forbid("smokes")
    desk.add_rule(rule_of('type = "sign"\ncolumns = "fever"\nsign = "-"\nname = "\\u00e9 \\"q\\""'))
    desk.ask()
    desk.take()
    desk.set_points("age", 3 if desk.sheet.points[0] != 3 else 2)  # by hand: not the best one
    made = Export.of(desk).run(desk.bench)
    with zipfile.ZipFile(io.BytesIO(made)) as archive:
        archive.extractall(tmp_path)
    card = Scorecard.load(tmp_path / "card.json")
    assert card.points == desk.sheet.points
    certificate = Certificate.from_json(tmp_path / "certificate.json")
    assert certificate.claim == "gap"
    design = table()
    assert verify_certificate(certificate, design, None).proved
    rules = read_constraints(tmp_path / "constraints.toml")
    again, result = fit_card(
        design, constraints=rules, max_terms=3, coef_min=-3, coef_max=3, progress=False
    )
    assert tuple(result.card.coefficients.tolist()) == desk.sheet.points
    assert result.objective == pytest.approx(evaluate(again.statement, desk.card).objective)
    assert read_constraints(tmp_path / "wishes.toml") == tuple(desk.wishes.values())
    assert "report" in (tmp_path / "README.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("formulation", "arguments", "told"),
    [
        ("slim", {}, "--set 'intercept_bounds=[-4.0, -4.0]'"),
        ("risk_score", {"scale": 2.0}, "--set scale=2.0"),
        ("risk_score", {"penalty": "l1", "lam": 0.01}, """--set 'penalty="l1"' --set lam=0.01"""),
    ],
)
def test_what_a_card_was_made_with_is_told(
    formulation: str, arguments: dict[str, Any], told: str
) -> None:
    desk = at_desk(formulation, **arguments)
    desk.set_points("fever", -2)
    desk.set_threshold(4)
    desk.ask(desk.free)
    read_me = Export.of(desk).texts["README.txt"]
    assert told in read_me
    assert "--max-terms 3" in read_me
    assert ("moved by hand to 4" in read_me) == (formulation == "risk_score")
    again, result = fit_card(
        table(), formulation, constraints=desk.pinned(), progress=False, **desk.settings
    )
    assert tuple(result.card.coefficients.tolist()) == desk.sheet.points
    assert result.objective == pytest.approx(evaluate(again.statement, desk.card).objective)
    if formulation == "slim":
        assert result.card.threshold == 4


def test_an_export_names_scales_where_a_fit_would_state_gentler_ones() -> None:
    """Points that are locked low ask for a steep scale, which a fit by itself would not allow."""
    desk = at_desk(coef_min=-10, coef_max=10)
    desk.set_points("age", 1)
    desk.lock("age")
    desk.forbid("pain")
    desk.ask(node_limit=NODES)
    desk.take()
    assert desk.card.scale < 1
    for rules in (desk.pinned(), tuple(desk.wishes.values())):
        _, result = fit_card(table(), constraints=rules, progress=False, **desk.settings)
        assert result.objective == pytest.approx(view(desk)["figures"]["objective"])
    settings = {name: value for name, value in desk.settings.items() if name != "scale"}
    _, result = fit_card(table(), constraints=rules, progress=False, **settings)
    assert result.card.scale > desk.card.scale


def test_no_wishes_are_a_file_too(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(written([]), encoding="utf-8")
    assert read_constraints(tmp_path / "a.toml") == ()


@pytest.mark.parametrize("formulation", ["risk_score", "slim"])
def test_the_way_back_to_a_card_in_use_has_a_price(formulation: str) -> None:
    desk = at_desk(formulation, in_use=(1, 0, -1, 3))
    assert desk.sheet.points == desk.in_use == (1, 0, -1, 3)
    statement = desk.bench.statement(desk.free)
    own = evaluate(statement, desk.card).objective
    assert view(desk)["in_use"]["own"]
    assert not desk.price_in_use().proved
    assert desk.price_in_use().most <= own
    desk.ask(desk.free, node_limit=NODES)
    price = desk.price_in_use()
    assert price.proved
    assert price.least == pytest.approx(own - fresh(desk), rel=1e-6, abs=1e-9)
    desk.take(best=False)
    desk.set_threshold(1)
    shown = view(desk)["in_use"]
    assert not shown["own"]
    assert shown["price"].endswith("worse (proved)")
    assert shown["counted"].startswith("From the card in use to the best known one: AUC 0.")
    act(desk, '{"do": "back"}')
    assert desk.sheet.points == (1, 0, -1, 3)
    assert desk.sheet.threshold is None
    desk.undo()
    assert desk.sheet.points != (1, 0, -1, 3)
    for odd in ((1, 0), (0.5, 0, 0, 0), (9, 0, 0, 0)):
        with pytest.raises(OptionError, match="in_use"):
            at_desk(formulation, in_use=odd)
    bare = at_desk(formulation)
    assert view(bare)["in_use"] is None
    with pytest.raises(NotApplicableError, match="without a card in use"):
        bare.back()
