"""A table, its names, kinds of columns, labels and weights, checked before all else."""

from __future__ import annotations

import math
import re
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from milpscore.core.design import (
    Column,
    Design,
    FloatArray,
    IntArray,
    as_fraction,
    count_distinct,
    unmasked,
)
from milpscore.core.errors import (
    DataError,
    Message,
    NotApplicableError,
    SizeError,
    listing,
    near_matches,
    places,
)
from milpscore.data.cells import read_cells, said_of
from milpscore.data.policy import POLICY
from milpscore_check.cells import number_in

RawKind = Literal["numeric", "boolean", "text", "category"]

MAX_CELLS = 50_000_000
"""Cells of a dense matrix (400 MB) beyond which no design is built."""

_KINDS: dict[str, RawKind] = {
    "categorical": "category",
    "boolean": "boolean",
    **dict.fromkeys(("integer", "floating", "mixed-integer-float", "decimal", "empty"), "numeric"),
    **dict.fromkeys(("string", "mixed-integer", "mixed"), "text"),
}
"""What pandas infers of a column's values -> how they are used."""


_MANY = 20
"""Rows, or distinct values, below which nothing is taken for an identifier or free text."""

_IDENTIFIERS = frozenset({"id", "ids", "uuid", "guid", "identifier", "mrn"})

_ORDERS = 4.0
"""Standard errors by which ranks of two classes differ, for their column to order the label."""

_DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([T ]\d{1,2}:\d{2}.*)?|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}( .*)?"
)


CODES = "whole numbers beyond 2^53, which are codes: read them as text"
"""Why a feature is left out whose numbers floats do not tell apart."""

_DATES = frozenset({"date", "datetime", "datetime64"})

_WHOLE = 2.0**53
"""Floats hold all smaller whole numbers."""

_BLANK = "milpscore.blank_names"
_NAMED = "milpscore.named_features"


def as_frame(
    X: Any,
    feature_names: Sequence[str] | None = None,
    *,
    only: Collection[str] | None = None,
    min_rows: int = 1,
) -> pd.DataFrame:
    """Any table of shape (n, p) as a DataFrame with names that are text, unique and stripped."""
    if X is None:
        raise DataError("X is None; pass a table with one row per sample and one column a feature.")
    frame = X if isinstance(X, pd.DataFrame) else _from_other(X, feature_names)
    if isinstance(frame.columns, pd.MultiIndex):
        raise DataError(
            "the columns of X have names on several levels; flatten them first, for example"
            " X.columns = X.columns.map('_'.join)."
        )
    names = [
        name.strip() if isinstance(name, str) else "" if pd.isna(name) else str(name).strip()
        for name in frame.columns
    ]
    kept = _positions(names, only)
    if only is not None:
        frame, names = frame.iloc[:, kept], [names[j] for j in kept]
    if only is None and frame.shape[1] == 0:
        raise DataError(
            f"{{X}} has 0 feature(s) (shape=({len(frame)}, 0)) while a minimum of 1 is required."
            " Keep at least one column beside the target."
        )
    if len(frame) < min_rows:
        raise DataError(
            f"{{X}} has {len(frame)} row(s) while a minimum of {min_rows} is required."
            " Check the filter or the file the table comes from."
        )
    fresh = frame is not X and only is None and list(frame.columns) == names
    made = frame if fresh else with_names(frame, names)
    if blank := [str(raw) for raw, name in zip(frame.columns, names, strict=True) if raw != name]:
        made.attrs = {**made.attrs, _BLANK: [raw for raw in blank if raw != raw.strip()]}
    return made


def with_named_features(frame: pd.DataFrame, names: Sequence[str] | None) -> pd.DataFrame:
    """Return the table with a note of the features that its user named: they are never left out."""
    if names is not None:
        frame.attrs = {**frame.attrs, _NAMED: list(names)}
    return frame


def named_features(frame: pd.DataFrame) -> frozenset[str]:
    """Return the features that the user of a table named."""
    return frozenset(frame.attrs.get(_NAMED, ()))


