"""What becomes of each part of a certificate: proved, refuted, or not proved, with a sentence."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from milpscore_check import table as tables
from milpscore_check.cards import Cards
from milpscore_check.proof import Data, Progress, prove
from milpscore_check.values import Refused, double, entries, items, parsed, shown, string, whole

VERSION = 3
MOST_BYTES = 8_000_000
# a list or an object of 3 bytes takes 100 and more as Python's
_MOST = {"[": (500_000, "lists"), "{": (50_000, "objects"), '"': (400_000, "quotation marks")}
_LAYOUT = (
    "kind version fingerprint data statement cards card claim objective loss penalty bound "
    "bound_source engine versions evidence caveat digest"
)
_DATA = "blocks target weights_column class_weight missing drop features decimal encoding levels"
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
    name = certificate.name
    try:
        if certificate.stat().st_size > MOST_BYTES:
            raise Refused(f"{name} has more than {MOST_BYTES / 1e6:g} MB, the most that is read")
        text = certificate.read_text(encoding="utf-8")
        for sign, (most, things) in _MOST.items():
            if text.count(sign) > most:
                raise Refused(f"{name} holds more than {most} {things}, the most that is read")
        content = parsed(text)
        known = type(content) is dict and content.get("kind") == "milpscore.certificate"
        if not known or content.get("version") != VERSION:
            raise Refused(f"{name} is not a certificate of version {VERSION}")
        content = entries(content, _LAYOUT)
    except (OSError, ValueError, RecursionError, MemoryError) as error:
        raise Refused(f"{name} is not JSON: {error}") from error
    try:
        data, cards, parts = _basis(content, csv, target, weights)
        allowed = parts[1][1] == parts[2][1] == "proved"
        return [*parts, *(_claims(content, data, cards, progress) if allowed else ())]
    except DAMAGE as error:
        raise Refused(f"{name}: {error} ({type(error).__name__})") from error


def _basis(
    content: Mapping[str, Any], csv: Path, target: str | None, weights: str | None
) -> tuple[Data, Cards, list[Part]]:
    """Rows and cards, and whether file, data and card are what they have to be."""
    sealed = {k: v for k, v in content.items() if k not in ("kind", "version", "digest")}
    text = json.dumps(sealed, sort_keys=True, separators=(",", ":"))
    same = hashlib.sha256(text.encode()).hexdigest() == content["digest"]
    del text
    file = "file", _STATUS[same], f"it {'has' if same else 'has not'} the digest it was sealed with"
    source = entries(content["data"], "rows columns classes", f"{_DATA} cost")
    specs, rows = items(source["columns"]), whole(source["rows"])
    if not (target := target or source.get("target")):
        raise Refused("the certificate does not name the column of the labels: give --target")
    if len(source.get("levels") or ()) > 2:
        raise Refused("it is of ordered classes, which 'milpscore verify' takes apart, not this")
    encoding, decimal = (string(source.get(*d)) for d in (("encoding", "utf-8"), ("decimal", ".")))
    raw = tables.Table(csv, encoding, decimal)
    columns, classes = tables.rebuilt(raw, specs), items(source["classes"])
    y, named = tables.answers(raw, target, classes), weights or source.get("weights_column")
    exact = tables.weights_of(raw, named, source.get("class_weight"), y, classes)
    alike = sum(len({*own}) < 2 for own in columns)
    said = f"{raw.rows} of {rows} rows, {len(specs)} columns, {alike} alike in every row"
    shape = ("data", _STATUS[raw.rows == rows], said)
    data, cards = Data(columns, y, exact), Cards(content["cards"], len(specs))
    broken = cards.broken(cards.card(content["card"]), data)
    allowed = "its points, terms, intercept and scale are allowed, and it keeps every rule"
    return data, cards, [file, shape, ("card", _STATUS[not broken], broken or allowed)]


def _claims(
    content: Mapping[str, Any], data: Data, cards: Cards, progress: Progress
) -> Iterator[Part]:
    """Whether objective, bound and claim of a card that is allowed are what is said."""
    card = cards.card(content["card"])
    (least, most), penalty = data.loss(cards.loss, *card), cards.penalty(card[0])
    objective = most + penalty
    said, same = f"{float(objective):.12g}, recomputed over the rows", True
    ends = {"loss": (least, most), "penalty": (penalty, penalty)}
    for name, (low, high) in {**ends, "objective": (least + penalty, objective)}.items():
        room, told = _ROUNDING * max(Fraction(1), abs(high)), double(content[name])
        if not low - room <= Fraction(told) <= high + room:
            said, same = f"its {name} is {float(high):.12g}, not {told:.12g}", False
    yield "objective", _STATUS[same], said
    bound = Fraction(0 if content["bound"] is None else double(content["bound"]))
    leaves = content["evidence"]["kind"] == "leaves"
    evidence = entries(content["evidence"], "kind points tree" if leaves else "kind reason")
    if not leaves and evidence["kind"] != "none":
        raise Refused(f"{shown(evidence['kind'])} is not a kind of evidence")
    status, said = "proved", "none is claimed: losses and penalties are never negative"
    if bound > objective:
        status, said = "refuted", "it lies above the card's own objective"
    elif bound > 0:
        held, said = False, "a solver's word"
        if not leaves:
            said += f": {string(evidence['reason'])}"
        else:
            held, said = prove(data, cards, evidence, bound, progress)
        status, said = "proved" if held else "not proved", f"{float(bound):.9g}: {said}"
    yield "bound", status, said

    claim, caveat = string(content["claim"]), string(content["caveat"])
    near = objective - bound <= _OPTIMAL * max(Fraction(1), abs(objective))
    best = "optimal" if near else "gap" if bound > 0 else "feasible"
    if claim not in _STRENGTH or bool(cards.gap) != bool(caveat):
        yield "claim", "refuted", f"{claim!r} is none, or its caveat is not that of the cards"
    elif bound > 0 and not leaves and string(content["bound_source"]) == "evidence":
        yield "claim", "refuted", "its bound_source is 'evidence', and it holds none"
    elif claim != "feasible" and status == "not proved":
        yield "claim", status, f"{claim!r} rests on the bound"
    else:
        fine = status == "proved" and _STRENGTH.index(claim) <= _STRENGTH.index(best)
        yield "claim", _STATUS[fine], f"{claim!r}: objective and bound allow {best!r}"


def proved(parts: Sequence[Part]) -> bool:
    """Whether all six parts were proved."""
    return [status for _, status, _ in parts] == ["proved"] * 6
