"""A file of finished runs, one JSON line each: what is there is not run again."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from milpscore._version import __version__
from milpscore.core.errors import DataError, OptionError

Progress: TypeAlias = Callable[[int, int], None]
Results: TypeAlias = dict[int, dict[str, Any]]

_KEYS = {"experiment", "run", "settings", "versions", "result"}


class RunStore:
    """The finished runs of one experiment with one set of settings.

    Runs are counted from 0; a run's seed follows from its number and the settings' random_state,
    so that it is the same run however many there are. Every line holds the settings and the
    versions of milpscore, NumPy, SciPy and Python it was made with. Versions may differ between
    lines, settings may not.

    Parameters
    ----------
    path : path-like or None
        The file; made with the first run. None keeps the runs in memory only.
    experiment : str
    settings : mapping
        Whatever a run depends on besides its number, as JSON can hold it.

    Raises
    ------
    OptionError
        The file holds runs of another experiment or with other settings.
    DataError
        A line that is not the last cannot be read. A last line that a crash cut off is dropped
        from the file.
    """

    def __init__(
        self, path: str | os.PathLike[str] | None, experiment: str, settings: Mapping[str, Any]
    ) -> None:
        self.path = None if path is None else Path(path)
        self.experiment = experiment
        # through JSON once, so that tuples compare with the lists that are read back
        self.settings: dict[str, Any] = json.loads(json.dumps(dict(settings), allow_nan=False))
        self.results: Results = {}
        if self.path is not None and self.path.exists():
            self._read(self.path)

    def append(self, run: int, result: Mapping[str, Any]) -> None:
        """Keep a finished run, and write it to the disk before returning.

        Parameters
        ----------
        run : int
        result : mapping
            As JSON can hold it, without infinities and NaN.
        """
        line = {
            "experiment": self.experiment,
            "run": run,
            "settings": self.settings,
            "versions": versions(),
            "result": dict(result),
        }
        text = json.dumps(line, allow_nan=False)
        if self.path is not None:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(text + "\n")
                file.flush()
                os.fsync(file.fileno())
        self.results[run] = json.loads(text)["result"]

    def missing(self, runs: int) -> list[int]:
        """Numbers below ``runs`` that are not finished."""
        return [run for run in range(runs) if run not in self.results]

    def first(self, runs: int) -> Results:
        """The results of the runs below ``runs``, in order."""
        return {run: self.results[run] for run in range(runs) if run in self.results}

    def _read(self, path: Path) -> None:
        content = path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):
            with path.open("r+b") as file:
                file.truncate(len(whole))
        for number, text in enumerate(whole.splitlines(), start=1):
            line = _parsed(text)
            if line is None:
                raise DataError(
                    f"line {number} of {str(path)!r} is no finished run: remove that line, or name "
                    "another file"
                )
            self._check(line, path)
            self.results[int(line["run"])] = line["result"]

    def _check(self, line: Mapping[str, Any], path: Path) -> None:
        """Refuse to mix."""
        if line["experiment"] != self.experiment:
            raise OptionError(
                f"{str(path)!r} holds runs of {line['experiment']}, not of {self.experiment}: name "
                "another file"
            )
        old, new = line["settings"], self.settings
        changed = [key for key in sorted({*old, *new}) if old.get(key) != new.get(key)]
        if changed:
            what = ", ".join(f"{key}={old.get(key)!r} (now {new.get(key)!r})" for key in changed)
            raise OptionError(
                f"{str(path)!r} holds runs with other settings, {what}: name another file, or use "
                "those settings"
            )


def finish_runs(
    store: RunStore,
    function: Callable[[int], Mapping[str, Any]],
    runs: int,
    *,
    n_jobs: int = 1,
    progress: Progress | None = None,
) -> Results:
    """Do the runs below ``runs`` that a store lacks, and keep each one when it is finished.

    Parameters
    ----------
    store : RunStore
    function : callable
        A run's number -> its result; with several processes it must be picklable.
    runs : int
    n_jobs : int
        Processes; -1 for all cores.
    progress : callable, optional
        ``progress(done, total)``, once at the start and after each run.

    Returns
    -------
    dict of int to dict
        The results of runs 0 to ``runs`` - 1.

    Raises
    ------
    OptionError
        ``runs`` is below 1.
    """
    if runs < 1:
        raise OptionError(f"runs={runs}; use at least 1.")
    missing = store.missing(runs)
    done = runs - len(missing)
    if progress is not None:
        progress(done, runs)
    for run, result in _finished(function, missing, n_jobs):
        store.append(run, result)
        done += 1
        if progress is not None:
            progress(done, runs)
    return store.first(runs)


def versions() -> dict[str, str]:
    """What a run's numbers may depend on."""
    import numpy
    import scipy

    return {
        "milpscore": __version__,
        "numpy": numpy.__version__,
        "scipy": scipy.__version__,
        "python": platform.python_version(),
    }


def _finished(
    function: Callable[[int], Mapping[str, Any]], missing: list[int], n_jobs: int
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Runs as they end."""
    if n_jobs == 1 or len(missing) < 2:
        for run in missing:
            yield run, function(run)
        return
    from joblib import Parallel, delayed

    parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
    yield from parallel(delayed(_numbered)(function, run) for run in missing)


def _numbered(
    function: Callable[[int], Mapping[str, Any]], run: int
) -> tuple[int, Mapping[str, Any]]:
    """A run's number and result."""
    return run, function(run)


def _parsed(text: bytes) -> dict[str, Any] | None:
    """A line as a run, or None."""
    try:
        line = json.loads(text)
    except ValueError:
        return None
    return line if isinstance(line, dict) and line.keys() >= _KEYS else None