def reading_remarks(frame: pd.DataFrame) -> list[str]:
    """Remarks on how a table was read, and on its columns whose names lost blanks at an end."""
    if not (blank := frame.attrs.get(_BLANK)):
        return said_of(frame)
    return [
        *said_of(frame),
        f"column(s) {listing(blank)} are called without the blanks around their names: before SQL"
        ' of the card is run, rename them in the table, or give their names as "column" among the'
        " card's words.",
    ]


def _from_other(X: Any, feature_names: Sequence[str] | None) -> pd.DataFrame:
    """A table of another library, or an array."""
    from milpscore.data.sources import frame_of, is_table

    return frame_of(X) if is_table(X) else _from_array(X, feature_names)


def _from_array(X: Any, feature_names: Sequence[str] | None) -> pd.DataFrame:
    """Wrap an array, a sparse matrix or a list of rows."""
    if hasattr(X, "tocsr"):  # sparse; to ask SciPy would import it
        rows, cols = X.shape
        check_size(rows, cols, "this sparse X made dense")
        X = X.toarray()
    # A list of mixed rows would become an array of text, numbers included.
    array = np.asarray(unmasked(X)) if hasattr(X, "__array__") else np.asarray(X, dtype=object)
    if array.ndim == 1 and any(isinstance(row, (list, tuple, np.ndarray)) for row in array[:2]):
        raise DataError("the rows of X differ in length; give each the same columns.")
    if array.ndim != 2:
        raise DataError(
            f"X has {array.ndim} dimension(s), not 2. Reshape your data: X.reshape(-1, 1) for one"
            " feature, X.reshape(1, -1) for one row, .to_frame() for a pandas Series."
        )
    if feature_names is not None and len(feature_names) != array.shape[1]:
        raise DataError(
            f"X has {array.shape[1]} columns but {len(feature_names)} names were given;"
            " pass one name for each column, in order."
        )
    names = feature_names if feature_names is not None else default_names(array.shape[1])
    frame = pd.DataFrame(array, columns=pd.Index(list(names), dtype=object), copy=False)
    return frame.infer_objects() if array.dtype == object else frame


def with_names(frame: pd.DataFrame, names: Sequence[Any]) -> pd.DataFrame:
    """The same values under other column names."""
    return frame.set_axis(pd.Index(list(names), dtype=object), axis=1)


def default_names(count: int) -> list[str]:
    """Names of nameless columns, as scikit-learn writes them."""
    return [f"x{j}" for j in range(count)]


def _positions(names: Sequence[str], wanted: Collection[str] | None) -> list[int]:
    """Where the wanted columns stand, by default all; they must be there, named, and once."""
    counts = Counter(names)
    if wanted is None and counts[""]:
        nameless = [position for position, name in enumerate(names, start=1) if not name]
        raise DataError(
            f"column number {listing(nameless)} has no name. If it is a row index, drop it;"
            " otherwise give it a name."
        )
    wanted = counts if wanted is None else wanted
    absent = [name for name in wanted if not counts[name]]
    if absent:
        raise DataError(
            f"column(s) {listing(absent)} are missing from the data; for {absent[0]!r},"
            f" {near_matches(absent[0], [name for name in names if name])}"
        )
    twice = [name for name in wanted if counts[name] > 1]
    if twice:
        raise DataError(
            f"column name(s) used more than once: {listing(twice)} (blanks at either end do not"
            " count). Rename or drop the copies."
        )
    place = {name: j for j, name in enumerate(names)}
    return [place[name] for name in wanted]


def check_size(rows: int, cols: int, what: str) -> None:
    """Refuse a dense matrix of more than ``MAX_CELLS`` cells, with the estimate."""
    if rows * cols > MAX_CELLS:
        raise SizeError(
            f"{what} would hold {rows} x {cols} values, {8 * rows * cols / 1e9:.1f} GB (limit"
            f" {8 * MAX_CELLS / 1e9:.1f} GB). Use fewer columns, or a sample of the rows."
        )


