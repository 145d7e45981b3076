"""A study as a file asks for it: data sets, models with grids, folds, seeds, limits; its tasks."""

from __future__ import annotations

import hashlib
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from milpscore.core.errors import DataError, OptionError
from milpscore.core.reading import settings_of
from milpscore.solvers.options import Options
from milpscore_study.store import key_of

AtLeast0 = Annotated[int, Meta(ge=0)]
AtLeast1 = Annotated[int, Meta(ge=1)]
AtLeast2 = Annotated[int, Meta(ge=2)]

RACE = "race"
"""The kind of a model whose solver is watched rather than its card."""

# A ValueError of a struct's __post_init__ comes out of msgspec with its place in the file.


class DataSpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a data set comes from and how it is binned; one of csv, bundled and generator."""

    name: str = ""
    csv: str | None = None
    digest: str | None = None
    folder: str = ""
    bundled: Literal["breast_cancer", "digits", "iris", "wine"] | None = None
    generator: str | None = None
    target: str | None = None
    positive: str | int | float | bool | None = None
    time: str | None = None
    entry: str | None = None
    weights: str | None = None
    class_weight: Literal["balanced"] | None = None
    bins: AtLeast2 | None = None
    thresholds: dict[str, list[float]] | None = None
    encoding: Literal["onehot", "cumulative"] | None = None
    missing: Literal["error", "bin"] = "error"
    arguments: dict[str, Any] = {}
    seed: AtLeast0 | None = None

    def __post_init__(self) -> None:
        from milpscore_study.work import check_generator

        sources = ("csv", "bundled", "generator")
        there = [name for name in sources if getattr(self, name) is not None]
        if len(there) != 1:
            found = f"got {' and '.join(there)}" if there else "got none"
            raise OptionError(f"needs one of {', '.join(sources)}, {found}")
        (source,) = there
        of_csv = ("target", "weights", "digest", "time", "entry") if source != "csv" else ()
        for key in (*of_csv, *(("arguments", "seed") if source != "generator" else ())):
            if getattr(self, key):
                raise OptionError(f"{key} does not go with {source}: leave it out")
        if self.csv is not None and self.target is None:
            raise OptionError("target is missing; it is the column of the labels")
        self._check_times()
        if self.encoding and self.bins is None and self.thresholds is None:
            raise OptionError("encoding says how bins become columns: add bins or thresholds")
        if self.generator is not None:
            check_generator(self.generator, self.arguments)
        if not self.name:
            default = self.bundled or self.generator or Path(self.csv or "").stem
            msgspec.structs.force_setattr(self, "name", default)

    def _check_times(self) -> None:
        """Refuse what does not go with times to an event."""
        if self.entry and self.time is None:
            raise OptionError("entry goes with time, the column of the times: add it")
        if self.time and self.class_weight:
            raise OptionError("class_weight has no meaning for times to an event: leave it out")

    def path(self) -> Path:
        """Return the path of the CSV file, the variables put in."""
        return Path(self.folder) / re.sub(r"\$\{(\w+)\}", _variable, self.csv or "")

    def located(self, folder: Path, where: str) -> DataSpec:
        """The same with its folder and the digest of its file."""
        spec = msgspec.structs.replace(self, folder=self.folder or str(folder))
        if self.csv is None:
            return spec
        try:
            path = spec.path()
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        except OptionError as error:
            raise OptionError(f"{where}, csv: {error}") from error
        except OSError as error:
            raise DataError(
                f"{where}, csv: {str(path)!r} cannot be read ({error.strerror})"
            ) from error
        if self.digest not in (None, digest):
            raise DataError(f"{where}, csv: {str(path)!r} has other rows than digest says")
        return msgspec.structs.replace(spec, digest=digest)


def _variable(match: re.Match[str]) -> str:
    """The value of a variable of the environment."""
    name = match.group(1)
    if name not in os.environ:
        raise OptionError(f"the variable {name} is not set: export {name}=FOLDER first")
    return os.environ[name]


class ModelSpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An estimator by name, with what it is called with; ``data`` names sets if not for all."""

    estimator: str
    kind: str = ""
    name: str = ""
    arguments: dict[str, Any] = {}
    grid: dict[str, Annotated[list[Any], Meta(min_length=1)]] = {}
    data: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        from milpscore_study.work import checked_names

        estimator, kind, name = checked_names(self.estimator, self.kind, self.arguments, self.grid)
        msgspec.structs.force_setattr(self, "estimator", estimator)
        msgspec.structs.force_setattr(self, "kind", kind)
        msgspec.structs.force_setattr(self, "name", self.name or name)

    def points(self) -> Iterator[dict[str, Any]]:
        """The combinations of the grid."""
        for values in product(*self.grid.values()):
            yield dict(zip(self.grid, values, strict=True))


