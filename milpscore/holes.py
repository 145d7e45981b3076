"""Tables with holes: imputations in one program, and lines for what a missing value means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from milpscore.constraints import Constraint, Implies
from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import DataError
from milpscore.data.checking import row_weights


@dataclass(frozen=True, eq=False)
class Imputed:
    """M imputed tables of the same rows, one below the other.

    Attributes
    ----------
    X : DataFrame of M n rows
    y : array of shape (M n,)
    weight : array of shape (M n,)
        The row's own weight over M: the loss of a card is the mean of its losses over the M tables,
        so that what is proved is proved for that mean.
    patients : array of shape (M n,)
        The number of the row in each table; see ``patients`` of
        :func:`milpscore.pools.risk_intervals` and :func:`milpscore.worth.card_worth`.
    count : int
        M.
    """

    X: pd.DataFrame
    y: Any
    weight: FloatArray
    patients: IntArray
    count: int

    @property
    def tables(self) -> list[pd.DataFrame]:
        """The imputed tables one by one."""
        size = len(self.X) // self.count
        return [self.X.iloc[m * size : (m + 1) * size] for m in range(self.count)]


def stack_imputations(tables: Iterable[Any], y: Any, sample_weight: Any = None) -> Imputed:
    """Stack imputed tables of the same rows, each row with one M-th of its weight.

    Parameters
    ----------
    tables : iterable of M DataFrames of shape (n, q)
        Say of scikit-learn's IterativeImputer with ``sample_posterior=True``, or of mice.
    y : array of shape (n,)
    sample_weight : array of shape (n,), optional

    Returns
    -------
    Imputed
        ``RiskScoreClassifier().fit(made.X, made.y, sample_weight=made.weight)`` is the card.

    Raises
    ------
    DataError
        No table was given, or the tables differ in columns or rows, or a value is still missing.

    References
    ----------
    Wood, White and Royston, "How should variable selection be performed with multiply imputed
    data?", Statistics in Medicine 27 (2008): stacking with weights 1 / M.
    """
    frames = [pd.DataFrame(table) for table in tables]
    if not frames:
        raise DataError("no imputed table to stack: give one at least")
    labels = np.asarray(y)
    for number, frame in enumerate(frames, start=1):
        if list(frame.columns) != list(frames[0].columns) or len(frame) != len(labels):
            raise DataError(
                f"imputed table {number} has {len(frame)} rows and the columns "
                f"{', '.join(map(str, frame.columns[:4]))} ..., where {len(labels)} rows and the "
                "columns of the first table are needed"
            )
        if empty := [str(name) for name in frame.columns[frame.isna().any()]]:
            raise DataError(f"imputed table {number} has missing values in {', '.join(empty[:4])}")
    count = len(frames)
    weight = row_weights(sample_weight, len(labels)) / count
    return Imputed(
        pd.concat(frames, ignore_index=True), np.tile(labels, count), np.tile(weight, count),
        np.tile(np.arange(len(labels)), count), count,
    )  # fmt: skip


@dataclass(frozen=True)
class MissingProducts:
    """Columns for a missing value beside another feature.

    Attributes
    ----------
    products : tuple of (str, str, float)
        The feature with holes, the other one, and the number from which on that counts.
    """

    products: tuple[tuple[str, str, float], ...]

    @property
    def names(self) -> list[str]:
        """The names of the columns, such as 'Lactate missing and Age >= 60'."""
        return [f"{hole} missing and {other} >= {cut:.15g}" for hole, other, cut in self.products]

    @property
    def constraints(self) -> list[Constraint]:
        """The hierarchy: a product has points only beside both of its parents."""
        each = zip(self.names, self.products, strict=True)
        return [Implies(name, [f"{hole} missing", other]) for name, (hole, other, _) in each]

    def added_to(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return a table with the columns, 0 or 1.

        Parameters
        ----------
        table : DataFrame of shape (n, q)
            Missing values as NaN; rows of the fit or new ones.

        Returns
        -------
        DataFrame

        Raises
        ------
        DataError
            The table lacks a feature, or has a column of a product's name.
        """
        known = {str(name) for name in table.columns}
        needed = {name for hole, other, _ in self.products for name in (hole, other)}
        if lacking := sorted(needed - known):
            raise DataError(f"the table has no column {', '.join(lacking)}")
        if taken := [name for name in self.names if name in known]:
            raise DataError(f"the table has a column {taken[0]!r} already")
        made = {
            name: (table[hole].isna() & (table[other] >= cut)).astype(int)
            for name, (hole, other, cut) in zip(self.names, self.products, strict=True)
        }
        return pd.concat([table, pd.DataFrame(made, index=table.index)], axis=1)


def missing_products(
    table: pd.DataFrame,
    cuts: Mapping[str, Sequence[float]],
    features: Iterable[str] | None = None,
    *,
    min_rows: int = 20,
) -> MissingProducts:
    """Find the products of holes and other features that a table has rows for.

    A value that was not measured may mean something else for some rows than for others. The program
    chooses among the products, and by their hierarchy only beside both parents: points for
    'Lactate missing' and for some column of Age.

    Parameters
    ----------
    table : DataFrame of shape (n, q)
        Missing values as NaN; fit it with ``missing="bin"`` (the default of the command line).
    cuts : mapping from feature to sequence of float
        The other parent, where it is at or above each of these.
    features : iterable of str, optional
        The features with holes; default: every one that has some.
    min_rows : int
        Products that fewer rows have, or that fewer rows with a hole lack, are left out.

    Returns
    -------
    MissingProducts
        ``added_to(table)`` is what to fit, with its ``constraints``.

    Raises
    ------
    DataError
        The table lacks a column of one of these names, or has a name that is not text.
    """
    holes = table.isna()
    if odd := [name for name in table.columns if not isinstance(name, str)]:
        raise DataError(f"column names must be text, got {odd[0]!r}: rename the columns")
    chosen = list(table.columns[holes.any()]) if features is None else list(features)
    if unknown := [str(name) for name in (*chosen, *cuts) if name not in table.columns]:
        raise DataError(f"the table has no column {', '.join(unknown)}")
    found = []
    for hole, other in ((a, b) for a in chosen for b in cuts if a != b):
        for cut in sorted({*map(float, cuts[other])}):
            both = int((holes[hole] & (table[other] >= cut)).sum())
            if min(both, int(holes[hole].sum()) - both) >= min_rows:
                found.append((hole, other, cut))
    return MissingProducts(tuple(found))
