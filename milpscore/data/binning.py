"""The Binner: numeric columns become bins or steps, all others one column a category; folds."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from milpscore.core.design import Column, Design, FloatArray, IntArray
from milpscore.core.errors import DataError, OptionError, listing, near_matches
from milpscore.data.checking import (
    as_frame,
    distinct_rows,
    missing_counts,
    odd_text,
    raw_kind,
    refuse_missing,
    row_weights,
    to_numbers,
    validated_frame,
    why_useless,
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
    short_cuts,
    step_columns,
)
from milpscore.data.designs import make_design

_CHOICES = {
    "encoding": ("onehot", "cumulative"),
    "missing": ("error", "bin"),
    "unseen": ("error", "zero"),
    "useless": ("drop", "keep"),
}


_AUTO = ("n_bins", "auto")
_ROWS_OF_TENTHS = 600
"""Rows from which ten bins a feature do better on other rows than five do."""

_SHOWN = 8
"""Columns left out that are named."""


class Binner(TransformerMixin, BaseEstimator):
    """Binarise a table: bins or steps of numeric columns, categories of all others.

    A bin is an interval, closed on the left and open on the right; the outer bins of a feature are
    unbounded, so every finite number lies in exactly one. With the one-hot encoding the bins of a
    feature form a block, in ascending order (Alaya et al. 2019, section 2); the categories of a
    text, boolean or categorical feature form one too, sorted or in the order a categorical
    declares. With the cumulative encoding a cut c becomes the column "feature >= c".

    The defaults are those of every card: of the estimators, of ``compare`` and of the command line.

    Parameters
    ----------
    n_bins : int, "auto" or None
        Bins of about equal weight for numeric features without ``thresholds``: "auto" makes 10,
        or 5 of a table with fewer than 600 distinct rows. None leaves those features as they are.
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
    digits : int or None
        Cuts are the numbers with the fewest digits that part the same rows, and have at most so
        many significant digits whatever they part; None: values that occur. ``thresholds`` stay as
        given.
    useless : {"drop", "keep"}
        ``"drop"`` leaves out identifiers, dates, text with a value of its own in most rows,
        features of one value, and columns outside blocks that say what another column says, or its
        reverse: of two categories the first. ``warnings_`` names them. Features with
        ``thresholds`` stay.
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
        Columns left out, features with one value only, and suspicious text columns.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only where ``fit`` was given names.

    Examples
    --------
    >>> import pandas as pd
    >>> ages = pd.DataFrame({"Age": [20, 30, 40, 50]})
    >>> list(Binner(thresholds={"Age": [30, 45]}).fit(ages).get_feature_names_out())
    ['Age >= 30', 'Age >= 45']
    """

    columns_: tuple[Column, ...]
    blocks_: tuple[tuple[int, ...], ...]
    warnings_: tuple[str, ...]

    def __init__(
        self,
        n_bins: int | Literal["auto"] | None = "auto",
        *,
        thresholds: Mapping[str, Sequence[float]] | None = None,
        encoding: Literal["onehot", "cumulative"] = "cumulative",
        missing: Literal["error", "bin"] = "bin",
        max_distinct: int = 10,
        digits: int | None = 4,
        useless: Literal["drop", "keep"] = "drop",
        unseen: Unseen = "zero",
    ) -> None:
        self.n_bins = n_bins
        self.thresholds = thresholds
        self.encoding = encoding
        self.missing = missing
        self.max_distinct = max_distinct
        self.digits = digits
        self.useless = useless
        self.unseen = unseen

    @classmethod
    def raw(cls) -> Self:
        """A binner that leaves numbers as they are, makes every category a column, drops nothing.

        Returns
        -------
        Binner
        """
        return cls(
            None, encoding="onehot", missing="error", digits=None, useless="keep", unseen="error"
        )

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
        frame = self._validated(X, reset=False)
        values = apply_columns(self.columns_, frame, unseen=self.unseen)
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
        rows = distinct_rows(frame)
        columns: list[Column] = []
        blocks: list[tuple[int, ...]] = []
        remarks: list[str] = []
        left_out: dict[str, str] = {}
        for name in frame.columns:
            drops = self.useless == "drop" and name not in cuts
            if drops and (why := why_useless(frame[name], rows)):
                left_out[name] = why
                continue
            made, remark = self._columns_of(frame[name], cuts.get(name), weight, rows)
            if remark:
                remarks.append(remark)
            block = tuple(
                len(columns) + k for k, c in enumerate(made) if c.kind in {"interval", "category"}
            )
            if block and self.encoding == "onehot":
                blocks.append(block)
            columns.extend(made)
        refuse_equal_names(columns)
        if self.useless == "drop" and columns:
            fixed = {j for block in blocks for j in block}
            # a card that knows no column for missing values refuses them
            fixed |= {j for j, c in enumerate(columns) if c.feature in cuts or c.kind == "missing"}
            repeated = _repeated(apply_columns(columns, frame), columns, fixed)
            left_out |= _named(columns, repeated)
            columns, blocks = _without(columns, blocks, repeated)
        said = ", ".join(f"{name!r} ({why})" for name, why in [*left_out.items()][:_SHOWN])
        said += f" and {len(left_out) - _SHOWN} more" if len(left_out) > _SHOWN else ""
        if not columns:
            raise DataError(
                f"every feature has one value only (n_samples={len(frame)}) or is of no use to a"
                f" card: {said}, so there is nothing to cut; use more rows, other features, or"
                ' useless="keep".'
            )
        if left_out:
            remarks.insert(0, f"left out, of no use to a card: {said}.")
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
        numbers = (
            ("n_bins", 2, 'of at least 2, "auto" or None'),
            ("max_distinct", 0, ">= 0"),
            ("digits", 1, "of at least 1, or None"),
        )
        for name, least, words in numbers:
            value = getattr(self, name)
            whole = isinstance(value, Integral) and not isinstance(value, bool)
            named = (value is None and name != "max_distinct") or (name, value) == _AUTO
            if not ((whole and value >= least) or named):
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
        self, series: pd.Series[Any], given: list[float] | None, weight: FloatArray, rows: int
    ) -> tuple[list[Column], str | None]:
        """Columns of one feature, and what should be said about it."""
        name = str(series.name)
        remark = odd_text(series)
        known = series.notna().to_numpy()
        if raw_kind(series) != "numeric":
            columns = category_columns(series)
        else:
            values = to_numbers(series)[known]
            cuts = self._cuts(values, weight[known], rows) if given is None else np.array(given)
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

    def _cuts(self, values: FloatArray, weight: FloatArray, rows: int) -> FloatArray | None:
        """Cut points of a feature without thresholds; None leaves it as it is."""
        if self.n_bins is None:
            return None
        distinct = np.unique(values + 0.0)
        if self.encoding == "cumulative" and np.array_equal(distinct, (0.0, 1.0)):
            return None
        few = len(distinct) <= max(self.max_distinct, 1)
        tenths = rows >= _ROWS_OF_TENTHS
        bins = (10 if tenths else 5) if self.n_bins == "auto" else int(self.n_bins)
        cuts = distinct[1:] if few else quantile_cuts(values, bins, weight)
        return cuts if self.digits is None else short_cuts(values, cuts, int(self.digits))

    def __sklearn_tags__(self) -> Any:
        """Describe what input is welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "bin"
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        return tags


