from ._base import Constraint as Constraint, apply_constraints as apply_constraints
from ._cards import (
    AtLeast as AtLeast,
    AtMost as AtMost,
    EitherOr as EitherOr,
    Exactly as Exactly,
    Exclude as Exclude,
    Implies as Implies,
    Include as Include,
    MaxFeatures as MaxFeatures,
    Monotone as Monotone,
    Range as Range,
    Sign as Sign,
    TotalRange as TotalRange,
)
from ._registry import (
    CONSTRAINTS as CONSTRAINTS,
    make_constraint as make_constraint,
    read_constraints as read_constraints,
)
from .errors import MaxErrors as MaxErrors, MaxFPR as MaxFPR, MinTPR as MinTPR
