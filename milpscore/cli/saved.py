"""``milpscore card``, ``predict`` and ``verify``: what is done with a saved card."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from milpscore.certificate import PROOF_SECONDS
from milpscore.cli.common import (
    INTERRUPTED,
    counting,
    names_of,
    noting_interrupts,
    output as printed,
    plain_table,
    print_json,
    print_text,
    require_columns,
    require_file,
    save_certificate,
    say,
    speller,
)
from milpscore.cli.groups import (
    CARD,
    DATA,
    DATA_FILE,
    JSON,
    OUTPUT,
    SOLVE,
    FileOptions,
    argument,
    featured,
    option,
    output_file,
    seconds,
)
from milpscore.cli.survival import survival_answers, timed_target
from milpscore.cli.words import WordOptions
from milpscore.core.errors import DataError, Message, OptionError, require_ending
from milpscore.core.writing import data_output, replacing

if TYPE_CHECKING:
    from pandas import DataFrame

    from milpscore.certificate import Certificate
    from milpscore.scorecard import OrdinalCard, Scorecard, SurvivalCard

NOT_PROVED = 1

_READ = ("positive", "drop", "features", "decimal", "encoding", "sheet", "na", "as_spelled")
"""How a certificate's table was read."""

TARGET = option(DATA, "Column with the labels; default: the certificate's.", metavar="COL")


@featured(
    "milpscore card card.json --out card.svg",
    "out",
    "title",
    "outcome",
    "labels",
    "power",
)
def card_command(
    *,
    card: Path = argument("CARD.json", "Card saved by 'milpscore fit --out'."),
    words: WordOptions,
    out: Path | None = output_file(
        "Write it here; the name says as what: .txt .md .tex .html .sql .json .xlsx .png .svg .pdf."
    ),
    format: Literal["card", "calculator", "xlsx"] = option(
        OUTPUT,
        "The card, or what asks for the values and adds up: a page, or a spreadsheet.",
        default="card",
    ),
    dark: bool = option(OUTPUT, "A picture for a dark page.", default=False),
    power: bool = option(
        OUTPUT,
        "Show who decides: the smallest ways to a positive answer, and Shapley's and Banzhaf's "
        "value of each feature.",
        default=False,
    ),
) -> None:
    """Show a saved card, or write it as a picture, a page, text or SQL.

    With --title, --outcome and --labels it speaks in the words of its
    readers; points and answers stay as they are. Written as .json it keeps
    these words.
    """
    require_file(card)
    from milpscore.scorecard import Scorecard, VotingGame

    loaded = loaded_card(card)
    if power and not isinstance(loaded, Scorecard):
        raise OptionError(f"--power is of cards of two answers, not of {loaded.named}")
    worded = (
        words.on(loaded)
        if isinstance(loaded, Scorecard)
        else replace(loaded, card=words.on(loaded.card))
    )
    if format != "card":
        what, name = {
            "calculator": ("calculator", "PAGE.html"), "xlsx": ("spreadsheet", "CARD.xlsx")
        }[format]  # fmt: skip
        if out is None:
            raise OptionError(f"--format {format} takes --out {name}")
        getattr(worded, what)(out)
        say(f"The {what} was written to {out}.")
        return
    if out is None:
        print_text(worded.to_text())
    else:
        if isinstance(worded, Scorecard):
            worded.write(out, "dark" if dark else "light")
        else:
            worded.write(out)
        say(f"The card was written to {out}.")
    if power and isinstance(worded, Scorecard):
        game = VotingGame.of_card(worded)
        print_text(f"\n{game.sentence}\n")
        printed().print(plain_table(game.power.reset_index()))


