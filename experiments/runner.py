"""Runs of an experiment, kept in a file as they finish: what is there is not run again."""

from __future__ import annotations

from milpscore.study import RunStore, StudyError as RunError, finish_runs
from milpscore.study.runs import Progress, Results

__all__ = ["Progress", "Results", "RunError", "RunStore", "finish_runs"]
