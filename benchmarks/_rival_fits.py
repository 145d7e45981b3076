"""Fits of a rival one at a time, on demand, by one process of its own environment.

python _rival_fits.py CHILD    reads lines {"rival", "file", "terms", "reach"} and answers each by
a line {"points", "slope", "shift", "cpu"}; CHILD is experiments/rivals/child.py. The first half
runs in the rival's environment and imports nothing of milpscore.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

CHILD = Path(__file__).parents[1] / "experiments" / "rivals" / "child.py"


def answer() -> None:
    """Fit what each line of the input asks for, and tell the points and the CPU time."""
    import numpy as np

    sys.path.insert(0, str(Path(sys.argv[1]).parent))
    from child import FITS  # type: ignore[import-not-found]

    warnings.simplefilter("ignore")
    held: dict[str, Any] = {}
    for line in sys.stdin:
        asked = json.loads(line)
        if held.get("file") != asked["file"]:
            with np.load(asked["file"]) as data:
                held = {"file": asked["file"], "X": data["X"], "y": data["y"]}
        fit = FITS[asked["rival"]](held["X"], held["y"], asked["terms"], asked["reach"], 0)
        began = time.process_time()
        read = fit()
        spent = time.process_time() - began
        reply = {**read(), "cpu": spent}
        print("\x00" + json.dumps(reply), flush=True)  # the rivals print lines too


class RivalFits:
    """A process of a rival's environment that fits when it is asked."""

    def __init__(self, rival: str, python: str) -> None:
        self.rival = rival
        self.process = subprocess.Popen(
            [python, __file__, str(CHILD)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def fit(self, file: Path, terms: int, reach: int) -> dict[str, Any]:
        """One fit of the rows of a file: points, slope, shift, CPU seconds."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        asked = {"rival": self.rival, "file": str(file), "terms": terms, "reach": reach}
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            if line.startswith("\x00"):
                reply: dict[str, Any] = json.loads(line[1:])
                return reply
        raise RuntimeError(f"{self.rival} ended with {self.process.wait()} on {asked}")

    def close(self) -> None:
        """Let the process end."""
        self.process.communicate()


if __name__ == "__main__":
    answer()
