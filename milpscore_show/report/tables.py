"""The page's tables: figures in their forms, a dash where there is none."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from pandas import DataFrame

from milpscore.certificate import Verification
from milpscore.core.design import BoolArray
from milpscore.core.errors import NotApplicableError, OptionError, is_number
from milpscore.core.writing import printable
from milpscore.pools.instability import risk_spread
from milpscore.scorecard import Scorecard, VotingGame
from milpscore.scorecard.rendering import exact_number, finite, least_positive, number, signed
from milpscore_show.report.figures import Cuts
from milpscore_show.report.measures import (
    MEASURES,
    Estimate,
    Gathered,
    at_cut,
    in_group,
    net_benefits,
    performance_of,
)
from milpscore_show.report.population import characteristics, missing_lines, named_values, splitter
from milpscore_show.report.refits import Refits
from milpscore_show.report.subject import Subject

DASH = "–"
"""Stands where there is no figure."""

_KINDS = {
    "relaxed": "LP relaxation",
    "randomised": "randomised rounding",
    "nearest": "nearest rounding",
    "proximal": "from a proximal path",
}
_COMPARED = {
    "formulation": ("Program", ""),
    "kind": ("Kind", ""),
    "claim": ("Claim", ""),
    "objective": ("Objective", ".5f"),
    "bound": ("Bound", ".5f"),
    "gap": ("Gap", ".1%"),
    "terms": ("Terms", ".0f"),
    "train_auc": ("AUC", ".3f"),
    "cv_auc": ("AUC, held out", ".3f"),
    "solve_seconds": ("Seconds", ".2f"),
}
"""Columns of a comparison: what stands above them, and the form of their figures."""

_POOLED = {
    "share": ("Cards that use it", ".0%"),
    "min_points": ("Least points", ".0f"),
    "max_points": ("Most points", ".0f"),
    "min_reliance": ("Least reliance", ".4f"),
    "max_reliance": ("Most reliance", ".4f"),
}
_MOST_ROWS = 200
MOST_VOTERS = 40
_ACTED = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Risks to act from whose net benefits stand in the table."""


@dataclass
class Table:
    """Cells made printable; the first ``words`` columns hold words, the others figures."""

    caption: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: int = 1
    marked: int | None = None  # the row that is the card's own

    def __post_init__(self) -> None:
        self.caption, self.heads = printable(self.caption), [*map(printable, self.heads)]
        self.rows = [[*map(printable, row)] for row in self.rows]


def in_print(found: Estimate | None, form: str) -> str:
    """A figure with its interval."""
    if found is None or math.isnan(found.value):
        return DASH
    if math.isinf(found.value):
        return "∞"
    ends = ""
    if math.isfinite(found.lower) and math.isfinite(found.upper):
        ends = f" ({found.lower:z{form}} to {found.upper:z{form}})"
    return signed(f"{found.value:z{form}}{ends}")


def _in_form(row: Mapping[Any, Any], forms: Mapping[str, tuple[str, str]]) -> list[str]:
    """Figures of a row of a frame in their forms, a dash where there is none; words as they are."""
    cells = ((row[name], form) for name, (_, form) in forms.items())
    return [
        str(value) if not form
        else signed(format(float(value), form)) if finite(value) is not None
        else DASH
        for value, form in cells
    ]  # fmt: skip


# ---------------------------------------------------------------- whom the rows describe


def population_tables(subjects: Mapping[str, Subject]) -> dict[str, Any]:
    """Features by class: those with points, all others, and what is missing."""
    first, every = next(iter(subjects.values())), list(subjects.values())
    card = first.card
    several = len(subjects) > 1
    sides = [(name, hit) for name in subjects for hit in (True, False)]
    heads = []
    for name, hit in sides:
        mask = subjects[name].positive == hit
        rows = int(subjects[name].design.rows[mask & subjects[name].counted].sum())
        own = f"{name}: " if several else ""
        heads.append(f"{own}{first.names[hit]} (n = {rows})")
    used = [feature.name for feature in card.used_features]
    others = [name for name in card.features if name not in used]
    tables = {}
    for key, features, caption in (
        ("used", used, "Features with points, by outcome"),
        ("others", others, "Features without points, by outcome"),
    ):
        lines = list(characteristics(every, features))
        more = len(lines) - _MOST_ROWS
        note = f"; {more} more lines are left out" if more > 0 else ""
        heading = ("Feature", "Level", *heads)
        made = Table(caption + note, heading, lines[:_MOST_ROWS], words=2)
        tables[key] = made if lines else None
    gone = missing_lines(every)
    heading = ("Feature", *heads, "The card counts")
    caption = "Missing values of the features with points, and how the card counts them"
    tables["missing"] = Table(caption, heading, gone) if gone else None
    return tables


