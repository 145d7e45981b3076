"""What a solve answers: why it stopped, what it found, and what has been proved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from html import escape
from typing import Any, Literal

import numpy as np

from milpscore.core.card import Card, DecisionRule
from milpscore.core.design import FloatArray, as_fraction
from milpscore.core.program import summary_box

ResultKind = Literal["exact", "relaxed", "rounded"]

CLAIM_TOLERANCE = 1e-6
"""A verified card within this relative distance of its bound is called optimal."""


class _Explained(StrEnum):
    """An enum whose members equal their text and carry a sentence."""

    def __new__(cls, value: str, sentence: str) -> Any:
        member = str.__new__(cls, value)
        member._value_ = value
        member.__doc__ = sentence
        return member

    @property
    def sentence(self) -> str:
        """What the member means."""
        return self.__doc__ or ""


class Termination(_Explained):
    """Why a solve, a fit or a search stopped: the one list for every engine."""

    COMPLETED = "completed", "The solver ran to its own end: nothing is left to search."
    GAP_REACHED = "gap_reached", "The gap asked for was reached; what is better lies within it."
    CONVERGED = "converged", "0 lies within the tolerance of the subdifferential: an optimum."
    TIME_LIMIT = "time_limit", "The time limit was reached."
    NODE_LIMIT = "node_limit", "The node limit was reached."
    ITERATION_LIMIT = "iteration_limit", "The iteration limit was reached."
    WORK_LIMIT = "work_limit", "A limit cut the search short: no solver ran."
    CUTOFF = "cutoff", "The bound reached the cutoff: no card is better than that."
    CARD_LIMIT = "card_limit", "As many cards as asked for were found."
    STALLED = "stalled", "No step lowers the objective any more in floating point."
    FLAT = "flat", "The last iterations hardly lowered the objective."
    STOPPED = "stopped", "The callback asked to stop: this is the best until then."
    HEURISTIC = "heuristic", "Only a heuristic was asked for: no solver ran, nothing is proved."
    INTERRUPTED = "interrupted", "The solve was interrupted."
    INFEASIBLE = "infeasible", "The solver found that no point meets every constraint."
    UNBOUNDED = "unbounded", "The solver found no finite optimum; a bound is missing."
    INACCURATE = (
        "inaccurate",
        "The solver stopped short of its tolerances: a point, not an optimum.",
    )
    ERROR = "error", "The solver stopped with an error."

    @property
    def cut(self) -> str:
        """The sentence as part of a message, if a limit cut the search short; else empty."""
        asked = (Termination.CUTOFF, Termination.STOPPED, Termination.INTERRUPTED)
        return "" if self in asked else self.stop

    @property
    def stop(self) -> str:
        """The same if anything stopped the search: a limit, a cutoff, a callback, the user."""
        stops = (
            Termination.TIME_LIMIT, Termination.NODE_LIMIT, Termination.ITERATION_LIMIT,
            Termination.CUTOFF, Termination.STOPPED, Termination.INTERRUPTED,
        )  # fmt: skip
        sentence = self.sentence
        return f"{sentence[0].lower()}{sentence.rstrip('.')[1:]}" if self in stops else ""


class Claim(_Explained):
    """What milpscore itself vouches for, after its own re-check.

    Of a relaxation it speaks of the LP: solved, and its bound recomputed.
    """

    OPTIMAL = (
        "optimal",
        "Verified, and nothing the program allows is better by more than a millionth of it.",
    )
    GAP = "gap", "A verified card and a bound that says how far it can be from the best."
    FEASIBLE = "feasible", "A verified card; nothing is known about how good the best one is."
    NONE = "none", "No card."


@dataclass(frozen=True)
class TracePoint:
    """One moment of a solve: seconds since its start, best objective, bound, nodes, open ones."""

    seconds: float
    objective: float
    dual_bound: float
    nodes: int
    open_nodes: int = 0
    depth: int = 0  # splits above the node at work, or columns of its support


@dataclass(frozen=True)
class SecondOpinion:
    """What another solver says of the same program."""

    solver: str
    termination: Termination
    objective: float  # recomputed as the result's own; NaN without a solution
    dual_bound: float  # -inf without one
    relative_difference: float  # |objective - the result's| / max(|the result's|, 1e-10)


def relative_gap(objective: float, bound: float) -> float:
    """(objective - bound) / max(|objective|, 1e-10), 0 where both are 0."""
    if objective == 0 and bound == 0:
        return 0.0
    return (objective - bound) / max(abs(objective), 1e-10)


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """The answer to a solve; every number in it was recomputed from the raw data where it can be.

    Attributes
    ----------
    formulation, kind : str
        The builder's name, and ``exact``, ``relaxed`` or ``rounded`` (a card rounded from a
        relaxation, whose bound it carries).
    claim : Claim
        What is vouched for.
    termination : Termination
    verified : bool
        Coefficients rounded, loss, objective and every constraint recomputed from the raw data.
    objective, loss, penalty : float
        NaN without a card.
    dual_bound : float
        No card (of the kind stated in ``caveat``) has a smaller objective; -inf if none is proved.
    bound_source : str
        "solver" (one solver's word, the tree's too where limits on errors stand), "second" (two
        engines or seeds agree), "evidence" (recomputed at every leaf, or from duals), "trivial" (no
        objective is below 0: the solver's own bound is in doubt, and ``message`` says why), or
        "outside (...)".
    card : Card or None
        The integer card (exact and rounded results).
    coefficients : ndarray of shape (p,)
        Real for relaxed programs; empty without a solution.
    intercept : float
    terms : int
        Raw features that matter (:meth:`Design.count_terms`).
    residuals : mapping
        Of a conic solve, recomputed from its standard form: ``primal`` and ``dual`` (relative),
        ``primal_objective`` and ``dual_objective`` of the solver's own point, before polishing.
    second_opinion : SecondOpinion or None
        Where one was asked for.
    refused : str
        What the re-check refused of the solver's own claims: its card, its bound, or that there is
        no card; empty where nothing was. Part of ``message``.
    """

    formulation: str
    kind: ResultKind
    claim: Claim
    termination: Termination
    verified: bool
    objective: float = float("nan")
    loss: float = float("nan")
    penalty: float = float("nan")
    dual_bound: float = float("-inf")
    bound_source: str = "solver"
    card: Card | None = None
    coefficients: FloatArray = field(default_factory=lambda: np.empty(0))
    intercept: float = float("nan")
    terms: int = 0
    nodes: int = 0
    build_seconds: float = 0.0
    load_seconds: float = 0.0
    solve_seconds: float = 0.0
    solver: str = ""
    solver_version: str = ""
    random_state: int = 0
    warm_start: str = "none"
    origin: str = "solver"
    message: str = ""
    caveat: str = ""
    trace: tuple[TracePoint, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    residuals: Mapping[str, float] = field(default_factory=dict)
    second_opinion: SecondOpinion | None = None
    refused: str = ""

    def __post_init__(self) -> None:
        """Take what the trace says of the bound back to what is still said of it."""
        if self.claim is not Claim.NONE:
            kept = [replace(p, dual_bound=min(p.dual_bound, self.dual_bound)) for p in self.trace]
            object.__setattr__(self, "trace", tuple(kept))

    def __repr__(self) -> str:
        """Return the claim and its figures; the trace and the coefficients stay out."""
        return (
            f"<Result {self.formulation}, {self.kind}: {self.claim}, objective "
            f"{self.objective:.6g}, bound {self.dual_bound:.6g}, terms {self.terms}>"
        )

    def _repr_html_(self) -> str:
        """Return the figures as a small table, the claim in words below."""
        figures = {
            "claim": str(self.claim),
            "objective": f"{self.objective:.6g} = loss {self.loss:.6g} + penalty "
            f"{self.penalty:.6g}",
            "bound": f"{self.dual_bound:.6g} ({self.bound_source})",
            "gap": f"{self.gap:.2%}",
            "terms": f"{self.terms}",
            "solver": f"{self.solver} {self.solver_version}".strip(),
            "stopped": f"{self.termination}, {self.solve_seconds:.2f} s, {self.nodes:,} nodes",
        }
        words = (self.claim.sentence, self.termination.sentence, self.message, self.caveat)
        said = [f"<p>{escape(sentence)}</p>" for sentence in words if sentence]
        return summary_box(f"{self.formulation}, {self.kind}", figures, said)

    @property
    def gap(self) -> float:
        """(objective - bound) / max(|objective|, 1e-10); infinite without a card or a bound."""
        if not np.isfinite(self.objective) or not np.isfinite(self.dual_bound):
            return float("inf")
        return relative_gap(self.objective, self.dual_bound)

    def with_remark(self, text: str) -> Result:
        """Return the result with a further sentence in its message."""
        return replace(self, message="; ".join(filter(None, [self.message, text])))

    def with_opinion(self, second: Result) -> Result:
        """Return the result with what another solver's answer to the same program says."""
        both = self.verified and second.verified
        scale = max(abs(self.objective), 1e-10)
        difference = abs(second.objective - self.objective) / scale if both else float("inf")
        opinion = SecondOpinion(
            second.solver, second.termination, second.objective, second.dual_bound, difference
        )
        return replace(self, second_opinion=opinion)

    def rule(self, step: Fraction | None) -> DecisionRule:
        """How the answer decides: a card by its threshold, real coefficients by w.x + b >= 0.

        ``step`` is that of the data's grid (``Design.step``), read for a card only.
        """
        if self.card is not None:
            return DecisionRule(self.card.threshold, step)
        return DecisionRule(as_fraction(-self.intercept), None)

    def summary(self) -> dict[str, Any]:
        """Return the certificate as a flat mapping with the names used in JSON and tables."""
        return {
            "formulation": self.formulation,
            "kind": self.kind,
            "claim": str(self.claim),
            "verified": self.verified,
            "objective": self.objective,
            "loss": self.loss,
            "penalty": self.penalty,
            "bound": self.dual_bound,
            "bound_source": self.bound_source,
            "gap": self.gap,
            "terms": self.terms,
            "termination": str(self.termination),
            "warm_start": self.warm_start,
            "origin": self.origin,
            "nodes": self.nodes,
            "seconds": self.build_seconds + self.load_seconds + self.solve_seconds,
            "solver": f"{self.solver} {self.solver_version}".strip(),
            "random_state": self.random_state,
            "message": self.message,
            "caveat": self.caveat,
        }


def claim_of(verified: bool, objective: float, bound: float, trivial: float) -> Claim:
    """Return the claim the conventions allow for a card's objective and a proven bound.

    ``trivial`` holds without any proof (0 for non-negative losses and penalties).
    """
    if not verified:
        return Claim.NONE
    if objective - bound <= CLAIM_TOLERANCE * abs(objective) < np.inf:
        return Claim.OPTIMAL
    return Claim.GAP if bound > trivial else Claim.FEASIBLE
