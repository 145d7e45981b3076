"""One run of an experiment on credibility: every method fitted to the same drawn data."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from experiments.eye.data import CredibleData
from experiments.eye.measures import average_precision, credibility_by_group, gini, near_zero_share
from experiments.eye.protocol import METHODS, Protocol, choose, split_rows
from milpscore.core.design import FloatArray, IntArray
from milpscore.metrics import auc, nonzeros

Maker = Callable[..., CredibleData]

_DIGITS = 6


@dataclass(frozen=True)
class Experiment:
    """A generator of data and the protocol for what is fitted to them; a run is one draw.

    Run k draws its data and its bootstrap from the seed (random_state, k), whatever the number of
    runs.

    Parameters
    ----------
    make : callable
        A generator of ``milpscore.data``.
    arguments : mapping
        Its arguments besides the seed.
    protocol : Protocol
    random_state : int
    """

    make: Maker
    arguments: Mapping[str, Any]
    protocol: Protocol
    random_state: int

    def settings(self) -> dict[str, Any]:
        """Everything a run depends on besides its number."""
        return {**self.arguments, **asdict(self.protocol), "random_state": self.random_state}

    def __call__(self, run: int) -> dict[str, Any]:
        """Draw, fit, choose and test; coefficients are kept to six digits, for any measure."""
        drawing, sampling = np.random.SeedSequence([self.random_state, run]).spawn(2)
        data = self.make(**self.arguments, random_state=drawing)
        split = split_rows(data, self.protocol)
        methods = {}
        for method in METHODS:
            started = time.process_time()
            # the same bootstrap samples for every method
            found = choose(method, data, split, self.protocol, np.random.default_rng(sampling))
            scores = data.X[split.test] @ found.coefficients + found.intercept
            methods[method] = {
                "coefficients": _rounded(found.coefficients),
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


def measures(run: int, result: Mapping[str, Any], eps: float) -> list[dict[str, Any]]:
    """The measures of sec. 4.1 of a finished run, one row a method."""
    expert = np.array(result["expert"], dtype=np.float64)
    groups = group_places(result["sizes"])
    rows = []
    for method, found in result["methods"].items():
        w = np.array(found["coefficients"], dtype=np.float64)
        rows.append(
            {
                "run": run,
                "method": method,
                "sym_kl": float(credibility_by_group(w, expert, groups, eps=eps).sum()),
                "auc": found["auc"],
                "average_precision": average_precision(w, expert) if expert.any() else np.nan,
                "gini": gini(w),
                "near_zero_share": near_zero_share(w),
                "nonzeros": nonzeros(w),
                "gap": found["gap"],
                "n_groups": len(groups),
                "n_features": len(w),
                "cpu_seconds": found["cpu_seconds"],
                **found["settings"],
            }
        )
    return rows


def group_places(sizes: list[int]) -> list[IntArray]:
    """Positions of the columns of every group, which follow one another."""
    return np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1])


def _rounded(values: FloatArray) -> list[float]:
    return [float(f"{value:.{_DIGITS}g}") for value in values.tolist()]
