"""What a person and a program read of a pool, and of a front."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from milpscore.cli._table import output

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from milpscore.core.card import Card
    from milpscore.pools import Front, Pool

_SHOWN = 10


def pool_report(pool: Pool) -> dict[str, Any]:
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
    """The figures of every card."""
    from milpscore.pools.figures import FIGURES

    kept = [name for name in FIGURES if name != "intercept"]
    return [dict(zip(kept, row, strict=True)) for row in pool.table[kept].to_numpy(object).tolist()]


def front_report(front: Front) -> dict[str, Any]:
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


def print_pool(pool: Pool) -> None:
    """How many cards and what is proved, the best of them, and what they say of the features."""
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
    cards = _table("objective", "loss", "terms", "intercept", "card")
    for card, row in zip(pool.cards[:_SHOWN], pool.table.to_dict("records"), strict=False):
        cards.add_row(
            f"{row['objective']:.6f}", f"{row['loss']:.6f}", str(row["terms"]),
            f"{row['intercept']:g}", _points(card, names),
        )  # fmt: skip
    console.print(cards)
    if total > _SHOWN:
        console.print(f"... and {total - _SHOWN} more; --out FILE saves them all.")
    console.print()
    used = pool.importance[pool.importance["share"] > 0]
    ranges = _table("column", "cards", "points", "rise of the loss without it")
    for name, column in used.sort_values("share", ascending=False, kind="stable").iterrows():
        ranges.add_row(
            _plain(str(name)),
            f"{column['share']:.1%}",
            f"{column['min_points']:.0f} to {column['max_points']:.0f}",
            f"{column['min_reliance']:.4f} to {column['max_reliance']:.4f}",
        )
    console.print(ranges)
    console.print(f"{pool.seconds:.1f} s, {pool.nodes} nodes.")


def print_front(front: Front) -> None:
    """One line a size."""
    console = output()
    table = _table("terms", "objective", "bound", "gap", "claim", "card")
    names = front.program.statement.design.names
    for k, result in front.results.items():
        card = "no card" if result.card is None else _points(result.card, names)
        table.add_row(
            str(k), _figure(result.objective, ".6f"), _figure(result.dual_bound, ".6f"),
            _figure(result.gap, ".2%"), str(result.claim),
            "dominated" if front.dominated[k] else card,
        )  # fmt: skip
    console.print(table)
    left = "" if front.complete else " Interrupted: later sizes are missing."
    console.print(f"{front.seconds:.1f} s.{left}")


def _figure(value: float, form: str) -> str:
    """A number, a dash where there is none."""
    return format(value, form) if math.isfinite(value) else "-"


def _points(card: Card, names: Sequence[str]) -> str:
    """The points of a card in one line."""
    used = card.coefficients.nonzero()[0].tolist()
    said = ", ".join(f"{card.coefficients[j]:+d} {names[j]}" for j in used)
    return _plain(said or "no points")


def _plain(text: str) -> str:
    """Text that rich prints as it is."""
    from rich.markup import escape

    return escape(text)


def _table(*heads: str) -> Table:
    """An empty table; numbers to the right, names and cards to the left."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for head in heads:
        words = head in ("column", "card")
        table.add_column(head, justify="left" if words else "right", no_wrap=not words)
    return table
