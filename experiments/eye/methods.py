"""EYE and its rivals on one draw of the data: fitted along a path, chosen, and tested."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import msgspec
import numpy as np

from experiments.eye.data import CredibleData
from experiments.eye.measures import EPS, sparsest_accurate
from experiments.runner import Experiment, Result
from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import DataError
from milpscore.core.statement import ProxPenalty
from milpscore.metrics import auc
from milpscore.penalties import EYE, L1, OWL, ElasticNet, WeightedL1, WeightedL2
from milpscore.proximal import path

METHODS = ("eye", "weighted_l1", "weighted_l2", "l1", "elastic_net", "owl")


class Protocol(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the runs of an experiment share.

    ``train`` and ``validation`` are shares of the rows, in their order; the rest is for the test. A
    path has ``n_lams`` weights in geometric progression, the last ``ratio`` times the first, the
    least that makes the model null; the weighted ridge, which no lam makes null, has its own ends,
    ``ridge_lams``. ``unknown_weights`` are those of the unknown features in the weighted lasso and
    ridge, known ones having 1; ``l1_ratios`` are of the elastic net; a model is done at the
    relative duality gap ``tol``. The rest is for :func:`sparsest_accurate`.
    """

    train: float = 0.5
    validation: float = 0.25
    n_lams: int = 20
    ratio: float = 1e-3
    ridge_lams: tuple[float, float] = (10.0, 1e-4)
    unknown_weights: tuple[float, ...] = (1.0, 1.5, 2.0, 2.5, 3.0)
    l1_ratios: tuple[float, ...] = (0.1, 0.3, 0.5, 0.7, 0.9)
    tol: float = 1e-6
    n_bootstrap: int = 100
    level: float = 0.05


class EyeExperiment(Experiment, frozen=True, kw_only=True):
    """Every method fitted to the same draw of the data; a run is one draw."""

    n_samples: int = 5000
    protocol: Protocol = Protocol()
    eps: float = EPS
    """Smoothing of the symmetric KL; no setting of the runs, which keep the coefficients."""

    free: ClassVar[frozenset[str]] = frozenset({"eps"})

    def drawn(self, seed: np.random.SeedSequence) -> CredibleData:
        """The data of a run."""
        raise NotImplementedError

    def __call__(self, run: int) -> Result:
        """Draw, fit, choose and test; coefficients are kept to six digits, for any measure."""
        drawing, sampling = np.random.SeedSequence([self.random_state, run]).spawn(2)
        data = self.drawn(drawing)
        split = split_rows(data, self.protocol)
        methods = {}
        for method in METHODS:
            started = time.process_time()
            # the same bootstrap samples for every method
            found = choose(method, data, split, self.protocol, np.random.default_rng(sampling))
            scores = data.X[split.test] @ found.coefficients + found.intercept
            methods[method] = {
                "coefficients": [float(f"{value:.6g}") for value in found.coefficients.tolist()],
                "intercept": found.intercept,
                "settings": found.settings,
                "auc": auc(data.y[split.test], scores),
                "gap": found.worst_gap,
                "n_candidates": found.n_candidates,
                "n_kept": found.n_kept,
                "cpu_seconds": round(time.process_time() - started, 3),
            }
        return {
            "seed": [self.random_state, run],
            "sizes": [len(group) for group in data.groups],
            "expert": data.expert.astype(int).tolist(),
            "group_weights": [float(data.theta[group].sum()) for group in data.groups],
            "methods": methods,
        }


@dataclass(frozen=True, eq=False)
class Split:
    """Rows for fitting, choosing and testing."""

    train: IntArray
    validation: IntArray
    test: IntArray


def split_rows(data: CredibleData, protocol: Protocol) -> Split:
    """Cut the rows, which are drawn independently, in their order; both classes in each part."""
    n = len(data.y)
    ends = np.cumsum([round(protocol.train * n), round(protocol.validation * n)])
    split = Split(*np.split(np.arange(n), ends))
    for name in ("train", "validation", "test"):
        if len(np.unique(data.y[getattr(split, name)])) < 2:
            raise DataError(f"the {name} rows hold one class only: draw more rows")
    return split


@dataclass(frozen=True, eq=False)
class Chosen:
    """The model of all its candidates that the rule leads to, and the largest gap of any."""

    coefficients: FloatArray
    intercept: float
    settings: Mapping[str, Any]
    worst_gap: float
    n_candidates: int
    n_kept: int


def choose(
    method: str, data: CredibleData, split: Split, protocol: Protocol, random_state: Any
) -> Chosen:
    """Fit a method's paths to the training rows and choose one model on the validation rows."""
    X, y = data.X[split.train], data.y[split.train]
    settings: list[dict[str, Any]] = []
    weights, intercepts, gaps = [], [], []
    for extra, penalty, lams in _candidates(method, data.expert, protocol):
        found = path(
            X, y, penalty=penalty, lams=lams, n_lams=protocol.n_lams, ratio=protocol.ratio,
            tol=protocol.tol,
        )  # fmt: skip
        settings += [{"lam": lam, **extra} for lam in found.lams.tolist()]
        weights.append(found.coefficients)
        intercepts.append(found.intercepts)
        gaps.append(float(found.table["gap"].max()))
    w, b = np.concatenate(weights), np.concatenate(intercepts)
    at, kept = sparsest_accurate(
        data.y[split.validation], data.X[split.validation] @ w.T + b, w,
        n_bootstrap=protocol.n_bootstrap, level=protocol.level, random_state=random_state,
    )  # fmt: skip
    return Chosen(w[at], float(b[at]), settings[at], max(gaps), len(w), int(kept.sum()))


def _candidates(
    method: str, expert: FloatArray, protocol: Protocol
) -> Iterator[tuple[dict[str, Any], ProxPenalty, FloatArray | None]]:
    """What a method sweeps besides lam: settings, a penalty, lams where it needs its own."""
    p, known = len(expert), int((expert > 0).sum())
    if method == "eye":
        yield {}, EYE(1.0, expert=expert), None
    elif method == "l1":
        yield {}, L1(1.0), None
    elif method == "elastic_net":
        for share in protocol.l1_ratios:
            yield {"l1_ratio": share}, ElasticNet(1.0, l1_ratio=share), None
    elif method == "owl":
        doubled = np.where(np.arange(p) < known, 2.0, 1.0)
        yield {"weights": "largest"}, OWL.sup_norm(1.0, p), None
        yield {"weights": "doubled"}, OWL(1.0, weights=doubled), None
    else:
        for weight in protocol.unknown_weights:
            weights = 1.0 + (weight - 1.0) * (1.0 - expert)
            if method == "weighted_l1":
                yield {"unknown": weight}, WeightedL1(1.0, weights=weights), None
            else:
                lams = np.geomspace(*protocol.ridge_lams, protocol.n_lams)
                yield {"unknown": weight}, WeightedL2(1.0, weights=weights), lams
