from ._card import Scorecard as Scorecard
from ._diarem import (
    DIAREM_GROUPS as DIAREM_GROUPS,
    RemissionGroup as RemissionGroup,
    diarem as diarem,
)
from .certified import certified_card as certified_card
from .risks import RiskScale as RiskScale, calibration_table as calibration_table