class FoldSpec(Struct, frozen=True, forbid_unknown_fields=True):
    """Folds of each data set, 0 for none; ``whole`` also fits all rows (default: without folds)."""

    number: AtLeast0 = 0
    stratified: bool = True
    seed: AtLeast0 = 0
    whole: bool | None = None

    def __post_init__(self) -> None:
        if self.number == 1:
            raise OptionError("number must be 0 or at least 2, got 1")
        if self.whole is None:
            msgspec.structs.force_setattr(self, "whole", self.number == 0)
        if not self.whole and not self.number:
            raise OptionError("number = 0 and whole = false leave nothing to solve")


class Limits(Struct, frozen=True, forbid_unknown_fields=True):
    """Seconds per solve."""

    time_limit: Annotated[float, Meta(ge=0)] = Options.time_limit
    node_limit: AtLeast0 | None = Options.node_limit
    threads: AtLeast1 = Options.threads


class Task(Struct, frozen=True, forbid_unknown_fields=True):
    """One solve: its place in the study, the fold held out (None: all rows fitted), its seed."""

    number: int
    data: str
    model: str
    parameters: dict[str, Any]
    fold: int | None
    seed: int

    @property
    def place(self) -> dict[str, Any]:
        """What is fitted to what."""
        return {name: getattr(self, name) for name in ("data", "model", "parameters", "fold")}

    @property
    def identity(self) -> dict[str, Any]:
        """Return what identifies it."""
        return {**self.place, "seed": self.seed}

    @property
    def key(self) -> str:
        """The same for the same task wherever it stands in whichever study."""
        return key_of(self.identity)


class Study(Struct, frozen=True, forbid_unknown_fields=True):
    """A study of data sets and models; ``docs/studies.md`` has the keys of its file.

    Attributes
    ----------
    data : tuple of DataSpec
    models : tuple of ModelSpec
    folds : FoldSpec
    seeds : tuple of int
        Of the solver and every random choice.
    limits : Limits
    certificates : bool
        Keep the evidence of each card as well, see :func:`milpscore.certificate.certify`.
    """

    data: Annotated[tuple[DataSpec, ...], Meta(min_length=1)]
    models: Annotated[tuple[ModelSpec, ...], Meta(min_length=1)]
    folds: FoldSpec = FoldSpec()
    seeds: Annotated[tuple[AtLeast0, ...], Meta(min_length=1)] = (0,)
    limits: Limits = Limits()
    certificates: bool = False

    def __post_init__(self) -> None:
        if self.folds.number and any(model.kind == RACE for model in self.models):
            raise OptionError("a race solves on all rows: leave out folds")
        if len(set(self.seeds)) < len(self.seeds):
            raise OptionError(f"seeds must be distinct, got {list(self.seeds)}")
        for what in ("data", "models"):
            names = [each.name for each in getattr(self, what)]
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                raise OptionError(
                    f"{what}: {len(names)} entries, and two of them are called {twice[0]!r}: give "
                    "each a name of its own"
                )
        known = [data.name for data in self.data]
        for name in (name for model in self.models for name in model.data):
            if name not in known:
                raise OptionError(f"models, data: no set {unlike(name, known)}")

    def settings(self) -> dict[str, Any]:
        """Everything the results depend on."""
        content: dict[str, Any] = msgspec.to_builtins(self)
        for entry in content["data"]:
            del entry["folder"]
            for name in ("time", "entry"):  # as files of before have it
                if entry[name] is None:
                    del entry[name]
        for entry in content["models"]:
            if not entry["data"]:
                del entry["data"]  # as files of before have it
        return content

    def tasks(self) -> tuple[Task, ...]:
        """All solves; those on the same rows follow one another."""
        parts: list[int | None] = [*range(self.folds.number)]
        parts += [None] if self.folds.whole else []
        solves = [(model, point) for model in self.models for point in model.points()]
        every = (
            (data.name, model.name, point, fold, seed)
            for data, fold, (model, point), seed in product(self.data, parts, solves, self.seeds)
            if not model.data or data.name in model.data
        )
        return tuple(Task(number, *task) for number, task in enumerate(every))


