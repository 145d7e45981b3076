"""The errors milpscore raises: one small tree, every member also a built-in exception."""

from __future__ import annotations


class MilpscoreError(Exception):
    """Base of every error raised on purpose by milpscore."""


class DataError(MilpscoreError, ValueError):
    """The data cannot be used as given; the message says which column or row, and what to do."""


class FormulationError(MilpscoreError, ValueError):
    """A formulation cannot be stated with these arguments."""


class SizeError(FormulationError):
    """The program would be too large to build; the message carries the estimate."""


class OptionError(MilpscoreError, ValueError):
    """An option has an unknown name or a value outside its range."""


class SolverError(MilpscoreError, RuntimeError):
    """A solver failed, or returned something that cannot be interpreted."""


class SelfTestError(SolverError):
    """The installed solver gives wrong answers on a problem with a known optimum."""


class NotApplicableError(MilpscoreError, RuntimeError):
    """The operation has no meaning for this object (say, a card read from an unsolved program)."""


class MissingDependencyError(MilpscoreError, ImportError):
    """An optional package is absent; the message names the extra to install."""
