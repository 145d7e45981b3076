"""A table is read and becomes a checked Design; doubled features."""

from __future__ import annotations

import codecs
import csv
import hashlib
import re
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from milpscore.core.design import Column, Design, FloatArray
from milpscore.core.errors import DataError, OptionError, listing, near_matches, places
from milpscore.data.cells import (
    Writing,
    are_codes,
    folded_labels,
    in_threes,
    is_code,
    may_be_thousands,
    noted,
    questioned,
    said_of,
    with_cells,
    without_marks,
)
from milpscore.data.checking import (
    as_frame,
    check_size,
    class_factors,
    encode_labels,
    far_value,
    missing_counts,
    not_surely_numbers,
    odd_text,
    reading_remarks,
    refuse_missing,
    row_weights,
    with_named_features,
    with_names,
)
from milpscore.data.columns import (
    column_values,
    numeric_column,
    raw_columns,
    refuse_equal_names,
    step_columns,
)
from milpscore.data.sources import PACKED, excel_frame, frame_of, is_excel, is_file, is_table
from milpscore_check.cells import tidy_names

Source: TypeAlias = Any
Missing = Literal["error", "bin"]

_SHORT = "fewer fields than the header"
_TIDIED = "milpscore.tidied"
"""A note on a DataFrame: names that were made, with what stood in the header."""


def read_frame(
    source: Source,
    *,
    decimal: str = ".",
    encoding: str = "utf-8",
    na: Sequence[str] = (),
    thousands: str | None = None,
    as_spelled: bool = False,
    sheet: str | None = None,
    as_text: Collection[str] = (),
    unmarked: str | None = None,
) -> pd.DataFrame:
    """Read a table with clean column names.

    A column without a name is called after its place, "#8", and one whose name is used again is
    numbered, "SBP.2". Numbers in disguise ("17.0%", "€ 1,200", "<5") stay text here: a design of
    the table reads them, and its columns remember how.

    Parameters
    ----------
    source : path, DataFrame, or table of Arrow, Polars or DuckDB
        Parquet is a file, a folder, or several files named with ``*``; several, and tables of other
        libraries, need ``milpscore[scale]``. A CSV file has one header line and commas, semicolons
        or tabs between its fields. Empty fields are missing values, as are the usual marks
        (``NA``, ``nan``, ``null``). Excel (``.xlsx``) needs ``milpscore[excel]``.
    decimal : {".", ","}
        What stands before the decimals in a file.
    encoding : str
        Of a file, by Python's name; a byte-order mark is left out of UTF-8.
    na : sequence of str
        What else stands for a missing value, such as "-999" or "n/k".
    thousands : str, optional
        What stands between thousands, where the numbers themselves do not show it.
    as_spelled : bool
        Categories that differ in blanks or capitals alone stay apart.
    sheet : str, optional
        Of a workbook; by default the first.
    as_text : collection of str
        Columns of a CSV file to be read as text.
    unmarked : str, optional
        The column in which ``na`` stands for nothing else: that of the labels.

    Returns
    -------
    DataFrame
        Names are text without blanks at either end.

    Raises
    ------
    DataError
        The file cannot be read, or its lines have more fields than its header.
    OptionError
        ``decimal`` or ``encoding`` is unknown.
    MissingDependencyError
        The package that reads such a file is not installed.
    """
    if decimal not in {".", ","}:
        raise OptionError("{decimal} is unknown; use '.' or ','", decimal=decimal)
    _codec(encoding)
    remarks: list[str] = []
    if is_excel(source):
        frame = excel_frame(source, sheet)
    elif is_file(source) or is_table(source):
        frame = frame_of(source)
    elif isinstance(source, pd.DataFrame):
        frame = source
    else:
        frame, remarks = _read_csv(source, decimal, encoding, as_text, thousands)
    names = ["" if pd.isna(name) else str(name) for name in frame.columns]
    tidy = tidy_names(names)
    if tidy != [name.strip() for name in names]:
        frame = with_names(frame, tidy)
    found = as_frame(frame)
    for name in found.columns if na else ():
        if unmarked is not None and name == _known(unmarked, tidy):
            continue
        if (plain := without_marks(found[name], na)) is not found[name]:
            found = found.assign(**{name: plain})
    found.attrs = {
        **found.attrs,
        _TIDIED: {
            new: old.strip() for old, new in zip(names, tidy, strict=True) if old.strip() != new
        },
    }
    return noted(found, *remarks, writing=Writing(tuple(na), thousands, as_spelled, decimal))


