"""A CSV file or DataFrame becomes a table of features and a column of labels."""

from __future__ import annotations

import warnings
from os import PathLike
from typing import Any, Literal, overload

import pandas as pd

from milpscore.core.errors import DataError, OptionError
from milpscore.data.checking import (
    as_frame,
    missing_counts,
    near_matches,
    refuse_missing,
    with_names,
)
from milpscore.data.labels import encode_labels

Source = str | PathLike[str] | pd.DataFrame
Missing = Literal["error", "bin"]


def read_frame(source: Source) -> pd.DataFrame:
    """Read a table with clean column names.

    Parameters
    ----------
    source : path of a CSV file, or DataFrame
        A file has one header line and commas, semicolons or tabs between its fields, in UTF-8.
        Empty fields are missing values, as are the usual marks (``NA``, ``nan``, ``null``).

    Returns
    -------
    DataFrame
        Names are text without blanks at either end.

    Raises
    ------
    DataError
        The file cannot be read, its lines have more fields than its header, or a column has no
        name or one that is used twice.
    """
    if isinstance(source, pd.DataFrame):
        return as_frame(source)
    try:
        line: dict[str, Any] = {"header": None, "nrows": 1, "dtype": str, "encoding": "utf-8-sig"}
        first = str(pd.read_csv(source, sep="\0", quoting=3, **line).iloc[0, 0])
        separator = max(",;\t", key=first.count)
        names = pd.read_csv(source, sep=separator, keep_default_na=False, **line)
        with warnings.catch_warnings():
            # pandas drops surplus fields with a warning, or takes the first ones as row names.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(
                source, sep=separator, encoding="utf-8-sig", index_col=False, low_memory=False
            )
    except pd.errors.ParserWarning as error:
        raise DataError(
            f"{str(source)!r} has lines with more fields than the header has names;"
            " add the missing names, or quote fields that hold the separator."
        ) from error
    except OSError as error:
        raise DataError(
            f"cannot read {str(source)!r}: {error.strerror}. Check the path."
        ) from error
    except UnicodeDecodeError as error:
        raise DataError(
            f"{str(source)!r} is not in UTF-8 (byte {error.object[error.start]:#04x}). Save it as "
            "UTF-8, or read it yourself and pass the DataFrame."
        ) from error
    except ValueError as error:  # pandas' parser errors are ValueErrors
        raise DataError(
            f"cannot read {str(source)!r} as CSV: {' '.join(str(error).split())}."
            " Check the header, the separator and the quotes."
        ) from error
    # pandas would turn a second "a" into "a.1" and no name into "Unnamed: 0".
    return as_frame(with_names(frame, names.iloc[0].tolist()))


@overload
def read_table(
    source: Source, target: str, *, positive: Any = ..., missing: Missing = ..., weights: None = ...
) -> tuple[pd.DataFrame, pd.Series[Any]]: ...


@overload
def read_table(
    source: Source, target: str, *, positive: Any = ..., missing: Missing = ..., weights: str
) -> tuple[pd.DataFrame, pd.Series[Any], pd.Series[Any]]: ...


def read_table(
    source: Source,
    target: str,
    *,
    positive: Any = None,
    missing: Missing = "error",
    weights: str | None = None,
) -> tuple[Any, ...]:
    """Read a table and split it into features and labels.

    Parameters
    ----------
    source : path of a CSV file, or DataFrame
        As for :func:`read_frame`.
    target : str
        Name of the column with the labels, two distinct ones.
    positive : label, optional
        Checked to be one of the two labels; y keeps the labels as they are.
    missing : {"error", "bin"}
        ``"error"`` refuses missing feature values; ``"bin"`` lets them pass, for a ``Binner`` with
        ``missing="bin"``.
    weights : str, optional
        Name of a column of sample weights, which is then no feature.

    Returns
    -------
    X : DataFrame of shape (n, p)
    y : Series of shape (n,)
    sample_weight : Series of shape (n,)
        Only where ``weights`` is given.

    Raises
    ------
    DataError
        The file cannot be read, a named column is not there (near matches are listed), there is
        no feature left, a label is missing, the labels are not two, or values are missing.
    OptionError
        ``missing`` is neither of the two.
    """
    if missing not in {"error", "bin"}:
        raise OptionError(f"missing={missing!r} is unknown; use 'error' or 'bin'.")
    frame = read_frame(source)
    # The frame's names were stripped, so the given ones are too.
    taken = [str(name).strip() for name in (target, weights) if name is not None]
    for name in taken:
        if name not in frame.columns:
            raise DataError(f"there is no column {name!r}; {near_matches(name, frame.columns)}")
    if len(set(taken)) < len(taken):
        raise DataError(f"column {target!r} cannot hold both the labels and the weights.")
    y = frame[taken[0]]
    encode_labels(y, positive)
    X = as_frame(frame.drop(columns=taken))
    if missing == "error":
        refuse_missing(missing_counts(X))
    return (X, y) if weights is None else (X, y, frame[taken[1]])
