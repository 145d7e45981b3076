"""What every benchmark shares: data, a ruler for the machine, child processes, and the report."""

from __future__ import annotations

import argparse
import datetime
import json
import math
import multiprocessing
import os
import platform
import re
import resource
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, distributions, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from milpscore.core.design import Design

HERE = Path(__file__).parent
RIVALS = Path(os.environ.get("MILPSCORE_RIVALS", HERE.parent / ".venv-rivals"))
"""The environment that ``make bench-rivals`` fills."""
DATA = Path(os.environ.get("MILPSCORE_DATA", HERE.parents[1] / "shared" / "data"))
SETS = ("bankruptcy", "haberman", "breastcancer", "mammo", "mushroom", "adult")
SEED = 0


def uci(name: str) -> Design | None:
    """The design of a UCI set, its label being the first column; None where it is absent."""
    from milpscore.data import make_design, read_frame, read_table

    path = DATA / f"{name}.csv"
    if not path.is_file():
        return None
    frame = read_frame(path)
    return make_design(*read_table(frame, frame.columns[0]))


def present(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """The sets that are there, and a sentence for each that is not."""
    found = [name for name in names if (DATA / f"{name}.csv").is_file()]
    absent = [
        f"skipped: {name} is not in MILPSCORE_DATA (default ../shared/data)"
        for name in names
        if name not in found
    ]
    return found, absent


def rival_version(package: str) -> str | None:
    """The version that the rivals' environment has of a package, None where it has none."""
    name = package.replace("_", "-")
    found = distributions(path=_rival_paths())
    return next((each.version for each in found if each.name.replace("_", "-") == name), None)


def rival_python(package: str) -> str | None:
    """The Python of the rivals' environment, where that has the package."""
    return str(RIVALS / "bin" / "python") if rival_version(package) else None


def with_rivals() -> None:
    """Let this process import the rivals too; what both environments have is taken from ours."""
    sys.path += [path for path in _rival_paths() if path not in sys.path]


def _rival_paths() -> list[str]:
    return [str(path) for path in sorted(RIVALS.glob("lib/python*/site-packages"))]


def arguments(
    description: str, add: Callable[[argparse.ArgumentParser], None] | None = None
) -> argparse.Namespace:
    """The options all benchmarks share, and those ``add`` brings."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="a short look; writes no results")
    parser.add_argument("--time-limit", type=float, help="seconds per run and rival")
    parser.add_argument(
        "--out",
        type=Path,
        help="JSON to write, its table beside it as .md (default: results/NAME.json, "
        "nothing with --quick)",
    )
    if add is not None:
        add(parser)
    return parser.parse_args()


# --- the machine ---------------------------------------------------------------------------------


def machine() -> dict[str, Any]:
    """Processor, cores, load and the versions that decide the figures."""
    packages = ("milpscore", "highspy", "numpy", "scipy", "pyomo")
    # named only where they are there: one benchmark each has a use for them
    packages += tuple(name for name in ("cvxpy", "ecos", "clarabel", "numba") if find_spec(name))
    return {
        "cpu": _cpu_name(),
        "cores": os.cpu_count(),
        "load_average": round(os.getloadavg()[0], 2),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {package: _version_of(package) for package in packages},
    }


def _cpu_name() -> str:
    info = Path("/proc/cpuinfo")
    found = re.search(r"model name\s*:\s*(.+)", info.read_text()) if info.is_file() else None
    return found[1] if found else platform.processor()


def _version_of(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        if package == "milpscore":  # run from a checkout that is not installed
            import milpscore

            return str(milpscore.__version__)
        return "absent"


def ruler() -> dict[str, float]:
    """Seconds of a fixed NumPy and a fixed HiGHS job, the best of three each.

    Divide a figure by the ruler's before comparing it with another machine's.
    """
    return {
        "numpy_seconds": round(min(_timed(_numpy_job) for _ in range(3)), 4),
        "highs_seconds": round(min(_timed(_highs_job) for _ in range(3)), 4),
    }


def _timed(job: Callable[[], object]) -> float:
    started = time.perf_counter()
    job()
    return time.perf_counter() - started


def _numpy_job() -> None:
    rng = np.random.default_rng(SEED)
    square = rng.random((1000, 1000))
    for _ in range(10):
        square = square @ square
        square /= square.max()
    np.sort(rng.random(10_000_000))


def _highs_job() -> None:
    """A knapsack with eight rows and 30 items, solved to the end with one thread."""
    import highspy

    rng = np.random.default_rng(SEED)
    weight = rng.integers(10, 100, size=(8, 30)).astype(float)
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("threads", 1)
    highs.setOptionValue("mip_rel_gap", 0.0)
    lp = highspy.HighsLp()
    lp.num_row_, lp.num_col_ = weight.shape
    lp.col_cost_ = -(weight.mean(axis=0) + rng.integers(0, 20, size=30))
    lp.col_lower_, lp.col_upper_ = np.zeros(30), np.ones(30)
    lp.row_lower_, lp.row_upper_ = np.full(8, -np.inf), np.floor(weight.sum(axis=1) / 2)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = np.arange(0, 30 * 8 + 1, 30)
    lp.a_matrix_.index_ = np.tile(np.arange(30), 8)
    lp.a_matrix_.value_ = weight.ravel()
    lp.integrality_ = [highspy.HighsVarType.kInteger] * 30
    highs.passModel(lp)
    highs.run()


# --- child processes -----------------------------------------------------------------------------


def in_child(function: Callable[..., dict[str, Any]], *given: Any, patience: float) -> Any:
    """The answer of ``function(*given)`` from a fresh interpreter, with its peak memory.

    Parameters
    ----------
    function : callable
        Of a module, not of a class or function; its answer is a mapping.
    patience : float
        Seconds after which the child is ended and an error raised.

    Returns
    -------
    dict
        The answer and ``peak_mb``, the largest resident size the child ever had.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_answer, args=(theirs, function, given))
    child.start()
    theirs.close()
    try:
        if not ours.poll(patience):
            raise RuntimeError(f"{function.__name__}{given}: no answer after {patience:.0f} s")
        answer = ours.recv()
    except EOFError:
        child.join()
        raise RuntimeError(f"{function.__name__}{given}: ended with {child.exitcode}") from None
    finally:
        if child.is_alive():
            child.join(5)
        if child.is_alive():
            child.kill()
            child.join()
    if "error" in answer:
        raise RuntimeError(f"{function.__name__}{given}: {answer['error']}")
    return answer


