"""What becomes of each part of a certificate: proved, refuted, or not proved, with a sentence."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from milpscore_check import values as v
from milpscore_check.cards import Cards
from milpscore_check.proof import PAIR, Data, Progress, prove
from milpscore_check.rows import Rows
from milpscore_check.table import Table
from milpscore_check.values import Refused

VERSION = 3
_COLUMN = {
    "feature": v.text, "kind": v.text, "lower": v.text, "upper": v.text,
    "category": v.maybe(v.text), "others": [v.text],
    "cells?": {"na": [v.text], "signs": v.text, "unit": v.text, "spelt": [(v.text, v.text)]},
    "points?": [v.whole],
}  # fmt: skip
_DATA = {
    "rows": v.count, "columns": [_COLUMN], "blocks": [[v.count]], "classes": (v.label, v.label),
    "target?": v.maybe(v.text), "positive?": v.maybe(v.text), "drop?": [v.text],
    "features?": v.maybe([v.text]), "weights_column?": v.maybe(v.text), "missing?": v.text,
    "class_weight?": v.class_weight, "decimal?": v.text, "encoding?": v.text,
    "levels?": v.maybe([v.label]), "cost?": v.text, "sheet?": v.maybe(v.text),
    "merged?": v.of(bool), "pairs?": v.of(bool), "as_spelled?": v.of(bool), "time?": v.text,
    "entry?": v.text,
}  # fmt: skip
_EVIDENCE = {"leaves": {"points": v.of(list), "tree": v.of(list)}, "none": {"reason": v.text}}
_LAYOUT = {
    "kind": v.text, "version": v.count, "fingerprint": v.text, "data": _DATA,
    "statement": v.of(dict), "cards": v.of(dict), "card": v.of(dict), "claim": v.text,
    "objective": v.double, "loss": v.double, "penalty": v.double, "bound": v.maybe(v.double),
    "bound_source": v.text, "engine": v.of(dict), "versions": v.of(dict),
    "evidence": v.by_kind(_EVIDENCE), "caveat": v.text, "digest": v.text,
}  # fmt: skip
# what reading an entry of another layout raises
DAMAGE = (
    Refused, LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RuntimeError,
    MemoryError,
)  # fmt: skip
_ROUNDING, _OPTIMAL = Fraction(1, 10**12), Fraction(1, 10**6)  # of doubles, of claims; relatively
_STATUS = {True: "proved", False: "refuted"}
_STRENGTH = ("feasible", "gap", "optimal")

Part = tuple[str, str, str]  # its name, what became of it, and a sentence


def check(
    csv: Path,
    certificate: Path,
    target: str | None = None,
    weights: str | None = None,
    progress: Progress = lambda done, of: None,
) -> list[Part]:
    """What becomes of file, data, card, objective, bound and claim; Refused where unreadable."""
    try:
        content = content_of(certificate)
        data, cards, parts = _basis(content, csv, target, weights)
        allowed = parts[1][1] == parts[2][1] == "proved"
        return [*parts, *(_claims(content, data, cards, progress) if allowed else ())]
    except DAMAGE as error:
        raise Refused(f"{certificate.name}: {error} ({type(error).__name__})") from error


def content_of(path: Path) -> dict[str, Any]:
    """Return a certificate's file as JSON; Refused where it has not the layout of one."""
    try:
        with path.open("rb") as file:
            content = v.parsed(file.read(v.MOST_BYTES + 1))
    except (OSError, ValueError, RecursionError, MemoryError) as error:
        raise Refused(f"it is not JSON: {error}") from error
    if type(content) is not dict or content.get("kind") != "milpscore.certificate":
        raise Refused("it is not a certificate")
    if content.get("version") != VERSION:
        raise Refused(f"version {v.shown(content.get('version'))} is not {VERSION}, which is read")
    v.read(content, _LAYOUT)
    return content


