"""The Binner, for scikit-learn; the folds of a design."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import count
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from milpscore.core.design import Column, Design, FloatArray, merge_rows
from milpscore.core.errors import DataError, OptionError
from milpscore.data.checking import as_frame, check_size, validated_frame
from milpscore.data.columns import Unseen, apply_columns, renamed
from milpscore.data.cut_points import Cutting, Learned
from milpscore.data.designs import make_design
from milpscore.data.ordinal import OrdinalDesign
from milpscore.data.sources import is_table, names_of, with_columns
from milpscore.data.survival import (
    SurvivalDesign,
    entries_of,
    labels_by_event,
    structured,
    timed,
)


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
        Bins of about equal weight for numeric features without ``thresholds``: "auto" makes 10, 5
        where the rarer of two labels has fewer than 200 distinct rows, 3 where it has fewer than
        120; half of the rows are taken for the rarer ones where ``fit`` is given no labels. None
        leaves those features as they are.
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
        ``thresholds`` stay, and those that ``features`` names.
    unseen : {"error", "zero"}
        What ``transform`` does with a category that ``fit`` never saw, or a missing value where
        ``fit`` saw none: an error, or 0 in all columns of the feature.
    features : sequence of str, optional
        Features that are never left out as identifiers, dates or text of their own. Columns that
        repeat others are left out all the same.

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
        n_bins: int | Literal["auto"] | None = Cutting.n_bins,
        *,
        thresholds: Mapping[str, Sequence[float]] | None = None,
        encoding: Literal["onehot", "cumulative"] = Cutting.encoding,
        missing: Literal["error", "bin"] = Cutting.missing,
        max_distinct: int = Cutting.max_distinct,
        digits: int | None = Cutting.digits,
        useless: Literal["drop", "keep"] = Cutting.useless,
        unseen: Unseen = Cutting.unseen,
        features: Sequence[str] | None = Cutting.features,
    ) -> None:
        self.n_bins = n_bins
        self.thresholds = thresholds
        self.encoding = encoding
        self.missing = missing
        self.max_distinct = max_distinct
        self.digits = digits
        self.useless = useless
        self.unseen = unseen
        self.features = features

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
        y : array of shape (n,), optional
            Two labels, whose numbers "auto" goes by.
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
        self._learn(X, sample_weight, y)
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

    @classmethod
    @cache  # a signature takes longer to read than some tables
    def _get_param_names(cls) -> list[str]:
        names: list[str] = super()._get_param_names()
        return names

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
        frame, learned, cutting = self._learn(X, sample_weight, y)
        return cutting.design_of(
            frame, learned, y, sample_weight, class_weight=class_weight, positive=positive
        )

    def fit_patterns(
        self,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        class_weight: Mapping[Any, float] | str | None = None,
        positive: Any = None,
    ) -> Design:
        """Fit on a table of any size and return the design of its distinct rows.

        Parameters
        ----------
        X : path, DataFrame, or table of Arrow, Polars or DuckDB
            As for :func:`read_patterns`.
        y, sample_weight : str, or arrays of shape (n,)
            The names of their columns in X; arrays beside tables whose rows lie in order.
        class_weight, positive
            As for :func:`milpscore.data.make_design`.

        Returns
        -------
        Design
        """
        from milpscore.data.merged_rows import read_patterns

        table, names = named_table(X, y=y, sample_weight=sample_weight)
        design = read_patterns(
            table, str(names["y"]), weights=names["sample_weight"], class_weight=class_weight,
            positive=positive, binner=self, progress=False,
        )  # fmt: skip
        return self.take_table(design, X, names)

    def take_table(self, design: Design, X: Any, names: Mapping[str, str | None]) -> Design:
        """Be fitted as a design of a `named_table` was made, and return the design."""
        self._take(design, [name for name in names_of(X) if name not in names.values()])
        if not (is_table(X) or hasattr(X, "columns") or not hasattr(X, "shape")):
            del self.feature_names_in_
        return design

    def _take(self, design: Design, features: Sequence[str] | None = None) -> Self:
        """Be fitted as a design was made; its features in order where it does not use them all."""
        if features is None:
            features = list(dict.fromkeys(column.feature for column in design.columns))
        self.columns_, self.blocks_ = design.columns, design.blocks
        self.warnings_, self.n_features_in_ = design.warnings, len(features)
        self.feature_names_in_ = np.array(features, dtype=object)
        self._features = {name: name for name in features}
        return self

    def _learn(
        self, X: Any, sample_weight: Any, y: Any = None
    ) -> tuple[pd.DataFrame, Learned, Cutting]:
        """Set the fitted attributes without warning; the table, checked, and what was learned."""
        frame = self._validated(X, reset=True)
        cutting = Cutting(**self.get_params(deep=False))
        learned = cutting.learned(frame, sample_weight, y)
        self.columns_, self.blocks_ = learned.columns, learned.blocks
        self.warnings_ = learned.remarks
        return frame, learned, cutting

    def _validated(self, X: Any, *, reset: bool) -> pd.DataFrame:
        """The table under the names of ``fit``, which scikit-learn's rules match to X."""
        frame = validated_frame(self, X, reset=reset)
        if reset:
            self._features = {name: name for name in frame.columns}
        return frame

    def __sklearn_tags__(self) -> Any:
        """Describe what input is welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "bin"
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        return tags


def named_table(X: Any, **given: Any) -> tuple[Any, dict[str, str | None]]:
    """A table with labels and weights among its columns, and the names of their columns."""
    names: dict[str, str | None] = {}
    table, known = X, names_of(X)
    for role, values in given.items():
        if values is None or isinstance(values, str):
            names[role] = values
            continue
        name = next(n for k in count() if (n := f"{role}{'_' * k}") not in known)
        names[role], table = name, with_columns(table, **{name: values})
    return table, names


# --- a design, and its folds ---------------------------------------------------------------------

Split = tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]


class Fold(NamedTuple):
    """The design of the training rows, and that of the test rows in its columns."""

    train: Design
    test: Design


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
    if getattr(getattr(y, "dtype", None), "names", None):
        if positive is not None or class_weight is not None:
            raise DataError(
                "times to an event have no classes: leave out positive and class_weight"
            )
        return timed_rows(X, y, binner, sample_weight)
    if binner is None:
        return make_design(X, y, **weights)
    design: Design = clone(binner).fit_design(X, y, **weights)
    return design


def timed_rows(
    X: Any, y: Any, binner: Any, sample_weight: Any = None, entry: Any = None, **columns: Any
) -> SurvivalDesign:
    """Return the design of a table with events and times, (n,), in scikit-survival's form.

    A ``binner`` is one to fit, a cutting, or None where ``columns`` and blocks may be given.
    """
    event, time, *late = structured(y)
    make: Any = make_design
    if binner is not None:
        make = binner.fit_design if isinstance(binner, Binner) else binner.design
    base = make(X, labels_by_event(event), sample_weight=sample_weight, positive=1, **columns)
    return timed(base, event, time, entries_of(late[0] if late else entry, len(time)))


def stratified_splits(design: Design, cv: Any, random_state: int) -> tuple[Design, list[Split]]:
    """Training and test rows of each fold, and the design they are rows of.

    Rows of weight 0 are in none. Where equal rows were merged while a table was read, those of each
    pattern are dealt to the folds by chance, as shuffling the table would, and the design has a row
    for each fold that got some.
    """
    if cv is None or cv == 0:
        return design, []
    if isinstance(design, OrdinalDesign) and design.gaps:
        raise DataError(
            "folds would part the decisions of a row of ordered classes: cross-validate "
            "OrdinalScoreClassifier by scikit-learn's cross_validate"
        )
    rows = np.flatnonzero(design.weight > 0)
    y, counts = design.y[rows], design.rows[rows]
    if not hasattr(cv, "split"):
        # of times every row may have an event
        smallest = int(min(counts[y == side].sum() for side in np.unique(y)))
        if isinstance(cv, bool) or not hasattr(cv, "__index__") or not 2 <= cv <= smallest:
            raise OptionError(
                f"cv must be None or a number of folds from 2 to {smallest}, the rows of the "
                f"rarer class, got {cv!r}"
            )
    if isinstance(design, SurvivalDesign):
        refuse_folds(design, "a cross-validation of times")
    if design.counts is not None:
        return _dealt(design, cv, random_state)
    if not hasattr(cv, "split"):
        from sklearn.model_selection import StratifiedKFold  # slow to import

        cv = StratifiedKFold(int(cv), shuffle=True, random_state=random_state)
    return design, [(rows[train], rows[test]) for train, test in cv.split(rows[:, None], y)]


_MOST_DEALT = 10**9
"""Rows of a class from which NumPy draws no hypergeometric numbers."""


def _dealt(design: Design, cv: Any, random_state: int) -> tuple[Design, list[Split]]:
    """The rows behind each pattern dealt to folds of equal size, class by class."""
    if hasattr(cv, "split"):
        refuse_folds(design, "a splitter of rows, or folds that are not stratified,")
    parts = np.zeros((int(cv), len(design.y)), dtype=np.int64)
    random = np.random.default_rng(random_state)
    for side in (-1, 1):
        places = np.flatnonzero((design.y == side) & (design.weight > 0))
        left = design.rows[places]
        unit = design.weight[places] / left
        if np.ptp(unit) > 1e-9 * unit.max() or left.sum() >= _MOST_DEALT:
            refuse_folds(design, "a cross-validation of rows with weights, or of a billion rows,")
        share, more = divmod(int(left.sum()), len(parts))
        for k in range(len(parts)):
            size = share + (k < more if side > 0 else k >= len(parts) - more)
            drawn = random.multivariate_hypergeometric(left, size)
            parts[k, places], left = drawn, left - drawn
    fold, row = np.nonzero(parts)
    check_size(len(row), design.shape[1], "the folds")
    count = parts[fold, row]
    weight = design.weight[row] * (count / design.rows[row])
    made = replace(design, X=design.X[row], y=design.y[row], weight=weight, counts=count)
    return made, [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(len(parts))]


def refuse_folds(design: Design, what: str) -> None:
    """Refuse what takes the rows of a table whose equal rows were merged while it was read."""
    if design.counts is not None:
        raise DataError(
            f"{what} takes the rows of a table, and the equal rows of this one were merged while it"
            " was read: leave it out, or hold some files or rows out before reading"
        )


def folds_of(
    design: Design, splits: Sequence[Split], X: Any, binner: Any, sample_weight: Any = None
) -> Iterator[Fold]:
    """The folds of a design; with a binner its cuts come from the training rows alone.

    Those of merged rows come from all of them.
    """
    for train, test in splits:
        y, weight = design.y[train], design.weight[train]
        if design.counts is not None:
            merged = merge_rows(design.X[train], y, weight)
            counts = merged.sums(design.counts[train]).astype(np.int64)
            fitted = replace(design, X=merged.X, y=merged.y, counts=counts)
            weight, held_out = merged.weight, design.X[test]
        elif binner is None:
            fitted, held_out = design.of_rows(train), design.X[test]
        else:
            # a category that only test rows have scores 0: no training row could give it points
            table, fold = as_frame(X), clone(binner).set_params(unseen="zero")
            counted = None if sample_weight is None else np.asarray(sample_weight)[train]
            labels = labels_by_event(y > 0) if isinstance(design, SurvivalDesign) else y
            fitted = fold.fit_design(table.iloc[train], labels, sample_weight=counted)
            held_out = np.asarray(fold.transform(table.iloc[test]), dtype=np.float64)
        rest = replace(
            fitted, X=held_out, y=design.y[test], weight=design.weight[test],
            counts=None if design.counts is None else design.counts[test],
        )  # fmt: skip
        fitted = replace(fitted, weight=weight)
        if isinstance(design, SurvivalDesign):
            fitted, rest = (
                timed(part, design.event[rows], design.time[rows], design.entry[rows])
                for part, rows in ((fitted, train), (rest, test))
            )
        yield Fold(fitted, rest)
