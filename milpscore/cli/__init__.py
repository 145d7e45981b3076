"""The command line ``milpscore``: thin, it calls what notebooks call."""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Run the command line on ``sys.argv`` and exit with its code."""
    import sys

    from milpscore.cli.app import Postponing, app

    sys.meta_path.insert(0, Postponing("scipy.stats", "scipy.integrate", "scipy.spatial"))
    app(prog_name="milpscore")