def _basis(
    content: Mapping[str, Any], csv: Path, target: str | None, weights: str | None
) -> tuple[Data, Cards, list[Part]]:
    """Rows and cards, and whether file, data and card are what they have to be."""
    sealed = {k: own for k, own in content.items() if k not in ("kind", "version", "digest")}
    plain = json.dumps(sealed, sort_keys=True, separators=(",", ":"), allow_nan=False)
    same = hashlib.sha256(plain.encode()).hexdigest() == content["digest"]
    del plain
    file = "file", _STATUS[same], f"it {'has' if same else 'has not'} the digest it was sealed with"
    source, specs = content["data"], content["data"]["columns"]
    if not (target := target or source.get("target")):
        raise Refused("the certificate does not name the column of the labels: give --target")
    if len(source.get("levels") or ()) > 2:
        raise Refused("it is of ordered classes: only 'milpscore verify' proves those")
    if source.get("pairs"):
        raise Refused("it is of pairs of rows: only 'milpscore verify' proves those")
    raw = Table(csv, source.get("encoding", "utf-8"), source.get("decimal", "."))
    cards, named = Cards(content["cards"], len(specs)), weights or source.get("weights_column")
    if named == "":
        raise Refused("the certificate names a column of weights without a name")
    wanted = _rows_of(content["evidence"].get("points", ()), cards.loss == "zero_one")
    sides = (rule.get(side) or () for rule in cards.rules for side in ("rows", "others"))
    wanted.update(i for side in sides for i in side)
    rows = Rows(raw, source, target, named)
    data = rows.merged(wanted)
    alike = sum(len({*own}) < 2 for own in data.columns)
    found, stated = rows.count, source["rows"]
    said = f"{found} of {stated} rows, {len(specs)} columns, {alike} alike in every row"
    table = "data", _STATUS[found == stated], said
    broken = cards.broken(cards.card(content["card"]), data)
    allowed = "its points, terms, intercept and scale are allowed, and it keeps every rule"
    return data, cards, [file, table, ("card", _STATUS[not broken], broken or allowed)]


def _rows_of(points: Sequence[Any], paired: bool) -> set[int]:
    """The rows that pairs name at a point's first places, and multipliers at its fifth."""
    known = [point for point in points if type(point) is list]
    if paired:
        return {i for point in known for own in point[:2] for i in v.read(own, [v.count])}
    return {i for point in known for own in point[4:5] for i in v.read(own, PAIR)[0]}


def _claims(
    content: Mapping[str, Any], data: Data, cards: Cards, progress: Progress
) -> Iterator[Part]:
    """Whether objective, bound and claim of a card that is allowed are what is said."""
    card = cards.card(content["card"])
    (least, most), penalty = data.loss(cards, *card), cards.penalty(card[0])
    objective = most + penalty
    said, same = f"{float(objective):.12g}, recomputed over the rows", True
    ends = {"loss": (least, most), "penalty": (penalty, penalty)}
    for name, (low, high) in {**ends, "objective": (least + penalty, objective)}.items():
        room = _ROUNDING * max(Fraction(1), abs(high))
        if not low - room <= Fraction(content[name]) <= high + room:
            said, same = f"its {name} is {float(high):.12g}, not {content[name]:.12g}", False
    yield "objective", _STATUS[same], said
    bound, evidence = Fraction(content["bound"] or 0), content["evidence"]
    status, said = "proved", "none is claimed: losses and penalties are never negative"
    if bound > objective:
        status, said = "refuted", "it lies above the card's own objective"
    elif bound > 0:
        held, said = False, f"a solver's word: {evidence.get('reason', '')}"
        if evidence["kind"] != "none":
            held, said = prove(data, cards, evidence, bound, progress)
        status, said = "proved" if held else "not proved", f"{float(bound):.9g}: {said}"
    yield "bound", status, said

    claim, caveat = content["claim"], bool(cards.gap)
    near = objective - bound <= _OPTIMAL * objective
    best = "optimal" if near else "gap" if bound > 0 else "feasible"
    if claim not in _STRENGTH or caveat != bool(content["caveat"]):
        yield "claim", "refuted", f"{claim!r} is none, or its caveat is not that of the cards"
    elif bound > 0 and (content["bound_source"], evidence["kind"]) == ("evidence", "none"):
        yield "claim", "refuted", "its bound_source is 'evidence', and it holds none"
    elif claim != "feasible" and status == "not proved":
        yield "claim", status, f"{claim!r} rests on the bound"
    else:
        fine = status == "proved" and _STRENGTH.index(claim) <= _STRENGTH.index(best)
        yield "claim", _STATUS[fine], f"{claim!r}: objective and bound allow {best!r}"


def proved(parts: Sequence[Part]) -> bool:
    """Whether all six parts were proved."""
    return [status for _, status, _ in parts] == ["proved"] * 6
