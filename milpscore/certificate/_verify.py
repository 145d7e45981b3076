"""The verifier: each part of a certificate proved, refuted or left open, with a sentence."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from milpscore.certificate import PROOF_SECONDS
from milpscore.certificate._certificate import Certificate
from milpscore.certificate.cards import exact_rows, outside_gap, plain_cards
from milpscore.certificate.policy import POLICY
from milpscore.core.card import Card
from milpscore.core.clock import Clock
from milpscore.core.design import Design, plain_label
from milpscore.core.errors import DataError, MilpscoreError, NotApplicableError
from milpscore.core.program import Program
from milpscore.core.result import CLAIM_TOLERANCE, claim_of
from milpscore.core.writing import printable
from milpscore.data.designs import in_steps
from milpscore.formulations.restating import restate
from milpscore.verify import evaluate
from milpscore_check.cards import Cards
from milpscore_check.proof import Progress, prove
from milpscore_check.report import DAMAGE

Status = Literal["proved", "refuted", "not proved", "not checked"]
"""The status of a part of a certificate."""


@dataclass(frozen=True)
class Part:
    """One part of a certificate, its status, and why."""

    name: str
    status: Status
    sentence: str


@dataclass(frozen=True)
class Verification:
    """The outcome of verifying a certificate.

    Attributes
    ----------
    parts : tuple of Part
        ``file``, ``data``, ``statement``, ``card``, ``objective``, ``bound`` and ``claim``.
    """

    parts: tuple[Part, ...]

    @property
    def proved(self) -> bool:
        """Whether every part was proved."""
        return all(part.status == "proved" for part in self.parts)

    @property
    def failed(self) -> tuple[str, ...]:
        """The parts that were refuted, or could not be proved."""
        return tuple(p.name for p in self.parts if p.status in ("refuted", "not proved"))

    def __getitem__(self, name: str) -> Part:
        """Return the part called ``name``."""
        return {part.name: part for part in self.parts}[name]

    def to_text(self) -> str:
        """Return one line per part, then the verdict."""
        wide = max(len(part.name) for part in self.parts)
        lines = [f"{p.name:<{wide}}  {p.status}: {printable(p.sentence)}" for p in self.parts]
        verdict = "everything claimed was proved" if self.proved else "not everything was proved"
        return "\n".join([*lines, f"Verdict: {verdict}."])


def verify_certificate(
    certificate: Certificate,
    X: Any,
    y: Any = None,
    *,
    sample_weight: Any = None,
    class_weight: Any = None,
    time_limit: float = PROOF_SECONDS,
    progress: Progress | None = None,
) -> Verification:
    """Re-prove a certificate from the data.

    Leaves are checked by :mod:`milpscore_check`, in exact arithmetic and without the engine that
    found the card. Without evidence the program is solved again by another engine or seed; the
    sentence of the part ``bound`` says which.

    Parameters
    ----------
    certificate : Certificate
    X : DataFrame of shape (n, q), array of raw features, or Design
    y : array of shape (n,), the labels; None with a Design
    sample_weight, class_weight :
        As they were given to the builder; None with a Design.
    time_limit : float
        Seconds for solving anything again.
    progress : callable, optional
        Called with the leaves that are checked and the entries of the evidence (0: not known).

    Returns
    -------
    Verification

    Raises
    ------
    DataError
        If data or certificate cannot be read at all.
    """
    parts = [_file(certificate)]
    try:
        design = _design(certificate, X, y, sample_weight, class_weight)
    except DataError as error:
        return _stopped(parts, "data", f"these are not the certificate's data: {error}")
    data = _data(certificate, design)
    parts.append(data)
    if data.status == "refuted":
        return _unchecked(parts)
    try:
        program = restate(certificate.statement, design)
    except MilpscoreError as error:
        return _stopped(parts, "statement", f"it states no program: {error}")
    parts.append(_statement(certificate, program))
    if parts[-1].status == "refuted":
        return _unchecked(parts)
    parts += _card_and_objective(certificate, program)
    if any(part.status == "refuted" for part in parts[-2:]):
        return _unchecked(parts)
    bound = _bound(certificate, program, time_limit, progress)
    return Verification((*parts, bound, _claim(certificate, bound)))


def _stopped(parts: list[Part], name: str, sentence: str) -> Verification:
    """Refute a part after which nothing can be checked."""
    return _unchecked([*parts, Part(name, "refuted", sentence)])


def _unchecked(parts: list[Part]) -> Verification:
    """Leave the parts unchecked that rest on a refuted one."""
    names = ("file", "data", "statement", "card", "objective", "bound", "claim")
    reason = f"it rests on the {next(p.name for p in parts[::-1] if p.status == 'refuted')}"
    rest = [Part(name, "not checked", reason) for name in names[len(parts) :]]
    return Verification((*parts, *rest))


def _file(certificate: Certificate) -> Part:
    """Check that the file is as it was written."""
    if certificate.content_digest() == certificate.digest:
        return Part("file", "proved", "its content has the digest it was sealed with")
    return Part("file", "refuted", "it was changed after it was written: the digest differs")


def _design(
    certificate: Certificate, X: Any, y: Any, sample_weight: Any, class_weight: Any
) -> Design:
    """Make the design of the certificate's columns on these data."""
    design = _raw_design(certificate, X, y, sample_weight, class_weight)
    if certificate.data.get("pairs"):
        from milpscore.data.pairs import PairDesign, make_pair_design

        return design if isinstance(design, PairDesign) else make_pair_design(design)
    if certificate.data.get("merged") and design.counts is None:
        # its evidence calls rows by their order among the distinct ones
        rows = design.merged
        counts = rows.sums(design.rows).astype(np.int64)
        return replace(design, X=rows.X, y=rows.y, weight=rows.weight, counts=counts)
    return design


