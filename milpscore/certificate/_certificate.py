"""The certificate: what a claim rests on, as plain data in one JSON file; and how it is made."""

from __future__ import annotations

import hashlib
import json
import math
import platform
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from msgspec import Struct

from milpscore._version import __version__
from milpscore.certificate import PROOF_SECONDS
from milpscore.certificate.cards import SMOOTH, outside_gap, plain_cards
from milpscore.certificate.leaves import grow_tree
from milpscore.certificate.policy import POLICY
from milpscore.core.card import Card
from milpscore.core.clock import Clock
from milpscore.core.cluster import one_thread
from milpscore.core.design import CellRules, Column, ColumnKind, plain_label
from milpscore.core.errors import DataError, NotApplicableError, OptionError
from milpscore.core.program import Program
from milpscore.core.reading import exact, typed
from milpscore.core.result import CLAIM_TOLERANCE, Claim, Result
from milpscore.core.writing import write_text
from milpscore.data.columns import renamed
from milpscore.data.ordinal import Cost
from milpscore.formulations.restating import plain_statement
from milpscore.losses import Hinge, RiskLoss, ZeroOne
from milpscore_check.report import VERSION, content_of
from milpscore_check.table import cut
from milpscore_check.values import MOST_BYTES, Refused, parsed


@dataclass(frozen=True)
class Certificate:
    """A card, the claim about it, and the evidence.

    Attributes
    ----------
    fingerprint : str
        SHA-256 of the data.
    data : mapping
        ``columns``, ``blocks`` and ``classes`` of the design, ``rows``, and if known how the table
        was read: ``target``, ``weights_column``, ``class_weight``, ``missing``.
    statement : mapping
        ``formulation`` and ``arguments``: the builder makes the program again from them.
    cards : mapping
        The cards the claim speaks of, every number resolved: loss, ranges, penalties, intercepts,
        scales, rules. All that ``milpscore_check`` reads of the statement.
    card : mapping
        ``coefficients`` and ``intercept``, the latter as text.
    claim : str
    objective, loss, penalty : float
    bound : float or None
        The bound to prove, a little below the solver's own; None if there is none.
    bound_source : str
        "evidence" if the certificate holds leaves, else who vouches for the bound.
    engine : mapping
        ``solver, version, random_state, termination, nodes, options``.
    versions : mapping
        Of milpscore and what computed with it.
    evidence : mapping
        ``kind`` is "leaves" (with ``points`` and ``tree``) or "none" (with ``reason``: the bound
        is then a solver's word, and :func:`verify_certificate` solves again).
    caveat : str
    digest : str
        SHA-256 of everything else, which reveals a changed file; it proves nothing.
    """

    kind: ClassVar[str] = "milpscore.certificate"

    fingerprint: str
    data: Mapping[str, Any]
    statement: Mapping[str, Any]
    cards: Mapping[str, Any]
    card: Mapping[str, Any]
    claim: str
    objective: float
    loss: float
    penalty: float
    bound: float | None
    bound_source: str
    engine: Mapping[str, Any]
    versions: Mapping[str, str]
    evidence: Mapping[str, Any] = field(repr=False)
    caveat: str = ""
    digest: str = ""

    def sealed(self) -> Certificate:
        """Return the same certificate with the digest of its content."""
        return Certificate(**{**self._content(), "digest": self.content_digest()})

    def content_digest(self) -> str:
        """SHA-256 of everything but the digest."""
        content = {name: v for name, v in self._content().items() if name != "digest"}
        text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()

    def _content(self) -> dict[str, Any]:
        return {entry.name: getattr(self, entry.name) for entry in fields(self)}

    @property
    def points(self) -> Card:
        """The card itself."""
        try:
            w = self.card["coefficients"]
            if any(isinstance(points, bool) or not isinstance(points, int) for points in w):
                raise ValueError("points are whole numbers")
            scale = self.card.get("scale")
            return Card(
                np.array(w, dtype=np.int64),
                exact(self.card["intercept"]),
                None if scale is None else exact(scale),
            )
        except (KeyError, TypeError, ValueError, ZeroDivisionError, OverflowError) as error:
            raise DataError(f"the certificate holds no card ({error}): make it again") from error

    @property
    def columns(self) -> tuple[Column, ...]:
        """The design's columns."""
        try:
            return tuple(_column(entry) for entry in self.data["columns"])
        except (KeyError, TypeError, ValueError, Refused) as error:
            raise DataError(
                f"the certificate's columns are damaged ({error}): make it again"
            ) from error

    def to_text(self) -> str:
        """Return the certificate as one JSON object, one line per entry and node of the tree."""
        content = {"kind": self.kind, "version": VERSION, **self._content()}
        evidence = dict(content.pop("evidence"))
        lists = {name: evidence.pop(name) for name in ("points", "tree") if name in evidence}
        lines = [f"{_text(name)}: {_text(value)}" for name, value in content.items()]
        inner = [f"{_text(name)}: {_text(value)}" for name, value in evidence.items()]
        inner += [f"{_text(k)}: [\n{_rows(rows)}\n]" for k, rows in lists.items()]
        lines.append('"evidence": {' + ", ".join(inner) + "}")
        return "{\n" + ",\n".join(lines) + "\n}\n"

    def to_json(self, path: str | Path) -> Path:
        """Write the certificate to a file.

        Parameters
        ----------
        path : str or Path

        Returns
        -------
        Path
        """
        return write_text(path, self.to_text())

    @classmethod
    def from_json(cls, path: str | Path) -> Certificate:
        """Read a certificate from a file.

        Raises
        ------
        DataError
            If the file is not a certificate, or one of another version.
        """
        try:
            content = content_of(Path(path))
            if not _finite(content):  # "1e999" reads as infinity
                raise Refused("a number in it is too large")
        except Refused as error:
            raise DataError(
                f"{Path(path).name}: {error}; give a file written by 'milpscore fit --certificate'"
            ) from error
        typed(content["data"], _Data, "the certificate's data")
        if not isinstance(content["statement"].get("arguments"), dict):
            raise DataError("the certificate's statement is damaged: make it again")
        return cls(**{name: v for name, v in content.items() if name not in ("kind", "version")})


