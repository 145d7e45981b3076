"""The clock of one call: started at its first line, handed down in place of ``time_limit``."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import ClassVar

from milpscore.core.errors import OptionError, is_number
from milpscore.core.jit import making


class Clock(float):
    """Seconds a call may take, and since when: a number everywhere, a deadline where it is asked.

    The first line of a call makes it (`Clock.of`); every phase gets it, or a part of it, as its
    ``time_limit``. Seconds in which kernels are made or loaded stand outside.

    Examples
    --------
    >>> clock = Clock.of(30)
    >>> clock == 30, clock.left <= 30, Clock.of(clock) is clock
    (True, True, True)
    """

    _started: float
    now: ClassVar[Callable[[], float]] = staticmethod(time.perf_counter)
    """The source of time; tests put a clock of their own here."""

    def __new__(cls, limit: float = math.inf) -> Clock:
        """Return a clock that starts now."""
        self = super().__new__(cls, limit)
        self._started = cls._time()
        return self

    @classmethod
    def of(cls, time_limit: float) -> Clock:
        """Return the clock itself if it runs already, else one that ends in this number of seconds.

        OptionError for what is not a number of seconds >= 0.
        """
        if isinstance(time_limit, Clock):
            return time_limit
        if not is_number(time_limit) or time_limit < 0:
            raise OptionError(
                f"{{time_limit}} must be a number of seconds >= 0, got {time_limit!r}",
                time_limit=...,
            )
        return cls(time_limit)

    @classmethod
    def _time(cls) -> float:
        return cls.now() - making.seconds

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return self._time() - self._started

    @property
    def left(self) -> float:
        """Seconds left, 0 where none are."""
        return max(float(self) - self.seconds, 0.0)

    @property
    def is_up(self) -> bool:
        """Whether no time is left."""
        return self.seconds >= self

    def part(self, share: float) -> Clock:
        """A clock that starts now, for at most this share of the whole and what is left of it."""
        return type(self)(min(share * self, self.left) if math.isfinite(self) else math.inf)

    def __reduce__(self) -> tuple[type[float], tuple[float]]:
        """A copy, or what another process gets, is the number alone."""
        return float, (float(self),)


class WorkClock(Clock):
    """A clock of CPU seconds of this process: what else the machine does takes none of them."""

    now: ClassVar[Callable[[], float]] = staticmethod(time.process_time)

    @classmethod
    def of(cls, time_limit: float) -> Clock:
        """Return a clock of CPU seconds; one of wall seconds gives what it has left."""
        if isinstance(time_limit, Clock) and not isinstance(time_limit, cls):
            return cls(time_limit.left)
        return super().of(time_limit)