def _raw_design(
    certificate: Certificate, X: Any, y: Any, sample_weight: Any, class_weight: Any
) -> Design:
    """Make it of the rows as they are given."""
    if isinstance(X, Design):
        if any(part is not None for part in (y, sample_weight, class_weight)):
            raise DataError("a Design already holds classes and weights: leave the others out")
        # a program that penalises jumps is stated by cuts
        return X if certificate.data["blocks"] else in_steps(X)
    from milpscore.data import apply_columns, make_design, make_survival_design

    columns, levels = certificate.columns, certificate.data.get("levels")
    if levels is not None:  # the last columns are gaps between thresholds, of no data
        columns = columns[: len(columns) + 2 - len(levels)]
    values = apply_columns(columns, X)
    if "survival" in certificate.cards:
        blocks = certificate.data["blocks"]
        return make_survival_design(
            values, y, sample_weight=sample_weight, columns=columns, blocks=blocks
        )
    if levels is not None:
        from milpscore.data import make_ordinal_design

        return make_ordinal_design(
            values, y, levels=levels, cost=certificate.data["cost"], columns=columns,
            sample_weight=sample_weight, class_weight=class_weight,
            blocks=certificate.data["blocks"],
        )  # fmt: skip
    return make_design(
        values,
        y,
        sample_weight=sample_weight,
        class_weight=class_weight,
        positive=certificate.data["classes"][1],
        columns=columns,
        blocks=certificate.data["blocks"],
    )


def _data(certificate: Certificate, design: Design) -> Part:
    """Check that the data are those of the fingerprint."""
    rows, columns = int(design.rows.sum()), design.shape[1]
    if design.fingerprint != certificate.fingerprint:
        recorded = certificate.data.get("rows")
        more = "" if recorded == rows else f" ({rows} rows, not {recorded})"
        return Part("data", "refuted", f"the data are not those of the fingerprint{more}")
    # the fingerprint separates positive rows from negative ones, not their names
    labels, classes = [plain_label(label) for label in design.classes], certificate.data["classes"]
    if labels != list(classes):
        return Part("data", "refuted", f"their labels are {labels}, not {classes}")
    return Part("data", "proved", f"{rows} rows x {columns} columns have the fingerprint")


def _statement(certificate: Certificate, program: Program) -> Part:
    """Check that the builder makes the cards that the claim speaks of, and their caveat."""
    restated, recorded = plain_cards(program.statement), certificate.cards
    for name in [*restated, *recorded]:
        here = name in restated and name in recorded
        if not (here and restated[name] == recorded[name]):
            return Part("statement", "refuted", f"its cards have another entry {name!r}")
    if certificate.caveat != program.statement.caveat:
        return Part("statement", "refuted", "its caveat is not that of the program")
    return Part("statement", "proved", "the builder makes the program and its cards from it again")


def _card_and_objective(certificate: Certificate, program: Program) -> list[Part]:
    """Check that the card is allowed, and costs what is recorded."""
    statement = program.statement
    try:
        card: Card = certificate.points
    except DataError as error:
        return [
            Part("card", "refuted", str(error)),
            Part("objective", "not checked", "there is no card"),
        ]
    figures = evaluate(statement, card)
    outside = [*figures.violations, *filter(None, [outside_gap(statement, card)])]
    if outside:
        allowed = Part("card", "refuted", outside[0])
    else:
        demands = "ranges, sets, terms, intercept and constraints were checked in whole numbers"
        allowed = Part("card", "proved", f"the statement allows it: {demands}")
    for name in ("objective", "loss", "penalty"):
        recorded, true = getattr(certificate, name), getattr(figures, name)
        off = abs(recorded - true)
        # an infinite figure has no rounding
        if not (math.isfinite(true) and off <= POLICY.rounding * max(1.0, abs(true))):
            sentence = f"its {name} is {true:.12g}, not {recorded:.12g}"
            return [allowed, Part("objective", "refuted", sentence)]
    how = "in whole numbers" if figures.exact else "by compensated sums of exact scores"
    sentence = f"{figures.objective:.12g}, recomputed over the raw rows {how}"
    return [allowed, Part("objective", "proved", sentence)]


