"""``milpscore path``: penalised linear models over many penalty weights, each with its gap."""

from __future__ import annotations

import re
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import typer

from milpscore.cli.common import (
    INTERRUPTED,
    Tell,
    counting,
    print_json,
    require_drawable,
    save_figure,
    say,
    tell_warnings,
)
from milpscore.cli.groups import (
    MODEL_PANEL,
    PLOT,
    SEED,
    SOLVE_PANEL,
    DataOptions,
    OutputOptions,
    option,
)
from milpscore.cli.penalty import GRID_PENALTIES, loss_key, loss_names, penalty_maker, penalty_names
from milpscore.core.errors import OptionError

if TYPE_CHECKING:
    from pandas import DataFrame

    from milpscore.core.design import Design
    from milpscore.proximal import FacetsGrid, ProximalPath

Found: TypeAlias = "ProximalPath | FacetsGrid"


def path_command(
    *,
    data: DataOptions,
    penalty: str = option(
        MODEL_PANEL, f"One of {', '.join(penalty_names())}.", metavar="NAME", default=...
    ),
    output: OutputOptions,
    loss: str = option(
        MODEL_PANEL, f"One of {', '.join(loss_names())}.", metavar="NAME", default="logistic"
    ),
    gamma: float | None = option(
        MODEL_PANEL,
        "Unit of the coefficients for the Facets penalties (default 1).",
        metavar="UNIT",
    ),
    expert_features: str | None = option(
        MODEL_PANEL,
        "Features an expert knows to matter, for eye and naive-credibility.",
        metavar="A,B,C",
    ),
    settings: list[str] | None = option(
        MODEL_PANEL,
        "Any other argument of the penalty, its value read as JSON (eps=0.05, l1_ratio=0.5, "
        "alpha=\\[1,2,2]); may be repeated.",
        "--set",
        metavar="KEY=VALUE",
    ),
    n_lams: int = option(SOLVE_PANEL, "Models on the path.", metavar="N", min=1, default=30),
    ratio: float = option(
        SOLVE_PANEL,
        "The last lam as a share of the first, where the model is just null.",
        metavar="SHARE",
        default=0.01,
    ),
    lams: str | None = option(
        SOLVE_PANEL,
        "The lams themselves (l2 and weighted-l2 need them: no lam makes those null).",
        metavar="L,L,L",
    ),
    grid: str | None = option(
        SOLVE_PANEL,
        "A grid in place of a path: A values of lam/gamma times C of gamma, say 24x100; for "
        f"{' and '.join(GRID_PENALTIES)}.",
        metavar="AxC",
    ),
    tol: float = option(
        SOLVE_PANEL, "Relative duality gap at which a model is done.", metavar="GAP", default=1e-6
    ),
    cv: int = option(
        SOLVE_PANEL,
        "Folds of a cross-validation, cut points held fixed; 0 for none.",
        metavar="N",
        min=0,
        default=0,
    ),
    jobs: int = option(
        SOLVE_PANEL, "Processes for a grid; -1 for all cores.", metavar="N", default=1
    ),
    seed: int = SEED,
    plot: Path | None = PLOT,
) -> None:
    """Fit penalised linear models over many penalty weights.

    Coefficients are real numbers, not yet points; every model comes with
    its relative duality gap.
    """
    shape = None if grid is None else _grid_shape(grid, penalty, gamma, lams)
    chosen = loss_key(loss)
    weights = _numbers(lams)
    require_drawable(plot)
    design = data.design()
    tell_warnings(design, output.quiet)
    make = penalty_maker(
        penalty,
        design,
        gamma=gamma,
        expert=expert_features,
        settings=settings,
        binned=data.bins is not None or data.thresholds is not None,
    )
    common: dict[str, Any] = {
        "sample_weight": design.weight,
        "loss": chosen,
        "penalty": make,
        "tol": tol,
        "cv": cv or None,
        "random_state": seed,
    }
    started = time.perf_counter()
    found: Found
    try:
        with counting("fitting", "models", output.quiet or not sys.stderr.isatty()) as tell:
            if tell is not None:
                common["progress"] = partial(_told, tell)
            if shape is None:
                from milpscore.proximal import path

                found = path(design.X, design.y, lams=weights, n_lams=n_lams, ratio=ratio, **common)
            else:
                from milpscore.proximal import facets_grid

                found = facets_grid(
                    design.X, design.y, n_alpha=shape[0], n_gamma=shape[1], n_jobs=jobs, **common
                )
    except KeyboardInterrupt:
        say("Interrupted: a path cannot be resumed; ask for fewer models, or a larger --tol.")
        raise typer.Exit(INTERRUPTED) from None
    found = _with_terms(found, design)
    seconds = time.perf_counter() - started
    if output.json:
        print_json(_report(found, design, penalty, chosen, seconds))
    else:
        _print(found, seconds)
    _tell_unfinished(found.table, tol)
    if plot is not None:
        save_figure(_figure(found, design, gamma), plot)


def _told(tell: Tell, done: int, total: int) -> None:
    """A path counts models that are done; none of them fails."""
    tell(done, 0, total)


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
    from milpscore.cli._tables import grid_table, output, path_table
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
