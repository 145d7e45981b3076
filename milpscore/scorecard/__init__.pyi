from ._calibration import calibration_table as calibration_table
from ._card import Scorecard as Scorecard
from ._certified import certified_card as certified_card
from ._diarem import (
    DIAREM_GROUPS as DIAREM_GROUPS,
    RemissionGroup as RemissionGroup,
    diarem as diarem,
)
from ._risk import RiskScale as RiskScale
