"""``milpscore report``: the page about a saved card."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from milpscore.cli.common import (
    INTERRUPTED,
    names_of,
    noting_interrupts,
    require_columns,
    require_file,
    say,
)
from milpscore.cli.groups import (
    CARD,
    CLASS_WEIGHT,
    DATA,
    DATA_FILE,
    OUTPUT,
    SEED,
    SOLVE,
    WEIGHTS_COLUMN,
    ClassWeight,
    FileOptions,
    QuietOption,
    argument,
    featured,
    file,
    option,
    output_file,
    seconds,
)
from milpscore.cli.saved import TARGET, loaded_card, table_again
from milpscore.cli.survival import timed_target
from milpscore.core.errors import DataError, NotApplicableError, OptionError
from milpscore.pools import BOOTSTRAPS

if TYPE_CHECKING:
    from milpscore.certificate import Certificate
    from milpscore.scorecard import Scorecard


@featured(
    "milpscore report card.json patients.csv --target ill --out report.html",
    "target",
    "certificate",
    "validation",
    "by",
    "out",
)
def report_command(
    *,
    card: Path = argument(
        "CARD.json",
        "Card saved by 'milpscore fit --out', or certificate saved by 'milpscore fit "
        "--certificate'.",
    ),
    data: Path = DATA_FILE,
    output: QuietOption,
    target: str | None = TARGET,
    written: FileOptions,
    certificate: Path | None = file(
        "Certificate of the card: it says which cards the bound covers.", DATA
    ),
    time: str | None = option(
        DATA,
        "For a survival card: column with the times; --target names the event's.",
        metavar="COL",
    ),
    entry: str | None = option(
        DATA, "With --time: column with the time a row came under observation.", metavar="COL"
    ),
    positive: str | None = option(
        DATA, "With --time: the event's value, where it names one of several.", metavar="VALUE"
    ),
    weights_column: str | None = WEIGHTS_COLUMN,
    class_weight: ClassWeight | None = CLASS_WEIGHT,
    validation: Path | None = file(
        "Other rows, whose figures stand beside those of DATA; the same kinds of file.", DATA
    ),
    by: str | None = option(
        DATA, "Show the subgroups of this column apart; it need be no feature.", metavar="COL"
    ),
    risk_groups: str | None = option(
        CARD,
        "The risks at which groups begin, such as 5%,20%; default: half and twice the odds of the "
        "share of positives.",
        metavar="A,B,C",
    ),
    compare: bool = option(
        SOLVE,
        "Solve the certificate's program again beside its LP and rounded cards, and show all.",
        default=False,
    ),
    verify: bool = option(
        SOLVE,
        "Prove the certificate again, as 'milpscore verify' does, and show what came of it.",
        default=False,
    ),
    pool: float | None = option(
        SOLVE,
        "Find every card worse than the best by this share of its objective at most, and set them "
        "beside the bootstrap.",
        metavar="SHARE",
    ),
    bootstraps: int = option(
        SOLVE,
        "Make the card again by fast mode on this number of samples of the rows, for optimism and "
        "stability; it needs the certificate. Ctrl-C keeps what there is.",
        metavar="N",
        min=0,
        default=BOOTSTRAPS,
    ),
    time_limit: float = seconds("Seconds for --compare, for --verify and for --pool."),
    seed: int = SEED,
    title: str | None = option(OUTPUT, "What stands above the card.", metavar="TEXT"),
    outcome: str | None = option(
        OUTPUT, "What a positive answer says, such as 'heart disease'.", metavar="TEXT"
    ),
    population: str | None = option(OUTPUT, "Of whom the rows are.", metavar="TEXT"),
    author: str | None = option(OUTPUT, "Who answers for the page.", metavar="TEXT"),
    date: str | None = option(OUTPUT, "The page's date; today unless given.", metavar="TEXT"),
    out: Path = output_file("The page to write.", default=Path("report.html")),
) -> None:
    """Write one self-contained HTML page: the card, its proof, its figures.

    The card stands first and prints on a page of its own. What is proved is
    put in words derived from the bound, and claimed only for the data with
    the card's fingerprint. Weights are read as for the certificate unless
    options say otherwise.
    """
    require_file(card)
    for table in filter(None, [data, validation]):
        require_columns(table, target, by, time, entry, encoding=written.csv_encoding or "utf-8")
    if time is not None:
        _refuse_untimed(
            certificate=certificate, weights_column=weights_column, class_weight=class_weight,
            validation=validation, risk_groups=risk_groups, compare=compare, verify=verify,
            pool=pool, title=title, outcome=outcome, population=population, author=author,
            date=date,
        )  # fmt: skip
        known = {"target": target, "time": time, "entry": entry, "positive": positive}
        _timed_report(card, data, known, written, by, out)
        return
    if entry or positive:
        raise OptionError("--entry and --positive belong to --time")
    from milpscore.certificate import verify_certificate
    from milpscore.comparison import compare as compare_programs
    from milpscore.pools import pool as find_pool
    from milpscore_show.report import report
    from milpscore_show.report.subject import program_again

    given, proof = _subject(card, certificate)
    edges = None if risk_groups is None else [_risk(text) for text in names_of(risk_groups)]
    if proof is None:
        _refuse_without_program(compare=compare, verify=verify, pool=pool is not None)
    foreseen = any(each.kind == "missing" for each in given.columns)
    known = _known(given, proof)
    read: dict[str, Any] = {
        "missing": "bin" if foreseen else "error", "weights_column": weights_column,
        "class_weight": class_weight, "memory_limit": written.reading_memory, "by": by,
    }  # fmt: skip
    known |= written.reading
    X, y, weights = table_again(known, data, target, given, **read)
    other = None
    if validation is not None:
        *rows, weighing = table_again(known, validation, target, given, **read)
        other = (*rows, weighing.get("sample_weight"))
    comparison = verification = found = None
    with noting_interrupts() as interrupted:
        if proof is not None and (compare or pool is not None):
            program = program_again(proof, X, y, **weights)
            if compare:
                comparison = compare_programs(
                    program.statement.design.unpaired, formulations=[program.formulation],
                    arguments={program.formulation: dict(program.arguments)}, cv=None,
                    time_limit=time_limit, random_state=seed, progress=output.progress,
                )  # fmt: skip
            if pool is not None:
                found = find_pool(
                    program, epsilon=pool, time_limit=time_limit, progress=output.progress
                )
        if proof is not None and verify:
            verification = verify_certificate(proof, X, y, time_limit=time_limit, **weights)
        report(
            given, X, y, path=out, validation=other, by=by, risk_groups=edges, certificate=proof,
            comparison=comparison, pool=found, verification=verification, title=title,
            outcome=outcome, population=population, author=author, date=date,
            bootstraps=bootstraps, random_state=seed, progress=output.progress, **weights,
        )  # fmt: skip
    say(f"The report was saved in {out}.")
    if interrupted.is_set():
        raise typer.Exit(INTERRUPTED)


def _known(given: Scorecard | Certificate, proof: Certificate | None) -> dict[str, Any]:
    """What card and certificate know of the table."""
    from milpscore.scorecard import Scorecard

    known: dict[str, Any] = {"classes": given.classes} if isinstance(given, Scorecard) else {}
    known |= {} if proof is None else proof.data
    negative, positive = known["classes"]
    if negative == f"not {positive}":  # one of three and more classes against the rest
        known["positive"] = positive
    return known


def _refuse_untimed(**given: Any) -> None:
    """Refuse what the page about times to an event would leave out without a word."""
    for name, value in given.items():
        if value not in (None, False):
            raise OptionError(
                f"the page about times to an event takes no {{{name}}}", **{name: ...}
            )


def _timed_report(
    path: Path,
    data: Path,
    known: dict[str, str | None],
    written: FileOptions,
    by: str | None,
    out: Path,
) -> None:
    """Write the page about a card of times to an event."""
    from milpscore.data import read_frame
    from milpscore.data.cells import disguised
    from milpscore.scorecard import SurvivalCard
    from milpscore_show.report import survival_report

    card = loaded_card(path)
    if not isinstance(card, SurvivalCard) or known["target"] is None:
        raise OptionError("--time is of a survival card, and takes --target COL, the event's")
    frame = read_frame(data, **written.reading, as_text=disguised(card.card.columns))
    y = timed_target(data, {**written.reading, **known}, None)
    survival_report(card, frame, y, by=by, path=out)
    say(f"The report was saved in {out}.")


def _refuse_without_program(**wishes: bool) -> None:
    """Refuse what only a certificate's program can answer."""
    for name, asked in wishes.items():
        if asked:
            raise OptionError(
                f"--{name} needs the program: give the certificate with --certificate FILE"
            )


