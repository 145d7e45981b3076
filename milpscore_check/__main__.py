"""``milpscore-check CSV CERTIFICATE``: exit code 0 proved, 1 something is not, 2 bad input."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from milpscore_check.report import check
from milpscore_check.table import Refused


def main(arguments: list[str] | None = None) -> int:
    """Check, print a line a part, and say by the exit code what came of it."""
    parser = argparse.ArgumentParser(prog="milpscore-check", description=__doc__)
    parser.add_argument("csv", type=Path, help="the table the card was learned from")
    parser.add_argument("certificate", type=Path, help="written by 'milpscore fit --certificate'")
    parser.add_argument("--target", help="column of the labels, where the certificate names none")
    parser.add_argument("--weights", help="column of the rows' weights, likewise")
    given, told = vars(parser.parse_args(arguments)), time.monotonic()

    def progress(done: int, of: int) -> None:
        nonlocal told
        if sys.stderr.isatty() and time.monotonic() - told >= 1.0:
            told = time.monotonic()
            sys.stderr.write(f"\r{done} of {of} entries ")

    try:
        found = check(given.pop("csv"), given.pop("certificate"), progress=progress, **given)
    except Refused as error:
        sys.stderr.write(f"milpscore-check: {error}\n")
        return 2
    sys.stdout.write(found.to_text() + "\n")
    return 0 if found.proved else 1


if __name__ == "__main__":
    sys.exit(main())