# ---------------------------------------------------------------- how the card does


def measures_table(
    found: Mapping[str, Mapping[str, Estimate]], refits: Refits | None, first: str
) -> Table:
    """Every measure: as it looks, its optimism, corrected, and on other data."""
    heads = ["Measure"]
    for name in found:
        heads.append(f"{name} (95 % interval)")
        if name == first and refits is not None:
            heads += ["Optimism", "Corrected (95 % interval)"]
    rows = []
    for key in found[first]:
        label, form = MEASURES[key]
        cells = [label]
        for name, own in found.items():
            cells.append(in_print(own[key], form))
            if name == first and refits is not None:
                by = refits.optimism.get(key)
                cells.append(DASH if by is None else signed(f"{by:z{form}}"))
                cells.append(in_print(None if by is None else own[key].moved(-by), form))
        rows.append(cells)
    return Table("How the card does", heads, rows)


def subgroups_tables(
    subjects: Mapping[str, Subject], by: Any, random_state: int
) -> dict[str, Table]:
    """The measures of every subgroup, a table for each set of data that knows it."""
    split, tables = None, {}
    for name, subject in subjects.items():
        own = by
        if split is not None and not isinstance(by, str):  # of other rows the column of its name
            own = getattr(by, "name", None)
            if subject.raw is None or own not in subject.raw.columns:
                continue
            own = str(own)
        design = subject.design
        title, values = named_values(own, subject.raw, len(design.y), design.counts is not None)
        split = split or splitter(values)
        rows = []
        for label, inside in split(values):
            given = gathered(subject, inside)
            if not len(given.totals):
                continue
            found, _ = performance_of(given, random_state)
            events, every = int(given.rows[1].sum()), int(given.rows.sum())
            shown = [in_print(found[key], MEASURES[key][1]) for key in _of_subgroup(found)]
            rows.append([label, str(every), f"{events} ({events / every:.1%})", *shown])
        heads = [printable(title), "Rows", "Events", *(MEASURES[k][0] for k in _of_subgroup(found))]
        tables[name] = Table(f"{name}: by {title}, with 95 % intervals", heads, rows)
    return tables


def _of_subgroup(found: Mapping[str, Estimate]) -> list[str]:
    return [key for key in found if key not in ("brier", "ratio", "error")]


def gathered(subject: Subject, inside: BoolArray | None = None) -> Gathered:
    """The rows of a subject, or some of them, by their totals."""
    design = subject.design
    weight = design.weight if inside is None else np.where(inside, design.weight, 0.0)
    return Gathered.of(subject.card, subject.totals, subject.positive, weight, design.rows)


# ---------------------------------------------------------------- risk groups


def group_edges(asked: Sequence[float] | None, share: float) -> list[float]:
    """The risks at which groups begin."""
    if asked is None:
        odds = share / (1 - share)
        return [float(f"{part * odds / (1 + part * odds):.2g}") for part in (0.5, 2.0)]
    edges = [float(edge) if is_number(edge) else math.nan for edge in asked]
    if not edges or edges != sorted(set(edges)) or not all(0 < edge < 1 for edge in edges):
        raise OptionError(f"risk_groups must be ascending risks between 0 and 1, got {asked!r}")
    return edges


