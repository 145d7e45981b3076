"""Tables as scikit-learn's rules see them: the same columns in ``predict`` as in ``fit``."""

from __future__ import annotations

from typing import Any

import pandas as pd
from sklearn.utils.validation import validate_data

from milpscore.data._checking import as_frame, default_names


def validated_frame(estimator: Any, X: Any, *, reset: bool) -> pd.DataFrame:
    """The table under the names ``fit`` knew it by.

    Parameters
    ----------
    estimator : BaseEstimator
        Gets ``n_features_in_``, and ``feature_names_in_`` where X has names, if ``reset``.
    X : DataFrame, array, sparse matrix or list of rows, shape (n, q)
        The rows may be none unless ``reset``.
    reset : bool
        True in ``fit``; False compares the columns with those of ``fit``.

    Returns
    -------
    DataFrame of shape (n, q)

    Raises
    ------
    DataError
        X is no table.
    ValueError
        The columns differ from those of ``fit``, as scikit-learn words it.
    """
    frame = as_frame(X, min_rows=1 if reset else 0)
    named: Any = X if hasattr(X, "shape") else frame.to_numpy()
    if isinstance(X, pd.DataFrame):
        named = frame  # its names are clean
    validate_data(estimator, named, reset=reset, skip_check_array=True)
    if reset:
        return frame
    names = getattr(estimator, "feature_names_in_", default_names(estimator.n_features_in_))
    return frame.set_axis(pd.Index(list(names), dtype=object), axis=1)
