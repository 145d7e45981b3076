"""What its engines are tuned with."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SharedPolicy:
    """What every tree search is tuned with, measured by benchmarks/bench_risk.py."""

    most_trace: int = 10_000  # moments of the trace; beyond it every second one is forgotten
    # values that all coefficients together may take: each has a place in the tables
    most_points: int = 2_000_000
    # bits of the first of two whole numbers that hold a total where columns have no step
    first_bits: int = 58
    second_bits: int = 60  # bits of the second one
    zero_noise: float = 1e-12  # what rounding leaves open of a smooth loss next to 0
    # share of the gap at which nodes are closed, so that rounding never leaves it just unproved
    gap_share: float = 0.999
    node_bytes: int = 128  # bytes of a node's number and its place in the heap
    parts_ahead: int = 3  # parts that are out per worker, so that a slow one keeps nobody waiting
    # nanoseconds of counted work in a part: long beside its way, short beside a search
    part_work: float = 1.5e9
    # times that processes are replaced: a part that kills its process would kill the next one too
    most_replacements: int = 3
    triples_written: int = 1 << 15  # triples written in one go
    triples_counted: int = 100_000  # triples counted between two looks at the work


POLICY = SharedPolicy()
"""What runs are tuned with; tests set another."""
