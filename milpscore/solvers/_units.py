"""Units for the rows and columns of a program in HiGHS, and what no unit brings within its reach.

HiGHS drops matrix entries of 1e-9 and below, after its presolve has brought each row's largest
entry to about 1; and its tolerances, some 1e-7, are absolute. A program in small numbers is
therefore stated to it in other units: powers of two, so that nothing is rounded.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from milpscore.core.design import BoolArray, FloatArray, IntArray
from milpscore.solvers.policy import POLICY


@dataclass(frozen=True)
class Units:
    """A variable is ``column`` times HiGHS's; HiGHS's rows are ``row`` times the model's.

    ``lost`` holds the (row, column, entry) that HiGHS may drop although they count; ``blur`` is
    what entries within its tolerances move a row by at most, as a share of the row's end. ``wide``
    is such an entry of a term too large for its arithmetic. ``idle`` marks entries that it may drop
    and that do not count, in the order of the matrix, and ``spare`` is what they move each row by.
    """

    column: FloatArray
    row: FloatArray
    idle: BoolArray
    spare: FloatArray
    lost: tuple[int, int, float] | None
    wide: tuple[int, int, float] | None
    blur: float


def units_of(
    matrix: sparse.csc_array, rhs: FloatArray, reach: FloatArray, real: BoolArray, harmless: float
) -> Units:
    """Return units for rows ``matrix @ x ~ rhs`` over columns of sizes up to ``reach``."""
    # Only columns in ``real`` have a choice. What is lost counts where it moves a row by more than
    # ``harmless`` times the least end of a row.
    known = np.where(np.isfinite(reach), reach, 1.0)
    narrow = real & (known > 0) & (known < POLICY.small_numbers)
    column = np.where(narrow, 2.0 ** np.floor(np.log2(np.where(narrow, known, 1.0))), 1.0)
    entries = sparse.coo_array(matrix)
    at: IntArray = np.asarray(entries.row, dtype=np.int64)
    terms = np.abs(entries.data) * known[entries.col]
    # a column fixed at 0 is gone before a row is looked at
    sizes = np.where(terms > 0, np.abs(entries.data) * column[entries.col], 0.0)
    ends = np.abs(rhs)
    quantum = harmless * float(ends[ends > 0].min(initial=math.inf))
    quantum = quantum if math.isfinite(quantum) else 0.0
    heard = terms > np.maximum(quantum, np.finfo(np.float64).eps * _of_rows(at, terms, len(rhs)))
    largest = np.maximum(_of_rows(at, terms, len(rhs), each=False), ends)
    # the least number that decides: an entry, or the row's end
    smallest = np.full(len(rhs), np.inf)
    np.minimum.at(smallest, at[heard], sizes[heard])
    low = np.minimum(largest, np.where(ends > 0, ends, np.inf))
    small = (largest > 0) & ((low < POLICY.small_numbers) | (smallest < POLICY.least_entry))
    wanted = np.maximum(-np.floor(np.log2(np.where(small, low, 1.0))), 0.0)
    seen = np.isfinite(smallest) & small
    wanted = np.maximum(
        wanted, np.ceil(np.log2(POLICY.least_entry / np.where(seen, smallest, 1.0)))
    )
    most = np.floor(np.log2(POLICY.most_term / np.where(small, largest, 1.0)))
    row = np.where(small, 2.0 ** np.maximum(np.minimum(wanted, most), 0.0), 1.0)
    dropped = (terms > 0) & (sizes <= POLICY.dropped_share * _of_rows(at, sizes, len(rhs)))
    idle = ~heard & dropped
    spare = np.asarray(np.bincount(at, terms * idle, len(rhs)), dtype=np.float64)
    unheard = np.bincount(at, weights=terms * ~heard, minlength=len(rhs))
    blur = float(np.divide(unheard, ends, out=np.zeros(len(rhs)), where=ends > 0).max(initial=0.0))
    lost = np.flatnonzero(heard & dropped)
    # an end that no unit brings above HiGHS's tolerances: it can tell nothing of this row
    lost = np.append(
        lost, np.flatnonzero(((ends > 0) & (ends * row < POLICY.least_end))[at] & heard)
    )
    far = np.flatnonzero((ends > 0)[at] & (terms * row[at] > POLICY.widest_term))

    def largest_of(some: IntArray, by: FloatArray) -> tuple[int, int, float] | None:
        if not len(some):
            return None
        k = int(some[np.argmax(by[some])])
        return int(at[k]), int(entries.col[k]), float(entries.data[k])

    wide = largest_of(far, np.abs(entries.data))
    return Units(column, row, idle, spare, largest_of(lost, terms), wide, blur)


def _of_rows(at: IntArray, sizes: FloatArray, rows: int, *, each: bool = True) -> FloatArray:
    """The largest size in each entry's row, or in each row."""
    largest = np.zeros(rows)
    np.maximum.at(largest, at, sizes)
    return largest[at] if each else largest