def _read_csv(
    source: Any, decimal: str, encoding: str, as_text: Collection[str], thousands: str | None
) -> tuple[pd.DataFrame, list[str]]:
    """A CSV file with its names as they are written, ``as_text`` as text; remarks."""
    if Path(source).exists() and not Path(source).is_file():
        raise DataError(f"{str(source)!r} can be read only once: save what it gives in a file")
    try:
        codec, sep, names = header_of(source, encoding)
        file: dict[str, Any] = {"index_col": False, "encoding": codec, "sep": sep}
        known = tidy_names(names)
        texts = [k for k, n in enumerate(known) if n in as_text or is_code(n)]
        texts += coded_columns(source, file)
        with warnings.catch_warnings():
            # pandas drops surplus fields with a warning, or takes the first ones as row names.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(
                source, low_memory=False, decimal=decimal, dtype=dict.fromkeys(texts, str), **file
            )
            if decimal == "." and (parted := _in_threes(source, frame, file, thousands == ".")):
                plain = pd.read_csv(source, usecols=parted, dtype=str, **file)
                for place, k in enumerate(parted):
                    frame.isetitem(k, plain.iloc[:, place])
    except OSError as error:
        raise DataError(
            f"cannot read {str(source)!r}: {error.strerror}. Check the path."
        ) from error
    except UnicodeDecodeError as error:
        raise DataError(
            f"{str(source)!r} is not in {encoding.upper()} (byte"
            f" {error.object[error.start]:#04x}). Save it as UTF-8, or say what it is in, often"
            " {encoding} or 'latin-1'.",
            encoding="cp1252",
        ) from error
    except (ValueError, pd.errors.ParserWarning) as error:  # parser errors are ValueErrors
        said = " ".join(str(error).split())
        if "fields" in said or isinstance(error, pd.errors.ParserWarning):
            said = _ragged(source, codec, sep, len(names), longer=True) or said
        raise DataError(
            f"cannot read {str(source)!r} as CSV: {said}. Check the header, the separator and the"
            " quotes."
        ) from error
    if frame.empty:
        raise DataError(
            f"{str(source)!r} has a header and no rows below it: give a table with rows"
        )
    short = frame.iloc[:, -1].isna().any() and _ragged(source, codec, sep, len(names), longer=False)
    # pandas would turn a second "a" into "a.1" and no name into "Unnamed: 0".
    return with_names(frame, names), [f"{short}; what they lack is missing."] if short else []


def _in_threes(source: Any, frame: pd.DataFrame, file: Mapping[str, Any], asked: bool) -> list[int]:
    """The columns whose decimals may be thousands: three digits stand behind every point."""
    rows = None if asked else 1000  # these decide
    values = {
        k: frame.iloc[:rows, k].to_numpy()
        for k, kind in enumerate(frame.dtypes)
        if kind.kind == "f" and may_be_thousands(frame.iloc[:rows, k].to_numpy(), True)
    }
    words = [k for k, kind in enumerate(frame.dtypes) if values and kind.kind not in "iufb"]
    first = (frame.iloc[:1000, k].dropna().astype(str) for k in words)
    decimals = r"[+-]?\d+,(?:\d\d?|\d{4,})"
    commas = asked or any(len(own) and own.str.fullmatch(decimals).mean() > 0.5 for own in first)
    maybe = [k for k, own in values.items() if may_be_thousands(own, commas)]
    if not maybe:
        return []
    texts = pd.read_csv(source, usecols=maybe, nrows=rows, dtype=str, **file)
    return [k for j, k in enumerate(maybe) if in_threes(texts.iloc[:, j].dropna().unique())]


def coded_columns(source: Any, file: Mapping[str, Any]) -> list[int]:
    """The columns of a CSV file whose first values are codes: digits of one width, some from 0."""
    with Path(source).open("rb") as lines:
        if re.search(rb'[,;\t"\n]0\d', lines.read(1 << 16)) is None:
            return []
    with warnings.catch_warnings():  # who reads all of it says which lines are too long
        warnings.simplefilter("ignore", pd.errors.ParserWarning)
        first = pd.read_csv(source, nrows=1000, dtype=str, **file)
    return [k for k in range(first.shape[1]) if are_codes(first.iloc[:, k].dropna().unique())]


