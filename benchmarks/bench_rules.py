"""Every kind of rule on every set: a card, or the proof that there is none, within 10 s.

One rule at a time beside the defaults of a fit (five terms), under the 0-1 loss and as a risk
score, and none for comparison; limits on errors from generous to impossible. Seconds are the
process's CPU, and the limit counts them too, so that a busy machine changes nothing; all cases
run in one process, imports and kernels being loaded by a first one that is not shown. With
``--kept`` every case is written to a file at once, and a later run begins where that one ended.
``--time-limit`` sets another limit.
"""

from __future__ import annotations

import argparse
import itertools
import time
from pathlib import Path
from typing import Any

from _common import SETS, Kept, Report, arguments, present, uci
from _rules import rules

LIMIT, NONE = 10.0, "(none)"


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
    report.finish()


def by_rule(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One line a rule, one column a set."""
    sets = dict.fromkeys(row["set"] for row in rows)
    table: dict[str, dict[str, Any]] = {}
    for row in rows:
        line = table.setdefault(row["rule"], {"rule": row["rule"], **sets})
        if not row["met"]:
            told = "**nothing**"
        elif row["answer"] == "no card (proved)":
            told = "no card"
        else:
            told = "proved" if row["answer"] == "optimal" else f"{100 * row['gap']:.3g} %"
        line[row["set"]] = f"{told}, {row['cpu']:.1f} s"
    return list(table.values())


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sets", nargs="+", choices=SETS, help="only these sets")
    parser.add_argument(
        "--formulations", nargs="+", default=["slim", "risk_score"], help="what is fitted"
    )
    parser.add_argument("--kept", type=Path, help="a file of finished cases, to go on from")


if __name__ == "__main__":
    main()