def _answer(pipe: Any, function: Callable[..., dict[str, Any]], given: tuple[Any, ...]) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # HiGHS's banner, from rivals that let it through
    try:
        answer = function(*given)
        pipe.send({**answer, "peak_mb": round(peak_kb() / 1024, 1)})
    except Exception as error:  # noqa: BLE001 raised again in the parent
        pipe.send({"error": f"{type(error).__name__}: {error}"})
    finally:
        pipe.close()


def peak_kb() -> int:
    """Largest resident size of this process, in KB.

    Linux's ru_maxrss also counts the parent a child was forked from; VmHWM does not.
    """
    found = _status("VmHWM")
    if found is not None:
        return found
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak // 1024 if sys.platform == "darwin" else peak


def resident_kb() -> int:
    """Resident size now, in KB; the peak where the system does not say."""
    found = _status("VmRSS")
    return peak_kb() if found is None else found


def _status(key: str) -> int | None:
    path = Path("/proc/self/status")
    if not path.is_file():
        return None
    return int(re.search(rf"{key}:\s*(\d+) kB", path.read_text())[1])  # type: ignore[index]


# --- the report ----------------------------------------------------------------------------------


class Report:
    """One benchmark's figures: printed, and written as JSON and Markdown."""

    def __init__(
        self, title: str, settings: argparse.Namespace, rivals: Sequence[str] = ()
    ) -> None:
        self.name = Path(sys.argv[0]).stem.removeprefix("bench_")
        self.title = title
        self.quick: bool = settings.quick
        default = None if settings.quick else HERE / "results" / f"{self.name}.json"
        self.out: Path | None = settings.out or default
        self.settings = {
            key: value
            for key, value in vars(settings).items()
            # a place on this machine says nothing to a reader on another
            if key != "quick" and value is not None and not _is_place(value)
        }
        self.machine = machine()
        self.ruler = ruler()
        self.tables: list[tuple[str, list[dict[str, Any]]]] = []
        self.targets: list[dict[str, Any]] = []
        self.notes: list[str] = []
        for rival in rivals:
            found = rival_version(rival)
            if found is None:
                self.note(f"skipped: {rival} is not installed (make bench-rivals)")
            else:
                self.machine["versions"][rival] = found
        self.records: list[dict[str, Any]] = []
        self._started = time.perf_counter()
        print(f"# {title}\n\n{self._measured()}", flush=True)

    def note(self, *sentences: str) -> None:
        """Keep what a reader has to know."""
        self.notes += sentences

    def target(self, what: str, wanted: str, got: str, met: bool) -> None:
        """Note whether a figure that must be reached was reached."""
        self.targets.append({"target": what, "wanted": wanted, "got": got, "met": bool(met)})

    def finish(self) -> None:
        """Print the tables, and write the files where results are wanted."""
        seconds = time.perf_counter() - self._started
        self.ruler["highs_seconds_at_the_end"] = ruler()["highs_seconds"]
        self.machine["load_average_at_the_end"] = round(os.getloadavg()[0], 2)
        print("\n" + self._body(), flush=True)
        if self.out is None:
            return
        whole = {
            "benchmark": self.name,
            "date": datetime.date.today().isoformat(),
            "quick": self.quick,
            "settings": self.settings,
            "machine": self.machine,
            "ruler": self.ruler,
            "seconds": round(seconds, 1),
            "targets": self.targets,
            "tables": dict(self.tables),
            "records": self.records,
            "notes": self.notes,
        }
        self.out.parent.mkdir(parents=True, exist_ok=True)
        self.out.write_text(json.dumps(_plain(whole), indent=1, allow_nan=False) + "\n")
        text = f"# {self.title}\n\n{self._measured()}\n\n{self._body()}\n"
        self.out.with_suffix(".md").write_text(text)
        if self.out == HERE / "results" / f"{self.name}.json" and not self.quick:
            self._into_readme()

    def _into_readme(self) -> None:
        """Put the last full run between the marks of this benchmark in the folder's README."""
        readme = HERE / "README.md"
        marks = f"<!-- {self.name} -->", f"<!-- end {self.name} -->"
        before, found, rest = readme.read_text().partition(marks[0])
        _, ended, after = rest.partition(marks[1])
        if not (found and ended):
            raise RuntimeError(f"README.md lacks the marks {marks[0]} ... {marks[1]}: add them")
        body = f"{self._measured()}\n\n{self._body()}"
        readme.write_text(f"{before}{marks[0]}\n{body}\n{marks[1]}{after}")

    def _measured(self) -> str:
        versions = ", ".join(f"{k} {v}" for k, v in self.machine["versions"].items())
        ends = self.ruler.get("highs_seconds_at_the_end")
        return (
            f"Measured {datetime.date.today().isoformat()} on {self.machine['cores']} cores "
            f"({self.machine['cpu']}), load {self.machine['load_average']}, Python "
            f"{self.machine['python']}, {versions}. Ruler: NumPy job "
            f"{self.ruler['numpy_seconds']:.3f} s, HiGHS job {self.ruler['highs_seconds']:.3f} s"
            + (f" ({ends:.3f} s at the end)." if ends else ".")
        )

    def _body(self) -> str:
        parts = [f"{caption}\n\n{markdown(rows)}" for caption, rows in self.tables if rows]
        if self.targets:
            rows = [{**row, "met": "pass" if row["met"] else "**miss**"} for row in self.targets]
            parts.append("Targets\n\n" + markdown(rows))
        if self.notes:
            parts.append("\n".join(f"- {sentence}" for sentence in self.notes))
        return "\n\n".join(parts)


