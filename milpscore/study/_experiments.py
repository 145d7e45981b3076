"""Experiments of papers run from settings that a file or the command line holds."""

from __future__ import annotations

import dataclasses
import inspect
import os
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from milpscore.core.errors import NotApplicableError, OptionError
from milpscore.study._checks import refuse_unknown
from milpscore.study._engines import using_scheduler
from milpscore.study._registry import experiment_function
from milpscore.study._report import StudyReport
from milpscore.study._runs import Progress
from milpscore.study._sqlite import is_new, opened, transaction
from milpscore.study._store import canonical

_OURS = ("out", "n_jobs", "progress")


def run_experiment(
    name: str,
    settings: Mapping[str, Any],
    out: str | os.PathLike[str] | None,
    *,
    jobs: int = 1,
    dask: str | None = None,
    progress: Progress | None = None,
) -> Any:
    """Do the runs of an experiment that a file lacks, and what the paper makes of them.

    Parameters
    ----------
    name : str
        Of :data:`milpscore.study.EXPERIMENTS`.
    settings : mapping
        Arguments of its function, as JSON can hold them; ``runs`` and ``random_state`` among them.
    out : path-like or None
        A file of results.
    jobs, dask :
        Processes of this machine, or the address of a Dask scheduler.
    progress : callable, optional
        ``progress(done, total)``.

    Returns
    -------
    object
        What the experiment's function returns.

    Raises
    ------
    OptionError, DataError, StudyError
        As :func:`milpscore.study.finish_runs`.
    """
    function = experiment_function(name)
    arguments = _as_called(function, checked_settings(name, settings, "settings"))
    with using_scheduler(dask):
        found = function(**arguments, out=out, n_jobs=jobs, progress=progress)
    if out is not None:
        _remember(Path(out), settings)
    return found


def default_runs(name: str) -> int | None:
    """How many runs an experiment has unless it is told; None where it does not say."""
    parameter = inspect.signature(experiment_function(name)).parameters.get("runs")
    return None if parameter is None or parameter.default is parameter.empty else parameter.default


def checked_settings(name: str, settings: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Settings an experiment takes.

    Raises
    ------
    OptionError
        For one it does not take; the message names the nearest.
    """
    function = experiment_function(name)
    parameters = inspect.signature(function).parameters
    if any(each.kind is each.VAR_KEYWORD for each in parameters.values()):
        return dict(settings)
    refuse_unknown(settings, [key for key in parameters if key not in _OURS], where)
    for key, value in settings.items():
        if isinstance(value, Mapping):
            made = _dataclass_of(function, key)
            if made is not None:
                names = [field.name for field in dataclasses.fields(made)]
                refuse_unknown(value, names, f"{where}, {key}")
        default = parameters[key].default
        if isinstance(default, int | float) and not isinstance(default, bool):
            wanted = (int,) if isinstance(default, int) else (int, float)
            if not isinstance(value, wanted) or isinstance(value, bool):
                kind = "a whole number" if wanted == (int,) else "a number"
                raise OptionError(f"{where}, {key}: must be {kind}, got {value!r}")
    return dict(settings)


def _as_called(function: Any, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as the function takes them: tables where it wants a dataclass become one."""
    arguments = dict(settings)
    for key, value in settings.items():
        made = _dataclass_of(function, key) if isinstance(value, Mapping) else None
        if made is not None:
            lists = {name: tuple(v) if isinstance(v, list) else v for name, v in value.items()}
            arguments[key] = made(**lists)
    return arguments


def _dataclass_of(function: Any, key: str) -> type | None:
    """The dataclass a parameter may be, say Protocol | None."""
    hint = typing.get_type_hints(function).get(key)
    for each in (hint, *typing.get_args(hint)):
        if isinstance(each, type) and dataclasses.is_dataclass(each):
            return each
    return None


def _remember(path: Path, settings: Mapping[str, Any]) -> None:
    """Keep what was asked for beside the runs, so that the finding can be made again from them."""
    if is_new(path):
        return
    with opened(path) as connection, transaction(connection):
        connection.execute("UPDATE study SET request = ?", (canonical(settings),))


def finding_of(report: StudyReport) -> Any:
    """What a paper makes of the runs in a file; no run is done for it.

    Raises
    ------
    NotApplicableError
        Runs are missing.
    """
    if report.request is None or report.left:
        raise NotApplicableError(
            f"{report.path.name} lacks runs of {report.experiment}: finish them with the command "
            "that began them"
        )
    return run_experiment(report.experiment, report.request, report.path)
