"""``milpscore compare``: exact beside relaxed beside rounded."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from milpscore.cli import _options as options
from milpscore.cli._common import (
    INTERRUPTED,
    NO_CARD,
    constraints_of,
    formulation_key,
    noting_interrupts,
    parse_setting,
    print_json,
    read_data,
    require_folder,
    require_known,
    say,
    settable,
)
from milpscore.cli._figures import require_drawable, save_figure
from milpscore.core.errors import OptionError

if TYPE_CHECKING:
    from milpscore.comparison import Comparison

Formulations = Annotated[
    str,
    typer.Option(
        metavar="NAME,NAME",
        help=f"Formulations to compare, of {', '.join(options.NAMES)}.",
        rich_help_panel=options.MODEL_PANEL,
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="An argument of every formulation that has it (l0_penalty=0.01), or of one "
        "(hinge.margin=2); the value is read as JSON; may be repeated.",
        rich_help_panel=options.MODEL_PANEL,
    ),
]
TimeLimit = Annotated[
    float,
    typer.Option(
        metavar="SECONDS",
        min=0,
        help="Seconds of solving for the whole table, shared by the formulations; half of it goes "
        "to cross-validation.",
        rich_help_panel=options.SOLVE_PANEL,
    ),
]
Folds = Annotated[
    int,
    typer.Option(
        metavar="N",
        min=0,
        help="Folds of the cross-validation; 0 for none.",
        rich_help_panel=options.SOLVE_PANEL,
    ),
]
Draws = Annotated[
    int,
    typer.Option(
        metavar="N",
        min=1,
        help="Draws of the randomised rounding; the best one counts.",
        rich_help_panel=options.SOLVE_PANEL,
    ),
]
Proximal = Annotated[
    bool,
    typer.Option(
        "--proximal",
        help="Add the card rounded from a proximal path to each formulation.",
        rich_help_panel=options.SOLVE_PANEL,
    ),
]
Roundings = Annotated[
    str,
    typer.Option(
        metavar="LIST",
        help="More roundings, a row each: derandomised, local_search, hill_climbing, golovin, ...",
        rich_help_panel=options.SOLVE_PANEL,
    ),
]
Plot = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Draw bounds over time and coefficients side by side (png, pdf or svg).",
        rich_help_panel=options.OUTPUT_PANEL,
    ),
]
Report = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Write an HTML page: the card of the first formulation, its proof, and the table.",
        rich_help_panel=options.OUTPUT_PANEL,
    ),
]


def compare_command(
    data: options.Data,
    target: options.Target,
    positive: options.Positive = None,
    bins: options.Bins = None,
    thresholds: options.Thresholds = None,
    encoding: options.EncodingOption = None,
    missing: options.MissingOption = options.Missing.error,
    weights_column: options.WeightsColumn = None,
    class_weight: options.ClassWeightOption = None,
    formulations: Formulations = "slim,hinge",
    coef_min: options.CoefMin = None,
    coef_max: options.CoefMax = None,
    max_terms: options.MaxTerms = None,
    settings: Settings = None,
    constraints: options.Constraints = None,
    time_limit: TimeLimit = 60.0,
    cv: Folds = 5,
    draws: Draws = 100,
    proximal: Proximal = False,
    roundings: Roundings = "",
    mip_gap: options.MipGap = 0.0,
    node_limit: options.NodeLimit = None,
    seed: options.Seed = 0,
    plot: Plot = None,
    report: Report = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Set exact programs beside their LP relaxations and rounded cards.

    Each formulation gets four rows: the exact integer program, its LP,
    the best of N randomised roundings of that LP, and its nearest rounding.
    """
    from milpscore.comparison import compare

    names = [formulation_key(name.strip()) for name in formulations.split(",") if name.strip()]
    common, own = _arguments(
        names, settings, coef_min=coef_min, coef_max=coef_max, max_terms=max_terms
    )
    common |= constraints_of(constraints)
    require_drawable(plot)
    require_folder(report)
    table = read_data(
        data,
        target,
        positive=positive,
        bins=bins,
        thresholds=thresholds,
        encoding=encoding,
        missing=missing,
        weights_column=weights_column,
        class_weight=class_weight,
    )
    with noting_interrupts() as interrupted:
        started = time.perf_counter()
        answer = compare(
            table.X,
            table.y,
            formulations=names,
            arguments=own,
            binner=table.binner,
            **table.given,
            time_limit=time_limit,
            n_draws=draws,
            cv=cv,
            proximal=proximal,
            roundings=[name.strip() for name in roundings.split(",") if name.strip()],
            random_state=seed,
            progress=False if quiet else None,
            options={"mip_gap": mip_gap, "node_limit": node_limit},
            **common,
        )
        seconds = time.perf_counter() - started
    _show(answer, seconds, json)
    if plot is not None:
        from milpscore.plots import comparison_figure

        save_figure(comparison_figure(answer), plot)
        say(f"The figure was saved in {plot}.")
    if report is not None:
        from milpscore.cli._report_page import comparison_page

        comparison_page(answer, table, common, own, report, seed, target)
    if interrupted.is_set():
        raise typer.Exit(INTERRUPTED)
    if (answer.table["claim"] == "none").all():
        raise typer.Exit(NO_CARD)


def _arguments(
    names: Sequence[str], settings: Sequence[str] | None, **given: int | None
) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Arguments for every formulation that has them, and those of single ones."""
    everywhere = list(dict.fromkeys(key for name in names for key in settable(name)))
    common = {key: value for key, value in given.items() if value is not None}
    own: dict[str, dict[str, Any]] = {}
    for text in settings or ():
        key, value = parse_setting(text)
        owner, dot, argument = key.rpartition(".")
        name = formulation_key(owner) if dot else ""
        if dot and name not in names:
            raise OptionError(f"--set {key}: {owner} is not among --formulations")
        if dot:
            require_known(argument, settable(name), f"{options.spelt(name)} has no argument")
        place = own.setdefault(name, {}) if dot else common
        if argument in place:
            raise OptionError(f"{key} is given twice: keep one of the two")
        place[argument] = value
    for key in common:
        require_known(key, everywhere, f"none of {', '.join(map(options.spelt, names))} takes")
    return common, own


def _show(answer: Comparison, seconds: float, as_json: bool) -> None:
    """Print the table."""
    frame = answer.table
    if as_json:
        rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
        print_json({"table": rows, "design_columns": list(answer.names), "seconds": seconds})
        return
    from milpscore.cli._table import LEGEND, comparison, notes, output

    console = output()
    console.print(comparison(frame, console.width))
    console.print()
    for note in notes(frame):
        console.print(note, markup=False)
    console.print(f"{seconds:.1f} s. {LEGEND}")
