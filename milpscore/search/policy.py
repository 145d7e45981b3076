"""What the searches for a first card are tuned with (bench_risk_fast.py), and may spend."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from milpscore.core.errors import OptionError, is_number


@dataclass(frozen=True)
class SearchPolicy:
    """Work limits of the searches, in Python."""

    # the work allowed
    fast_share: float = 0.3  # share of the time limit that a fast card may take, whoever asks
    steps_per_second: float = 1e9  # steps of compiled loops on a free machine, or a little more
    full_width: float = 0.5  # share of the work within which a fast search takes its full width
    totals_per_second: float = 2e6  # row totals of a start: less than a tenth of a solve's time

    # points
    noise: float = 1e-12  # smaller falls, as a share of max(1, objective), are rounding noise
    snap: float = 1e-9  # a weight this close to an allowed value is it: LP solutions carry noise
    widest_range: int = 1000  # for wider ranges: points up to this size plus the end points
    wide_range: int = 40  # for wider ranges: only shifts near the current value, and to 0
    repair_steps: int = 200  # single changes per repair, at most
    total_entries: int = 4_000_000  # entries of a matrix of totals computed at a time

    # the beam over supports
    most_terms: int = 30  # terms per support, at most
    most_levels: int = 256  # distinct values of a column up to which rows are grouped by them
    same_loss: float = 1e-9  # relative distance below which two supports count as the same
    no_gain: float = 1e-12  # a column that promises a smaller fall of the loss does not enter
    least_points: float = 0.45  # a weight of fewer points, the largest one at its range, is lost
    refit_steps: float = 4.0  # work of a refit per group of rows and pair of columns
    rule_steps: float = 2e4  # work of asking the constraints about a support

    # the fast risk score
    most_starts: int = 2  # rounded cards improved by moves, per size
    nearly_parted: float = 0.1  # share of the constant loss below which tempered moves are tried
    roundings: int = 50  # multipliers per support, for the count of work
    single_passes: int = 3  # passes over all entries for moves of one column
    paired_passes: int = 20  # passes over all entries for moves of two columns
    judged_points: int = 8  # points of each size that another loss judges
    judge_steps: int = 100  # work per row and term of judging points by another loss
    mended_points: int = 8  # points, and supports, from which allowed points are sought
    most_turns: int = 5  # turns of roundings and moves under constraints
    turn_steps: float = 1e8  # work of a turn
    descent_totals: float = 1e6  # row totals a descent under constraints may compute
    descent_share: float = 0.25  # share of the work for these descents
    parted_loss: float = 1e-9  # loss below which rows count as parted
    exact_decrement: float = 1e-12  # Newton's decrement at which an exact fit ends
    least_gain: float = 1e-9  # fall of the objective that counts as better

    # coordinate descent and other single moves
    block_entries: int = 1 << 16  # entries swept at a time: they and their results stay in cache
    trial_entries: int = 4_000_000  # entries of a matrix of trial totals computed at a time
    tried_moves: int = 24  # neighbours judged per step of a polish, by the quadratic model's order
    polish_steps: int = 200  # steps per polish, at most
    limited_work: int = 10  # work per row total if errors are limited: more intercepts are tried
    spread_rows: int = 16  # whole totals are numbered unsorted if this many rows fall on each
    move_totals: int = 5000  # fixed work of trying a direction, in row totals

    # starts from tight statements to freer ones, and from a path
    start_sizes: tuple[int, ...] = (*range(1, 11), 15, 25, 40, 65, 100, 250, 1000)  # terms
    start_points: tuple[int, ...] = (5, 10, 20, 50, 100, 1000)  # largest points
    path_ratio: float = 0.01  # least penalty of the path, as a share of the largest
    path_tol: float = 1e-3  # relative gap of the models of the path
    path_steps: int = 300  # steps per model of the path
    most_scales: int = 12  # scales at which real coefficients are rounded
    cell_totals: float = 1.0  # row totals that cost as much as a matrix entry per model
    fewest_rows: int = 100  # a path on fewer rows says little about the others
    work_shares: int = 12  # shares of the work: each size of a start has one
    small_sizes: int = 5  # sizes up to which a start has two shares
    judged_starts: int = 5  # starts judged exactly


class KernelPolicy(NamedTuple):
    """What the compiled loops are tuned with: they read it when they are compiled."""

    # Newton's method
    nearly_done: float = 1e-6  # decrement after which an error is far below a rounding's effect
    steepest_start: float = 12.0  # largest score to start from: saturated rows have no curvature
    longest_shift: float = 5.0  # longest step of the intercept alone, the first of a row of them
    ridge: float = 1e-13  # relative addition to the curvature
    growth: float = 4.0  # later steps save this much more, per share of the loss the step saves
    refit_steps: int = 12  # steps of a refit, at most: rows that can be parted never end it
    refit_decrement: float = 1e-4  # decrement of a refit's last step
    refit_loss: float = 1e-9  # loss at which a refit ends: the rows are parted

    # whole points
    better: float = 1e-9  # fall of the objective that counts as better
    single_moves: int = 6  # moves of one column judged before the search gives up
    paired_moves: int = 10  # moves of two columns judged before the search gives up
    first_moves: int = 18  # moves of one column from which a second one is sought
    loose_slope: float = 1.0 - 1e-9  # share of the steepest slope below which it does not bind
    wide_spread: float = 10.0  # spread of the scores from which pairs are priced once more
    tempered: float = 0.4  # share of the slope at which they are
    near_scale: tuple[float, ...] = tuple(np.linspace(1.4, 0.6, 9).tolist())  # times the scale
    below_range: tuple[float, ...] = tuple(np.linspace(1.6, 0.2, 24).tolist())  # of the largest
    larger_scales: int = 10  # multipliers that cut the largest weights off, if the scale is free
    largest_scale: float = 64.0  # the largest of these, in units of the largest without a cut


POLICY = SearchPolicy()
TUNED = KernelPolicy()


class Work(float):
    """Seconds' worth of work, counted in steps: a number everywhere, an allowance where asked.

    It takes the place of a `Clock` where an answer must not depend on how busy the machine is. A
    search takes its full width while there is `plenty`, then the least, and ends once it `is_up`.

    Attributes
    ----------
    cut : str
        What the allowance, or another limit, kept the search from; empty if nothing.

    Examples
    --------
    >>> work = Work.of(2)
    >>> work.spend(1.5e9)
    >>> work == 2, work.plenty, work.is_up, Work.of(work) is work
    (True, False, False, True)
    """

    spent: float
    cut: str

    def __new__(cls, seconds: float = math.inf) -> Work:
        """Return an allowance nothing of which is spent."""
        self = super().__new__(cls, seconds)
        self.spent, self.cut = 0.0, ""
        return self

    @classmethod
    def of(cls, seconds: float) -> Work:
        """The allowance itself, or one of this number of seconds, a clock's whole limit included.

        OptionError if it is not a number >= 0.
        """
        if isinstance(seconds, Work):
            return seconds
        if not is_number(seconds) or seconds < 0:
            raise OptionError(
                f"{{time_limit}} must be a number of seconds >= 0, got {seconds!r}", time_limit=...
            )
        return cls(seconds)

    def spend(self, steps: float) -> None:
        """Count steps taken, or about to be taken."""
        self.spent += steps

    @property
    def steps(self) -> float:
        """Steps allowed in all, infinite without a limit."""
        return self * POLICY.steps_per_second

    @property
    def left(self) -> float:
        """Steps left, infinite without a limit."""
        return max(self.steps - self.spent, 0.0)

    @property
    def plenty(self) -> bool:
        """Whether the search may take its full width."""
        return self.spent < POLICY.full_width * self.steps

    @property
    def is_up(self) -> bool:
        """Whether nothing is left."""
        return self.spent >= self.steps
