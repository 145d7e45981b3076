"""Fixtures shared by the tests."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from long_tail import slow_cases
from warm_up import compiled_together

ROOT = Path(__file__).parents[1]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a part of the slow tests be chosen."""
    parser.addoption(
        "--slow-part", metavar="K/N", help="of every N slow tests the K-th alone, K from 1"
    )


def pytest_sessionstart(session: pytest.Session) -> None:
    """Have the kernels of a fresh clone compiled by both workers together."""
    compiled_together(session.config)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the long tail of parametrised tests as slow; one that is asked for by name runs."""
    quick = [item for item in items if item.get_closest_marker("slow") is None]
    names = [f"{item.path.name}::{item.name.partition('[')[0]}" for item in quick]
    for place in slow_cases(names):
        quick[place].add_marker(pytest.mark.slow)
    if part := config.getoption("slow_part"):
        first, step = (int(number) for number in part.split("/"))
        slow = [item for item in items if item.get_closest_marker("slow")]
        left_out = {item for place, item in enumerate(slow) if place % step != first - 1}
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=list(left_out))


@pytest.fixture(autouse=True)
def ctrl_c_is_heard() -> Iterator[None]:
    """A shell that runs the tests in the background has told them to ignore Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


_RAN, _ABSENT = "outside program ran", "outside program absent"


@pytest.fixture
def outside(request: pytest.FixtureRequest) -> Callable[[str], str]:
    """Let a solver of others in by its name, or skip what needs it; the last lines name them."""
    from milpscore.core.errors import MissingDependencyError
    from milpscore.solvers import SOLVERS

    def let_in(name: str) -> str:
        told = request.node.user_properties
        try:
            told.append((_RAN, f"{name} {SOLVERS[name]().version()}"))
        except MissingDependencyError as error:
            told.append((_ABSENT, name))
            pytest.skip(str(error))
        return name

    return let_in


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Name the programs of others that the tests ran, and those that were not there."""
    told: dict[str, set[str]] = {_RAN: set(), _ABSENT: set()}
    for outcome in ("passed", "failed", "error", "skipped"):
        for report in terminalreporter.stats.get(outcome, ()):
            for kind, name in getattr(report, "user_properties", ()):
                # one that is there may be of no use without a licence
                told[_ABSENT if outcome == "skipped" else kind].add(name)
    told[_ABSENT] -= told[_RAN]
    for kind, names in told.items():
        if names:
            terminalreporter.write_line(f"{kind}: {', '.join(sorted(names))}")


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
