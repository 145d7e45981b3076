"""The tangents a search found, put into the Pyomo model and the session."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from milpscore.solvers._master import Master


def hand_back(master: Master) -> None:
    """Write the tangents into the Pyomo model and the session: exported, they are seen."""
    for index, (rows, height) in enumerate(zip(master.lists, master.heights, strict=True)):
        own = [cut.tangent for cut in master.cuts if cut.curve == index]
        made = []
        for tangent in own:
            slopes = zip(tangent.gradient.tolist(), master.points, strict=True)
            body = sum((g * v for g, v in slopes if g), start=0.0)
            made.append(rows.add(height - body >= tangent.constant))
        kept = [master.entries(cut) for cut in master.cuts if cut.curve == index]
        if not kept:
            continue
        table = np.zeros((len(kept), len(master.session.columns)))
        known = np.flatnonzero(master.where >= 0)
        table[:, master.where[known]] = -np.array([entries for entries, _ in kept])[:, known]
        table[:, master.top[index]] = 1.0
        master.session.append(made, sparse.csr_array(table), np.array([c for _, c in kept]))
    master.cuts = []