def raw_kind(series: pd.Series[Any]) -> RawKind:
    """Tell numbers, booleans, text and categoricals apart; refuse everything else."""
    if _holds_numbers(series.dtype):
        return "numeric"
    inferred = pd.api.types.infer_dtype(series, skipna=True)
    if inferred in _KINDS:
        return _KINDS[inferred]
    if inferred == "complex":
        raise DataError(
            f"column {series.name!r} holds complex numbers. Complex data not supported:"
            " split it into real columns."
        )
    raise DataError(
        f"column {series.name!r} holds {inferred} values ({series.dtype}), which are neither"
        " numbers nor text. Convert it first (a date, for example, into days since a fixed day), or"
        " drop it."
    )


def _holds_numbers(dtype: Any) -> bool:
    """Whether all values of a type are numbers or NaN, known without looking at them."""
    return isinstance(dtype, np.dtype) and dtype.kind in "fiu"


def not_surely_numbers(frame: pd.DataFrame) -> list[Any]:
    """The columns that have to be looked at to know whether they hold numbers."""
    return [name for name, dtype in frame.dtypes.items() if not _holds_numbers(dtype)]


def zero_one_names(frame: pd.DataFrame) -> tuple[frozenset[str], FloatArray | None]:
    """The columns of numbers that hold 0 and 1, both, and nothing else; all values as floats.

    Not where some are missing, or no numbers that floats tell apart.
    """
    kept = [j for j, dtype in enumerate(frame.dtypes) if _holds_numbers(dtype)]
    numbers = frame if len(kept) == frame.shape[1] else frame.iloc[:, kept]
    values = numbers.to_numpy(dtype=np.float64)
    if not values.size:
        return frozenset(), None
    exact = len(kept) == frame.shape[1] and bool((np.abs(values) < _WHOLE).all())
    ones = values == 1.0
    count = ones.sum(axis=0)
    fits = (ones | (values == 0.0)).all(axis=0) & (count > 0) & (count < len(values))
    names = numbers.columns.tolist()
    return frozenset(
        str(names[j]) for j in np.flatnonzero(fits).tolist()
    ), values if exact else None


def to_numbers(series: pd.Series[Any]) -> FloatArray:
    """A column as floats, NaN where a value is missing; text and infinite values are refused."""
    if raw_kind(series) in {"text", "category"}:
        texts = series.dropna().astype(object)
        odd = texts[pd.to_numeric(texts, errors="coerce").isna()]
        example = (odd if len(odd) else texts).iloc[:1].tolist()
        comma = re.fullmatch(r"\s*[+-]?\d+,\d+\s*", str(example[0])) if example else None
        cure = "Convert it" if len(odd) else "Convert it, for example with pandas.to_numeric"
        cure = "If commas stand before decimals, read it with {decimal}" if comma else cure
        raise DataError(
            f"column {series.name!r} holds text or categories ({listing(example)}) where numbers"
            f" are needed. {cure}.",
            decimal=",",
        )
    plain = _holds_numbers(series.dtype)  # to be asked for missing values takes longer
    values = (
        series.to_numpy(dtype=np.float64)
        if plain
        else series.to_numpy(dtype=np.float64, na_value=np.nan)
    )
    infinite = int(np.isinf(values).sum())
    if infinite:
        raise DataError(
            f"column {series.name!r} holds {infinite} infinite value(s) (inf)."
            " Replace them by finite numbers or mark them as missing."
        )
    return values


def known_rows(series: pd.Series[Any]) -> npt.NDArray[np.bool_]:
    """Which values are there, shape (n,)."""
    if _holds_numbers(series.dtype):  # to ask pandas takes longer
        return np.asarray(~np.isnan(series.to_numpy(dtype=np.float64)))
    return series.notna().to_numpy()


def category_text(value: Any) -> str:
    """One category as text; a whole number reads the same whether stored as int or float."""
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value)


