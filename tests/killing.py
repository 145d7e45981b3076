"""Work that kills its process: alone here, so that every new process imports nothing else."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any


def killed_once(problem: int, mark: Path, always: bool) -> int:
    """One more than the problem; the process is killed the first time at least."""
    if always or not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return problem + 1


def killed_by_itself(run: int) -> dict[str, Any]:
    """A run of a study whose process dies."""
    if run == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return {"value": run}
