"""``milpscore compare``: exact beside relaxed beside rounded."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from milpscore.cli.common import (
    INTERRUPTED,
    NO_CARD,
    noting_interrupts,
    print_json,
    require_drawable,
    require_folder,
    save_figure,
    say,
)
from milpscore.cli.groups import (
    MIP_GAP,
    MODEL_PANEL,
    NAMES,
    NODE_LIMIT,
    OUTPUT_PANEL,
    PLOT,
    SEED,
    SOLVE_PANEL,
    DataOptions,
    LimitOptions,
    OutputOptions,
    constraints_of,
    option,
    setting,
    spelt,
)
from milpscore.core.errors import OptionError
from milpscore.formulations import FORMULATIONS
from milpscore.solvers.options import Options

if TYPE_CHECKING:
    from milpscore.comparison import Comparison


def compare_command(
    *,
    data: DataOptions,
    limits: LimitOptions,
    output: OutputOptions,
    formulations: str = option(
        MODEL_PANEL,
        f"Formulations to compare, of {', '.join(NAMES)}.",
        metavar="NAME,NAME",
        default="slim,hinge",
    ),
    settings: list[str] | None = option(
        MODEL_PANEL,
        "An argument of every formulation that has it (l0_penalty=0.01), or of one "
        "(hinge.margin=2); the value is read as JSON; may be repeated.",
        "--set",
        metavar="KEY=VALUE",
    ),
    constraints: Path | None = option(
        MODEL_PANEL, "Operational constraints, as for 'milpscore fit'.", metavar="FILE"
    ),
    time_limit: float = option(
        SOLVE_PANEL,
        "Seconds of solving for the whole table, shared by the formulations; half of it goes "
        "to cross-validation.",
        metavar="SECONDS",
        min=0,
        default=Options.time_limit,
    ),
    cv: int = option(
        SOLVE_PANEL, "Folds of the cross-validation; 0 for none.", metavar="N", min=0, default=5
    ),
    draws: int = option(
        SOLVE_PANEL,
        "Draws of the randomised rounding; the best one counts.",
        metavar="N",
        min=1,
        default=100,
    ),
    proximal: bool = option(
        SOLVE_PANEL,
        "Add the card rounded from a proximal path to each formulation.",
        "--proximal",
        default=False,
    ),
    roundings: str = option(
        SOLVE_PANEL,
        "More roundings, a row each: derandomised, local_search, hill_climbing, golovin, ...",
        metavar="LIST",
        default="",
    ),
    mip_gap: float = MIP_GAP,
    node_limit: int | None = NODE_LIMIT,
    seed: int = SEED,
    plot: Path | None = PLOT,
    report: Path | None = option(
        OUTPUT_PANEL,
        "Write an HTML page: the card of the first formulation, its proof, and the table.",
        metavar="FILE",
    ),
) -> None:
    """Set exact programs beside their LP relaxations and rounded cards.

    Each formulation gets four rows: the exact integer program, its LP,
    the best of N randomised roundings of that LP, and its nearest rounding.
    """
    from milpscore.comparison import compare

    names = [FORMULATIONS.name_of(name.strip()) for name in formulations.split(",") if name.strip()]
    common, own = _arguments(names, settings, limits)
    common |= constraints_of(constraints)
    require_drawable(plot)
    require_folder(report)
    table = data.read()
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
            progress=output.progress,
            options={"mip_gap": mip_gap, "node_limit": node_limit},
            **common,
        )
        seconds = time.perf_counter() - started
    _show(answer, seconds, output.json)
    if plot is not None:
        from milpscore.plots import comparison_figure

        save_figure(comparison_figure(answer), plot)
    if report is not None:
        _write_page(answer, report, seed, data.target)
    if interrupted.is_set():
        raise typer.Exit(INTERRUPTED)
    if (answer.table["claim"] == "none").all():
        raise typer.Exit(NO_CARD)


def _arguments(
    names: Sequence[str], settings: Sequence[str] | None, limits: LimitOptions
) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Arguments for every formulation that has them, and those of single ones."""
    common: dict[str, Any] = dict(limits.given)
    own: dict[str, dict[str, Any]] = {}
    for key, value in map(setting, settings or ()):
        owner, dot, argument = key.rpartition(".")
        name = FORMULATIONS.name_of(owner) if dot else ""
        if dot and name not in names:
            raise OptionError(f"--set {key}: {owner} is not among --formulations")
        place = own.setdefault(name, {}) if dot else common
        if argument in place:
            raise OptionError(f"{key} is given twice: keep one of the two")
        place[argument] = value
    return common, own


def _show(answer: Comparison, seconds: float, as_json: bool) -> None:
    """Print the table."""
    frame = answer.table
    if as_json:
        rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
        print_json({"table": rows, "design_columns": list(answer.names), "seconds": seconds})
        return
    from milpscore.cli._tables import LEGEND, comparison, notes, output

    console = output()
    console.print(comparison(frame, console.width))
    console.print()
    for note in notes(frame):
        console.print(note, markup=False)
    console.print(f"{seconds:.1f} s. {LEGEND}")


def _write_page(answer: Comparison, path: Path, seed: int, target: str) -> None:
    """The page about the card of the first exact program that has one."""
    from milpscore.report import report
    from milpscore.scorecard import certified_card

    found = [name for name in answer.programs if answer.results[name, "exact"].card is not None]
    if not found:
        say("No report was written: no exact program has a card.")
        return
    name = found[0]
    result, statement = answer.results[name, "exact"], answer.programs[name].statement
    title = f"{target}, scored by {spelt(name)}"
    card = certified_card(statement.design, result, title, statement=statement)
    report(
        card, statement.design, path=path, statement=statement, comparison=answer,
        random_state=seed,
    )  # fmt: skip
    say(f"The report was saved in {path}.")
