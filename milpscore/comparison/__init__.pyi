from ._compare import COLUMNS as COLUMNS, PROXIMAL_COLUMNS as PROXIMAL_COLUMNS, compare as compare
from ._family import KINDS as KINDS, PROXIMAL as PROXIMAL
from ._realisations import (
    REALISATION_COLUMNS as REALISATION_COLUMNS,
    compare_realisations as compare_realisations,
)