def categories_of(series: pd.Series[Any]) -> tuple[npt.NDArray[np.int64], list[str]]:
    """Position of each row's category, -1 where missing, shape (n,); and the categories as text."""
    if isinstance(series.dtype, pd.CategoricalDtype):
        codes, found = series.cat.codes.to_numpy(), list(series.cat.categories)
        order: list[str] = list(dict.fromkeys(category_text(value) for value in found))
    else:
        try:
            raw_codes, uniques = pd.factorize(series)
        except TypeError as error:
            raise DataError(
                f"column {series.name!r} holds values that are neither numbers nor text:"
                f" {error}. Convert or drop it."
            ) from error
        codes, found = raw_codes, list(uniques)
        order = sorted({category_text(value) for value in found})
    place = {text: k for k, text in enumerate(order)}
    # Different values can read alike (1 and "1"); the last entry serves the code -1.
    recode = np.array([*(place[category_text(value)] for value in found), -1], dtype=np.int64)
    return recode[codes], order


def why_useless(series: pd.Series[Any], rows: int, orders: Callable[[pd.Series[Any]], bool]) -> str:
    """Return why a feature is of no use to a card, or an empty text.

    ``rows`` is the number of rows of the table. ``orders`` says whether numbers order the label:
    a measurement does, a number given out to each row does not.
    """
    plain = _holds_numbers(series.dtype)
    if not plain and pd.api.types.infer_dtype(series, skipna=True) in _DATES:
        return "dates"
    there = known_rows(series)
    kind, known = raw_kind(series), series if there.all() else series[there]
    if known.empty:
        return "no value"
    if kind == "numeric":
        return _why_numbers_useless(series, known, rows, orders)
    codes, texts = categories_of(known)
    distinct, many, why = len(np.unique(codes)), len(np.unique(codes)) > _MANY, ""
    if distinct == 1:
        why = "one value" if len(known) == len(series) else ""
    elif kind == "text" and all(_DATE.fullmatch(text.strip()) for text in texts):
        why = "dates"
    elif kind == "text" and many and _is_identifier(str(series.name)):
        why = "identifier"
    elif kind == "text" and many and 2 * distinct > rows:
        why = "text of its own in most rows"
    return why


def _why_numbers_useless(
    series: pd.Series[Any],
    known: pd.Series[Any],
    rows: int,
    orders: Callable[[pd.Series[Any]], bool],
) -> str:
    """Return why a feature of numbers is of no use to a card, or an empty text."""
    numbers = np.unique(to_numbers(known))
    distinct = len(numbers)
    exact = known.dtype.kind == "f"  # others may be rounded to equal floats
    if not exact and distinct < known.nunique() and (distinct == 1 or not orders(series)):
        return CODES
    if distinct == 1:
        return "one value" if len(known) == len(series) else ""
    if distinct <= _MANY or (numbers % 1.0).any():
        return ""
    # Numbers given out one by one lie close together, one per row; measurements repeat, or do not.
    counted = bool(np.ptp(numbers) < 3 * distinct) and 10 * distinct >= 9 * rows
    if (counted or _is_identifier(str(series.name))) and not orders(series):
        return "identifier"
    return ""


def ordering(y: Any, counted: npt.NDArray[np.bool_]) -> Callable[[pd.Series[Any]], bool]:
    """Return whether numbers of the counted rows order one of the labels ``y``, by their ranks."""
    labels = None if y is None else np.asarray(unmasked(y)).ravel()
    if labels is None or len(labels) != len(counted):
        return lambda series: False
    codes = pd.factorize(labels[counted])[0]

    def orders(series: pd.Series[Any]) -> bool:
        there = known_rows(series) & (codes >= 0)
        ranks, own = series[there].rank().to_numpy(dtype=np.float64), codes[there]
        figures = [np.bincount(own, weights=ranks**power) for power in range(3)]
        return lie_apart(*np.array(figures, dtype=np.float64))

    return orders


