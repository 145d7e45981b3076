from ._compare import COLUMNS as COLUMNS
from ._compare import PROXIMAL_COLUMNS as PROXIMAL_COLUMNS
from ._compare import compare as compare
from ._family import KINDS as KINDS
from ._family import PROXIMAL as PROXIMAL
from ._realisations import (
    REALISATION_COLUMNS as REALISATION_COLUMNS,
)
from ._realisations import (
    compare_realisations as compare_realisations,
)