def _repeated(
    values: FloatArray, columns: Sequence[Column], fixed: Collection[int]
) -> dict[int, str]:
    """Columns that say nothing or what another says, or its reverse, and why; ``fixed`` stay.

    Of two categories the second is kept ("yes" rather than "no"), else the column that comes first.
    """
    found: dict[int, str] = {}
    first: dict[tuple[bool, bytes], int] = {}
    for j in _second_first(columns):
        column = values[:, j]
        differs = column != column[0]
        if not differs.any():
            why = "one value"
        else:
            logical = bool(((column == 0.0) | (column == 1.0)).all())
            text = np.packbits(differs).tobytes() if logical else column.tobytes()
            k = first.setdefault((logical, text), j)
            same = bool(column[0] == values[0, k])
            why = "" if k == j else f"{'as' if same else 'the reverse of'} {columns[k].name!r}"
        if why and j not in fixed:
            found[j] = why
    return dict(sorted(found.items()))


def _named(columns: Sequence[Column], repeated: Mapping[int, str]) -> dict[str, str]:
    """What is said of repeated columns: of cuts only where none of a feature is left."""
    kept = {column.feature for j, column in enumerate(columns) if j not in repeated}
    return {
        columns[j].feature if columns[j].kind == "step" else columns[j].name: why
        for j, why in repeated.items()
        if columns[j].kind != "step" or columns[j].feature not in kept
    }


