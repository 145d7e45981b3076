"""Every kind of rule on every set: a card, or the proof that there is none, within 10 s.

One rule at a time beside the defaults of a fit (five terms), under the 0-1 loss and as a risk
score, and none for comparison; limits on errors from generous to impossible. Seconds are the
process's CPU, and the limit counts them too, so that a busy machine changes nothing; all cases
run in one process, imports and kernels being loaded by a first one that is not shown. With
``--kept`` every case is written to a file at once, and a later run begins where that one ended.
``--time-limit`` sets another limit. With ``--longer`` what is open then is run again with that many
seconds, and its gap held against twice that without the rule.
"""

from __future__ import annotations

import argparse
import itertools
import time
from pathlib import Path
from typing import Any

from _common import SETS, Kept, Report, arguments, present, uci
from _rules import rules

LIMIT, NONE, TWICE = 10.0, "(none)", 2.0


def answered(name: str, formulation: str, rule: str, limit: float) -> dict[str, Any]:
    """One rule on one set; kernels are loaded outside the clock."""
    from milpscore.core.clock import Clock
    from milpscore.core.jit import making
    from milpscore.fitting import fit_card

    now = time.process_time
    Clock.now, making.now = staticmethod(now), now  # type: ignore[misc, method-assign]
    design = uci(name)
    assert design is not None
    begun, made = now(), making.seconds
    result = fit_card(
        design, formulation, constraints=[] if rule == NONE else [rules(design)[rule]],
        max_terms=5, time_limit=limit, progress=False,
    )[1]  # fmt: skip
    proved = str(result.termination) == "infeasible" and result.card is None
    return {
        "formulation": formulation,
        "set": name,
        "rule": rule,
        "answer": "no card (proved)" if proved else str(result.claim),
        "objective": result.objective,
        "bound": result.dual_bound,
        "gap": result.gap,
        "cpu": now() - begun - (making.seconds - made),
        "solver": result.solver,
        "met": bool(proved or result.card is not None),
    }


def main() -> None:
    settings = arguments(__doc__ or "", _options)
    report = Report("Rules: a card or the proof that there is none", settings)
    sets, absent = present(settings.sets or SETS)
    report.note(*absent)
    kept = Kept(settings.kept, "set", "formulation", "rule")
    limit = settings.time_limit or LIMIT
    rows = []
    for formulation in settings.formulations:
        answered(sets[0], formulation, NONE, limit)  # imports and kernels
    for name, formulation in itertools.product(
        sets[:1] if settings.quick else sets, settings.formulations
    ):
        design = uci(name)
        assert design is not None
        for rule in (NONE, *rules(design)):
            case = name, formulation, rule
            rows.append(kept.get(*case) or kept.add(answered(*case, limit)))
    report.records = rows
    for formulation in settings.formulations:
        caption = (
            f"`{formulation}`, five terms, at most {limit:g} s of CPU: proved, or the gap left"
        )
        own = [row for row in rows if row["formulation"] == formulation]
        report.tables.append((caption, by_rule(own)))
    ruled = [row for row in rows if row["rule"] != NONE]
    met = sum(row["met"] for row in ruled)
    wanted = f"all {len(ruled)} answered within {limit:g} s"
    report.target("a card, or none proved", wanted, f"{met} of {len(ruled)}", met == len(ruled))
    if settings.longer:
        report.records = [*rows, *longer(report, rows, kept, settings.longer)]
    report.finish()


def longer(
    report: Report, rows: list[dict[str, Any]], kept: Kept, seconds: float
) -> list[dict[str, Any]]:
    """The cases that are open, with more time: gaps beside those without the rule."""
    cases = {(row["set"], row["formulation"], row["rule"]): row for row in rows}
    found: dict[str, dict[str, Any]] = {}

    def again(name: str, formulation: str, rule: str) -> float:
        """The gap of a case with more time; that it had where it was closed."""
        case = name, formulation, rule
        if cases[case]["answer"] != "gap":
            return 0.0
        said = f"{rule}, {seconds:g} s"
        if (row := kept.get(name, formulation, said)) is None:
            row = kept.add({**answered(*case, seconds), "rule": said})
        found[f"{name}, {formulation}, {said}"] = row
        return float(row["gap"] if row["answer"] == "gap" else 0.0)

    table = []
    for (name, formulation, rule), row in cases.items():
        if rule == NONE or row["answer"] != "gap":
            continue
        own, without = again(name, formulation, rule), again(name, formulation, NONE)
        table.append({
            "set": name, "formulation": formulation, "rule": rule,
            "gap before": f"{100 * row['gap']:.3g} %", "gap": f"{100 * own:.3g} %",
            "without the rule": f"{100 * without:.3g} %", "met": own <= TWICE * without,
        })  # fmt: skip
    report.tables.append((f"Open cases again, at most {seconds:g} s of CPU", table))
    met = sum(row["met"] for row in table)
    what = f"gap after {seconds:g} s at most twice that without the rule"
    report.target(what, f"all {len(table)} open", f"{met} of {len(table)}", met == len(table))
    return list(found.values())


def by_rule(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One line a rule, one column a set."""
    sets = dict.fromkeys(row["set"] for row in rows)
    table: dict[str, dict[str, Any]] = {}
    for row in rows:
        line = table.setdefault(row["rule"], {"rule": row["rule"], **sets})
        if not row["met"]:
            said = "**nothing**"
        elif row["answer"] == "no card (proved)":
            said = "no card"
        else:
            said = "proved" if row["answer"] == "optimal" else f"{100 * row['gap']:.3g} %"
        line[row["set"]] = f"{said}, {row['cpu']:.1f} s"
    return list(table.values())


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sets", nargs="+", choices=SETS, help="only these sets")
    parser.add_argument(
        "--formulations", nargs="+", default=["slim", "risk_score"], help="what is fitted"
    )
    parser.add_argument("--kept", type=Path, help="a file of finished cases, to go on from")
    parser.add_argument("--longer", type=float, help="seconds for what is open, to be run again")


if __name__ == "__main__":
    main()