def _bound(
    certificate: Certificate, program: Program, time_limit: float, progress: Progress | None
) -> Part:
    """Check the bound by its evidence."""
    bound = certificate.bound
    if bound is None or bound <= 0:
        return Part("bound", "proved", "none is claimed: losses and penalties are never negative")
    if not bound <= certificate.objective:
        return Part("bound", "refuted", f"{bound:.9g} lies above the card's own objective")
    try:
        return Part("bound", *_evidence(certificate, program, bound, time_limit, progress))
    except (NotApplicableError, DataError) as error:
        return Part("bound", "not proved", f"the evidence does not fit: {error}")


def _evidence(
    certificate: Certificate,
    program: Program,
    bound: float,
    time_limit: float,
    progress: Progress | None,
) -> tuple[Status, str]:
    """Check the bound by the recorded evidence, or by a second opinion if there is none."""
    kind, used = certificate.evidence.get("kind"), certificate.engine.get("random_state", 0)
    # a seed the card was not found with
    seed = (int(used) + 1) % 2**31 if isinstance(used, int) else 1
    allowance = CLAIM_TOLERANCE * abs(certificate.objective)
    if kind == "leaves":
        proved, sentence = _prove(certificate, program.statement.design, bound, progress)
        return ("proved" if proved else "not proved"), f"milpscore_check: {sentence}"
    if kind != "none":
        return "not proved", f"evidence of the kind {kind!r} is not known"
    status, sentence = second_opinion(
        program, certificate.engine, bound, allowance, time_limit, seed
    )
    reason = certificate.evidence.get("reason", "")
    return status, f"{sentence} (no evidence is recorded: {reason})"


def _prove(
    certificate: Certificate, design: Design, bound: float, progress: Progress | None
) -> tuple[bool, str]:
    """Let the independent checker judge the leaves."""
    try:
        cards = Cards(certificate.cards, design.shape[1])
        given = exact_rows(design), cards, certificate.evidence, Fraction(bound)
        return prove(*given) if progress is None else prove(*given, progress)
    except DAMAGE as error:
        return False, f"the evidence is damaged ({error})"


def _claim(certificate: Certificate, bound: Part) -> Part:
    """Check that objective and a proved bound allow the claim."""
    ranked = ("feasible", "gap", "optimal")
    if certificate.claim not in ranked:
        return Part("claim", "refuted", f"{certificate.claim!r} is not a claim")
    known = 0.0 if certificate.bound is None else certificate.bound
    allowed = str(claim_of(True, certificate.objective, known, trivial=0.0))
    sentence = f"objective and bound allow {allowed!r}"
    sources = certificate.bound_source, certificate.evidence.get("kind")
    if known > 0 and sources == ("evidence", "none"):
        return Part("claim", "refuted", "its bound_source is 'evidence', and it holds none")
    if ranked.index(certificate.claim) > ranked.index(allowed):
        return Part("claim", "refuted", f"{sentence}, not {certificate.claim!r}")
    if bound.status != "proved" and certificate.claim != ranked[0]:
        return Part("claim", "not proved", f"{certificate.claim!r} rests on the bound")
    return Part("claim", "proved", f"{certificate.claim!r}: {sentence}")


# ------------------------------------------------------------------ a second opinion


def second_opinion(
    program: Program,
    engine: Mapping[str, Any],
    bound: float,
    allowance: float,
    time_limit: float,
    random_state: int,
) -> tuple[Status, str]:
    """Solve anew, and return what that proves of the bound."""
    from milpscore.solvers import solve

    clock, failed = Clock.of(time_limit), ""
    names = _engines(program, str(engine.get("solver", "")))
    for name in names:
        seconds = clock.left if name == names[-1] else POLICY.engine_share * time_limit
        try:
            result = solve(
                program,
                name,
                progress=False,
                second_opinion=False,
                presolve=False,
                time_limit=seconds,
                random_state=random_state,
            )
        except NotApplicableError:
            continue  # this engine does not take the program: the next one is asked
        how = "by another engine" if name != engine.get("solver") else "with another seed"
        how = f"solved again {how} ({name}, seed {random_state}, presolve off)"
        if result.dual_bound >= bound - allowance:
            return "proved", f"{how}: bound {result.dual_bound:.9g}, {bound:.9g} was claimed"
        # a card that the program's caveat leaves out says nothing of the others
        alike = bool(result.caveat) == bool(program.statement.caveat)
        exact = result.kind == "exact" and result.verified and alike
        if exact and result.objective < bound - allowance:
            return "refuted", f"{how}: a card reaches {result.objective:.9g}, below {bound:.9g}"
        failed = (
            f"{how}: bound {max(result.dual_bound, 0.0):.9g} of {bound:.9g} within {time_limit:g} "
            "s: raise the time limit"
        )
    return "not proved", failed or f"no engine takes {program.formulation}"


def _engines(program: Program, used: str) -> list[str]:
    """Return the engines to ask, the one that made the card last."""
    if program.kind == "relaxed":
        return ["highs"]
    convex = program.model.component("cuts") is not None
    names = ["tree", "outer_approximation"] if convex else ["tree", "highs"]
    return sorted(names, key=lambda name: name == used)