def _second_first(columns: Sequence[Column]) -> list[int]:
    """All positions in order, but the second category of two before the first."""
    places: dict[str, list[int]] = {}
    for j, column in enumerate(columns):
        if column.kind == "category":
            places.setdefault(column.feature, []).append(j)
    order = list(range(len(columns)))
    for pair in places.values():
        if len(pair) == 2:
            order[pair[0]], order[pair[1]] = pair[1], pair[0]
    return order


def _without(
    columns: Sequence[Column], blocks: Sequence[Sequence[int]], gone: Collection[int]
) -> tuple[list[Column], list[tuple[int, ...]]]:
    """Columns and blocks without some columns; a feature's categories stay known without them."""
    kept = [j for j in range(len(columns)) if j not in gone]
    place = {j: k for k, j in enumerate(kept)}
    others: dict[str, list[str]] = {}
    for j in gone:
        if (category := columns[j].category) is not None:
            others.setdefault(columns[j].feature, []).append(category)
    made = [
        replace(columns[j], others=tuple(others.pop(columns[j].feature)))
        if columns[j].kind == "category" and columns[j].feature in others
        else columns[j]
        for j in kept
    ]
    return made, [tuple(place[j] for j in block) for block in blocks]


# --- a design, and its folds ---------------------------------------------------------------------

Split = tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]


@dataclass(frozen=True)
class Fold:
    """The design of the training rows, and the test rows in its columns."""

    train: Design
    X: FloatArray
    y: IntArray
    weight: FloatArray


def binner_of(binner: Any, X: Any = None) -> Any:
    """An unfitted binner: the default one for "auto", a clone of one; None for None or a Design."""
    if isinstance(binner, str) and binner == "auto":
        return None if isinstance(X, Design) else Binner()
    if binner is None:
        return None
    if not isinstance(binner, Binner):
        raise OptionError(f'binner must be "auto", a milpscore.data.Binner or None, got {binner!r}')
    return clone(binner)


def binned_design(
    X: Any,
    y: Any,
    binner: Any,
    *,
    sample_weight: Any = None,
    class_weight: Any = None,
    positive: Any = None,
) -> Design:
    """The design itself, or one made from a table, binned where there is a binner."""
    weights = {"sample_weight": sample_weight, "class_weight": class_weight, "positive": positive}
    if isinstance(X, Design):
        if binner is not None:
            raise DataError("a Design is binned already: leave out binner, or pass the raw table")
        if y is not None or sample_weight is not None or class_weight is not None:
            raise DataError(
                "a Design already holds classes and weights: pass y and weights to make_design"
            )
        return X
    if binner is None:
        return make_design(X, y, **weights)
    design: Design = clone(binner).fit_design(X, y, **weights)
    return design


def stratified_splits(design: Design, cv: Any, random_state: int) -> list[Split]:
    """Training and test rows of each fold; rows of weight 0 are in none."""
    if cv is None or cv == 0:
        return []
    rows = np.flatnonzero(design.weight > 0)
    y = design.y[rows]
    if not hasattr(cv, "split"):
        smallest = int(min((y > 0).sum(), (y < 0).sum()))
        if isinstance(cv, bool) or not hasattr(cv, "__index__") or not 2 <= cv <= smallest:
            raise OptionError(
                f"cv must be None or a number of folds from 2 to {smallest}, the rows of the "
                f"rarer class, got {cv!r}"
            )
        from sklearn.model_selection import StratifiedKFold  # slow to import

        cv = StratifiedKFold(int(cv), shuffle=True, random_state=random_state)
    return [(rows[train], rows[test]) for train, test in cv.split(rows[:, None], y)]


def folds_of(
    design: Design, splits: Sequence[Split], X: Any, binner: Any, sample_weight: Any = None
) -> Iterator[Fold]:
    """The folds of a design; with a binner its cuts come from the training rows alone."""
    for train, test in splits:
        y, weight = design.y[train], design.weight[train]
        if binner is None:
            fitted, held_out = replace(design, X=design.X[train], y=y), design.X[test]
        else:
            # a category that only test rows have scores 0: no training row could give it points
            table, fold = as_frame(X), clone(binner).set_params(unseen="zero")
            counted = None if sample_weight is None else np.asarray(sample_weight)[train]
            fitted = fold.fit_design(table.iloc[train], y, sample_weight=counted)
            held_out = np.asarray(fold.transform(table.iloc[test]), dtype=np.float64)
        yield Fold(replace(fitted, weight=weight), held_out, design.y[test], design.weight[test])
