"""One experiment: its settings, its runs in a file of results, and what they say."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing, nullcontext
from importlib import import_module
from types import SimpleNamespace
from typing import Any, ClassVar, Self, TypeAlias

import msgspec
import pandas as pd

from milpscore.core.errors import NotApplicableError, OptionError
from milpscore.core.reading import parsed, rows
from milpscore_study import StudyError
from milpscore_study.engines import answers
from milpscore_study.store import Answer, Store

Result: TypeAlias = dict[str, Any]
Results: TypeAlias = dict[int, Result]

Progress: TypeAlias = Callable[[int, int], None]
"""Called with how many runs are done, and there are in all."""


class RunStore(Store):
    """The finished ``results`` by number of one experiment with one set of settings.

    Its numbers count from 0. A file of another experiment, or of other settings, is refused.
    """

    def __init__(
        self, path: str | os.PathLike[str] | None, experiment: str, settings: Mapping[str, Any]
    ) -> None:
        self.results: Results = {}
        super().__init__(path, experiment, settings)

    def keep(self, answer: Answer) -> None:
        """Commit the answer of a run, inside :meth:`writing`."""
        run = answer.item
        self.commit(str(run), run, answer, result=answer.content)
        if answer.content is not None:
            self.results[run] = json.loads(json.dumps(answer.content, allow_nan=False))

    def missing(self, runs: int) -> list[int]:
        """Numbers below ``runs`` that are not finished."""
        return [run for run in range(runs) if run not in self.results]

    def _load(self, connection: sqlite3.Connection) -> None:
        super()._load(connection)
        query, what = "SELECT number, result FROM solves WHERE status = 'done'", str(self.path)
        found = rows(connection, query, tuple[int, str], what)
        self.results = {number: parsed(text, dict[str, Any], what) for number, text in found}


def finish_runs(
    store: RunStore,
    function: Callable[[int], Mapping[str, Any]],
    runs: int,
    *,
    n_jobs: int = 1,
    progress: Progress | None = None,
) -> Results:
    """Do the runs below ``runs`` that a store lacks, keep each when it is finished: all results.

    A run that fails is kept with its traceback, the others are done all the same, and StudyError is
    raised at the end; the next call tries it again.
    """
    if runs < 1:
        raise OptionError(f"runs={runs}; use at least 1.")
    store.planned = runs
    failures: list[Answer] = []

    def tell() -> None:
        if progress is not None:
            progress(runs - len(store.missing(runs)), runs)

    # a file that has all of them is read even while another process writes to it
    with store.writing() if store.missing(runs) else nullcontext():
        tell()
        with closing(answers(function, store.missing(runs), n_jobs)) as finished:
            for answer in finished:
                store.keep(answer)
                if answer.content is None:
                    failures.append(answer)
                else:
                    tell()
    if failures:
        first = min(failures, key=lambda answer: int(answer.item))
        raise StudyError(
            f"{len(failures)} of {runs} runs failed, run {first.item} with {first.error}; the "
            "others are kept, and the same call tries the failed ones again"
        )
    return {run: store.results[run] for run in range(runs)}


class Finding(SimpleNamespace):
    """What the runs say: tables, ``runs`` with a row per run, and what only a figure needs."""

    def tables(self) -> dict[str, pd.DataFrame]:
        """The tables that a person reads: all but the single runs, and those without rows."""
        return {
            name: table
            for name, table in vars(self).items()
            if isinstance(table, pd.DataFrame) and name != "runs" and len(table)
        }


class Experiment(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table or figure of a source: the fields are its settings, a call is one run.

    A run is known by its number, from 0; its seed follows from number and settings, so that it is
    the same run however many there are.
    """

    random_state: int = 0

    name: ClassVar[str]
    repetitions: ClassVar[int]
    """Draws of the data unless stated otherwise."""
    figure: ClassVar[str] = ""
    """The "module:function" that draws a finding; empty where there is none."""
    free: ClassVar[frozenset[str]] = frozenset({"data"})
    """Fields no run depends on: a folder that may move, what only the tables are made with."""

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Self:
        """The experiment with settings as JSON or TOML hold them; OptionError for a wrong one."""
        try:
            return msgspec.convert(dict(settings), cls)
        except msgspec.ValidationError as error:
            known = ", ".join(cls.__struct_fields__)
            raise OptionError(f"settings of {cls.name}: {error}; there are {known}") from error

    def __call__(self, run: int) -> Result:
        """One run's result, as JSON can hold it."""
        raise NotImplementedError

    def finding(self, results: Results) -> Finding:
        """What the source makes of the runs."""
        raise NotImplementedError

    def draw(self, found: Finding) -> Any:
        """The source's figure of a finding."""
        if not self.figure:
            raise NotApplicableError(f"{self.name} has no figure: print its tables")
        module, _, function = self.figure.partition(":")
        return getattr(import_module(module), function)(found)

    def total(self, repetitions: int) -> int:
        """The runs of all repetitions."""
        return repetitions

    def settings(self) -> dict[str, Any]:
        """Everything a run depends on besides its number."""
        content = msgspec.structs.asdict(self)
        kept = {name: value for name, value in content.items() if name not in self.free}
        settings: dict[str, Any] = msgspec.to_builtins(kept)
        return settings

    def run(
        self,
        repetitions: int | None = None,
        *,
        out: str | os.PathLike[str] | None = None,
        n_jobs: int = 1,
        progress: Progress | None = None,
    ) -> Finding:
        """Do the runs that a file lacks, and make of all what the source does.

        Parameters
        ----------
        repetitions : int, optional
            Draws of the data, or of the folds; by default the experiment's own number.
        out : path-like, optional
            A SQLite file; each run is on the disk when it is counted.
        n_jobs : int
            Processes: -1 for all cores.
        progress : callable, optional
            ``progress(done, total)``, at the start and after each run.

        Raises
        ------
        OptionError
            The file holds runs of another experiment or with other settings.
        StudyError
            Some runs failed (the others are kept, the same call tries the failed ones again), or
            another process writes to the file.
        DataError
            A file cannot be read.
        """
        repetitions = self.repetitions if repetitions is None else repetitions
        if repetitions < 1:
            raise OptionError(f"runs={repetitions}; use at least 1.")
        store, total = RunStore(out, self.name, self.settings()), self.total(repetitions)
        return self.finding(finish_runs(store, self, total, n_jobs=n_jobs, progress=progress))


def means_of(runs: pd.DataFrame, by: list[str], columns: list[str]) -> pd.DataFrame:
    """A row per group: each column's mean and standard deviation (NAME_stdev), and the runs."""
    grouped = runs.groupby(by, sort=False)
    table = pd.DataFrame(
        {
            name: values
            for column in columns
            for name, values in (
                (column, grouped[column].mean()),
                (f"{column}_stdev", grouped[column].std()),
            )
        }
    )
    return table.assign(runs=grouped["run"].nunique()).reset_index()
