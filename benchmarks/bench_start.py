"""CPU from a fresh process to the first card, with compiled kernels and with none.

A table of 500 rows, eight measured columns and one of 0 and 1, is fitted at five terms by every
engine, and the first 500 rows of a set whose many cuts make supports many by the tree. Beside it
are the helps, and fresh processes of imodels and FasterRisk that read the same
file and fit their defaults, which prove nothing. User and system seconds of a process and its
children, imports included. Everybody takes turns.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from _common import DATA, HERE, Kept, Report, arguments, median, rival_python

FIT = ["fit", "TABLE", "--target", "y", "--quiet"]
HELPS = {"milpscore --help": ["--help"], "milpscore fit --help": ["fit", "--help"]}
ENGINES = {
    "risk score, proved by the tree": FIT,
    "risk score, fast mode": [*FIT, "--heuristic"],
    "slim, proved by the 0-1 tree": [*FIT, "--formulation", "slim"],
    "hinge at 20 nodes of HiGHS": [
        *FIT, "--raw", "--formulation", "hinge", "--node-limit", "20",
    ],
}  # fmt: skip
RIVALS = ("imodels", "fasterrisk")
RIVAL = """
import sys, warnings
warnings.simplefilter("ignore")
import pandas as pd
import _defaults_rival
table = pd.read_csv(sys.argv[2])
y = table.pop("y").to_numpy()
print(getattr(_defaults_rival, sys.argv[1])(table, y, table)[2])
"""
PROVED = "risk score, proved by the tree"
HARD = "breastcancer"
EMPTY, WARM, MOST = 6.0, 2.0, 120


def seconds(command: list[str], **more: str) -> float:
    """User and system seconds of one run; 0 where it would take more than ``MOST``."""
    given = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        command,
        check=False,
        capture_output=True,
        cwd=HERE,
        env={**given, "OMP_NUM_THREADS": "1", **more},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (MOST, MOST)),
    )
    if done.returncode < 0:
        return 0.0
    done.check_returncode()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def write_table(file: Path) -> None:
    """Labels that lean on four of the columns."""
    rng = np.random.default_rng(5)
    X, z = rng.normal(size=(500, 8)).round(1), rng.integers(0, 2, 500)
    score = X[:, 0] + 1.2 * (X[:, 1] > 0.3) - 0.8 * X[:, 2] + z - 0.3
    y = rng.uniform(size=500) < 1.0 / (1.0 + np.exp(-2.0 * score))
    lines = ["y," + ",".join(f"x{j}" for j in range(8)) + ",z"]
    lines += [f"{int(a)},{','.join(map(str, row))},{b}" for a, row, b in zip(y, X, z, strict=True)]
    file.write_text("\n".join(lines) + "\n")


def main() -> None:
    settings = arguments(
        __doc__ or "",
        lambda parser: parser.add_argument(
            "--kept", type=Path, help="a file of finished runs, to go on from; kernels beside it"
        ),
    )
    report = Report("From the command to the first card", settings, RIVALS)
    runs, firsts = (1, 1) if report.quick else (5, 3)
    kept = Kept(settings.kept, "command", "run")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) if kept.file is None else kept.file.resolve().with_suffix("")
        folder.mkdir(exist_ok=True)
        write_table(table := folder / "table.csv")
        tables = {"": table}
        if (source := DATA / f"{HARD}.csv").is_file():
            tables[f", {HARD}"] = folder / f"{HARD}.csv"
            head, *lines = source.read_text().splitlines()[:501]
            text = "\n".join(["y," + head.partition(",")[2], *lines])
            tables[f", {HARD}"].write_text(text + "\n")
        else:
            report.note(f"skipped: {HARD} is not in MILPSCORE_DATA")
        code = {"PYTHONPYCACHEPREFIX": str(folder / "code")}
        ours = {
            name + which: [
                sys.executable,
                "-m",
                "milpscore",
                *(str(file) if w == "TABLE" else w for w in words),
            ]
            for which, file in tables.items()
            for name, words in ((HELPS | ENGINES) if file == table else {PROVED: FIT}).items()
        }
        theirs = {
            name: [python, "-c", RIVAL, name, str(table)]
            for name in RIVALS
            if (python := rival_python(name))
        }
        kernels = {name: str(folder / f"kernels{k}") for k, name in enumerate(ours | theirs)}

        def run(name: str, turn: str, kernels: str) -> float:
            found = kept.get(name, turn)
            if found is None:
                taken = seconds((ours | theirs)[name], **code, NUMBA_CACHE_DIR=kernels)
                found = kept.add({"command": name, "run": turn, "seconds": round(taken, 3)})
            return float(found["seconds"])

        warm: dict[str, list[float]] = {name: [] for name in (*ours, *theirs)}
        first, empty = {}, []
        for name in (*ours, *theirs):  # leaves byte code, and kernels
            first[name] = run(name, "first", kernels[name])
            if not first[name]:
                report.note(f"{name} gave no card within {MOST} s of CPU.")
                del warm[name]
        for turn in range(runs):
            for name, taken in warm.items():
                taken.append(run(name, f"warm {turn}", kernels[name]))
            if turn < firsts:
                empty.append(run(PROVED, f"empty {turn}", str(folder / f"empty{turn}")))
    rows: list[dict[str, Any]] = [
        {"command": name, "CPU s": median(warm[name]), "the first time, CPU s": first[name]}
        for name in warm
    ]
    report.tables.append(("CPU seconds of a fresh process, a table of 500 rows, five terms", rows))
    report.records = [{"warm": warm, "first": first, "empty": empty}]
    for which in tables:
        found = median(warm[PROVED + which])
        report.target(PROVED + which, f"<= {WARM:g} s CPU", f"{found:.2f} s", found <= WARM)
    found = median(empty)
    what = f"{PROVED}, empty kernel cache"
    report.target(what, f"<= {EMPTY:g} s CPU", f"{found:.2f} s", found <= EMPTY)
    for name in [each for each in theirs if each in warm]:
        ratio = median(warm[name]) / median(warm["risk score, fast mode"])
        report.target(f"{name} / fast mode, warm", ">= 1", f"{ratio:.2f}", ratio >= 1.0)
    report.note(
        f"Medians of {runs} runs, and of {firsts} with an empty kernel cache; the very first time "
        "byte code is made as well."
    )
    report.finish()


if __name__ == "__main__":
    main()