def lie_apart(count: FloatArray, sums: FloatArray, squares: FloatArray) -> bool:
    """Return whether numbers of one label lie apart from the rest, by figures per label, (k,).

    Of ranks this is Mann and Whitney's statistic.
    """
    rows, mean = count.sum(), sums.sum() / count.sum()
    variance = squares.sum() / rows - mean**2
    spread = np.sqrt(variance * count * (rows - count) / (rows - 1))
    return bool((np.abs(sums - count * mean) > _ORDERS * spread).any())


def distinct_rows(table: pd.DataFrame | FloatArray, enough: float = math.inf) -> int:
    """Rows that differ: as many whether a row is repeated or weighs more; or at least enough."""
    if 4 * enough < len(table) and (found := distinct_rows(table[: int(4 * enough)])) >= enough:
        return found
    if isinstance(table, np.ndarray):
        return count_distinct(table)
    try:
        return len(table) - int(table.duplicated().sum())
    except TypeError:
        for name in table.columns:
            categories_of(table[name])  # says which column holds what is not a value
        raise


def _is_identifier(name: str) -> bool:
    """Whether a name says that it numbers the rows, or those who stand in them."""
    words = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    return re.split(r"[\W_]+", words.lower().strip(" _"))[-1] in _IDENTIFIERS


def odd_text(series: pd.Series[Any], rows: int | None = None) -> str | None:
    """Return what looks wrong with a text column of ``rows`` rows, or an empty text."""
    if raw_kind(series) != "text":
        return None
    codes, texts = categories_of(series)
    numbers = pd.to_numeric(pd.Series(texts, dtype=object), errors="coerce").notna().to_numpy()
    if numbers.any() and not numbers.all() and numbers.mean() >= 0.5:
        odd = [text for text, number in zip(texts, numbers, strict=True) if not number]
        odd = [text for text in odd if number_in(text, ".") is None] or odd  # what is in the way
        return (
            f"column {series.name!r} is text, though most of its values are numbers; not so"
            f" {listing(odd)}. If these mark missing values, name them (--na)."
        )
    rows = len(codes) if rows is None else rows
    if rows >= 20 and 2 * len(texts) > rows:
        return (
            f"column {series.name!r} is text with {len(texts)} categories in {rows} rows;"
            " if it is an identifier, drop it."
        )
    return None


