"""One row of a grid of Facets models: every beta of one alpha, fitted and held out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from milpscore.core.design import Design, FloatArray, IntArray
from milpscore.data import make_design
from milpscore.data.folds import stratified_splits
from milpscore.penalties import StronglyConvexFacets
from milpscore.proximal import FacetsGrid, facets_grid

BUNDLED = "wdbc"
"""scikit-learn's breast cancer set."""


@dataclass(frozen=True)
class FacetsRows:
    """The rows of the grids of several sets; a run's number says which.

    Parameters
    ----------
    folder : str
    sets : tuple of str
    alphas : tuple of float, descending
    betas : tuple of float, ascending
    eps : float
        Of strongly convex Facets, in (0, 1].
    folds : int
    tol : float
    random_state : int
    keep : bool
        Whether to keep the coefficients.
    """

    folder: str
    sets: tuple[str, ...]
    alphas: tuple[float, ...]
    betas: tuple[float, ...]
    eps: float
    folds: int
    tol: float
    random_state: int
    keep: bool

    def __post_init__(self) -> None:
        StronglyConvexFacets(1.0, eps=self.eps)  # refuses its eps now, not run by run

    def settings(self) -> dict[str, Any]:
        """All but the folder: moving the data changes nothing."""
        return {name: value for name, value in vars(self).items() if name != "folder"}

    def place(self, run: int) -> tuple[int, str, int]:
        """Repetition, set and place of alpha of a run."""
        repetition, rest = divmod(run, len(self.sets) * len(self.alphas))
        k, row = divmod(rest, len(self.alphas))
        return repetition, self.sets[k], row

    def __call__(self, run: int) -> dict[str, Any]:
        repetition, name, row = self.place(run)
        alpha = self.alphas[row]
        design = _design(self.folder, name)
        X, y = design.X, design.y
        grid = self._fitted(X, y, alpha)
        cards = grid.table.iloc[::-1]
        answers = {
            "null": cards["null"].tolist(),
            "integral": cards["integral"].tolist(),
            "integrity": cards["integrity"].tolist(),
            "gap": cards["gap"].tolist(),
            "accuracy": _accuracies(grid, _scaled(X, X), y),
        }
        accuracies, shares, whole = [], [], []
        for train, test in stratified_splits(design, self.folds, self.random_state + repetition):
            held = self._fitted(X[train], y[train], alpha)
            accuracies.append(_accuracies(held, _scaled(X[train], X[test]), y[test]))
            shares.append(held.table["integrity"].to_numpy()[::-1])
            whole.append(held.table["integral"].tolist()[::-1])
        answers["cv_accuracy"] = np.mean(accuracies, axis=0).tolist()
        answers["cv_integrity"] = np.mean(shares, axis=0).tolist()
        # models by folds, for what holds on one fold only
        answers["fold_accuracy"] = np.transpose(accuracies).tolist()
        answers["fold_integral"] = np.transpose(whole).tolist()
        if self.keep:
            in_units = grid.coefficients[0] / grid.gammas[:, None]
            answers["coefficients"] = in_units[::-1].tolist()
        return answers

    def _fitted(self, X: FloatArray, y: IntArray, alpha: float) -> FacetsGrid:
        """The models of one alpha on these rows, gamma = alpha / beta ascending."""
        return facets_grid(
            _scaled(X, X),
            y,
            penalty=self._penalty,
            alphas=[alpha],
            gammas=alpha / np.array(self.betas),
            tol=self.tol,
        )

    def _penalty(self, lam: float, gamma: float) -> Any:
        return StronglyConvexFacets(lam, eps=self.eps, gamma=gamma)


def columns_of(folder: str, name: str) -> tuple[str, ...]:
    """Names of a set's columns, as its design has them."""
    return tuple(column.name for column in _design(folder, name).columns)


@lru_cache(maxsize=2)
def _design(folder: str, name: str) -> Design:
    """A set's design, its columns as they are."""
    if name == BUNDLED:
        from sklearn.datasets import load_breast_cancer

        bundled = load_breast_cancer(as_frame=True)
        return make_design(bundled.data, bundled.target)
    from milpscore.data import read_frame, read_table

    frame = read_frame(Path(folder) / f"{name}.csv")
    return make_design(*read_table(frame, frame.columns[0]))


def _scaled(train: FloatArray, rows: FloatArray) -> FloatArray:
    """Rows with the means and deviations of the training rows taken out."""
    spread = train.std(axis=0)
    # a column that is constant on these rows becomes 0
    return np.asarray((rows - train.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def _accuracies(grid: FacetsGrid, X: FloatArray, y: IntArray) -> list[float]:
    """Share of right answers of each model, beta ascending; a tie is positive."""
    scores = X @ grid.coefficients[0].T + grid.intercepts[0]
    right = (scores >= 0) == (y > 0)[:, None]
    shares: list[float] = right.mean(axis=0)[::-1].tolist()
    return shares
