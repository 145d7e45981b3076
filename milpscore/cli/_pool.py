"""``milpscore pool``: every nearly optimal card, or the best one of every size."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from milpscore.cli import _options as options
from milpscore.cli._common import (
    INTERRUPTED,
    NO_CARD,
    builder_arguments,
    constraints_of,
    formulation_key,
    noting_interrupts,
    print_json,
    read_data,
    require_bins,
    require_folder,
    say,
    settable,
    tell_warnings,
)
from milpscore.cli._figures import require_drawable, save_figure
from milpscore.core.errors import DataError, OptionError

if TYPE_CHECKING:
    from milpscore.core.program import Program
    from milpscore.pools import Front, Pool

Epsilon = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE",
        help="Cards may be worse than the best one by this share of its objective (default 0.01).",
        rich_help_panel=options.MODEL_PANEL,
    ),
]
MaxCards = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        help="Stop at so many cards (default 10000).",
        rich_help_panel=options.SOLVE_PANEL,
    ),
]
EveryIntercept = Annotated[
    bool,
    typer.Option(
        "--every-intercept",
        help="Keep points once for each intercept that is good enough, not with the best one only.",
        rich_help_panel=options.MODEL_PANEL,
    ),
]
Pareto = Annotated[
    bool,
    typer.Option(
        "--pareto",
        help="In place of a pool the best card for every number of terms up to --max-terms.",
        rich_help_panel=options.MODEL_PANEL,
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Save all cards as CSV, one row each: figures, then the points of every column.",
        rich_help_panel=options.OUTPUT_PANEL,
    ),
]
Certificates = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="With --pareto: save a certificate of every size that is not dominated, for "
        "'milpscore verify'.",
        rich_help_panel=options.OUTPUT_PANEL,
    ),
]
Plot = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Draw the points of every column over the pool, or loss against terms (png, pdf or "
        "svg).",
        rich_help_panel=options.OUTPUT_PANEL,
    ),
]


def pool_command(
    data: options.Data,
    target: options.Target,
    positive: options.Positive = None,
    bins: options.Bins = None,
    thresholds: options.Thresholds = None,
    encoding: options.EncodingOption = None,
    missing: options.MissingOption = options.Missing.error,
    weights_column: options.WeightsColumn = None,
    class_weight: options.ClassWeightOption = None,
    formulation: options.Formulation = "risk-score",
    coef_min: options.CoefMin = None,
    coef_max: options.CoefMax = None,
    max_terms: options.MaxTerms = None,
    settings: options.Settings = None,
    constraints: options.Constraints = None,
    epsilon: Epsilon = None,
    every_intercept: EveryIntercept = False,
    pareto: Pareto = False,
    max_cards: MaxCards = None,
    time_limit: options.TimeLimit = 60.0,
    node_limit: options.NodeLimit = None,
    out: Out = None,
    certificates: Certificates = None,
    plot: Plot = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Find every card that is nearly as good as the best one.

    The pool of a risk-score or of slim is complete, or it says up to which
    objective no card is missing. Its cards show which features every good
    card needs, and which can be left out.
    """
    name = formulation_key(formulation)
    arguments = builder_arguments(
        name, settings, coef_min=coef_min, coef_max=coef_max, max_terms=max_terms
    )
    arguments |= constraints_of(constraints)
    _refuse_mixed(
        pareto,
        {"--epsilon": epsilon, "--max-cards": max_cards, "--every-intercept": every_intercept},
        certificates,
    )
    require_folder(out)
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
    require_bins(name, design, encoding)
    tell_warnings(design, quiet)
    if pareto and "max_terms" in settable(name):
        arguments.setdefault("max_terms", design.shape[1])
    limits: dict[str, Any] = {
        "time_limit": time_limit,
        "node_limit": node_limit,
        "progress": False if quiet else None,
    }
    if not pareto:
        limits |= {"every_intercept": every_intercept}
        limits |= {} if epsilon is None else {"epsilon": epsilon}
        limits |= {} if max_cards is None else {"max_cards": max_cards}
    with noting_interrupts() as interrupted:
        try:
            found = _found(design, name, arguments, limits, pareto)
        except KeyboardInterrupt:
            say("Interrupted before the search began: there is no card yet.")
            raise typer.Exit(INTERRUPTED) from None
        _print(found, json)
    _save(found, out, plot)
    if certificates is not None:
        source = {
            "target": target,
            "weights_column": weights_column,
            "class_weight": None if class_weight is None else class_weight.value,
            "missing": missing.value,
        }
        _certify(found, certificates, source)
    if interrupted.is_set():
        raise typer.Exit(INTERRUPTED)
    if not _count(found):
        raise typer.Exit(NO_CARD)


def _refuse_mixed(pareto: bool, of_pool: dict[str, Any], certificates: Path | None) -> None:
    """Refuse options of the other kind of answer, and a place that is no folder."""
    given = [name for name, value in of_pool.items() if value not in (None, False)]
    if pareto and given:
        raise OptionError(f"{given[0]} belongs to a pool: leave it or --pareto out")
    if certificates is None:
        return
    if not pareto:
        raise OptionError(
            "--certificates belongs to --pareto; 'milpscore fit --certificate' is for one card"
        )
    if not certificates.is_dir():
        raise DataError(f"there is no folder {str(certificates)!r}: make it first")


def _found(
    design: Any, name: str, arguments: dict[str, Any], limits: dict[str, Any], pareto: bool
) -> Pool | Front:
    """What the library's own functions answer."""
    from milpscore import pools
    from milpscore.formulations import FORMULATIONS

    program: Program = FORMULATIONS[name](design, **arguments)
    if pareto:
        return pools.pareto(program, **limits)
    return pools.pool(program, **limits)


def _count(found: Pool | Front) -> int:
    """How many cards there are."""
    from milpscore.pools import Pool

    return len(found) if isinstance(found, Pool) else len(found.best)


def _print(found: Pool | Front, as_json: bool) -> None:
    """Print a pool or a front."""
    from milpscore.cli import _pool_table as tables
    from milpscore.pools import Pool

    if isinstance(found, Pool):
        if as_json:
            print_json(tables.pool_report(found))
        else:
            tables.print_pool(found)
    elif as_json:
        print_json(tables.front_report(found))
    else:
        tables.print_front(found)


def _save(found: Pool | Front, out: Path | None, plot: Path | None) -> None:
    """Write the table, and the figure where there is a card to draw."""
    if out is not None:
        found.table.to_csv(out, index=False)
        say(f"The cards were saved in {out}.")
    if plot is None:
        return
    if not _count(found):
        say("There is no card to draw.")
        return
    from matplotlib.figure import Figure

    from milpscore.plots import loss_against_terms, points_over_pool
    from milpscore.pools import Pool

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    if isinstance(found, Pool):
        points_over_pool(found, figure.add_subplot())
    else:
        loss_against_terms(found, figure.add_subplot())
    save_figure(figure, plot)
    say(f"The figure was saved in {plot}.")


def _certify(found: Any, folder: Path, source: dict[str, Any]) -> None:
    """Save a certificate of every size that is not dominated."""
    for k in found.best:
        path = folder / f"terms-{k}.json"
        made = found.certificate(k, source=source)
        made.to_json(path)
        say(f"The certificate was saved in {path}; evidence: {made.evidence['kind']}.")
