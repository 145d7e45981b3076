"""CPU of the first card a newcomer gets: the whole command, with no compiled kernels and with all.

Every engine fits breastcancer's columns as they are, where a proof takes little, at five terms in a
process of its own: once with an empty kernel cache, then again with what the first run left. User
and system seconds of the process and its children, imports included.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile

from _common import DATA, Report, arguments

ENGINES = {
    "risk score, tree": ["--formulation", "risk-score"],
    "risk score, fast mode": ["--formulation", "risk-score", "--heuristic"],
    "slim, 0-1 tree": ["--formulation", "slim"],
    "hinge, HiGHS": ["--formulation", "hinge"],
}
EMPTY, WARM = 6.0, 3.0


def seconds(command: list[str], cache: str) -> float:
    """User and system seconds of one run."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache, "OMP_NUM_THREADS": "1"}
    subprocess.run(command, env=environment, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    report = Report("The first card, with and without compiled kernels", arguments(__doc__ or ""))
    data = DATA / "breastcancer.csv"
    if not data.is_file():
        report.note("breastcancer is not there: nothing was measured.")
        report.finish()
        return
    target = data.open(encoding="utf-8").readline().split(",")[0].strip()
    fit = [
        sys.executable,
        "-m",
        "milpscore",
        "fit",
        str(data),
        "--target",
        target,
        "--raw",
        "--quiet",
    ]
    rows = []
    for engine, options in ENGINES.items():
        with tempfile.TemporaryDirectory() as cache:
            empty = seconds([*fit, *options], cache)
            warm = min(seconds([*fit, *options], cache) for _ in range(1 if report.quick else 3))
        rows.append({"engine": engine, "empty cache, CPU s": empty, "warm, CPU s": warm})
        for name, found, wanted in (("empty cache", empty, EMPTY), ("warm", warm, WARM)):
            said = f"{found:.1f} s"
            report.target(f"{engine}, {name}", f"<= {wanted:g} s CPU", said, found <= wanted)
    report.tables.append(("CPU seconds of 'milpscore fit', breastcancer, five terms", rows))
    report.records = rows
    report.finish()


if __name__ == "__main__":
    main()
