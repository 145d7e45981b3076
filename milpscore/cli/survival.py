"""What ``milpscore fit --time`` and the commands of its cards do apart from the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from milpscore.core.errors import OptionError, SizeError
from milpscore.formulations import card_name

if TYPE_CHECKING:
    import pandas as pd

    from milpscore.cli.groups import CardOptions, DataOptions
    from milpscore.core.design import Design
    from milpscore.scorecard import SurvivalCard

SURVIVAL = "survival_score"
DEFAULT_NAMES = "risk-score,slim,hinge"
"""The formulations that are compared unless others are named."""


def survival_options(
    card: CardOptions, data: DataOptions, further: Any = None, **refused: Any
) -> CardOptions:
    """Return the options of a card, of a survival score where times are named."""
    if data.time is None:
        if data.entry or further:
            raise OptionError("--entry and --at belong to --time")
        if card.name == SURVIVAL:
            raise OptionError("survival-score needs --time COL, and --event COL")
        return card
    if card.name not in ("risk_score", SURVIVAL):
        raise OptionError("--time is of a survival score: leave out --formulation")
    for name, value in {**refused, "class_weight": data.class_weight}.items():
        if value is not None:
            raise OptionError(f"{{{name}}} has no meaning for times to an event", **{name: ...})
    return replace(card, formulation="survival-score")


def timed_names(formulations: str, data: DataOptions) -> list[str]:
    """Return the names of formulations to compare: of times the survival score."""
    if data.time is not None and formulations == DEFAULT_NAMES:
        return [SURVIVAL]
    names = [card_name(name.strip()) for name in formulations.split(",") if name.strip()]
    if any((name == SURVIVAL) != (data.time is not None) for name in names):
        raise OptionError(
            "survival-score is of a table with --time COL, and all others of one without"
        )
    return names


def timed_table(
    data: DataOptions,
    read: Callable[[], tuple[Any, Any, Any, dict[str, Any]]],
    times: Any,
    bins: Mapping[str, Any],
) -> tuple[Any, Any, Any, dict[str, Any]]:
    """Return the features, events with their times, and how columns are cut.

    A table beyond memory gives the design that is merged within the cuts of ``times``, and nothing
    beside it.
    """
    from milpscore.data import read_frame
    from milpscore.data.sources import at_size

    if data.counted:
        raise OptionError("counts of sites hold no times: give the table, or leave out --time")
    if at_size(data.data, rows=True):
        return _merged(data, times, bins), None, None, {}
    X, event, cutting, given = read()  # which refuses columns that are not there
    known = {**data.reading, **vars(data)}
    y = _timed(data.data, read_frame(data.data, **data.reading), event, known)
    return X, y, cutting, {"sample_weight": given["sample_weight"]}


def timed_design(
    data: DataOptions,
    table: tuple[Any, Any, Any, dict[str, Any]],
    times: Any,
    bins: Mapping[str, Any],
) -> Design:
    """Return the design of a table with times; merged where its columns do not fit into memory."""
    from milpscore.data.binner import timed_rows

    X, y, cutting, given = table
    if y is None:
        return cast("Design", X)
    try:
        return timed_rows(X, y, cutting, **given)
    except SizeError:
        return _merged(data, times, bins)


def _merged(data: DataOptions, times: Any, bins: Mapping[str, Any]) -> Design:
    """Return the design of a table that is merged within cuts of time while it is read."""
    from milpscore.data import read_thresholds, read_times

    cuts = None if data.thresholds is None else read_thresholds(data.thresholds)
    return read_times(
        data.data, data.target, cast(str, data.time), data.entry, weights=data.weights_column,
        **({} if times is None else {"times": times}),
        **data.streamed(data.cutting(cuts, **bins)),
    )  # fmt: skip


def timed_target(data: Path, known: Mapping[str, Any], target: str | None) -> Any:
    """Return events, times and entries of a certificate's table as a structured array."""
    from milpscore.data import read_frame

    options = "decimal", "encoding", "sheet", "na"
    reading = {name: known[name] for name in options if known.get(name)}
    frame = read_frame(data, **reading)
    return _timed(data, frame, frame[target or known["target"]], known)


def _timed(data: Path, frame: pd.DataFrame, event: Any, known: Mapping[str, Any]) -> Any:
    """Return events, times and entries as a structured array; refuse what is none by its line."""
    import pandas as pd

    from milpscore.data import survival_target
    from milpscore.data.designs import refuse_lines

    ends, entry, codec = frame[known["time"]], None, known.get("encoding") or "utf-8"
    latest = pd.to_numeric(ends, errors="coerce")
    bad = ~((latest > 0.0) & (latest < float("inf")))
    refuse_lines(data, ends, bad, "value(s) that are no time above 0", codec)
    if known.get("entry") is not None:
        entry = frame[known["entry"]]
        begun = pd.to_numeric(entry, errors="coerce")
        bad = ~((begun >= 0.0) & (begun < latest))
        refuse_lines(
            data, entry, bad, "value(s) that are no entry, from 0 to below the time", codec
        )
    return survival_target(event, ends, entry, known.get("positive"))


def survival_report(card: SurvivalCard) -> dict[str, Any]:
    """Return what ``--json`` prints of a survival card."""
    known = card.card.certificate
    return {
        "scale": card.scale, "times": list(card.times), "events": known["events"],
        "cuts": list(card.cuts), "hazard": list(card.hazard),
        "groups": [
            {
                "total": [each.least, each.most], "rows": each.rows, "events": each.events,
                "risk": list(each.stated),
                "observed": [None if seen != seen else seen for seen in each.observed],  # noqa: PLR0124
            }
            for each in card.observed
        ],
    }  # fmt: skip


def survival_answers(
    card: SurvivalCard, frame: pd.DataFrame, unseen: Any, scores: bool
) -> pd.DataFrame:
    """Return a table's risks at the card's times, and with ``scores`` the totals."""
    import pandas as pd

    totals = card.score(frame, unseen=unseen)
    risks = card.risks(totals)
    columns = {f"risk by {time:g}": risks[:, k] for k, time in enumerate(card.times)}
    return pd.DataFrame({**({"total": totals} if scores else {}), **columns})
