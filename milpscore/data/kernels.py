"""Products with one-hot columns held as bin codes, compiled; imported where they are used.

Codes stand feature by feature, shape (p, n). Features next to each other are read as one of
``radix[f] * radix[f + 1] * ...`` joint bins, whose table stays in the cache: one lookup per group.
``ends`` (groups + 1,) says which features a group has, ``slots`` (p + 1,) where a feature's bins
begin in the table of all bins. Rows are taken a stretch at a time, so that the stretch's part of
the other vector stays in the cache too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from milpscore.core.jit import compiled, inner

_ROWS = 2048
# a table of joint bins stays in the first cache, and its making is little beside the rows
_MOST_PLACES, _ROWS_A_PLACE = 2600, 16


def grouped(places: Any, rows: int) -> tuple[Any, Any]:
    """Which features a group has, given how many places each has: ``ends`` and ``radix``."""
    most = min(_MOST_PLACES, rows // _ROWS_A_PLACE)
    ends, size = [0], 1
    for feature, k in enumerate(places.tolist()):
        if size * k > most and feature > ends[-1]:
            ends.append(feature)
            size = 1
        size *= k
    return np.array([*ends, len(places)], dtype=np.int64), places


@inner
def _join(codes: Any, first: int, last: int, radix: Any, start: int, out: Any) -> None:
    """The joint bins of features first..last-1, in the rows from ``start`` on."""
    stop = start + len(out)
    code = codes[first, start:stop]
    for i in range(len(out)):
        out[i] = code[i]
    for f in range(first + 1, last):
        code, k = codes[f, start:stop], np.uint16(radix[f])
        for i in range(len(out)):
            out[i] = out[i] * k + code[i]


@inner
def _begins(ends: Any, radix: Any) -> Any:
    """Where each group begins in the tables of joint bins, and their length."""
    begins = np.zeros(len(ends), np.int64)
    for g in range(len(ends) - 1):
        begins[g + 1] = begins[g] + np.prod(radix[ends[g] : ends[g + 1]])
    return begins


@compiled
def gather(
    codes: Any, ends: Any, radix: Any, slots: Any, table: Any, out: Any, start: int, stop: int
) -> None:
    """Write to ``out`` (n,) the sum of the table's entries of each row from start to stop - 1."""
    begins = _begins(ends, radix)
    joint = np.zeros(begins[-1])
    for g in range(len(ends) - 1):
        part, size = joint[begins[g] :], 1
        for f in range(ends[g], ends[g + 1]):
            k = radix[f]
            for a in range(size - 1, -1, -1):  # from the back: what is read is not yet written
                base = part[a]
                for c in range(k):
                    part[a * k + c] = base + table[slots[f] + c]
            size *= k
    bins = np.empty((4, _ROWS), np.uint16)
    for at in range(start, stop, _ROWS):
        m = min(_ROWS, stop - at)
        some = out[at : at + m]
        b0, b1, b2, b3 = bins[0, :m], bins[1, :m], bins[2, :m], bins[3, :m]
        some[:] = 0.0
        g = 0
        while g + 4 <= len(ends) - 1:
            _join(codes, ends[g], ends[g + 1], radix, at, b0)
            _join(codes, ends[g + 1], ends[g + 2], radix, at, b1)
            _join(codes, ends[g + 2], ends[g + 3], radix, at, b2)
            _join(codes, ends[g + 3], ends[g + 4], radix, at, b3)
            t0, t1 = joint[begins[g] :], joint[begins[g + 1] :]
            t2, t3 = joint[begins[g + 2] :], joint[begins[g + 3] :]
            for i in range(m):
                some[i] += (t0[b0[i]] + t1[b1[i]]) + (t2[b2[i]] + t3[b3[i]])
            g += 4
        while g < len(ends) - 1:
            _join(codes, ends[g], ends[g + 1], radix, at, b0)
            t0 = joint[begins[g] :]
            for i in range(m):
                some[i] += t0[b0[i]]
            g += 1


@compiled
def count(codes: Any, ends: Any, radix: Any, slots: Any, r: Any, start: int, stop: int) -> Any:
    """Sums of r (n,) by bin, over the rows from start to stop - 1.

    Even and odd rows of a group by itself have tables of their own: a sum waits for the one before
    it where both are of one bin.
    """
    begins = _begins(ends, radix)
    joint = np.zeros((2, begins[-1]))
    bins = np.empty((4, _ROWS), np.uint16)
    for at in range(start, stop, _ROWS):
        m = min(_ROWS, stop - at)
        some = r[at : at + m]
        b0, b1, b2, b3 = bins[0, :m], bins[1, :m], bins[2, :m], bins[3, :m]
        g = 0
        while g + 4 <= len(ends) - 1:
            _join(codes, ends[g], ends[g + 1], radix, at, b0)
            _join(codes, ends[g + 1], ends[g + 2], radix, at, b1)
            _join(codes, ends[g + 2], ends[g + 3], radix, at, b2)
            _join(codes, ends[g + 3], ends[g + 4], radix, at, b3)
            t0, t1 = joint[0, begins[g] :], joint[0, begins[g + 1] :]
            t2, t3 = joint[0, begins[g + 2] :], joint[0, begins[g + 3] :]
            for i in range(m):
                value = some[i]
                t0[b0[i]] += value
                t1[b1[i]] += value
                t2[b2[i]] += value
                t3[b3[i]] += value
            g += 4
        while g < len(ends) - 1:
            _join(codes, ends[g], ends[g + 1], radix, at, b0)
            t0, t1 = joint[0, begins[g] :], joint[1, begins[g] :]
            for i in range(m // 2):
                t0[b0[2 * i]] += some[2 * i]
                t1[b0[2 * i + 1]] += some[2 * i + 1]
            if m % 2:
                t0[b0[m - 1]] += some[m - 1]
            g += 1
    joint[0] += joint[1]
    table = np.zeros(slots[-1])
    for g in range(len(ends) - 1):
        part = joint[0, begins[g] :]
        size = begins[g + 1] - begins[g]
        for f in range(ends[g + 1] - 1, ends[g] - 1, -1):
            k = radix[f]
            size //= k
            for a in range(size):  # the last feature's bins apart, then the sums over these
                total = 0.0
                for c in range(k):
                    value = part[a * k + c]
                    table[slots[f] + c] += value
                    total += value
                part[a] = total
    return table