def _ragged(source: Any, codec: str, sep: str, width: int, *, longer: bool) -> str:
    """The lines of a file with more, or fewer, fields than its header, in words."""
    if Path(source).suffix in PACKED:
        return "lines have more fields than the header has names" if longer else ""
    odd = []
    with Path(source).open(encoding=codec, newline="") as lines:
        begins = 1
        for row in (records := csv.reader(lines, delimiter=sep)):
            if row and (len(row) > width if longer else len(row) < width):
                odd.append(f"line {begins} has {len(row)}")
            begins = records.line_num + 1
    more = f" and {len(odd) - 3} more lines" if len(odd) > 3 else ""
    kind = "more fields than the header has names" if longer else _SHORT
    return f"{kind} ({width}): {', '.join(odd[:3])}{more}" if odd else ""


def header_of(source: Any, encoding: str) -> tuple[str, str, list[str]]:
    """The codec of a CSV file, what parts its fields, and its names as they are written."""
    codec = _codec(encoding)
    separator = _separator(source, codec)
    line: dict[str, Any] = {"header": None, "nrows": 1, "dtype": str, "encoding": codec}
    names = pd.read_csv(source, keep_default_na=False, sep=separator, **line)
    return codec, separator, names.iloc[0].tolist()


def _codec(encoding: str) -> str:
    """The name of a known encoding, a byte-order mark read over."""
    try:
        name = codecs.lookup(encoding).name
    except LookupError:
        raise OptionError(
            "{encoding} is unknown; use 'utf-8', 'cp1252', 'latin-1' or 'utf-16'",
            encoding=encoding,
        ) from None
    return "utf-8-sig" if name == "utf-8" else name


def _separator(source: Any, codec: str) -> str:
    """What parts the fields: the sign that is most frequent in the header."""
    line: dict[str, Any] = {"header": None, "nrows": 1, "dtype": str, "encoding": codec}
    first = str(pd.read_csv(source, sep="\0", quoting=3, **line).iloc[0, 0])
    return max(",;\t", key=first.count)


def read_table(
    source: Source,
    target: str,
    *,
    positive: Any = None,
    ordered: bool = False,
    missing: Missing = "bin",
    weights: str | None = None,
    drop: Sequence[str] = (),
    features: Sequence[str] | None = None,
    **written: Any,
) -> tuple[Any, ...]:
    """Read a table and split it into features and labels.

    Parameters
    ----------
    source : path, DataFrame, or table of another library
        As for :func:`read_frame`. :func:`read_patterns` reads what is too large for memory.
    target : str
        Name of the column with the labels: two distinct ones, or more with ``positive``.
    positive : label, optional
        Checked to be one of the labels; y keeps two labels as they are. With three and more this
        one stands against the rest: y holds it and "not" it, as text.
    ordered : bool
        Labels are ordered classes and stay as they are, however many; without ``positive``.
    missing : {"error", "bin"}
        ``"error"`` refuses missing feature values; ``"bin"`` lets them pass, for a ``Binner`` with
        ``missing="bin"``.
    weights : str, optional
        Name of a column of sample weights, which is then no feature.
    drop : sequence of str
        Names of columns that are no features: identifiers, what is known too late; "#8" is the
        eighth column.
    features : sequence of str, optional
        Names of the features, in this order; default: all columns that have no other use, but those
        without name and value, and copies of a column of the same name.
    **written
        How the table is written, as for :func:`read_frame`: ``decimal``, ``encoding``, ``na``, ...

    Returns
    -------
    X : DataFrame of shape (n, p)
    y : Series of shape (n,)
    sample_weight : Series of shape (n,)
        Only where ``weights`` is given.

    Raises
    ------
    DataError
        The file cannot be read, a named column is not there (near matches are listed) or has two
        uses, there is no feature left, a label or weight is missing (lines are counted as in the
        file), the labels are not two, or values are missing.
    OptionError
        ``missing``, ``decimal`` or ``encoding`` is unknown.
    """
    if missing not in {"error", "bin"}:
        raise OptionError("{missing} is unknown; use 'error' or 'bin'.", missing=missing)
    frame = read_frame(source, **written, unmarked=target)
    encoding = written.get("encoding", "utf-8")
    taken, named = uses(list(frame.columns), target, weights, drop, features)
    if features is None:
        named = _without_spare(frame, named)
    y, weight = frame[taken[0]], frame[taken[-1]]
    short = next((each for each in said_of(frame) if each.startswith(_SHORT)), "")
    refuse_lines(source, y, y.isna(), "missing label(s)", encoding, short)
    if weights is not None:
        numbers = pd.to_numeric(weight, errors="coerce")
        bad = ~(numbers >= 0) | np.isinf(numbers)
        refuse_lines(source, weight, bad, "value(s) that can be no weight", encoding)
    if not ordered:
        y, said = (y, []) if written.get("as_spelled") else folded_labels(y)
        y = one_against_rest(y, positive, said)
        noted(frame, *said)
        encode_labels(y, positive)
    X = with_named_features(as_frame(frame[named]), None if features is None else named)
    if missing == "error":
        refuse_missing(missing_counts(X))
    return (X, y) if weights is None else (X, y, weight)


