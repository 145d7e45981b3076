"""Table 2 and Figure 3 of the Facets paper: every model of a 24 x 100 grid, beside the print."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.facets.counts import (
    ALPHAS,
    BETAS,
    PAPER,
    counts_of,
    notes_of,
    readings_of,
    summary_of,
)
from experiments.facets.rows import BUNDLED, FacetsRows, columns_of
from experiments.runner import Progress, Results, RunStore, finish_runs
from milpscore.core.design import FloatArray
from milpscore.core.errors import DataError, OptionError

if TYPE_CHECKING:
    import pandas as pd

SETS = (*PAPER, BUNDLED)
EPS = 0.01


@dataclass(frozen=True, eq=False)
class FacetsTable2:
    """Models of the grid on several sets.

    Attributes
    ----------
    runs : DataFrame
        One row a repetition and set: null, integral and optimal models, the best cross-validated
        accuracy of all models and of the integral ones, and the largest duality gap.
    summary : DataFrame
        One row a set: points of the grid, null, integral, optimal and accuracies, means over the
        repetitions, beside the paper's counts (missing where it has none).
    readings : DataFrame
        One row a set: integral models that are optimal by four readings: of the best
        cross-validated accuracy; of the best accuracy on one fold, fitted to the rows of the
        others, mean over the folds; of the best cross-validated accuracy to two digits, as the
        paper prints them; of the best accuracy on the training rows.
    notes : DataFrame
        Columns about and note: sets left out, where the axes come from, and for every count that
        differs from the print what is known about why.
    """

    runs: pd.DataFrame
    summary: pd.DataFrame
    readings: pd.DataFrame
    notes: pd.DataFrame


@dataclass(frozen=True, eq=False)
class FacetsFigure3:
    """All models of the grid on one set.

    Attributes
    ----------
    data : str
        Name of the set.
    alphas : ndarray of shape (a,), descending
    betas : ndarray of shape (b,), ascending
    coefficients : ndarray of shape (a, b, p)
        Of the models of all rows, in units of gamma = alpha / beta, for standardised columns.
    features : tuple of str
    runs : DataFrame
        One row a repetition and model: alpha, beta, gamma, lam, null, integral, integrity,
        accuracy (on the training rows), cv_accuracy, cv_integrity (means over the folds).
    summary : DataFrame
        As that of :class:`FacetsTable2`.
    notes : DataFrame
    """

    data: str
    alphas: FloatArray
    betas: FloatArray
    coefficients: FloatArray
    features: tuple[str, ...]
    runs: pd.DataFrame
    summary: pd.DataFrame
    notes: pd.DataFrame


def facets_table2(
    runs: int = 1,
    *,
    out: str | os.PathLike[str] | None = None,
    data: str | os.PathLike[str] | None = None,
    sets: Sequence[str] = SETS,
    alphas: Sequence[float] = ALPHAS,
    betas: Sequence[float] = BETAS,
    eps: float = EPS,
    folds: int = 10,
    tol: float = 1e-6,
    n_jobs: int = 1,
    random_state: int = 0,
    progress: Progress | None = None,
) -> FacetsTable2:
    """Repeat Table 2: null, integral and optimal models on a 24 x 100 grid of (alpha, beta).

    alpha = lam / gamma and beta = lam / gamma^2. Logistic loss, columns standardised on the rows
    fitted, strongly convex Facets. A model is integral where w / gamma is whole within 1e-6 and not
    null; it is optimal where it is integral and its cross-validated accuracy is the best of the
    whole grid. The paper prints no ranges. The default alpha = 10^(-k/8), k = 0..23, is a geometric
    axis that gives its null models on all six sets that are read here; the default beta, 100 points
    from 0.01 to 10, is the geometric axis between whole powers of ten that comes nearest to its
    integral models.

    Parameters
    ----------
    runs : int
        Repetitions of the cross-validation, each with folds of its own.
    out : path-like, optional
        A file of finished rows of the grids, which are not done again.
    data : path-like, optional
        The folder of the sets, NAME.csv with the label first; default: the variable
        ``MILPSCORE_DATA``. Sets that are not in it are left out, and the notes say so.
    sets : sequence of str
        "wdbc" is scikit-learn's breast cancer set, which is always there.
    alphas, betas : sequence of float
        The axes, positive.
    eps : float in (0, 1]
        Of strongly convex Facets; the paper's 0.01.
    folds : int
    tol : float
        Relative duality gap.
    n_jobs : int
    random_state : int
    progress : callable, optional
        ``progress(done, total)`` in rows of the grids.

    Returns
    -------
    FacetsTable2

    Raises
    ------
    OptionError
        A parameter lies outside its range, or ``out`` holds runs with other settings.
    DataError
        A file cannot be read.

    References
    ----------
    Belahcene, Sokolovska, Chevaleyre & Zucker, "Learning interpretable models using soft integrity
    constraints" (2020), sec. 6 and Table 2.
    """
    found, absent = _present(data, sets)
    rows = FacetsRows(
        _folder(data), found, _axis("alphas", alphas)[::-1], _axis("betas", betas), eps,
        folds, tol, random_state, keep=False,
    )  # fmt: skip
    finished = _finished(rows, "facets-table2", out, runs, n_jobs, progress)
    return _table2(finished, rows, absent)


def facets_figure3(
    runs: int = 1,
    *,
    out: str | os.PathLike[str] | None = None,
    data: str | os.PathLike[str] | None = None,
    data_set: str | None = None,
    alphas: Sequence[float] = ALPHAS,
    betas: Sequence[float] = BETAS,
    eps: float = EPS,
    folds: int = 10,
    tol: float = 1e-6,
    n_jobs: int = 1,
    random_state: int = 0,
    progress: Progress | None = None,
) -> FacetsFigure3:
    """Repeat Figure 3: accuracy, integrity and coefficients over the grid of (alpha, beta).

    Parameters
    ----------
    runs : int
        Repetitions of the cross-validation.
    out, data, alphas, betas, eps, folds, tol, n_jobs, random_state, progress
        As for :func:`facets_table2`.
    data_set : str, optional
        Default: the paper's mammo, or where its file is missing "wdbc", which the notes then say.

    Returns
    -------
    FacetsFigure3

    Raises
    ------
    OptionError, DataError
        As :func:`facets_table2`; also where ``data_set`` is named and missing.

    References
    ----------
    Belahcene, Sokolovska, Chevaleyre & Zucker (2020), Figure 3.
    """
    found, absent = _present(data, ("mammo",) if data_set is None else (data_set,))
    if data_set is not None and not found:
        raise DataError(f"{absent[0][1]}; add it, or take data_set='{BUNDLED}'")
    rows = FacetsRows(
        _folder(data), found or (BUNDLED,), _axis("alphas", alphas)[::-1], _axis("betas", betas),
        eps, folds, tol, random_state, keep=True,
    )  # fmt: skip
    finished = _finished(rows, "facets-figure3", out, runs, n_jobs, progress)
    return _figure3(finished, rows, absent)


def _finished(
    rows: FacetsRows,
    name: str,
    out: str | os.PathLike[str] | None,
    runs: int,
    n_jobs: int,
    progress: Progress | None,
) -> Results:
    """Every row of every grid."""
    if runs < 1:
        raise OptionError(f"runs={runs}; use at least 1.")
    store = RunStore(out, name, rows.settings())
    total = runs * len(rows.sets) * len(rows.alphas)
    return finish_runs(store, rows, total, n_jobs=n_jobs, progress=progress)


def _axis(name: str, values: Sequence[float]) -> tuple[float, ...]:
    """The values in ascending order."""
    axis = np.sort(np.asarray(values, dtype=np.float64).ravel())
    if not len(axis) or not np.isfinite(axis).all() or axis[0] <= 0:
        raise OptionError(f"{name} must be finite positive numbers, and at least one.")
    return tuple(axis.tolist())


def _folder(data: str | os.PathLike[str] | None) -> str:
    """The folder of the sets; empty where none is named."""
    return os.fspath(data) if data is not None else os.environ.get("MILPSCORE_DATA", "")


def _present(
    data: str | os.PathLike[str] | None, sets: Sequence[str]
) -> tuple[tuple[str, ...], list[tuple[str, str]]]:
    """The sets that are there, and (set, note) for each that is not."""
    folder = _folder(data)
    here = [
        name
        for name in dict.fromkeys(sets)
        if name == BUNDLED or (folder and (Path(folder) / f"{name}.csv").is_file())
    ]
    where = f"the folder {folder!r}" if folder else "a folder named by data= or MILPSCORE_DATA"
    absent = [
        (name, f"left out: there is no {name}.csv in {where}") for name in sets if name not in here
    ]
    return tuple(here), absent


def _grids(finished: Results, rows: FacetsRows) -> dict[tuple[int, str], dict[str, FloatArray]]:
    """(repetition, set) -> every measure over the grid, shape (a, b)."""
    grids: dict[tuple[int, str], dict[str, list[Any]]] = {}
    for run, result in finished.items():
        repetition, name, _ = rows.place(run)
        grid = grids.setdefault((repetition, name), {key: [] for key in result})
        for key, value in result.items():
            grid[key].append(value)
    return {
        place: {key: np.asarray(value, dtype=np.float64) for key, value in grid.items()}
        for place, grid in grids.items()
    }


def _table2(finished: Results, rows: FacetsRows, absent: Sequence[tuple[str, str]]) -> FacetsTable2:
    import pandas as pd

    grids = _grids(finished, rows)
    runs = pd.DataFrame(
        [{"run": run, "set": name, **counts_of(grid)} for (run, name), grid in grids.items()]
    )
    summary = summary_of(runs)
    return FacetsTable2(runs, summary, readings_of(runs), notes_of(summary, rows, absent))


def _figure3(
    finished: Results, rows: FacetsRows, absent: Sequence[tuple[str, str]]
) -> FacetsFigure3:
    import pandas as pd

    (name,) = rows.sets
    grids = _grids(finished, rows)
    alphas, betas = np.array(rows.alphas), np.array(rows.betas)
    cells = pd.DataFrame(
        {
            "alpha": np.repeat(alphas, len(betas)),
            "beta": np.tile(betas, len(alphas)),
        }
    )
    cells["gamma"] = cells["alpha"] / cells["beta"]
    cells["lam"] = cells["alpha"] * cells["gamma"]
    kept = ("null", "integral", "integrity", "accuracy", "cv_accuracy", "cv_integrity")
    parts = [
        cells.assign(run=run, **{key: grid[key].ravel() for key in kept})
        for (run, _), grid in grids.items()
    ]
    runs = pd.concat(parts, ignore_index=True)
    runs[["null", "integral"]] = runs[["null", "integral"]] > 0
    counts = [{"run": run, "set": name, **counts_of(grid)} for (run, _), grid in grids.items()]
    summary = summary_of(pd.DataFrame(counts))
    if absent:
        absent = [(absent[0][0], f"{absent[0][1]}; {BUNDLED} is shown in its place")]
    return FacetsFigure3(
        data=name,
        alphas=alphas,
        betas=betas,
        coefficients=grids[0, name]["coefficients"],
        features=columns_of(rows.folder, name),
        runs=runs[["run", *[column for column in runs if column != "run"]]],
        summary=summary,
        notes=notes_of(summary, rows, absent),
    )
