"""What a notebook shows of programs, results and comparisons."""

from html.parser import HTMLParser

import numpy as np
import pytest

from milpscore.formulations import (
    CONIC_FORMULATIONS,
    FORMULATIONS,
    risk_score,
    slim,
)
from milpscore.formulations.building import algebra_in
from milpscore.solvers import solve

RNG = np.random.default_rng(0)
X = RNG.integers(0, 2, size=(30, 3)).astype(float)
Y = (X[:, 0] + RNG.random(30) > 0.7).astype(int)
VOID = {"br", "hr", "img", "input", "meta"}


class Balance(HTMLParser):
    """Open tags that were not closed, in order."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def balanced(text):
    parser = Balance()
    parser.feed(text)
    parser.close()
    return not parser.open


@pytest.mark.parametrize("name", sorted(FORMULATIONS))
def test_every_program_shows_its_algebra_and_size(name):
    needs = {"fused_lasso": {}, "sparse_rounding": {"max_terms": 2}}.get(name, {})
    if name == "fused_lasso":
        from milpscore.data import Binner

        program = FORMULATIONS[name](Binner(n_bins=2, encoding="onehot").fit_design(X, Y))
    else:
        program = FORMULATIONS[name](X, Y, **needs)
    shown = program._repr_html_()
    assert program.algebra == algebra_in(FORMULATIONS[name].__doc__)
    assert program.algebra
    assert balanced(shown)
    assert f"{program.size.nonzeros:,} nonzeros" in shown
    assert "\\begin{aligned}" in shown
    assert program.exact().algebra == program.relaxed().algebra == program.algebra


@pytest.mark.parametrize("name", sorted(CONIC_FORMULATIONS))
def test_every_conic_builder_states_its_algebra(name):
    assert algebra_in(CONIC_FORMULATIONS[name].__doc__)


def test_a_conic_program_shows_itself():
    program = CONIC_FORMULATIONS["eye"](X, Y, expert=[1, 0, 0], lam=0.1)
    program.subject_to(program.w[0] >= 0.25)
    shown = program._repr_html_()
    assert balanced(shown)
    assert "0.25" in shown
    assert "\\begin{aligned}" in shown
    assert f"{program.size.nonzeros:,} nonzeros" in shown


def test_what_a_user_added_is_shown_and_escaped():
    import pyomo.environ as pyo

    program = slim(X, Y)
    program.model.add_component("<b>mine", pyo.Constraint(expr=program.model.w[0] >= 1))
    shown = program._repr_html_()
    assert "<b>mine" not in shown
    assert "&lt;b&gt;mine" in shown


def test_a_result_shows_its_certificate():
    result = solve(risk_score(X, Y, max_terms=1), time_limit=20)
    shown = result._repr_html_()
    assert balanced(shown)
    assert f"{result.objective:.6g}" in shown
    assert f"{result.dual_bound:.6g}" in shown
    assert result.claim.sentence in shown


def test_what_holds_data_is_one_short_line():
    from milpscore.penalties import L1
    from milpscore.proximal import facets_grid, fit_proximal, path

    program = slim(X, Y, max_terms=2, coef_max=4)
    conic = CONIC_FORMULATIONS["facets"](X, Y, lam=0.1)
    shown = {
        repr(program.statement): "at most 2 terms",
        repr(program): "30 rows x 3 columns",
        repr(program.statement.design): "30 rows x 3 columns: 1 or 0",
        repr(conic.statement): "logistic loss",
        repr(solve(program, time_limit=0)): "feasible",
        repr(fit_proximal(X, Y, penalty=L1(0.01))): "objective 0.",
        repr(path(X, Y, penalty=L1, n_lams=2)): "2 models",
        repr(facets_grid(X, Y, n_alpha=2, n_gamma=2)): "2 x 2 models",
    }
    for text, part in shown.items():
        assert part in text
        assert len(text) < 130
        assert "array" not in text
        assert "\n" not in text


def test_algebra_is_read_block_by_block():
    text = """Title.

    .. math::

        a \\\\
        b

    Words.

    .. math::

        c
    """
    assert algebra_in(text) == ("a \\\\\nb", "c")
    assert algebra_in("no formula") == algebra_in(None) == ()


def test_a_card_is_short_where_only_its_repr_is_shown():
    from milpscore.scorecard import certified_card

    program = slim(X, Y, max_terms=1)
    card = certified_card(program.statement.design, solve(program, time_limit=20), title="Ill?")
    assert repr(card) == f"<Scorecard 'Ill?': 1 lines, positive from {card.threshold}>"