# --- the file ------------------------------------------------------------------------------------

_STRUCTS = {"": Study, "data": DataSpec, "models": ModelSpec, "folds": FoldSpec, "limits": Limits}


def load_study(path: str | os.PathLike[str]) -> Study:
    """The study a TOML or JSON file describes; ``docs/studies.md`` has its keys.

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
    try:
        content = settings_of(path)
    except FileNotFoundError as error:
        raise DataError(f"there is no file {str(path)!r}: check its name") from error
    return study_of(content, path.name, path.parent)


def study_of(content: Any, what: str, folder: Path = Path()) -> Study:
    """The study of a file's content, its data located; errors as :func:`load_study`."""
    _refuse_not_finite(content, what)
    try:
        study = msgspec.convert(content, Study)
    except msgspec.ValidationError as error:
        raise OptionError(f"{what}{_in_words(str(error), content)}") from error
    data = tuple(
        spec.located(folder, f"{what}, data {place}")
        for place, spec in enumerate(study.data, start=1)
    )
    return msgspec.structs.replace(study, data=data)


def _in_words(message: str, content: Any) -> str:
    """What msgspec says of a file's content: ", place: what is wrong, got the value"."""
    said, _, at = message.partition(" - at `$")
    steps = re.findall(r"\[(\d+|\.\.\.)\]|\.(\w+)", at)
    # ".data[0].bins" is ", data 1, bins"
    place = "".join(f", {name}" if name else _counted(index) for index, name in steps)
    if unknown := re.fullmatch(r"Object contains unknown field `(.*)`", said):
        struct = _STRUCTS[steps[0][1] if steps else ""]
        return f"{place}: no key {unlike(unknown[1], struct.__struct_fields__)}"
    if said.startswith("Object missing"):
        return f"{place}: {said[len('Object ') :]}"
    if not said.startswith(("Expected", "Invalid")):
        return f"{place}: {said}"
    value = content
    for index, name in steps:
        value = value[name or int(index)] if name or index.isdigit() else value
    expected = re.sub(r", got `.*`$", "", said)
    return f"{place}: {expected[0].lower()}{expected[1:]}, got {value!r}"


def _counted(index: str) -> str:
    """A place in a list, counted from 1; msgspec names no key of a free table."""
    return f" {int(index) + 1}" if index.isdigit() else ""


def unlike(name: str, known: Iterable[str]) -> str:
    """A name that is not known, the nearest that is, and all of them."""
    names = list(known)
    close = get_close_matches(str(name), names, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return f"{name!r}; {hint}known are {', '.join(names)}"


def _refuse_not_finite(value: Any, where: str) -> None:
    """Refuse nan and inf, however deep: settings are kept as JSON, which has neither."""
    if isinstance(value, Mapping):
        for name, entry in value.items():
            _refuse_not_finite(entry, f"{where}, {name}")
    elif isinstance(value, list):
        for at, entry in enumerate(value, start=1):
            _refuse_not_finite(entry, f"{where} {at}" if isinstance(entry, Mapping) else where)
    elif isinstance(value, float) and not math.isfinite(value):
        raise OptionError(f"{where}: must be a finite number, got {value!r}")
