from ._all_cards import AllAnswer as AllAnswer
from ._all_cards import Found as Found
from ._all_cards import search_all as search_all
from ._problem import (
    Point as Point,
)
from ._problem import (
    Step as Step,
)
from ._problem import (
    TreeAnswer as TreeAnswer,
)
from ._problem import (
    TreeProblem as TreeProblem,
)
from ._search import search as search
from ._zero_one_all_cards import search_all_zero_one as search_all_zero_one
from ._zero_one_problem import ZeroOneAnswer as ZeroOneAnswer
from ._zero_one_problem import ZeroOneProblem as ZeroOneProblem
from ._zero_one_search import search_zero_one as search_zero_one
