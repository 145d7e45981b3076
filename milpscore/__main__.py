"""``python -m milpscore``."""

from __future__ import annotations

from milpscore.cli import main

main()
