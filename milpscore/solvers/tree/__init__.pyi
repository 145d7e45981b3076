from ._all_cards import AllAnswer as AllAnswer, Found as Found, search_all as search_all
from ._problem import (
    Point as Point,
    Step as Step,
    TreeAnswer as TreeAnswer,
    TreeProblem as TreeProblem,
)
from ._search import search as search
from ._zero_one_all_cards import search_all_zero_one as search_all_zero_one
from ._zero_one_problem import ZeroOneAnswer as ZeroOneAnswer, ZeroOneProblem as ZeroOneProblem
from ._zero_one_search import search_zero_one as search_zero_one