@featured(
    "milpscore predict card.json new.csv --id patient --out answers.csv",
    "id",
    "keep",
    "probabilities",
    "unseen",
    "out",
)
def predict_command(
    *,
    card: Path = argument("CARD.json", "Card saved by 'milpscore fit --out'."),
    data: Path = DATA_FILE,
    written: FileOptions,
    out: Path | None = output_file(
        "Write the answers here instead of to standard output: CSV, or Parquet by its name."
    ),
    id: str | None = option(OUTPUT, "Column that names the rows, kept first.", metavar="COL"),
    keep: str | None = option(
        OUTPUT, "Columns of the table to keep beside the answers.", metavar="A,B,C"
    ),
    scores: bool = option(OUTPUT, "Add the column 'total'.", default=False),
    probabilities: bool = option(
        OUTPUT, "Add the probability of each label, of a risk score.", default=False
    ),
    groups: bool = option(
        OUTPUT, "Add 'risk group', the totals that share a column of the risk table.", default=False
    ),
    unseen: Literal["error", "zero"] = option(
        DATA,
        "A category or missing value the card does not foresee: an error, or no points.",
        default="error",
    ),
) -> None:
    """Apply a saved card to a table; the answers are one line a row.

    Columns are found by name; those the card has no points for may be
    absent. A risk score adds the column 'risk', the probability of the
    positive label. Parquet, and CSV of more than 250 MB, is read some rows
    at a time, and the file of answers is there when all are answered, or
    not at all.
    """
    kept = [*dict.fromkeys([*filter(None, [id]), *names_of(keep)])]
    require_file(card)
    require_columns(data, *kept, encoding=written.csv_encoding or "utf-8")
    if out is not None and out.suffix:
        require_ending(out.name, (".csv", ".txt", ".parquet", ".pq"))
    import pandas as pd

    from milpscore.data import read_frame
    from milpscore.data.cells import disguised, unitless
    from milpscore.data.checking import marks_in
    from milpscore.data.sources import at_size, is_file
    from milpscore.scorecard import Scorecard, SurvivalCard
    from milpscore.scorecard.streaming import answers_of, predict_file, refuse_taken

    asked: dict[str, Any] = {
        "unseen": unseen, "scores": scores, "probabilities": probabilities, "groups": groups,
    }  # fmt: skip
    loaded = loaded_card(card)
    if not isinstance(loaded, Scorecard):
        if probabilities or groups:
            raise OptionError(
                f"--probabilities and --groups are of cards of two answers, not of {loaded.named}"
            )
        frame = read_frame(data, **written.reading, as_text=disguised(loaded.card.columns))
        _say_read(frame, loaded.card)
        if isinstance(loaded, SurvivalCard):
            answers = survival_answers(loaded, frame, unseen, scores)
        else:
            answers = pd.DataFrame({"prediction": loaded.predict(frame, unseen=unseen)})
            if scores:
                answers["total"] = loaded.score(frame, unseen=unseen)
        _write_answers(frame[kept].join(answers), out)
        return
    used, seen = loaded.used_columns, dict[str, Message]()

    def look(rows: DataFrame) -> None:
        bare = {text: Message(text) for text in unitless(used, rows)}
        seen.update(bare | marks_in(used, rows) | seen)

    if is_file(data) or at_size(data, rows=True):
        try:
            with noting_interrupts(), counting(data.stem, "rows", out is None) as tell:
                predict_file(
                    loaded, data, out, keep=kept, **asked, **written.reading,
                    memory_limit=written.reading_memory,
                    tell=tell and (lambda done, total: tell(done, 0, total)),
                    look=look,
                )  # fmt: skip
        except KeyboardInterrupt:
            say("Interrupted: no file was written.")
            raise typer.Exit(INTERRUPTED) from None
        _say_marks(seen)
        return
    frame = read_frame(data, **written.reading, as_text=disguised(loaded.columns))
    _say_read(frame, loaded)
    answers = answers_of(loaded, **asked)(frame)
    refuse_taken(kept, answers)
    if scores and (answers["total"] % 1 == 0).all():
        answers["total"] = answers["total"].astype("int64")
    _write_answers(frame[kept].join(answers), out)


def _say_read(frame: DataFrame, card: Scorecard) -> None:
    """Say what is odd about a table that was read, as far as the card is concerned."""
    from milpscore.data.cells import said_of, unitless
    from milpscore.data.checking import marks_in
    from milpscore.data.designs import used_again

    again = used_again(frame, [each.name for each in card.used_features])
    for text in (*said_of(frame), *again, *unitless(card.used_columns, frame)):
        say(f"Warning: {text}")
    _say_marks(marks_in(card.used_columns, frame))


def _say_marks(remarks: Mapping[str, Message]) -> None:
    """Say which values of new rows may stand for missing ones."""
    for remark in remarks.values():
        say(f"Warning: {remark.for_command(speller(('na',)))}")


def _write_answers(table: DataFrame, out: Path | None) -> None:
    """Write a table to a file, as its name says, or to standard output."""
    if out is not None and out.suffix.lower() in (".parquet", ".pq"):
        with replacing(out) as part:
            table.to_parquet(part, index=False)
        return
    with nullcontext(data_output()) if out is None else replacing(out) as target:
        table.to_csv(target, index=False, lineterminator="\n")


