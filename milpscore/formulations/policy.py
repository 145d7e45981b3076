"""What the formulations are tuned with."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FormulationPolicy:
    """Sizes, tolerances and scales of the programs that builders state.

    Attributes
    ----------
    integrality_tolerance : float
        What a MIP solver calls a whole number; z = 1e-6 must not excuse a row by half a unit.
    max_coefficient : int
        Points per column, in absolute value.
    max_nonzeros : int
        Nonzeros of a model; a larger one is refused.
    seconds_per_row, seconds_per_nonzero : float
        Building a model and compiling it; measured 44 us and 2.5 us.
    bytes_per_nonzero : float
        Memory of a model.
    max_ramps : int
        Kinks times columns, beyond which a cone program of Facets takes minutes and gigabytes.
    first_levels : int
        Kinks that a cone program of Facets states at first; more if an answer lies beyond them.
    max_pairs : int
        Rows for pairs of dominated rows in the strongest SLIM program.
    near_rows, compared_rows, compared_at_once : int
        Pair covers of a row, rows of a class that are looked at for them, and how many of these at
        once.
    joint_entries, joint_at_once : int
        Entries of the differences of all rows of opposite classes, up to which big-M are joint, and
        how many of them are made at once.
    large_cost : float
        Largest factor in the row of a limit on errors; larger costs are scaled to it.
    most_paired_columns : int
        Columns all pairs of which are looked at together.
    most_exposures : float
        Rows times cuts of a survival score.
    steepest, flattest : float
        Free scales: what one point adds to the score at the steepest slope, and what all points
        together add at the flattest.
    gentle_line, gentle_rows : float
        Gentle scales: what the most points of a line add to the score at the smallest one, and
        again per this number of rows of the rarer class.
    """

    integrality_tolerance: float = 1e-6
    max_coefficient: int = 10_000
    max_nonzeros: int = 10_000_000
    seconds_per_row: float = 5e-5
    seconds_per_nonzero: float = 3e-6
    bytes_per_nonzero: float = 300.0
    max_ramps: int = 200_000
    first_levels: int = 4
    max_pairs: int = 20_000
    near_rows: int = 3
    compared_rows: int = 5_000
    compared_at_once: int = 500
    joint_entries: int = 30_000_000
    joint_at_once: int = 2_000_000
    large_cost: float = 1e4
    most_paired_columns: int = 100
    most_exposures: float = 5e7
    steepest: float = 40.0
    flattest: float = 1e-3
    gentle_line: float = 5.0
    gentle_rows: float = 500.0


POLICY = FormulationPolicy()
"""What builders are tuned with; tests set another."""