def groups_tables(
    subjects: Mapping[str, Subject], found: Mapping[str, Gathered], asked: Sequence[float] | None
) -> tuple[Table, Table]:
    """The groups with what was observed in them, and what answering from each cut on gives."""
    first = next(iter(subjects.values()))
    own = found[next(iter(found))]
    card = first.card
    if card.risk is None:
        labels = [f"answered {name}" for name in first.names]
    else:
        edges = group_edges(asked, float(own.mass[1].sum() / own.mass.sum()))
        ends = [f"{100 * edge:.3g}%" for edge in edges]
        inner = [f"{a} to < {b}" for a, b in pairwise(ends)]
        labels = [f"risk < {ends[0]}", *inner, f"risk ≥ {ends[-1]}"]

    def group_of(given: Gathered) -> Any:
        if given.risk is None:
            return given.answer.astype(int)
        return np.searchsorted(edges, given.risk + 1e-12, side="right")

    rows, cuts = [], []
    several = len(found) > 1
    for name, given in found.items():
        place, every = group_of(given), int(given.rows.sum())
        for k, label in enumerate(labels):
            inside = place == k
            figures = in_group(given, inside)
            totals = given.totals[inside]
            span = DASH
            if len(totals):
                low, high = (number(float(end)) for end in (totals[0], totals[-1]))
                span = low if low == high else f"{low} to {high}"
            rows.append([
                f"{name}: {label}" if several else label, span,
                f"{figures['rows']} ({figures['rows'] / every:.1%})", str(figures["events"]),
                in_print(figures["observed"], ".1%"), in_print(figures["lr"], ".2f"),
            ])  # fmt: skip
        at = exact_number(least_positive(card))
        lines = [(f"total ≥ {at} (the card)", given.answer)]
        if given.risk is not None:
            lines += [(f"risk ≥ {end}", place > k) for k, end in enumerate(ends)]
        for label, answer in lines:
            figures = at_cut(given, answer)
            shares = ("sensitivity", "specificity", "ppv", "npv")
            cuts.append([
                f"{name}: {label}" if several else label,
                *(in_print(figures[key], ".1%") for key in shares),
                *(in_print(figures[key], ".2f") for key in ("lr_positive", "lr_negative")),
            ])  # fmt: skip
    positive = first.names[1]
    groups = Table(
        f"Groups, with 95 % intervals; an event is a row of {positive}",
        ("Group", "Totals", "Rows", "Events", "Share of events", "Likelihood ratio"),
        rows,
    )  # fmt: skip
    heads = ("Positive from", "Sensitivity", "Specificity", "PPV", "NPV", "LR+", "LR−")
    return groups, Table("What a cut answers, with 95 % intervals", heads, cuts)


def benefits_table(found: Mapping[str, Gathered]) -> Table:
    """Net benefit of the card, of acting on all and on none, in 1,000 rows."""
    risks = np.array(_ACTED)
    heads, columns = ["Act from a risk of"], []
    for name, given in found.items():
        own = net_benefits(given, risks)
        prefix = f"{name}: " if len(found) > 1 else ""
        heads += [f"{prefix}the card", f"{prefix}act on all"]
        columns += [own["card"], own["all"]]
    rows = [
        [f"{risk:.0%}", *(signed(f"{1000 * each[k]:.1f}") for each in columns)]
        for k, risk in enumerate(_ACTED)
    ]
    return Table("Net benefit in 1,000 rows; acting on none has 0", heads, rows)


# ---------------------------------------------------------------- what stays of the card


def stability_table(subject: Subject, refits: Refits, pool: Any) -> Table:
    """Each feature's share of the cards made again, beside its share of the pool."""
    shares = None
    if pool is not None:
        ranges = getattr(pool, "feature_importance", None)
        shares = ranges["share"] if isinstance(ranges, DataFrame) else None
    own = {lines.name: [row.points for row in lines.everything] for lines in subject.card.lines}
    names = [*own, *(name for name in refits.uses if name not in own)]
    rows = []
    for name in sorted(names, key=lambda name: (-refits.uses.get(name, 0.0), name)):
        points = DASH
        if name in own:
            low, high = min(0, *own[name]), max(0, *own[name])
            points = signed(f"{low} to {high}")
        row = [name, points, f"{refits.uses.get(name, 0.0):.0%}"]
        if shares is not None:
            row.append(f"{float(shares.get(name, 0.0)):.0%}")
        rows.append(row)
    more = f"; {len(rows) - _MOST_ROWS} rarer ones are left out" if len(rows) > _MOST_ROWS else ""
    heads = ["Feature", "Points on the card", f"Used by the {refits.made} cards made again"]
    if shares is not None:
        heads.append(f"Used by the {len(pool)} nearly best cards")
    return Table(f"Which features other cards use{more}", heads, rows[:_MOST_ROWS])


def again_table(subject: Subject, refits: Refits) -> Table | None:
    """Each total's stated risk beside what the cards made again state for its rows."""
    if subject.card.risk is None or len(refits.risks) < 2:
        return None
    lower, upper = risk_spread(refits.risks, 0.95)
    known = np.isfinite(lower)
    stated = subject.card.risks(refits.totals)
    figures = zip(refits.totals[known], stated[known], lower[known], upper[known], strict=True)
    rows = [
        (f"{total:.6g}", f"{risk:.1%}", f"{low:.1%} to {high:.1%}")
        for total, risk, low, high in figures
    ]
    more = f"; {len(rows) - _MOST_ROWS} more are left out" if len(rows) > _MOST_ROWS else ""
    heads = ["Total", "Stated risk", "95 % interval"]
    caption = f"What {len(refits.risks)} cards made again state for the rows of each total{more}"
    return Table(caption, heads, rows[:_MOST_ROWS])


