"""Best-first search over supports and boxes of whole coefficients."""

from __future__ import annotations

import math

from milpscore.core.design import IntArray
from milpscore.core.errors import OptionError
from milpscore.solvers.tree._problem import TreeAnswer, TreeProblem
from milpscore.solvers.tree._tree import Callback, Tree


def search(
    problem: TreeProblem,
    *,
    start: tuple[IntArray, float] | None = None,
    time_limit: float = math.inf,
    node_limit: int | None = None,
    gap_abs: float = 0.0,
    gap_rel: float = 1e-6,
    callback: Callback | None = None,
    record: bool = False,
    most_open: int = 50_000,
    most_steps: int = 100_000,
    jobs: int = 1,
) -> TreeAnswer:
    """Minimise a smooth convex loss over integer cards, with a bound that holds at every moment.

    Parameters
    ----------
    problem : TreeProblem
    start : (w, b), optional
        A card to begin with; one that breaks a range or a constraint is refused.
    time_limit : float
        Seconds; looked at between nodes.
    node_limit : int, optional
        Relaxations solved.
    gap_abs, gap_rel : float
        The search ends once objective - bound <= max(gap_abs, gap_rel |objective|).
    callback : callable, optional
        Called with (seconds, objective, bound, nodes) after every node that changes one of them; a
        KeyboardInterrupt from it ends the search, as Ctrl-C does.
    record : bool
        Keep the tree as evidence, see :class:`Step`.
    most_open, most_steps : int
        Open nodes beyond which the search goes depth first; steps kept.
    jobs : int
        Processes that search parts of the tree in rounds; the answer does not depend on their
        speed, only (in its last digits of effort) on their number.

    Returns
    -------
    TreeAnswer

    Raises
    ------
    OptionError
        A negative gap or limit, a record of several processes, or a start that is no card of the
        problem.
    """
    if min(gap_abs, gap_rel, time_limit, most_open, most_steps, node_limit or 0) < 0 or jobs < 1:
        raise OptionError(
            "gaps, time_limit, node_limit, most_open and most_steps must be >= 0, jobs >= 1"
        )
    if record and jobs > 1:
        raise OptionError("record=True keeps one process's tree: use jobs=1")
    gaps = gap_abs, gap_rel
    tree = Tree(problem, gaps, callback, record, most_open, most_steps)
    if start is not None:
        tree.take_start(*start)
    return tree.run(time_limit, node_limit, jobs)
