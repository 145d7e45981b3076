"""Improve what is known of the named instances: better cards, higher bounds, checked leaves.

Every instance that matches is solved by the plain call; its card is re-checked, its certificate
grown where ``--leaves`` asks for it and given to `milpscore-check` beside the rows as a CSV file.
A better card or bound replaces the one in `milpscore_study/best_known.csv`; nothing is made worse.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from _common import Report, arguments

import milpscore_study
from milpscore import __version__
from milpscore.certificate import certify
from milpscore.core.card import Card
from milpscore.core.errors import DataError, FormulationError, NotApplicableError, SolverError
from milpscore.core.result import CLAIM_TOLERANCE, Claim
from milpscore.solvers import solve
from milpscore.verify import check
from milpscore_study.instances import INSTANCES, Instance, Known, make_table, names

FILE = Path(milpscore_study.__file__).parent / "best_known.csv"
FIELDS = ("name", "objective", "bound", "claim", "by", "scale", "intercept", "points")
LABEL, SECONDS = "label", 30.0


def leaves_hold(instance: Instance, program: Any, result: Any, seconds: float) -> str:
    """What the checker makes of a certificate's leaves; "" where it accepts all that is claimed."""
    from milpscore_check import check as checked, proved

    X, y = make_table(instance.table, rule=instance.rule)
    with tempfile.TemporaryDirectory() as folder:
        rows, proof = Path(folder) / "rows.csv", Path(folder) / "proof.json"
        pd.concat([X, y.rename(LABEL)], axis=1).to_csv(rows, index=False)
        made = certify(program, result, source={"target": LABEL}, time_limit=seconds)
        made.to_json(proof)
        if made.evidence["kind"] != "leaves":
            return f"no leaves: {made.evidence['kind']}"
        return "" if proved(checked(rows, proof)) else "not accepted by the checker"


def improved(instance: Instance, limits: dict[str, float], leaves: bool) -> dict[str, Any]:
    """Solve an instance: the row of what is known of it now, and what was new."""
    known = instance.known
    begun = time.process_time()
    program = instance.program()
    result = solve(program, progress=False, warm_start=known and known.card, **limits)
    took = time.process_time() - begun
    row: dict[str, Any] = {
        "instance": instance.name, "claim": str(result.claim), "objective": result.objective,
        "bound": result.dual_bound, "CPU s": took, "leaves": "",
    }  # fmt: skip
    if result.card is None:
        return row
    verdict = check(program, result.card)
    if not verdict.feasible:
        raise SolverError(f"the card of {instance.name} breaks {verdict.violations}")
    by = f"{result.solver}, milpscore {__version__}"
    if leaves and result.claim in (Claim.OPTIMAL, Claim.GAP):
        begun = time.process_time()
        row["leaves"] = leaves_hold(instance, program, result, limits["time_limit"])
        row["leaf CPU s"] = time.process_time() - begun
        by += "" if row["leaves"] else ", leaves accepted by milpscore-check"
    best = Known(verdict.objective, result.dual_bound, str(result.claim), by, result.card)
    row["known"] = best if known is None else joined(instance.name, known, best)
    return row


def joined(name: str, known: Known, found: Known) -> Known:
    """Return the better card with the better bound; SolverError where they contradict."""
    least, bound = min(known.objective, found.objective), max(known.bound, found.bound)
    if bound - least > CLAIM_TOLERANCE * max(abs(least), 1e-10):
        raise SolverError(f"{name}: a bound of {bound!r} lies above a verified card of {least!r}")
    card = found if found.objective < known.objective else known
    proof = found if found.bound > known.bound or "accepted" in found.by else known
    bound = min(bound, card.objective)
    close = card.objective - bound <= CLAIM_TOLERANCE * abs(card.objective)
    # a proof by the least step of the objective leaves a bound below it
    optimal = close or "optimal" in (known.claim, found.claim)
    return Known(card.objective, bound, "optimal" if optimal else "gap", proof.by, card.card)


def written(card: Card) -> dict[str, str]:
    """A card as the file holds it."""
    scale = "" if card.scale is None else str(card.scale)
    points = json.dumps(card.coefficients.tolist())
    return {"scale": scale, "intercept": str(card.intercept), "points": points}


def save(name: str, known: Known) -> None:
    """Put what is known of an instance into the file, which keeps the order of the instances."""
    with FILE.open(newline="", encoding="utf-8") as file:
        held = {row["name"]: row for row in csv.DictReader(file)}
    figures = {"objective": repr(known.objective), "bound": repr(known.bound)}
    given = {"claim": known.claim, "by": known.by, **figures, **written(known.card)}
    held[name] = {"name": name, **given}
    with FILE.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(held[name] for name in INSTANCES if name in held)


def rows(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Solve one instance after the other; the file is saved after each."""
    limits = {"time_limit": options.time_limit or SECONDS}
    for name in names(*options.instances):
        if options.new and INSTANCES[name].known is not None:
            continue
        try:
            row = improved(INSTANCES[name], limits, options.leaves)
        except (DataError, FormulationError, NotApplicableError) as error:
            yield {"instance": name, "claim": f"{type(error).__name__}: {error}"}
            continue
        known = row.pop("known", None)
        if known is not None and math.isfinite(known.bound):
            save(name, known)
        yield row


def main() -> None:
    """Run, print and save."""
    options = arguments(__doc__ or "", add)
    report = Report("What is known of the named instances", options)
    found = []
    for row in rows(options):
        print(row, flush=True)
        found.append(row)
    report.tables = [("Instances", found)]
    report.finish()


def add(parser: argparse.ArgumentParser) -> None:
    """The options of its own."""
    parser.add_argument("instances", nargs="*", default=["*"], help="names or patterns")
    parser.add_argument("--leaves", action="store_true", help="grow and check certificates")
    parser.add_argument("--new", action="store_true", help="only what nothing is known of")


if __name__ == "__main__":
    main()
