"""What its engines are tuned with."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SolverPolicy:
    """What the solvers outside the trees are tuned with.

    Attributes
    ----------
    most_growths : int
        Times that a cone may be enlarged and solved again; every time it at least doubles.
    cost_scale : float
        Factor on costs for a second try of a conic solver that failed.
    good_bound : float
        Relative gap from which no better dual point is sought.
    nearby_steps : int
        Proximal steps towards a dual point near a conic solver's answer.
    dual_tolerance : float
        Residual below which a solver's own dual objective counts as a bound.
    polish_slack : float
        Relative cost that a polished point may have more: far less than the solver's own tolerance,
        and nothing against exact zeros.
    polish_steps : int
        Proximal steps of a polish.
    limit_share : float
        Share of the time left for one limit on errors.
    most_planes : int
        Tangents of one cutting-plane loop, at most.
    improvements : int
        Improving solutions after which a round stops: its tangents are outdated by then.
    plane_share : float
        Tangents other than those of whole points are kept within this share of the gap.
    roundings : int
        Multiples of real coefficients that are rounded where the scale is free.
    descent_totals : float
        Row totals that a descent from a rounded card may compute.
    vain_descents : int
        Descents without a better card after which cards are only rounded.
    dive_every : int
        Expanded nodes of the support tree per dive for a better card.
    row_tolerance : float
        A row broken by no more than this is kept out of an LP.
    rows_added : int
        Broken rows added to an LP at once, at most.
    dropped_share : float
        Entries of up to this share of their row's largest may be dropped: HiGHS's 1e-9, and a
        margin.
    least_entry : float
        Rows are stretched until no entry lies below this.
    most_term : float
        No term of a stretched row lies beyond this, where HiGHS's tolerances would come near
        rounding errors.
    least_end : float
        Ends of ranges are scaled up to this: HiGHS's tolerance of 1e-7 is a thousandth of it.
    widest_term : float
        Beside terms beyond it HiGHS's tolerance of 1e-7 is what rounding may take: with totals of
        6e8 and a margin of 2.5 its optimum was 393,443 where 85,246 is right.
    small_numbers : float
        Units are changed only where a row's numbers, or a real column's range, lie below this.
    met_tolerance : float
        A row broken by no more than this is met.
    model_share : float
        Share of the time limit for making a model: what follows takes as long again.
    limits_share : float
        Share of the time limit for a first card within limits on errors, or the proof of none.
    few_rows : int
        With more rows "auto" takes the tree without a limit on terms as well, if columns are few or
        terms have a price.
    tree_terms : int
        Terms up to which "auto" searches the 0-1 loss by supports.
    tree_columns : int
        Columns without a limit on terms up to which "auto" searches the 0-1 loss by supports.
    again_share : float
        Time for a second run, as a fraction of the first.
    again_seconds : float
        Seconds for a second run on top of that.
    conflict_seconds : float
        Seconds spent on naming the constraints that conflict, at most.
    grace : float
        Seconds past the time limit after which our own watchdog stops HiGHS.
    whole_tolerance : float
        A bound of an integer column this close to a whole number is that number.
    free_tolerance : float
        A reduced cost below this counts as 0 for a column without finite bounds.
    spare_reach : float
        Relative reach beyond their range of columns that are paid for.
    least_cost : float
        HiGHS's dual tolerance is 1e-7, whatever the costs: much smaller ones than this are scaled
        up.
    newton_steps : int
        Newton steps for the best slope and intercept of a tangent's point.
    derivative_step : float
        Relative step of a numerical derivative of the penalty.
    hidden_tolerance : float
        What HiGHS's tolerances can hide of a bound, in the scaled objective.
    scaled_objective : float
        Size to which the master's objective is scaled: HiGHS's tolerances are absolute.
    scale_fit : float
        Multiple of that size, as much or as little, that an objective may have.
    newton_halvings : int
        Halvings of a Newton step.
    steepest_entry : float
        HiGHS takes no larger entry of a row.
    """

    most_growths: int = 30
    cost_scale: float = 100.0
    good_bound: float = 1e-8
    nearby_steps: int = 200
    dual_tolerance: float = 1e-6
    polish_slack: float = 1e-9
    polish_steps: int = 5
    limit_share: float = 0.5
    most_planes: int = 400
    improvements: int = 10
    plane_share: float = 0.02
    roundings: int = 12
    descent_totals: float = 1e6
    vain_descents: int = 6
    dive_every: int = 25
    row_tolerance: float = 1e-7
    rows_added: int = 100
    dropped_share: float = 1e-8
    least_entry: float = 2.0**-20
    most_term: float = 2.0**17
    least_end: float = 1e-4
    widest_term: float = 1e8
    small_numbers: float = 0.5
    met_tolerance: float = 1e-6
    model_share: float = 0.4
    limits_share: float = 0.6
    few_rows: int = 100
    tree_terms: int = 12
    tree_columns: int = 10
    again_share: float = 1.0
    again_seconds: float = 1.0
    conflict_seconds: float = 10.0
    grace: float = 0.5
    whole_tolerance: float = 1e-9
    free_tolerance: float = 1e-9
    spare_reach: float = 1e-9
    least_cost: float = 2.0**-9
    newton_steps: int = 60
    derivative_step: float = 1e-6
    hidden_tolerance: float = 1e-6
    scaled_objective: float = 512.0
    scale_fit: float = 64.0
    newton_halvings: int = 30
    steepest_entry: float = 1e15


POLICY = SolverPolicy()
"""What runs are tuned with; tests set another."""
