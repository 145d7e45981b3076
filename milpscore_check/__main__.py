"""``milpscore-check TABLE CERTIFICATE`` in any order: exits with 0 proved, 1 not, 2 bad input."""

import argparse
import sys
from pathlib import Path

from milpscore_check import Refused, check, proved
from milpscore_check.values import printable


def main(arguments: list[str] | None = None) -> int:
    """Check, print a line a part, and say by the exit code what came of it."""
    parser = argparse.ArgumentParser(prog="milpscore-check", description=__doc__)
    parser.add_argument("csv", type=Path, help="the card's table: CSV, or Parquet")
    parser.add_argument("certificate", type=Path, help="written by 'milpscore fit --certificate'")
    parser.add_argument("--target", help="column of the labels, where the certificate names none")
    parser.add_argument("--weights", help="column of the rows' weights, likewise")
    given = parser.parse_args(arguments)
    if given.csv.suffix.lower() == ".json" and given.certificate.suffix.lower() != ".json":
        given.csv, given.certificate = given.certificate, given.csv

    def progress(done: int, of: int) -> None:
        if sys.stderr.isatty() and done % 64 == 0:
            sys.stderr.write(f"\r{done} of {of or 'as many as it takes'} ")

    try:
        found = check(given.csv, given.certificate, given.target, given.weights, progress)
        if sys.stderr.isatty():
            sys.stderr.write("\r\x1b[K")  # the line of progress goes
    except Refused as error:
        sys.stderr.write(printable(f"milpscore-check: {error}") + "\n")
        return 2
    lines = [printable(f"{name:<9}  {status}: {sentence}") for name, status, sentence in found]
    everything = "everything claimed was proved" if proved(found) else "not everything was proved"
    sys.stdout.write("\n".join([*lines, f"Verdict: {everything}.", ""]))
    return 0 if proved(found) else 1


if __name__ == "__main__":
    sys.exit(main())