def _known(name: Any, names: Sequence[str]) -> str:
    """The clean name that a given one means: "#8" is the eighth."""
    text = str(name).strip()
    place = int(text[1:]) if re.fullmatch(r"#\d{1,6}", text) and text not in names else 0
    return names[place - 1] if 0 < place <= len(names) else text


def uses(
    names: Sequence[str],
    target: str,
    weights: str | None,
    drop: Sequence[str],
    features: Sequence[str] | None,
) -> tuple[list[str], list[str]]:
    """Labels' and weights' columns, and the features, of a table with clean names."""
    taken = [_known(name, names) for name in (target, weights) if name is not None]
    left_out = list(dict.fromkeys(_known(name, names) for name in drop))
    wanted = None if features is None else [_known(name, names) for name in features]
    for name in [*taken, *left_out, *(wanted or ())]:
        if name not in names:
            raise DataError(f"there is no column {name!r}; {near_matches(name, names)}")
    if len(set(taken)) < len(taken):
        raise DataError(f"column {target!r} cannot hold both the labels and the weights.")
    for name in [*left_out, *(wanted or ())]:
        if name in taken or (name in left_out and name in (wanted or ())):
            raise DataError(f"column {name!r} is named for two uses: keep one")
    if wanted is None:
        wanted = [name for name in names if name not in taken and name not in left_out]
    if not wanted:
        raise DataError(f"no column is left for features beside {listing([*taken, *left_out])}")
    return taken, wanted


def _without_spare(frame: pd.DataFrame, named: Sequence[str]) -> list[str]:
    """Features less nameless columns without values and copies under a name used again."""
    tidied: Mapping[str, str] = frame.attrs.get(_TIDIED, {})
    nameless = [name for name in named if tidied.get(name) == ""]
    empty = [name for name in nameless if frame[name].isna().all()]
    refuse_nameless([name for name in nameless if name not in empty])
    copies: dict[str, str] = {}
    for name in [name for name in named if tidied.get(name)]:
        alike = [o for o in named if tidied.get(o, o) == tidied[name] and o not in (name, *copies)]
        if same := [old for old in alike if frame[old].equals(frame[name])]:
            copies[name] = same[0]
    said = [f"column(s) without name and value: {listing(empty)}"] if empty else []
    said += [f"{name!r}, a copy of {old!r}" for name, old in copies.items()]
    if said:
        noted(frame, f"left out: {'; '.join(said)}.")
    if numbered := [name for name in named if tidied.get(name) and name not in copies]:
        noted(frame, f"column name(s) used again are numbered: {listing(numbered)}.")
    return [name for name in named if name not in (*empty, *copies)]


def used_again(frame: pd.DataFrame, features: Collection[str]) -> list[str]:
    """What is said of further columns under the names of features."""
    tidied: Mapping[str, str] = frame.attrs.get(_TIDIED, {})
    names = [name for name, old in tidied.items() if old in features]
    return [f"column name(s) used again are numbered: {listing(names)}."] if names else []


def refuse_nameless(names: Sequence[str]) -> None:
    """DataError for features that are named after their places, as "#3", and have values."""
    if names:
        raise DataError(
            f"column number {', '.join(name[1:] for name in names)} has no name. If it is a row"
            f" index, drop it (--drop {','.join(names[:3])}); otherwise give it a name."
        )


