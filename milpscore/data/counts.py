"""Counts of patterns in the place of rows: what a site hands on where rows may not be moved."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from milpscore.core.design import Design, FloatArray, IntArray, merge_rows
from milpscore.core.errors import (
    DataError,
    NotApplicableError,
    OptionError,
    is_whole,
    listing,
    optional,
)
from milpscore.core.reading import parsed, text_of, typed
from milpscore.core.writing import replacing, write_text
from milpscore.data.columns import ColumnFile, column_content

KIND = "milpscore.counts"
PARQUET = ".parquet"
_PER_PATTERN = ("y", "counts", "weights", "least")

Label = bool | int | float | str
Filling = Literal["least", "middle", "most"]


class _CountsFile(Struct, forbid_unknown_fields=True):
    """The counts of a site: distinct rows, each with its class, its number and its weight."""

    kind: str
    columns: list[ColumnFile]
    blocks: list[list[int]]
    classes: tuple[Label, Label]
    patterns: list[list[float]]
    y: list[int]
    counts: list[int]
    weights: list[float]
    target: str = ""
    least: list[int] = []  # rows at least, where small cells are withheld; ``counts`` at most


def write_counts(design: Design, path: str | Path, target: str = "", *, withhold: int = 0) -> Path:
    """Write the distinct rows of a design with their numbers: no row of the table stands alone.

    Sites that pool their counts need the same columns: make them from one set of cuts
    (``Binner(thresholds=..., useless="keep")``), or by the columns of another site's file.

    Parameters
    ----------
    design : Design
        Without class weights, which depend on the counts of all sites.
    path : path
        The file to write: Parquet where it ends in ``.parquet``, else JSON.
    target : str
        The column that was scored, for the messages of whoever pools the counts.
    withhold : int
        Withhold the number of rows of patterns that fewer rows of a class have: the file says 1 to
        one less than this. See :func:`milpscore.withheld.fit_withheld`. 0 withholds nothing.

    Returns
    -------
    Path

    Raises
    ------
    MissingDependencyError
        Parquet, and PyArrow is not installed.
    NotApplicableError
        The design holds class weights, or more than two classes or times; or cells are to be
        withheld of rows that do not weigh 1 each.
    OptionError
        ``withhold`` is not a whole number >= 0.
    """
    if not is_whole(withhold, 0):
        raise OptionError(f"withhold must be a whole number >= 0, got {withhold!r}")
    if type(design) is not Design:
        raise NotApplicableError("counts are of rows of two classes, without times or boundaries")
    if design.class_factors not in (None, (Fraction(1), Fraction(1))):
        raise NotApplicableError("give class_weight when the counts of all sites are together")
    merged = design.merged
    counts = merged.sums(design.rows).astype(np.int64)
    small, weights = counts < withhold, merged.weight
    if withhold and (weights != counts).any():
        raise NotApplicableError("cells are withheld of rows that weigh 1 each")
    least = np.where(small, 1, counts)
    counts, weights = (np.where(small, withhold - 1, each) for each in (counts, weights))
    content = {
        "kind": KIND,
        "columns": [column_content(column) for column in design.columns],
        "blocks": design.blocks,
        "classes": design.classes,
        "patterns": merged.X.tolist(),
        "y": merged.y.tolist(),
        "counts": counts.tolist(),
        "weights": weights.tolist(),
        "target": target,
        **({"least": least.tolist()} if withhold else {}),
    }  # fmt: skip
    path = Path(path)
    if path.suffix == PARQUET:
        _write_parquet(path, content)
    else:
        write_text(path, json.dumps(content, allow_nan=False) + "\n")
    return path


def _pyarrow() -> Any:
    """Return PyArrow with its Parquet; an error that says how to install it."""
    need = "counts in Parquet need PyArrow: pip install 'milpscore[parquet]', or write .json"
    optional("pyarrow.parquet", need)
    return optional("pyarrow", need)


def _write_parquet(path: Path, content: dict[str, Any]) -> None:
    """Write what stands per pattern as columns, and the rest of the file beside the schema."""
    pa = _pyarrow()
    columns = {name: content.pop(name) for name in _PER_PATTERN if name in content}
    patterns = np.array(content.pop("patterns")).T
    columns |= {str(j): column for j, column in enumerate(patterns)}
    head = {KIND: json.dumps(content, allow_nan=False)}
    with replacing(path) as part:
        pa.parquet.write_table(pa.table(columns).replace_schema_metadata(head), part)


def _read_parquet(path: Path) -> dict[str, Any]:
    """Return a file of :func:`_write_parquet` as what a JSON file holds."""
    pa = _pyarrow()
    try:
        table = pa.parquet.read_table(path)
        head = (table.schema.metadata or {}).get(KIND.encode())
        content = json.loads(head) if head is not None else None
    except FileNotFoundError:
        raise
    except (OSError, pa.ArrowException, ValueError) as error:
        raise DataError(f"cannot read {path.name} as Parquet: {error}") from error
    if not isinstance(content, dict):
        raise DataError(f"{path.name} does not hold counts: give a file of write_counts")
    found = table.to_pydict()
    parts = {name: found.pop(name) for name in _PER_PATTERN if name in found}
    patterns = [*map(list, zip(*found.values(), strict=True))]
    return {**content, **parts, "patterns": patterns}


def read_counts(
    *paths: str | Path, one_class: bool = False, withheld: Filling = "middle"
) -> Design:
    """Return the design of all rows that some sites counted.

    What every engine does with it is what it would do with the rows: the same cards, bounds and
    fingerprint.

    Parameters
    ----------
    *paths : path
        Files of :func:`write_counts`.
    one_class : bool
        Whether rows of one class alone are taken, say of one site by itself.
    withheld : {"least", "middle", "most"}
        The number of rows to take for a withheld one: an end of its range, or the middle.

    Returns
    -------
    Design
        Sorted distinct rows; ``counts`` are the rows behind each.

    Raises
    ------
    DataError
        A file is damaged or missing, or sites have other columns or classes; one label alone is
        there.
    """
    X, y, weight, counts, first, _ = _joined(paths, withheld)
    if len(np.unique(y[weight > 0])) < 2 and not one_class:
        raise DataError("the counts of all sites are of one class: there is nothing to learn")
    merged = merge_rows(X, y, weight)
    return _design(first, merged.X, merged.y, merged.weight, merged.sums(counts))


def read_sites(
    *paths: str | Path, withheld: Filling = "middle"
) -> tuple[Design, npt.NDArray[np.str_]]:
    """Return the rows that some sites counted, and which site each is of.

    Parameters
    ----------
    *paths, withheld
        As for :func:`read_counts`.

    Returns
    -------
    design : Design
        Distinct rows, site by site.
    by : array of shape (n,)
        The name of each row's file, without its ending.

    Raises
    ------
    DataError
        As for :func:`read_counts`, or two files have one name.
    """
    names = [Path(path).stem for path in paths]
    if twice := [name for name in names if names.count(name) > 1]:
        raise DataError(f"two files are called {twice[0]!r}: sites go by their names")
    X, y, weight, counts, first, site = _joined(paths, withheld)
    return _design(first, X, y, weight, counts), np.array(names)[site]


def _design(
    first: Any, X: FloatArray, y: IntArray, weight: FloatArray, counts: FloatArray
) -> Design:
    """Return a design of rows by the columns of a file."""
    return Design(
        X, y, weight, tuple(column.made() for column in first.columns),
        tuple(map(tuple, first.blocks)), first.classes, counts=counts.astype(np.int64),
        class_factors=(Fraction(1), Fraction(1)),
    )  # fmt: skip


def _joined(paths: Sequence[str | Path], withheld: Filling) -> tuple[Any, ...]:
    """Return the rows of all files: columns, classes, weights, counts, the first file, the site."""
    if not paths:
        raise DataError("counts of at least one site are needed")
    files = [Path(path).resolve() for path in paths]
    if twice := [path.name for path in files if files.count(path) > 1]:
        raise DataError(f"{twice[0]} is given twice, and its rows would count twice: name it once")
    sites = [_checked(Path(path)) for path in paths]
    first = sites[0]
    for path, site in zip(paths[1:], sites[1:], strict=True):
        for what in ("columns", "blocks", "classes", "target"):
            if getattr(site, what) != getattr(first, what):
                raise DataError(
                    f"{path} has other {what} than {paths[0]}{_unlike(site, first)}: count by the "
                    "same cuts, of numbers in the same unit, and keep columns that are constant at "
                    "a site"
                )
    X = np.concatenate([np.array(site.patterns, dtype=np.float64) for site in sites])
    y, counts, weight = (
        np.concatenate([np.array(getattr(site, name)) for site in sites])
        for name in ("y", "counts", "weights")
    )
    if withheld not in get_args(Filling):
        known = ", ".join(get_args(Filling))
        raise OptionError(f"withheld must be one of {known}, got {withheld!r}")
    least = np.concatenate([np.array(site.least or site.counts) for site in sites])
    if withheld != "most":
        filled = least if withheld == "least" else 0.5 * (least + counts)
        weight = np.where(least < counts, filled, weight)  # withheld rows weigh 1 each
        counts = np.where(least < counts, np.ceil(filled), counts)
    site = np.repeat(np.arange(len(sites)), [len(each.y) for each in sites])
    return X, y, weight.astype(np.float64), counts.astype(np.float64), first, site


def _unlike(site: Any, first: Any) -> str:
    """Return the features, with their units, that one of two sites alone has; for messages."""
    own, others = (
        {
            f"{c.feature} [{c.cells.unit}]" if c.cells and c.cells.unit else c.feature
            for c in columns
        }
        for columns in (site.columns, first.columns)
    )
    sides = {"the former": own - others, "the latter": others - own}
    said = [f"{side} alone {listing(sorted(names))}" for side, names in sides.items() if names]
    return f" ({', '.join(said)})" if said else ""


class CountsHead(NamedTuple):
    """What a file of counts says of itself: the column scored ("" if unknown), cells withheld."""

    target: str
    withheld: int


def counts_head(path: str | Path) -> CountsHead:
    """Return what a file of counts says of itself.

    Parameters
    ----------
    path : path

    Returns
    -------
    CountsHead

    Raises
    ------
    DataError
        The file is damaged or missing.
    """
    found = _checked(Path(path))
    both = zip(found.least, found.counts, strict=False)
    return CountsHead(str(found.target), sum(low < most for low, most in both))


def _checked(path: Path) -> Any:
    """Return a file whose parts fit together."""
    what = f"the file of counts {path.name}"
    if path.suffix == PARQUET:
        found = typed(_read_parquet(path), _CountsFile, what)
    else:
        found = parsed(text_of(path), _CountsFile, what)
    if found.kind != KIND:
        raise DataError(f"{path.name} does not hold counts: give a file of write_counts")
    least = found.least or found.counts
    sizes: Sequence[int] = [len(part) for part in (found.y, found.counts, found.weights, least)]
    odd = (
        {*sizes} != {len(found.patterns)}
        or not found.patterns
        or {len(row) for row in found.patterns} != {len(found.columns)}
        or {*found.y} - {-1, 1}
        or not all(1 <= low <= most for low, most in zip(least, found.counts, strict=True))
        or not all(0 < w < math.inf for w in found.weights)
        or (found.least and found.weights != found.counts)
        or not {j for block in found.blocks for j in block} <= {*range(len(found.columns))}
        or found.classes[0] == found.classes[1]
    )
    if odd:
        raise DataError(f"the counts in {path.name} are damaged: their parts do not fit together")
    return found
