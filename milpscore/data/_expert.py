"""What an expert knows about the columns of a design."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from milpscore.core.column import Column
from milpscore.core.design import FloatArray
from milpscore.core.errors import DataError, OptionError
from milpscore.data._checking import near_matches

Expert: TypeAlias = "Sequence[str] | Mapping[str, float] | Sequence[float] | FloatArray | None"


def expert_vector(expert: Expert, columns: Sequence[Column], features: Sequence[str]) -> FloatArray:
    """What the expert knows, one number a design column.

    Parameters
    ----------
    expert : sequence of names, mapping of name to number, array of numbers in [0, 1], or None
        Names may be those of raw features or of design columns; numbers one a feature or one a
        design column. None: nothing is known.
    columns : sequence of Column, length p
    features : sequence of str, length q
        Names of the raw features.

    Returns
    -------
    ndarray of shape (p,)

    Raises
    ------
    DataError
        A name is neither a feature nor a design column.
    OptionError
        The numbers are not one a feature or one a column.
    """
    if expert is None:
        return np.zeros(len(columns))
    if isinstance(expert, str):
        raise OptionError(f"expert={expert!r} is a single text; pass a list of names.")
    if isinstance(expert, Mapping):
        return _by_name({str(name): float(known) for name, known in expert.items()}, columns)
    given = list(expert)
    if any(isinstance(entry, str) for entry in given):
        return _by_name(dict.fromkeys(map(str, given), 1.0), columns)
    if len(given) == len(columns):
        return np.asarray(given)
    if len(given) == len(features):
        by_feature = dict(zip(features, given, strict=True))
        return np.array([by_feature[c.feature] for c in columns])
    raise OptionError(
        f"expert has {len(given)} numbers for {len(features)} features and {len(columns)} design"
        " columns; give one a feature or one a column, or names."
    )


def _by_name(known: Mapping[str, float], columns: Sequence[Column]) -> FloatArray:
    """A column's own name goes before that of its feature."""
    names = {column.name for column in columns} | {column.feature for column in columns}
    strange = [name for name in known if name not in names]
    if strange:
        raise DataError(f"expert names {strange[0]!r}; {near_matches(strange[0], sorted(names))}")
    return np.array([known.get(c.name, known.get(c.feature, 0.0)) for c in columns])