def _finite(value: Any) -> bool:
    """Return whether all floats in a value of JSON are finite."""
    if isinstance(value, dict | list):
        return all(map(_finite, value.values() if isinstance(value, dict) else value))
    return not isinstance(value, float) or math.isfinite(value)


def plain_columns(columns: tuple[Column, ...]) -> list[dict[str, Any]]:
    """Return columns as JSON holds them: ends of intervals as text, names left out."""
    return [
        {
            **{
                name: value
                for name, value in asdict(column).items()
                if name != "name" and (name, value) not in (("cells", None), ("points", ()))
            },
            "lower": repr(column.lower),
            "upper": repr(column.upper),
            "others": list(column.others),
        }
        for column in columns
    ]


class _Data(Struct, forbid_unknown_fields=True):
    """The layout of the entry ``data``; columns are checked when they are made."""

    columns: list[dict[str, Any]]
    blocks: list[list[int]]
    classes: tuple[bool | int | float | str, bool | int | float | str]
    rows: int
    target: str | None = None
    positive: str | None = None
    weights_column: str | None = None
    class_weight: str | dict[str, float] | None = None
    missing: Literal["error", "bin"] = "error"
    drop: tuple[str, ...] = ()
    features: list[str] | None = None
    decimal: str = "."
    encoding: str = "utf-8"
    levels: list[bool | int | float | str] | None = None
    cost: Cost = "absolute"
    sheet: str | None = None
    merged: bool = False
    pairs: bool = False
    time: str | None = None
    entry: str | None = None