def rungs_table(record: Mapping[str, Any]) -> Table | None:
    """What each number of changed lines gained on a card in use; None of another card."""
    rungs = record.get("rungs")
    if not isinstance(rungs, list) or not all(isinstance(each, Mapping) for each in rungs):
        return None
    ends = ("loss", "bound")
    rows = [
        (
            str(each.get("card", "")),
            str(each.get("changed") or DASH),
            *(f"{x:.5f}" if isinstance(x := each.get(k), float) else DASH for k in ends),
        )
        for each in rungs
    ]
    marked = [k for k, each in enumerate(rungs) if each.get("changes") == record.get("changes")]
    heads = ["Card", "Lines changed", "Mean loss", "No such card below"]
    caption = "What changed, and what it gained on the rows of the update"
    return Table(caption, heads, rows[:_MOST_ROWS], 2, marked[0] if marked else None)


def sites_table(record: Mapping[str, Any]) -> Table | None:
    """What a card of several sites is worth at each, by cards of the others; None of another."""
    sites = record.get("sites")
    if not isinstance(sites, list) or not all(isinstance(each, Mapping) for each in sites):
        return None

    def shown(value: Any, form: str) -> str:
        return format(value, form) if isinstance(value, int | float) else DASH

    forms = {"rows": ",", "auc": ".3f", "auc_left_out": ".3f", "stated": ".1%", "observed": ".1%"}
    rows = [
        (str(each.get("site", "")), *(shown(each.get(k), form) for k, form in forms.items()))
        for each in sites
    ]
    heads = [
        "Site", "Rows", "AUC of this card", "AUC of a card of the others", "Risk it states",
        "Observed",
    ]  # fmt: skip
    return Table("Each site, by a card made from the other sites", heads, rows[:_MOST_ROWS])


def power_table(card: Scorecard) -> tuple[str, Table | None]:
    """Who decides on the card, in a sentence and by feature; or why that is not known."""
    if len(card.used_features) > MOST_VOTERS:
        return f"Who decides is not counted for more than {MOST_VOTERS} features.", None
    try:
        game = VotingGame.of_card(card)
    except NotApplicableError as error:
        return f"Who decides is not known: {error}.", None
    rows = [[str(name), f"{shapley:.0%}", f"{banzhaf:.0%}"]
            for name, shapley, banzhaf in game.power.itertuples()]  # fmt: skip
    heads = ("Feature", "Shapley value", "Banzhaf value")
    figures = "Power over the answer, every combination of lines counted once"
    return game.sentence, Table(figures, heads, rows) if game.constant is None else None


# ---------------------------------------------------------------- the proof and the data


def parts_table(verification: Verification) -> Table:
    """What each part of a certificate came to."""
    rows = [(part.name, str(part.status), part.sentence) for part in verification.parts]
    return Table("The certificate, part by part", ("Part", "Status", "Why"), rows, words=3)


def threshold_label(subject: Subject, cuts: Cuts, k: int) -> str:
    """The k-th threshold in words."""
    if k == cuts.own:
        return f"{exact_number(least_positive(subject.card))} or more"
    value = float(cuts.thresholds[k])
    return f"{number(value)} or more" if math.isfinite(value) else "never"


def thresholds_table(subject: Subject, cuts: Cuts) -> Table:
    """Every threshold with its confusion counts."""
    rows = [
        (
            threshold_label(subject, cuts, k) + (" (the card)" if k == cuts.own else ""),
            *(str(int(side[k])) for side in (cuts.true_positive, cuts.false_positive,
                                             cuts.false_negative, cuts.true_negative)),
            *(f"{side[k]:.1%}" for side in (cuts.sensitivity, cuts.specificity, cuts.error)),
        )
        for k in range(len(cuts.thresholds))
    ]  # fmt: skip
    note = f"; {cuts.left_out} totals between these are left out" if cuts.left_out else ""
    heads = ("Positive from", "True positive", "False positive", "False negative",
             "True negative", "Sensitivity", "Specificity", "Error")  # fmt: skip
    return Table(f"What other thresholds would answer{note}", heads, rows, marked=cuts.own)


def shares_table(subject: Subject, found: DataFrame, pooled: str, name: str) -> Table:
    """The stated risk of every total and what was observed."""
    stated = subject.card.risk is not None
    rows = [
        (
            f"{row['total']:.6g}",
            *([f"{row['risk']:.1%}"] if stated else []),
            f"{row['observed']:.1%}",
            f"{row['lower']:.1%} to {row['upper']:.1%}",
            str(int(row["rows"])),
        )
        for row in found.to_dict("records")
    ]
    heads = ["Total", *(["Stated risk"] if stated else []), "Observed", "95 % interval", "Rows"]
    caption = f"{name}: observed share by total" if name else "Observed share by total"
    return Table(caption + f"; {pooled}" * bool(pooled), heads, rows)


