"""Tables dealt to sites as counts, held against the rows; small cells, against fillings of them."""

from __future__ import annotations

import itertools
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from fuzz.meaning import Array
from fuzz.running import Counts, Wrong

ROWS, COLUMNS, FILLINGS = 60, 3, 40


def dealt(rng: np.random.Generator) -> tuple[Array, Array, Array, Array]:
    """Draw rows, classes, weights and the site of each."""
    n, p = int(rng.integers(8, ROWS)), int(rng.integers(1, COLUMNS + 1))
    X = rng.integers(0, int(rng.integers(2, 4)), (n, p)).astype(float)
    y = np.where(X @ rng.integers(-1, 2, p) + rng.normal(size=n) > 0, 1, -1)
    y[:2] = 1, -1
    weight = np.ones(n) if rng.random() < 0.6 else rng.choice([0.5, 1.0, 2.0], n)
    return X, y, weight, rng.integers(0, int(rng.integers(1, 5)), n)


def check_sites(rng: np.random.Generator, counts: Counts) -> None:
    """Read the counts of one table's sites, and solve both; then withhold small cells."""
    from milpscore.core.design import Column, Design
    from milpscore.data import read_counts, write_counts
    from milpscore.formulations import risk_score
    from milpscore.solvers import solve

    X, y, weight, site = dealt(rng)
    names = tuple(Column(f"x{j}", f"x{j}") for j in range(X.shape[1]))

    def design(rows: Any = slice(None)) -> Any:
        return Design(X[rows], y[rows], weight[rows], names)

    counts.instances += 1
    given = f"{X.tolist()!r}, {y.tolist()!r}, {weight.tolist()!r}, sites {site.tolist()!r}: "
    small: dict[str, Any] = {
        "coef_min": -1, "coef_max": 1, "scale": 1.0, "intercept": "integer", "l0_penalty": 0.01,
    }  # fmt: skip
    with TemporaryDirectory() as folder:

        def write(withhold: int) -> list[Path]:
            return [
                write_counts(design(site == k), Path(folder) / f"{k}.json", withhold=withhold)
                for k in np.unique(site)
            ]

        pooled, whole = read_counts(*write(0)), design()
        both = pooled.merged, whole.merged
        alike = all(
            np.array_equal(getattr(both[0], part), getattr(both[1], part))
            for part in ("X", "y", "weight")
        )
        if not alike or pooled.fingerprint != whole.fingerprint:
            raise Wrong("counts", f"{given}other rows than the table's")
        ours, theirs = (solve(risk_score(each, **small), "tree") for each in (pooled, whole))
        if ours.objective != theirs.objective or ours.dual_bound != theirs.dual_bound:
            raise Wrong("counts", f"{given}{ours.objective!r} where {theirs.objective!r}")
        counts.answers["pooled"] += 1
        if (weight == 1.0).all():
            hold_fillings(write(int(rng.integers(2, 6))), rng, small, given)
            counts.answers["withheld"] += 1


def hold_fillings(
    paths: list[Path], rng: np.random.Generator, small: dict[str, Any], given: str
) -> None:
    """Hold a card and its bound against random fillings, and the extreme ones."""
    from milpscore.data import read_counts
    from milpscore.withheld import fit_withheld

    found = fit_withheld(paths, progress=False, **small)
    low, high = (read_counts(*paths, withheld=end) for end in ("least", "most"))
    X, y, p = high.X, high.y, high.shape[1]
    ends = low.weight.astype(np.int64), high.weight.astype(np.int64)
    fillings = [*ends, *(rng.integers(*ends, endpoint=True) for _ in range(FILLINGS))]
    fillings = [each / each.sum() for each in np.asarray(fillings, dtype=float)]
    least = np.inf
    reach = 2 * int(np.abs(X).sum(axis=1).max()) + 4
    for *w, b in itertools.product(*[range(-1, 2)] * p, range(-reach, reach + 1)):
        lost = np.logaddexp(0.0, -y * (X @ np.array(w) + b))
        charge = 0.01 * np.count_nonzero(w)
        least = min(least, *(float(share @ lost) + charge for share in fillings))
    if found.bound > least + 1e-9:
        raise Wrong("bound", f"{given}{found} but a card has {least!r}")
    card: Any = found.result.card
    own = np.logaddexp(0.0, -y * (X @ card.coefficients + float(card.intercept)))
    mine = [float(share @ own) + 0.01 * card.nonzeros for share in fillings]
    if min(mine) < found.least - 1e-9 or max(mine) > found.most + 1e-9:
        raise Wrong("ends", f"{given}{found} but a filling gives {min(mine)!r}, {max(mine)!r}")
