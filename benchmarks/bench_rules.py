"""Every kind of rule on every set: a card, or the proof that there is none, within 10 s.

One rule at a time beside the defaults of a fit (five terms), under the 0-1 loss or another
formulation; limits on errors from generous to impossible. Seconds are the process's CPU, and the
limit counts them too, so that a busy machine changes nothing. With ``--kept`` every case is written
to a file at once, and a later run begins where that one ended.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from _common import SETS, Report, arguments, in_child, present, uci

LIMIT = 10.0


def rules(design: Any) -> dict[str, list[Any]]:
    """One rule of each kind that docs/constraints.md lists, by a name for the table."""
    import numpy as np

    from milpscore.constraints import (
        AtLeast,
        AtMost,
        EitherOr,
        Exactly,
        Exclude,
        Implies,
        Include,
        MaxErrors,
        MaxFeatures,
        MaxFPR,
        MinTPR,
        Monotone,
        Range,
        Sign,
        TotalRange,
    )

    names, X = list(design.names), design.X
    binary = [j for j in range(len(names)) if set(np.unique(X[:, j])) <= {0.0, 1.0}]
    group = names[binary[0]] if binary else f"{names[0]} > {float(np.median(X[:, 0])):g}"
    found = {
        "Sign +": Sign(names, "+"),
        "Sign -": Sign(names[0], "-"),
        "Range 2 to 4": Range(names[0], 2, 4),
        "AtMost 1 of 3": AtMost(1, names[:3]),
        "AtLeast 2 of 3": AtLeast(2, names[:3]),
        "Exactly 2 of 3": Exactly(2, names[:3]),
        "EitherOr": EitherOr(names[0], names[1]),
        "EitherOr, neither": EitherOr(names[0], names[1], neither=True),
        "EitherOr, both": EitherOr(names[0], names[1], both=True),
        "Implies": Implies(names[0], names[1]),
        "MaxFeatures 2": MaxFeatures(2),
        "MaxFPR .05": MaxFPR(0.05),
        "MinTPR .95": MinTPR(0.95),
        "MaxFPR .1 of a group": MaxFPR(0.1, where=group),
        "MaxErrors .05 of a group": MaxErrors(group, share=0.05),
        "MaxErrors .1 of a group": MaxErrors(group, share=0.1),
        "MaxErrors .2 of a group": MaxErrors(group, share=0.2),
        "TotalRange -10 to 10": TotalRange(-10, 10),
        "TotalRange 0 to 10": TotalRange(0, 10),
        "Include 2": Include(names[:2]),
        "Exclude 1": Exclude(names[0]),
    }
    if design.blocks:
        found["Monotone"] = Monotone(design.columns[design.blocks[0][0]].feature)
    return {name: [rule] for name, rule in found.items()}


def answered(name: str, formulation: str, rule: str) -> dict[str, Any]:
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
        design, formulation, constraints=rules(design)[rule], max_terms=5, time_limit=LIMIT,
        progress=False,
    )[1]  # fmt: skip
    proved = str(result.termination) == "infeasible" and result.card is None
    return {
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
    kept = settings.kept
    lines = kept.read_text().splitlines() if kept is not None and kept.is_file() else []
    rows = [json.loads(line) for line in lines]
    for name in sets[:1] if settings.quick else sets:
        design = uci(name)
        done = {row["rule"] for row in rows if row["set"] == name}
        for rule in [each for each in rules(design) if each not in done]:
            rows.append(in_child(answered, name, settings.formulation, rule, patience=600))
            print("  ".join(f"{k}={v}" for k, v in rows[-1].items()), flush=True)
            if kept is not None:
                with kept.open("a") as file:
                    file.write(json.dumps(rows[-1]) + "\n")
    report.records = rows
    report.tables = [(f"{settings.formulation}, five terms, at most {LIMIT:g} s of CPU", rows)]
    met = sum(row["met"] for row in rows)
    wanted = f"all {len(rows)} answered within {LIMIT:g} s"
    report.target("a card, or none proved", wanted, f"{met} of {len(rows)}", met == len(rows))
    report.finish()


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sets", nargs="+", choices=SETS, help="only these sets")
    parser.add_argument("--formulation", default="slim", help="what is fitted")
    parser.add_argument("--kept", type=Path, help="a file of finished cases, to go on from")


if __name__ == "__main__":
    main()
