"""What becomes of each part of a certificate: proved, refuted, or not proved, with a sentence."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from milpscore_check.balls import ENGINE
from milpscore_check.cards import Cards
from milpscore_check.proof import Data, prove
from milpscore_check.table import (
    DAMAGE,
    Refused,
    Table,
    answers,
    fingerprint,
    name_of,
    number,
    rebuilt,
    weights_of,
)

VERSION = 2
_MOST_BYTES = 200_000_000
_ROUNDING = Fraction(1, 10**12)
"""Of figures written as doubles, relatively."""
_OPTIMAL = Fraction(1, 10**6)
_STRENGTH = ("feasible", "gap", "optimal")


@dataclass(frozen=True)
class Part:
    """One part of a certificate and what became of it."""

    name: str
    status: str
    sentence: str


@dataclass(frozen=True)
class Report:
    """Every part: file, data, card, objective, bound, claim."""

    parts: tuple[Part, ...]

    @property
    def proved(self) -> bool:
        """Whether every part was proved."""
        return len(self.parts) == 6 and all(part.status == "proved" for part in self.parts)

    def __getitem__(self, name: str) -> Part:
        """The part of a name."""
        return {part.name: part for part in self.parts}[name]

    def to_text(self) -> str:
        """A line for each part, then the verdict."""
        lines = [f"{part.name:<9}  {part.status}: {part.sentence}" for part in self.parts]
        verdict = "everything claimed was proved" if self.proved else "not everything was proved"
        return "\n".join([*lines, f"Verdict: {verdict} (exact integers, {ENGINE})."])


def read(path: Path) -> dict[str, Any]:
    """A certificate's entries; Refused where it is none."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise Refused(f"{path.name} is larger than {_MOST_BYTES} bytes")
        content = json.loads(path.read_text(encoding="utf-8"), parse_constant=number)
    except (OSError, ValueError, RecursionError) as error:
        raise Refused(f"{path.name} is not JSON: {error}") from error
    if not isinstance(content, dict) or content.get("kind") != "milpscore.certificate":
        raise Refused(f"{path.name} is not a certificate")
    if content.get("version") != VERSION:
        raise Refused(f"{path.name} has version {content.get('version')!r}, not {VERSION}")
    return content


