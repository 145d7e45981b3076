"""Counts of patterns in the place of rows: what a site hands on where rows may not be moved."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct

from milpscore.core.design import Design, merge_rows
from milpscore.core.errors import DataError, NotApplicableError
from milpscore.core.reading import parsed, text_of
from milpscore.core.writing import write_text
from milpscore.data.columns import ColumnFile, column_content

KIND = "milpscore.counts"

Label = bool | int | float | str


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


def write_counts(design: Design, path: str | Path, target: str = "") -> Path:
    """Write the distinct rows of a design with their numbers: no row of the table stands alone.

    Sites that pool their counts need the same columns: make them from one set of cuts
    (``Binner(thresholds=..., useless="keep")``), or by the columns of another site's file.

    Parameters
    ----------
    design : Design
        Without class weights, which depend on the counts of all sites.
    path : path
        The JSON file to write.
    target : str
        The column that was scored, for the messages of whoever pools the counts.

    Returns
    -------
    Path

    Raises
    ------
    NotApplicableError
        The design holds class weights, or more than two classes or times.
    """
    if type(design) is not Design:
        raise NotApplicableError("counts are of rows of two classes, without times or boundaries")
    if design.class_factors not in (None, (Fraction(1), Fraction(1))):
        raise NotApplicableError("give class_weight when the counts of all sites are together")
    merged = design.merged
    content = {
        "kind": KIND,
        "columns": [column_content(column) for column in design.columns],
        "blocks": design.blocks,
        "classes": design.classes,
        "patterns": merged.X.tolist(),
        "y": merged.y.tolist(),
        "counts": merged.sums(design.rows).astype(np.int64).tolist(),
        "weights": merged.weight.tolist(),
        "target": target,
    }  # fmt: skip
    path = Path(path)
    write_text(path, json.dumps(content, allow_nan=False) + "\n")
    return path


def read_counts(*paths: str | Path, one_class: bool = False) -> Design:
    """Return the design of all rows that some sites counted.

    What every engine does with it is what it would do with the rows: the same cards, bounds and
    fingerprint.

    Parameters
    ----------
    *paths : path
        Files of :func:`write_counts`.
    one_class : bool
        Whether rows of one class alone are taken, say of one site by itself.

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
    if not paths:
        raise DataError("counts of at least one site are needed")
    sites = [_checked(Path(path)) for path in paths]
    first = sites[0]
    for path, site in zip(paths[1:], sites[1:], strict=True):
        for what in ("columns", "blocks", "classes", "target"):
            if getattr(site, what) != getattr(first, what):
                raise DataError(
                    f"{path} has other {what} than {paths[0]}: count by the same cuts, and keep "
                    "columns that are constant at a site"
                )
    X = np.concatenate([np.array(site.patterns, dtype=np.float64) for site in sites])
    y, counts, weight = (
        np.concatenate([np.array(getattr(site, name)) for site in sites])
        for name in ("y", "counts", "weights")
    )
    if len(np.unique(y[weight > 0])) < 2 and not one_class:
        raise DataError("the counts of all sites are of one class: there is nothing to learn")
    merged = merge_rows(X, y, weight.astype(np.float64))
    return Design(
        merged.X, merged.y, merged.weight, tuple(column.made() for column in first.columns),
        tuple(map(tuple, first.blocks)), first.classes,
        counts=merged.sums(counts.astype(np.float64)).astype(np.int64),
        class_factors=(Fraction(1), Fraction(1)),
    )  # fmt: skip


def counts_target(path: str | Path) -> str:
    """Return the column that a file of counts says was scored; empty if it does not say.

    Parameters
    ----------
    path : path

    Returns
    -------
    str

    Raises
    ------
    DataError
        The file is damaged or missing.
    """
    return str(_checked(Path(path)).target)


def _checked(path: Path) -> Any:
    """Return a file whose parts fit together."""
    found = parsed(text_of(path), _CountsFile, f"the counts in {path.name}")
    if found.kind != KIND:
        raise DataError(f"{path.name} does not hold counts: give a file of write_counts")
    sizes: Sequence[int] = [len(part) for part in (found.y, found.counts, found.weights)]
    odd = (
        {*sizes} != {len(found.patterns)}
        or not found.patterns
        or {len(row) for row in found.patterns} != {len(found.columns)}
        or {*found.y} - {-1, 1}
        or min(found.counts) < 1
        or not all(0 < w < math.inf for w in found.weights)
        or not {j for block in found.blocks for j in block} <= {*range(len(found.columns))}
        or found.classes[0] == found.classes[1]
    )
    if odd:
        raise DataError(f"the counts in {path.name} are damaged: their parts do not fit together")
    return found