def one_against_rest(y: pd.Series[Any], positive: Any, said: Sequence[str] = ()) -> pd.Series[Any]:
    """Labels of three and more classes as the positive one and the rest; two stay as they are.

    ``said`` is what was said of their spellings.
    """
    texts = {str(label): label for label in y.unique().tolist()}
    shown = listing(texts, 8)
    if len(texts) < 2:
        raise DataError(
            f"column {y.name!r} holds {shown} in all {len(y)} row(s), and a score needs two labels:"
            f" {' '.join(['check the column, or the filter the rows come from.', *said])}"
        )
    if len(texts) > 2 and positive is None:
        raise DataError(
            f"column {y.name!r} has {len(texts)} distinct labels, {shown}: a score needs two. Name"
            " the one to score against all others with {positive}=LABEL, fit ordered classes by the"
            " formulation 'ordinal', or give another column.",
            positive=...,
        )
    if len(texts) == 2:
        return y
    if str(positive) not in texts:
        raise DataError(
            f"{{positive}} is not a label of {y.name!r}; there are {shown}", positive=positive
        )
    rest = f"not {positive}"
    return y.astype(str).where(y.astype(str) == str(positive), rest)


def refuse_lines(
    source: Source, column: pd.Series[Any], bad: pd.Series[Any], what: str, encoding: str,
    why: str = "",
) -> None:  # fmt: skip
    """Refuse a column with bad rows, named by lines of the file; ``why`` is said of these."""
    rows = np.flatnonzero(bad.to_numpy())
    if not rows.size:
        return
    first = column.iloc[rows[0]]
    what += "" if pd.isna(first) else f", as {first}"
    if not isinstance(source, str | PathLike):
        where = places(rows.tolist())
    elif is_file(source) or Path(source).suffix in PACKED:  # no lines that an editor counts
        where = f"row(s) {listing((rows + 1).tolist())} (counted from 1)"
    else:
        where = f"line of the file {listing(_file_lines(source, rows, encoding))}"
    raise DataError(
        f"column {column.name!r} has {rows.size} {what}, in {where}: fill in, or drop these rows."
        + (f" The file has {why}" if why else "")
    )


def _file_lines(source: Any, rows: npt.NDArray[np.intp], encoding: str) -> list[int]:
    """The line of a file in which each row of its table begins: blank and folded lines count."""
    wanted, found, row, begins = set(rows.tolist()), [], -1, 1
    codec = _codec(encoding)
    with Path(source).open(encoding=codec, newline="") as lines:
        records = csv.reader(lines, delimiter=_separator(source, codec))
        for record in records:
            if record:  # pandas leaves blank lines out
                if row in wanted:
                    found.append(begins)
                row += 1
            begins = records.line_num + 1
    return found


def make_design(
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    class_weight: Mapping[Any, float] | str | None = None,
    positive: Any = None,
    columns: Sequence[Column] | None = None,
    blocks: Sequence[Sequence[int]] | None = None,
) -> Design:
    """Check a table with its labels and put it in the form the formulations read.

    Numeric columns are used as they are. Boolean, text and categorical columns become one column
    a category. Missing and infinite values are refused.

    Parameters
    ----------
    X : DataFrame, array, scipy sparse matrix or list of rows, shape (n, p)
        Raw data, or with ``columns`` the values of these columns.
    y : array-like of shape (n,)
        Two distinct labels of any type.
    sample_weight : array of shape (n,), optional
        Finite, non-negative. Rows of weight 0 stay in the design and count for nothing.
    class_weight : None, "balanced", or mapping of label to weight
        Multiplied into the sample weights; ``"balanced"`` is ``n / (2 n_c)`` with rows counted by
        their sample weights.
    positive : label, optional
        The label to score; by default 1, True or yes, else the rarer one.
    columns : sequence of Column, length p, optional
        What the columns of X are, where X is already binned (``Binner.columns_``).
    blocks : sequence of sequences of int, optional
        The ordered bins of each binned feature as column positions (``Binner.blocks_``).

    Returns
    -------
    Design
        Its ``warnings`` name constant and duplicate columns and suspicious text columns; all of
        these are legal.

    Raises
    ------
    DataError
        The data cannot be used as given; the message names the columns or rows.
    SizeError
        The dense matrix would not fit.
    """
    frame = as_frame(X)
    labels = classed(y, len(frame), sample_weight, class_weight, positive)
    remarks: list[str] = []
    if columns is None:
        frame = questioned(frame)
        columns = with_cells(raw_columns(frame), frame)
        refuse_equal_names(columns)
        values = column_values(columns, frame)
        remarks += reading_remarks(frame)
        unsure = not_surely_numbers(frame)
        remarks += [text for name in unsure if (text := odd_text(frame[name]))]
        plain = ((values == 0.0) | (values == 1.0)).all(axis=0)
        numbers = [(c.feature, values[:, j]) for j, c in enumerate(columns)
                   if c.kind == "numeric" and not plain[j]]  # fmt: skip
        remarks += [text for each in numbers if (text := far_value(*each))]
    else:
        values = _given_values(frame, columns)
    ordered = _checked_blocks(blocks or (), len(columns))
    remarks += doubts(values, columns)
    return Design(values, columns=tuple(columns), blocks=ordered, warnings=tuple(remarks), **labels)


