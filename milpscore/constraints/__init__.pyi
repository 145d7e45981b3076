from ._registry import (
    CONSTRAINTS as CONSTRAINTS,
    make_constraint as make_constraint,
    read_constraints as read_constraints,
)
from .limits import MaxErrors as MaxErrors, MaxFPR as MaxFPR, MaxGap as MaxGap, MinTPR as MinTPR
from .parts import Constraint as Constraint, apply_constraints as apply_constraints
from .rules import (
    AtLeast as AtLeast,
    AtMost as AtMost,
    Budget as Budget,
    EitherOr as EitherOr,
    Exactly as Exactly,
    Exclude as Exclude,
    Implies as Implies,
    Include as Include,
    MaxFeatures as MaxFeatures,
    MaxPoints as MaxPoints,
    Monotone as Monotone,
    Range as Range,
    Sign as Sign,
    Span as Span,
    TotalRange as TotalRange,
)
