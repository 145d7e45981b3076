"""``milpscore compare`` and ``demo``: exact beside relaxed beside rounded."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from milpscore.cli.common import (
    INTERRUPTED,
    NO_CARD,
    WIDTH,
    PrintedColumn,
    noting_interrupts,
    output as standard_output,
    print_json,
    require_drawable,
    save_figure,
    say,
    spelt,
    table,
    tell_warnings,
)
from milpscore.cli.groups import (
    CARD,
    MIP_GAP,
    MIP_GAP_ABS,
    NAMES,
    NODE_LIMIT,
    PLOT,
    QUIET,
    SEED,
    SETTINGS,
    SOLVE,
    DataOptions,
    LimitOptions,
    OutputOptions,
    constraints_of,
    featured,
    file,
    option,
    output_file,
    seconds,
    settings_of,
)
from milpscore.cli.survival import DEFAULT_NAMES, timed_names
from milpscore.core.errors import OptionError
from milpscore.formulations import card_name

if TYPE_CHECKING:
    from pandas import DataFrame
    from rich.console import Console
    from rich.table import Table

    from milpscore.comparison import Comparison
    from milpscore.core.design import Design

_FOLDS = 5
"""Folds of a comparison if the rarer class has that many rows."""

TIMED_LEGEND = "'whole' is the share of coefficients that are integers, AUC here Harrell's C."
LEGEND = "'whole' is the share of coefficients that are integers, AUC the area under the ROC curve."


@featured(
    "milpscore compare patients.csv --target ill --max-terms 5",
    "target",
    "formulations",
    "max_terms",
    "time_limit",
    "report",
)
def compare_command(
    *,
    data: DataOptions,
    limits: LimitOptions,
    output: OutputOptions,
    formulations: str = option(
        CARD,
        f"Formulations to compare, of {', '.join(NAMES)}.",
        metavar="NAME,NAME",
        default=DEFAULT_NAMES,
    ),
    settings: list[str] | None = SETTINGS,
    constraints: Path | None = file("Operational constraints, as for 'milpscore fit'.", CARD),
    time_limit: float = seconds(
        "Seconds of solving for the whole table, shared by the formulations; half of it goes "
        "to cross-validation."
    ),
    cv: int | None = option(
        SOLVE,
        "Folds of the cross-validation; 0 for none; by default 5, or one per row of the rarer "
        "class.",
        metavar="N",
        min=0,
    ),
    draws: int = option(
        SOLVE,
        "Draws of the randomised rounding; the best one counts.",
        metavar="N",
        min=1,
        default=100,
    ),
    proximal: bool = option(
        SOLVE, "Add the card rounded from a proximal path to each formulation.", default=False
    ),
    roundings: str = option(
        SOLVE,
        "More roundings, a row each: derandomised, local_search, golovin, ...",
        metavar="LIST",
        default="",
    ),
    mip_gap: float = MIP_GAP,
    mip_gap_abs: float = MIP_GAP_ABS,
    node_limit: int | None = NODE_LIMIT,
    seed: int = SEED,
    plot: Path | None = PLOT,
    report: Path | None = output_file(
        "Write an HTML page: the card of the first formulation, its proof, and the table."
    ),
) -> None:
    """Set exact programs beside their LP relaxations and rounded cards.

    Each formulation gets four rows: the exact integer program, its LP,
    the best of N randomised roundings of that LP, and its nearest rounding.
    """
    from milpscore.comparison import compare
    from milpscore.data import Binner

    names = timed_names(formulations, data)
    common, own = _arguments(names, settings, limits)
    common |= constraints_of(constraints)
    require_drawable(plot)
    if data.time is not None and report is not None:
        raise OptionError("--report of times is of one card: milpscore fit, then milpscore report")
    X, y, cutting, given = data.read(rows=cv != 0, times=common.get("times"))
    binner = None if cutting is None else Binner(**vars(cutting))
    if cv is None:
        cv = _folds(X, y, given.get("sample_weight"), output.quiet)
    with noting_interrupts() as interrupted:
        started = time.perf_counter()
        answer = compare(
            X,
            y,
            formulations=names,
            arguments=own,
            binner=binner,
            **given,
            time_limit=time_limit,
            n_draws=draws,
            cv=cv,
            proximal=proximal,
            roundings=[name.strip() for name in roundings.split(",") if name.strip()],
            random_state=seed,
            progress=output.progress,
            options={
                "mip_gap": mip_gap,
                "mip_gap_abs": mip_gap_abs,
                "node_limit": node_limit,
            },
            **common,
        )
        seconds = time.perf_counter() - started
    for program in [*answer.programs.values()][:1]:
        tell_warnings(program.statement.design.unpaired, output.quiet)
    _show(answer, seconds, output.json, data.time is not None)
    if plot is not None:
        from milpscore_show.plots import comparison_figure

        save_figure(comparison_figure(answer), plot, output.quiet)
    if report is not None:
        _write_page(answer, report, seed, data.target)
    if interrupted.is_set():
        raise typer.Exit(INTERRUPTED)
    if (answer.table["claim"] == "none").all():
        raise typer.Exit(NO_CARD)


def _folds(X: Any, y: Any, weight: Any, quiet: bool) -> int:
    """As many folds as the rarer class has rows, at most five; said where they are fewer."""
    import numpy as np

    from milpscore.data.survival import structured

    if y is None:
        labels, rows = X.y, X.rows * (X.weight > 0)
    else:
        labels = structured(y)[0] if getattr(y, "dtype", np.dtype(int)).names else np.asarray(y)
        rows = np.ones(len(labels)) if weight is None else np.asarray(weight) > 0
    rarer = min(int(rows[labels == label].sum()) for label in np.unique(labels))
    folds = min(_FOLDS, rarer) if rarer > 1 else 0
    if folds < _FOLDS:
        done = f"{folds} folds" if folds else "no cross-validation"
        say(f"Note: the rarer class has {rarer} row(s): {done} (--cv).", quiet)
    return folds


def _arguments(
    names: Sequence[str], settings: Sequence[str] | None, limits: LimitOptions
) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Arguments for every formulation that has them, and those of single ones."""
    common: dict[str, Any] = dict(limits.given)
    own: dict[str, dict[str, Any]] = {}
    for key, value in settings_of(settings).items():
        owner, dot, argument = key.rpartition(".")
        name = card_name(owner) if dot else ""
        if dot and name not in names:
            raise OptionError(f"--set {key}: {owner} is not among --formulations")
        place = own.setdefault(name, {}) if dot else common
        if argument in place:
            raise OptionError(f"{key} is given twice: keep one of the two")
        place[argument] = value
    return common, own


