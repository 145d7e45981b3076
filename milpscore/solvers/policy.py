"""What its engines are tuned with."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SolverPolicy:
    """What the solvers outside the trees are tuned with."""

    # times that a cone may be enlarged and solved again; every time it at least doubles
    most_growths: int = 30
    cost_scale: float = 100.0  # factor on costs for a second try of a conic solver that failed
    good_bound: float = 1e-8  # relative gap from which no better dual point is sought
    nearby_steps: int = 200  # proximal steps towards a dual point near a conic solver's answer
    # residual below which a solver's own dual objective counts as a bound
    dual_tolerance: float = 1e-6
    # relative cost that a polished point may have more: far less than the solver's own tolerance,
    # and nothing against exact zeros
    polish_slack: float = 1e-9
    polish_steps: int = 5  # proximal steps of a polish
    limit_share: float = 0.5  # share of the time left for one limit on errors
    most_planes: int = 400  # tangents of one cutting-plane loop, at most
    vain_planes: int = 20  # cutting planes in a row that change neither point nor bound
    # improving solutions after which a round stops: its tangents are outdated by then
    improvements: int = 10
    # tangents other than those of whole points are kept within this share of the gap
    plane_share: float = 0.02
    roundings: int = 12  # multiples of real coefficients that are rounded where the scale is free
    descent_totals: float = 1e6  # row totals that a descent from a rounded card may compute
    vain_descents: int = 6  # descents without a better card after which cards are only rounded
    dive_every: int = 25  # expanded nodes of the support tree per dive for a better card
    row_tolerance: float = 1e-7  # a row broken by no more than this is kept out of an LP
    rows_added: int = 100  # broken rows added to an LP at once, at most
    # entries of up to this share of their row's largest may be dropped: HiGHS's 1e-9, and a margin
    dropped_share: float = 1e-8
    least_entry: float = 2.0**-20  # rows are stretched until no entry lies below this
    # no term of a stretched row lies beyond this, where HiGHS's tolerances would come near rounding
    # errors
    most_term: float = 2.0**17
    # ends of ranges are scaled up to this: HiGHS's tolerance of 1e-7 is a thousandth of it
    least_end: float = 1e-4
    # beside terms beyond it HiGHS's tolerance of 1e-7 is what rounding may take: with totals of 6e8
    # and a margin of 2.5 its optimum was 393,443 where 85,246 is right
    widest_term: float = 1e8
    # units are changed only where a row's numbers, or a real column's range, lie below this
    small_numbers: float = 0.5
    met_tolerance: float = 1e-6  # a row broken by no more than this is met
    # share of the time limit for making a model: what follows takes as long again
    model_share: float = 0.4
    # share of the time limit for a first card within limits on errors, or the proof of none
    limits_share: float = 0.6
    first_share: float = 0.1  # share of the time left for a first card, as a fit's start has
    # seconds a first card takes at least: a model that is made sooner is solved without one
    first_seconds: float = 0.1
    # the dual bound of hinge losses: turns of pricing the terms, steps of a turn, widths over which
    # the kink is rounded as shares of the margin, and what rounding may take of the dual's parts
    hinge_turns: int = 12
    hinge_steps: int = 100
    hinge_widths: tuple[float, ...] = (0.3, 0.1, 0.03)
    hinge_rounding: float = 1e-10
    again_share: float = 1.0  # time for a second run, as a fraction of the first
    again_seconds: float = 1.0  # seconds for a second run on top of that
    again_nodes: int = 1000  # the same where nodes take the place of seconds
    why_share: float = 0.1  # share of the time left to say why, should there be no card
    conflict_seconds: float = 10.0  # seconds spent on naming the constraints that conflict, at most
    # HiGHS 1.15.1 loops in presolve beyond 2^31, deaf to time limits and interrupts
    max_integer: float = 1e9
    # HiGHS prunes so far below its incumbent, and its presolve fixes columns whose reduced costs
    # lie within a tenth: at its default of 1e-6 an optimum proved to the last digit misses the
    # claim, and entries of 1e-5 beside a margin of 100 do not count. At 1e-7 HiGHS 1.15.1 can miss
    # a card three hundredths better beside entries of 2e4 (ten columns, four rows); below rounding
    # errors, beside terms of 1e8, the first may be too strict: a second run is at the other one
    mip_tolerance: float = 1e-9
    other_tolerance: float = 1e-7
    lp_tolerance: float = 1e-6  # bounds of linear programs are recomputed
    # share of what a claim allows: a bound so close to the incumbent cannot change the claim
    claim_share: float = 0.4
    grace: float = 0.5  # seconds past the time limit after which our own watchdog stops HiGHS
    # a bound of an integer column this close to a whole number is that number
    whole_tolerance: float = 1e-9
    # an objective of a user's own this close to its bound meets it
    own_rounding: float = 1e-9
    # a row's end below this share of its entries is what rounding left of 0
    end_noise: float = 1e-12
    # a reduced cost below this counts as 0 for a column without finite bounds
    free_tolerance: float = 1e-9
    spare_reach: float = 1e-9  # relative reach beyond their range of columns that are paid for
    # HiGHS's dual tolerance is 1e-7 for all costs: much smaller ones than this are scaled up
    least_cost: float = 2.0**-9
    newton_steps: int = 60  # Newton steps for the best slope and intercept of a tangent's point
    derivative_step: float = 1e-6  # relative step of a numerical derivative of the penalty
    # what HiGHS's tolerances can hide of a bound, in the scaled objective
    hidden_tolerance: float = 1e-6
    # size to which the master's objective is scaled: HiGHS's tolerances are absolute
    scaled_objective: float = 512.0
    # multiple of that size, as much or as little, that an objective may have
    scale_fit: float = 64.0
    # hull covers, measured on haberman and breastcancer: entries of merged rows up to which they
    # are looked for; rounds; rows of a class, over all boundaries, and new covers per round
    cover_entries: int = 50_000
    cover_rounds: int = 12
    cover_rows: int = 300
    covers_at_once: int = 150
    cover_lack: float = 0.02  # what a cover must lack of 1 to be added
    cover_slack: float = 0.3  # how far above 1 at the end a cover is left out
    cover_rise: float = 0.005  # relative rise of the bound below which rounds end
    cover_time: float = 0.2  # share of the time limit for the rounds, at most
    cover_share: float = 0.9  # of the gap: what columns left out of a cover may make up
    newton_halvings: int = 30  # halvings of a Newton step
    steepest_entry: float = 1e15  # HiGHS takes no larger entry of a row


POLICY = SolverPolicy()
"""What runs are tuned with; tests set another."""
