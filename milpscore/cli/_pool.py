"""``milpscore pool``: every nearly optimal card, or the best one of every size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
    tell_warnings,
)
from milpscore.cli.groups import (
    MODEL_PANEL,
    NAMES,
    NODE_LIMIT,
    OUTPUT_PANEL,
    PLOT,
    SOLVE_PANEL,
    TIME_LIMIT,
    CardOptions,
    DataOptions,
    LimitOptions,
    OutputOptions,
    option,
    settable,
)
from milpscore.core.errors import DataError, OptionError
from milpscore.formulations import FORMULATIONS

if TYPE_CHECKING:
    from milpscore.core.card import Card
    from milpscore.pools import Front, Pool

_SHOWN = 10


@dataclass(frozen=True)
class PoolCard(CardOptions):
    """A pool is of risk scores unless another formulation is named."""

    formulation: str = option(
        MODEL_PANEL, f"One of {', '.join(NAMES)}.", metavar="NAME", default="risk-score"
    )


def pool_command(
    *,
    data: DataOptions,
    card: PoolCard,
    limits: LimitOptions,
    output: OutputOptions,
    epsilon: float | None = option(
        MODEL_PANEL,
        "Cards may be worse than the best one by this share of its objective (default 0.01).",
        metavar="SHARE",
    ),
    every_intercept: bool = option(
        MODEL_PANEL,
        "Keep points once for each intercept that is good enough, not with the best one only.",
        "--every-intercept",
        default=False,
    ),
    pareto: bool = option(
        MODEL_PANEL,
        "In place of a pool the best card for every number of terms up to --max-terms.",
        "--pareto",
        default=False,
    ),
    max_cards: int | None = option(
        SOLVE_PANEL, "Stop at so many cards (default 10000).", metavar="N", min=1
    ),
    time_limit: float = TIME_LIMIT,
    node_limit: int | None = NODE_LIMIT,
    out: Path | None = option(
        OUTPUT_PANEL,
        "Save all cards as CSV, one row each: figures, then the points of every column.",
        metavar="FILE",
    ),
    certificates: Path | None = option(
        OUTPUT_PANEL,
        "With --pareto: save a certificate of every size that is not dominated, for "
        "'milpscore verify'.",
        metavar="FOLDER",
    ),
    plot: Path | None = PLOT,
) -> None:
    """Find every card that is nearly as good as the best one.

    The pool of a risk-score or of slim is complete, or it says up to which
    objective no card is missing. Its cards show which features every good
    card needs, and which can be left out.
    """
    from milpscore import pools

    arguments = card.arguments(limits)
    of_pool = {"epsilon": epsilon, "max_cards": max_cards, "every_intercept": every_intercept}
    _refuse_mixed(pareto, of_pool, certificates)
    require_folder(out)
    require_drawable(plot)
    design = data.design()
    tell_warnings(design, output.quiet)
    if pareto and limits.max_terms is None and "max_terms" in settable(card.name):
        arguments["max_terms"] = design.shape[1]
    asked: dict[str, Any] = {
        "time_limit": time_limit,
        "node_limit": node_limit,
        "progress": output.progress,
    }
    asked |= {name: value for name, value in of_pool.items() if value not in (None, False)}
    with noting_interrupts() as interrupted:
        try:
            program = FORMULATIONS[card.name](design, **arguments)
            found = pools.pareto(program, **asked) if pareto else pools.pool(program, **asked)
        except KeyboardInterrupt:
            say("Interrupted before the search began: there is no card yet.")
            raise typer.Exit(INTERRUPTED) from None
        if isinstance(found, pools.Pool):
            _print_pool(found, output.json)
        else:
            _print_front(found, output.json)
    _save(found, out, plot)
    if certificates is not None:
        _certify(found, certificates, data.source)
    if interrupted.is_set():
        raise typer.Exit(INTERRUPTED)
    if not _count(found):
        raise typer.Exit(NO_CARD)


def _refuse_mixed(pareto: bool, of_pool: dict[str, Any], certificates: Path | None) -> None:
    """Refuse options of the other kind of answer, and a place that is no folder."""
    given = [name for name, value in of_pool.items() if value not in (None, False)]
    if pareto and given:
        option_name = f"--{given[0].replace('_', '-')}"
        raise OptionError(f"{option_name} belongs to a pool: leave it or --pareto out")
    if certificates is None:
        return
    if not pareto:
        raise OptionError(
            "--certificates belongs to --pareto; 'milpscore fit --certificate' is for one card"
        )
    if not certificates.is_dir():
        raise DataError(f"there is no folder {str(certificates)!r}: make it first")


def _count(found: Pool | Front) -> int:
    """How many cards there are."""
    from milpscore.pools import Pool

    return len(found) if isinstance(found, Pool) else len(found.best)


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


def _certify(found: Any, folder: Path, source: dict[str, Any]) -> None:
    """Save a certificate of every size that is not dominated."""
    for k in found.best:
        path = folder / f"terms-{k}.json"
        made = found.certificate(k, source=source)
        made.to_json(path)
        say(f"The certificate was saved in {path}; evidence: {made.evidence['kind']}.")


def _pool_report(pool: Pool) -> dict[str, Any]:
    """The object of ``--json``."""
    design = pool.statement.design
    return {
        "formulation": pool.statement.formulation,
        "n_cards": len(pool),
        "epsilon": pool.epsilon,
        "objective": pool.optimum,
        "threshold": pool.threshold,
        "complete": pool.complete,
        "complete_up_to": pool.complete_up_to,
        "proved": pool.proved,
        "termination": str(pool.termination),
        "missing": pool.missing,
        "every_intercept": pool.every_intercept,
        "cards": [
            {"intercept": card.intercept, "coefficients": card.coefficients.tolist(), **figures}
            for card, figures in zip(pool.cards, _figures(pool), strict=True)
        ],
        "importance": pool.importance.reset_index().to_dict("records"),
        "feature_importance": pool.feature_importance.reset_index().to_dict("records"),
        "design_columns": list(design.names),
        "fingerprint": design.fingerprint,
        "nodes": pool.nodes,
        "seconds": pool.seconds,
    }


def _figures(pool: Pool) -> list[dict[str, Any]]:
    """The figures of every card: the table's columns before the points."""
    count = pool.table.shape[1] - pool.statement.design.shape[1]
    return pool.table.iloc[:, :count].drop(columns="intercept").to_dict("records")  # type: ignore[return-value]