def comparison_table(frame: DataFrame) -> Table:
    """Exact beside relaxed beside rounded; an LP has a bound, and no claim about cards."""
    held_out = "cv_auc" in frame and bool(frame["cv_auc"].notna().any())
    forms = {k: form for k, form in _COMPARED.items() if held_out or k != "cv_auc"}
    lacking = forms.keys() - set(frame.columns)
    if lacking:
        raise NotApplicableError(
            f"this is not a comparison, it lacks {', '.join(sorted(lacking))}: pass the table of "
            "milpscore.compare"
        )
    shown = frame.assign(
        formulation=frame["formulation"].str.replace("_", "-"),
        kind=frame["kind"].replace(_KINDS),
        claim=frame["claim"].astype(str).mask(frame["kind"] == "relaxed", "bound only"),
    )
    rows = [_in_form(row, forms) for row in shown.to_dict("records")]
    heads = [head for head, _ in forms.values()]
    return Table("Exact programs, their relaxations, and rounded cards", heads, rows, words=3)


def pool_table(pool: Any) -> Table:
    """Ranges of points and reliance over a pool of cards."""
    ranges = getattr(pool, "importance", None)
    if not isinstance(ranges, DataFrame) or not _POOLED.keys() <= set(ranges.columns):
        raise NotApplicableError("this is not a pool of cards: pass what pools.pool returns")
    used = ranges[ranges["share"] > 0]
    records = used.head(_MOST_ROWS).to_dict("records")
    rows = [[str(used.index[k]), *_in_form(row, _POOLED)] for k, row in enumerate(records)]
    unused = len(ranges) - len(used)
    many = "1 column has" if unused == 1 else f"{unused} columns have"
    note = f"; {many} points in none" if unused else ""
    heads = ["Column", *(head for head, _ in _POOLED.values())]
    return Table(f"Ranges over the pool{note}", heads, rows)


def checks_table(subject: Subject) -> tuple[Table, list[str]]:
    """What is odd about the data in the card's columns, and what must be said of it."""
    design, counted = subject.design, subject.counted
    merged, weight = design.merged, design.weight
    own, every = design.rows[counted], int(design.rows.sum())
    rows, hits = int(own.sum()), int(own[subject.positive[counted]].sum())
    pairs = merged.conflicts
    conflicting = int(own[np.isin(merged.inverse[counted], pairs)].sum())
    whole = math.fsum(weight)
    lost = math.fsum(merged.weight[pairs].min(axis=1)) if len(pairs) else 0.0
    least, share = f"{lost / whole:.2%}", f"{math.fsum(weight[subject.positive]) / whole:.1%}"
    if subject.weighted:
        share += " of the weight"
    else:
        least = f"{round(lost * rows / whole)} ({least})"
    constant = np.flatnonzero(np.ptp(design.X[counted], axis=0) == 0).tolist()
    missing = "is not known of a design"
    if subject.missing is not None:
        missing = _names([f"{name} ({count})" for name, count in subject.missing.items()])
    weightless = every - rows
    negative, positive = subject.names
    features, used = len(subject.card.features), len(subject.card.used_features)
    events = min(hits, rows - hits)
    found = {
        "Rows": f"{every}" + f", {weightless} of weight 0" * bool(weightless),
        "Columns": design.shape[1],
        f"Class {positive}": f"{hits} ({share})",
        f"Class {negative}": rows - hits,
        f"Rows of the rarer class for each of {features} features looked at": (
            f"{events / max(features, 1):.1f}"
        ),
        f"Rows of the rarer class for each of {used} features with points": (
            f"{events / used:.1f}" if used else DASH
        ),
        "Rows that repeat an earlier one": rows - len(merged.y),
        "Different rows of values": len(merged.y) - len(pairs),
        "Rows with the values of a row of the other class": conflicting,
        "Least errors of any rule on these columns": least,
        "Constant columns": _names([design.names[j] for j in constant]),
        "Missing values": missing,
    }
    remarks = []
    if conflicting:
        remarks.append(
            f"{conflicting} rows have the values of a row of the other class: no rule on "
            "these columns answers all of them rightly."
        )
    if subject.absent:
        remarks.append(
            f"These data lack {len(subject.absent)} feature(s) the card knows and gives no points."
        )
    lines = [(k, str(v)) for k, v in found.items()]
    return Table("Data checks", ("Check", "Found"), lines, 2), remarks


def _names(names: Sequence[str], most: int = 8) -> str:
    """Some names, and how many more."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return (", ".join(names[:most]) + more) or "none"