def _risk(text: str) -> float:
    """A risk as people type it, in per cent or as a share."""
    try:
        return float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        raise OptionError(f"--risk-groups takes risks such as 5%,20%, not {text!r}") from None


def _subject(
    path: Path, certificate: Path | None
) -> tuple[Scorecard | Certificate, Certificate | None]:
    """What the first file holds, and the certificate, wherever it was given."""
    from milpscore.certificate import Certificate
    from milpscore.core.reading import Head, parsed, text_of
    from milpscore.scorecard import OrdinalCard, SurvivalCard

    try:
        kind = parsed(text_of(path), Head).kind
    except DataError:
        kind = None  # the card's own reader says what is wrong
    proof: Certificate | None = None
    if kind != Certificate.kind:
        proof = None if certificate is None else Certificate.from_json(certificate)
        given: Scorecard | OrdinalCard | SurvivalCard | Certificate = loaded_card(path)
    elif certificate is not None:
        raise OptionError("the first file is a certificate already: leave out --certificate")
    else:
        proof = given = Certificate.from_json(path)
    if isinstance(given, OrdinalCard) or (proof is not None and "levels" in proof.data):
        raise NotApplicableError(
            "a report is of a card of two classes; of ordered ones 'milpscore card CARD --out "
            "card.html' shows the card with the classes observed in each group"
        )
    if proof is not None and "pairs" in proof.data:
        raise NotApplicableError(
            "the certificate is of pairs of rows, and a report of rows: give the card's file "
            "alone, and prove the certificate by 'milpscore verify'"
        )
    if isinstance(given, SurvivalCard) or (proof is not None and "survival" in proof.cards):
        raise NotApplicableError(
            "the report of a survival card needs its times: --time COL --target COL, the event's; "
            "'milpscore card CARD --out card.html' shows the card with its risks beside those seen"
        )
    return given, proof