def far_value(name: str, values: FloatArray, weight: FloatArray | None = None) -> Message | None:
    """A remark on an end of some values that repeats far outside the rest: a mark, perhaps.

    Far: by more than twice the range of the values between the two ends.
    """
    if not len(values):
        return None
    ends = [float(values.min()), float(values.max())]
    for part in (values[:: 1 + len(values) // 500], values):  # some tell of most columns
        inner = part[(part > ends[0]) & (part < ends[1])]
        if len(inner) and 3 * (span := np.ptp(inner)) >= ends[1] - ends[0]:
            return None
    if len(np.unique(inner)) < POLICY.other_values:
        return None
    gaps = inner.min() - ends[0], ends[1] - inner.max()
    said = []
    for end, gap in zip(ends, gaps, strict=True):
        rows = (values == end).sum() if weight is None else weight[values == end].sum()
        if gap > 2 * span and rows >= POLICY.mark_rows:
            said.append((category_text(end), rows))
    if not said:
        return None
    shown = " and ".join(f"{text} ({rows:g} rows)" for text, rows in said)
    return Message(
        f"column {name!r} has {shown} far outside its other values: if that stands for a missing"
        " value, say so ({na}).",
        na=[text for text, _ in said],
    )


def marks_in(columns: Sequence[Column], frame: pd.DataFrame) -> dict[str, Message]:
    """Remarks on values of new rows that may stand for missing ones, by column.

    They repeat far outside the others, or are written in nines or eights far off a card's cuts.
    """
    cells = {column.feature: column.cells for column in columns}
    cuts: dict[str, list[float]] = {name: [] for name in cells}
    for column in columns:
        cuts[column.feature] += filter(math.isfinite, (column.lower, column.upper))
    said: dict[str, Message] = {}
    for name in [name for name in cells if name in frame]:
        series = read_cells(frame[name], cells[name])
        if series.dtype.kind not in "iuf":
            continue
        values = series.to_numpy(dtype=np.float64)
        values = values[np.isfinite(values)]
        remark, ends = far_value(name, values), cuts[name]
        if remark is None and ends:
            reach = 2 * max(max(ends) - min(ends), *map(abs, ends))
            far = np.unique(values[(values < min(ends) - reach) | (values > max(ends) + reach)])
            texts = map(category_text, far.tolist())
            if marks := [text for text in texts if re.fullmatch(r"-?(9+|8+)", text)]:
                remark = Message(
                    f"column {name!r} has {listing(marks)}, far from the card's cuts: if that"
                    " stands for a missing value, say so ({na}).",
                    na=marks,
                )
        if remark is not None:
            said[name] = remark
    return said


def refuse_missing(counts: dict[str, int]) -> None:
    """Raise a DataError naming the columns with missing values, if there are any."""
    if counts:
        shown = ", ".join(f"{name!r} ({count})" for name, count in list(counts.items())[:5])
        more = f" and {len(counts) - 5} more" if len(counts) > 5 else ""
        raise DataError(
            f"missing values (NaN) in column(s) {shown}{more}. Fill or drop them, or bin the"
            " columns with {missing}, which gives missing values a bin of their"
            " own.",
            missing="bin",
        )


def missing_counts(frame: pd.DataFrame) -> dict[str, int]:
    """Count the missing values of each column that has some."""
    counts = frame.isna().sum()
    return {str(name): int(count) for name, count in counts.items() if count}


def patient_codes(design: Design, patients: Any) -> IntArray | None:
    """Return the number of each row's patient, shape (n,); None if rows are of their own."""
    if patients is None:
        return None
    if design.counts is not None:
        raise NotApplicableError("the rows of this table are merged: their patients are not known")
    codes, _ = pd.factorize(np.asarray(patients))
    if codes.shape != design.y.shape or (codes < 0).any():
        raise DataError(f"{len(design.y)} rows need one patient each")
    return np.asarray(codes, dtype=np.int64)


def row_weights(sample_weight: Any, rows: int) -> FloatArray:
    """A copy of the weights, shape (n,): finite, non-negative, not all 0; ones where None."""
    if sample_weight is None:
        return np.ones(rows)
    try:
        weight: FloatArray = np.array(unmasked(sample_weight), dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(f"sample_weight must hold numbers: {error}.") from error
    if weight.shape != (rows,):
        raise DataError(
            f"sample_weight has shape {weight.shape}; one weight a row is needed, shape ({rows},)."
        )
    bad = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))
    if bad.size:
        raise DataError(
            f"{{sample_weight}} must be finite and non-negative; {places(bad.tolist())} are"
            f" not (first value: {weight[bad[0]]}). Drop these rows or set their weight to 0.",
            sample_weight=...,
        )
    if not weight.any():
        raise DataError(
            "every {sample_weight} is zero; give at least one row of each class weight.",
            sample_weight=...,
        )
    return weight


def validated_frame(estimator: Any, X: Any, *, reset: bool) -> pd.DataFrame:
    """The table under the names ``fit`` knew it by."""
    from sklearn.utils.validation import validate_data

    frame = as_frame(X, min_rows=1 if reset else 0)
    named: Any = X if hasattr(X, "shape") else frame.to_numpy()
    if hasattr(X, "columns"):
        named = frame  # its names are clean
    validate_data(estimator, named, reset=reset, skip_check_array=True)
    if reset:
        return frame
    names = getattr(estimator, "feature_names_in_", default_names(estimator.n_features_in_))
    return with_names(frame, names)


def encode_labels(y: Any, positive: Any = None) -> tuple[IntArray, tuple[Any, Any]]:
    """Code two labels as -1 and +1.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels of any type, two distinct ones.
    positive : label, optional
        The label to code as +1, as it is or as text. By default the label 1, True or yes if there
        is one, else the rarer of the two; of equally frequent ones the last in sorted order.

    Returns
    -------
    y : ndarray of int64, shape (n,)
        -1 or +1.
    classes : (negative label, positive label)
        As plain Python values where the labels are NumPy scalars.

    Raises
    ------
    DataError
        y is absent, not one-dimensional, has missing labels, has not exactly two distinct labels,
        or ``positive`` is none of them.
    """
    if (two := two_numbers(y)) is not None:
        labels = two.tolist()
        chosen = positive_label(labels, positive, lambda: [int((y == each).sum()) for each in two])
        return np.where(y == two[chosen], 1, -1).astype(np.int64), (
            labels[1 - chosen],
            labels[chosen],
        )
    column = _one_dimensional(y)
    try:
        codes, uniques = pd.factorize(column)
    except TypeError as error:
        raise DataError(
            f"Unknown label type: the labels cannot be compared ({error}). Use numbers or text."
        ) from error
    missing = np.flatnonzero(codes < 0)
    if missing.size:
        raise DataError(
            f"{{y}} has {missing.size} missing label(s) (NaN), first at "
            f"{places(missing.tolist())}. Drop these rows."
        )
    labels = [label.item() if isinstance(label, np.generic) else label for label in uniques]
    _check_two(labels, column)
    chosen = positive_label(labels, positive, lambda: np.bincount(codes).tolist())
    y_signed = np.where(codes == chosen, 1, -1).astype(np.int64)
    return y_signed, (labels[1 - chosen], labels[chosen])


def two_numbers(y: Any) -> npt.NDArray[Any] | None:
    """The labels in order, of a vector of whole numbers or booleans that holds two; else None."""
    if type(y) is not np.ndarray or y.ndim != 1 or y.dtype.kind not in "biu" or not y.size:
        return None
    ends = np.array([y.min(), y.max()])
    two = ends[0] != ends[1] and bool(((y == ends[0]) | (y == ends[1])).all())
    return ends if two else None


def _one_dimensional(y: Any) -> pd.Series[Any]:
    if y is None:
        raise DataError(
            "a score requires y to be passed, but the target y is None. Pass one label a row."
        )
    if isinstance(y, pd.Series):
        return y.reset_index(drop=True)
    array = np.asarray(unmasked(y))
    if array.dtype.kind in "US" and not hasattr(y, "dtype"):
        array = np.asarray(y, dtype=object)  # a list of 1 and "1" must not turn into text
    if array.ndim == 2 and array.shape[1] == 1:
        from sklearn.exceptions import DataConversionWarning

        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. Pass y.ravel().",
            DataConversionWarning,
            stacklevel=4,
        )
        array = array.ravel()
    if array.ndim != 1:
        raise DataError(f"y should be a 1d array, got an array of shape {array.shape} instead.")
    return pd.Series(array)


