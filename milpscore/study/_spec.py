"""A study as it was asked for: data sets, models with grids, folds, seeds, limits; its tasks."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, Literal

from milpscore.study._store import canonical

DataSource = Literal["csv", "bundled", "generator"]
Family = Literal["formulation", "proximal", "estimator"]


@dataclass(frozen=True)
class DataSpec:
    """Where a data set comes from and how it is binned.

    Attributes
    ----------
    name : str
    source : {"csv", "bundled", "generator"}
    place : str
        A path as the file has it, or a name.
    digest : str
        SHA-256 of the CSV file: other rows are another study.
    folder : Path
        What the path is relative to; no part of the settings.
    target, positive, weights, class_weight :
        As on the command line.
    bins, thresholds, encoding, missing :
        Of the binner; without bins and thresholds columns are used as they are.
    arguments, seed :
        Of a generator.
    """

    name: str
    source: DataSource
    place: str
    digest: str = ""
    folder: Path = field(default_factory=Path)
    target: str | None = None
    positive: Any = None
    weights: str | None = None
    class_weight: str | None = None
    bins: int | None = None
    thresholds: Mapping[str, list[float]] | None = None
    encoding: Literal["onehot", "cumulative"] = "onehot"
    missing: Literal["error", "bin"] = "error"
    arguments: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0


@dataclass(frozen=True)
class ModelSpec:
    """What is fitted, with which arguments.

    Attributes
    ----------
    name : str
    family : {"formulation", "proximal", "estimator"}
    what : str
        The formulation, the penalty, or the estimator.
    kind : str
        How a formulation is answered; see ``milpscore.study._models``.
    solver, n_draws, loss, tol :
        As in :func:`milpscore.solve`, ``fit_card`` and ``fit_proximal``.
    arguments : mapping
        The same for all of its solves.
    grid : mapping of str to list
        Every combination is solved.
    """

    name: str
    family: Family
    what: str
    kind: str = "card"
    solver: str = "auto"
    n_draws: int = 100
    loss: str = "logistic"
    tol: float | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    grid: Mapping[str, list[Any]] = field(default_factory=dict)

    def points(self) -> Iterator[dict[str, Any]]:
        """The combinations of the grid."""
        for values in product(*self.grid.values()):
            yield dict(zip(self.grid, values, strict=True))


@dataclass(frozen=True)
class FoldSpec:
    """Folds of each data set: 0 for none; ``whole`` adds a solve on all rows."""

    number: int = 0
    stratified: bool = True
    seed: int = 0
    whole: bool = True


@dataclass(frozen=True)
class Limits:
    """Of each solve."""

    time_limit: float = 60.0
    node_limit: int | None = None
    threads: int = 1


@dataclass(frozen=True)
class Task:
    """One solve.

    Attributes
    ----------
    number : int
        Its place in the study.
    data, model : str
    parameters : mapping
        A point of the model's grid.
    fold : int or None
        Whose rows are held out; None: all rows are fitted.
    seed : int
        Of the solver and every random choice.
    """

    number: int
    data: str
    model: str
    parameters: Mapping[str, Any]
    fold: int | None
    seed: int

    @property
    def identity(self) -> dict[str, Any]:
        """What tells it from all others."""
        return {name: value for name, value in asdict(self).items() if name != "number"}

    @property
    def key(self) -> str:
        """The same for the same task wherever it stands in whichever study."""
        return hashlib.sha256(canonical(self.identity).encode()).hexdigest()[:20]


@dataclass(frozen=True)
class Study:
    """A study of data sets and models.

    Attributes
    ----------
    data : tuple of DataSpec
    models : tuple of ModelSpec
    folds : FoldSpec
    seeds : tuple of int
    limits : Limits
    certificates : bool
        Keep the evidence of each card as well, see :func:`milpscore.certificate.certify`.
    """

    data: tuple[DataSpec, ...]
    models: tuple[ModelSpec, ...]
    folds: FoldSpec = FoldSpec()
    seeds: tuple[int, ...] = (0,)
    limits: Limits = Limits()
    certificates: bool = False

    def settings(self) -> dict[str, Any]:
        """Everything the results depend on."""
        content = asdict(self)
        for entry in content["data"]:
            del entry["folder"]
        return content

    def tasks(self) -> tuple[Task, ...]:
        """All solves; those on the same rows follow one another."""
        parts: list[int | None] = [*range(self.folds.number)]
        parts += [None] if self.folds.whole else []
        solves = [(model.name, point) for model in self.models for point in model.points()]
        every = product(self.data, parts, solves, self.seeds)
        return tuple(
            Task(number, data.name, model, point, fold, seed)
            for number, (data, fold, (model, point), seed) in enumerate(every)
        )
