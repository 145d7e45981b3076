"""Every door by which a user names columns: a name that matches none is an error, never silence."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from milpscore import formulations
from milpscore.cli.app import app
from milpscore.constraints import (
    AtLeast,
    AtMost,
    Budget,
    Constraint,
    EitherOr,
    Exactly,
    Exclude,
    Implies,
    Include,
    MaxErrors,
    MaxFeatures,
    MaxFPR,
    MaxGap,
    MaxPoints,
    MinTPR,
    Monotone,
    Range,
    Sign,
    Span,
)
from milpscore.core.errors import MilpscoreError
from milpscore.data import Binner, read_table
from milpscore.estimators import EyeClassifier, EyeRegressor, SlimClassifier
from milpscore_study import run_study

STRANGE = "age"
"""One capital away from a column that is there."""

RULES: dict[str, Constraint] = {
    "Sign": Sign(STRANGE, "positive"),
    "Range": Range(STRANGE, -1, 1),
    "Exclude": Exclude(STRANGE),
    "Include": Include(STRANGE),
    "Monotone": Monotone(STRANGE),
    "Span": Span(2, STRANGE),
    "AtMost": AtMost(1, [STRANGE, "Height"]),
    "AtLeast": AtLeast(1, ["Height", STRANGE]),
    "Exactly": Exactly(1, STRANGE),
    "MaxFeatures": MaxFeatures(1, [STRANGE]),
    "Budget": Budget(1, {STRANGE: 1}),
    "MaxPoints": MaxPoints(3, [STRANGE, "Height"]),
    "EitherOr": EitherOr(STRANGE, "Height"),
    "EitherOr, second": EitherOr("Height", STRANGE),
    "Implies": Implies(STRANGE, "Height"),
    "Implies, then": Implies("Height", STRANGE),
    "MaxFPR": MaxFPR(0.5, where=STRANGE),
    "MinTPR": MinTPR(0.5, where=[STRANGE]),
    "MaxErrors": MaxErrors(where=STRANGE, count=3),
    "MaxGap": MaxGap("tpr", STRANGE, 0.1),
}


def table() -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 3, (40, 3)), columns=["Age", "Heart", "Height"])
    return X, (X["Age"] + rng.integers(0, 2, 40) > 1).to_numpy(np.int64)


Door = Callable[[pd.DataFrame, Any], Any]


def building(name: str, **given: Any) -> Door:
    """Build a program of the table, in bins if the formulation takes nothing else."""
    build = getattr(formulations, name)

    def door(X: pd.DataFrame, y: Any) -> Any:
        binned = Binner(encoding="onehot").fit_design(X, y) if name == "fused_lasso" else None
        return build(X, y, **given) if binned is None else build(binned, **given)

    return door


def fitting(make: Any, **given: Any) -> Door:
    return lambda X, y: make(**given).fit(X, y)


def doors() -> Iterator[tuple[str, Door]]:
    settings: dict[str, Any] = {
        "coef_min": {STRANGE: 1},
        "coef_max": {STRANGE: 1},
        "coef_sets": {STRANGE: [0, 1]},
        "constraints": [Exclude(STRANGE)],
    }
    for name in ("slim", "risk_score", "hinge", "ordinal", "fused_lasso"):
        known = inspect.signature(getattr(formulations, name)).parameters
        for argument in [name for name in settings if name in known]:
            yield f"{name} {argument}", building(name, **{argument: settings[argument]})
    yield "fused_lasso features", building("fused_lasso", features=[STRANGE])
    experts: dict[str, Any] = {"names": [STRANGE], "mapping": {STRANGE: 1.0}}
    for kind, expert in experts.items():
        yield f"eye {kind}", building("eye", expert=expert)
        yield f"naive {kind}", building("naive_credibility", expert=expert, beta=0.5)
        yield f"EyeClassifier {kind}", fitting(EyeClassifier, expert=expert)
        yield f"EyeRegressor {kind}", fitting(EyeRegressor, expert=expert)
    yield "SlimClassifier", fitting(SlimClassifier, constraints=[Exclude(STRANGE)])
    yield "Binner features", fitting(Binner, features=[STRANGE])
    yield "Binner thresholds", fitting(Binner, thresholds={STRANGE: [1]})
    yield "read_table target", lambda X, y: read_table(X.assign(died=y), STRANGE)


@pytest.mark.parametrize("door", dict(doors()).values(), ids=dict(doors()))
def test_a_strange_name_is_refused(door: Door) -> None:
    with pytest.raises(MilpscoreError, match=f"{STRANGE}'.*'Age"):
        door(*table())


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_a_rule_on_a_strange_name_is_refused(rule: Constraint) -> None:
    with pytest.raises(MilpscoreError, match=f"{STRANGE}'.*did you mean 'Age'"):
        formulations.slim(*table(), constraints=[rule])


COMMANDS = [
    ("fit", "--features", "Height,age"),
    ("fit", "--drop", "age"),
    ("fit", "--id", "age"),
    ("fit", "--weights-column", "age"),
    ("fit", "--target", "age"),
    ("path", "--penalty", "l1", "--features", "Height,age"),
    ("path", "--penalty", "eye", "--expert-features", "Height,age"),
    ("compare", "--features", "Height,age"),
    ("pool", "--features", "Height,age"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_the_command_line_refuses_a_strange_name(command: tuple[str, ...], tmp_path: Path) -> None:
    X, y = table()
    data = tmp_path / "ward.csv"
    X.assign(died=y).to_csv(data, index=False)
    name, *options = command
    target = [] if "--target" in options else ["--target", "died"]
    done = CliRunner().invoke(app, [name, str(data), *target, *options])
    assert done.exit_code == 2, done.output
    assert "'age'" in done.stderr
    assert "did you mean 'Age'" in done.stderr.replace("\n", " ")


@pytest.mark.parametrize(
    ("option", "content"),
    [
        ("--thresholds", '{"age": [1]}'),
        ("--constraints", '[[constraints]]\ntype = "exclude"\ncolumns = "age"\n'),
    ],
)
def test_files_of_options_are_refused(option: str, content: str, tmp_path: Path) -> None:
    X, y = table()
    data = tmp_path / "ward.csv"
    X.assign(died=y).to_csv(data, index=False)
    file = tmp_path / ("cuts.json" if content.startswith("{") else "rules.toml")
    file.write_text(content, encoding="utf-8")
    asked = ["fit", str(data), "--target", "died", option, str(file)]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 2, done.output
    assert "did you mean 'Age'" in done.stderr.replace("\n", " ")


def test_a_study_keeps_the_error(tmp_path: Path) -> None:
    X, y = table()
    X.assign(died=y).to_csv(tmp_path / "ward.csv", index=False)
    study = tmp_path / "study.toml"
    study.write_text(
        """
        seeds = [0]
        [folds]
        number = 2
        [[data]]
        csv = "ward.csv"
        target = "died"
        [[models]]
        estimator = "slim"
        arguments = {constraints = [{type = "exclude", columns = "age"}]}
        """,
        encoding="utf-8",
    )
    report = run_study(study, tmp_path / "study.sqlite")
    assert (report.done, report.failed) == (0, 2)
    assert report.table()["error"].str.contains("'age'; did you mean 'Age'").all()
