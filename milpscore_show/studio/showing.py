"""What a page shows of a desk, what it may ask for, and the files that leave it."""

from __future__ import annotations

import io
import json
import math
import re
import shlex
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Union

import msgspec
import numpy as np

from milpscore.constraints import Constraint
from milpscore.core.errors import DataError, FormulationError
from milpscore.core.reading import parsed
from milpscore.core.result import Result
from milpscore.scorecard import Scorecard, SurvivalCard, certified_card, survival_card
from milpscore.scorecard.claims import few_events, rarer_rows
from milpscore.scorecard.rendering import (
    HEADER,
    card_cells,
    decision_sentence,
    finite,
    least_positive,
)
from milpscore.verify import evaluate
from milpscore_show.studio._desk import AnyFigures, Desk, Figures, Shown, TimedFigures
from milpscore_show.studio.questions import Bench, Listen, Question, down, up

MOST_POINTS = 300
"""Maximal number of points of a curve, and of thresholds to choose from."""

MOST_TEXT = 20_000
"""Characters of a rule that is typed."""

# ---------------------------------------------------------------- what may be asked for


_DOES: dict[str, tuple[str, dict[str, Any]]] = {
    "points": ("set_points", {"column": str, "points": int}),
    "lock": ("lock", {"column": str, "hold": bool}),
    "forbid": ("forbid", {"name": str}),
    "demand": ("demand", {"name": str}),
    "drop": ("drop", {"key": str}),
    "rule": ("add_rule", {"text": str}),
    "threshold": ("set_threshold", {"total": float | None}),
    "terms": ("set_terms", {"most": int | None}),
    "take": ("take", {"wishes": bool}),
    "back": ("back", {}),
    "undo": ("undo", {}),
    "redo": ("redo", {}),
}
"""Per edit, the method of the desk, and the names and types of its arguments."""

_ACTS: Any = Union[  # noqa: UP007 - of a tuple
    tuple(
        msgspec.defstruct(
            tag, [*given.items()], tag_field="do", tag=tag, forbid_unknown_fields=True
        )
        for tag, (_, given) in _DOES.items()
    )
]


def act(desk: Desk, request: str | bytes) -> None:
    """Do what a page asks for, in JSON; an error of the package says what cannot be done."""
    asked = parsed(request, _ACTS, "the request")
    name = type(asked).__name__
    given = msgspec.structs.astuple(asked)
    getattr(desk, _DOES[name][0])(*(map(rule_of, given) if name == "rule" else given))


def rule_of(text: str) -> dict[str, Any]:
    """The entry of a file of constraints, as it is typed: lines such as ``type = "monotone"``."""
    import tomllib

    if len(text) > MOST_TEXT or text.count(".") > MOST_TEXT // 100:
        raise DataError(f"a rule has at most {MOST_TEXT:,} characters")
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise FormulationError(
            f'the rule cannot be read ({error}): write lines such as type = "at_most"'
        ) from error


# ---------------------------------------------------------------- what is shown


def view(desk: Desk) -> dict[str, Any]:
    """Everything that a page shows, as plain data."""
    card, shown = desk.card, desk.scorecard
    sheet, design = desk.sheet, desk.design
    question, free = desk.question, desk.free
    statement = desk.bench.statement(question)
    lower, upper = statement.coef_min, statement.coef_max
    found = evaluate(statement, card)
    forbidden, demanded = set(sheet.forbidden), set(sheet.demanded)
    return {
        "title": desk.title,
        "file": file_name(desk.title),
        "revision": desk.revision,
        "outcome": [str(label) for label in design.classes],
        "rows": desk.figures.rows,
        "lines": [
            {"column": column.name, "feature": column.feature, "points": w, "least": int(low),
             "most": int(high), "locked": j in sheet.locked}
            for j, (column, w, low, high) in enumerate(
                zip(design.columns, sheet.points, lower, upper, strict=True)
            )
        ],
        "features": [
            {"name": name,
             "wish": "forbid" if name in forbidden else "demand" if name in demanded else ""}
            for name in desk.features
        ],
        "terms": sum(map(bool, sheet.points)),
        "max_terms": sheet.max_terms,
        **_answered(desk, {"loss": found.loss, "objective": found.objective}),
        "broken": list(found.violations),
        "print": {"lines": [HEADER, *chain.from_iterable(card_cells(shown))], "says": _said(desk)},
        "free": _standing(desk, free, found.objective),
        "held": _standing(desk, question, found.objective),
        "wishes": [
            {"key": key, "says": rule.name or rule.sentence, **_priced(desk, key)}
            for key, rule in desk.wishes.items()
        ],
        "together": _priced(desk),
        "in_use": None if desk.in_use is None else _in_use(desk),
        "undo": desk.can_undo,
        "redo": desk.can_redo,
    }  # fmt: skip


