"""The Binner: numeric columns become bins or steps, all others one column a category."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from milpscore.core.design import Column, Design, FloatArray
from milpscore.core.errors import DataError, OptionError, listing, near_matches
from milpscore.data.checking import (
    missing_counts,
    odd_text,
    raw_kind,
    refuse_missing,
    row_weights,
    to_numbers,
    validated_frame,
)
from milpscore.data.columns import (
    Unseen,
    apply_columns,
    bin_columns,
    category_columns,
    check_thresholds,
    missing_column,
    numeric_column,
    quantile_cuts,
    refuse_equal_names,
    renamed,
    step_columns,
)
from milpscore.data.designs import make_design

_CHOICES = {
    "encoding": ("onehot", "cumulative"),
    "missing": ("error", "bin"),
    "unseen": ("error", "zero"),
}


class Binner(TransformerMixin, BaseEstimator):
    """Binarise a table: bins or steps of numeric columns, categories of all others.

    A bin is an interval, closed on the left and open on the right; the outer bins of a feature are
    unbounded, so every finite number lies in exactly one. With the one-hot encoding the bins of a
    feature form a block, in ascending order (Alaya et al. 2019, section 2); the categories of a
    text, boolean or categorical feature form one too, sorted or in the order a categorical
    declares. With the cumulative encoding a cut c becomes the column "feature >= c".

    Parameters
    ----------
    n_bins : int or None
        Bins of about equal weight for numeric features without ``thresholds``. None leaves those
        features as they are.
    thresholds : mapping of feature to cut points, optional
    encoding : {"onehot", "cumulative"}
        Cumulative leaves columns of 0 and 1 as they are, and makes no blocks.
    missing : {"error", "bin"}
        ``"bin"`` gives a feature with missing values one more column, 1 where the value is
        missing; all its other columns are then 0. That column stands outside the feature's block,
        because it has no place in its order.
    max_distinct : int
        A numeric feature with at most this many distinct values is cut between all of them
        (0: always cut at quantiles).
    unseen : {"error", "zero"}
        What ``transform`` does with a category that ``fit`` never saw, or a missing value where
        ``fit`` saw none: an error, or 0 in all columns of the feature.

    Attributes
    ----------
    columns_ : tuple of Column, length p
        What each output column reads; see :func:`milpscore.data.apply_columns`.
    blocks_ : tuple of tuples of int
        Positions of the bins of each feature, in order.
    warnings_ : tuple of str
        Features with one value only, and suspicious text columns.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only where ``fit`` was given names.

    Examples
    --------
    >>> import pandas as pd
    >>> ages = pd.DataFrame({"Age": [20, 30, 40, 50]})
    >>> list(Binner(thresholds={"Age": [30, 45]}).fit(ages).get_feature_names_out())
    ['Age < 30', '30 <= Age < 45', 'Age >= 45']
    """

    columns_: tuple[Column, ...]
    blocks_: tuple[tuple[int, ...], ...]
    warnings_: tuple[str, ...]

    def __init__(
        self,
        n_bins: int | None = 4,
        *,
        thresholds: Mapping[str, Sequence[float]] | None = None,
        encoding: Literal["onehot", "cumulative"] = "onehot",
        missing: Literal["error", "bin"] = "error",
        max_distinct: int = 10,
        unseen: Unseen = "error",
    ) -> None:
        self.n_bins = n_bins
        self.thresholds = thresholds
        self.encoding = encoding
        self.missing = missing
        self.max_distinct = max_distinct
        self.unseen = unseen

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Place the cuts and list the categories.

        Parameters
        ----------
        X : DataFrame, array or list of rows, shape (n, q)
        y : ignored
        sample_weight : array of shape (n,), optional
            Weights of the rows in the quantiles; rows of weight 0 are left out.

        Returns
        -------
        Binner

        Raises
        ------
        DataError
            The table, the weights or the thresholds cannot be used.
        OptionError
            A parameter lies outside its range.
        """
        self._learn(X, sample_weight)
        for message in self.warnings_:
            warnings.warn(message, UserWarning, stacklevel=2)
        return self

    def transform(self, X: Any) -> FloatArray | pd.DataFrame:
        """Compute the columns.

        Parameters
        ----------
        X : DataFrame, array or list of rows, shape (n, q)

        Returns
        -------
        ndarray or DataFrame of shape (n, p)
            A DataFrame with X's index where X is one.
        """
        check_is_fitted(self)
        frame = self._validated(X, reset=False)
        values = apply_columns(self.columns_, frame, unseen=self.unseen)
        if not isinstance(X, pd.DataFrame):
            return values
        return pd.DataFrame(values, index=X.index, columns=self.get_feature_names_out())

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Names of the columns.

        Parameters
        ----------
        input_features : array of str, shape (q,), optional
            Names of the features where ``fit`` was given none.

        Returns
        -------
        ndarray of object, shape (p,)
        """
        check_is_fitted(self)
        names = self._features
        if input_features is not None:
            given = _check_feature_names_in(self, input_features)
            names = dict(zip(self._features, map(str, given), strict=True))
        return np.array(
            [renamed(column, names[column.feature]).name for column in self.columns_], dtype=object
        )

    def fit_design(
        self,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        class_weight: Mapping[Any, float] | str | None = None,
        positive: Any = None,
    ) -> Design:
        """Fit on X and return the binned design.

        Parameters
        ----------
        X : DataFrame, array or list of rows, shape (n, q)
        y, sample_weight, class_weight, positive
            As for :func:`milpscore.data.make_design`; class weights do not move the cuts.

        Returns
        -------
        Design
            With ``columns_`` and ``blocks_``; what ``fit`` warns of stands in its ``warnings``.
        """
        self._learn(X, sample_weight)
        values = apply_columns(self.columns_, self._validated(X, reset=False))
        design = make_design(
            values,
            y,
            sample_weight=sample_weight,
            class_weight=class_weight,
            positive=positive,
            columns=self.columns_,
            blocks=self.blocks_,
        )
        return replace(design, warnings=(*self.warnings_, *design.warnings))

    def _learn(self, X: Any, sample_weight: Any) -> None:
        """Set the fitted attributes without warning."""
        self._check_parameters()
        frame = self._validated(X, reset=True)
        if self.missing == "error":
            refuse_missing(missing_counts(frame))
        cuts = self._checked_thresholds(frame)
        weight = row_weights(sample_weight, len(frame))
        counted = weight > 0
        if not counted.all():
            frame, weight = frame.loc[counted], weight[counted]
        columns: list[Column] = []
        blocks: list[tuple[int, ...]] = []
        remarks: list[str] = []
        for name in frame.columns:
            made, remark = self._columns_of(frame[name], cuts.get(name), weight)
            if remark:
                remarks.append(remark)
            block = tuple(
                len(columns) + k for k, c in enumerate(made) if c.kind in {"interval", "category"}
            )
            if block and self.encoding == "onehot":
                blocks.append(block)
            columns.extend(made)
        if not columns:
            raise DataError(
                f"every feature has one value only (n_samples={len(frame)}), so there is nothing"
                " to cut; use more rows, or other features."
            )
        refuse_equal_names(columns)
        self.columns_, self.blocks_ = tuple(columns), tuple(blocks)
        self.warnings_ = tuple(remarks)

    def _validated(self, X: Any, *, reset: bool) -> pd.DataFrame:
        """The table under the names of ``fit``, which scikit-learn's rules match to X."""
        frame = validated_frame(self, X, reset=reset)
        if reset:
            self._features = {name: name for name in frame.columns}
        return frame

    def _check_parameters(self) -> None:
        for name, allowed in _CHOICES.items():
            if getattr(self, name) not in allowed:
                raise OptionError(f"{name}={getattr(self, name)!r}; use one of {allowed}.")
        numbers = (("n_bins", 2, "of at least 2, or None"), ("max_distinct", 0, ">= 0"))
        for name, least, words in numbers:
            value = getattr(self, name)
            whole = isinstance(value, Integral) and not isinstance(value, bool)
            if not ((whole and value >= least) or (value is None and name == "n_bins")):
                raise OptionError(f"{name}={value!r}; use a whole number {words}.")

    def _checked_thresholds(self, frame: pd.DataFrame) -> dict[str, list[float]]:
        cuts = check_thresholds(self.thresholds or {})
        for feature in cuts:
            if feature not in frame.columns:
                raise DataError(
                    f"thresholds name {feature!r}, which is not a column;"
                    f" {near_matches(feature, frame.columns)}"
                )
            if raw_kind(frame[feature]) != "numeric":
                raise DataError(
                    f"thresholds name {feature!r}, which is not numeric; its categories become"
                    " columns without thresholds."
                )
        return cuts

    def _columns_of(
        self, series: pd.Series[Any], given: list[float] | None, weight: FloatArray
    ) -> tuple[list[Column], str | None]:
        """Columns of one feature, and what should be said about it."""
        name = str(series.name)
        remark = odd_text(series)
        known = series.notna().to_numpy()
        if raw_kind(series) != "numeric":
            columns = category_columns(series)
        else:
            values = to_numbers(series)[known]
            cuts = self._cuts(values, weight[known]) if given is None else np.array(given)
            if cuts is None:
                columns = [numeric_column(name)]
            elif self.encoding == "onehot":
                columns = bin_columns(name, cuts.tolist())
            else:
                columns = step_columns(name, cuts.tolist())
            if cuts is not None and not len(cuts):
                fate = f"becomes {listing(c.name for c in columns)}" if columns else "is left out"
                remark = f"feature {name!r} has fewer than two distinct values and {fate}."
        if not known.all():
            columns.append(missing_column(name))
        return columns, remark

    def _cuts(self, values: FloatArray, weight: FloatArray) -> FloatArray | None:
        """Cut points of a feature without thresholds; None leaves it as it is."""
        if self.n_bins is None:
            return None
        distinct = np.unique(values + 0.0)
        if self.encoding == "cumulative" and np.array_equal(distinct, (0.0, 1.0)):
            return None
        if len(distinct) <= max(self.max_distinct, 1):
            return distinct[1:]
        return quantile_cuts(values, int(self.n_bins), weight)

    def __sklearn_tags__(self) -> Any:
        """Describe what input is welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "bin"
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        return tags