def _check_two(labels: list[Any], column: pd.Series[Any]) -> None:
    if len(labels) > 2:
        floating = any(isinstance(label, float) and not label.is_integer() for label in labels)
        kind = "continuous" if floating else "multiclass"
        unknown = "Unknown label type: continuous. " if floating else ""
        raise DataError(
            f"{unknown}Only binary classification is supported. The type of the target is {kind}:"
            f" {len(labels)} distinct labels ({listing(labels)}). Choose one label to score, for"
            " example y == label, or keep the rows of two labels."
        )
    if len(labels) < 2:
        found = listing(labels) if labels else "none"
        raise DataError(
            f"{{y}} has {len(column)} row(s) and {len(labels)} class(es) ({found}); a score needs"
            " both classes. Check the target column, or the filter the rows come from."
        )
    if any(isinstance(label, float) and np.isinf(label) for label in labels):
        raise DataError("Input y contains infinity (inf). Use two finite labels.")


_YES = ("1", "true", "yes", "y", "t", "positive", "pos", "present")
"""Labels that are scored wherever they stand beside another."""


def positive_label(labels: list[Any], positive: Any, count: Callable[[], Sequence[int]]) -> int:
    """Position of the positive label among the two; ``count`` gives the rows of each."""
    texts = [category_text(label) for label in labels]
    if positive is not None:
        chosen = _find(positive, labels)
        if chosen is None:
            raise DataError(
                f"{{positive}} is not a label; {near_matches(str(positive), texts, 'labels')}",
                positive=positive,
            )
        return chosen
    said = [text.strip().casefold() in _YES for text in texts]
    if said[0] != said[1]:
        return said.index(True)
    rows = count()
    if rows[0] != rows[1]:
        return 0 if rows[0] < rows[1] else 1
    try:
        return 0 if labels[0] > labels[1] else 1
    except TypeError:
        return 0 if texts[0] > texts[1] else 1


