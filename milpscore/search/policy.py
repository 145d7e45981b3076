"""What its engines are tuned with."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SearchPolicy:
    """Work limits of the searches for a first card, measured by benchmarks/bench_risk_fast.py.

    Attributes
    ----------
    widest_range : int
        For wider ranges, search integer points up to this size plus the range's end points.
    most_levels : int
        Distinct values of a column up to which rows are grouped by them.
    same_loss : float
        Relative distance of losses below which two supports count as the same.
    no_gain : float
        A step that promises a smaller fall of the loss is not taken.
    refit_steps : float
        Steps of work that a refit takes per group of rows and pair of columns.
    rule_steps : float
        Steps of work to ask the constraints about one support.
    least_points : float
        A weight that is fewer points than these, where the largest one is at its range, is lost.
    block_entries : int
        Entries of the matrix swept at a time: they and as many results stay in the cache.
    trial_entries : int
        Entries of the matrix of trial totals made at a time.
    tried_moves : int
        Neighbours evaluated at each step of a polish, the most promising of the quadratic model.
    polish_steps : int
        Steps of a polish, at most.
    limited_work : int
        Work of a row total if errors are limited: some intercepts are looked for.
    spread_rows : int
        Whole totals are numbered without sorting if this number of rows falls on each, gaps
        included.
    move_totals : int
        What it costs to look at one direction, in row totals, however few they are.
    total_entries : int
        Entries of the matrix of totals made at a time.
    repair_steps : int
        Steps of a repair, at most.
    wide_range : int
        For wider ranges, try only the values near the current one, and 0.
    least_gain : float
        Relative fall of the objective that counts as better.
    most_terms : int
        Terms of a support, at most.
    judged_points : int
        Points of each size that are judged by another loss.
    most_starts : int
        Starts of a search under constraints.
    nearly_parted : float
        From this share of the loss without points on, the last way of moves is tried.
    mended_points : int
        Points found, and supports, from which allowed ones are sought where none was allowed.
    most_turns : int
        Turns of roundings and moves.
    descent_totals : float
        Row totals a descent under constraints may compute.
    descent_share : float
        Share of the work for these descents.
    turn_steps : float
        Steps of work of one turn.
    roundings : int
        Roundings of a support.
    single_passes : int
        Passes over all entries for moves of one column.
    paired_passes : int
        Passes over all entries for moves of two columns.
    judge_steps : int
        Steps of work per row to judge points by another loss.
    parted_loss : float
        Loss below which rows count as parted.
    exact_decrement : float
        Newton's decrement at which an exact fit ends.
    most_secants : int
        Secants to a root, at most.
    root_tolerance : float
        Relative distance of two secants' ends at which a root is found.
    path_ratio : float
        Least penalty of the path, as a share of the largest.
    path_tol : float
        Relative gap of the models of the path.
    path_steps : int
        Steps per model of the path.
    most_scales : int
        Scales that real coefficients are rounded at.
    cell_totals : float
        Row totals that cost as much as one column's share of one model of the path.
    fewest_rows : int
        A path on fewer rows says little of the others.
    work_shares : int
        Shares of the work: each size of a start has one.
    small_sizes : int
        Sizes up to which a start has two shares.
    judged_starts : int
        Starts that are judged exactly.
    """

    widest_range: int = 1000
    most_levels: int = 256
    same_loss: float = 1e-9
    no_gain: float = 1e-12
    refit_steps: float = 4.0
    rule_steps: float = 2e4
    least_points: float = 0.45
    block_entries: int = 1 << 16
    trial_entries: int = 4_000_000
    tried_moves: int = 24
    polish_steps: int = 200
    limited_work: int = 10
    spread_rows: int = 16
    move_totals: int = 5000
    total_entries: int = 4_000_000
    repair_steps: int = 200
    wide_range: int = 40
    least_gain: float = 1e-9
    most_terms: int = 30
    judged_points: int = 8
    most_starts: int = 2
    nearly_parted: float = 0.1
    mended_points: int = 8
    most_turns: int = 5
    descent_totals: float = 1e6
    descent_share: float = 0.25
    turn_steps: float = 1e8
    roundings: int = 50
    single_passes: int = 3
    paired_passes: int = 20
    judge_steps: int = 100
    parted_loss: float = 1e-9
    exact_decrement: float = 1e-12
    most_secants: int = 100
    root_tolerance: float = 1e-15
    path_ratio: float = 0.01
    path_tol: float = 1e-3
    path_steps: int = 300
    most_scales: int = 12
    cell_totals: float = 1.0
    fewest_rows: int = 100
    work_shares: int = 12
    small_sizes: int = 5
    judged_starts: int = 5


POLICY = SearchPolicy()
"""What runs are tuned with; tests set another."""
