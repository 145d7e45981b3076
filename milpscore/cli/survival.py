"""What ``milpscore fit --time`` and the commands of its cards do apart from the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from milpscore.core.errors import OptionError
from milpscore.formulations import card_builder

if TYPE_CHECKING:
    import pandas as pd

    from milpscore.cli.groups import CardOptions, DataOptions
    from milpscore.data import SurvivalDesign
    from milpscore.scorecard import SurvivalCard

SURVIVAL = "survival_score"


def timed_source(time: str | None, entry: str | None) -> dict[str, str]:
    """Return the columns of times for a certificate."""
    given = {"time": time, "entry": entry}
    return {name: column for name, column in given.items() if column is not None}


def timed_card(
    card: CardOptions, time: str | None, further: str | None, refused: Mapping[str, Any]
) -> CardOptions:
    """Return the options of a card, of a survival score where times are named."""
    if time is None:
        if further:
            raise OptionError("--entry and --at belong to --time")
        if card.name == SURVIVAL:
            raise OptionError("survival-score needs --time COL, and --event COL")
        return card
    if card.name not in ("risk_score", SURVIVAL):
        raise OptionError("--time is of a survival score: leave out --formulation")
    for name, value in refused.items():
        if value is not None:
            raise OptionError(f"{{{name}}} has no meaning for times to an event", **{name: ...})
    return replace(card, formulation="survival-score")


def timed_design(
    data: DataOptions, time: str, entry: str | None, times: Any = None
) -> tuple[list[str], tuple[Any, ...], SurvivalDesign]:
    """Return the names of the features, the table, and its design with times."""
    from milpscore.data import make_design, read_frame, read_thresholds, read_times
    from milpscore.data.sources import at_size
    from milpscore.data.survival import entries_of, events_of, labels_by_event, timed, times_of
    from milpscore.formulations.building import encoding_for

    if data.counted:
        raise OptionError("counts of sites hold no times: give the table, or leave out --time")
    own = [time] if entry is None else [time, entry]
    quoted = ",".join('"' + name.replace('"', '""') + '"' for name in own)
    data = replace(data, drop=quoted if data.drop is None else f"{data.drop},{quoted}")
    bins = encoding_for(card_builder(SURVIVAL))
    if at_size(data.data, rows=True):
        known = None if data.thresholds is None else read_thresholds(data.thresholds)
        merged = read_times(
            data.data, data.target, time, entry, weights=data.weights_column,
            **({} if times is None else {"times": times}),
            **data.streamed(data.cutting(known, **bins)),
        )  # fmt: skip
        table: tuple[Any, ...] = (merged, None, None, {})
        return data.names(table), table, merged
    frame = read_frame(data.data, **data.reading)
    ends = times_of("time", frame[time])
    starts = entries_of(None if entry is None else frame[entry], len(frame))
    X, y, cutting, given = data.read(rows=True, ordered=True, **bins)
    seen = events_of(y, data.positive)
    # where every row has an event, there are no classes that bins could see
    make = make_design if cutting is None else cutting.design
    base = make(X, labels_by_event(seen), sample_weight=given["sample_weight"], positive=1)
    table = X, y, cutting, given
    return data.names(table), table, timed(base, seen, ends, starts)


def timed_target(data: Path, known: Mapping[str, Any], target: str | None) -> Any:
    """Return events, times and entries of a certificate's table as a structured array."""
    from milpscore.data import read_frame, survival_target

    options = "decimal", "encoding", "sheet", "na"
    reading = {name: known[name] for name in options if known.get(name)}
    frame = read_frame(data, **reading)
    entry = None if known.get("entry") is None else frame[known["entry"]]
    event = frame[target or known["target"]]
    return survival_target(event, frame[known["time"]], entry, known.get("positive"))


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
