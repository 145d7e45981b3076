"""Counts with small cells withheld: bound and ends hold for every filling, by all of them."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from designs import design

from milpscore.constraints import MaxFPR
from milpscore.core.errors import DataError, NotApplicableError, OptionError
from milpscore.data import read_counts, write_counts
from milpscore.withheld import fit_withheld

SMALL: dict[str, Any] = {
    "coef_min": -1, "coef_max": 1, "scale": 1.0, "intercept": "integer", "l0_penalty": 0.01,
}  # fmt: skip


def written(folder: Path, seed: int, withhold: int = 3) -> list[Path]:
    """Two sites of few rows with two columns."""
    rng, paths = np.random.default_rng(seed), []
    for site in range(2):
        X = rng.integers(0, 2, (12, 2)).astype(float)
        y = np.where(X @ [1.0, -1.0] + rng.normal(size=12) > 0.2, 1, -1)
        y[:2] = 1, -1
        path = folder / f"site{site}.json"
        paths.append(write_counts(design(X, y), path, withhold=withhold))
    return paths


@pytest.mark.parametrize("seed", range(6))
def test_bound_and_ends_hold_for_every_filling(tmp_path: Path, seed: int) -> None:
    paths = written(tmp_path, seed)
    found = fit_withheld(paths, progress=False, **SMALL)
    low, high = (read_counts(*paths, withheld=end) for end in ("least", "most"))
    X, y = high.X, high.y
    ranges = [range(int(a), int(b) + 1) for a, b in zip(low.weight, high.weight, strict=True)]
    assert np.prod([len(each) for each in ranges]) < 50_000
    fillings = np.array(list(itertools.product(*ranges)), dtype=float)
    shares = fillings / fillings.sum(axis=1, keepdims=True)
    card = found.result.card
    own = np.logaddexp(0, -y * (X @ card.coefficients + float(card.intercept)))
    mine = shares @ own + 0.01 * np.count_nonzero(card.coefficients)
    assert found.least == pytest.approx(mine.min())
    assert found.most == pytest.approx(mine.max())
    least = np.inf
    for *w, b in itertools.product(range(-1, 2), range(-1, 2), range(-4, 5)):
        lost = np.logaddexp(0, -y * (X @ np.array(w) + b))
        least = min(least, float((shares @ lost).min()) + 0.01 * np.count_nonzero(w))
    assert 0.0 < found.bound <= least + 1e-9
    assert found.bound <= found.least <= found.result.objective <= found.most
    assert found.rows == (int(low.weight.sum()), int(high.weight.sum()))
    assert found.scales is None
    assert "for every filling of the withheld cells" in str(found)


def test_without_withheld_cells_the_bound_is_the_search(tmp_path: Path) -> None:
    paths = written(tmp_path, 0, withhold=0)
    found = fit_withheld(paths, progress=False, **SMALL)
    assert found.least == pytest.approx(found.most)
    assert found.bound == pytest.approx(found.result.dual_bound)
    assert "least" not in json.loads(paths[0].read_text())


def test_weights_of_other_sites_stay(tmp_path: Path) -> None:
    """A site that withholds cells once made all sites' weights those of its rows."""
    few = write_counts(design([[0.0], [1.0], [1.0]], [1, -1, -1]), tmp_path / "a.json", withhold=4)
    halves = design([[0.0], [1.0], [2.0]], [1, -1, 1], [0.5, 1.5, 2.5])
    other = write_counts(halves, tmp_path / "b.json")
    for end, number in (("least", 1.0), ("middle", 2.0), ("most", 3.0)):
        found = read_counts(few, other, withheld=end)  # type: ignore[arg-type]
        weight = dict(zip(found.X[:, 0].tolist(), found.weight.tolist(), strict=True))
        assert weight == {0.0: number + 0.5, 1.0: number + 1.5, 2.0: 2.5}


def test_a_free_scale_says_where_its_bound_holds(tmp_path: Path) -> None:
    paths, card = written(tmp_path, 3), {"max_terms": 1, "l0_penalty": 0.0}
    narrow = fit_withheld(paths, scale=(1.0, 1.5), progress=False, **card)
    assert narrow.scales == (1.0, 1.5)
    assert "at scales from 1 to 1.5" in str(narrow)
    wide = fit_withheld(paths, progress=False, **card)
    assert wide.scales is None or wide.scales[0] < 1.0
    assert wide.bound <= narrow.bound + 1e-9


def test_no_small_number_leaves_the_site(tmp_path: Path) -> None:
    for path in written(tmp_path, 1, withhold=5):
        content = json.loads(path.read_text())
        assert min(content["counts"]) >= 4
        assert {
            low for low, n in zip(content["least"], content["counts"], strict=True) if low < n
        } == {1}


def test_what_cannot_be_withheld_is_refused(tmp_path: Path) -> None:
    paths = written(tmp_path, 0)
    with pytest.raises(NotApplicableError, match="limits on errors"):
        fit_withheld(paths, progress=False, constraints=[MaxFPR(0.5)], **SMALL)
    with pytest.raises(NotApplicableError, match="no exact cards"):
        fit_withheld(paths, "convex_rounding", progress=False)
    with pytest.raises(OptionError, match="withhold"):
        write_counts(design([[0.0], [1.0]], [1, -1]), tmp_path / "x.json", withhold=-1)
    with pytest.raises(OptionError, match="least, middle, most"):
        read_counts(*paths, withheld="all")  # type: ignore[arg-type]
    weighted = design([[0.0], [1.0]], [1, -1], [0.5, 1.0])
    with pytest.raises(NotApplicableError, match="weigh 1 each"):
        write_counts(weighted, tmp_path / "x.json", withhold=3)
    content = json.loads(paths[0].read_text())
    content["least"][0] = 99
    paths[0].write_text(json.dumps(content))
    with pytest.raises(DataError, match="damaged"):
        read_counts(*paths)
