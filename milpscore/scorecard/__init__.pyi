from ._card import Scorecard as Scorecard
from .certified import certified_card as certified_card
from .risks import RiskScale as RiskScale, calibration_table as calibration_table
