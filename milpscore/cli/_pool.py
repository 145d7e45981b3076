"""``milpscore pool``: every nearly optimal card, or the best one of every size."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from milpscore.cli.common import (
    INTERRUPTED,
    NO_CARD,
    PrintedColumn,
    noting_interrupts,
    output as standard_output,
    print_json,
    print_text,
    require_drawable,
    save_figure,
    say,
    say_evidence,
    spelt,
    table,
    tell_warnings,
)
from milpscore.cli.groups import (
    CARD,
    DATA,
    NODE_LIMIT,
    OUTPUT,
    PLOT,
    SOLVE,
    TIME_LIMIT,
    CardOptions,
    ClassOptions,
    DataOptions,
    LimitOptions,
    OutputOptions,
    featured,
    option,
    output_file,
    settable,
)
from milpscore.cli.survival import survival_options
from milpscore.core.errors import DataError, OptionError, near_matches
from milpscore.core.writing import write_text
from milpscore.formulations import card_builder

if TYPE_CHECKING:
    import pandas as pd

    from milpscore.core.card import Card
    from milpscore.core.design import Design
    from milpscore.core.statement import Statement
    from milpscore.pools import Front, Pool

_SHOWN = 10


@featured(
    "milpscore pool patients.csv --target ill --epsilon 0.01 --out cards.csv",
    "target",
    "epsilon",
    "max_terms",
    "time_limit",
    "out",
)
def pool_command(
    *,
    data: ClassOptions,
    card: CardOptions,
    limits: LimitOptions,
    output: OutputOptions,
    epsilon: float | None = option(
        CARD,
        "Cards may be worse than the best one by this share of its objective (default 0.01).",
        metavar="SHARE",
    ),
    every_intercept: bool = option(
        CARD,
        "Keep points once for each intercept that is good enough, not with the best one only.",
        default=False,
    ),
    pareto: bool = option(
        CARD,
        "In place of a pool the best card for every number of terms up to --max-terms.",
        default=False,
    ),
    max_cards: int | None = option(
        SOLVE, "Stop at this number of cards (default 10000).", metavar="N", min=1
    ),
    by: str | None = option(
        DATA,
        "Say how differently the cards treat the groups of this column; leave it out of the "
        "features by --drop if no card may read it.",
        metavar="COL",
    ),
    time_limit: float = TIME_LIMIT,
    node_limit: int | None = NODE_LIMIT,
    out: Path | None = output_file(
        "Save all cards as CSV, one row each: figures, then the points of every column."
    ),
    certificates: Path | None = option(
        OUTPUT,
        "With --pareto: save a certificate of every size that is not dominated, for "
        "'milpscore verify'.",
        metavar="FOLDER",
    ),
    plot: Path | None = PLOT,
) -> None:
    """Find every card that is nearly as good as the best one.

    The pool is complete, or it says up to which objective no card is
    missing. Its cards show which features every good
    card needs, and which can be left out.
    """
    from milpscore import pools

    card = survival_options(card, data, by=by)
    arguments = card.arguments(limits)
    asked: dict[str, Any] = {
        "epsilon": epsilon,
        "max_cards": max_cards,
        "every_intercept": every_intercept,
    }
    of_pool = {name: value for name, value in asked.items() if value not in (None, False)}
    _refuse_mixed(pareto, {**of_pool, **({} if by is None else {"by": by})}, certificates)
    require_drawable(plot)
    design = data.design(card.name, times=arguments.get("times"))
    groups = None if by is None else _groups(data, by, design)
    if pareto and limits.max_terms is None and "max_terms" in settable(card.name):
        arguments["max_terms"] = design.shape[1]
    search: Any = pools.pareto if pareto else partial(pools.pool, **of_pool)
    with noting_interrupts() as interrupted:
        try:
            program = card_builder(card.name)(design, **arguments)
            found: Pool | Front = search(
                program, time_limit=time_limit, node_limit=node_limit, progress=output.progress
            )
        except KeyboardInterrupt:
            say("Interrupted before the search began: there is no card yet.")
            raise typer.Exit(INTERRUPTED) from None
        tell_warnings(design, output.quiet)
        gaps = _shown(found, groups, output.json)
    if out is not None:
        whole = (
            found.table
            if gaps is None
            else found.table.join(gaps.drop(columns=["objective", "loss"]))
        )
        write_text(out, whole.to_csv(index=False))
        say(f"The cards were saved in {out}.", output.quiet)
    some = len(found) if isinstance(found, pools.Pool) else len(found.best)
    if plot is not None and some:
        save_figure(_figure(found), plot, output.quiet)
    elif plot is not None:
        say("There is no card to draw.")
    if certificates is not None and not isinstance(found, pools.Pool):
        _certify(found, certificates, data.source, output.progress)
    if interrupted.is_set():
        raise typer.Exit(INTERRUPTED)
    if not some:
        raise typer.Exit(NO_CARD)


def _refuse_mixed(pareto: bool, of_pool: dict[str, Any], certificates: Path | None) -> None:
    """Refuse options of the other kind of answer, and a place that is not a folder."""
    if pareto and of_pool:
        raise OptionError(f"--{spelt(min(of_pool))} belongs to a pool: leave it or --pareto out")
    if certificates is not None and not pareto:
        raise OptionError(
            "--certificates belongs to --pareto; 'milpscore fit --certificate' is for one card"
        )
    if certificates is not None and not certificates.is_dir():
        raise DataError(f"there is no folder {str(certificates)!r}: make it first")


def _groups(data: DataOptions, by: str, design: Design) -> Any:
    """Return the groups of the rows, read as the table was; refuse them before the search."""
    from milpscore.data import read_frame
    from milpscore.pools.fairness import checked_groups

    frame = read_frame(data.data, **data.reading)
    if by not in frame.columns:
        raise DataError(f"there is no column {by!r}: {near_matches(by, frame.columns)}")
    checked_groups(design, groups := frame[by].to_numpy())
    return groups


def _shown(found: Pool | Front, groups: Any, json: bool) -> Any:
    """Print what was found; return the gaps between groups, None where none are asked for."""
    from milpscore.pools import Pool, group_gaps

    pool = found if isinstance(found, Pool) else None
    gaps = None if groups is None or not pool else group_gaps(pool, groups)
    if json:
        print_json(_report(found) | ({} if gaps is None else {"gaps": gaps.to_dict("list")}))
    elif pool is None:
        _print_front(found)  # type: ignore[arg-type]
    else:
        _print_pool(pool)
        if gaps is not None:
            _print_gaps(pool, gaps)
    return gaps


def _print_gaps(found: Pool, gaps: pd.DataFrame) -> None:
    """Print the gaps of the best card, and of the card of the pool with the least."""
    from milpscore.pools import fairest

    kinds: list[Any] = (
        gaps.drop(columns=["objective", "loss"]).dropna(axis=1, how="all").columns.tolist()
    )
    for kind in kinds:
        fair = fairest(found, gaps, kind)
        least = "no card of the pool has less" if fair.proved else "of those found"
        other = "the best card itself" if fair.place == 0 else f"card {fair.place + 1}"
        print_text(
            f"Gap of {kind} between groups: {fair.best_gap:.3f} for the best card; least "
            f"{fair.gap:.3f}, {other}, loss {fair.loss:.6g} beside {fair.best_loss:.6g} ({least})."
        )


def _figure(found: Pool | Front) -> Any:
    """The points over the pool, or the loss against the terms."""
    from matplotlib.figure import Figure

    from milpscore.pools import Pool
    from milpscore_show.plots import loss_against_terms, points_over_pool

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    if isinstance(found, Pool):
        points_over_pool(found, figure.add_subplot())
    else:
        loss_against_terms(found, figure.add_subplot())
    return figure


def _certify(front: Front, folder: Path, source: dict[str, Any], progress: bool | None) -> None:
    """Save a certificate of every size that is not dominated."""
    for k in front.best:
        path = folder / f"terms-{k}.json"
        began = time.perf_counter()
        made = front.certificate(k, source=source, progress=progress)
        made.to_json(path)
        say_evidence(path, made, time.perf_counter() - began, progress is False)


def _report(found: Pool | Front) -> dict[str, Any]:
    """The object of ``--json``."""
    from milpscore.pools import Pool

    if not isinstance(found, Pool):
        sizes = [
            {
                "max_terms": k,
                **result.summary(),
                "dominated": found.dominated[k],
                "intercept": None if result.card is None else result.card.intercept,
                "coefficients": None if result.card is None else result.card.coefficients.tolist(),
            }
            for k, result in found.results.items()
        ]
        names = list(found.program.statement.design.names)
        ends = {"complete": found.complete, "seconds": found.seconds}
        return {"sizes": sizes, "design_columns": names, **ends}
    design = found.statement.design
    # the table's columns before the points
    shown = found.table.iloc[:, : found.table.shape[1] - design.shape[1]].drop(columns="intercept")
    fields = (
        "epsilon", "threshold", "complete", "complete_up_to", "proved", "missing",
        "every_intercept", "nodes", "seconds",
    )  # fmt: skip
    return {
        "formulation": found.statement.formulation,
        "n_cards": len(found),
        "objective": found.optimum,
        "termination": str(found.termination),
        **{name: getattr(found, name) for name in fields},
        "cards": [
            {"intercept": card.intercept, "coefficients": card.coefficients.tolist(), **figures}
            for card, figures in zip(found.cards, shown.to_dict("records"), strict=True)
        ],
        "importance": found.importance.reset_index().to_dict("records"),
        "feature_importance": found.feature_importance.reset_index().to_dict("records"),
        "design_columns": list(design.names),
        "fingerprint": design.fingerprint,
    }


def _print_pool(pool: Pool) -> None:
    """How many cards and what is proved, the best of them, and what they say of the features."""
    from milpscore.scorecard.rendering import signed

    console = standard_output()
    if not pool.cards:
        advice = ": loosen the constraints, the ranges or --max-terms" if pool.complete else ""
        console.print(f"No card: {pool.missing}{advice}.")
        return
    statement, total = pool.statement, len(pool)
    timed, paired = hasattr(statement.design, "time"), statement.formulation == "auc"
    kinds = int(pool.table["scores" if timed else "decisions"].nunique())
    does = "score" if timed else "order" if paired else "answer"
    ways = "1 way" if kinds == 1 else f"{kinds} ways"
    many = "1 card" if total == 1 else f"{total} cards, which {does} the rows in {ways},"
    near = f"within {100 * pool.epsilon:g} % of {pool.optimum:.6f}"
    console.print(f"{many} {near}: {pool.missing}.\n")
    rows = pool.table.head(_SHOWN).to_dict("records")
    gaps = getattr(statement.design, "gaps", 0)
    for row, card in zip(rows, pool.cards, strict=False):
        row.update(_printed(statement, card), terms=row["terms"] - gaps)
    columns = {
        "objective": PrintedColumn("objective", "{:.6f}"),
        "loss": PrintedColumn("loss", "{:.6f}"),
        "terms": PrintedColumn("terms"),
        "cut": PrintedColumn("classes" if gaps else "positive from"),
        "card": PrintedColumn("card", words=True),
    }
    if timed:  # a total of times decides nothing
        del columns["cut"]
    console.print(table(rows, columns))
    if total > _SHOWN:
        console.print(f"... and {total - _SHOWN} more; --out FILE saves them all.")
    console.print()
    features = pool.importance.iloc[: len(pool.importance) - gaps]
    used = features[features["share"] > 0]
    used = used.sort_values("share", ascending=False, kind="stable").rename_axis("column")
    rows = used.reset_index().to_dict("records")
    for row in rows:
        row["points"] = signed(f"{row['min_points']:.0f} to {row['max_points']:.0f}")
        row["rise"] = signed(f"{row['min_reliance']:.4f} to {row['max_reliance']:.4f}")
    columns = {
        "column": PrintedColumn("column", words=True),
        "share": PrintedColumn("cards", "{:.1%}"),
        "points": PrintedColumn("points"),
        "rise": PrintedColumn("rise of the loss without it"),
    }
    console.print(table(rows, columns))
    console.print(f"{pool.seconds:.1f} s, {pool.nodes} nodes.")


def _print_front(front: Front) -> None:
    """One line per size."""
    rows, gaps = [], getattr(front.program.statement.design, "gaps", 0)
    for k, result in front.results.items():
        if k < gaps:  # the classes need these terms
            continue
        said = {"cut": "", "card": "dominated" if front.dominated[k] else "no card"}
        if result.card is not None and not front.dominated[k]:
            said = _printed(front.program.statement, result.card)
        rows.append({**result.summary(), "size": k - gaps, **said})
    columns = {
        "size": PrintedColumn("terms"),
        "objective": PrintedColumn("objective", "{:.6f}"),
        "bound": PrintedColumn("bound", "{:.6f}"),
        "gap": PrintedColumn("gap", "{:.2%}"),
        "claim": PrintedColumn("claim"),
        "cut": PrintedColumn("classes" if gaps else "positive from"),
        "card": PrintedColumn("card", words=True),
    }
    console = standard_output()
    console.print(table(rows, columns))
    left = "" if front.complete else " Interrupted: later sizes are missing."
    console.print(f"{front.seconds:.1f} s.{left}")


def _printed(statement: Statement, card: Card) -> dict[str, str]:
    """A card in one line, as ``fit`` prints it, and from which total on it answers what."""
    from milpscore.scorecard.certified import shown_card
    from milpscore.scorecard.ordinal import shown_levels
    from milpscore.scorecard.rendering import card_line, exact_number, least_positive

    if getattr(statement.design, "gaps", 0):
        made = shown_levels(statement, card)
        each = zip(made.levels, made.ranges, strict=True)
        cuts = ", ".join(f"{level}: {totals}" for level, totals in each)
        return {"cut": cuts, "card": card_line(made.card)}
    shown = shown_card(statement, card)
    return {"cut": exact_number(least_positive(shown)), "card": card_line(shown)}
