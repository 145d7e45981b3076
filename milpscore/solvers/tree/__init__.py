"""Tree searches for integer cards: arrays in, a card and a bound out.

Under smooth convex losses every node is a box of whole coefficients with some features in, some out
and the rest undecided. Its relaxation gives each undecided feature the convex envelope of what it
costs at its whole points, terms included, and shares out the limit on terms by one multiplier: the
convex hull of the node's cards, a perspective where there is a squared penalty. Newton's method
solves it on rows merged by the few active columns. Each of its points gives a line below the loss;
the least of the line over the node's cards is a bound, whatever the point, and what would raise
that bound to the best card is dropped (features, signs, points, intercepts). Nodes are split at 0
of the undecided feature that moves scores most, then at the most fractional coordinate, the
intercept among them. The 0-1 loss has a search of its own, over supports and then weights.

References
----------
Ustun & Rudin, "Learning optimized risk scores" (2019): the problem, and tangents of its loss as
bounds. Frangioni & Gentile, "Perspective cuts for a class of convex 0-1 mixed integer programs"
(2006): the envelope.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from milpscore._lazy import lazy_exports

if TYPE_CHECKING:
    from milpscore.solvers.tree._all_cards import AllAnswer, Found, search_all
    from milpscore.solvers.tree._problem import Point, Step, TreeAnswer, TreeProblem
    from milpscore.solvers.tree._search import search
    from milpscore.solvers.tree._zero_one_all_cards import search_all_zero_one
    from milpscore.solvers.tree._zero_one_problem import ZeroOneAnswer, ZeroOneProblem
    from milpscore.solvers.tree._zero_one_search import search_zero_one

__all__ = [
    "AllAnswer",
    "Found",
    "Point",
    "Step",
    "TreeAnswer",
    "TreeProblem",
    "ZeroOneAnswer",
    "ZeroOneProblem",
    "search",
    "search_all",
    "search_all_zero_one",
    "search_zero_one",
]

_EXPORTS = {
    "AllAnswer": "milpscore.solvers.tree._all_cards",
    "Found": "milpscore.solvers.tree._all_cards",
    "Point": "milpscore.solvers.tree._problem",
    "Step": "milpscore.solvers.tree._problem",
    "TreeAnswer": "milpscore.solvers.tree._problem",
    "TreeProblem": "milpscore.solvers.tree._problem",
    "ZeroOneAnswer": "milpscore.solvers.tree._zero_one_problem",
    "ZeroOneProblem": "milpscore.solvers.tree._zero_one_problem",
    "search": "milpscore.solvers.tree._search",
    "search_all": "milpscore.solvers.tree._all_cards",
    "search_all_zero_one": "milpscore.solvers.tree._zero_one_all_cards",
    "search_zero_one": "milpscore.solvers.tree._zero_one_search",
}
__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
