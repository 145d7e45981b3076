"""Which supports the constraints of a statement leave to the search for risk scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from milpscore.core.statement import Statement

Support = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class SupportRules:
    """What constraints say of supports before any points are known.

    Attributes
    ----------
    statement : Statement
    limit : int
        Most terms.
    """

    statement: Statement
    limit: int

    def demanded(self) -> Support:
        """Columns without which no card meets the constraints."""
        rules, p = self.statement.constraints, self.statement.design.shape[1]
        return tuple(j for j in range(p) if not all(c.allows_support((), (j,)) for c in rules))

    def grows(self, key: Support) -> bool:
        """Whether a support, or one that it grows into, may hold an allowed card."""
        rules = self.statement.constraints
        if not rules:
            return True
        rest = self._rest(key) if len(key) >= self.limit else ()
        return all(c.allows_support(key, rest) for c in rules)

    def holds(self, key: Support) -> bool:
        """Whether points on these columns alone, some of them 0 perhaps, may be allowed."""
        rules = self.statement.constraints
        if not rules:
            return True
        rest = self._rest(key)
        return all(c.allows_support((), rest) for c in rules)

    def _rest(self, key: Support) -> Support:
        """The columns outside."""
        outside = np.ones(self.statement.design.shape[1], dtype=bool)
        outside[list(key)] = False
        return tuple(np.flatnonzero(outside).tolist())
