"""``milpscore counts``: what a site hands on in the place of rows, and a fit to several of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from milpscore.cli.common import require_file, require_folder, say
from milpscore.cli.groups import DATA, DataOptions, OutputOptions, featured, file, names_of, option
from milpscore.core.errors import OptionError

if TYPE_CHECKING:
    from milpscore.core.design import Design
    from milpscore.core.program import Program
    from milpscore.core.result import Result
    from milpscore.worth import SiteWorth


@featured(
    "milpscore counts ours.csv --target ill --thresholds cuts.json --out ours.json",
    "target",
    "thresholds",
    "like",
    "out",
)
def counts_command(
    *,
    data: DataOptions,
    output: OutputOptions,
    like: Path | None = option(
        DATA, "Counts of another site: cut the table into exactly its columns.", metavar="FILE"
    ),
    withhold: int = option(
        DATA, "Withhold the number of patterns with fewer rows.", metavar="ROWS", min=0, default=0
    ),
    out: Path | None = file("Write the counts here, as JSON."),
) -> None:
    """Count the distinct rows of a table, for a card of several sites.

    The file holds each pattern of columns with its class, its number of rows
    and their weight, and no row of the table. Sites that count by the same
    cuts can pool their files: 'milpscore fit ours.json --sites theirs.json'
    makes the card, bound and certificate that all their rows would.
    """
    if out is None:
        raise OptionError("say by --out where the counts are to be written")
    require_folder(out)
    if like is not None:
        require_file(like)
        if data.thresholds is not None or data.bins is not None:
            raise OptionError("--like brings its own cuts: leave out --thresholds and --bins")
    from milpscore.data import write_counts

    design = data.design("risk_score") if like is None else _alike(data, like)
    write_counts(design, out, target=data.target, withhold=withhold)
    rows = design.merged.sums(design.rows)
    small = int((rows < max(withhold, 2)).sum())
    said = f"of which {small:,} " + ("are withheld" if withhold else "stand for one row alone")
    say(
        f"{int(rows.sum()):,} rows are counted as {len(rows):,} patterns of {design.shape[1]} "
        f"columns, {said}: {out}",
        output.quiet,
    )


def _alike(data: DataOptions, like: Path) -> Design:
    """Return the design of a table by another site's columns."""
    from milpscore.data import apply_columns, make_design, read_counts

    other = read_counts(like, one_class=True)
    X, y, _, given = data.read(rows=True, missing="bin")
    if y is None:
        raise OptionError("--like takes tables that fit into memory")
    values = apply_columns(other.columns, X)  # a value that the other site lacks is an error
    if given["positive"] != other.classes[1]:
        raise OptionError(
            f"{like.name} scores {other.classes[1]!r}, this table {given['positive']!r}: say "
            "--positive"
        )
    weight = given["sample_weight"]
    return make_design(
        values, y, sample_weight=weight, positive=given["positive"],
        columns=other.columns, blocks=other.blocks,
    )  # fmt: skip


def pooled_sites(data: Any) -> Design:
    """Return the design of the counts that ``fit`` was given."""
    from milpscore.data import read_counts

    said = {
        "--bins": data.bins, "--thresholds": data.thresholds, "--encoding": data.encoding,
        "--drop": data.drop, "--features": data.features, "--id": data.id,
        "--weights-column": data.weights_column, "--class-weight": data.class_weight,
        "--positive": data.positive,
    }  # fmt: skip
    if given := [name for name, value in said.items() if value is not None]:
        raise OptionError(f"counts are made already: leave out {', '.join(given)}")
    return read_counts(*_paths(data))


def _paths(data: Any) -> list[Path]:
    """Return the sites' files of counts, each of the target that was asked for."""
    from milpscore.data import counts_head

    paths = [data.data, *map(Path, names_of(data.sites))]
    if odd := [path.name for path in paths if path.suffix != ".json"]:
        raise OptionError(f"{odd[0]} holds no counts: 'milpscore counts' writes them as .json")
    for path in paths:
        require_file(path)
        if (target := counts_head(path).target) not in ("", data.target):
            raise OptionError(f"{path.name} counts {target!r}, not {data.target!r}")
    return paths


def filled_in(data: Any, certificate: Path | None) -> str:
    """Return for which filling of withheld cells a bound holds; empty if no cell is withheld."""
    if not data.counted:
        return ""
    from milpscore.data import counts_head

    withheld = sum(counts_head(path).withheld for path in _paths(data))
    if withheld and certificate is not None:
        raise OptionError(
            f"the numbers of rows of {withheld} patterns are withheld, and a certificate is of "
            "rows: leave out --certificate; milpscore.withheld.fit_withheld bounds every filling"
        )
    return f"for the middle of {withheld} withheld ranges" if withheld else ""


def worth_by_site(program: Program, result: Result, data: Any) -> list[SiteWorth] | None:
    """Judge a card by cards of the other sites; None of more than two classes."""
    from milpscore.worth import site_worth

    return site_worth(program, result, _paths(data)) if program.kind == "exact" else None
