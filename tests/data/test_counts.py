"""Counts of several sites in the place of their rows."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from milpscore.certificate import certify
from milpscore.core.errors import DataError, NotApplicableError
from milpscore.data import (
    Binner,
    apply_columns,
    counts_head,
    make_design,
    make_survival_design,
    read_counts,
    read_patterns,
    write_counts,
)
from milpscore.fitting import fit_card


def _rows(rows=400, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {"age": rng.integers(20, 90, rows), "ward": rng.choice(["A", "B", "C"], rows),
         "bmi": rng.normal(27, 4, rows).round(1)}
    )  # fmt: skip
    score = 0.05 * (X["age"] - 60) + 0.9 * (X["ward"] == "B") + 0.1 * (X["bmi"] - 27)
    return X, (rng.random(rows) < 1 / (1 + np.exp(-score))).astype(int)


def _sites(tmp_path, X, y, weight=None, count=5):
    """Deal rows to sites; return the files, and the columns that all use."""
    shared = Binner(n_bins=4, useless="keep").fit_design(X, y)
    paths = []
    for k in range(count):
        own = np.arange(len(y)) % count == k
        site = make_design(
            apply_columns(shared.columns, X[own]), y[own], columns=shared.columns,
            blocks=shared.blocks, sample_weight=None if weight is None else weight[own],
        )  # fmt: skip
        paths.append(write_counts(site, tmp_path / f"site{k}.json"))
    return paths, shared


@pytest.mark.parametrize("formulation", ["risk_score", "slim"])
def test_cards_and_certificates_are_those_of_the_rows_byte_for_byte(tmp_path, formulation):
    X, y = _rows()
    paths, shared = _sites(tmp_path, X, y)
    pooled = read_counts(*paths)
    whole = read_patterns(
        X.assign(ill=y), "ill", columns=shared.columns, blocks=shared.blocks, positive=1
    )
    assert pooled.fingerprint == whole.fingerprint == shared.fingerprint
    assert (pooled.counts == whole.counts).all()
    proofs = []
    for design in (pooled, whole):
        program, result = fit_card(design, formulation, max_terms=3, progress=False)
        certify(program, result, progress=False).to_json(tmp_path / "proof.json")
        proofs.append((tmp_path / "proof.json").read_bytes())
    assert proofs[0] == proofs[1]
    again = read_counts(*reversed(paths))
    assert (again.X == pooled.X).all()
    assert (again.weight == pooled.weight).all()


def test_weights_are_added(tmp_path):
    X, y = _rows()
    weight = np.random.default_rng(1).choice([0.0, 0.25, 1.0, 3.0], len(y))
    paths, shared = _sites(tmp_path, X, y, weight)
    design = make_design(
        apply_columns(shared.columns, X), y, columns=shared.columns, sample_weight=weight
    )
    pooled = read_counts(*paths)
    assert pooled.weight.sum() == pytest.approx(design.weight.sum())
    cards = [
        fit_card(each, "risk_score", max_terms=2, progress=False)[1] for each in (pooled, design)
    ]
    assert cards[0].objective == pytest.approx(cards[1].objective, rel=1e-12)


@pytest.mark.parametrize("withhold", [0, 3])
def test_parquet_holds_the_same(tmp_path, withhold):
    pytest.importorskip("pyarrow", reason="counts in Parquet need PyArrow")
    X, y = _rows()
    design = Binner(n_bins=4).fit_design(X, y)
    paths = [
        write_counts(design, tmp_path / name, target="ill", withhold=withhold)
        for name in ("one.json", "one.parquet")
    ]
    text, table = (read_counts(path) for path in paths)
    assert text.fingerprint == table.fingerprint
    assert (text.counts == table.counts).all()
    assert counts_head(paths[1]) == counts_head(paths[0])
    X.to_parquet(tmp_path / "rows.parquet")
    (tmp_path / "text.parquet").write_text("no table")
    for name, said in (("rows", "does not hold counts"), ("text", "cannot read text.parquet")):
        with pytest.raises(DataError, match=said):
            read_counts(tmp_path / f"{name}.parquet")
    with pytest.raises(FileNotFoundError):
        read_counts(tmp_path / "absent.parquet")


def test_no_row_stands_in_the_file(tmp_path):
    X, y = _rows()
    paths, _ = _sites(tmp_path, X, y, count=1)
    content = json.loads(paths[0].read_text())
    assert sum(content["counts"]) == len(y)
    assert len(content["patterns"]) < len(y)
    assert "27." not in json.dumps(content["patterns"])


def test_what_does_not_fit_is_refused(tmp_path):
    X, y = _rows()
    (one, *_), _ = _sites(tmp_path, X, y)
    other = write_counts(Binner(n_bins=3).fit_design(X, y), tmp_path / "other.json")
    with pytest.raises(DataError, match="other columns"):
        read_counts(one, other)
    for old, new in (('"kind": "milpscore.counts"', '"kind": "x"'), ('"y": [', '"y": [1, ')):
        (tmp_path / "bad.json").write_text(one.read_text().replace(old, new, 1))
        with pytest.raises(DataError):
            read_counts(tmp_path / "bad.json")
    with pytest.raises(DataError, match="at least one"):
        read_counts()
    with pytest.raises(FileNotFoundError):
        read_counts(tmp_path / "absent.json")
    with pytest.raises(NotApplicableError, match="class_weight"):
        write_counts(make_design(X[["age"]], y, class_weight="balanced"), tmp_path / "c.json")
    timed = make_survival_design(X[["age"]], time=np.arange(1, 401), event=y)
    with pytest.raises(NotApplicableError, match="times"):
        write_counts(timed, tmp_path / "t.json")
