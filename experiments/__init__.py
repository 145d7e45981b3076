"""The sources' tables and figures again: ``python -m experiments NAME`` from the repository root.

One folder a source, with its script, its figures, its study file and its printed table beside ours.
"""

from typing import Any

from milpscore.core.registry import Registry

EXPERIMENTS: Registry = Registry(
    "experiment",
    {
        "binarsity-comparison": "experiments.binarsity.comparison:binarsity_comparison",
        "binarsity-toys": "experiments.binarsity.toys:binarsity_toys",
        "diarem-recovery": "experiments.scores.recovery:diarem_recovery",
        "eye-figure2": "experiments.eye.figure2:eye_figure2",
        "eye-figure4a": "experiments.eye.figure4:eye_figure4a",
        "eye-figure4b": "experiments.eye.figure4:eye_figure4b",
        "eye-table2": "experiments.eye.table2:eye_table2",
        "facets-figure3": "experiments.facets.grid:facets_figure3",
        "facets-table1": "experiments.facets.table1:facets_table1",
        "facets-table2": "experiments.facets.grid:facets_table2",
        "score-learning": "experiments.scores.learning:score_learning",
        "ternary-figures": "experiments.ternary.figures:ternary_figures",
    },
)
"""Name -> "module:function"; a new experiment is a new file and one line here."""

FIGURES: Registry = Registry(
    "figure",
    {
        "BinarsityComparison": "experiments.binarsity.plots:binarsity_figure",
        "BinarsityToys": "experiments.binarsity.plots:binarsity_figure",
        "DiaremRecovery": "experiments.scores.plots:score_figure",
        "EyeFigure2": "experiments.eye.plots:credibility_figure",
        "EyeFigure4": "experiments.eye.plots:credibility_figure",
        "EyeTable": "experiments.eye.plots:credibility_figure",
        "FacetsFigure3": "experiments.facets.plots:facets_figure",
        "FacetsTable2": "experiments.facets.plots:facets_table2_figure",
        "ScoreLearning": "experiments.scores.plots:score_figure",
        "TernaryFigures": "experiments.ternary.plots:ternary_figure",
    },
)


def draw(found: Any) -> Any:
    """The figure of a finding; the source's own where it has one."""
    return FIGURES[type(found).__name__](found)
