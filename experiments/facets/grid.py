"""Table 2 and Figure 3 of the Facets paper: every model of a 24 x 100 grid, beside the print."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, ClassVar

import msgspec
import numpy as np
import pandas as pd

from experiments.runner import Finding, Result, Results
from experiments.sets import BUNDLED, OfSets, read_set
from milpscore.core.design import Design, FloatArray, IntArray
from milpscore.core.errors import DataError, OptionError
from milpscore.data import make_design
from milpscore.data.binning import stratified_splits
from milpscore.penalties import StronglyConvexFacets
from milpscore.proximal import FacetsGrid, facets_grid

# Table 2: null, integral and optimal models of 2400, for the sets that are read here
PAPER: dict[str, tuple[int, int, int]] = {
    "adult": (600, 122, 5),
    "bankruptcy": (300, 522, 14),
    "breastcancer": (400, 458, 7),
    "haberman": (800, 606, 9),
    "mammo": (500, 236, 23),
    "mushroom": (400, 34, 1),
}
ALPHAS = tuple(float(10.0 ** (-k / 8)) for k in range(24))
BETAS = tuple(np.geomspace(0.01, 10.0, 100).tolist())

_COUNTS = ("null", "integral", "optimal")
_POINTS = 2400
_EQUAL = 1e-12
_WHY = {
    "null": (
        "whole rows of the grid, one for each alpha at or beyond the sup norm of the null "
        "model's gradient: they depend on the axis and on the scale of the columns"
    ),
    "integral": (
        "the paper prints no range for beta, no tolerance for a whole coefficient and no accuracy "
        "of its descent; here every model has a relative duality gap of at most 1e-6"
    ),
    "optimal": (
        "the paper does not print its folds, nor how close to the best accuracy is equal to it; "
        "the readings table has four ways to count"
    ),
}
_AXES = {
    "alpha": (
        "10^(-k/8), k = 0..23: the paper prints no range; this one was inferred from its numbers "
        "of null models, which it gives on all six sets with standardised columns and the mean loss"
    ),
    "beta": (
        "100 points from 0.01 to 10 in geometric progression: the paper prints no range; of the "
        "five between whole powers of ten that were tried this one comes nearest to its numbers of "
        "integral models, which are no independent check of it (ends between powers of ten come "
        "nearer still)"
    ),
}


class _OnGrid(OfSets, frozen=True, kw_only=True):
    """Grids of (alpha, beta) models on several sets; a run is one alpha of one set.

    alpha = lam / gamma and beta = lam / gamma^2. Logistic loss, columns standardised on the rows
    fitted, strongly convex Facets. The paper prints no ranges. The default alpha = 10^(-k/8),
    k = 0..23, is a geometric axis that gives its null models on all six sets that are read here;
    the default beta, 100 points from 0.01 to 10, is the geometric axis between whole powers of ten
    that comes nearest to its integral models.
    """

    alphas: tuple[float, ...] = ALPHAS
    betas: tuple[float, ...] = BETAS
    eps: float = 0.01
    folds: int = 10
    tol: float = 1e-6

    repetitions = 1
    keep: ClassVar[bool] = False
    """Whether the runs keep the coefficients."""

    def __post_init__(self) -> None:
        """Order the axes, alpha descending; refuse now what no run could use."""
        super().__post_init__()
        StronglyConvexFacets(1.0, eps=self.eps)
        for name, order in (("alphas", -1), ("betas", 1)):
            axis = np.sort(np.asarray(getattr(self, name), dtype=np.float64).ravel())
            if not len(axis) or not np.isfinite(axis).all() or axis[0] <= 0:
                raise OptionError(f"{name} must be finite positive numbers, and at least one.")
            msgspec.structs.force_setattr(self, name, tuple(axis[::order].tolist()))

    def total(self, repetitions: int) -> int:
        """A run a repetition, set and alpha."""
        return repetitions * len(self.here) * len(self.alphas)

    def place(self, run: int) -> tuple[int, str, int]:
        """Repetition, set and place of alpha of a run."""
        repetition, rest = divmod(run, len(self.here) * len(self.alphas))
        k, row = divmod(rest, len(self.alphas))
        return repetition, self.here[k], row

    def __call__(self, run: int) -> Result:
        """Every beta of one alpha, fitted to all rows and held out."""
        repetition, name, row = self.place(run)
        alpha = self.alphas[row]
        design = _design(self.folder, name)
        X, y = design.X, design.y
        grid = self._fitted(X, y, alpha)
        cards = grid.table.iloc[::-1]  # gamma ascends, beta = alpha / gamma descends
        answers = {key: cards[key].tolist() for key in ("null", "integral", "integrity", "gap")}
        answers["accuracy"] = _accuracies(grid, _scaled(X, X), y)
        held = []
        _, splits = stratified_splits(design, self.folds, self.random_state + repetition)
        for train, test in splits:
            part = self._fitted(X[train], y[train], alpha)
            right = _accuracies(part, _scaled(X[train], X[test]), y[test])
            held.append((right, *(part.table[key][::-1] for key in ("integrity", "integral"))))
        accuracy, integrity, integral = (np.array(each) for each in zip(*held, strict=True))
        answers["cv_accuracy"] = accuracy.mean(axis=0).tolist()
        answers["cv_integrity"] = integrity.mean(axis=0).tolist()
        # models by folds, for what holds on one fold only
        answers["fold_accuracy"] = accuracy.T.tolist()
        answers["fold_integral"] = integral.T.astype(float).tolist()
        if self.keep:
            answers["coefficients"] = (grid.coefficients[0] / grid.gammas[:, None])[::-1].tolist()
        return answers

    def grids(self, results: Results) -> dict[tuple[int, str], dict[str, FloatArray]]:
        """(repetition, set) -> every measure over the grid, shape (a, b, ...)."""
        grids: dict[tuple[int, str], dict[str, list[Any]]] = {}
        for run, result in results.items():
            repetition, name, _ = self.place(run)
            grid = grids.setdefault((repetition, name), {key: [] for key in result})
            for key, value in result.items():
                grid[key].append(value)
        return {
            place: {key: np.asarray(value, dtype=np.float64) for key, value in grid.items()}
            for place, grid in grids.items()
        }

    def explained(self, summary: pd.DataFrame) -> pd.DataFrame:
        """Sets left out, the axes, and every count that differs from the print."""
        notes = [tuple(row) for row in self.notes().to_numpy()]
        ours = self.alphas == ALPHAS and self.betas == BETAS
        chosen = {"axes": "chosen by the caller; the paper prints no ranges"}
        notes += (_AXES if ours else chosen).items()
        notes += _differences(summary)
        if BUNDLED in self.here:
            notes.append(
                (BUNDLED, "scikit-learn's breast cancer, 569 rows: not the paper's set, no print")
            )
        return pd.DataFrame(notes, columns=["about", "note"])

    def _fitted(self, X: FloatArray, y: IntArray, alpha: float) -> FacetsGrid:
        """The models of one alpha on these rows, gamma = alpha / beta ascending."""
        return facets_grid(
            _scaled(X, X), y, alphas=[alpha], gammas=alpha / np.array(self.betas), tol=self.tol,
            penalty=lambda lam, gamma: StronglyConvexFacets(lam, eps=self.eps, gamma=gamma),
        )  # fmt: skip


class FacetsTable2(_OnGrid, frozen=True, kw_only=True):
    """Null, integral and optimal models on a 24 x 100 grid of (alpha, beta).

    A model is integral where w / gamma is whole within 1e-6 and not null; it is optimal where it is
    integral and its cross-validated accuracy is the best of the whole grid.

    Tables: ``summary`` (means over the repetitions beside the paper's counts), ``readings`` (four
    readings of optimal: of the best cross-validated accuracy; of the best accuracy on one fold,
    mean over the folds; of the best to two digits, as the paper prints them; of the best accuracy
    on the training rows), ``notes`` (sets left out, the axes, and what is known about why a count
    differs from the print).

    References
    ----------
    Belahcene, Sokolovska, Chevaleyre & Zucker, "Learning interpretable models using soft integrity
    constraints" (2020), sec. 6 and Table 2.
    """

    sets: tuple[str, ...] = (*PAPER, BUNDLED)

    name = "facets-table2"
    figure = "experiments.facets.plots:table2_figure"

    def finding(self, results: Results) -> Finding:
        """The counts of every set."""
        grids = self.grids(results)
        runs = pd.DataFrame(
            [{"run": run, "set": name, **counts_of(grid)} for (run, name), grid in grids.items()]
        )
        summary = _summary(runs)
        return Finding(
            runs=runs, summary=summary, readings=_readings(runs), notes=self.explained(summary)
        )


class FacetsFigure3(_OnGrid, frozen=True, kw_only=True):
    """Accuracy, integrity and coefficients over the grid of (alpha, beta) on one set.

    By default the paper's mammo, or where its file is missing "wdbc", which the notes then say.

    Tables: ``runs`` (a row a repetition and model), ``summary``, ``notes``. ``coefficients``, shape
    (a, b, p), are those of all rows in units of gamma = alpha / beta, for standardised columns.

    References
    ----------
    Belahcene, Sokolovska, Chevaleyre & Zucker (2020), Figure 3.
    """

    data_set: str | None = None

    name = "facets-figure3"
    figure = "experiments.facets.plots:figure3"
    keep = True

    @property
    def here(self) -> tuple[str, ...]:
        """The one set that is shown."""
        wanted = self.data_set or "mammo"
        if self._is_here(wanted):
            return (wanted,)
        if self.data_set:
            raise DataError(
                f"there is no {wanted}.csv in {self.folder!r}; add it, or take data_set='{BUNDLED}'"
            )
        return (BUNDLED,)

    def finding(self, results: Results) -> Finding:
        """Every model."""
        (name,) = self.here
        grids = self.grids(results)
        alphas, betas = np.array(self.alphas), np.array(self.betas)
        kept = ("null", "integral", "integrity", "accuracy", "cv_accuracy", "cv_integrity")
        parts = []
        for (run, _), grid in grids.items():
            part = pd.DataFrame({"run": run, "alpha": np.repeat(alphas, len(betas))})
            part["beta"] = np.tile(betas, len(alphas))
            part["gamma"] = part["alpha"] / part["beta"]
            part["lam"] = part["alpha"] * part["gamma"]
            parts.append(part.assign(**{key: grid[key].ravel() for key in kept}))
        runs = pd.concat(parts, ignore_index=True).astype({"null": bool, "integral": bool})
        counts = [{"run": run, "set": name, **counts_of(grid)} for (run, _), grid in grids.items()]
        summary = _summary(pd.DataFrame(counts))
        notes = self.explained(summary)
        if self.data_set is None and name == BUNDLED:
            notes.loc[-1] = ("mammo", f"there is no mammo.csv; {BUNDLED} is shown in its place")
            notes = notes.sort_index(ignore_index=True)
        return Finding(
            data=name, alphas=alphas, betas=betas, runs=runs, summary=summary, notes=notes,
            coefficients=grids[0, name]["coefficients"],
            features=tuple(column.name for column in _design(self.folder, name).columns),
        )  # fmt: skip


@lru_cache(maxsize=2)
def _design(folder: str, name: str) -> Design:
    """A set's design, its columns as they are."""
    return make_design(*read_set(folder, name))


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