def _answered(desk: Desk, losses: dict[str, float]) -> dict[str, Any]:
    """What the card's totals mean on the rows: decisions and risks, or risks at stated times."""
    figures, shown = desk.figures, desk.shown
    said = {name.capitalize(): f"{value:.5f}" for name, value in losses.items()}
    if isinstance(figures, TimedFigures):
        assert isinstance(shown, SurvivalCard)
        order = None if math.isnan(figures.concordance) else figures.concordance
        said |= {"Events": f"{figures.events} of {figures.rows}"}
        said |= {} if order is None else {"C": f"{order:.3f}"}
        counted = {"events": figures.events, "concordance": order}
        return {"figures": {**losses, **counted}, "said": said, "brief": f"{figures.events} events",
                "threshold": None, "roc": None, "risks": shown.table}  # fmt: skip
    assert isinstance(shown, Scorecard)
    rates = {"sensitivity": figures.sensitivity, "specificity": figures.specificity}
    shares = {name: f"{value:.1%}" for name, value in rates.items()}
    said |= {"Errors": f"{figures.errors} of {figures.rows}", "AUC": f"{figures.auc:.3f}"}
    said |= {name.capitalize(): share for name, share in shares.items()}
    return {
        "figures": {**losses, "errors": figures.errors, "auc": figures.auc, **rates},
        "said": said, "brief": f"{figures.errors} errors",
        "threshold": {
            "total": float(least_positive(shown)),
            "moved": desk.sheet.threshold is not None, "totals": _thinned(figures.totals).tolist(),
        },
        "roc": {
            "curve": np.round(_thinned(np.column_stack(figures.curve)), 5).tolist(),
            "at": [1 - figures.specificity, figures.sensitivity],
            "says": f"At the threshold: sensitivity {shares['sensitivity']}, specificity "
                    f"{shares['specificity']}. Area under the curve {figures.auc:.3f}.",
        },
        "risks": [list(line) for line in zip(*shown.risk_lines, strict=True)],
    }  # fmt: skip


def _said(desk: Desk) -> str:
    """The card's decision, and whether its events are too few for its lines."""
    lines = sum(map(bool, desk.sheet.points))
    if isinstance(desk.figures, TimedFigures):
        return few_events({"rarer_rows": desk.figures.events, "lines": lines})
    few = few_events({"rarer_rows": rarer_rows(desk.design), "lines": lines})
    return " ".join(filter(None, [decision_sentence(desk.scorecard), few]))


def _standing(desk: Desk, question: Question, own: float) -> dict[str, Any]:
    """How far the card is from the best one of a question, in numbers and a sentence."""
    card, best = desk.ledger.best(question)
    bound = desk.ledger.bound(question)
    proved = desk.is_settled(question)
    if bound == math.inf:
        says = "Proved: no card obeys."
    elif card is None:
        says = "No card that obeys is known yet."
    elif proved:
        says = f"Best card: {best:.5f}, proved. This card is {max(own - best, 0.0):.5f} above it."
    elif bound > 0:
        says = (
            f"Best known card: {best:.5f}; proved: none is below {down(bound)}. "
            f"This card is at most {up(own - bound)} above the best one."
        )
    else:
        says = f"Best known card: {best:.5f}; nothing is proved yet."
    if caveat := desk.bench.statement(question).caveat:
        says += f" Bounds speak {caveat}."
    points = None if card is None else card.coefficients.tolist()
    return {"best": finite(best), "bound": finite(bound), "proved": proved, "says": says,
            "own": points == list(desk.sheet.points)}  # fmt: skip


def _priced(desk: Desk, key: str | None = None) -> dict[str, Any]:
    """What a wish costs, or all of them together: in loss, and in what people count."""
    price, before = desk.price(key), desk.measured(desk.free)
    after = desk.measured(desk.question if key is None else desk.wish(key))
    return {"least": finite(price.least), "most": finite(price.most), "price": str(price),
            "proved": price.proved, "counted": in_counts(before, after)}  # fmt: skip


def _in_use(desk: Desk) -> dict[str, Any]:
    """What the card in use costs against the best card, and what the best one would change."""
    price, best = desk.price_in_use(), desk.measured(desk.free)
    counted = in_counts(desk.measured_in_use(), best, "From the card in use to the best known one")
    return {"own": desk.sheet.points == desk.in_use, "price": str(price), "proved": price.proved,
            "counted": counted}  # fmt: skip


def in_counts(
    before: AnyFigures | None, after: AnyFigures | None, what: str = "The best known card changes"
) -> str:
    """How the best known card changes, at its own decision; empty where one is not known."""
    if before is None or after is None:
        return ""
    if before is after:
        return "The best known card obeys as it is."
    if isinstance(before, TimedFigures) or isinstance(after, TimedFigures):
        assert isinstance(before, TimedFigures)
        assert isinstance(after, TimedFigures)
        if math.isnan(before.concordance):
            return ""
        return f"{what}: C {before.concordance:.3f} to {after.concordance:.3f}."
    missed, alarmed = after.missed - before.missed, after.alarmed - before.alarmed
    return (
        f"{what}: AUC {before.auc:.3f} to {after.auc:.3f}, sensitivity "
        f"{before.sensitivity:.1%} to {after.sensitivity:.1%}, specificity "
        f"{before.specificity:.1%} to {after.specificity:.1%}: {_more(missed)} missed, "
        f"{_more(alarmed)} false alarms, of {after.rows} rows."
    )


