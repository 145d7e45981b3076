"""A study from a TOML file."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import Any

from milpscore.core.errors import DataError, OptionError
from milpscore.study._checks import (
    REQUIRED,
    Key,
    checked,
    chosen,
    refuse_twins,
    whole_numbers,
)
from milpscore.study._data_sets import BUNDLED, generator, generator_arguments
from milpscore.study._models import checked_model
from milpscore.study._spec import (
    DataSource,
    DataSpec,
    FoldSpec,
    Limits,
    ModelSpec,
    Study,
)

_TOP = {
    "data": Key("a list of tables in double brackets", REQUIRED),
    "models": Key("a list of tables in double brackets", REQUIRED),
    "folds": Key("a table", {}),
    "seeds": Key("a list", [0]),
    "limits": Key("a table", {}),
    "certificates": Key("true or false", False),
}
_SOURCES: tuple[DataSource, ...] = ("csv", "bundled", "generator")
_DATA = {
    "name": Key("text"),
    "csv": Key("text"),
    "bundled": Key("text", choices=BUNDLED),
    "generator": Key("text"),
    "target": Key("text"),
    "positive": Key("text, a number, or true or false"),
    "weights": Key("text"),
    "class_weight": Key("text", choices=("balanced",)),
    "bins": Key("a whole number", least=2),
    "thresholds": Key("a table"),
    "encoding": Key("text", "onehot", choices=("onehot", "cumulative")),
    "missing": Key("text", "error", choices=("error", "bin")),
    "arguments": Key("a table", {}),
    "seed": Key("a whole number", 0, least=0),
}
_FOLDS = {
    "number": Key("a whole number", 0, least=0),
    "stratified": Key("true or false", True),
    "seed": Key("a whole number", 0, least=0),
    "whole": Key("true or false"),
}
_LIMITS = {
    "time_limit": Key("a number", 60.0, least=0),
    "node_limit": Key("a whole number", least=0),
    "threads": Key("a whole number", 1, least=1),
}
_MODEL = {
    "name": Key("text"),
    "formulation": Key("text"),
    "proximal": Key("text"),
    "estimator": Key("text"),
    "kind": Key("text"),
    "solver": Key("text", "auto"),
    "n_draws": Key("a whole number", 100, least=1),
    "loss": Key("text", "logistic"),
    "tol": Key("a number"),
    "arguments": Key("a table", {}),
    "grid": Key("a table", {}),
}
_OF_CSV = ("target", "weights")
_OF_GENERATORS = ("arguments", "seed")


def load_study(path: str | os.PathLike[str]) -> Study:
    """The study a TOML file describes; ``docs/studies.md`` has its keys.

    Parameters
    ----------
    path : path-like
        Paths of data in it are relative to its folder; ``${NAME}`` stands for a variable of the
        environment.

    Returns
    -------
    Study

    Raises
    ------
    DataError
        The file, or a CSV file it names, cannot be read.
    OptionError
        A key is unknown or missing, or a value is of the wrong kind or out of range; the message
        names the file, the key and the nearest valid name.
    """
    path = Path(path)
    content, name = _loaded(path), path.name
    top = checked(content, _TOP, name)
    data = tuple(
        _data(entry, f"{name}, data {place}", path.parent)
        for place, entry in enumerate(_entries(top["data"], f"{name}, data"), start=1)
    )
    models = tuple(
        _model(entry, f"{name}, models {place}")
        for place, entry in enumerate(_entries(top["models"], f"{name}, models"), start=1)
    )
    refuse_twins([each.name for each in data], f"{name}, data")
    refuse_twins([each.name for each in models], f"{name}, models")
    limits = checked(top["limits"], _LIMITS, f"{name}, limits")
    return Study(
        data,
        models,
        _folds(top["folds"], f"{name}, folds"),
        whole_numbers(top["seeds"], f"{name}, seeds"),
        Limits(**{**limits, "time_limit": float(limits["time_limit"])}),
        top["certificates"],
    )


def _loaded(path: Path) -> dict[str, Any]:
    """What the file holds."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise DataError(f"there is no file {str(path)!r}: check its name") from error
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path.name} cannot be read as UTF-8 text ({error})") from error
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"{path.name} is no TOML: {error}") from error


def _entries(found: list[Any], where: str) -> list[Any]:
    """A list that is not empty."""
    if not found:
        raise OptionError(f"{where}: needs at least one entry, [[{where.rpartition(' ')[2]}]]")
    return found


def _data(entry: Any, where: str, folder: Path) -> DataSpec:
    """A data set."""
    found = checked(entry, _DATA, where)
    name = chosen(found, _SOURCES, where)
    source = next(each for each in _SOURCES if each == name)
    place = found[source]
    foreign = [*(_OF_CSV if source != "csv" else ()), *(_OF_GENERATORS * (source != "generator"))]
    for key in foreign:
        if key in entry:
            raise OptionError(f"{where}: {key} does not go with {source}: leave it out")
    if "encoding" in entry and found["bins"] is None and found["thresholds"] is None:
        raise OptionError(f"{where}: encoding says how bins become columns: add bins or thresholds")
    digest = ""
    if source == "csv":
        if found["target"] is None:
            raise OptionError(f"{where}: target is missing; it is the column of the labels")
        digest = csv_digest(folder, place, where)
    elif source == "generator":
        generator_arguments(generator(place, where), found["arguments"], where)
    default = Path(place).stem if source == "csv" else place
    return DataSpec(
        **{key: value for key, value in found.items() if key not in (*_SOURCES, "name")},
        name=found["name"] or default, source=source, place=place, digest=digest, folder=folder,
    )  # fmt: skip


def csv_digest(folder: Path, place: str, where: str) -> str:
    """SHA-256 of a CSV file.

    Raises
    ------
    DataError, OptionError
        There is none, or its path needs a variable that is not set.
    """
    import hashlib

    path = expanded(folder, place, where)
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"{where}, csv: {str(path)!r} cannot be read ({error.strerror})") from error


def expanded(folder: Path, place: str, where: str) -> Path:
    """A path of the file's, its variables put in.

    Raises
    ------
    OptionError
        A variable is not set.
    """

    def value(match: re.Match[str]) -> str:
        name = match.group(1)
        if name not in os.environ:
            raise OptionError(
                f"{where}, csv: the variable {name} is not set: export {name}=FOLDER first"
            )
        return os.environ[name]

    return folder / re.sub(r"\$\{(\w+)\}", value, place)


def _folds(table: Any, where: str) -> FoldSpec:
    """The folds; without any, all rows are fitted, with some only where asked for."""
    found = checked(table, _FOLDS, where)
    if found["number"] == 1:
        raise OptionError(f"{where}, number: must be 0 or at least 2, got 1")
    if found["whole"] is None:
        found["whole"] = found["number"] == 0
    if not found["whole"] and not found["number"]:
        raise OptionError(f"{where}: number = 0 and whole = false leave nothing to solve")
    return FoldSpec(**found)


def _model(entry: Any, where: str) -> ModelSpec:
    """A model."""
    return checked_model(checked(entry, _MODEL, where), entry, where)