class _ColumnEntry(Struct, forbid_unknown_fields=True):
    """The layout of a column as :func:`plain_columns` writes it."""

    feature: str
    kind: ColumnKind
    lower: str
    upper: str
    category: str | None
    others: tuple[str, ...]
    cells: CellRules | None = None
    points: tuple[int, ...] = ()


def _column(entry: Any) -> Column:
    """Make a column from what :func:`plain_columns` wrote."""
    column = typed(entry, _ColumnEntry, "a column")
    if bool(column.points) != (column.kind == "total"):
        raise DataError("a column is damaged: a total has points, and no other column")
    low, high = cut(entry)
    lower = -math.inf if low is None else float(low)
    upper = math.inf if high is None else float(high)
    ends = (lower, upper, column.category, column.others, column.cells, column.points)
    # named by what it reads, so that no name can belie its cut
    return renamed(Column("", column.feature, column.kind, *ends), column.feature)


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _rows(rows: Any) -> str:
    return ",\n".join(json.dumps(row, separators=(",", ":"), allow_nan=False) for row in rows)


EvidenceKind = Literal["leaves", "none"]


def certify(
    program: Program,
    result: Result,
    evidence: EvidenceKind = "leaves",
    *,
    source: Mapping[str, Any] | None = None,
    time_limit: float | None = None,
    max_bytes: int = MOST_BYTES,
    progress: bool | None = None,
) -> Certificate:
    """Certify a result: record what is claimed, and what proves it without the solver.

    Parameters
    ----------
    program : Program
        What was solved; nothing may have been added to its model.
    result : Result
        With a card.
    evidence : {"leaves", "none"}
        The leaves of a tree are grown, whichever engine found the card; errors of 0-1 cards are
        counted. Without evidence the verifier solves again.
    source : mapping, optional
        How the table was read: ``target``, ``weights_column``, ``class_weight``, ``missing``.
    time_limit : float, optional
        Seconds of CPU time for finding evidence, which can take longer than the solve; by default
        three times the solve's own limit. A busy machine takes none of them. If they do not
        suffice, the evidence is "none", and its reason says what is missing.
    max_bytes : int
        The largest file; beyond it the evidence is "none".
    progress : bool, optional
        Whether to show progress; by default in a terminal.

    Returns
    -------
    Certificate

    Raises
    ------
    NotApplicableError
        The result has no card, or the model was changed by hand.
    FormulationError
        The statement is not plain data.
    OptionError
        An unknown kind of evidence.
    """
    if evidence not in get_args(EvidenceKind):
        raise OptionError(f"evidence must be one of leaves, none, got {evidence!r}")
    card = result.card
    if card is None:
        raise NotApplicableError(f"there is no card to certify: {result.message}")
    if change := program.added_by_user():
        raise NotApplicableError(
            f"a certificate restates the program, and cannot tell that {change}: pass it as one of "
            "milpscore.constraints"
        )
    if outside := outside_gap(program.statement, card):
        raise NotApplicableError(
            "the claim speaks of cards with a threshold gap, and this card lacks it: "
            f"{outside}. Leave out threshold_gap, or bin the columns"
        )
    design = program.statement.design
    if getattr(design, "cuts", None) is not None:
        raise NotApplicableError(
            "the times were merged while they were read, and are not the table's own: a "
            "certificate takes a table that fits into memory"
        )
    bound, vouched_by = _provable(result), result.bound_source
    bare = Certificate(
        fingerprint=design.fingerprint,
        data={
            "rows": int(design.rows.sum()),
            "columns": plain_columns(design.columns),
            "blocks": [list(block) for block in design.blocks],
            "classes": [plain_label(label) for label in design.classes],
            **({} if design.counts is None else {"merged": True}),
            **design.recipe,
            **(source or {}),
        },
        statement=plain_statement(program),
        cards=plain_cards(program.statement),
        card={
            "coefficients": card.coefficients.tolist(),
            "intercept": str(card.intercept),
            **({} if card.scale is None else {"scale": str(card.scale)}),
        },
        claim=str(result.claim),
        objective=result.objective,
        loss=result.loss,
        penalty=result.penalty,
        bound=bound,
        # what an engine recomputed is its word where no leaves are held
        bound_source="solver" if bound and vouched_by == "evidence" else vouched_by,
        engine={
            "solver": result.solver,
            "version": result.solver_version,
            "random_state": result.random_state,
            "termination": str(result.termination),
            "nodes": result.nodes,
            # JSON knows no infinite limit
            "options": {n: None if v == math.inf else v for n, v in result.options.items()},
        },
        versions=_versions(),
        evidence={"kind": "none", "reason": "none was asked for"},
        caveat=program.statement.caveat,
    )
    from milpscore.solvers.engine import progress_line

    seconds = _allowed(result) if time_limit is None else time_limit
    with progress_line("certificate", progress, Clock.of(seconds)) as line, one_thread:
        limits = (seconds, max_bytes, line.phase)
        leaves, reason = _leaves(program, result, bound, evidence, bare.cards, limits)
    proof = {"kind": "none", "reason": reason} if reason else {"kind": "leaves", **leaves}
    vouched_by = bare.bound_source if reason else "evidence"
    whole = replace(bare, evidence=proof, bound_source=vouched_by).sealed()
    if reason := _why_unread(whole.to_text().encode(), max_bytes):
        whole = replace(bare, evidence={"kind": "none", "reason": reason}).sealed()
    return whole


