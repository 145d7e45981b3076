"""The sources' data sets by name: files of a folder, and scikit-learn's breast cancer set."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer

from experiments.runner import Experiment
from milpscore.data import read_frame, read_table

BUNDLED = "wdbc"
"""scikit-learn's breast cancer set, which is always there."""

_CATEGORY = "_eq_"
_OTHER = "other"


class OfSets(Experiment, frozen=True, kw_only=True):
    """An experiment on named sets; those that are not there are left out, and the notes say so."""

    data: str | None = None
    """The folder of the sets, NAME.csv with the label first, or several as in PATH; by default
    ``MILPSCORE_DATA`` and ``MILPSCORE_DATA_MORE``."""
    sets: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Settle the folder here: other processes may have another environment."""
        named = filter(None, map(os.environ.get, ("MILPSCORE_DATA", "MILPSCORE_DATA_MORE")))
        folder = os.pathsep.join(named) if self.data is None else os.fspath(self.data)
        msgspec.structs.force_setattr(self, "data", folder)

    @property
    def folder(self) -> str:
        """Where the sets lie; empty where nobody named a folder."""
        return self.data or ""

    @property
    def here(self) -> tuple[str, ...]:
        """The sets that are there."""
        return tuple(name for name in dict.fromkeys(self.sets) if self._is_here(name))

    def settings(self) -> dict[str, Any]:
        """The sets that are there, wherever they lie."""
        return {**super().settings(), "sets": self.here}

    def notes(self) -> pd.DataFrame:
        """Columns about and note: the sets left out."""
        where = f"the folder {self.folder!r}" if self.folder else "MILPSCORE_DATA"
        absent = [name for name in dict.fromkeys(self.sets) if not self._is_here(name)]
        notes = [(name, f"left out: there is no {name}.csv in {where}") for name in absent]
        return pd.DataFrame(notes, columns=["about", "note"], dtype=object)

    def _is_here(self, name: str) -> bool:
        return name == BUNDLED or file_of(self.folder, name).is_file()


def file_of(folder: str, name: str) -> Path:
    """The file of a set in the first of the folders that has it."""
    paths = [Path(each) / f"{name}.csv" for each in folder.split(os.pathsep) if each]
    return next((path for path in paths if path.is_file()), Path(f"{name}.csv.absent"))


@lru_cache(maxsize=4)
def read_set(folder: str, name: str) -> tuple[pd.DataFrame, Any]:
    """A set's table as it is, and its labels as 0 and 1 (1 the positive class), shape (n,)."""
    if name == BUNDLED:
        bundled = load_breast_cancer(as_frame=True)
        return bundled.data, bundled.target.to_numpy()
    frame = read_frame(file_of(folder, name))
    X, y, *_ = read_table(frame, frame.columns[0])
    return X, (np.asarray(y) == max(np.unique(y))).astype(np.int64)


@lru_cache(maxsize=4)
def read_joined(folder: str, name: str) -> tuple[pd.DataFrame, Any]:
    """The same with one text column a feature instead of FEATURE_eq_CATEGORY columns of 0 and 1.

    The mushroom file has such: its categories are bins of one feature, not features.
    """
    X, y = read_set(folder, name)
    return joined(X), y


def joined(X: pd.DataFrame) -> pd.DataFrame:
    """The table with the one-hot columns of each feature made one column of text."""
    members: dict[str, list[str]] = {}
    for name in map(str, X.columns):
        feature, mark, _ = name.rpartition(_CATEGORY)
        members.setdefault(feature if mark else name, []).append(name)
    columns = {
        feature: X[names[0]] if names == [feature] else _text(X, feature, names)
        for feature, names in members.items()
    }
    return pd.DataFrame(columns, index=X.index)


def _text(X: pd.DataFrame, feature: str, names: list[str]) -> Any:
    """The category of each row, "other" where no column has a 1."""
    labels = [name[len(feature) + len(_CATEGORY) :] for name in names]
    ones = X[names].to_numpy() == 1
    text = np.where(ones.any(axis=1), np.array(labels, dtype=object)[ones.argmax(axis=1)], _OTHER)
    # categorical: a category called "1" is not a number
    return pd.Categorical(text)