def counts_of(grid: dict[str, FloatArray]) -> dict[str, Any]:
    """What Table 2 counts, and the accuracies behind it."""
    integral, held_out, trained = grid["integral"] > 0, grid["cv_accuracy"], grid["accuracy"]
    by_fold = grid["fold_accuracy"]  # models by folds, shape (a, b, k)
    best, best_on_a_fold = float(held_out.max()), by_fold.max(axis=(0, 1))
    on_a_fold = (grid["fold_integral"] > 0) & (by_fold >= best_on_a_fold - _EQUAL)
    return {
        "grid_points": held_out.size,
        "null": int(grid["null"].sum()),
        "integral": int(integral.sum()),
        "optimal": int((integral & (held_out >= best - _EQUAL)).sum()),
        "accuracy": best,
        "integral_accuracy": float(held_out[integral].max()) if integral.any() else float("nan"),
        "optimal_on_a_fold": float(on_a_fold.sum(axis=(0, 1)).mean()),
        "optimal_two_digits": int((integral & (held_out.round(2) == round(best, 2))).sum()),
        "optimal_training": int((integral & (trained >= trained.max() - _EQUAL)).sum()),
        "gap": float(grid["gap"].max()),
    }


def _printed(names: Iterable[str], column: str) -> list[float]:
    """The paper's counts; missing where it has none."""
    at = _COUNTS.index(column)
    return [float(PAPER[name][at]) if name in PAPER else np.nan for name in names]


