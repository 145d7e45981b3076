"""Table 3 of the EYE paper, its PhysioNet half: deaths in intensive care, 16 features known."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Literal

import numpy as np
import pandas as pd
from msgspec.structs import replace
from sklearn.model_selection import train_test_split

from experiments.eye.data import CredibleData
from experiments.eye.measures import near_zero_share
from experiments.eye.methods import METHODS, Protocol, Split, choose, split_rows
from experiments.runner import Finding, Result, Results, means_of
from experiments.sets import OfSets, file_of
from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import DataError, near_matches
from milpscore.data import read_frame
from milpscore.metrics import auc, average_precision
from milpscore.penalties import EYE
from milpscore.proximal import path

SET = "physionet2012a"
# average precision, AUC and share of near-zero weights
PAPER = {
    "expert_only": (1.0, 0.754, 0.877),
    "eye": (0.671, 0.815, 0.794),
    "weighted_l1": (0.300, 0.810, 0.824),
    "l1": (0.131, 0.823, 0.779),
    "weighted_l2": (0.209, 0.810, 0.069),
    "elastic_net": (0.153, 0.818, 0.649),
    "permuted": (0.589, 0.792, 0.779),
    "owl": (0.108, 0.794, 0.046),
}
_MEASURES = ("average_precision", "auc", "near_zero_share")
EXPERT = (
    "Age", "worst_GCS", "worst_HR", "worst_NISysABP", "worst_SysABP", "worst_RespRate",
    "worst_MechVent", "worst_Temp", "worst_Urine", "worst_HCT", "worst_BUN", "worst_Glucose",
    "worst_HCO3", "worst_K", "worst_Na", "worst_WBC",
)  # fmt: skip
"""Features of SAPS-I, by their names in the file: age, and 15 worst values of the first day."""
_VENTILATION = "MechVent"


class EyeTable3(OfSets, frozen=True, kw_only=True):
    """How many known features lead the models of mortality, and how well these predict.

    Set A of the PhysioNet challenge of 2012: 4,000 stays, 130 features, of which the expert knows
    age and the 15 worst values of SAPS-I. A quarter of the rows, drawn by class, is the test; of
    the rest two thirds train and one third chooses, as in :class:`EyeTable2`. Missing values are
    the means of the training rows, columns are standardised by them. "expert_only" is a ridge on
    the known features (its average precision is 1, as in the print); "expert_coded" adds their
    squares and marks of missing values, which SAPS-I's points for values too low and too high ask
    for; "permuted" is EYE with the marks dealt anew, its average precision that of the marks it was
    given. The other half of the table is on private data.

    Tables: ``summary``, a row per method: mean and deviation over the splits beside the print,
    which is of one split; ``curve``, a row per model of EYE's path, the means over the splits.

    References
    ----------
    Wang, Oh, Wang & Wiens, "Learning credible models" (2018), sec. 4.5 and Table 3.
    """

    sets: tuple[str, ...] = (SET,)
    protocol: Protocol = Protocol(train=0.5, validation=0.25)
    methods: tuple[str, ...] = (*PAPER, "expert_coded")
    ventilation: Literal["off", "mean"] = "off"
    """A missing record of ventilation: the file records nothing but 1, so that "mean" makes its
    four columns constant; "off" reads 0."""

    name = "eye-table3"
    repetitions = 5

    def __call__(self, run: int) -> Result:
        """Every method on one split, and EYE's path."""
        if not self.here:
            raise DataError(f"there is no {SET}.csv in {self.folder!r}")
        dealing, sampling = np.random.SeedSequence([self.random_state, run]).spawn(2)
        rng = np.random.default_rng(dealing)
        frame, y = self._table(rng)
        expert = marks_of(frame.columns)
        n_train = round(self.protocol.train * len(y))
        X = _standardised(frame.to_numpy(np.float64), n_train)
        dealt = rng.permutation(expert)
        known = np.flatnonzero(expert)
        coded = _standardised(_coded(frame.iloc[:, known]), n_train)
        ridge = replace(self.protocol, unknown_weights=(1.0,))
        asked = {
            **{method: (method, X, expert, self.protocol) for method in METHODS},
            "permuted": ("eye", X, dealt, self.protocol),
            "expert_only": ("weighted_l2", X[:, known], expert[known], ridge),
            "expert_coded": ("weighted_l2", coded, np.ones(coded.shape[1]), ridge),
        }
        split = split_rows(CredibleData(X, y, expert, (), np.zeros(len(expert))), self.protocol)
        answers: dict[str, Any] = {}
        for name in self.methods:
            method, columns, marks, protocol = asked[name]
            data = CredibleData(columns, y, marks, (), np.zeros(len(marks)))
            chosen = choose(method, data, split, protocol, np.random.default_rng(sampling))
            w = chosen.coefficients
            if name == "expert_only":
                w = np.zeros(len(expert))
                w[known] = chosen.coefficients
            ranked = {"permuted": dealt, "expert_coded": None}.get(name, expert)
            answers[name] = {
                "average_precision": None if ranked is None else average_precision(w, ranked),
                "auc": _auc(columns[split.test], y[split.test], chosen.coefficients),
                "near_zero_share": near_zero_share(w),
                "gap": chosen.worst_gap,
                **chosen.settings,
            }
        return {"methods": answers, "curve": self._curve(X, y, expert, split)}

    def _table(self, rng: np.random.Generator) -> tuple[pd.DataFrame, IntArray]:
        """Features and labels, the rows of training, validation and test in this order."""
        frame = read_frame(file_of(self.folder, SET))
        y = frame.iloc[:, 0].to_numpy(np.int64)
        order = _dealt(y, self.protocol, rng)
        frame = frame.iloc[order, 1:]
        if self.ventilation == "off":
            recorded = [name for name in frame.columns if _VENTILATION in name]
            frame = frame.assign(**{name: frame[name].fillna(0.0) for name in recorded})
        return frame, y[order]

    def _curve(
        self, X: FloatArray, y: IntArray, expert: FloatArray, split: Split
    ) -> list[dict[str, float]]:
        """The measures of every model of EYE's path."""
        protocol = self.protocol
        models = path(
            X[split.train], y[split.train], penalty=EYE(1.0, expert=expert),
            n_lams=protocol.n_lams, ratio=protocol.ratio, tol=protocol.tol,
        )  # fmt: skip
        return [
            {
                "position": position,
                "lam": float(lam),
                "average_precision": average_precision(w, expert),
                "auc": _auc(X[split.test], y[split.test], w),
                "near_zero_share": near_zero_share(w),
            }
            for position, (lam, w) in enumerate(
                zip(models.lams, models.coefficients, strict=True), start=1
            )
        ]

    def finding(self, results: Results) -> Finding:
        """Means over the splits."""
        runs = pd.DataFrame(
            [
                {"run": run, "method": method, **answer}
                for run, result in results.items()
                for method, answer in result["methods"].items()
            ]
        ).astype(dict.fromkeys(_MEASURES, float))
        paths = pd.DataFrame(
            [{"run": run, **row} for run, result in results.items() for row in result["curve"]]
        )
        paper = pd.DataFrame.from_dict(
            PAPER, orient="index", columns=[f"paper_{measure}" for measure in _MEASURES]
        )
        summary = means_of(runs, ["method"], list(_MEASURES)).join(paper, on="method")
        curve = means_of(paths, ["position"], ["lam", *_MEASURES])
        return Finding(runs=runs, summary=summary, curve=curve, notes=self.notes())