def _show(answer: Comparison, seconds: float, as_json: bool, timed: bool = False) -> None:
    """Print the table, and why a formulation, or a rounding asked for by name, has no card."""
    from milpscore.comparison.answers import KINDS
    from milpscore.metrics import CONCORDANCE_NEEDS

    frame = answer.table
    if as_json:
        rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
        print_json({"table": rows, "design_columns": list(answer.names), "seconds": seconds})
        return
    console = standard_output()
    console.print(comparison(frame, console.width))
    console.print()
    shown = (frame["kind"] == "exact") | ~frame["kind"].isin(KINDS)
    without = frame[(frame["claim"] == "none") & shown & (frame["message"] != "")]
    for row in without.to_dict("records"):
        kind = "" if row["kind"] == "exact" else f", {spelt(row['kind'])}"
        console.print(f"{spelt(row['formulation'])}{kind}: {row['message']}")
    console.print(f"{seconds:.1f} s. {TIMED_LEGEND if timed else LEGEND}")
    if timed and frame["train_auc"].isna().all():
        console.print(f"{CONCORDANCE_NEEDS}.", markup=False)


def _write_page(answer: Comparison, path: Path, seed: int, target: str) -> None:
    """The page about the card of the first exact program that has one."""
    from milpscore.scorecard import certified_card
    from milpscore_show.report import report

    for name, program in answer.programs.items():
        result, statement = answer.results[name, "exact"], program.statement
        if result.card is not None:
            title = f"{target}, scored by {spelt(name)}"
            card = certified_card(statement.design, result, title, statement=statement)
            # 'milpscore report' makes the card again on samples of its rows
            report(
                card, statement.design.unpaired, path=path, program=program, comparison=answer,
                bootstraps=0, random_state=seed,
            )  # fmt: skip
            say(f"The report was saved in {path}.")
            return
    say("No report was written: no exact program has a card.")


