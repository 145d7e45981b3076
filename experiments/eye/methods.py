"""EYE and its rivals on one draw of the data: chosen on a path, or at the print's one weight."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import msgspec
import numpy as np

from experiments.eye.data import CredibleData
from experiments.eye.descent import Subgradient, adadelta
from experiments.eye.measures import sparsest_accurate
from experiments.runner import Experiment, Result
from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import DataError
from milpscore.core.statement import ProxPenalty
from milpscore.metrics import auc
from milpscore.penalties import EYE, L1, OWL, ElasticNet, WeightedL1, WeightedL2
from milpscore.proximal import fit_proximal, path

_EPS = 0.01
"""As `milpscore.metrics.symmetric_kl` has it."""

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


class Printed(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the authors ran, as far as it is known from their published code and by trial.

    One weight ``alpha`` for every penalty (:func:`printed_penalties`) and no choice among models;
    as many fresh rows to test as to train, columns standardised; ADADELTA on subgradients, batches
    in the order of the rows. The "sum over groups" of Table 2 is a mean over them (inferred).
    """

    alpha: float = 0.01
    epochs: int = 1000
    batch: int = 100
    eps: float = 1e-7


class EyeExperiment(Experiment, frozen=True, kw_only=True):
    """Every method fitted to the same draw of the data; a run is one draw.

    ``by`` is "exact" (optima along a path, chosen by the paper's rule), "print" (the authors' own
    optimiser at their one weight) or "optimum" (the exact optima at that weight).
    """

    n_samples: int = 5000
    by: Literal["exact", "print", "optimum"] = "exact"
    protocol: Protocol = Protocol()
    printed: Printed = Printed()
    eps: float | None = None
    """Smoothing of the symmetric KL, by default that of ``by``; no setting of the runs, which keep
    the coefficients."""

    free: ClassVar[frozenset[str]] = frozenset({"eps"})

    def drawn(self, n: int, seed: np.random.SeedSequence) -> CredibleData:
        """The data of a run, n rows."""
        raise NotImplementedError

    @property
    def smoothing(self) -> float:
        """The eps that counts."""
        own = _EPS if self.by == "exact" else self.printed.eps
        return own if self.eps is None else self.eps

    def __call__(self, run: int) -> Result:
        """Draw, fit and test; coefficients are kept to six digits, for any measure."""
        drawing, sampling = np.random.SeedSequence([self.random_state, run]).spawn(2)
        exact = self.by == "exact"
        data = self.drawn(self.n_samples if exact else 2 * self.n_samples, drawing)
        fits = self._chosen(data, sampling) if exact else self._at_one_weight(data, sampling)
        return {
            "seed": [self.random_state, run],
            "sizes": [len(group) for group in data.groups],
            "expert": data.expert.astype(int).tolist(),
            "group_weights": [float(data.theta[group].sum()) for group in data.groups],
            "methods": {
                method: {
                    **found,
                    "coefficients": [float(f"{w:.6g}") for w in found["coefficients"].tolist()],
                }
                for method, found in fits.items()
            },
        }

    def _chosen(self, data: CredibleData, sampling: np.random.SeedSequence) -> dict[str, Result]:
        """Every method's model of its paths."""
        split = split_rows(data, self.protocol)
        fits = {}
        for method in METHODS:
            # the same bootstrap samples for every method
            found = choose(method, data, split, self.protocol, np.random.default_rng(sampling))
            scores = data.X[split.test] @ found.coefficients + found.intercept
            fits[method] = {
                "coefficients": found.coefficients,
                "intercept": found.intercept,
                "settings": found.settings,
                "auc": auc(data.y[split.test], scores),
                "gap": found.worst_gap,
                "n_candidates": found.n_candidates,
                "n_kept": found.n_kept,
            }
        return fits

    def _at_one_weight(
        self, data: CredibleData, sampling: np.random.SeedSequence
    ) -> dict[str, Result]:
        """Every method at the print's weight: what its optimiser gives, or the optimum."""
        n = self.n_samples
        X = (data.X - data.X[:n].mean(axis=0)) / data.X[:n].std(axis=0)
        every = printed_penalties(self.printed.alpha, data.expert)
        gaps: dict[str, float | None] = dict.fromkeys(METHODS)
        if self.by == "print":
            W, b = adadelta(
                X[:n], data.y[:n], [subgradient for _, subgradient in every.values()],
                epochs=self.printed.epochs, batch=self.printed.batch,
                random_state=np.random.default_rng(sampling),
            )  # fmt: skip
        else:
            models = {
                method: fit_proximal(X[:n], data.y[:n], penalty=penalty, tol=self.protocol.tol)
                for method, (penalty, _) in every.items()
            }
            gaps = {method: model.gap for method, model in models.items()}
            W = np.stack([model.coefficients for model in models.values()], axis=1)
            b = np.array([model.intercept for model in models.values()])
        return {
            method: {
                "coefficients": W[:, at],
                "intercept": float(b[at]),
                "settings": {"lam": self.printed.alpha},
                "auc": auc(data.y[n:], X[n:] @ W[:, at] + b[at]),
                "gap": gaps[method],
            }
            for at, method in enumerate(METHODS)
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


def printed_penalties(
    alpha: float, expert: FloatArray
) -> dict[str, tuple[ProxPenalty, Subgradient]]:
    """The penalties at the print's one weight: unknown features weigh twice, OWL is the sup norm.

    The elastic net is alpha (0.2 ||w||_1 + 0.2 ||w||_2^2).
    """
    p, unknown = len(expert), 1.0 - expert
    weights = 1.0 + unknown

    def of_sup(w: FloatArray) -> FloatArray:
        largest = np.argmax(np.abs(w))
        return np.where(np.arange(p) == largest, np.sign(w), 0.0)

    every: dict[str, tuple[ProxPenalty, Subgradient]] = {
        "eye": (EYE(alpha, expert=expert), of_eye(expert)),
        "weighted_l1": (WeightedL1(alpha, weights=weights), lambda w: weights * np.sign(w)),
        "weighted_l2": (WeightedL2(alpha, weights=weights), lambda w: weights**2 * w),
        "l1": (L1(alpha), np.sign),
        "elastic_net": (
            ElasticNet(0.6 * alpha, l1_ratio=1 / 3), lambda w: 0.2 * np.sign(w) + 0.4 * w
        ),
        "owl": (OWL.sup_norm(alpha, p), of_sup),
    }  # fmt: skip
    return {
        name: (penalty, times(alpha, subgradient)) for name, (penalty, subgradient) in every.items()
    }


def times(alpha: float, subgradient: Subgradient) -> Subgradient:
    """A subgradient of alpha times a penalty."""
    return lambda w: alpha * subgradient(w)


def of_eye(expert: FloatArray) -> Subgradient:
    """A subgradient of EYE away from 0."""
    unknown = 1.0 - expert

    def at(w: FloatArray) -> FloatArray:
        part = np.abs(unknown * w).sum()
        root = np.hypot(part, np.linalg.norm(expert * w))
        slope: FloatArray = unknown * np.sign(w) * (1.0 + part / root) + expert**2 * w / root
        return slope

    return at


def of_naive(expert: FloatArray, beta: float) -> Subgradient:
    """A subgradient of (1 - beta) |r w|_2^2 + 2 beta |(1 - r) w|_1."""
    squares, sizes = 2.0 * (1.0 - beta) * expert**2, 2.0 * beta * (1.0 - expert)
    return lambda w: squares * w + sizes * np.sign(w)


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