def _more(rows: int) -> str:
    return f"{abs(rows)} {'more' if rows > 0 else 'fewer'}" if rows else "as many"


def file_name(title: str) -> str:
    """A title as the beginning of a file's name."""
    return re.sub(r"\W+", "-", title).strip("-").lower()[:60] or "card"


def _thinned(values: Any) -> Any:
    """Return at most `MOST_POINTS` of ascending values, the ends among them."""
    places = np.linspace(0, len(values) - 1, min(len(values), MOST_POINTS)).round().astype(int)
    return values[places]


# ---------------------------------------------------------------- what leaves


def written(rules: Iterable[Constraint]) -> str:
    """Rules as the TOML that :func:`milpscore.constraints.read_constraints` reads."""
    tables = [
        "\n".join(["[[constraints]]", *(f"{k} = {_toml(v)}" for k, v in rule.as_mapping().items())])
        for rule in rules
    ]
    return "\n\n".join(tables) + "\n" if tables else "constraints = []\n"


def _toml(value: Any) -> str:
    """A value of TOML; JSON's texts, numbers, truth values and lists are."""
    if isinstance(value, dict):
        inside = ", ".join(f"{json.dumps(k)} = {_toml(v)}" for k, v in value.items())
        return f"{{{inside}}}"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


@dataclass(frozen=True)
class Export:
    """Card, certificate, report and the constraints that reproduce the card, in one archive."""

    question: Question
    result: Result
    shown: Shown
    texts: dict[str, str]
    source: dict[str, Any]

    @classmethod
    def of(cls, desk: Desk) -> Export:
        """What a desk's card leaves as; NotApplicableError where nothing is proved of it."""
        question, result = desk.certified()
        texts = {
            "constraints.toml": written(desk.pinned()), "wishes.toml": written(question.rules),
            "README.txt": _read_me(desk),
        }  # fmt: skip
        shown = desk.shown
        if isinstance(shown, SurvivalCard):
            shown = survival_card(desk.bench.program(question), result, desk.title)
            return cls(question, result, shown, texts, desk.source)
        record = certified_card(
            desk.design, result, desk.title, statement=desk.bench.statement(question)
        ).certificate
        assert isinstance(desk.figures, Figures)
        entries = {**record, "errors": desk.figures.errors, **shown.certificate}
        return cls(question, result, replace(shown, certificate=entries), texts, desk.source)

    def run(self, bench: Bench, listen: Listen | None = None) -> bytes:
        """The archive; evidence for the bound is looked for."""
        from milpscore.certificate import certify
        from milpscore_show.report import report

        program = bench.program(self.question)
        certificate = certify(program, self.result, source=self.source, progress=False)
        if isinstance(self.shown, SurvivalCard):
            pages = {"card.html": self.shown.page()}
        else:
            page = report(
                self.shown, program.statement.design.unpaired, None, certificate=certificate,
                bootstraps=0, progress=False,
            )  # fmt: skip
            pages = {"report.html": page}
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, text in {
                "card.json": self.shown.to_json(), "certificate.json": certificate.to_text(),
                **pages, **self.texts,
            }.items():  # fmt: skip
                archive.writestr(name, text)
        return made.getvalue()


def _read_me(desk: Desk) -> str:
    """What the files are, and how the card is made again."""
    settings = desk.settings
    timed = isinstance(desk.shown, SurvivalCard)
    page = "card.html" if timed else "report.html"
    columns = "--time COL --event COL" if timed else "--target COL"
    command = [desk.command or f"milpscore fit DATA.csv {columns}"]
    if settings["max_terms"] is not None:
        command.append(f"--max-terms {settings.pop('max_terms')}")
    command += [f"--set {shlex.quote(f'{k}={json.dumps(v)}')}" for k, v in settings.items()]
    said = [
        "card.json         the card, for 'milpscore predict'",
        "certificate.json  what is proved of it, for 'milpscore verify'",
        f"{page:18}how it does on the data",
        "constraints.toml  leaves this card alone: fitting with it makes the card again",
        "wishes.toml       the wishes the proof speaks of: fitting with it finds the best card",
        "",
        f"{' '.join(command)} --constraints constraints.toml",
    ]
    if desk.in_use is not None:
        said[-1] = (
            "The columns are those of the card in use: 'milpscore studio --card' opens them again."
        )
    if not timed and desk.scorecard.certificate["decision"]["by"] == "hand":
        said.append(
            f"The threshold was moved by hand to {float(desk.scorecard.threshold):g}; points and "
            "risks are those of the fit."
        )
    return "\n".join(said) + "\n"
