"""Products with one-hot columns held as bin codes, compiled; imported where they are used.

Codes stand feature by feature and are read once, a stretch of rows at a time, so that its part of
the other vector stays in the cache. ``slots`` says where a feature's places begin in the table.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from milpscore.core.jit import compiled

_ROWS = 2048


@compiled
def gather(codes: Any, slots: Any, table: Any, out: Any) -> None:
    """Add to ``out`` (n,) the table's entry of each code; eight features for one look at a row."""
    n, p = codes.shape
    for start in range(0, n, _ROWS):
        stop, f = min(start + _ROWS, n), 0
        while f + 8 <= p:
            c0, c1, c2, c3 = codes[:, f], codes[:, f + 1], codes[:, f + 2], codes[:, f + 3]
            c4, c5, c6, c7 = codes[:, f + 4], codes[:, f + 5], codes[:, f + 6], codes[:, f + 7]
            t0, t1 = table[slots[f] :], table[slots[f + 1] :]
            t2, t3 = table[slots[f + 2] :], table[slots[f + 3] :]
            t4, t5 = table[slots[f + 4] :], table[slots[f + 5] :]
            t6, t7 = table[slots[f + 6] :], table[slots[f + 7] :]
            for i in range(start, stop):
                first = (t0[c0[i]] + t1[c1[i]]) + (t2[c2[i]] + t3[c3[i]])
                out[i] += first + ((t4[c4[i]] + t5[c5[i]]) + (t6[c6[i]] + t7[c7[i]]))
            f += 8
        while f < p:
            c0, t0 = codes[:, f], table[slots[f] :]
            for i in range(start, stop):
                out[i] += t0[c0[i]]
            f += 1


@compiled
def count(codes: Any, slots: Any, r: Any) -> Any:
    """Sums of r (n,) by place.

    Two features and two tables in turns, for even and odd rows: a sum waits for the one before it
    where both are of one place.
    """
    n, p = codes.shape
    tables = np.zeros((2, slots[p]))
    for start in range(0, n, _ROWS):
        stop = min(start + _ROWS, n)
        for f in range(0, p, 2):
            paired = f + 1 < p
            c0, even0, odd0 = codes[:, f], tables[0, slots[f] :], tables[1, slots[f] :]
            g = f + 1 if paired else f
            c1, even1, odd1 = codes[:, g], tables[0, slots[g] :], tables[1, slots[g] :]
            i = start
            while paired and i + 2 <= stop:
                even0[c0[i]] += r[i]
                even1[c1[i]] += r[i]
                odd0[c0[i + 1]] += r[i + 1]
                odd1[c1[i + 1]] += r[i + 1]
                i += 2
            while i < stop:
                even0[c0[i]] += r[i]
                if paired:
                    even1[c1[i]] += r[i]
                i += 1
    return tables[0] + tables[1]
