"""``milpscore path``: penalised linear models over many penalty weights, each with its gap."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from milpscore.cli import _options as options
from milpscore.cli._common import INTERRUPTED, print_json, read_data, say, tell_warnings
from milpscore.cli._figures import require_drawable, save_figure
from milpscore.cli._penalty import GRID_PENALTIES, LOSSES, SPELT_PENALTIES, loss_key, penalty_maker
from milpscore.core.errors import OptionError

if TYPE_CHECKING:
    from pandas import DataFrame

    from milpscore.core.design import Design
    from milpscore.proximal import FacetsGrid, ProximalPath

Found: TypeAlias = "ProximalPath | FacetsGrid"

Penalty = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help=f"One of {', '.join(SPELT_PENALTIES)}.",
        rich_help_panel=options.MODEL_PANEL,
    ),
]
Loss = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help=f"One of {', '.join(LOSSES)}.",
        rich_help_panel=options.MODEL_PANEL,
    ),
]
Gamma = Annotated[
    float | None,
    typer.Option(
        metavar="UNIT",
        help="Unit of the coefficients for the Facets penalties (default 1).",
        rich_help_panel=options.MODEL_PANEL,
    ),
]
Expert = Annotated[
    str | None,
    typer.Option(
        "--expert-features",
        metavar="A,B,C",
        help="Features an expert knows to matter, for eye and naive-credibility.",
        rich_help_panel=options.MODEL_PANEL,
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Any other argument of the penalty, its value read as JSON (eps=0.05, l1_ratio=0.5, "
        "alpha=\\[1,2,2]); may be repeated.",
        rich_help_panel=options.MODEL_PANEL,
    ),
]
Count = Annotated[
    int,
    typer.Option(
        "--n-lams", metavar="N", min=1, help="Models on the path.",
        rich_help_panel=options.SOLVE_PANEL,
    ),
]  # fmt: skip
Ratio = Annotated[
    float,
    typer.Option(
        metavar="SHARE",
        help="The last lam as a share of the first, where the model is just null.",
        rich_help_panel=options.SOLVE_PANEL,
    ),
]
Lams = Annotated[
    str | None,
    typer.Option(
        metavar="L,L,L",
        help="The lams themselves (l2 and weighted-l2 need them: no lam makes those null).",
        rich_help_panel=options.SOLVE_PANEL,
    ),
]
Grid = Annotated[
    str | None,
    typer.Option(
        metavar="AxC",
        help="A grid in place of a path: A values of lam/gamma times C of gamma, say 24x100; for "
        f"{' and '.join(GRID_PENALTIES)}.",
        rich_help_panel=options.SOLVE_PANEL,
    ),
]
Tolerance = Annotated[
    float,
    typer.Option(
        "--tol", metavar="GAP", help="Relative duality gap at which a model is done.",
        rich_help_panel=options.SOLVE_PANEL,
    ),
]  # fmt: skip
Folds = Annotated[
    int,
    typer.Option(
        metavar="N",
        min=0,
        help="Folds of a cross-validation, cut points held fixed; 0 for none.",
        rich_help_panel=options.SOLVE_PANEL,
    ),
]
Jobs = Annotated[
    int,
    typer.Option(
        metavar="N", help="Processes for a grid; -1 for all cores.",
        rich_help_panel=options.SOLVE_PANEL,
    ),
]  # fmt: skip
Plot = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Draw the coefficients over lam, or the grid's heat maps (png, pdf or svg).",
        rich_help_panel=options.OUTPUT_PANEL,
    ),
]


def path_command(
    data: options.Data,
    target: options.Target,
    penalty: Penalty,
    positive: options.Positive = None,
    bins: options.Bins = None,
    thresholds: options.Thresholds = None,
    encoding: options.EncodingOption = None,
    missing: options.MissingOption = options.Missing.error,
    weights_column: options.WeightsColumn = None,
    class_weight: options.ClassWeightOption = None,
    loss: Loss = "logistic",
    gamma: Gamma = None,
    expert_features: Expert = None,
    settings: Settings = None,
    n_lams: Count = 30,
    ratio: Ratio = 0.01,
    lams: Lams = None,
    grid: Grid = None,
    tol: Tolerance = 1e-6,
    cv: Folds = 0,
    jobs: Jobs = 1,
    seed: options.Seed = 0,
    plot: Plot = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Fit penalised linear models over many penalty weights.

    Coefficients are real numbers, not yet points; every model comes with
    its relative duality gap.
    """
    shape = None if grid is None else _grid_shape(grid, penalty, gamma, lams)
    chosen = loss_key(loss)
    weights = _numbers(lams)
    require_drawable(plot)
    design = read_data(
        data,
        target,
        positive=positive,
        bins=bins,
        thresholds=thresholds,
        encoding=encoding,
        missing=missing,
        weights_column=weights_column,
        class_weight=class_weight,
    ).design()
    tell_warnings(design, quiet)
    make = penalty_maker(
        penalty, design, gamma=gamma, expert=expert_features, settings=settings,
        binned=bins is not None or thresholds is not None,
    )  # fmt: skip
    started = time.perf_counter()
    found: Found
    try:
        with _counting(quiet) as progress:
            if shape is None:
                from milpscore.proximal import path

                found = path(
                    design.X, design.y, sample_weight=design.weight, loss=chosen, penalty=make,
                    lams=weights, n_lams=n_lams, ratio=ratio, tol=tol,
                    cv=cv or None, random_state=seed, progress=progress,
                )  # fmt: skip
            else:
                from milpscore.proximal import facets_grid

                found = facets_grid(
                    design.X, design.y, sample_weight=design.weight, loss=chosen, penalty=make,
                    n_alpha=shape[0], n_gamma=shape[1], tol=tol, n_jobs=jobs,
                    cv=cv or None, random_state=seed, progress=progress,
                )  # fmt: skip
    except KeyboardInterrupt:
        say("Interrupted: a path cannot be resumed; ask for fewer models, or a larger --tol.")
        raise typer.Exit(INTERRUPTED) from None
    found = _with_terms(found, design)
    seconds = time.perf_counter() - started
    if json:
        print_json(_report(found, design, penalty, chosen, seconds))
    else:
        _print(found, seconds)
    _tell_unfinished(found.table, tol)
    if plot is not None:
        save_figure(_figure(found, design, gamma), plot)
        say(f"The figure was saved in {plot}.")