def _find(wanted: Any, labels: Sequence[Any]) -> int | None:
    """Position of a label given as itself (1 and True are one label) or as text."""
    texts, text = [category_text(label) for label in labels], category_text(wanted)
    same = next((k for k, label in enumerate(labels) if bool(label == wanted)), None)
    return texts.index(text) if same is None and texts.count(text) == 1 else same


def class_weights(
    class_weight: Mapping[Any, float] | str | None,
    codes: IntArray,
    weight: FloatArray,
    classes: Sequence[Any],
) -> FloatArray:
    """Multiply class weights into sample weights; a code is a place in ``classes``."""
    exact = class_factors(class_weight, codes, weight, classes)
    weighted: FloatArray = weight * np.array([float(factor) for factor in exact])[codes]
    return weighted


def class_factors(
    class_weight: Mapping[Any, float] | str | None,
    codes: IntArray,
    weight: FloatArray,
    classes: Sequence[Any],
) -> tuple[Fraction, ...]:
    """Return the exact class weights; DataError where a class is left without any weight."""
    totals = np.array([weight[codes == k].sum() for k in range(len(classes))])
    factors = np.ones(len(classes))
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise DataError(
                f"class_weight={class_weight!r} is unknown; use None, 'balanced', or a dict"
                " from label to weight."
            )
        _check_weighted(totals, classes)
        sums = [_exact_sum(weight[codes == k]) for k in range(len(classes))]
        return tuple(sum(sums) / (len(classes) * each) for each in sums)
    if class_weight is not None:
        factors = _factors(class_weight, classes)
    _check_weighted(totals * factors, classes)
    return tuple(map(as_fraction, factors.tolist()))


def _exact_sum(weight: FloatArray) -> Fraction:
    """Return the sum of weights, each read as the decimal it prints as."""
    each, count = np.unique(weight, return_counts=True)
    pairs = zip(each.tolist(), count.tolist(), strict=True)
    return sum((as_fraction(value) * times for value, times in pairs), Fraction(0))


def _factors(class_weight: Mapping[Any, float], classes: Sequence[Any]) -> FloatArray:
    if not isinstance(class_weight, Mapping):
        raise DataError("class_weight must be None, 'balanced', or a dict from label to weight.")
    factors = np.ones(len(classes))
    for label, value in class_weight.items():
        place = _find(label, classes)
        if place is None:
            raise DataError(
                f"class_weight names {label!r};"
                f" {near_matches(str(label), [*map(category_text, classes)], 'labels')}"
            )
        try:
            factors[place] = value
        except (TypeError, ValueError, OverflowError) as error:
            raise DataError(f"class_weight of {label!r} is {value!r}; use a number.") from error
        if not np.isfinite(factors[place]) or factors[place] < 0:
            raise DataError(
                f"class_weight of {label!r} is {value!r}; use a finite number that is not negative."
            )
    return factors


def _check_weighted(totals: FloatArray, classes: Sequence[Any]) -> None:
    for total, label in zip(totals, classes, strict=True):
        if not total > 0:
            raise DataError(
                f"class {label!r} has no row of positive weight; a score needs both classes."
                " Change {sample_weight} or {class_weight}.",
                sample_weight=...,
                class_weight=...,
            )
