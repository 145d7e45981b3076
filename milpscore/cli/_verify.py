"""``milpscore verify``: a certificate re-proved from the data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from milpscore.cli import _options as options
from milpscore.cli._common import print_json
from milpscore.core.errors import DataError

NOT_PROVED = 1

CertificateFile = Annotated[
    Path,
    typer.Argument(
        metavar="CERTIFICATE.json",
        help="Certificate saved by 'milpscore fit --certificate'.",
        show_default=False,
    ),
]
Target = Annotated[
    str | None,
    typer.Option(metavar="COL", help="Column with the labels; default: the certificate's."),
]
TimeLimit = Annotated[
    float,
    typer.Option(metavar="SECONDS", min=0, help="Seconds for solving anything again."),
]


def verify_command(
    certificate: CertificateFile,
    data: options.Data,
    target: Target = None,
    time_limit: TimeLimit = 600.0,
    json: options.Json = False,
) -> None:
    """Re-prove a certificate: card, objective and bound, part by part.

    The bound is proved from the recorded evidence and the data, without the
    solver that found the card; where no evidence is recorded, by solving
    again with another engine or seed. Exit code 0: everything claimed was
    proved; 1: some part was refuted, or could not be proved.
    """
    from milpscore.certificate import Certificate, verify_certificate

    made = Certificate.from_json(certificate)
    X, y, given = _table(made.data, data, target)
    found = verify_certificate(made, X, y, time_limit=time_limit, **given)
    if json:
        parts = [vars(part) for part in found.parts]
        print_json({"proved": found.proved, "parts": parts})
    else:
        typer.echo(found.to_text())
    if not found.proved:
        raise typer.Exit(NOT_PROVED)


def _table(known: Any, data: Path, target: str | None) -> tuple[Any, Any, dict[str, Any]]:
    """The table as it was read for the certificate: features, labels, weights.

    Raises
    ------
    DataError
        Where the certificate does not name the labels and nobody else does.
    """
    from milpscore.data import read_table

    column = target or known.get("target")
    if not isinstance(column, str):
        raise DataError("the certificate does not name the column of the labels: add --target COL")
    missing, weights = known.get("missing", "error"), known.get("weights_column")
    X, y, *rest = read_table(data, column, missing=missing, weights=weights)
    given = {
        "sample_weight": rest[0] if rest else None,
        "class_weight": known.get("class_weight"),
    }
    return X, y, given