def _why_unread(file: bytes, max_bytes: int) -> str:
    """Return why the readers of certificates would refuse a file, or nothing."""
    if len(file) > max_bytes:
        return f"the evidence would make a file of {len(file) / 1e6:.1f} MB"
    try:
        parsed(file)
    except Refused as error:
        return f"the evidence would make a file that no reader takes: {error}"
    return ""


def _provable(result: Result) -> float | None:
    """Return the bound to prove: the solver's, less what its line may round off."""
    if not math.isfinite(result.dual_bound) or result.dual_bound <= 0:
        return None
    size = abs(result.objective)
    # if it meets the objective, less four tenths of what a claim of optimality allows
    bound = min(result.dual_bound, result.objective - 0.4 * CLAIM_TOLERANCE * size)
    bound -= 2.0 * POLICY.margin * size
    if result.claim is Claim.OPTIMAL:  # at the brink of what it allows, its last digits count
        bound = max(
            bound, min(result.dual_bound, result.objective - 0.9999 * CLAIM_TOLERANCE * size)
        )
    return bound if bound > 0 else None


def _allowed(result: Result) -> float:
    """Return the seconds for evidence by default."""
    limit = float(result.options.get("time_limit", PROOF_SECONDS))
    return min(POLICY.solve_factor * limit, PROOF_SECONDS)


def _leaves(
    program: Program,
    result: Result,
    bound: float | None,
    kind: str,
    cards: Mapping[str, Any],
    limits: tuple[float, int, Callable[[str], None]],
) -> tuple[dict[str, Any], str]:
    """Grow the leaves asked for; return them, or why there are none."""
    if bound is None:
        return {}, "there is no bound to prove"
    if kind == "none":
        return {}, "none was asked for"
    statement = program.statement
    loss, other = statement.loss, cards["other"]
    known = isinstance(loss, Hinge | ZeroOne) or (
        isinstance(loss, RiskLoss) and loss.name in (*SMOOTH, "survival")
    )
    if result.kind != "exact" or not known or other:
        why = f" with {other[0]}" if other else "" if known else f" with loss {loss.name}"
        return {}, f"{result.solver} keeps none for {program.formulation}{why}"
    try:
        return grow_tree(statement, bound, *limits, objective=result.objective), ""
    except NotApplicableError as error:
        return {}, str(error)


def _versions() -> dict[str, str]:
    """Return the versions of what computed the card."""
    return {
        "milpscore": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "highspy": version("highspy"),
    }
