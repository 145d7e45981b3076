"""The sources' tables and figures again: ``python -m experiments NAME`` from the repository root.

One folder a source, with its script, its figures, its study file and its printed table beside ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from milpscore.core.errors import Registry

if TYPE_CHECKING:
    from experiments.runner import Experiment

EXPERIMENTS: Registry[type[Experiment]] = Registry(
    "experiment",
    {
        "binarsity-comparison": "experiments.binarsity.comparison:BinarsityComparison",
        "binarsity-rate": "experiments.binarsity.rate:BinarsityRate",
        "binarsity-toys": "experiments.binarsity.toys:BinarsityToys",
        "diarem-recovery": "experiments.scores.recovery:DiaremRecovery",
        "eye-figure2": "experiments.eye.figures:EyeFigure2",
        "eye-figure3": "experiments.eye.shrinkage:EyeFigure3",
        "eye-figure4a": "experiments.eye.figures:EyeFigure4a",
        "eye-figure4b": "experiments.eye.figures:EyeFigure4b",
        "eye-table2": "experiments.eye.table2:EyeTable2",
        "eye-table3": "experiments.eye.table3:EyeTable3",
        "facets-figure3": "experiments.facets.grid:FacetsFigure3",
        "facets-table1": "experiments.facets.table1:FacetsTable1",
        "facets-table2": "experiments.facets.grid:FacetsTable2",
        "score-learning": "experiments.scores.learning:ScoreLearning",
        "slim-strength": "experiments.strength.comparison:SlimStrength",
        "ternary-figures": "experiments.ternary.figures:TernaryFigures",
    },
)
"""Name -> "module:class"; a new experiment is a new file and one line here."""