def _front_report(front: Front) -> dict[str, Any]:
    """The object of ``--json``."""
    return {
        "complete": front.complete,
        "sizes": [
            {
                "max_terms": k,
                **result.summary(),
                "dominated": front.dominated[k],
                "intercept": None if result.card is None else result.card.intercept,
                "coefficients": None if result.card is None else result.card.coefficients.tolist(),
            }
            for k, result in front.results.items()
        ],
        "design_columns": list(front.program.statement.design.names),
        "seconds": front.seconds,
    }


def _print_pool(pool: Pool, as_json: bool) -> None:
    """How many cards and what is proved, the best of them, and what they say of the features."""
    if as_json:
        print_json(_pool_report(pool))
        return
    from milpscore.cli.common import Column, output, table

    console = output()
    if not pool.cards:
        advice = ": loosen the constraints, the ranges or --max-terms" if pool.complete else ""
        console.print(f"No card: {pool.missing}{advice}.", markup=False)
        return
    names, total = pool.statement.design.names, len(pool)
    kinds = int(pool.table["decisions"].nunique())
    many = "1 card" if total == 1 else f"{total} cards ({kinds} of them answer differently)"
    near = f"within {100 * pool.epsilon:g} % of {pool.optimum:.6f}"
    console.print(f"{many} {near}: {pool.missing}.\n", markup=False)
    rows = pool.table.head(_SHOWN).to_dict("records")
    for row, card in zip(rows, pool.cards, strict=False):
        row["card"] = _points(card, names)
    columns = {
        "objective": Column("objective", "{:.6f}"),
        "loss": Column("loss", "{:.6f}"),
        "terms": Column("terms"),
        "intercept": Column("intercept", "{:g}"),
        "card": Column("card", words=True),
    }
    console.print(table(rows, columns))
    if total > _SHOWN:
        console.print(f"... and {total - _SHOWN} more; --out FILE saves them all.")
    console.print()
    used = pool.importance[pool.importance["share"] > 0]
    used = used.sort_values("share", ascending=False, kind="stable").rename_axis("column")
    ranges = used.reset_index().to_dict("records")
    for row in ranges:
        row["points"] = f"{row['min_points']:.0f} to {row['max_points']:.0f}"
        row["rise"] = f"{row['min_reliance']:.4f} to {row['max_reliance']:.4f}"
    columns = {
        "column": Column("column", words=True),
        "share": Column("cards", "{:.1%}"),
        "points": Column("points"),
        "rise": Column("rise of the loss without it"),
    }
    console.print(table(ranges, columns))
    console.print(f"{pool.seconds:.1f} s, {pool.nodes} nodes.")


def _print_front(front: Front, as_json: bool) -> None:
    """One line per size."""
    if as_json:
        print_json(_front_report(front))
        return
    from milpscore.cli.common import Column, output, table

    names, rows = front.program.statement.design.names, []
    for k, result in front.results.items():
        card = "no card" if result.card is None else _points(result.card, names)
        figures = {**result.summary(), "size": k}
        rows.append({**figures, "card": "dominated" if front.dominated[k] else card})
    columns = {
        "size": Column("terms"),
        "objective": Column("objective", "{:.6f}"),
        "bound": Column("bound", "{:.6f}"),
        "gap": Column("gap", "{:.2%}"),
        "claim": Column("claim"),
        "card": Column("card", words=True),
    }
    console = output()
    console.print(table(rows, columns))
    left = "" if front.complete else " Interrupted: later sizes are missing."
    console.print(f"{front.seconds:.1f} s.{left}")


def _points(card: Card, names: Sequence[str]) -> str:
    """The points of a card in one line."""
    used = card.coefficients.nonzero()[0].tolist()
    said = ", ".join(f"{card.coefficients[j]:+d} {names[j]}" for j in used)
    return said or "no points"
