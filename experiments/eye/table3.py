"""Table 3 of the EYE paper, its PhysioNet half: deaths in intensive care, 16 features known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from msgspec.structs import replace
from sklearn.model_selection import train_test_split

from experiments.eye.data import CredibleData
from experiments.eye.measures import near_zero_share
from experiments.eye.methods import METHODS, Protocol, choose, split_rows
from experiments.runner import Finding, Result, Results, means_of
from experiments.sets import OfSets, file_of
from milpscore.core.errors import DataError
from milpscore.data import read_frame
from milpscore.metrics import auc, average_precision

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
_KNOWN = "worst_"
_ALSO_KNOWN = "age"


class EyeTable3(OfSets, frozen=True, kw_only=True):
    """How many known features lead the models of mortality, and how well these predict.

    Set A of the PhysioNet challenge of 2012: 4,000 stays, 130 features, of which the expert knows
    age and the 15 worst values of SAPS-I. A quarter of the rows, drawn by class, is the test; of
    the rest two thirds train and one third chooses, as in :class:`EyeTable2`. Missing values are
    the means of the training rows, columns are standardised by them. "expert_only" is a ridge on
    the known features (its average precision is 1, as in the print); "permuted" is EYE with the
    marks dealt anew, its average precision that of the marks it was given. The other half of the
    table is on private data.

    Tables: ``summary``, a row a method: mean and deviation over the splits beside the print, which
    is of one split.

    References
    ----------
    Wang, Oh, Wang & Wiens, "Learning credible models" (2018), sec. 4.5 and Table 3.
    """

    sets: tuple[str, ...] = (SET,)
    protocol: Protocol = Protocol(train=0.5, validation=0.25)
    methods: tuple[str, ...] = tuple(PAPER)

    name = "eye-table3"
    repetitions = 5

    def __call__(self, run: int) -> Result:
        """Every method on one split."""
        if not self.here:
            raise DataError(f"there is no {SET}.csv in {self.folder!r}")
        dealing, sampling = np.random.SeedSequence([self.random_state, run]).spawn(2)
        frame = read_frame(file_of(self.folder, SET))
        names: list[str] = frame.columns[1:].tolist()
        expert = np.array([float(name.startswith(_KNOWN) or name == _ALSO_KNOWN) for name in names])
        X, y = frame.iloc[:, 1:].to_numpy(dtype=np.float64), frame.iloc[:, 0].to_numpy(np.int64)
        rng = np.random.default_rng(dealing)
        order = _dealt(y, self.protocol, rng)
        X, y = X[order], y[order]
        train = X[: round(self.protocol.train * len(y))]
        means = np.nanmean(train, axis=0)
        spread = np.where(np.isnan(train), means, train).std(axis=0)
        X = (np.where(np.isnan(X), means, X) - means) / np.where(spread > 0, spread, 1.0)
        dealt = rng.permutation(expert)
        known = np.flatnonzero(expert)
        asked = {
            **{method: (method, X, expert, self.protocol) for method in METHODS},
            "permuted": ("eye", X, dealt, self.protocol),
            "expert_only": (
                "weighted_l2", X[:, known], expert[known],
                replace(self.protocol, unknown_weights=(1.0,)),
            ),
        }  # fmt: skip
        found: dict[str, Any] = {}
        for name in self.methods:
            method, columns, marks, protocol = asked[name]
            data = CredibleData(columns, y, marks, (), np.zeros(len(marks)))
            split = split_rows(data, protocol)
            chosen = choose(method, data, split, protocol, np.random.default_rng(sampling))
            scores = columns[split.test] @ chosen.coefficients + chosen.intercept
            w = chosen.coefficients
            if name == "expert_only":
                w = np.zeros(len(expert))
                w[known] = chosen.coefficients
            found[name] = {
                "average_precision": average_precision(w, dealt if name == "permuted" else expert),
                "auc": float(auc(y[split.test], scores)),
                "near_zero_share": near_zero_share(w),
                "gap": chosen.worst_gap,
                **chosen.settings,
            }
        return found

    def finding(self, results: Results) -> Finding:
        """Means over the splits."""
        runs = pd.DataFrame(
            [
                {"run": run, "method": method, **found}
                for run, result in results.items()
                for method, found in result.items()
            ]
        )
        paper = pd.DataFrame.from_dict(
            PAPER, orient="index", columns=[f"paper_{measure}" for measure in _MEASURES]
        )
        summary = means_of(runs, ["method"], list(_MEASURES)).join(paper, on="method")
        return Finding(runs=runs, summary=summary, notes=self.notes())


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
