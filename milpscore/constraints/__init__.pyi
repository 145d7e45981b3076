from ._base import Constraint as Constraint, apply_constraints as apply_constraints
from ._counts import (
    AtLeast as AtLeast,
    AtMost as AtMost,
    Exactly as Exactly,
    Include as Include,
    MaxFeatures as MaxFeatures,
)
from ._errors import MaxErrors as MaxErrors, MaxFPR as MaxFPR, MinTPR as MinTPR
from ._file import make_constraint as make_constraint, read_constraints as read_constraints
from ._logic import EitherOr as EitherOr, Implies as Implies
from ._points import Exclude as Exclude, Monotone as Monotone, Range as Range, Sign as Sign
from ._registry import CONSTRAINTS as CONSTRAINTS
from ._total import TotalRange as TotalRange