def classed(
    y: Any, rows: int, sample_weight: Any, class_weight: Any = None, positive: Any = None
) -> dict[str, Any]:
    """Return a design's ``y``, ``weight``, ``classes`` and ``class_factors``."""
    y_signed, classes = encode_labels(y, positive)
    if len(y_signed) != rows:
        raise DataError(
            f"X has {rows} rows but y has {len(y_signed)} labels;"
            " inconsistent numbers of samples. Pass one label for each row."
        )
    codes, weight = (y_signed > 0).astype(np.int64), row_weights(sample_weight, rows)
    factors = class_factors(class_weight, codes, weight, classes)
    return {
        "y": y_signed, "weight": weight * np.array([float(factor) for factor in factors])[codes],
        "classes": classes, "class_factors": factors,
    }  # fmt: skip


def doubts(values: FloatArray, columns: Sequence[Column]) -> list[str]:
    """What should be said of columns of one value, and of those that repeat others."""
    names = [column.name for column in columns]
    constant = np.flatnonzero(values.min(axis=0) == values.max(axis=0)).tolist()
    said = _duplicates(values, names)
    if constant:
        named = listing(names[j] for j in constant)
        said.insert(0, f"constant column(s), of no use to a score: {named}")
    return said


def _given_values(frame: pd.DataFrame, columns: Sequence[Column]) -> FloatArray:
    """Values of columns that were computed already, checked against what they claim to be."""
    if frame.shape[1] != len(columns):
        raise DataError(
            f"X has {frame.shape[1]} columns but {len(columns)} were described by columns=;"
            " pass the output of Binner.transform with the same Binner's columns_."
        )
    refuse_equal_names(columns)
    check_size(*frame.shape, "the design")
    values = column_values([numeric_column(str(name)) for name in frame.columns], frame)
    indicators = [j for j, column in enumerate(columns) if column.is_indicator]
    odd = ~np.isin(values[:, indicators], (0.0, 1.0)).all(axis=0)
    if odd.any():
        wrong = [columns[indicators[k]].name for k in np.flatnonzero(odd).tolist()]
        raise DataError(
            f"column(s) {listing(wrong)} must be 0 or 1 but hold other values;"
            " pass the output of Binner.transform, not the raw data."
        )
    return values


def _checked_blocks(blocks: Sequence[Sequence[int]], count: int) -> tuple[tuple[int, ...], ...]:
    """Blocks as tuples; each column in one block at most."""
    checked = tuple(tuple(int(j) for j in block) for block in blocks)
    flat = [j for block in checked for j in block]
    if len(set(flat)) != len(flat) or any(not 0 <= j < count for j in flat):
        raise DataError(
            f"blocks must hold column positions from 0 to {count - 1}, each at most once;"
            f" got {checked}."
        )
    if any(not block for block in checked):
        raise DataError("a block is empty; leave it out.")
    return checked