def comparison(frame: DataFrame, width: int) -> Table:
    """The rows of a comparison with the columns a person reads first; narrow where it must be."""
    held_out = frame["cv_auc"].notna().any()
    columns = {
        "program": PrintedColumn("program"),
        "said": PrintedColumn("claim"),
        "objective": PrintedColumn("objective", "{:.5f}"),
        "bound": PrintedColumn("bound", "{:.5f}"),
        "distance": PrintedColumn("gap"),
        "integrity": PrintedColumn("whole", "{:.0%}"),
        "terms": PrintedColumn("terms", "{:.0f}"),
        "train_auc": PrintedColumn("AUC", "{:.3f}"),
        **(
            {"cv_auc": PrintedColumn("held out", "{:.3f}")}
            if held_out
            else {"solve_seconds": PrintedColumn("time", "{:.2f} s")}
        ),
    }
    rows = frame.to_dict("records")
    gap = PrintedColumn("", "{:.1%}")
    for row in rows:
        card = row["kind"] != "relaxed"  # the one kind of row that is not a card
        row["program"] = f"  {spelt(row['kind']) if card else 'LP relaxation'}"
        row["said"] = str(row["claim"]) if card else "bound"
        row["distance"] = gap.cell(row["gap"]) if card else ""
    made = table(
        rows,
        columns,
        green=lambda row: row["said"] == "optimal" and row["kind"] == "exact",
        section="formulation",
        gap=1 if width >= WIDTH else 0,
    )
    made.columns[0].justify = made.columns[1].justify = "left"
    return made


# ---------------------------------------------------------------- the demo

MOST_POINTS, MAX_TERMS = 5, 5


class DemoProgram(NamedTuple):
    """One formulation of the demo: its arguments, and what it does."""

    formulation: str
    arguments: dict[str, Any]
    words: str
    on_deciles: bool = False


_BOX = {"coef_min": 0, "coef_max": MOST_POINTS, "max_terms": MAX_TERMS}

PARTS = (
    DemoProgram(
        "slim",
        {**_BOX, "l0_penalty": 0.001},
        f"fewest errors; points 0 to {MOST_POINTS}, at most {MAX_TERMS} columns, 0.001 for each",
    ),
    DemoProgram("hinge", {**_BOX, "margin": 4}, "hinge loss with margin 4; the same points"),
    DemoProgram(
        "sparse_rounding",
        {"max_terms": MAX_TERMS},
        f"hinge loss; points -1, 0 or 1, at most {MAX_TERMS} columns",
    ),
    DemoProgram(
        "fused_lasso",
        {"lam": 0.01},
        "hinge loss on the deciles; neighbouring bins of equal points merge",
        on_deciles=True,
    ),
)