def _summary(runs: pd.DataFrame) -> pd.DataFrame:
    """Means over the repetitions, the paper's counts beside ours."""
    means = runs.drop(columns=["run", "gap"]).groupby("set", sort=False).mean().reset_index()
    for column in _COUNTS:
        means[f"paper_{column}"] = _printed(means["set"], column)
    beside = [name for column in _COUNTS for name in (column, f"paper_{column}")]
    table = means[["set", "grid_points", *beside, "accuracy", "integral_accuracy"]]
    return table.astype(dict.fromkeys(("grid_points", "null", "integral"), np.int64))


def _readings(runs: pd.DataFrame) -> pd.DataFrame:
    """What "optimal" can mean, a column each, means over the repetitions."""
    names = {
        "optimal": "best_held_out",
        "optimal_on_a_fold": "best_on_one_fold",
        "optimal_two_digits": "same_two_digits",
        "optimal_training": "best_on_training_rows",
    }
    table = runs.groupby("set", sort=False)[list(names)].mean().rename(columns=names).reset_index()
    table.insert(1, "paper", _printed(table["set"], "optimal"))
    return table


def _differences(summary: pd.DataFrame) -> list[tuple[str, str]]:
    """What differs from the print, and what is known about why; counts of another size do not."""
    notes = []
    for column in _COUNTS:
        counts = zip(
            summary["set"], summary["grid_points"], summary[column],
            _printed(summary["set"], column), strict=True,
        )  # fmt: skip
        differing = [
            f"{name} {count:g} ({printed:g})"
            for name, points, count, printed in counts
            if points == _POINTS and not np.isnan(printed) and count != printed
        ]
        if differing:
            words = f"differs from the print on {', '.join(differing)}: {_WHY[column]}"
            notes.append((column, words))
    return notes