@featured(
    "milpscore verify proof.json patients.csv",
    "target",
    "time_limit",
    "decimal",
    "csv_encoding",
    "json",
)
def verify_command(
    *,
    certificate: Path = argument(
        "CERTIFICATE.json", "Certificate saved by 'milpscore fit --certificate'."
    ),
    data: Path = DATA_FILE,
    target: str | None = TARGET,
    written: FileOptions,
    time_limit: float = option(
        SOLVE,
        "Seconds for solving anything again.",
        metavar="SECONDS",
        min=0,
        default=PROOF_SECONDS,
    ),
    json: bool = JSON,
) -> None:
    """Re-prove a certificate: card, objective and bound, part by part.

    The bound is proved from the recorded evidence and the data, without the
    solver that found the card; where no evidence is recorded, by solving
    again with another engine or seed. The two files may come in either
    order. Exit code 0: everything claimed was
    proved; 1: some part was refuted, or could not be proved.
    """
    if data.suffix.lower() == ".json" and certificate.suffix.lower() != ".json":
        certificate, data = data, certificate
    require_file(certificate)
    require_columns(data, target, encoding=written.csv_encoding or "utf-8")
    from milpscore.certificate import Certificate, verify_certificate

    made = Certificate.from_json(certificate)
    known = {**made.data, **written.reading}
    again = timed_again if known.get("time") else table_again
    X, y, weights = again(
        known, data, target, made, missing=made.data.get("missing", "error"),
        memory_limit=written.reading_memory,
    )  # fmt: skip
    with counting("checking", "leaves", not sys.stderr.isatty()) as tell:
        found = verify_certificate(
            made, X, y, time_limit=time_limit, **weights,
            progress=tell and (lambda done, total: tell(done, 0, total)),
        )  # fmt: skip
    if json:
        print_json({"proved": found.proved, "parts": [vars(part) for part in found.parts]})
    else:
        print_text(found.to_text())
    if not found.proved:
        raise typer.Exit(NOT_PROVED)


@featured(
    "milpscore update card.json new.csv --target ill --changes 2 --out newer.json",
    "target",
    "changes",
    "point_changes",
    "out",
    "json",
)
def update_command(
    *,
    card: Path = argument("CARD.json", "Card saved by 'milpscore fit --out'."),
    data: Path = DATA_FILE,
    target: str | None = TARGET,
    written: FileOptions,
    changes: int = option(
        CARD, "The most lines of the card that may change.", metavar="N", min=0, default=2
    ),
    point_changes: int | None = option(
        CARD, "The most points by which lines may change together.", metavar="N", min=0
    ),
    time_limit: float = seconds("Seconds for all numbers of changes together."),
    out: Path | None = output_file(
        "Save the card with all changes here; in place of CARD.json if that is named.", over="card"
    ),
    certificate: Path | None = output_file("Save evidence for the bound of all changes here."),
    json: bool = JSON,
) -> None:
    """Change a card in use as little as is worth it: N of its lines at most.

    Intercept and slope are fitted to the new rows first; then the best card
    with one line changed, with two, up to N, each beside a bound: no other
    change of that number of lines loses less. Only lines that the card's
    file knows may change, those without points among them.
    """
    require_file(card)
    require_columns(data, target, encoding=written.csv_encoding or "utf-8")
    from milpscore.scorecard import Scorecard
    from milpscore.updating import update

    loaded = loaded_card(card)
    if not isinstance(loaded, Scorecard):
        raise OptionError("only cards of two answers can be updated")
    known = {**loaded.certificate, "classes": loaded.classes, **written.reading}
    negative, positive = loaded.classes
    if negative == f"not {positive}":  # one of three and more classes against the rest
        known["positive"] = positive
    else:  # the update itself holds the labels against the card's
        known["levels"] = loaded.classes
    if any(column.kind == "missing" for column in loaded.columns):
        known["missing"] = "bin"
    X, y, weights = table_again(
        known, data, target, loaded, missing=known.get("missing", "error"),
        memory_limit=written.reading_memory,
    )  # fmt: skip
    if y is None:
        raise DataError("cards are updated on tables that fit into memory: take a part")
    try:
        with noting_interrupts() as interrupted:
            made = update(
                loaded, X, y, changes=changes, point_changes=point_changes, time_limit=time_limit,
                progress=False if json else None, sample_weight=weights.get("sample_weight"),
            )  # fmt: skip
    except KeyboardInterrupt:
        say("Interrupted before there was a card: no file was written.")
        raise typer.Exit(INTERRUPTED) from None
    if json:
        table = made.table.reset_index().astype(object)
        cards = table.where(table.notna(), None).to_dict("records")
        print_json({"cards": cards, "message": made.remark})
    else:
        print_text(made.to_text())
    if out is not None:
        made.rungs[-1].card.write(out)
        say(f"The card was written to {out}.")
    if certificate is not None:
        named = (*_READ, "missing", "weights_column")
        read = {name: known[name] for name in named if known.get(name) and name != "na"}
        read["target"] = target or known.get("target")
        last = made.rungs[-1]
        quiet = False if json else None
        if save_certificate(certificate, last.program, last.result, read, quiet) and out:
            recorded = {**last.card.certificate, "evidence": certificate.name}
            replace(last.card, certificate=recorded).write(out)
    if interrupted.is_set():
        raise typer.Exit(INTERRUPTED)


