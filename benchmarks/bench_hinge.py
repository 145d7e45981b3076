"""The time to prove a hinge-loss card, beside the plain program handed straight to HiGHS.

Points in [-5, 5], at most 5 terms, margin 1, b in [-50, 50], one thread, seed 0.
"""

from __future__ import annotations

import argparse

from _common import SETS, Report, arguments, percent, present
from _race import MAX_TERMS, Race, race, registered

LARGE = ("mushroom", "adult")
PROVED = {"bankruptcy": 0.0, "haberman": 0.52941, "breastcancer": 0.13031, "mammo": 0.45161}


def main() -> None:
    settings = arguments(__doc__ or "", _options)
    small = settings.time_limit or (3.0 if settings.quick else 20.0)
    large = settings.time_limit or (3.0 if settings.quick else 60.0)
    report = Report("hinge: ours beside plain HiGHS", settings)
    report.settings |= {"time_limit_small": small, "time_limit_large": large}
    sets, absent = present(
        ("bankruptcy", "haberman") if settings.quick and not settings.sets else SETS
    )
    if settings.sets:
        sets = [name for name in sets if name in settings.sets]
    solvers, missing = registered(settings.solver)
    report.note(*absent, *missing)
    races = []
    for name in sets:
        given = {"max_terms": MAX_TERMS, "margin": 1.0, "intercept_bounds": [-50, 50]}
        limit = large if name in LARGE else small
        chosen = solvers if settings.solver or name in LARGE else solvers[:1]
        races.append(race(name, "hinge", given, chosen, limit))
        report.note(*races[-1].refused)
        for row in races[-1].answer_rows():
            print("  ".join(f"{k}={v}" for k, v in row.items()), flush=True)
    report.records = [each.record() for each in races]
    report.tables = [
        (
            f"Answers after at most {small:g} s ({', '.join(LARGE)}: {large:g} s)",
            [row for each in races for row in each.answer_rows()],
        ),
        (
            "Seconds to a gap, ours / plain HiGHS = ratio",
            [row for each in races for row in each.time_rows()],
        ),
    ]
    for each in races:
        add_target(report, each)
    report.note(
        "Textbook: rows not merged, slacks without upper bounds, |w_j| <= 5 alpha_j, no start.",
        "Seconds to a gap count from the rows in memory: build, start, hand-over, solve.",
    )
    report.finish()


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--solver",
        nargs="+",
        help="ours by these solvers (default: highs, and support_tree on the large sets)",
    )
    parser.add_argument("--sets", nargs="+", choices=SETS, help="only these sets")


def add_target(report: Report, each: Race) -> None:
    """A proof on the small sets; half of plain HiGHS's gap on the large ones."""
    for solver, mine in each.ours.items():
        if each.name in PROVED:
            report.target(
                f"{each.name}, {solver}",
                f"proved {PROVED[each.name]:.5f} within 20 s",
                f"{mine['claim']} {mine['objective']:.5f} in {mine['solve_seconds']:.2f} s",
                mine["claim"] == "optimal"
                and abs(mine["objective"] - PROVED[each.name]) < 1e-5
                and mine["solve_seconds"] <= 20,
            )
        else:
            report.target(
                f"{each.name}, {solver}",
                f"gap at {each.limit:g} s at most half of plain HiGHS's",
                f"{percent(mine['gap'])} against {percent(each.rival['gap'])}",
                mine["gap"] <= each.rival["gap"] / 2,
            )


if __name__ == "__main__":
    main()