def marks_of(names: Collection[str]) -> FloatArray:
    """1 per feature that the expert knows; DataError for one that the file does not have."""
    for known in EXPERT:
        if known not in names:
            raise DataError(f"there is no feature {known!r}: {near_matches(known, names)}")
    return np.array([float(name in EXPERT) for name in names])


def _standardised(values: FloatArray, n_train: int) -> FloatArray:
    """Columns less their training means and over their deviations, missing values at the mean."""
    train = values[:n_train]
    means = np.nanmean(train, axis=0)
    spread = np.where(np.isnan(train), means, train).std(axis=0)
    filled = np.where(np.isnan(values), means, values)
    scaled: FloatArray = (filled - means) / np.where(spread > 0, spread, 1.0)
    return scaled


def _coded(frame: pd.DataFrame) -> FloatArray:
    """The features, their squares about the mean, and a mark per feature with missing values."""
    values = frame.to_numpy(np.float64)
    missing = np.isnan(values)
    centred = values - np.nanmean(values, axis=0)
    marks = missing[:, missing.any(axis=0)].astype(np.float64)
    return np.hstack([values, centred**2, marks])


def _auc(X: FloatArray, y: IntArray, w: FloatArray) -> float:
    """AUC of the linear scores, which the intercept does not change."""
    return float(auc(y, X @ w))


def _dealt(y: Any, protocol: Protocol, rng: np.random.Generator) -> Any:
    """The rows of training, validation and test one after the other, each drawn by class."""
    n = len(y)
    sizes = [round(protocol.train * n), round(protocol.validation * n)]
    parts, rest = [], np.arange(n)
    for size in sizes:
        part, rest = train_test_split(
            rest, train_size=size, stratify=y[rest], random_state=int(rng.integers(2**31))
        )
        parts.append(part)
    return np.concatenate([*parts, rest])
