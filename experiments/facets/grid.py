"""Table 2 and Figure 3 of the Facets paper: every model of a 24 x 100 grid, beside the print."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, ClassVar, Literal

import msgspec
import numpy as np
import pandas as pd

from experiments.runner import Finding, Result, Results
from experiments.sets import BUNDLED, OfSets, read_set
from milpscore.core.design import Design, FloatArray, IntArray
from milpscore.core.errors import DataError, OptionError
from milpscore.data import make_design
from milpscore.data.binner import stratified_splits
from milpscore.penalties import StronglyConvexFacets
from milpscore.proximal import FacetsGrid, facets_grid

# Table 2: null, integral and optimal models of 2400, then the Facets column of Table 1, for the
# sets that are read here
PAPER: dict[str, tuple[int, int, int, float]] = {
    "adult": (600, 122, 5, 0.70),
    "bankruptcy": (300, 522, 14, 0.99),
    "breastcancer": (400, 458, 7, 0.97),
    "haberman": (800, 606, 9, 0.75),
    "mammo": (500, 236, 23, 0.80),
    "mushroom": (400, 34, 1, 0.92),
}
ALPHAS = tuple(float(10.0 ** (-k / 8)) for k in range(24))
BETAS = tuple(np.geomspace(0.01, 10.0, 100).tolist())

_PRINTED = ("null", "integral", "optimal", "integral_accuracy")
_EQUAL = 1e-12


class _OnGrid(OfSets, frozen=True, kw_only=True):
    """Grids of (alpha, beta) models on several sets; a run is one alpha of one set.

    alpha = lam / gamma and beta = lam / gamma^2. Logistic loss, columns standardised on the rows
    fitted, strongly convex Facets, and no intercept, of which the paper does not speak. It prints
    no ranges either. The default alpha = 10^(-k/8), k = 0..23, is a geometric axis that gives its
    null models on all six sets that are read here; the default beta, 100 points from 0.01 to 10, is
    the geometric axis between whole powers of ten that comes nearest to its integral models.
    """

    alphas: tuple[float, ...] = ALPHAS
    betas: tuple[float, ...] = BETAS
    intercept: Literal["zero", "real"] = "zero"
    eps: float = 0.01
    folds: int = 10
    tol: float = 1e-6

    repetitions = 10
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
        grid = _on_all_rows(self, name, alpha)
        cards = grid.table.iloc[::-1]  # gamma ascends, beta = alpha / gamma descends
        answers = {key: cards[key].tolist() for key in ("null", "integral", "integrity", "gap")}
        # only integral models are counted by their accuracy; one repetition looks at all
        asked = np.array(answers["integral"]) | (self.keep or repetition == 0)
        held = np.full((2, self.folds, len(self.betas)), np.nan)
        _, splits = stratified_splits(design, self.folds, self.random_state + repetition)
        for fold, (train, test) in enumerate(splits if asked.any() else ()):
            part = self.fitted(X[train], y[train], alpha, np.array(self.betas)[asked])
            held[0, fold, asked] = accuracies(part, scaled(X[train], X[test]), y[test])
            held[1, fold, asked] = part.table["integrity"][::-1]
        for key, values in zip(("cv_accuracy", "cv_integrity"), held.mean(axis=1), strict=True):
            answers[key] = [None if np.isnan(value) else value for value in values.tolist()]
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

    def fitted(self, X: FloatArray, y: IntArray, alpha: float, betas: Any) -> FacetsGrid:
        """The models of one alpha on these rows, gamma = alpha / beta ascending."""
        return facets_grid(
            scaled(X, X), y, alphas=[alpha], gammas=alpha / np.asarray(betas), tol=self.tol,
            intercept=self.intercept == "real",
            penalty=lambda lam, gamma: StronglyConvexFacets(lam, eps=self.eps, gamma=gamma),
        )  # fmt: skip


class FacetsTable2(_OnGrid, frozen=True, kw_only=True):
    """Null, integral and optimal models on a 24 x 100 grid of (alpha, beta).

    A model is integral where w / gamma is whole within 1e-6 and not null; it is optimal where it is
    integral and no integral model of the grid has a better cross-validated accuracy, which is the
    Facets column of Table 1. The paper does not print its folds: every repetition has its own.

    Tables: ``summary`` (what the paper prints beside the mean over the repetitions, the optimal
    models with their least and their largest number, and the best accuracy of the whole grid in the
    first repetition, which alone fits all of it to the folds), ``notes`` (sets left out).

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
        return Finding(runs=runs, summary=_summary(runs), notes=self.notes())


