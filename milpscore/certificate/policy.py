"""What certificates are tuned with."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class EvidencePolicy:
    """What growing and checking evidence is tuned with.

    Attributes
    ----------
    margin : float
        Leaves are closed this much above the bound they are to prove, relatively: the checker
        rounds downwards.
    kink : float
        Rows this close to the margin state their multiplier; at others the point determines it.
    least_room : float
        Share of the weight by which rounding may leave a line off level.
    whole : float
        Distance from an allowed value, as a share of a gap, up to which a coordinate is on it.
    wide_slopes : float
        Factor between the ends of a range of slopes beyond which it is parted where it alone keeps
        a box open.
    narrowest_slopes : float
        Relative width from which slopes are split no further.
    bytes_per_number : int
        Estimated size in the file.
    report_every : int
        Nodes, or choices of columns, between two reports of progress.
    cells_share : float
        Of the time, for choices of columns that lines then need not close.
    few_choices : int
        Choices of columns counted by the checker's own way before the engine lists them.
    most_left, most_missed : int
        Choices that cells may leave to lines, found in the first way and in the second; beyond
        it, lines close everything.
    count_share, pairs_share : float
        Shares of the time for counting errors, then for lines of pairs; counting gets the rest.
    few_cells : int
        Choices of columns and of points looked at in a box that a line of pairs leaves open, before
        it is split.
    most_differences : int
        Pairs of rows and columns beyond which boxes of decided signs are left to cells.
    pair_bits : int
        Weights of pairs are whole multiples of this power of 1/2 of a row's share.
    listing_slice : float
        Nanoseconds of the engine's enumeration between two looks at the clock.
    choice_cost : float
        Nanoseconds of looking at a choice that a split is to part.
    lines_favour : float
        Work that lines are given per work of listing choices: they are checked sooner.
    most_newton, ridge, longest_step, newton_step
        Newton's method for the real weights of a choice: steps at most, what is added to the
        curvature, the longest step, and a step so short that it is the last one.
    solve_factor : float
        Seconds of CPU time for evidence by default, as a multiple of the solve's own limit.
    engine_share : float
        Of the seconds of a second opinion, for each engine but the last, which made the card and
        may be the only fast one.
    rounding : float
        Relative difference of two correctly summed objectives: libraries differ in a logarithm.
    """

    margin: float = 3e-9
    kink: float = 1e-6
    least_room: float = 1e-15
    whole: float = 1e-7
    wide_slopes: float = 1.2
    narrowest_slopes: float = 1e-9
    bytes_per_number: int = 12
    report_every: int = 64
    cells_share: float = 0.3
    few_choices: int = 50_000
    most_left: int = 300
    most_missed: int = 60_000
    count_share: float = 0.1
    pairs_share: float = 0.5
    few_cells: int = 30
    most_differences: int = 1 << 22
    pair_bits: int = 12
    listing_slice: float = 1e8
    choice_cost: float = 3e3
    lines_favour: float = 4.0
    most_newton: int = 60
    ridge: float = 1e-13
    longest_step: float = 4.0
    newton_step: float = 1e-12
    solve_factor: float = 3.0
    engine_share: float = 0.25
    rounding: float = 1e-12


POLICY = EvidencePolicy()
"""What evidence is tuned with; tests set another."""
