"""What may happen to a study while it runs."""

from __future__ import annotations

from milpscore.core.errors import MilpscoreError


class StudyError(MilpscoreError, RuntimeError):
    """A study cannot go on: a full disk, another writer, lost workers; finished rows are kept."""
