from ._card import Scorecard as Scorecard
from ._embedding import embed as embed
from ._export import read_words as read_words
from .certified import certified_card as certified_card
from .counterfactuals import (
    Counterfactual as Counterfactual,
    Counterfactuals as Counterfactuals,
    counterfactual as counterfactual,
)
from .ordinal import OrdinalCard as OrdinalCard, ordinal_card as ordinal_card
from .powers import Voter as Voter, VotingGame as VotingGame
from .published import PUBLISHED as PUBLISHED, published_card as published_card
from .questions import (
    Question as Question,
    QuestionOrder as QuestionOrder,
    question_order as question_order,
)
from .risks import RiskScale as RiskScale, calibration_table as calibration_table
from .streaming import predict_file as predict_file
from .survival import (
    SurvivalCard as SurvivalCard,
    kaplan_meier as kaplan_meier,
    survival_card as survival_card,
)
