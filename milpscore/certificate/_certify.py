"""From a solved program to its certificate."""

from __future__ import annotations

import math
import platform
from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import version
from typing import Any, Literal

import numpy as np

from milpscore._version import __version__
from milpscore.certificate import PROOF_SECONDS
from milpscore.certificate._certificate import (
    MAX_BYTES,
    Certificate,
    plain_columns,
    plain_label,
)
from milpscore.certificate.leaves import MARGIN, grow_tree
from milpscore.certificate.tangents import points_of_tangents
from milpscore.core.errors import NotApplicableError, OptionError
from milpscore.core.program import Program
from milpscore.core.result import CLAIM_TOLERANCE, Result
from milpscore.formulations.restating import plain_statement
from milpscore.losses import RiskLoss

EvidenceKind = Literal["auto", "leaves", "tangents", "none"]

_KINDS = ("auto", "leaves", "tangents", "none")


def certify(
    program: Program,
    result: Result,
    evidence: EvidenceKind = "auto",
    *,
    source: Mapping[str, Any] | None = None,
    time_limit: float = PROOF_SECONDS,
    max_bytes: int = MAX_BYTES,
) -> Certificate:
    """The certificate of a result: what is claimed, and what proves it without the solver.

    Parameters
    ----------
    program : Program
        What was solved; nothing may have been added to its model.
    result : Result
        With a card.
    evidence : {"auto", "leaves", "tangents", "none"}
        Of risk scores: the leaves of a tree, or the points of the tangents in the model. "auto"
        takes tangents after outer approximation and leaves otherwise. Other formulations have
        none, and the verifier solves them again.
    source : mapping, optional
        How the table was read: ``target``, ``weights_column``, ``class_weight``, ``missing``.
    time_limit : float
        Seconds for the leaves; beyond them the evidence is "none".
    max_bytes : int
        The largest file; beyond it the evidence is "none".

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
    if evidence not in _KINDS:
        raise OptionError(f"evidence must be one of {', '.join(_KINDS)}, got {evidence!r}")
    card = result.card
    if card is None:
        raise NotApplicableError(f"there is no card to certify: {result.message}")
    change = program.added_by_user()
    if change:
        raise NotApplicableError(
            f"a certificate restates the program, and cannot tell that {change}: pass it as one of "
            "milpscore.constraints"
        )
    design = program.statement.design
    bound = _provable(result)
    made = Certificate(
        fingerprint=design.fingerprint,
        data={
            "rows": design.shape[0],
            "columns": plain_columns(design.columns),
            "blocks": [list(block) for block in design.blocks],
            "classes": [plain_label(label) for label in design.classes],
            **(source or {}),
        },
        statement=plain_statement(program),
        card={"coefficients": card.coefficients.tolist(), "intercept": str(card.intercept)},
        claim=str(result.claim),
        objective=result.objective,
        loss=result.loss,
        penalty=result.penalty,
        bound=bound,
        bound_source=result.bound_source,
        engine={
            "solver": result.solver,
            "version": result.solver_version,
            "random_state": result.random_state,
            "termination": str(result.termination),
            "nodes": result.nodes,
            "options": dict(result.options),
        },
        versions=_versions(),
        evidence={"kind": "none", "reason": "none was asked for"},
        caveat=result.caveat,
    )
    found = _evidence(program, result, bound, evidence, time_limit, max_bytes)
    whole = replace(made, evidence=found).sealed()
    size = len(whole.to_text().encode())
    if size > max_bytes:
        reason = f"the evidence would make a file of {size / 1e6:.1f} MB"
        whole = replace(made, evidence={"kind": "none", "reason": reason}).sealed()
    return whole


def _provable(result: Result) -> float | None:
    """The bound the evidence is to prove: the solver's, less what its line may round off.

    Where it meets the objective, less four tenths of what a claim of optimality allows.
    """
    if not math.isfinite(result.dual_bound) or result.dual_bound <= 0:
        return None
    size = max(1.0, abs(result.objective))
    bound = min(result.dual_bound, result.objective - 0.4 * CLAIM_TOLERANCE * size)
    bound -= 2.0 * MARGIN * size
    return bound if bound > 0 else None


def _evidence(
    program: Program,
    result: Result,
    bound: float | None,
    kind: str,
    time_limit: float,
    max_bytes: int,
) -> dict[str, Any]:
    """The evidence asked for, or why there is none."""
    if bound is None:
        return {"kind": "none", "reason": "there is no bound to prove"}
    if kind == "none":
        return {"kind": "none", "reason": "none was asked for"}
    statement = program.statement
    if result.kind != "exact" or not isinstance(statement.loss, RiskLoss):
        return {"kind": "none", "reason": f"{result.solver} keeps none for {program.formulation}"}
    tangents = kind == "tangents" or (kind == "auto" and result.solver == "outer_approximation")
    try:
        if tangents:
            return {"kind": "tangents", "points": points_of_tangents(program)}
        return {"kind": "leaves", "nodes": grow_tree(statement, bound, time_limit, max_bytes)}
    except NotApplicableError as error:
        return {"kind": "none", "reason": str(error)}


def _versions() -> dict[str, str]:
    """What computed the card."""
    return {
        "milpscore": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "highspy": version("highspy"),
    }
