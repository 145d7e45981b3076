"""``milpscore race``: solvers side by side on the same programs, kept like a study's solves."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from milpscore.cli.common import (
    NO_CARD,
    PrintedColumn,
    names_of,
    output as standard_output,
    print_json,
    require_columns,
    require_drawable,
    save_figure,
    say,
    spelt,
    table,
)
from milpscore.cli.groups import (
    CARD,
    DATA,
    NODE_LIMIT,
    PLOT,
    SETTINGS,
    SOLVE,
    ColumnOptions,
    LimitOptions,
    OutputOptions,
    argument,
    featured,
    option,
    output_file,
    seconds,
    settings_of,
)
from milpscore.core.errors import OptionError
from milpscore.core.writing import printable, write_text
from milpscore.solvers.options import Options
from milpscore_study.study_command import check_workers, followed

if TYPE_CHECKING:
    from milpscore_study import Race

_STANDS_ASIDE = ("NotApplicableError", "MissingDependencyError")
"""A solver that is absent, or has no answer to such programs, is not a failure of the race."""

_COLUMNS = {
    "solver": PrintedColumn("solver", words=True),
    "status": PrintedColumn("status", words=True),
    "objective": PrintedColumn("objective", "{:.4g}"),
    "bound": PrintedColumn("bound", "{:.4g}"),
    "gap": PrintedColumn("gap", "{:.1%}"),
    "nodes": PrintedColumn("nodes", "{:.0f}"),
    "root_bound": PrintedColumn("root", "{:.4g}"),
    "lp_bound": PrintedColumn("LP", "{:.4g}"),
    "seconds": PrintedColumn("s", "{:.2f}"),
    "primal_integral": PrintedColumn("PI", "{:.2f}"),
    "verified": PrintedColumn("verified"),
    "wrong": PrintedColumn("wrong"),
}
_SUMMARY = {
    "solver": PrintedColumn("solver", words=True),
    "solves": PrintedColumn("solves"),
    "proved": PrintedColumn("proved"),
    "wrong": PrintedColumn("wrong"),
    "failed": PrintedColumn("failed"),
    "seconds": PrintedColumn("s", "{:.3g}"),
    "nodes": PrintedColumn("nodes", "{:.4g}"),
    "primal_integral": PrintedColumn("PI", "{:.3g}"),
}


@dataclass(frozen=True)
class RaceColumns(ColumnOptions):
    """Those of the files; instances have their own."""

    target: str | None = option(DATA, "Column with the two labels.", metavar="COL", default=None)  # type: ignore[assignment]  # as the files need it, and instances do not

    @property
    def asked(self) -> bool:
        """Whether any of them was given."""
        defaults: dict[str, Any] = {each.name: each.default for each in fields(self)}
        return any(value != defaults[name].default for name, value in vars(self).items() if value)


@featured(
    "milpscore race patients.csv --target ill --solvers highs,tree",
    "target",
    "formulations",
    "solvers",
    "time_limit",
    "out",
)
def race_command(
    *,
    data: list[Path] | None = argument(
        "[DATA.csv...]", "CSV files, each with a header line.", default=None
    ),
    columns: RaceColumns,
    instances: str | None = option(
        DATA,
        "Instances in place of files and formulations, such as 'mushroom-*,slim-*-3'; those on "
        "files of their own read the folder MILPSCORE_DATA.",
        metavar="NAME,NAME",
    ),
    formulations: str | None = option(
        CARD,
        "Formulations; slim:textbook, slim:row-big-m, slim:merged, slim:conflicts, slim:covers and "
        "slim:joint-big-m are the 0-1 program from weak to strong. The default is slim.",
        metavar="NAME,NAME",
    ),
    settings: list[str] | None = SETTINGS,
    limits: LimitOptions,
    solvers: str = option(
        SOLVE,
        "Solvers, of those that 'milpscore list' names, or pyomo:NAME.",
        metavar="NAME,NAME",
        default="highs,tree",
    ),
    seeds: int = option(
        SOLVE,
        "Runs of each: a seed of the solver, and an order of rows and columns.",
        metavar="N",
        min=1,
        default=1,
    ),
    time_limit: float = seconds("Seconds of each solve."),
    node_limit: int | None = NODE_LIMIT,
    threads: int = option(
        SOLVE, "Threads of each solve.", metavar="N", min=1, default=Options.threads
    ),
    jobs: int = option(SOLVE, "Solves at a time; -1 for all cores.", metavar="N", default=1),
    dask: str | None = option(
        SOLVE, "Solve on the workers of this Dask scheduler instead.", metavar="tcp://HOST:PORT"
    ),
    retry_failed: bool = option(SOLVE, "Do the failed solves again.", default=False),
    out: Path = output_file(
        "Each finished solve is committed to this file; solves it holds are not done again.",
        metavar="RESULTS.sqlite",
        default=Path("race.sqlite"),
    ),
    plot: Path | None = PLOT,
    csv: Path | None = output_file("Write the table, medians over the seeds, as CSV."),
    output: OutputOptions,
) -> None:
    """Race solvers on the same programs: who proves what, how fast, and who is wrong.

    Every solver gets every formulation of every file, or every instance,
    once per seed, without a start. 'wrong' counts claims that the re-check
    refused or a verified card of another solver contradicts. The same
    command goes on where a race was stopped.
    """
    files = data or []
    given = {**limits.given, **settings_of(settings)}
    if instances is not None:
        if files or formulations or given or columns.asked:
            raise OptionError(
                "{instances} state rows, formulation and points: leave out the files and every "
                "other option of data and card",
                instances=...,
            )
    elif not files or columns.target is None:
        raise OptionError(
            "name CSV files and their {target}, or {instances}", target=..., instances=...
        )
    for path in files:
        require_columns(path, str(columns.target), columns.weights_column)
    require_drawable(plot)
    check_workers(jobs, dask)
    from milpscore_study import Race, instance_race, race_study

    each: dict[str, Any] = {
        "seeds": seeds, "time_limit": time_limit, "node_limit": node_limit, "threads": threads,
    }  # fmt: skip
    common = vars(columns) | {"missing": columns.missing or "bin"}
    common["weights"] = common.pop("weights_column")
    if columns.thresholds is not None:
        from milpscore.data import read_thresholds

        cuts = read_thresholds(columns.thresholds)
        common["thresholds"] = {name: list(points) for name, points in cuts.items()}
    if instances is not None:
        study = instance_race(names_of(instances), names_of(solvers), **each)
    else:
        rows = [{"csv": str(path), **common} for path in files]
        named = names_of(formulations or "slim")
        study = race_study(rows, named, names_of(solvers), arguments=given, **each)
    race = Race(
        followed("race", study, out, output.quiet, jobs=jobs, dask=dask, retry_failed=retry_failed)
    )
    _show(race, output.json)
    if csv is not None:
        write_text(csv, race.table().to_csv(index=False))
        say(f"The table was saved in {csv}.", output.quiet)
    if plot is not None:
        save_figure(race.figure(), plot, output.quiet)
    errors = race.table()["error"]
    if not all(text.startswith(_STANDS_ASIDE) for text in errors if text):
        raise typer.Exit(NO_CARD)


def _show(race: Race, as_json: bool) -> None:
    """Print both tables, and why a solver stands aside or is wrong."""
    found, summary = race.table(), race.summary()
    if as_json:
        content: dict[str, Any] = {
            "table": found.to_dict("records"), "summary": summary.to_dict("records"),
        }  # fmt: skip
        print_json(content)
        return
    console = standard_output()
    for (data, formulation), own in found.groupby(["data", "formulation"], sort=False):
        title = f"{data}, {spelt(str(formulation))}"
        console.print(table(own.to_dict("records"), _COLUMNS, title=title))
        console.print()
    console.print(
        "Shifted geometric means (1 s, 10 nodes) of medians over seeds; PI is the primal integral"
    )
    console.print(table(summary.to_dict("records"), _SUMMARY, section="formulation"))
    failures = found[found["error"] != ""].drop_duplicates(["formulation", "solver", "error"])
    for row in failures.to_dict("records"):
        words = str(row["error"]).partition(": ")[2] or row["error"]
        console.print(printable(f"{spelt(row['formulation'])} by {row['solver']}: {words}"))
    wrong = race.rows()
    for row in wrong[wrong["wrong"] != ""].to_dict("records"):
        console.print(printable(f"wrong: {row['model']} on {row['data']}: {row['wrong']}"))