def loaded_card(path: Path) -> Scorecard | OrdinalCard | SurvivalCard:
    """The card of a file: of two answers, of ordered classes, or of times to an event."""
    from milpscore.core.reading import Head, parsed, text_of
    from milpscore.scorecard import OrdinalCard, Scorecard, SurvivalCard

    try:
        kind = parsed(text_of(path), Head).kind
    except DataError:
        kind = None  # the card's own reader says what is wrong
    worded = {each.file_kind: each for each in (OrdinalCard, SurvivalCard)}
    return worded.get(kind if isinstance(kind, str) else "", Scorecard).load(path)


def timed_again(
    known: Mapping[str, Any], data: Path, target: str | None, given: Any, **reading: Any
) -> tuple[Any, Any, dict[str, Any]]:
    """Features, times and weights, read as for the certificate."""
    times = [known[name] for name in ("time", "entry") if known.get(name)]
    listed = {**known, "drop": [*known.get("drop", ()), *times]}
    X, _, weights = table_again(listed, data, target, given, **reading)
    if hasattr(X, "merged"):
        raise DataError("times are read of tables that fit into memory: take a part")
    weights.pop("class_weight")
    return X, timed_target(data, known, target), weights


def table_again(
    known: Mapping[str, Any],
    data: Path,
    target: str | None,
    given: Scorecard | Certificate,
    *,
    missing: Any,
    weights_column: str | None = None,
    class_weight: str | None = None,
    memory_limit: str | None = None,
    by: str | None = None,
) -> tuple[Any, Any, dict[str, Any]]:
    """Features, labels and weights, read as for the certificate where no option says otherwise.

    The column ``by`` stands among the features, whatever it is. For a table too large for memory,
    the design of its distinct rows in the columns given.
    """
    from milpscore.data import read_frame, read_patterns, read_table
    from milpscore.data.cells import disguised
    from milpscore.data.checking import MAX_CELLS
    from milpscore.data.sources import at_size

    column = target or known.get("target")
    if not isinstance(column, str):
        raise DataError(
            "neither card nor certificate names the column of the labels: add --target COL"
        )
    weights = weights_column or known.get("weights_column")
    read = {name: known[name] for name in _READ if name in known}
    factors = class_weight or known.get("class_weight")
    if not at_size(data):
        read["ordered"] = known.get("levels") is not None
        texts = disguised(given.columns)
        X, y, *rest = read_table(
            data, column, missing=missing, weights=weights, as_text=texts, **read
        )
        if by is not None and by not in X.columns:
            of_file = {k: v for k, v in read.items() if k not in ("positive", "drop", "features")}
            of_file.pop("ordered")
            X = X.assign(**{by: read_frame(data, **of_file)[by]})
        if len(X) * len(given.columns) <= MAX_CELLS:
            return X, y, {"class_weight": factors, "sample_weight": rest[0] if rest else None}
    blocks = known.get("blocks", getattr(given, "blocks", ()))
    read = {k: value for k, value in read.items() if k not in ("drop", "features", "ordered")}
    design = read_patterns(
        data, column, weights=weights, class_weight=factors, columns=given.columns,
        blocks=blocks, memory_limit=memory_limit, **{"positive": known["classes"][1], **read},
    )  # fmt: skip
    return design, None, {}
