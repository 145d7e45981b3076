"""What its engines are tuned with."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SharedPolicy:
    """What every tree search is tuned with, measured by benchmarks/bench_risk.py.

    Attributes
    ----------
    most_trace : int
        Moments of the trace; beyond it every second one is forgotten.
    most_points : int
        Values that all coefficients together may take: each has a place in the tables.
    first_bits : int
        Bits of the first of two whole numbers that hold a total where columns have no step.
    second_bits : int
        Bits of the second one.
    zero_noise : float
        What rounding leaves open of a smooth loss next to 0.
    node_bytes : int
        Bytes of a node's number and its place in the heap.
    parts_ahead : int
        Parts that are out per worker, so that a slow one keeps nobody waiting.
    part_work : float
        Nanoseconds of counted work in a part: long beside its way, short beside a search.
    most_replacements : int
        Times that processes are replaced: a part that kills its process would kill the next one
        too.
    triples_written : int
        Triples written in one go.
    triples_counted : int
        Triples counted between two looks at the work.
    """

    most_trace: int = 10_000
    most_points: int = 2_000_000
    first_bits: int = 58
    second_bits: int = 60
    zero_noise: float = 1e-12
    node_bytes: int = 128
    parts_ahead: int = 3
    part_work: float = 1.5e9
    most_replacements: int = 3
    triples_written: int = 1 << 15
    triples_counted: int = 100_000


POLICY = SharedPolicy()
"""What runs are tuned with; tests set another."""
