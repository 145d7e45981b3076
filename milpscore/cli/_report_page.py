"""``milpscore report``: one HTML page about a card; and the page of a comparison."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from milpscore.cli import _options as options
from milpscore.cli._common import Table, require_folder, say, settable
from milpscore.core.errors import DataError, OptionError

if TYPE_CHECKING:
    from milpscore.certificate import Certificate
    from milpscore.comparison import Comparison
    from milpscore.scorecard import Scorecard

CardFile = Annotated[
    Path,
    typer.Argument(
        metavar="CARD.json",
        help="Card saved by 'milpscore fit --out', or certificate saved by 'milpscore fit "
        "--certificate'.",
        show_default=False,
    ),
]
Target = Annotated[
    str | None,
    typer.Option(
        metavar="COL",
        help="Column with the labels; default: the certificate's.",
        rich_help_panel=options.DATA_PANEL,
    ),
]
CertificateFile = Annotated[
    Path | None,
    typer.Option(
        "--certificate",
        metavar="FILE",
        help="Certificate of the card: it tells which cards the bound speaks of.",
        rich_help_panel=options.DATA_PANEL,
    ),
]
Out = Annotated[
    Path,
    typer.Option(metavar="FILE", help="The page to write.", rich_help_panel=options.OUTPUT_PANEL),
]
Compare = Annotated[
    bool,
    typer.Option(
        "--compare",
        help="Solve the certificate's program again beside its LP and rounded cards, and show all.",
        rich_help_panel=options.SOLVE_PANEL,
    ),
]
Verify = Annotated[
    bool,
    typer.Option(
        "--verify",
        help="Prove the certificate again, as 'milpscore verify' does, and show what came of it.",
        rich_help_panel=options.SOLVE_PANEL,
    ),
]
TimeLimit = Annotated[
    float,
    typer.Option(
        metavar="SECONDS",
        min=0,
        help="Seconds for --compare, and for --verify.",
        rich_help_panel=options.SOLVE_PANEL,
    ),
]


def report_command(
    card: CardFile,
    data: options.Data,
    target: Target = None,
    certificate: CertificateFile = None,
    weights_column: options.WeightsColumn = None,
    class_weight: options.ClassWeightOption = None,
    compare: Compare = False,
    verify: Verify = False,
    time_limit: TimeLimit = 60.0,
    seed: options.Seed = 0,
    out: Out = Path("report.html"),
    quiet: options.Quiet = False,
) -> None:
    """Write one self-contained HTML page: the card, its proof, its figures.

    The card stands first and prints on a page of its own. What is proved is
    put in words derived from the bound, and claimed only for the data with
    the card's fingerprint. Weights are read as for the certificate unless
    options say otherwise.
    """
    from milpscore.certificate import verify_certificate
    from milpscore.report import report
    from milpscore.report._again import compared_again

    require_folder(out)
    given = _card_or_certificate(card)
    proof = _proof(given, certificate)
    X, y, weights = _data(given, proof, data, target, weights_column, class_weight)
    comparison = verification = None
    if compare:
        comparison = compared_again(
            _required(proof, "--compare"),
            X,
            y,
            **weights,
            time_limit=time_limit,
            random_state=seed,
            progress=False if quiet else None,
        )
    if verify:
        verification = verify_certificate(
            _required(proof, "--verify"), X, y, time_limit=time_limit, **weights
        )
    report(
        given,
        X,
        y,
        path=out,
        certificate=proof,
        comparison=comparison,
        verification=verification,
        random_state=seed,
        **weights,
    )
    say(f"The report was saved in {out}.")


def comparison_page(
    frame: Comparison,
    table: Table,
    arguments: Mapping[str, Any],
    own: Mapping[str, Mapping[str, Any]],
    path: Path,
    seed: int,
    title: str,
) -> None:
    """The page of a comparison: about the card of its first exact program that has one.

    Parameters
    ----------
    frame : Comparison
        Of :func:`milpscore.compare`.
    table : Table
        What was compared on.
    arguments, own : mappings
        Builder arguments for every formulation that has them, and those of single ones.
    path : Path
    seed : int
    title : str
        What is scored.
    """
    from milpscore.formulations import FORMULATIONS
    from milpscore.report import report
    from milpscore.scorecard import certified_card

    exact = {
        name: result
        for (name, kind), result in frame.results.items()
        if kind == "exact" and result.card is not None
    }
    if not exact:
        say("No report was written: no exact program has a card.")
        return
    name, result = next(iter(exact.items()))
    taken = (*settable(name), "constraints")
    known = {key: value for key, value in arguments.items() if key in taken}
    design = table.design()
    program = FORMULATIONS[name](design, **{**known, **own.get(name, {})})
    statement = (program if program.kind == "exact" else program.exact()).statement
    card = certified_card(
        design, result, f"{title}, scored by {options.spelt(name)}", statement=statement
    )
    report(card, design, path=path, statement=statement, comparison=frame, random_state=seed)
    say(f"The report was saved in {path}.")


def _card_or_certificate(path: Path) -> Scorecard | Certificate:
    """What the file holds."""
    from milpscore.certificate import Certificate
    from milpscore.certificate._certificate import KIND
    from milpscore.scorecard import Scorecard

    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError):
        content = None  # the card's own reader says what is wrong
    if isinstance(content, dict) and content.get("kind") == KIND:
        return Certificate.from_json(path)
    return Scorecard.load(path)


def _proof(given: Scorecard | Certificate, certificate: Path | None) -> Certificate | None:
    """The certificate, wherever it was given."""
    from milpscore.certificate import Certificate

    if not isinstance(given, Certificate):
        return None if certificate is None else Certificate.from_json(certificate)
    if certificate is not None:
        raise OptionError("the first file is a certificate already: leave out --certificate")
    return given


def _required(proof: Certificate | None, wish: str) -> Certificate:
    """The certificate, which tells the program.

    Raises
    ------
    OptionError
        Where there is none.
    """
    if proof is None:
        raise OptionError(f"{wish} needs the program: give the certificate with --certificate FILE")
    return proof


def _data(
    given: Scorecard | Certificate,
    proof: Certificate | None,
    data: Path,
    target: str | None,
    weights_column: str | None,
    class_weight: options.ClassWeight | None,
) -> tuple[Any, Any, dict[str, Any]]:
    """Features, labels and weights, read as for the certificate where no option says otherwise."""
    from milpscore.data import read_table

    known: Mapping[str, Any] = {} if proof is None else proof.data
    column = target or known.get("target")
    if not isinstance(column, str):
        raise DataError("the card does not name the column of the labels: add --target COL")
    foreseen = any(each.kind == "missing" for each in given.columns)
    weights = weights_column or known.get("weights_column")
    X, y, *rest = read_table(data, column, missing="bin" if foreseen else "error", weights=weights)
    balanced = known.get("class_weight") if class_weight is None else class_weight.value
    return X, y, {"sample_weight": rest[0] if rest else None, "class_weight": balanced}
