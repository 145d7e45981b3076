"""``milpscore study``: many solves from one file, kept in a file of results, resumable."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from milpscore.cli.common import (
    INTERRUPTED,
    NO_CARD,
    PrintedColumn,
    counting,
    noting_interrupts,
    output,
    print_json,
    print_text,
    require_drawable,
    save_figure,
    say,
    table,
)
from milpscore.cli.groups import (
    JSON,
    OUTPUT,
    QUIET,
    SOLVE,
    argument,
    featured,
    grouped,
    option,
    output_file,
)
from milpscore.core.errors import OptionError
from milpscore.core.writing import printable

if TYPE_CHECKING:
    from pandas import DataFrame

    from milpscore_study import Race, StudyReport

_SHOWN = 5
"""Errors that status prints."""

_COLUMNS = {
    "data": PrintedColumn("data", words=True),
    "model": PrintedColumn("model", words=True),
    "done": PrintedColumn("done"),
    "failed": PrintedColumn("failed"),
    "proved": PrintedColumn("proved"),
    "terms": PrintedColumn("terms", "{:.3g}"),
    "gap": PrintedColumn("gap", "{:.1%}"),
    "train_accuracy": PrintedColumn("accuracy", "{:.1%}"),
    "test_accuracy": PrintedColumn("held out", "{:.1%}"),
    "solve_seconds": PrintedColumn("s", "{:.2g}"),
}


RESULTS = argument("RESULTS.sqlite", "A file of results.")

study_app = typer.Typer(no_args_is_help=True, add_completion=False)


@study_app.callback()
def study_command() -> None:
    """Run many solves from one file, and look at what came of them.

    A study lists data sets, models with grids of parameters, folds,
    seeds and limits. A run that is killed goes on where it was.
    """


def check_workers(jobs: int, dask: str | None) -> None:
    """Refuse processes of one's own beside a scheduler's."""
    if dask is not None and jobs != 1:
        raise OptionError("--jobs and --dask: the workers of the scheduler do the solves, keep one")


def followed(title: str, study: Any, out: Path, quiet: bool, **how: Any) -> StudyReport:
    """Do the solves a file of results lacks, counted on standard error; 130 at Ctrl-C."""
    from milpscore_study import run_study

    try:
        with noting_interrupts(), counting(title, "solves", quiet) as tell:
            return run_study(
                study, out, **how,
                progress=tell and (lambda counts: tell(counts.done, counts.failed, counts.total)),
            )  # fmt: skip
    except KeyboardInterrupt:
        say(f"Interrupted: the finished solves are in {out}, the same command goes on from there.")
        raise typer.Exit(INTERRUPTED) from None


@study_app.command("run")
@grouped
@featured(
    "milpscore study run study.toml --out results.sqlite --jobs 2",
    "out",
    "jobs",
    "dask",
    "retry_failed",
    "quiet",
)
def run_command(
    *,
    file: Path = argument("STUDY.toml", "What to solve."),
    out: Path = output_file(
        "Each finished solve is committed to this file; solves it holds are not done again.",
        metavar="RESULTS.sqlite",
        default=...,
    ),
    jobs: int = option(SOLVE, "Processes; -1 for all cores.", metavar="N", default=1),
    dask: str | None = option(
        SOLVE, "Solve on the workers of this Dask scheduler instead.", metavar="tcp://HOST:PORT"
    ),
    retry_failed: bool = option(SOLVE, "Do the failed solves again.", default=False),
    quiet: bool = QUIET,
) -> None:
    """Do the solves of a study that the file of results lacks.

    Exit codes: 0 all is done, 1 some solves failed, 2 bad input,
    another writer or a full disk, 130 Ctrl-C.
    """
    check_workers(jobs, dask)
    report = followed(file.stem, file, out, quiet, jobs=jobs, dask=dask, retry_failed=retry_failed)
    if not quiet:
        _print_by_model(report.table())
        say(_sentence(report))
    if report.failed:
        say(f"'milpscore study status {out}' shows the errors; --retry-failed tries them again.")
        raise typer.Exit(NO_CARD)


@study_app.command("status")
@grouped
@featured("milpscore study status results.sqlite")
def status_command(*, results: Path = RESULTS, json: bool = JSON) -> None:
    """Say how far a study is; also while it runs."""
    from milpscore_study import read_study

    report = read_study(results)
    rows = report.table()
    failures = rows[rows["status"] == "failed"]
    if json:
        kept = ("experiment", "planned", "done", "failed", "left", "created")
        content = {name: getattr(report, name) for name in kept}
        print_json({**content, "errors": failures[["key", "error"]].to_dict("records")})
        return
    print_text(_sentence(report))
    _print_by_model(rows)
    for error, found in list(failures.groupby("error", sort=False))[:_SHOWN]:
        print_text(f"{len(found)} failed: {' '.join(str(error).split())}")


@study_app.command("export")
@grouped
@featured(
    "milpscore study export results.sqlite --out results.csv",
    "out",
    "format",
)
def export_command(
    *,
    results: Path = RESULTS,
    out: Path = output_file("The file to write.", "--out", default=...),
    format: str = option(OUTPUT, "The format.", metavar="csv|parquet", default="csv"),
) -> None:
    """Write one row a solve as CSV or Parquet."""
    from milpscore_study import read_study

    read_study(results).export(out, format)
    say(f"The table was saved in {out}.")


@study_app.command("plot")
@grouped
@featured("milpscore study plot results.sqlite --kind profile --out profile.png", "kind", "out")
def plot_command(
    *,
    results: Path = RESULTS,
    out: Path = output_file("The figure to write (png, pdf or svg).", "--out", default=...),
    kind: Literal["terms", "profile", "bounds", "gap"] = option(
        OUTPUT, "What to draw.", default="terms"
    ),
) -> None:
    """Draw what came of a study or a race.

    Accuracy over terms; performance profiles of the seconds to a proof;
    best card and bound, or the gap between them, over time.
    """
    require_drawable(out)
    from milpscore_show import plots
    from milpscore_study import read_study

    report = read_study(results)
    if kind == "terms":
        figure = plots.study_figure(report.table())
    elif kind == "profile":
        figure = plots.profiles_figure(_timed(report).profiles())
    elif kind == "bounds":
        figure = plots.bound_curves(_timed(report).curves())
    else:
        figure = plots.gap_curves(_timed(report).curves())
    save_figure(figure, out)


def _timed(report: StudyReport) -> StudyReport | Race:
    """What knows the profiles and curves: of a race by solver, wrong answers left out."""
    from milpscore_study import Race

    return Race(report) if report.is_race else report


def _print_by_model(rows: DataFrame) -> None:
    """A line a data set and model: how many solves came to what, means and medians."""
    if "model" not in rows.columns:
        return
    groups = rows.groupby(["data", "model"], sort=False)
    means = groups[["terms", "train_accuracy", "test_accuracy"]].mean()
    medians = groups[["gap", "solve_seconds"]].median()
    counts = groups["status"].agg(
        done=lambda status: (status == "done").sum(),
        failed=lambda status: (status == "failed").sum(),
    )
    proved = groups["claim"].agg(lambda claims: (claims == "optimal").sum()).rename("proved")
    whole = counts.join([proved, means, medians]).reset_index()
    whole = whole.dropna(axis=1, how="all")
    shown = {name: column for name, column in _COLUMNS.items() if name in whole}
    if not counts["failed"].any():
        shown.pop("failed", None)  # of no rows at all the column is gone already
    output().print(table(whole.to_dict("records"), shown))


def _sentence(report: StudyReport) -> str:
    """How far a study is, in one line."""
    planned = "" if report.planned is None else f" of {report.planned}"
    left = f", {report.left} left" if report.left else ""
    failed = f", {report.failed} failed" if report.failed else ""
    name = printable(f"{report.path.name} ({report.experiment})")
    return f"{name}: {report.done}{planned} done{failed}{left}"
