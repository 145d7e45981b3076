"""Binarsity and its rivals: a path for each, and the model that does best on validation rows."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from milpscore.core.design import FloatArray, IntArray
from milpscore.core.statement import ProxPenalty
from milpscore.data import BinnedDesign, Binner, apply_columns
from milpscore.penalties import L1, L2, Binarsity, GroupL1, WeightedTV, data_driven_weights
from milpscore.proximal import path

METHODS = ("binarsity", "tv", "group_l1", "lasso", "ridge")
"""The penalties on one-hot bins."""

RAW_METHODS = ("raw_lasso", "raw_ridge")
"""The penalties on standardised columns."""

# of the ridge, which no finite lam makes null
_RIDGE = (1.0, 1e-6)
# rows of which the one-hot columns are written out at a time
_ROWS = 1 << 16


class PathOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the paths go.

    ``ratio`` is the smallest lam as a share of lambda_max (the ridge goes from 1 to 1e-6), ``tol``
    the relative duality gap of every model.
    """

    n_lams: int = 20
    ratio: float = 5e-3
    tol: float = 1e-5
    max_iter: int = 5000


@dataclass(frozen=True, eq=False)
class Chosen:
    """The model of a path with the least logistic loss on the validation rows.

    ``gap`` is the largest of the path, ``at_edge`` says that the smallest lam won, and
    ``cpu_seconds`` are those of the whole path.
    """

    coefficients: FloatArray
    intercept: float
    lam: float
    gap: float
    at_edge: bool
    cpu_seconds: float


def binned(binner: Binner, X: Any) -> BinnedDesign:
    """One-byte codes of a table by a fitted binner; what it never saw lies in no bin."""
    blocks = [tuple(block) for block in binner.blocks_]
    codes = [
        BinnedDesign.from_onehot(
            apply_columns(binner.columns_, X[at : at + _ROWS], unseen="zero"), blocks
        ).codes
        for at in range(0, len(X), _ROWS)
    ]
    return BinnedDesign(np.concatenate(codes), tuple(len(block) for block in blocks))


def maker(method: str, design: BinnedDesign) -> Callable[[float], ProxPenalty]:
    """What makes a method's penalty from lam; binarsity's weights come from these rows."""
    blocks = design.blocks
    in_bins = design.rmatvec(np.ones(design.shape[0]))
    weights = data_driven_weights([in_bins[list(block)] for block in blocks], blocks)
    inner = weights.copy()
    inner[[block[0] for block in blocks]] = 0.0  # parts the chain between blocks
    makers: dict[str, Callable[[float], ProxPenalty]] = {
        "binarsity": lambda lam: Binarsity(lam, blocks=blocks, weights=weights),
        "tv": lambda lam: WeightedTV(lam, inner[1:]),
        "group_l1": lambda lam: GroupL1(lam, blocks=blocks),
        "lasso": L1,
        "ridge": L2,
    }
    return makers[method]


def load_kernels() -> None:
    """Compile, or load, what the paths need, so that no method's seconds hold it."""
    rng = np.random.default_rng(0)
    design = BinnedDesign(rng.integers(0, 3, (40, 2), dtype=np.uint8))
    y = rng.integers(0, 2, 40)
    for method in METHODS:
        path(design, y, penalty=maker(method, design), lams=[0.01], tol=0.01)
    for penalty in (L1, L2):
        path(design.toarray(), y, penalty=penalty, lams=[0.01], tol=0.01)


def choose(
    method: str,
    train: tuple[Any, IntArray],
    validation: tuple[Any, IntArray],
    options: PathOptions,
) -> Chosen:
    """Fit a path on the training rows and choose on the validation rows; labels are 0/1."""
    started = time.process_time()
    lams = np.geomspace(*_RIDGE, options.n_lams) if method.endswith("ridge") else None
    raw: dict[str, Callable[[float], ProxPenalty]] = {"raw_lasso": L1, "raw_ridge": L2}
    found = path(
        *train, penalty=raw[method] if method in raw else maker(method, train[0]), lams=lams,
        n_lams=options.n_lams, ratio=options.ratio, tol=options.tol, max_iter=options.max_iter,
    )  # fmt: skip
    seconds = time.process_time() - started
    X, y = validation
    signs = np.where(y > 0, 1.0, -1.0)
    models = zip(found.coefficients, found.intercepts, strict=True)
    losses = [np.logaddexp(0.0, -signs * scores(X, w, b)).mean() for w, b in models]
    best = int(np.argmin(losses))
    return Chosen(
        found.coefficients[best],
        float(found.intercepts[best]),
        float(found.lams[best]),
        float(found.table["gap"].max()),
        best == len(losses) - 1,
        round(seconds, 3),
    )


def scores(X: Any, w: FloatArray, b: float) -> FloatArray:
    """w.x + b of each row."""
    total = X.matvec(w) if isinstance(X, BinnedDesign) else X @ w
    return np.asarray(total + b)


def count_jumps(w: FloatArray, blocks: tuple[tuple[int, ...], ...], least: float = 1e-9) -> int:
    """Neighbouring bins whose coefficients differ by more than ``least``."""
    return sum(int((np.abs(np.diff(w[list(block)])) > least).sum()) for block in blocks)


def matched(
    real: IntArray | FloatArray, found: IntArray | FloatArray, near: float
) -> dict[str, Any]:
    """Recall and precision of found places: one within ``near`` of a true one is right.

    The precision is None where nothing was found.
    """
    if not len(found):
        return {"recall": 0.0, "precision": None}
    apart = np.abs(np.asarray(real, dtype=float)[:, None] - np.asarray(found, dtype=float))
    close = apart <= near + 1e-12
    return {
        "recall": float(close.any(axis=1).mean()),
        "precision": float(close.any(axis=0).mean()),
    }
