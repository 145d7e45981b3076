"""An L1-logistic path of 30 lambdas down to lambda_max / 100, beside skglm and glum.

One thread. Every solver runs at the loosest of its tolerances 1e-4, 1e-4.5, ... 1e-10 at which its
own worst relative duality gap on the path is at most 1e-6. The first call (imports, compiling or
reading the compiled code from disk) has a column of its own.
"""

from __future__ import annotations

import os
from typing import Any

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
for name in THREADS:  # before NumPy is loaded, here and in the children
    os.environ[name] = "1"

from _common import Report, arguments, in_child, present  # noqa: E402
from _paths import RACERS, installed, run  # noqa: E402

WANTED = {"adult": 1.0, "4600 x 57": 1.0, "2000 x 5000": 1.2}


def main() -> None:
    settings = arguments(__doc__ or "")
    limit = settings.time_limit or 600.0
    report = Report("L1-logistic path: ours beside skglm and glum", settings, list(RACERS)[1:])
    _, absent = present(["adult"])
    report.note(*absent)
    sets = [name for name in WANTED if not (absent and name == "adult")]
    if settings.quick:
        sets = [*sets[:-1], "200 x 500"]
    rows: list[dict[str, Any]] = []
    for name in sets:
        for racer in RACERS:
            if not installed(racer):
                continue
            if racer == "glum" and name == "2000 x 5000":
                report.note("glum has no working set: 2000 x 5000 took it more than 40 s, left out")
                continue
            try:
                row = in_child(
                    run, racer, name, 10 if settings.quick else 30, 1 if settings.quick else 3,
                    patience=limit,
                )  # fmt: skip
            except RuntimeError as error:
                report.note(f"{name}, {racer}: {error}")
                continue
            rows.append(row)
            print("  ".join(f"{key}={value}" for key, value in row.items()), flush=True)
        compare(report, name, rows)
    report.records = rows
    report.tables = [("Seconds for the whole path", [_cells(row) for row in rows])]
    report.notes = list(dict.fromkeys(report.notes))
    report.finish()


def compare(report: Report, name: str, rows: list[dict[str, Any]]) -> None:
    """The target: our CPU seconds against those of the quicker rival."""
    seconds = {row["by"]: row["CPU s"] for row in rows if row["set"] == name}
    gaps = {row["by"]: row["worst gap"] for row in rows if row["set"] == name}
    rivals = {by: value for by, value in seconds.items() if by != "milpscore"}
    if "milpscore" not in seconds or not rivals or name not in WANTED:
        return
    best = min(rivals, key=lambda by: rivals[by])
    ratio = seconds["milpscore"] / rivals[best]
    report.target(
        f"{name}: path beside {best}",
        f"<= {WANTED[name]:.1f}x, gap <= 1e-6",
        f"{ratio:.2f}x ({seconds['milpscore']:.2f} s / {rivals[best]:.2f} s), "
        f"gap {gaps['milpscore']:.1e}",
        ratio <= WANTED[name] and gaps["milpscore"] <= 1e-6,
    )


def _cells(row: dict[str, Any]) -> dict[str, Any]:
    return {
        **{key: row[key] for key in ("set", "by", "tol")},
        **{key: f"{row[key]:.3f}" for key in ("CPU s", "s", "first call s")},
        "worst gap": f"{row['worst gap']:.1e}",
        "terms at the end": row["terms at the end"],
        "peak MB": row["peak_mb"],
    }


if __name__ == "__main__":
    main()