def _duplicates(values: FloatArray, names: Sequence[str]) -> list[str]:
    """Name the columns that repeat an earlier one."""
    # sums of bits wrap round exactly in any order: only columns that share one can be equal, and
    # some rows tell nearly all apart
    some = values[:: max(len(values) // 1000, 1)] + 0.0  # -0.0 is 0.0
    bits = some.view(np.uint64)
    factors = np.random.default_rng(0).integers(0, 2**64, len(bits), np.uint64)
    sums = np.einsum("i,ij->j", factors, bits)
    _, group, size = np.unique(sums, return_inverse=True, return_counts=True)
    first: dict[bytes, str] = {}
    pairs: list[str] = []
    for j in np.flatnonzero(size[group] > 1).tolist():
        name = names[j]
        original = first.setdefault(hashlib.blake2b((values[:, j] + 0.0).tobytes()).digest(), name)
        if original is not name:
            pairs.append(f"{name!r} equals {original!r}")
    if not pairs:
        return []
    more = f" and {len(pairs) - 5} more" if len(pairs) > 5 else ""
    return [f"duplicate column(s): {', '.join(pairs[:5])}{more}"]


def double_features(X: npt.ArrayLike) -> FloatArray:
    """Double every feature: (x_1, -x_1, ..., x_p, -x_p).

    Chevaleyre, Koriche and Zucker (2013), section 2: a learner of weights in {0, 1} on the doubled
    features learns weights in {-1, 0, 1} on the features; :func:`undouble` reads them back.

    Parameters
    ----------
    X : array of numbers, shape (n, p)

    Returns
    -------
    ndarray of float64, shape (n, 2p)

    Raises
    ------
    DataError
        X is not a matrix.
    """
    values: FloatArray = np.asarray(X, dtype=np.float64)
    if values.ndim != 2:
        raise DataError(f"X has {values.ndim} dimension(s), not 2; pass one row per sample.")
    doubled: FloatArray = np.stack([values, -values], axis=2).reshape(len(values), -1)
    return doubled


def undouble(weights: npt.ArrayLike) -> npt.NDArray[Any]:
    """Weights on the features from weights on the doubled features: c_i = c'_{2i-1} - c'_{2i}.

    Parameters
    ----------
    weights : array of shape (2p,) or (..., 2p)

    Returns
    -------
    ndarray of shape (p,) or (..., p)
        Whole numbers stay whole.

    Raises
    ------
    DataError
        The last dimension is odd.
    """
    doubled = np.asarray(weights)
    if doubled.ndim == 0 or doubled.shape[-1] % 2:
        raise DataError(
            f"weights have shape {doubled.shape}; their last dimension must be even,"
            " two weights for each feature."
        )
    if doubled.dtype.kind in "bu":
        doubled = doubled.astype(np.int64)  # unsigned differences would wrap around
    return np.asarray(doubled[..., 0::2] - doubled[..., 1::2])


def in_steps(design: Design) -> Design:
    """The same rows by cuts in place of bins.

    The bins of a block become a column "feature >= cut" for each bin but the first. Points of the
    bins, the first having none, are sums of the points of the cuts below them, so that both kinds
    of columns make the same cards; jumps between neighbouring bins are the points of the cuts.
    Categories have no order and stay columns of their own; of two the first is left out.

    Parameters
    ----------
    design : Design

    Returns
    -------
    Design
        Without blocks; itself where it has none.

    Raises
    ------
    DataError
        A block holds other columns than bins or categories, or no two of either.
    """
    if not design.blocks:
        return design
    first = {block[0]: block for block in design.blocks}
    inside = {j for block in design.blocks for j in block}
    columns: list[Column] = []
    values: list[FloatArray] = []
    for j, column in enumerate(design.columns):
        if j not in inside:
            columns.append(column)
            values.append(design.X[:, j])
        for own, value in _steps_of(design, first.get(j, ())):
            columns.append(own)
            values.append(value)
    refuse_equal_names(columns)
    if not columns:
        raise DataError("every feature has one bin only: there is nothing to cut")
    return replace(design, X=np.column_stack(values), columns=tuple(columns), blocks=())


def _steps_of(design: Design, block: Sequence[int]) -> list[tuple[Column, FloatArray]]:
    """The columns in the place of a block, and their values."""
    bins = [design.columns[j] for j in block]
    kinds = {column.kind for column in bins}
    if kinds == {"category"}:
        if len(bins) != 2:
            return [(column, design.X[:, j]) for j, column in zip(block, bins, strict=True)]
        known = (*bins[1].others, *bins[0].others, str(bins[0].category))
        return [(replace(bins[1], others=known), design.X[:, block[1]])]
    lowers = [column.lower for column in bins]
    if kinds - {"interval"} or lowers != sorted(lowers):
        raise DataError(
            f"{listing(column.name for column in bins)}: a block of bins holds intervals in order;"
            " make the design with milpscore.data.Binner"
        )
    above = np.cumsum(design.X[:, list(block)][:, ::-1], axis=1)[:, ::-1]
    made = step_columns(bins[0].feature, lowers[1:]) if bins else []
    made = [replace(column, cells=bins[0].cells) for column in made]
    return [(column, above[:, k + 1]) for k, column in enumerate(made)]
