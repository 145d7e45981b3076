"""A certificate's program solved again, beside its relaxation and rounded cards."""

from __future__ import annotations

from typing import Any

from milpscore.certificate import Certificate
from milpscore.comparison import Comparison, compare
from milpscore.constraints import make_constraint
from milpscore.report.subject import card_of, design_of
from milpscore.solvers.options import Options


def compared_again(
    proof: Certificate,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    class_weight: Any = None,
    time_limit: float = Options.time_limit,
    random_state: int = 0,
    progress: bool | None = None,
) -> Comparison:
    """What :func:`milpscore.compare` answers for the program a certificate states."""
    name = str(proof.statement["formulation"])
    arguments = dict(proof.statement["arguments"])
    if "constraints" in arguments:
        arguments["constraints"] = [make_constraint(each) for each in arguments["constraints"]]
    card = card_of(proof)
    design = design_of(card, range(len(card.columns)), X, y, sample_weight, class_weight)
    return compare(
        design,
        formulations=[name],
        arguments={name: arguments},
        time_limit=time_limit,
        cv=None,
        random_state=random_state,
        progress=progress,
    )
