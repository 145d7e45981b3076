"""``milpscore experiment``: the experiments of the papers, run by run, resumable."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from milpscore.cli import _options as options
from milpscore.cli._common import INTERRUPTED, print_json, require_folder, say
from milpscore.cli._figures import require_drawable, save_figure
from milpscore.cli._frame_table import frame_table

if TYPE_CHECKING:
    from pandas import DataFrame


class Experiment(StrEnum):
    """What can be repeated."""

    eye_figure2 = "eye-figure2"
    eye_figure4a = "eye-figure4a"
    eye_figure4b = "eye-figure4b"
    eye_table2 = "eye-table2"


Name = Annotated[
    Experiment,
    typer.Argument(
        metavar="EXPERIMENT",
        help=f"One of {', '.join(Experiment)}.",
        show_default=False,
    ),
]
Runs = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        help="Draws of the data (default 100 for eye-table2, else 10).",
        rich_help_panel=options.SOLVE_PANEL,
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.jsonl",
        help="Keep each finished run as a line of this file; runs it holds are not done again.",
        rich_help_panel=options.OUTPUT_PANEL,
    ),
]
Plot = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Draw what the paper draws (png, pdf or svg).",
        rich_help_panel=options.OUTPUT_PANEL,
    ),
]
Jobs = Annotated[
    int,
    typer.Option(
        metavar="N", help="Processes; -1 for all cores.", rich_help_panel=options.SOLVE_PANEL
    ),
]


_OTHERS = ("average_precision", "gini", "near_zero_share")


def experiment_command(
    name: Name,
    runs: Runs = None,
    out: Out = None,
    plot: Plot = None,
    jobs: Jobs = 1,
    seed: options.Seed = 0,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Repeat an experiment of a paper on data drawn anew.

    eye-figure2, eye-figure4a, eye-figure4b and eye-table2 are those of
    Wang et al., "Learning credible models" (2018).
    """
    require_folder(out)
    require_drawable(plot)
    from milpscore import study

    function: Callable[..., Any] = getattr(study, name.name)
    count = runs or (100 if name is Experiment.eye_table2 else 10)
    try:
        with _counting(name, quiet) as progress:
            found = function(count, out=out, n_jobs=jobs, random_state=seed, progress=progress)
    except KeyboardInterrupt:
        kept = f"the finished runs are in {out}, and the same command goes on from there."
        say(f"Interrupted: {kept if out else 'nothing is kept without --out FILE.jsonl.'}")
        raise typer.Exit(INTERRUPTED) from None
    if json:
        print_json({"experiment": name.value, "runs": count, "seed": seed, **_tables(found)})
    else:
        _print(found)
    if plot is not None:
        from milpscore import plots

        save_figure(plots.credibility_figure(found), plot)
        say(f"The figure was saved in {plot}.")


@contextmanager
def _counting(name: Experiment, quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    """A live count of runs on standard error; a line a run where that is no terminal."""
    if quiet:
        yield None
        return
    if not sys.stderr.isatty():
        yield lambda done, total: say(f"{name}: {done} of {total} runs")
        return
    from rich.console import Console

    with Console(stderr=True).status(f"{name}") as status:
        yield lambda done, total: status.update(f"{name}: {done} of {total} runs")


def _frames(found: Any) -> dict[str, DataFrame]:
    """The tables of a finding that a person reads."""
    names = ("summary", "differences", "sensitivity")
    return {name: getattr(found, name) for name in names if hasattr(found, name)}


def _tables(found: Any) -> dict[str, Any]:
    """The tables as JSON holds them."""
    return {name: frame.to_dict("records") for name, frame in _frames(found).items()}


def _print(found: Any) -> None:
    """What a person reads."""
    from milpscore.cli._table import output

    console = output()
    for name, frame in _printed(_frames(found)).items():
        console.print(f"[bold]{name}[/bold]")
        console.print(frame_table(frame))
        console.print()


def _printed(frames: dict[str, DataFrame]) -> dict[str, DataFrame]:
    """The same, a summary too wide for a terminal in two parts."""
    summary = frames["summary"]
    others = [name for name in _OTHERS if name in summary]
    if not others:
        return frames
    return {
        **frames,
        "summary": summary.drop(columns=others),
        "other measures": summary[["method", *others]],
    }
