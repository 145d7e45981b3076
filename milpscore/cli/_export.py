"""``milpscore export``: a program as an LP or MPS file, for any solver."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from milpscore.cli import _options as options
from milpscore.cli._common import (
    builder_arguments,
    constraints_of,
    formulation_key,
    read_data,
    require_bins,
    require_folder,
    say,
    tell_warnings,
)

Model = Annotated[
    Path,
    typer.Argument(metavar="MODEL", help="File to write; ends in .mps or .lp.", show_default=False),
]
Relaxed = Annotated[
    bool | None,
    typer.Option(
        "--relaxed/--exact",
        help="Without or with integrality; by default as the formulation is stated.",
        rich_help_panel=options.MODEL_PANEL,
    ),
]


def export_command(
    data: options.Data,
    model: Model,
    target: options.Target,
    positive: options.Positive = None,
    bins: options.Bins = None,
    thresholds: options.Thresholds = None,
    encoding: options.EncodingOption = None,
    missing: options.MissingOption = options.Missing.error,
    weights_column: options.WeightsColumn = None,
    class_weight: options.ClassWeightOption = None,
    formulation: options.Formulation = "slim",
    coef_min: options.CoefMin = None,
    coef_max: options.CoefMax = None,
    max_terms: options.MaxTerms = None,
    settings: options.Settings = None,
    constraints: options.Constraints = None,
    relaxed: Relaxed = None,
    quiet: options.Quiet = False,
) -> None:
    """Write a program as an LP or MPS file, without solving it."""
    from milpscore.formulations import FORMULATIONS

    name = formulation_key(formulation)
    arguments = builder_arguments(
        name, settings, coef_min=coef_min, coef_max=coef_max, max_terms=max_terms
    )
    arguments |= constraints_of(constraints)
    require_folder(model)
    design = read_data(
        data,
        target,
        positive=positive,
        bins=bins,
        thresholds=thresholds,
        encoding=encoding,
        missing=missing,
        weights_column=weights_column,
        class_weight=class_weight,
    ).design()
    require_bins(name, design, encoding)
    program = FORMULATIONS[name](design, **arguments)
    if relaxed is not None:
        program = program.relaxed() if relaxed else program.exact()
    path = program.write(model)
    tell_warnings(design, quiet)
    cuts = program.model.component("cuts")
    if cuts is not None and not len(cuts):
        say(
            f"Warning: the loss of {options.spelt(name)} is put together from tangents while it is "
            "solved; the file has none yet and states no loss"
        )
    size = program.size
    typer.echo(
        f"{path}: {program.formulation}, {program.kind}, {size.rows} rows, {size.columns} columns "
        f"({size.integers} of them integer), {size.nonzeros} nonzeros"
    )
