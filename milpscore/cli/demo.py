"""``milpscore demo``: the main job on data that come with scikit-learn."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import typer

from milpscore.cli.common import INTERRUPTED, noting_interrupts
from milpscore.cli.groups import QUIET, SOLVE_PANEL, option, spelt
from milpscore.solvers.options import Options

if TYPE_CHECKING:
    from pandas import DataFrame

    from milpscore.comparison import Comparison
    from milpscore.core.design import Design
    from milpscore.core.result import Result

MAX_POINTS, MAX_TERMS, PER_TERM = 5, 5, Fraction(1, 1000)


@dataclass(frozen=True)
class Part:
    """One formulation of the demo: its arguments, its share of the seconds, and what it does."""

    formulation: str
    arguments: dict[str, Any]
    share: float
    words: str
    on_deciles: bool = False


_BOX = {"coef_min": 0, "coef_max": MAX_POINTS, "max_terms": MAX_TERMS}
PARTS = (
    Part(
        "slim",
        {**_BOX, "l0_penalty": float(PER_TERM)},
        0.4,
        f"fewest errors; points 0 to {MAX_POINTS}, at most {MAX_TERMS} columns, "
        f"{float(PER_TERM)} for each",
    ),
    Part("hinge", {**_BOX, "margin": 4}, 0.2, "hinge loss with margin 4; the same points"),
    Part(
        "sparse_rounding",
        {"max_terms": MAX_TERMS},
        0.2,
        f"hinge loss; points -1, 0 or 1, at most {MAX_TERMS} columns",
    ),
    Part(
        "fused_lasso",
        {"lam": 0.01},
        0.2,
        "hinge loss on the deciles; neighbouring bins of equal points merge",
        on_deciles=True,
    ),
)


def demo_command(
    *,
    time_limit: float = option(
        SOLVE_PANEL,
        "Seconds of solving, all programs together.",
        metavar="SECONDS",
        min=0,
        default=Options.time_limit,
    ),
    quiet: bool = QUIET,
) -> None:
    """Certify a score on breast-cancer data; no file and no network needed.

    An integer card with its certificate, and beside it the LP relaxations
    and the rounded relaxations of four formulations.
    """
    import pandas as pd

    from milpscore.cli._tables import LEGEND, comparison, labelled, output

    started = time.perf_counter()
    console = output()
    steps, deciles = demo_designs()
    console.print("\n[bold]An integer score with its certificate[/bold]\n")
    console.print(labelled(_about(steps)))
    with noting_interrupts() as interrupted:
        answers = []
        for part in PARTS:
            design = deciles if part.on_deciles else steps
            answers.append(solve_part(part, design, time_limit * part.share, quiet))
            if part is PARTS[0]:
                _show_card(console, steps, answers[0])
            if interrupted.is_set():
                break
    console.print("\n[bold]Exact beside relaxed beside rounded[/bold]\n")
    table = pd.concat([answer.table for answer in answers], ignore_index=True)
    console.print(comparison(table, console.width))
    console.print()
    console.print(labelled((spelt(part.formulation), part.words) for part in PARTS[: len(answers)]))
    console.print(
        "\nThe LP relaxation gives a bound, its roundings (the best of 100 randomised ones, and "
        f"the nearest) give cards, and the exact program closes the gap. {LEGEND}",
        markup=False,
    )
    solving = _solving(table)
    console.print(
        f"\nSolving took {solving:.1f} s, everything {time.perf_counter() - started:.1f} s. "
        "Your own data: milpscore fit DATA.csv --target COL\n",
        markup=False,
    )
    if interrupted.is_set():
        raise typer.Exit(INTERRUPTED)


def demo_designs() -> tuple[Design, Design]:
    """The ten "worst" measurements, cut at tertiles (steps) and at deciles (one-hot bins)."""
    from sklearn.datasets import load_breast_cancer

    from milpscore.data import Binner

    data = load_breast_cancer(as_frame=True)
    X = data.data[[name for name in data.data if name.startswith("worst")]]
    y = data.target.map(dict(enumerate(data.target_names)))
    return (
        Binner(3, encoding="cumulative").fit_design(X, y, positive="malignant"),
        Binner(10).fit_design(X, y, positive="malignant"),
    )


def solve_part(part: Part, design: Design, seconds: float, quiet: bool) -> Comparison:
    """The four rows of one formulation."""
    from milpscore.comparison import compare

    return compare(
        design,
        formulations=[part.formulation],
        time_limit=seconds,
        cv=None,
        progress=False if quiet else None,
        **part.arguments,
    )


def number_of_cards(columns: int) -> int:
    """Ways to give 1 to ``MAX_POINTS`` points to at most ``MAX_TERMS`` of the columns."""
    return sum(math.comb(columns, k) * MAX_POINTS**k for k in range(MAX_TERMS + 1))


def least_errors(bound: float, rows: int) -> int:
    """Errors that every card makes whose objective errors/rows + terms/1000 reaches ``bound``.

    At most ``MAX_TERMS`` terms are paid for; the bound is lowered by what rounding may have added.
    """
    least = (bound - 1e-9 - float(PER_TERM) * MAX_TERMS) * rows
    return math.ceil(least) if least > 0 else 0


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
        f"slim, a mixed-integer program: whole points from 0 to {MAX_POINTS} for at most "
        f"{MAX_TERMS} columns, and a threshold, with the least objective: errors / {rows} + "
        f"{float(PER_TERM)} x columns.",
    )


def _show_card(console: Any, design: Design, answer: Comparison) -> None:
    """The card of the first part, and its certificate in plain words."""
    from milpscore.cli._fit import card_of

    results = answer.results
    exact, relaxed = results["slim", "exact"], results["slim", "relaxed"]
    card = card_of(answer.programs["slim"], exact, "Is the tumour malignant?")
    if card is None:
        console.print(f"\nNo card: {exact.message}", markup=False)
        return
    console.print(f"\n{card.to_text()}\n", markup=False)
    console.print("[bold]What is proved[/bold]\n")
    console.print(_certificate(design, exact, relaxed, card.certificate["errors"]), markup=False)


def _certificate(design: Design, exact: Result, relaxed: Result, errors: int) -> str:
    """What a person may conclude from the bound."""
    rows = len(design.y)
    proved = least_errors(exact.dual_bound, rows)
    weak = least_errors(relaxed.dual_bound, rows)
    cards = f"{number_of_cards(design.shape[1]):,}"
    end = "." if proved >= errors else f"; whether one errs on {proved} to {errors - 1} is open."
    return (
        f"This card errs on {errors} of {rows} tumours, counted again on the raw data. Of the "
        f"{cards} ways to give out the points, each with every threshold, none errs on fewer than "
        f"{proved}{end} The LP relaxation alone proves no more than {weak}. The solver needed "
        f"{exact.nodes} nodes and {exact.solve_seconds:.1f} s."
    )


def _solving(frame: DataFrame) -> float:
    """Seconds of the exact solve and of the LP; the roundings' seconds contain the LP's."""
    alone = frame[frame["kind"].isin(["exact", "relaxed"])]
    return float(alone["solve_seconds"].sum())
