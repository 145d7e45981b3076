"""The command line ``milpscore``: thin, it calls what notebooks call."""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Run the command line on ``sys.argv`` and exit with its code."""
    import gc
    import sys

    # what is imported stays: looking for garbage there would take a fifth of a first card's time
    gc.set_threshold(100_000, 20, 100)
    from milpscore.cli.app import Postponing, app

    sys.meta_path.insert(0, Postponing("scipy.stats", "scipy.integrate", "scipy.spatial"))
    try:
        app(prog_name="milpscore")
    finally:
        if "duckdb" not in sys.modules:  # it complains of what is left
            gc.freeze()  # nor is there any to look for at the end