class FacetsFigure3(_OnGrid, frozen=True, kw_only=True):
    """Accuracy, integrity and coefficients over the grid of (alpha, beta) on one set.

    By default the paper's mammo, or where its file is missing "wdbc", which the notes then say.

    Tables: ``runs`` (a row per repetition and model), ``summary``, ``notes``. ``coefficients``,
    shape (a, b, p), are those of all rows in units of gamma = alpha / beta, columns standardised.

    References
    ----------
    Belahcene, Sokolovska, Chevaleyre & Zucker (2020), Figure 3.
    """

    data_set: str | None = None

    name = "facets-figure3"
    repetitions = 1
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
        kept = ("null", "integral", "integrity", "cv_accuracy", "cv_integrity")
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
        notes = self.notes()
        if self.data_set is None and name == BUNDLED:
            notes.loc[-1] = ("mammo", f"there is no mammo.csv; {BUNDLED} is shown in its place")
            notes = notes.sort_index(ignore_index=True)
        return Finding(
            data=name, alphas=alphas, betas=betas, runs=runs, summary=summary, notes=notes,
            coefficients=grids[0, name]["coefficients"],
            features=tuple(column.name for column in _design(self.folder, name).columns),
        )  # fmt: skip


@lru_cache(maxsize=256)
def _on_all_rows(asked: _OnGrid, name: str, alpha: float) -> FacetsGrid:
    """The models of one alpha on all rows of a set: the same in every repetition."""
    design = _design(asked.folder, name)
    return asked.fitted(design.X, design.y, alpha, asked.betas)


@lru_cache(maxsize=2)
def _design(folder: str, name: str) -> Design:
    """A set's design, its columns as they are."""
    return make_design(*read_set(folder, name))


def scaled(train: FloatArray, rows: FloatArray) -> FloatArray:
    """Rows with the means and deviations of the training rows taken out."""
    spread = train.std(axis=0)
    # a column that is constant on these rows becomes 0
    return np.asarray((rows - train.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def accuracies(grid: FacetsGrid, X: FloatArray, y: IntArray) -> list[float]:
    """Share of right answers of each model, beta ascending; a tie is positive."""
    scores = X @ grid.coefficients[0].T + grid.intercepts[0]
    right = (scores >= 0) == (y > 0)[:, None]
    shares: list[float] = right.mean(axis=0)[::-1].tolist()
    return shares


def counts_of(grid: dict[str, FloatArray]) -> dict[str, Any]:
    """What Table 2 counts, and the accuracies behind it."""
    integral, held_out = grid["integral"] > 0, grid["cv_accuracy"]
    best = float(held_out[integral].max()) if integral.any() else np.nan
    return {
        "grid_points": held_out.size,
        "null": int(grid["null"].sum()),
        "integral": int(integral.sum()),
        "optimal": int((integral & (held_out >= best - _EQUAL)).sum()),
        "integral_accuracy": best,
        "accuracy": np.nan if np.isnan(held_out).any() else float(held_out.max()),
        "gap": float(grid["gap"].max()),
    }


def _summary(runs: pd.DataFrame) -> pd.DataFrame:
    """Means over the repetitions, the paper's figures beside ours."""
    grouped = runs.groupby("set", sort=False)
    table = grouped["grid_points"].first().to_frame()
    for at, column in enumerate(_PRINTED):
        table[column] = grouped[column].mean()
        if column == "optimal":
            table["optimal_least"], table["optimal_most"] = (
                grouped[column].min(), grouped[column].max()
            )  # fmt: skip
        table[f"paper_{column}"] = [
            float(PAPER[name][at]) if name in PAPER else np.nan for name in table.index
        ]
    table = table.assign(accuracy=grouped["accuracy"].mean(), runs=grouped["run"].nunique())
    return table.astype({"null": np.int64, "integral": np.int64}).reset_index()
