"""What the 0-1 search is tuned with."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ZeroOnePolicy:
    """Limits and shares of the 0-1 search, measured by bench_slim.py and bench_frontier.py.

    Attributes
    ----------
    clock_interval : int
        Curve entries between two checks of the clock.
    enumerate_always : float
        Visits up to which every support is enumerated.
    enumerate_if_pairs_weak : float
        Visits up to which every support is enumerated if pair bounds are weak.
    give_up_factor : float
        Work, as a multiple of ``enumerate_always``, beyond which the enumeration of unfinished
        supports is given up.
    many_open : int
        Supports left by their cells beyond which they are searched with their signs.
    pairs_share : float
        Share of the work of all supports that pair bounds get before they are judged.
    descent_programs : frozenset[int]
        Programs over pairs after which a descent begins at the last one's solution.
    alone : float
        Entries and visits before a search is shared: processes take as long to begin.
    part_entries : int
        Curve entries in a part of a shared search.
    part_visits : int
        Visits in a part of a shared search.
    part_supports : int
        Supports in a part of a shared search.
    layout_entries : int
        Curve entries that a row and column of a support count as when its walk begins.
    turns_after : float
        Curve entries after which supports with signs are searched in turns.
    turn_entries : float
        Curve entries in a turn.
    turns_below : float
        Share of the best card's objective that is proved below which turns are taken.
    rounding_slack : float
        Relative slack of a bound, against sums that round differently by the order of their
        terms.
    gap_share : float
        Share of the gap at which the search ends, so that rounding never leaves it just beyond.
    trace_rise : float
        Relative rise of the bound that is worth a line of the trace.
    trace_seconds : float
        Seconds between two lines of the trace if nothing rises.
    price_steps : int
        Prices of limits are whole multiples of this part of the weights' step.
    price_rounds : int
        Descents at new prices.
    highest_price : float
        Highest price of a limit, as a share of all weight for all cost.
    cutoff_margin : float
        Distance above the cutoff, as a share of 1, at which a search for all cards closes
        supports.
    fast_share : float
        Share of the time left for a first card by a smooth loss.
    """

    clock_interval: int = 30_000_000
    enumerate_always: float = 8e9
    enumerate_if_pairs_weak: float = 1e11
    give_up_factor: float = 1e3
    many_open: int = 3000
    pairs_share: float = 0.3
    descent_programs: frozenset[int] = frozenset((2, 8, 32, 128, 512))
    alone: float = 5e8
    part_entries: int = 300_000_000
    part_visits: int = 120_000_000
    part_supports: int = 64
    layout_entries: int = 50
    turns_after: float = 1.5e9
    turn_entries: float = 1e9
    turns_below: float = 0.5
    rounding_slack: float = 1e-12
    gap_share: float = 0.999
    trace_rise: float = 1e-3
    trace_seconds: float = 1.0
    price_steps: int = 16
    price_rounds: int = 12
    highest_price: float = 1e3
    cutoff_margin: float = 1e-8
    fast_share: float = 0.1
