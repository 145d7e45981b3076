"""``milpscore counts``: what a site hands on in the place of rows, and a fit to several of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from milpscore.cli.common import INTERRUPTED, names_of, print_json, print_text, require_file, say
from milpscore.cli.groups import (
    CARD,
    DATA,
    OUTPUT,
    DataOptions,
    OutputOptions,
    argument,
    featured,
    option,
    output_file,
    seconds,
)
from milpscore.core.errors import DataError, OptionError

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
    out: Path | None = output_file(
        "Write the counts here, as JSON, or as Parquet where it ends in .parquet."
    ),
) -> None:
    """Count the distinct rows of a table, for a card of several sites.

    The file holds each pattern of columns with its class, its number of rows
    and their weight, and no row of the table. Sites that count by the same
    cuts can pool their files: 'milpscore fit ours.json --target ill --sites
    theirs.json' makes the card, bound and certificate that all their rows would.
    """
    if out is None:
        raise OptionError("say by --out where the counts are to be written")
    if like is not None:
        require_file(like)
        if data.thresholds is not None or data.bins is not None:
            raise OptionError("--like brings its own cuts: leave out --thresholds and --bins")
    from milpscore.data import write_counts

    design = data.design("risk_score") if like is None else _alike(data, like)
    write_counts(design, out, target=data.target, withhold=withhold)
    rows = design.merged.sums(design.rows)
    small = int((rows < max(withhold, 2)).sum())
    if output.json:
        about = {"rows": int(rows.sum()), "patterns": len(rows), "columns": design.shape[1]}
        print_json({**about, "withheld" if withhold else "of_one_row": small, "file": str(out)})
    said = f"of which {small:,} " + ("are withheld" if withhold else "stand for one row alone")
    say(
        f"{int(rows.sum()):,} rows are counted as {len(rows):,} patterns of {design.shape[1]} "
        f"columns, {said}: {out}",
        output.quiet,
    )


@featured(
    "milpscore sites north.json south.json west.json --max-terms 5 --out cards",
    "max_terms",
    "time_limit",
    "out",
)
def sites_command(
    *,
    counts: list[Path] = argument("COUNTS.json", "Counts of each site, by 'milpscore counts'."),
    max_terms: int = option(CARD, "Maximal number of columns with points.", min=0, default=5),
    time_limit: float = seconds("Seconds for the search."),
    out: Path | None = option(OUTPUT, "Write each site's card into this folder.", metavar="DIR"),
) -> None:
    """Fit one card to several sites, each with an intercept of its own.

    Points are those of rows compared within their site: how many of a site's
    rows are positive, for reasons that no column knows, is left to its
    intercept. A total means another risk at each site, and the decision is
    the site's.
    """
    from milpscore.data import counts_head, read_sites
    from milpscore.sites import fit_by_site

    paths = _of_target(counts, None)
    if len(paths) < 2:
        raise OptionError("one card for several sites needs the counts of two and more: name them")
    if out is not None and not out.is_dir():
        raise OptionError(f"there is no folder {out}: make it, or give another by --out")
    if withheld := sum(counts_head(path).withheld for path in paths):
        raise OptionError(
            f"the numbers of rows of {withheld} patterns are withheld: give counts of all rows, or "
            "fill them in by milpscore.data.read_sites(..., withheld='middle')"
        )
    made = fit_by_site(*read_sites(*paths), max_terms=max_terms, time_limit=time_limit)
    print_text(made.to_text())
    if out is not None:
        for site, card in made.cards.items():
            card.write(out / f"{site}.card.json")
        say(f"The cards were written to {out}.")
    if str(made.result.termination) == "interrupted":
        raise typer.Exit(INTERRUPTED)


def _alike(data: DataOptions, like: Path) -> Design:
    """Return the design of a table by another site's columns."""
    from milpscore.data import read_counts

    return design_like(data, read_counts(like, one_class=True), "--like", like, one_class=True)


def design_like(
    data: DataOptions, other: Any, option: str, path: Path, one_class: bool = False
) -> Design:
    """Return the design of a table by the columns, blocks and classes of a design or card.

    With ``one_class`` rows of one class alone are taken.
    """
    import numpy as np

    from milpscore.data import apply_columns, make_design
    from milpscore.data.binner import timed_rows
    from milpscore.data.cells import unitless

    X, y, _, given = data.read(rows=True, ordered=True, missing="bin")
    if y is None:
        raise OptionError(f"{option} takes tables that fit into memory")
    values = apply_columns(other.columns, X)  # a value that the columns lack is an error
    for text in unitless(other.columns, X):
        say(f"Warning: {text}")
    weight, made = given["sample_weight"], {"columns": other.columns, "blocks": other.blocks}
    if data.time is not None:
        return timed_rows(values, y, None, weight, **made)
    sides = _sides(y, other.classes, path)
    if data.positive is not None and _plain(data.positive) != _plain(other.classes[1]):
        raise OptionError(f"{path.name} scores {other.classes[1]!r}: leave out --positive")
    if not one_class and len({*sides}) < 2:
        raise DataError(f"column {data.target!r} holds one label alone: a score needs two")
    # the labels only have to be two: what the rows are is put in their place
    base = make_design(values, np.arange(len(y)) % 2, sample_weight=weight, positive=1, **made)
    return replace(base, y=sides, classes=other.classes)


def _sides(y: Any, classes: tuple[Any, Any], path: Path) -> Any:
    """Return -1 or +1 per row by another file's two classes, (n,), their spelling aside."""
    negative, positive = map(_plain, classes)
    labels = y.map(_plain)
    two = negative != f"not {positive}"  # else one of several classes against the rest
    if two and (odd := y[~labels.isin([negative, positive])].unique().tolist()):
        raise DataError(
            f"column {y.name!r} holds {odd[0]!r}, {path.name} has the labels {classes[0]!r} and "
            f"{classes[1]!r}: write them as there"
        )
    return (labels == positive).to_numpy().astype("int64") * 2 - 1


def _plain(label: Any) -> str:
    """Return a label as text, without outer blanks and capitals."""
    from milpscore.data.checking import category_text

    return category_text(label).strip().casefold()


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
    return _of_target([data.data, *map(Path, names_of(data.sites))], data.target)


def _of_target(paths: list[Path], wanted: str | None) -> list[Path]:
    """Return files of counts that are there, and of the target that was asked for, if one was."""
    from milpscore.data import counts_head

    if odd := [path.name for path in paths if path.suffix not in (".json", ".parquet")]:
        raise OptionError(
            f"{odd[0]} holds no counts: 'milpscore counts' writes them as .json or .parquet"
        )
    for path in paths:
        require_file(path)
        target = counts_head(path).target
        if wanted is not None and target not in ("", wanted):
            raise OptionError(f"{path.name} counts {target!r}, not {wanted!r}")
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
    middle = f"for the middle of {withheld} withheld ranges, whose rows are counted at their most"
    return middle if withheld else ""


def worth_by_site(program: Program, result: Result, data: Any) -> list[SiteWorth] | None:
    """Judge a card by cards of the other sites; None of more than two classes."""
    from milpscore.worth import site_worth

    return site_worth(program, result, _paths(data)) if program.kind == "exact" else None
