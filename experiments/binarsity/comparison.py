"""Binarsity against its rivals: accuracy, AUC and seconds on several sets, up to many rows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from experiments.binarsity.models import PathOptions
from experiments.binarsity.rows import compared, drawn_parts, named_parts
from experiments.means import means_of
from experiments.runner import Progress, Results, RunStore, finish_runs
from experiments.sets import BUNDLED, folder_of, sets_here
from milpscore.core.errors import OptionError

if TYPE_CHECKING:
    import pandas as pd

SETS = (BUNDLED, "haberman", "breastcancer", "mammo", "mushroom", "adult")
SIZES = (1000, 10_000, 100_000)


@dataclass(frozen=True, eq=False)
class BinarsityComparison:
    """Every method on every set.

    Attributes
    ----------
    runs : DataFrame
        One row a repetition, set and method: accuracy and auc on the test rows, seconds of CPU for
        the whole path, lam, at_edge, largest gap, nonzeros, jumps (missing on raw columns).
    sets : DataFrame
        One row a set: rows, features, one-hot columns, share of positive rows.
    summary : DataFrame
        One row a set and method: accuracy, auc, seconds and jumps, means over the repetitions with
        standard deviations (NAME_stdev).
    notes : DataFrame
        Columns about and note: sets left out.
    """

    runs: pd.DataFrame
    sets: pd.DataFrame
    summary: pd.DataFrame
    notes: pd.DataFrame


@dataclass(frozen=True)
class _Comparison:
    """One repetition on one set a run; its number says which."""

    folder: str
    sets: tuple[str, ...]
    sizes: tuple[int, ...]
    n_bins: int
    n_features: int
    n_relevant: int
    options: PathOptions
    random_state: int

    def settings(self) -> dict[str, Any]:
        """All but the folder: moving the data changes nothing."""
        return {name: value for name, value in asdict(self).items() if name != "folder"}

    def __call__(self, run: int) -> dict[str, Any]:
        repetition, at = divmod(run, len(self.sets) + len(self.sizes))
        seed = [self.random_state, repetition]
        if at < len(self.sets):
            parts = named_parts(self.folder, self.sets[at], seed)
        else:
            size = self.sizes[at - len(self.sets)]
            parts = drawn_parts(size, self.n_features, self.n_relevant, seed)
        return compared(parts, self.n_bins, self.options)

    def label(self, run: int) -> tuple[int, str]:
        """Repetition and name of a run's set."""
        repetition, at = divmod(run, len(self.sets) + len(self.sizes))
        names = (*self.sets, *(f"steps {size}" for size in self.sizes))
        return repetition, names[at]


def binarsity_comparison(
    runs: int = 3,
    *,
    out: str | os.PathLike[str] | None = None,
    data: str | os.PathLike[str] | None = None,
    sets: Sequence[str] = SETS,
    sizes: Sequence[int] = SIZES,
    n_bins: int = 50,
    n_features: int = 8,
    n_relevant: int = 4,
    options: PathOptions | None = None,
    n_jobs: int = 1,
    random_state: int = 0,
    progress: Progress | None = None,
) -> BinarsityComparison:
    """Repeat the comparison: accuracy, AUC and seconds of binarsity and its rivals.

    Half of the rows train, a quarter chooses lam by the logistic loss, a quarter
    tests; bins are found in the
    training rows. Binarsity, total variation without the sum constraint ("tv"), the group lasso by
    feature, the lasso and the ridge act on the same one-hot bins; "raw_lasso" and "raw_ridge" on
    the columns themselves, standardised, with text one-hot. All have the logistic loss and a free
    intercept. The slides' figures are pictures without a table, and of their nine sets only Adult
    is among those here (in a version whose columns were made 0 and 1 by others); generated sets of
    :func:`milpscore.data.make_additive_steps` stand for the large ones.

    Seconds are those of the whole path, without binning, one thread of CPU; besides them nothing
    depends on the machine.

    Parameters
    ----------
    runs : int
        Repetitions, each with rows of its own.
    out : path-like, optional
        A file of finished runs; those it holds are not done again.
    data : path-like, optional
        The folder of the sets, NAME.csv with the label first; default: the variable
        ``MILPSCORE_DATA``. Sets that are not in it are left out, and the notes say so.
    sets : sequence of str
        "wdbc" is scikit-learn's breast cancer set, which is always there.
    sizes : sequence of int
        Rows of the generated sets.
    n_bins : int
    n_features, n_relevant : int
        Of the generated sets.
    options : PathOptions, optional
    n_jobs : int
    random_state : int
    progress : callable, optional
        ``progress(done, total)`` in sets.

    Returns
    -------
    BinarsityComparison

    Raises
    ------
    OptionError
        A parameter lies outside its range, or ``out`` holds runs with other settings.
    DataError
        A file cannot be read.

    References
    ----------
    Alaya, "Binarsity: a penalization for one-hot encoded features" (seminar, 2018), "Real data" and
    "Computing time comparisons".
    """
    if runs < 1:
        raise OptionError(f"runs={runs}; use at least 1.")
    here, absent = sets_here(folder_of(data), sets)
    if not here and not sizes:
        raise OptionError("there is no set to compare on: name some in sets, or give sizes.")
    comparison = _Comparison(
        folder_of(data), here, tuple(int(size) for size in sizes), n_bins, n_features, n_relevant,
        options or PathOptions(), random_state,
    )  # fmt: skip
    store = RunStore(out, "binarsity-comparison", comparison.settings())
    total = runs * (len(here) + len(comparison.sizes))
    finished = finish_runs(store, comparison, total, n_jobs=n_jobs, progress=progress)
    return _comparison(finished, comparison, absent)


def _comparison(
    finished: Results, comparison: _Comparison, absent: list[dict[str, str]]
) -> BinarsityComparison:
    import pandas as pd

    rows, sets = [], {}
    for run, result in finished.items():
        repetition, name = comparison.label(run)
        sets[name] = {"set": name, **result["set"]}
        rows += [
            {"run": repetition, "set": name, "method": method, **found}
            for method, found in result["methods"].items()
        ]
    runs = pd.DataFrame(rows)
    runs["jumps"] = runs["jumps"].astype(float)
    return BinarsityComparison(
        runs,
        pd.DataFrame(list(sets.values())),
        means_of(runs, ["set", "method"], ("accuracy", "auc", "seconds", "jumps")),
        pd.DataFrame(absent, columns=["about", "note"]),
    )
