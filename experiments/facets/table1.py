"""Table 1 of the Facets paper: accuracy by nested cross-validation, beside the printed figures."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.facets.card_learners import default_learners
from experiments.facets.nested_cv import NestedCV, fold_rows, held_out, summarised
from experiments.runner import Progress, Results, RunStore, finish_runs
from milpscore.core.errors import DataError, OptionError

if TYPE_CHECKING:
    import pandas as pd

# Table 1 in its order, for the sets that are read here
PAPER_COLUMNS = ("convex_rounding", "golovin", "slim", "lasso", "ridge", "facets")
PAPER: dict[str, tuple[float, ...]] = {
    "adult": (0.75, 0.77, 0.82, 0.82, 0.82, 0.70),
    "bankruptcy": (0.98, 0.97, 0.99, 0.99, 0.99, 0.99),
    "breastcancer": (0.94, 0.95, 0.97, 0.97, 0.97, 0.97),
    "haberman": (0.75, 0.71, 0.71, 0.58, 0.63, 0.75),
    "mammo": (0.66, 0.60, 0.81, 0.80, 0.81, 0.80),
    "mushroom": (0.81, 0.99, 1.00, 1.00, 0.98, 0.92),
}
SETS = ("bankruptcy", "haberman", "mammo", "breastcancer", "mushroom", "adult")


@dataclass(frozen=True, eq=False)
class FacetsTable1:
    """Accuracies of several learners on several sets.

    Attributes
    ----------
    runs : DataFrame
        One row a repetition, set, outer fold and learner; see :class:`NestedCV`.
    summary : DataFrame
        One row a set and learner: accuracy and stdev over all folds, the paper's accuracy (missing
        where it has none), terms, whole and empty models, seconds.
    best : DataFrame
        One row a set: the learner of the best accuracy, and the best of those whose models are all
        whole.
    """

    runs: pd.DataFrame
    summary: pd.DataFrame
    best: pd.DataFrame


@dataclass(frozen=True)
class _Folds:
    """One outer fold of one set; its number says which."""

    folder: str
    sets: tuple[str, ...]
    outer: int
    inner: int
    time_budget: float
    random_state: int

    def settings(self) -> dict[str, Any]:
        """All but the folder: moving the data changes nothing."""
        return {
            "sets": self.sets,
            "outer": self.outer,
            "inner": self.inner,
            "time_budget": self.time_budget,
            "random_state": self.random_state,
        }

    def place(self, run: int) -> tuple[int, str, int]:
        """Repetition, set and fold of a run."""
        repetition, rest = divmod(run, len(self.sets) * self.outer)
        k, fold = divmod(rest, self.outer)
        return repetition, self.sets[k], fold

    def __call__(self, run: int) -> dict[str, Any]:
        repetition, name, fold = self.place(run)
        X, y = _table(self.folder, name)
        seed = self.random_state + 1000 * repetition
        held = held_out(X, y, None, self.outer, self.inner, fold, seed)
        rows = fold_rows(held, default_learners(seed), self.time_budget / self.outer)
        return {"rows": [{"set": name, "fold": fold, **row} for row in rows]}


def facets_table1(
    runs: int = 1,
    *,
    out: str | os.PathLike[str] | None = None,
    data: str | os.PathLike[str] | None = None,
    sets: Sequence[str] = SETS,
    outer: int = 10,
    inner: int = 3,
    time_budget: float = 600.0,
    n_jobs: int = 1,
    random_state: int = 0,
    progress: Progress | None = None,
) -> FacetsTable1:
    """Repeat Table 1: 10-fold cross-validated accuracy of six learners, and of a few more.

    The paper chooses parameters on a grid and does not say on which rows; here they are chosen on
    inner folds, so that no test row has a part in any choice (:func:`nested_cv`). Its heart and
    spambase sets are not read here. Each fold of each set is kept when it is finished.

    Parameters
    ----------
    runs : int
        Repetitions of the cross-validation, each with folds of its own.
    out : path-like, optional
        A file of finished folds, which are not done again.
    data : path-like, optional
        The folder of the sets, NAME.csv with the label first; default: the variable
        ``MILPSCORE_DATA``.
    sets : sequence of str
    outer, inner : int
        Numbers of folds.
    time_budget : float
        Seconds a set and repetition on one process; see :func:`nested_cv`.
    n_jobs : int
    random_state : int
    progress : callable, optional
        ``progress(done, total)`` in folds.

    Returns
    -------
    FacetsTable1

    Raises
    ------
    OptionError
        A parameter lies outside its range, or ``out`` holds runs with other settings.
    DataError
        There is no folder, a set is not in it, or ``out`` cannot be read.

    References
    ----------
    Belahcene, Sokolovska, Chevaleyre & Zucker, "Learning interpretable models using soft integrity
    constraints" (2020), Table 1.
    """
    if runs < 1:
        raise OptionError(f"runs={runs}; use at least 1.")
    folds = _Folds(_folder(data, sets), tuple(sets), outer, inner, time_budget, random_state)
    store = RunStore(out, "facets-table1", folds.settings())
    total = runs * len(sets) * outer
    finished = finish_runs(store, folds, total, n_jobs=n_jobs, progress=progress)
    return _tables(finished, folds)


def _folder(data: str | os.PathLike[str] | None, sets: Sequence[str]) -> str:
    """The folder, once every set was seen in it."""
    named = data if data is not None else os.environ.get("MILPSCORE_DATA")
    if named is None:
        raise DataError(
            "this experiment reads the sets from a folder: name it by data= or the variable "
            "MILPSCORE_DATA"
        )
    missing = [name for name in sets if not (Path(named) / f"{name}.csv").is_file()]
    if missing:
        raise DataError(
            f"{os.fspath(named)!r} lacks {', '.join(f'{name}.csv' for name in missing)}: add them, "
            "or name fewer sets"
        )
    return os.fspath(named)


@lru_cache(maxsize=8)
def _table(folder: str, name: str) -> tuple[Any, Any]:
    """Columns and labels of a set."""
    from milpscore.data import read_frame, read_table

    frame = read_frame(Path(folder) / f"{name}.csv")
    return read_table(frame, frame.columns[0])


def _tables(finished: Results, folds: _Folds) -> FacetsTable1:
    import pandas as pd

    rows = [
        {"run": folds.place(run)[0], **row}
        for run, result in finished.items()
        for row in result["rows"]
    ]
    runs = pd.DataFrame(rows)
    found: dict[str, NestedCV] = {}
    for name in folds.sets:
        of_set = [row for row in rows if row["set"] == name]
        found[name] = summarised(of_set)
    summary = pd.concat(
        [each.summary.assign(set=name) for name, each in found.items()], ignore_index=True
    )
    printed = {
        (name, learner): value
        for name, values in PAPER.items()
        for learner, value in zip(PAPER_COLUMNS, values, strict=True)
    }
    pairs = zip(summary["set"], summary["learner"], strict=True)
    summary.insert(3, "paper", [printed.get(pair, float("nan")) for pair in pairs])
    columns = ["set", *summary.columns[:-1]]
    return FacetsTable1(runs, summary[columns], pd.DataFrame(_best(found)))


def _best(found: dict[str, NestedCV]) -> list[dict[str, Any]]:
    """One row a set: who is best, of all and of the integer ones."""
    rows = []
    for name, each in found.items():
        accuracy = each.summary.set_index("learner")["accuracy"]
        rows.append(
            {
                "set": name,
                "best": each.best,
                "best_accuracy": accuracy[each.best],
                "best_integer": each.best_integer,
                "best_integer_accuracy": accuracy.get(each.best_integer, float("nan")),
            }
        )
    return rows
