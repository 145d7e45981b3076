"""An allowance of work: what bounds a fast search in place of a clock."""

from __future__ import annotations

import math

from milpscore.core.errors import OptionError, is_number
from milpscore.search.policy import POLICY


class Work(float):
    """Seconds' worth of work, counted in steps: a number everywhere, an allowance where asked.

    It takes the place of a `Clock` where an answer must not depend on how busy the machine is. A
    search takes its full width while there is `plenty`, then the least, and ends once it `is_up`.

    Attributes
    ----------
    cut : str
        What the allowance, or another limit, kept the search from; empty if nothing.

    Examples
    --------
    >>> work = Work.of(2)
    >>> work.spend(1.5e9)
    >>> work == 2, work.plenty, work.is_up, Work.of(work) is work
    (True, False, False, True)
    """

    spent: float
    cut: str

    def __new__(cls, seconds: float = math.inf) -> Work:
        """Return an allowance nothing of which is spent."""
        self = super().__new__(cls, seconds)
        self.spent, self.cut = 0.0, ""
        return self

    @classmethod
    def of(cls, seconds: float) -> Work:
        """The allowance itself, or one of this number of seconds, a clock's whole limit included.

        OptionError if it is not a number >= 0.
        """
        if isinstance(seconds, Work):
            return seconds
        if not is_number(seconds) or seconds < 0:
            raise OptionError(
                f"{{time_limit}} must be a number of seconds >= 0, got {seconds!r}", time_limit=...
            )
        return cls(seconds)

    def spend(self, steps: float) -> None:
        """Count steps taken, or about to be taken."""
        self.spent += steps

    @property
    def steps(self) -> float:
        """Steps allowed in all, infinite without a limit."""
        return self * POLICY.steps_per_second

    @property
    def left(self) -> float:
        """Steps left, infinite without a limit."""
        return max(self.steps - self.spent, 0.0)

    @property
    def plenty(self) -> bool:
        """Whether the search may take its full width."""
        return self.spent < POLICY.full_width * self.steps

    @property
    def is_up(self) -> bool:
        """Whether nothing is left."""
        return self.spent >= self.steps
