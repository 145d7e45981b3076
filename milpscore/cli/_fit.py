"""``milpscore fit``: from a table to a certified card."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from milpscore.cli import _options as options
from milpscore.cli._common import (
    INTERRUPTED,
    NO_CARD,
    builder_arguments,
    constraints_of,
    formulation_key,
    noting_interrupts,
    print_json,
    read_data,
    require_bins,
    require_folder,
    say,
    tell_warnings,
)

if TYPE_CHECKING:
    from milpscore.core.design import Design
    from milpscore.core.program import Program
    from milpscore.core.result import Result
    from milpscore.core.statement import Statement
    from milpscore.scorecard import Scorecard

Out = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Save the card as JSON, for 'milpscore predict'.",
        rich_help_panel=options.OUTPUT_PANEL,
    ),
]
Heuristic = Annotated[
    bool,
    typer.Option(
        "--heuristic",
        help="Fast mode: no solver runs, nothing is proved; the card is the best of a search of "
        "seconds or less, re-checked. Not for rounded formulations.",
        rich_help_panel=options.SOLVE_PANEL,
    ),
]
CertificateFile = Annotated[
    Path | None,
    typer.Option(
        "--certificate",
        metavar="FILE",
        help="Save card, statement, bound and the evidence for it, for 'milpscore verify'.",
        rich_help_panel=options.OUTPUT_PANEL,
    ),
]


def fit_command(
    data: options.Data,
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
    time_limit: options.TimeLimit = 60.0,
    mip_gap: options.MipGap = 0.0,
    node_limit: options.NodeLimit = None,
    seed: options.Seed = 0,
    heuristic: Heuristic = False,
    out: Out = None,
    certificate: CertificateFile = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Learn a card from a CSV file, and certify it.

    Numeric columns are used as they are unless --bins or --thresholds asks
    for binarisation; text becomes one column a value. Ctrl-C stops the
    solve and keeps the best card and bound so far.
    """
    name = formulation_key(formulation)
    arguments = builder_arguments(
        name, settings, coef_min=coef_min, coef_max=coef_max, max_terms=max_terms
    )
    arguments |= constraints_of(constraints)
    require_folder(out)
    require_folder(certificate)
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
    limits = {
        "time_limit": time_limit,
        "random_state": seed,
        "options": {"mip_gap": mip_gap, "node_limit": node_limit},
        "heuristic": heuristic,
    }
    with noting_interrupts() as interrupted:
        started = time.perf_counter()
        program, result = solve_design(
            design, name, arguments, limits, progress=False if quiet else None
        )
        seconds = time.perf_counter() - started
    tell_warnings(design, quiet)
    title = f"{target}, scored by {name}"
    finish(design, program.statement, result, seconds, out=out, as_json=json, title=title)
    if certificate is not None and result.card is not None:
        source = {
            "target": target,
            "weights_column": weights_column,
            "class_weight": None if class_weight is None else class_weight.value,
            "missing": missing.value,
        }
        save_certificate(certificate, program, result, source, max(60.0, time_limit))
    if interrupted.is_set() or str(result.termination) == "interrupted":
        raise typer.Exit(INTERRUPTED)
    if result.card is None:
        raise typer.Exit(NO_CARD)


def solve_design(
    design: Design,
    formulation: str,
    arguments: dict[str, Any],
    limits: dict[str, Any],
    progress: bool | None,
) -> tuple[Program, Result]:
    """Fit a card; after a Ctrl-C that comes before the solver runs, the verified empty card."""
    from milpscore.core.result import Termination
    from milpscore.fitting import fit_card

    try:
        program, result = fit_card(design, formulation, progress=progress, **limits, **arguments)
    except KeyboardInterrupt:
        limits = {**limits, "time_limit": 0, "heuristic": False}
        program, result = fit_card(
            design, formulation, progress=False, warm_start=False, **limits, **arguments
        )
        result = replace(result, termination=Termination.INTERRUPTED)
    return program, result


def save_certificate(
    path: Path,
    program: Program,
    result: Result,
    source: dict[str, Any],
    time_limit: float,
) -> None:
    """Find the evidence for a bound, and save it with the card."""
    from milpscore.certificate import certify

    made = certify(program, result, source=source, time_limit=time_limit)
    made.to_json(path)
    kind, reason = made.evidence["kind"], made.evidence.get("reason", "")
    said = f"no evidence ({reason}): the verifier solves again" if kind == "none" else kind
    say(f"The certificate was saved in {path}; evidence: {said}.")


def finish(
    design: Design,
    statement: Statement,
    result: Result,
    seconds: float,
    *,
    out: Path | None,
    as_json: bool,
    title: str,
) -> None:
    """Print and save a result; where there is no card, say why on standard error."""
    from milpscore.cli._report import make_card, make_report

    card = make_card(design, result, title, statement)
    # Printed before it is saved: a full disk must not cost the answer.
    if as_json:
        print_json(make_report(design, result, card, seconds))
    elif card is not None:
        typer.echo(as_text(card, result, seconds))
    if card is None:
        say(f"No card: {result.message or result.termination.sentence}")
    elif out is not None:
        card.save(out)
        say(f"The card was saved in {out}.")


def as_text(card: Scorecard, result: Result, seconds: float) -> str:
    """The card, its certificate, and how the solve went, for a person."""
    said = [
        f"{result.termination.sentence} {seconds:.1f} s in all, {result.solve_seconds:.1f} s of "
        f"them in the solver.",
        f"Solver: {result.solver} {result.solver_version}, seed {result.random_state}, nodes "
        f"{result.nodes}. Warm start: {result.warm_start}.",
    ]
    if result.message:
        said.append(f"Note: {result.message}.")
    return "\n".join([card.to_text(), *said])
