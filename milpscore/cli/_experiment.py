"""``milpscore experiment``: the experiments of the papers, run by run, resumable."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from milpscore.cli import _options as options
from milpscore.cli._common import (
    INTERRUPTED,
    noting_interrupts,
    print_json,
    require_folder,
    say,
)
from milpscore.cli._counting import counting
from milpscore.cli._figures import require_drawable, save_figure
from milpscore.cli._frame_table import frame_table
from milpscore.cli._study import Jobs, Scheduler
from milpscore.study._registry import EXPERIMENTS

if TYPE_CHECKING:
    from pandas import DataFrame


Name = Annotated[
    str,
    typer.Argument(
        metavar="EXPERIMENT",
        help=f"One of {', '.join(EXPERIMENTS)}.",
        show_default=False,
    ),
]
Runs = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        help="Draws of the data (default: the experiment's own).",
        rich_help_panel=options.SOLVE_PANEL,
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.sqlite",
        help="Commit each finished run to this file; runs it holds are not done again.",
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
_OTHERS = ("average_precision", "gini", "near_zero_share")


def experiment_command(
    name: Name,
    runs: Runs = None,
    out: Out = None,
    plot: Plot = None,
    jobs: Jobs = 1,
    dask: Scheduler = None,
    seed: options.Seed = 0,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Repeat an experiment of a paper on data drawn anew.

    eye-figure2, eye-figure4a, eye-figure4b and eye-table2 are those of
    Wang et al., "Learning credible models" (2018); ternary-figures is of Chevaleyre et al. (2013);
    facets-table1, facets-table2 and facets-figure3 are of Belahcene et al. (2020);
    binarsity-toys and binarsity-comparison of Alaya's seminar (2018); score-learning and
    diarem-recovery of Sokolovska, Chevaleyre & Zucker.
    """
    require_folder(out)
    require_drawable(plot)
    from milpscore.study import experiment_function, run_experiment
    from milpscore.study._experiments import default_runs

    experiment_function(name)
    count = runs or default_runs(name)
    settings = {"random_state": seed} | ({} if count is None else {"runs": count})
    try:
        with noting_interrupts(), counting(name, "runs", quiet) as tell:
            progress = None if tell is None else lambda done, total: tell(done, 0, total)
            found = run_experiment(name, settings, out, jobs=jobs, dask=dask, progress=progress)
    except KeyboardInterrupt:
        kept = f"the finished runs are in {out}, and the same command goes on from there."
        say(f"Interrupted: {kept if out else 'nothing is kept without --out FILE.sqlite.'}")
        raise typer.Exit(INTERRUPTED) from None
    if json:
        print_json({"experiment": name, "runs": count, "seed": seed, **_tables(found)})
    else:
        _print(found)
    if plot is not None:
        from milpscore import plots

        save_figure(plots.finding_figure(found), plot)
        say(f"The figure was saved in {plot}.")


def _frames(found: Any) -> dict[str, DataFrame]:
    """The tables of a finding that a person reads: all but the single runs."""
    from pandas import DataFrame

    content = {field.name: getattr(found, field.name) for field in fields(found)}
    return {
        name: value
        for name, value in content.items()
        if isinstance(value, DataFrame) and name != "runs"
    }


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
    summary = frames.get("summary")
    others = [] if summary is None else [name for name in _OTHERS if name in summary]
    if summary is None or not others:
        return frames
    return {
        **frames,
        "summary": summary.drop(columns=others),
        "other measures": summary[["method", *others]],
    }