def check(
    table: Path,
    certificate: Path,
    *,
    target: str | None = None,
    weights: str | None = None,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> Report:
    """Check a certificate against the CSV file it speaks of.

    Parameters
    ----------
    table, certificate : Path
    target, weights : str, optional
        The columns of the labels and of the weights, where the certificate does not say.
    progress : callable
        Told how many entries of the tree are done, and of how many.

    Raises
    ------
    Refused
        Where one of the files cannot be read at all.
    """
    content = read(certificate)
    try:
        source = content["data"]
        if not (target := target or source.get("target")):
            raise Refused("the certificate does not name the column of the labels: give --target")
        given = {"encoding": source.get("encoding", "utf-8"), "decimal": source.get("decimal", ".")}
        data, found = _data(Table(table, **given), content, target, weights)
        cards = Cards(content["cards"], len(source["columns"]))
        card = cards.card(content["card"])
        broken = next(cards.broken(card, data), None)
        allowed = "its points, terms, intercept and scale are allowed, and it keeps every rule"
        parts = [_file(content), found, _part("card", not broken, broken or allowed)]
        if broken:
            return Report(tuple(parts))
        loss, penalty = data.loss(cards, card), cards.penalty(card.w)
        objective = loss[0] + penalty[0], loss[1] + penalty[1]
        parts.append(_figures(content, {"loss": loss, "penalty": penalty, "objective": objective}))
        parts.append(_bound(content, data, cards, objective[1], progress))
        return Report((*parts, _claim(content, objective[1], parts[-1])))
    except DAMAGE as error:
        raise Refused(f"{certificate.name}: {error} ({type(error).__name__})") from error


def _part(name: str, proved: bool, sentence: str) -> Part:
    """A part that is proved or refuted."""
    return Part(name, "proved" if proved else "refuted", sentence)


def _file(content: Mapping[str, Any]) -> Part:
    """Whether the file is as it was written."""
    sealed = {k: v for k, v in content.items() if k not in ("kind", "version", "digest")}
    text = json.dumps(sealed, sort_keys=True, separators=(",", ":"), allow_nan=False)
    same = hashlib.sha256(text.encode()).hexdigest() == content["digest"]
    how = "has" if same else "was changed after it was written: it has not"
    return _part("file", same, f"its content {how} the digest it was sealed with")


def _data(
    raw: Table, content: Mapping[str, Any], target: str, weights: str | None
) -> tuple[Data, Part]:
    """The rows of the certificate's columns, and whether they are those it names."""
    source = content["data"]
    specs, classes = source["columns"], source["classes"]
    columns = rebuilt(raw, specs)
    y = answers(raw, target, classes)
    exact, doubles = weights_of(
        raw, weights or source.get("weights_column"), source.get("class_weight"), y, classes
    )
    data, names = Data(columns, y, exact), [column["name"] for column in specs]
    for name, cut in zip(names, map(name_of, specs), strict=True):
        if name != cut:
            return data, _part("data", False, f"the column {name!r} is {cut!r} by its cut")
    own = fingerprint(columns, y, doubles, names), raw.rows
    same = own == (content["fingerprint"], source["rows"])
    said = f"{raw.rows} rows x {len(specs)} columns, rebuilt from the file, have the fingerprint"
    other = f"they are not those of the fingerprint; rows: {raw.rows} of {source['rows']}"
    return data, _part("data", same, said if same else other)


def _figures(content: Mapping[str, Any], found: Mapping[str, Any]) -> Part:
    """Whether loss, penalty and objective are what is said."""
    for name, (low, high) in found.items():
        said, room = Fraction(content[name]), _ROUNDING * max(Fraction(1), abs(high))
        text = f"{float(high):.12g}, recomputed over the rows"
        if not low - room <= said <= high + room:
            return _part("objective", False, f"its {name} is {text}, not {float(said):.12g}")
    return _part("objective", True, text)


def _bound(
    content: Mapping[str, Any], data: Data, cards: Cards, objective: Fraction, progress: Any
) -> Part:
    """Whether no card lies below the bound."""
    bound, evidence = Fraction(content["bound"] or 0), content["evidence"]
    if bound <= 0:
        return _part("bound", True, "none is claimed: losses and penalties are never negative")
    if bound > objective:
        return _part("bound", False, "it lies above the card's own objective")
    if evidence["kind"] != "leaves":
        proved, said = False, f"a solver's word: {evidence.get('reason', 'nothing is recorded')}"
    else:
        proved, said = prove(data, cards, evidence, bound, progress)
    return Part("bound", "proved" if proved else "not proved", f"{float(bound):.9g}: {said}")


def _claim(content: Mapping[str, Any], objective: Fraction, proof: Part) -> Part:
    """Whether the claim is what objective and bound allow."""
    claim, bound = content["claim"], Fraction(content["bound"] or 0)
    if claim not in _STRENGTH or bool(number(content["cards"]["gap"])) != bool(content["caveat"]):
        return _part("claim", False, f"{claim!r} is none, or its caveat is not that of the cards")
    near = objective - bound <= _OPTIMAL * max(Fraction(1), abs(objective))
    allowed = "optimal" if near else "gap" if bound > 0 else "feasible"
    if claim != "feasible" and proof.status == "not proved":
        return Part("claim", "not proved", f"{claim!r} rests on the bound")
    fine = _STRENGTH.index(claim) <= _STRENGTH.index(allowed) and proof.status == "proved"
    return _part("claim", fine, f"{claim!r}: objective and bound allow {allowed!r}")
