"""``milpscore list``: what there is to choose from."""

from __future__ import annotations

import inspect
from importlib.metadata import PackageNotFoundError, version

import typer

from milpscore.cli._common import settable
from milpscore.cli._options import spelt
from milpscore.constraints import CONSTRAINTS
from milpscore.formulations import FORMULATIONS

_PACKAGES = {
    "highspy": "HiGHS, solves LP and MILP",
    "clarabel": "conic solver",
    "ecos": "conic solver, the extra 'ecos'",
    "pyomo": "modelling language of LP and MILP",
    "cvxpy": "modelling language of conic programs",
}


def list_command() -> None:
    """List formulations, their arguments, and the versions of the solvers."""
    from milpscore.solvers import SOLVERS

    typer.echo("Formulations (--formulation NAME; the arguments are the keys of --set)")
    for name in FORMULATIONS:
        description = (inspect.getdoc(FORMULATIONS[name]) or "").partition("\n")[0]
        typer.echo(f"\n  {spelt(name)}\n      {description}")
        typer.echo(_folded(f"arguments: {', '.join(settable(name))}"))
    kinds = ", ".join(CONSTRAINTS)
    typer.echo(f"\nConstraints (--constraints FILE, see docs/constraints.md)\n{_folded(kinds)}")
    typer.echo(f"\nSolvers: {', '.join(SOLVERS)}\n")
    for package, role in _PACKAGES.items():
        typer.echo(f"  {package:9} {_version(package):14} {role}")


def _version(package: str) -> str:
    """The installed version."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _folded(text: str) -> str:
    """Text folded under a formulation's name."""
    from textwrap import fill

    return fill(text, 79, initial_indent=" " * 6, subsequent_indent=" " * 8)
