"""``python -m fuzz``: run random cases for a while, print counts and every wrong claim."""

from __future__ import annotations

import argparse
import atexit
import sys
import tempfile
import time
import warnings
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from fuzz.cases import ENGINES, Random, random_case
from fuzz.meaning import Case
from fuzz.proxes import check_prox
from fuzz.running import Counts, Wrong, check
from fuzz.shrinking import script, shrink

CALLS = 50
"""Prox calls a turn: they are quick."""


def _case(form: str, task: str) -> Callable[[Random, Counts], Case]:
    def turn(rng: Random, counts: Counts) -> Case:
        case = random_case(form, rng, task)
        check_case(case, counts)
        return case

    return turn


class Failed(Exception):
    """A wrong claim and its case, where there is one."""

    def __init__(self, wrong: Wrong, case: Case | None) -> None:
        super().__init__(str(wrong))
        self.wrong, self.case = wrong, case


def check_case(case: Case, counts: Counts) -> None:
    """Check a case; Failed carries it."""
    try:
        check(case, counts)
    except Wrong as wrong:
        raise Failed(wrong, case) from wrong


def _prox(rng: Random, counts: Counts) -> None:
    for _ in range(CALLS):
        counts.instances += 1
        counts.answers["prox"] += 1
        try:
            check_prox(rng)
        except Wrong as wrong:
            raise Failed(wrong, None) from wrong


@cache
def _whole() -> tuple[Path, list[Any]]:
    """A folder that lasts as long as this process, and whole files of every kind in it."""
    from fuzz.files import whole_files

    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    return Path(folder.name), list(whole_files(Path(folder.name)).values())


def _files(rng: Random, counts: Counts) -> None:
    from fuzz.files import read

    folder, kinds = _whole()
    for kind in kinds:
        counts.instances += 1
        try:
            codes = read(kind, kind.by(kind.data, rng), folder)
        except Wrong as wrong:
            raise Failed(wrong, None) from wrong
        counts.answers[f"{kind.name} exit {max(codes)}"] += 1


def _certificates(rng: Random, counts: Counts) -> None:
    from fuzz.forging import batch

    for wrong in batch(rng, counts):
        raise Failed(wrong, None)


def _alone(module: str, name: str) -> Callable[[Random, Counts], None]:
    """Return the turns of a kind that has no cases of the common form."""

    def turn(rng: Random, counts: Counts) -> None:
        try:
            getattr(import_module(module), name)(rng, counts)
        except Wrong as wrong:
            raise Failed(wrong, None) from wrong

    return turn


KINDS: dict[str, Callable[[Random, Counts], Case | None]] = {
    **{form: _case(form, "solve") for form in ENGINES},
    "free_scale": _case("free_scale", "solve"),
    "cells": _case("cells", "cells"),
    "limits": _case("limits", "limits"),
    "shared": lambda rng, counts: _any(
        rng, counts, "shared", ["slim", "limits", "limits", "cells", "free_scale"]
    ),
    "relax": lambda rng, counts: _any(rng, counts, "relax", [*ENGINES, "free_scale"]),
    "pool": lambda rng, counts: _any(
        rng, counts, "pool", ["slim", "risk_score", "free_scale", "cells"]
    ),
    "front": lambda rng, counts: _any(rng, counts, "front", ["slim", "hinge", "risk_score"]),
    "verify": lambda rng, counts: _any(rng, counts, "verify", [*ENGINES, "free_scale", "cells"]),
    "survival": _alone("fuzz.times", "check_times"),
    "update": _alone("fuzz.changes", "check_changes"),
    "sites": _alone("fuzz.sites", "check_sites"),
    "certificate": _certificates,
    "prox": _prox,
    "files": _files,
}
"""What can be fuzzed: a turn of each, from a source of random numbers."""


def _any(rng: Random, counts: Counts, task: str, forms: list[str]) -> Case:
    return _case(forms[int(rng.integers(len(forms)))], task)(rng, counts)


def turns(kinds: list[str], seed: int) -> Iterator[tuple[str, int, Random]]:
    """Kinds in turn, each turn with its own random numbers."""
    number = 0
    while True:
        for kind in kinds:
            yield kind, number, np.random.default_rng([seed, number, zlib.crc32(kind.encode())])
        number += 1


def main(arguments: list[str] | None = None) -> int:
    """Run; 1 where a claim was wrong."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", choices=list(KINDS), action="append", help="default: all")
    parser.add_argument("--cases", type=int, help="end after this number of turns")
    parser.add_argument("--stop", action="store_true", help="end at the first wrong claim")
    parser.add_argument("--shrink", type=float, default=60.0, help="seconds for each wrong claim")
    given = parser.parse_args(arguments)
    kinds = given.kind or list(KINDS)
    counts = {kind: Counts() for kind in kinds}
    wrong: dict[str, int] = {}
    started = time.monotonic()
    for done, (kind, number, rng) in enumerate(turns(kinds, given.seed)):
        if time.monotonic() - started > given.seconds or done == given.cases:
            break
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                KINDS[kind](rng, counts[kind])
        except Failed as failed:
            name = f"{kind}: {failed.wrong.kind}"
            wrong[name] = wrong.get(name, 0) + 1
            print(f"\n--- {name} (seed {given.seed}, turn {number}) ---")
            if wrong[name] > 3:
                print("known already")
            elif failed.case is None:
                print(failed.wrong)
            else:
                small = shrink(failed.case, failed.wrong.kind, given.shrink)
                print(script(small, failed.wrong))
            sys.stdout.flush()
            if given.stop:
                break
    seconds = time.monotonic() - started
    print(f"\nseed {given.seed}, {seconds:.0f} seconds")
    for kind, each in counts.items():
        print(f"  {kind:<16} {each}")
    total = sum(each.instances for each in counts.values())
    calls = sum(each.solves for each in counts.values())
    print(f"{total} instances, {calls} calls, wrong: {wrong or 'none'}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
