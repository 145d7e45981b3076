"""The experiments of papers by name; adding one is a new file and one line here."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from importlib import import_module
from typing import Any

from milpscore.core.errors import OptionError

EXPERIMENTS: dict[str, str] = {
    "binarsity-comparison": "milpscore.study._binarsity_comparison:binarsity_comparison",
    "binarsity-toys": "milpscore.study._binarsity_toys:binarsity_toys",
    "diarem-recovery": "milpscore.study._diarem_recovery:diarem_recovery",
    "eye-figure2": "milpscore.study._figure2:eye_figure2",
    "eye-figure4a": "milpscore.study._figure4:eye_figure4a",
    "eye-figure4b": "milpscore.study._figure4:eye_figure4b",
    "eye-table2": "milpscore.study._table2:eye_table2",
    "facets-figure3": "milpscore.study._facets_grid_study:facets_figure3",
    "facets-table1": "milpscore.study._facets_table1:facets_table1",
    "facets-table2": "milpscore.study._facets_grid_study:facets_table2",
    "score-learning": "milpscore.study._score_learning:score_learning",
    "ternary-figures": "milpscore.study._ternary:ternary_figures",
}
"""Name -> module:function.

The function is called as ``function(runs, out=, n_jobs=, random_state=, progress=)``, has a default
for ``runs``, finishes its runs with :func:`milpscore.study.finish_runs`, and returns a dataclass
whose DataFrames are printed (all but the one called ``runs``).
"""


def experiment_function(name: str) -> Callable[..., Any]:
    """The function of the experiment called ``name``; underscores count as hyphens.

    Raises
    ------
    OptionError
        Where there is none; the message names the nearest.
    """
    key = name.replace("_", "-")
    if key not in EXPERIMENTS:
        close = get_close_matches(key, EXPERIMENTS, n=1)
        hint = f"did you mean {close[0]}? " if close else ""
        raise OptionError(
            f"there is no experiment {name!r}; {hint}there are {', '.join(EXPERIMENTS)}"
        )
    module, _, attribute = EXPERIMENTS[key].partition(":")
    found: Callable[..., Any] = getattr(import_module(module), attribute)
    return found