@featured(
    "milpscore demo --time-limit 10",
    "time_limit",
    "quiet",
)
def demo_command(
    *,
    time_limit: float = seconds("Seconds of solving for each of the five programs."),
    quiet: bool = QUIET,
) -> None:
    """Certify a risk score on breast-cancer data; no file and no network needed.

    A card with the risk of every total, and what is proved of it at every
    scale; then four other formulations, exact beside relaxed beside rounded.
    """
    import pandas as pd

    from milpscore.comparison import compare

    started = time.perf_counter()
    console = standard_output()
    progress = False if quiet else None
    steps, deciles = _designs()
    console.print("\nA risk score with its certificate\n", style="bold")
    console.print(_labelled(_about(steps)))
    with noting_interrupts() as interrupted:
        _show_card(console, steps, time_limit, progress)
        answers: list[Comparison] = []
        for part in PARTS if not interrupted.is_set() else ():
            answer = compare(
                deciles if part.on_deciles else steps,
                formulations=[part.formulation],
                time_limit=time_limit,
                cv=None,
                progress=progress,
                **part.arguments,
            )
            answers.append(answer)
            if interrupted.is_set():
                break
    if answers:
        console.print("\nOther formulations: exact beside relaxed beside rounded\n", style="bold")
        frame = pd.concat([answer.table for answer in answers], ignore_index=True)
        console.print(comparison(frame, console.width))
        console.print()
        solved = PARTS[: len(answers)]
        console.print(_labelled((spelt(part.formulation), part.words) for part in solved))
        console.print(
            "\nThe LP relaxation gives a bound, its roundings (the best of 100 randomised ones, "
            "and the nearest) give cards, and the exact program closes the gap. " + LEGEND,
        )
    console.print(
        f"\n{time.perf_counter() - started:.1f} s in all. Your own data: milpscore fit DATA.csv "
        "--target COL\n",
    )
    if interrupted.is_set():
        raise typer.Exit(INTERRUPTED)


def _designs() -> tuple[Design, Design]:
    """The ten "worst" measurements, cut at tertiles (steps) and at deciles (one-hot bins)."""
    from sklearn.datasets import load_breast_cancer

    from milpscore.data import Binner

    data = load_breast_cancer(as_frame=True)
    X = data.data.filter(regex="^worst")
    y = data.target.map(dict(enumerate(data.target_names)))
    return (
        Binner(3).fit_design(X, y, positive="malignant"),
        Binner(10, encoding="onehot").fit_design(X, y, positive="malignant"),
    )


def number_of_cards(columns: int) -> int:
    """Ways to give points, negative ones too, to at most ``MAX_TERMS`` of the columns."""
    return sum(math.comb(columns, k) * (2 * MOST_POINTS) ** k for k in range(MAX_TERMS + 1))


def _about(design: Design) -> Iterable[tuple[str, str]]:
    """Data and program in two sentences each."""
    rows, columns = design.shape
    malignant = int((design.y > 0).sum())
    yield (
        "Data",
        f"{rows} tumours, {malignant} of them malignant (scikit-learn's breast-cancer data). The "
        f"ten 'worst' measurements are cut at their tertiles into {columns} columns such as "
        f"'{design.names[0]}'; {len(design.merged.y)} rows are distinct.",
    )
    yield (
        "Program",
        f"risk-score: whole points from -{MOST_POINTS} to {MOST_POINTS} for at most {MAX_TERMS} "
        "columns, and what a total means as a risk, a real scale and intercept, with the least "
        "mean log loss.",
    )


def _show_card(console: Console, design: Design, seconds: float, progress: bool | None) -> None:
    """The card that ``milpscore fit`` would give, and what its bound says of all others."""
    from milpscore.fitting import fit_card
    from milpscore.scorecard import certified_card
    from milpscore.scorecard.rendering import rounded_down

    program, result = fit_card(design, max_terms=MAX_TERMS, time_limit=seconds, progress=progress)
    card = certified_card(design, result, "Is the tumour malignant?", statement=program.statement)
    console.print(f"\n{card.to_text()}\n")
    console.print("What is proved\n", style="bold")
    bound = rounded_down(max(float(result.dual_bound), 0.0))
    console.print(
        f"The mean log loss of this card is {result.loss:.6f}, computed again from the raw data. "
        f"Of the {number_of_cards(design.shape[1]):,} ways to give out the points, each at every "
        f"scale and with every intercept, none has a loss and penalty below {bound} (this card "
        f"{result.objective:.6f}, a gap of {max(result.gap, 0.0):.2%}). The solver needed "
        f"{result.nodes} nodes and {result.solve_seconds:.1f} s.",
    )


def _labelled(lines: Iterable[tuple[str, str]]) -> Table:
    """Labels at the left, their folded texts at the right."""
    from rich.table import Table

    grid = Table.grid(padding=(0, 2, 0, 0))
    for label, text in lines:
        grid.add_row(label, text)
    return grid
