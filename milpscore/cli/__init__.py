"""The command line ``milpscore``: thin, it calls what notebooks call."""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Run the command line on ``sys.argv`` and exit with its code."""
    from milpscore.cli.app import app

    app(prog_name="milpscore")
