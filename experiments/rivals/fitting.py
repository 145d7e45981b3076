"""Rival learners of risk scores as rows: each in a process of its own, judged by our own code."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import minimize

from milpscore.core.design import Design, FloatArray, IntArray
from milpscore.core.errors import NotApplicableError, OptionError
from milpscore.data import make_design

RIVALS: dict[str, str] = {
    "fasterrisk": "fasterrisk",
    "imodels": "imodels",
    "imodels_slim": "imodels",
}
"""Name -> the package it needs; ``imodels`` is its FastRiskScoreClassifier."""

_CHILD = Path(__file__).with_name("child.py")
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@dataclass(frozen=True, eq=False)
class RivalCard:
    """A rival's answer: its probability is 1 / (1 + exp(-(slope * total + shift))).

    ``points`` (p,) are as it gave them, whole or not, empty where there is an error; ``times`` are
    (CPU seconds, seconds) of each fit, the first of which also loads and compiles; ``note`` is what
    it warned of (another model in the place of the one asked for, say), ``error`` why there is no
    card.
    """

    rival: str
    version: str = ""
    points: FloatArray = field(default_factory=lambda: np.empty(0))
    slope: float = math.nan
    shift: float = math.nan
    times: tuple[tuple[float, float], ...] = ()
    note: str = ""
    error: str = ""


def fit_rival(
    X: Any,
    y: Any = None,
    *,
    rival: str,
    python: str | None = None,
    max_terms: int = 5,
    reach: int = 5,
    fits: int = 1,
    time_limit: float = 600.0,
    random_state: int = 0,
) -> RivalCard:
    """Fit a rival in a process of its own, on one thread.

    Parameters
    ----------
    X : array, DataFrame of shape (n, p), or Design
    y : array of shape (n,); None with a Design
    rival : str
        A name of :data:`RIVALS`.
    python : str, optional
        The Python of an environment that has the package; default: the variable
        ``MILPSCORE_FASTERRISK`` or ``MILPSCORE_IMODELS``, else this interpreter.
    max_terms, reach : int
        Limits on terms and on the size of points; imodels' SLIM has neither.
    fits : int
        So many times it is fitted, for warm times; no third time once these took 10 s.
    time_limit : float
        Seconds after which the process is ended.
    random_state : int

    Returns
    -------
    RivalCard
        Its ``error`` says what went wrong: not installed, out of time, crashed.
    """
    if rival not in RIVALS:
        raise OptionError(f"unknown rival {rival!r}; there are {', '.join(RIVALS)}")
    design = _design(X, y)
    if np.ptp(design.weight) > 0:
        raise NotApplicableError("these rivals know no weights: leave them out")
    package = RIVALS[rival]
    chosen = python or os.environ.get(f"MILPSCORE_{package.upper()}")
    if chosen is None and find_spec(package) is None:
        return RivalCard(
            rival,
            error=f"{package} is not installed: install it, or name the Python of an environment "
            f"that has it by python= or the variable MILPSCORE_{package.upper()}",
        )
    settings = {
        "rival": rival,
        "package": package,
        "max_terms": int(max_terms),
        "reach": int(reach),
        "fits": int(fits),
        "random_state": int(random_state),
    }
    return _run(chosen or sys.executable, design, settings, time_limit)


def rival_rows(
    X: Any,
    y: Any = None,
    *,
    rivals: Sequence[str] = tuple(RIVALS),
    pythons: Mapping[str, str] | None = None,
    **settings: Any,
) -> pd.DataFrame:
    """One row a rival: its card, and its figures recomputed on the same columns.

    Columns: rival, version, loss (mean logistic loss as the rival scales its card),
    recalibrated_loss, accuracy, terms, magnitude, whole (its points are integers), within (they
    obey the limits), seconds (the last fit), first_seconds, note, error. ``attrs["cards"]`` maps
    each rival to its :class:`RivalCard`; the settings are those of :func:`fit_rival`.
    """
    design = _design(X, y)
    given = pythons or {}
    cards = {
        rival: fit_rival(design, rival=rival, python=given.get(rival), **settings)
        for rival in rivals
    }
    limits = settings.get("max_terms", 5), settings.get("reach", 5)
    table = pd.DataFrame([_judged(card, design, *limits) for card in cards.values()])
    table.attrs["cards"] = cards
    return table


def mean_logistic(scores: FloatArray, y: IntArray) -> float:
    """Mean of log(1 + exp(-y s)) over the rows; y is -1/+1."""
    return float(np.logaddexp(0.0, -np.asarray(y) * scores).mean())


def recalibrated_loss(totals: FloatArray, y: IntArray) -> float:
    """The least mean logistic loss of a real slope and intercept on the totals of a card.

    0 where the totals part the classes -1 and +1: no finite slope is best there.
    """
    up, down = totals[y > 0], totals[y < 0]
    if up.min() > down.max() or up.max() < down.min():
        return 0.0
    scaled = (totals - totals.mean()) / (np.ptp(totals) or 1.0)

    def loss(at: FloatArray) -> tuple[float, FloatArray]:
        z = at[0] * scaled + at[1]
        row = -y / (1.0 + np.exp(np.clip(y * z, -700, 700)))
        return mean_logistic(z, y), np.array([(row * scaled).mean(), row.mean()])

    # from either side: where the slope is near 0 one of the two starts may stop early
    found = [
        minimize(loss, [start, 0.0], jac=True, method="BFGS", options={"gtol": 1e-10}).fun
        for start in (1.0, -1.0)
    ]
    return float(min(found))


def _design(X: Any, y: Any) -> Design:
    return X if isinstance(X, Design) else make_design(X, y)


def _judged(card: RivalCard, design: Design, max_terms: int, reach: int) -> dict[str, Any]:
    """The figures of a card, every one of them recomputed; NaN where there is no card."""
    row: dict[str, Any] = {"rival": card.rival, "version": card.version}
    figures = ("loss", "recalibrated_loss", "accuracy", "terms", "magnitude")
    row |= dict.fromkeys(figures, math.nan) | {"whole": False, "within": False}
    if not card.error:
        totals = design.X @ card.points
        scores = card.slope * totals + card.shift
        terms = int(np.count_nonzero(card.points))
        row |= {
            "loss": mean_logistic(scores, design.y),
            "recalibrated_loss": recalibrated_loss(totals, design.y),
            "accuracy": float(((scores >= 0) == (design.y > 0)).mean()),
            "terms": terms,
            "magnitude": float(np.abs(card.points).sum()),
            "whole": bool((np.rint(card.points) == card.points).all()),
            "within": terms <= max_terms and bool((np.abs(card.points) <= reach).all()),
        }
    seconds = [wall for _, wall in card.times] or [math.nan]
    row |= {"seconds": seconds[-1], "first_seconds": seconds[0]}
    return row | {"note": card.note, "error": card.error}


def _run(python: str, design: Design, settings: dict[str, Any], time_limit: float) -> RivalCard:
    """Data out by a file, the answer back by another."""
    rival = settings["rival"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.savez(folder / "data.npz", X=design.X, y=design.y)
        (folder / "settings.json").write_text(json.dumps(settings))
        try:
            done = subprocess.run(
                [python, str(_CHILD), str(folder)],
                env={**os.environ, **dict.fromkeys(_THREADS, "1")},
                capture_output=True, text=True, timeout=time_limit, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return RivalCard(rival, error=f"no answer within {time_limit:g} s: ended")
        except OSError as error:
            return RivalCard(rival, error=f"{python} cannot be run: {error}")
        answer = folder / "answer.json"
        if done.returncode or not answer.is_file():
            said = done.stderr.strip().splitlines()[-1:] or ["it gave no reason"]
            return RivalCard(rival, error=f"ended with {done.returncode}: {said[0]}")
        return _card(rival, json.loads(answer.read_text()), design.shape[1])


def _card(rival: str, reply: Mapping[str, Any], columns: int) -> RivalCard:
    points = np.array(reply["points"], dtype=np.float64)
    if (
        points.shape != (columns,)
        or not np.isfinite([*points, reply["slope"], reply["shift"]]).all()
    ):
        return RivalCard(
            rival, version=reply["version"], error=f"its answer is not a card of {columns} columns"
        )
    return RivalCard(
        rival, reply["version"], points, reply["slope"], reply["shift"],
        tuple((float(cpu), float(wall)) for cpu, wall in reply["times"]), reply["note"],
    )  # fmt: skip
