"""What conflicts where no card meets every constraint: a smallest set of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from milpscore.core.design import IntArray
from milpscore.core.program import Program
from milpscore.core.result import Termination
from milpscore.core.statement import RULES
from milpscore.solvers.engine import Progress
from milpscore.solvers.options import Options
from milpscore.solvers.policy import POLICY
from milpscore.solvers.running import (
    configure,
    is_feasible,
    run_here,
    set_option,
    termination_of,
)
from milpscore.solvers.session import Session


@dataclass(frozen=True)
class Conflict:
    """Constraints of which no card meets all.

    Attributes
    ----------
    names : tuple of str
        Empty where the program has no card even without any of them.
    smallest : bool
        No conflict among the constraints has fewer members; else only each member is known to
        matter, or not even that where the time ran out.
    irreducible : bool
        Without any one of these the others can be met.
    """

    names: tuple[str, ...]
    smallest: bool
    irreducible: bool

    @property
    def sentence(self) -> str:
        """What conflicts, and what to do next."""
        if not self.names:
            return (
                "no card meets the ranges and max_terms of the program, even without its "
                "constraints: widen these"
            )
        listed = ", ".join(f"'{name}'" for name in self.names)
        if len(self.names) == 1:
            return f"no card meets {listed} within the ranges and max_terms: loosen one of them"
        how = "a smallest conflicting subset"
        if not self.smallest:
            how = "none of them superfluous, though a smaller conflict may exist"
            how = how if self.irreducible else "perhaps not all of them needed: time ran out"
        return f"no card meets {listed} together ({how}): loosen one of them"


def conflict(program: Program, *, time_limit: float = 10.0) -> Conflict | None:
    """A smallest set of constraints that no card meets together.

    A deletion filter finds a set without superfluous members; then all smaller sets are tried,
    but those that some point found so far meets. Components of rows that were added to the model
    count as constraints, too. Only these, ranges and terms decide, not the objective.

    Parameters
    ----------
    program : Program
        Integrality is demanded, also of a relaxed one.
    time_limit : float
        Seconds; what is not decided by then is said in the answer.

    Returns
    -------
    Conflict or None
        None where all constraints can be met together, or that could not be decided in time.

    Raises
    ------
    OptionError
        For a time limit that is not a number >= 0.
    """
    search = ConflictSearch(program, Options(time_limit=time_limit))
    everything = frozenset(range(len(search.names)))
    if search.possible(everything) is not False:
        return None
    if search.possible(frozenset()) is False:
        return Conflict((), smallest=True, irreducible=True)
    found, irreducible = search.irreducible(everything)
    smaller, smallest = search.smaller(everything, len(found))
    chosen = found if smaller is None else smaller
    names = tuple(search.names[k] for k in sorted(chosen))
    return Conflict(names, smallest, irreducible or smallest)


class ConflictSearch:
    """One HiGHS without an objective, in which the rows of constraints come and go."""

    def __init__(self, program: Program, options: Options) -> None:
        self.progress = Progress(options.time_limit)
        exact = program if program.kind == "exact" else program.exact()
        self.session = Session(exact)
        own = exact.own_rows()
        self.names = [each.name for each in (*exact.statement.constraints, *own)]
        self.rows = self._rows_of([each.key for each in exact.statement.constraints], own)
        self.met: list[frozenset[int]] = []
        self.highs = self.session.copy(relaxed=False)
        configure(self.highs, options, 0.0)
        count = len(self.session.columns)
        self.highs.changeColsCost(count, np.arange(count, dtype=np.int32), np.zeros(count))

    def _rows_of(self, keys: list[str], own: list[Any]) -> list[IntArray]:
        """The compiled rows of each constraint, and of each component of a user's."""
        block = self.session.program.model.component(RULES)
        place = {id(block.component(key)): k for k, key in enumerate(keys)} if keys else {}
        place |= {id(part): len(keys) + k for k, part in enumerate(own)}
        owner = np.array(
            [place.get(id(row.constraint.parent_component()), -1) for row in self.session.rows],
            dtype=np.int64,
        )
        return [np.flatnonzero(owner == k) for k in range(len(place))]

    def possible(self, kept: Iterable[int]) -> bool | None:
        """Whether some card meets these constraints; None where the time did not suffice."""
        chosen = frozenset(kept)
        if any(chosen <= met for met in self.met):
            return True
        if self.progress.remaining <= 0:
            return None
        self._keep(chosen)
        self.highs.clearSolver()
        set_option(self.highs, "time_limit", self.progress.remaining)
        run_here(self.highs)
        if termination_of(self.highs) is Termination.INFEASIBLE:
            return False
        answer = self.highs.getSolution()
        if not is_feasible(self.highs.getInfo()) or not answer.value_valid:
            return None
        self.met.append(chosen | self._met_at(np.asarray(answer.col_value, dtype=np.float64)))
        return True

    def _keep(self, chosen: frozenset[int]) -> None:
        """Bound the rows of these constraints, and free those of the others."""
        session = self.session
        for k, rows in enumerate(self.rows):
            for i in rows.tolist():
                low, high = session.row_lower[i], session.row_upper[i]
                ends = (low, high) if k in chosen else (-np.inf, np.inf)
                self.highs.changeRowBounds(i, *map(float, ends))

    def _met_at(self, values: np.ndarray) -> frozenset[int]:
        """The constraints a point meets."""
        session = self.session
        activity = session.matrix @ values
        over = np.maximum(session.row_lower - activity, activity - session.row_upper)
        return frozenset(
            k for k, rows in enumerate(self.rows) if np.all(over[rows] <= POLICY.met_tolerance)
        )

    def irreducible(self, everything: frozenset[int]) -> tuple[frozenset[int], bool]:
        """A conflict every member of which matters, and whether that was decided for each."""
        found, decided = everything, True
        for k in sorted(everything):
            answer = self.possible(found - {k})
            if answer is False:
                found -= {k}
            decided &= answer is not None
        return found, decided

    def smaller(self, everything: frozenset[int], size: int) -> tuple[frozenset[int] | None, bool]:
        """A smallest conflict of fewer members, and whether all that are smaller were decided."""
        for fewer in range(1, size):
            decided = True
            for members in itertools.combinations(sorted(everything), fewer):
                if self.progress.remaining <= 0:
                    return None, False
                answer = self.possible(members)
                if answer is False:
                    return frozenset(members), decided
                decided &= answer is not None
            if not decided:
                return None, False
        return None, True
