"""The data sets of the slides by name: files of a folder, and scikit-learn's breast cancer set."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

BUNDLED = "wdbc"
"""scikit-learn's breast cancer set, which is always there."""

_MODALITY = "_eq_"
_OTHER = "other"


def folder_of(data: str | os.PathLike[str] | None) -> str:
    """The folder of the sets; empty where none is named by ``data`` or ``MILPSCORE_DATA``."""
    return os.fspath(data) if data is not None else os.environ.get("MILPSCORE_DATA", "")


def sets_here(folder: str, sets: Sequence[str]) -> tuple[tuple[str, ...], list[dict[str, str]]]:
    """The sets that are there, and a note (about, note) for each that is not."""
    wanted = tuple(dict.fromkeys(sets))
    here = [
        name
        for name in wanted
        if name == BUNDLED or (folder and (Path(folder) / f"{name}.csv").is_file())
    ]
    where = f"the folder {folder!r}" if folder else "a folder named by data= or MILPSCORE_DATA"
    notes = [
        {"about": name, "note": f"left out: there is no {name}.csv in {where}"}
        for name in wanted
        if name not in here
    ]
    return tuple(here), notes


@lru_cache(maxsize=4)
def named_set(folder: str, name: str) -> tuple[pd.DataFrame, Any]:
    """A set's table and its labels as 0 and 1 (1 the positive class), shape (n,).

    Columns FEATURE_eq_MODALITY of 0 and 1, as the mushroom file has them, are joined into one text
    column a feature: its categories are bins of one feature, not features.
    """
    if name == BUNDLED:
        from sklearn.datasets import load_breast_cancer

        bundled = load_breast_cancer(as_frame=True)
        return bundled.data, bundled.target.to_numpy()
    from milpscore.data import read_frame, read_table

    frame = read_frame(Path(folder) / f"{name}.csv")
    X, y, *_ = read_table(frame, frame.columns[0])
    return joined(X), (np.asarray(y) == max(np.unique(y))).astype(np.int64)


def joined(X: pd.DataFrame) -> pd.DataFrame:
    """The table with the one-hot columns of each feature made one column of text."""
    members: dict[str, list[str]] = {}
    for name in map(str, X.columns):
        feature, mark, _ = name.rpartition(_MODALITY)
        members.setdefault(feature if mark else name, []).append(name)
    columns = {
        feature: X[names[0]] if names == [feature] else _text(X, feature, names)
        for feature, names in members.items()
    }
    return pd.DataFrame(columns, index=X.index)


def _text(X: pd.DataFrame, feature: str, names: list[str]) -> Any:
    """The category of each row, "other" where no column has a 1."""
    labels = [name[len(feature) + len(_MODALITY) :] for name in names]
    ones = X[names].to_numpy() == 1
    text = np.where(ones.any(axis=1), np.array(labels, dtype=object)[ones.argmax(axis=1)], _OTHER)
    # categorical: a category called "1" is no number
    return pd.Categorical(text)
