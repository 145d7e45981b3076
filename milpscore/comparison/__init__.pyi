from ._compare import compare as compare
from ._realisations import compare_realisations as compare_realisations
from .answers import Comparison as Comparison
