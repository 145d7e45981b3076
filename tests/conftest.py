"""Fixtures shared by the tests."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def ctrl_c_is_heard() -> Iterator[None]:
    """A shell that runs the tests in the background has told them to ignore Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def uci() -> Callable[[str], tuple[Any, Any]]:
    """Give a reader of UCI sets: name -> (X DataFrame, y array of 0/1), skipping absent ones."""
    folder = Path(os.environ.get("MILPSCORE_DATA", ROOT.parent / "shared" / "data"))

    def read(name: str) -> tuple[Any, Any]:
        import pandas as pd

        path = folder / f"{name}.csv"
        if not path.is_file():
            pytest.skip(f"the UCI set {name!r} is not in MILPSCORE_DATA ({folder})")
        table = pd.read_csv(path)
        return table.iloc[:, 1:], table.iloc[:, 0].to_numpy()

    return read