def _grid_shape(text: str, penalty: str, gamma: float | None, lams: str | None) -> tuple[int, int]:
    """Both numbers of ``--grid 24x100``."""
    found = re.fullmatch(r"([1-9]\d{0,4})x([1-9]\d{0,4})", text.strip().lower())
    if found is None:
        raise OptionError(f"--grid {text!r}: write two whole numbers, for example 24x100")
    if penalty.replace("_", "-") not in GRID_PENALTIES:
        raise OptionError(f"--grid is for {' and '.join(GRID_PENALTIES)}: {penalty} has no unit")
    if gamma is not None or lams is not None:
        which = "--gamma" if gamma is not None else "--lams"
        raise OptionError(f"{which} and --grid exclude each other: the grid chooses its own")
    return int(found[1]), int(found[2])


def _numbers(text: str | None) -> list[float] | None:
    """The numbers of ``--lams``."""
    if text is None:
        return None
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise OptionError(f"--lams {text!r}: write numbers with commas, say 1,0.1,0.01") from None


@contextmanager
def _counting(quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    """A live count of models on standard error where that is a terminal."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    with Console(stderr=True).status("fitting") as status:
        yield lambda done, total: status.update(f"{done} of {total} models")


def _with_terms(found: Found, design: Design) -> Found:
    """The same, its terms counted as everywhere: raw features; ``nonzeros`` counts columns."""
    w = found.coefficients
    by_model = w.transpose(1, 0, 2).reshape(-1, w.shape[2]) if w.ndim == 3 else w
    terms = [design.count_terms(row) for row in by_model]
    table = found.table.assign(nonzeros=found.table["terms"], terms=terms)
    return replace(found, table=table)


def _report(
    found: Found, design: Design, penalty: str, loss: str, seconds: float
) -> dict[str, Any]:
    """The object of ``--json``: coefficients in the order of ``design_columns``."""
    from milpscore.proximal import ProximalPath

    table = found.table
    report = {
        "penalty": penalty.replace("-", "_"),
        "loss": loss,
        "table": table.to_dict("records"),
        "models": len(table),
        "null": int(table["null"].sum()),
        "integral": int(table["integral"].sum()),
        "worst_gap": float(table["gap"].max()),
        "n_rows": int((design.weight > 0).sum()),
        "n_columns": design.shape[1],
        "classes": list(design.classes),
        "design_columns": list(design.names),
        "fingerprint": design.fingerprint,
        "seconds": seconds,
    }
    if isinstance(found, ProximalPath):
        report |= {
            "coefficients": found.coefficients.tolist(),
            "intercepts": found.intercepts.tolist(),
        }
    return report


def _print(found: Found, seconds: float) -> None:
    """What a person reads: the path's table, or the best models of a grid."""
    from milpscore.cli._path_table import grid_table, path_table
    from milpscore.cli._table import output
    from milpscore.proximal import ProximalPath

    console = output()
    table = found.table
    if isinstance(found, ProximalPath):
        console.print(path_table(table))
    else:
        console.print(
            f"{len(table)} models: {int(table['null'].sum())} null, "
            f"{int(table['integral'].sum())} with whole coefficients only (in units of gamma)."
        )
        console.print(grid_table(table))
    console.print(
        f"{seconds:.1f} s. 'whole' is the share of whole coefficients, 'gap' the relative duality "
        "gap: the objective lies at most that much above its optimum."
    )


def _tell_unfinished(table: DataFrame, tol: float) -> None:
    """Say how many models did not reach the gap asked for."""
    reached = table["termination"].isin(["gap_reached", "converged"])
    if not reached.all():
        say(
            f"Warning: {int((~reached).sum())} of {len(table)} models stopped with a gap above "
            f"{tol:g}, the worst {table['gap'].max():.1e}: raise --tol, or scale the columns."
        )


def _figure(found: Found, design: Design, gamma: float | None) -> Any:
    """The figure of a path or of a grid."""
    from milpscore import plots
    from milpscore.proximal import ProximalPath

    if not isinstance(found, ProximalPath):
        return plots.facets_heat_maps(found)
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(8.5, 5.0), layout="constrained")
    plots.regularisation_path(found, ax, names=design.names, unit=gamma)
    return figure