def _is_place(value: Any) -> bool:
    return isinstance(value, Path) or (isinstance(value, str) and Path(value).is_absolute())


class Kept:
    """The finished cases of a file, one JSON row a line, found again by the values of ``names``."""

    def __init__(self, file: Path | None, *names: str) -> None:
        self.file = file
        self.names = names
        lines = file.read_text().splitlines() if file is not None and file.is_file() else []
        rows = [json.loads(line) for line in lines]
        self._rows = {tuple(row[name] for name in names): row for row in rows}

    def get(self, *values: Any) -> dict[str, Any] | None:
        """The row of a case that was finished."""
        return self._rows.get(values)

    def add(self, row: dict[str, Any]) -> dict[str, Any]:
        """Show a finished case and write it down at once."""
        print("  ".join(f"{k}={v}" for k, v in row.items()), flush=True)
        self._rows[tuple(row[name] for name in self.names)] = row
        if self.file is not None:
            with self.file.open("a") as file:
                file.write(json.dumps(row) + "\n")
        return row


def markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    """A table with aligned columns; the first row's keys are the heads."""
    heads = list(rows[0])
    cells = [heads, *([show(row.get(head)) for head in heads] for row in rows)]
    widths = [max(len(line[k]) for line in cells) for k in range(len(heads))]
    lines = ["| " + " | ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)) + " |"
             for r in cells]  # fmt: skip
    lines.insert(1, "|" + "|".join("-" * (w + 2) for w in widths) + "|")
    return "\n".join(lines)


def show(value: Any) -> str:
    """A cell."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return "-" if not math.isfinite(value) else f"{value:.4g}"
    return str(value)


def percent(value: float) -> str:
    """A gap or share in percent."""
    return f"{100 * value:.2f} %" if math.isfinite(value) else "-"


def median(values: Sequence[float]) -> float:
    """The median."""
    return float(statistics.median(values))


def _plain(value: Any) -> Any:
    """The same with nothing but JSON in it; what is not finite becomes null."""
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, float | np.floating):
        return float(f"{value:.7g}") if math.isfinite(value) else None
    if isinstance(value, np.integer):
        return int(value)
    return value if isinstance(value, bool | int | str) or value is None else str(value)
