"""Weights of a conic program's columns."""

from __future__ import annotations

from milpscore.core.design import FloatArray
from milpscore.core.errors import OptionError
from milpscore.formulations._conic import ConicData


def one_per_column(weights: FloatArray, data: ConicData) -> None:
    """Refuse weights that are not one for each design column.

    Raises
    ------
    OptionError
        Naming both numbers.
    """
    if len(weights) != len(data.columns):
        raise OptionError(
            f"weights has {len(weights)} entries for {len(data.columns)} design columns: give "
            "one a column, in their order"
        )
