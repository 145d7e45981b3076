from ._base import Constraint as Constraint
from ._base import bind as bind
from ._counts import (
    AtLeast as AtLeast,
)
from ._counts import (
    AtMost as AtMost,
)
from ._counts import (
    Exactly as Exactly,
)
from ._counts import (
    Include as Include,
)
from ._counts import (
    MaxFeatures as MaxFeatures,
)
from ._errors import MaxErrors as MaxErrors
from ._errors import MaxFPR as MaxFPR
from ._errors import MinTPR as MinTPR
from ._file import make_constraint as make_constraint
from ._file import read_constraints as read_constraints
from ._logic import EitherOr as EitherOr
from ._logic import Implies as Implies
from ._points import Exclude as Exclude
from ._points import Monotone as Monotone
from ._points import Range as Range
from ._points import Sign as Sign
from ._registry import CONSTRAINTS as CONSTRAINTS
from ._registry import constraint_class as constraint_class
from ._total import TotalRange as TotalRange
