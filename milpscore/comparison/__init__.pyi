from ._compare import compare as compare, compare_realisations as compare_realisations
from .answers import Comparison as Comparison
