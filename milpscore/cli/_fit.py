"""``milpscore fit``, ``export`` and ``list``: from a table to a certified card, or to a file."""

from __future__ import annotations

import inspect
import math
import time
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import typer

from milpscore.cli.common import (
    INTERRUPTED,
    NO_CARD,
    noting_interrupts,
    print_json,
    print_text,
    save_certificate,
    say,
    speller,
    spelt,
    tell_warnings,
)
from milpscore.cli.groups import (
    CARD,
    OUTPUT,
    SOLVE,
    CardOptions,
    ClassOptions,
    DataOptions,
    LimitOptions,
    OutputOptions,
    QuietOption,
    SolveOptions,
    argument,
    featured,
    numbers_of,
    option,
    output_file,
    settable,
)
from milpscore.cli.sites import filled_in
from milpscore.cli.survival import survival_options, survival_report
from milpscore.cli.words import WordOptions
from milpscore.core.clock import Clock
from milpscore.core.errors import (
    MilpscoreError,
    OptionError,
    TooManyPatternsError,
    require_ending,
)
from milpscore.formulations import FORMULATIONS, SURVIVAL_FORMULATIONS, card_builder

if TYPE_CHECKING:
    from milpscore.core.design import Design
    from milpscore.core.program import Program
    from milpscore.core.result import Result
    from milpscore.sampling import SampleBound
    from milpscore.scorecard import OrdinalCard, Scorecard, SurvivalCard
    from milpscore.worth import Worth

    AnyCard: TypeAlias = Scorecard | OrdinalCard | SurvivalCard

_PACKAGES = {
    "highspy": "HiGHS, solves LP and MILP",
    "clarabel": "conic solver",
    "ecos": "conic solver, the extra 'ecos'",
    "pyomo": "modelling language of LP and MILP",
    "cvxpy": "modelling language of conic programs",
}


@featured(
    "milpscore fit patients.csv --target ill --max-terms 5 --out card.json",
    "target",
    "formulation",
    "max_terms",
    "time_limit",
    "out",
)
def fit_command(
    *,
    data: ClassOptions,
    card: CardOptions,
    limits: LimitOptions,
    solving: SolveOptions,
    output: OutputOptions,
    words: WordOptions,
    heuristic: bool = option(
        SOLVE,
        "Fast mode: no solver runs, nothing is proved; the card is found within milliseconds, and "
        "re-checked. Not for rounded formulations.",
        default=False,
    ),
    polish: bool = option(
        SOLVE,
        "With --heuristic: improve the card by the searches a solve starts from, for seconds.",
        default=False,
    ),
    threshold_by: str | None = option(
        CARD,
        "From which total the answer is positive: youden, prevalence, cost=10:1 (of a positive "
        "missed to one found in error), net-benefit=10% (the risk from which one would act) or "
        "net-benefit (from the share of positives); by default prevalence for a risk-score, "
        "otherwise the fit's own.",
        metavar="RULE",
    ),
    at: str | None = option(
        CARD, "With --time: the times at which risks are stated, say 1,3,5.", metavar="A,B,C"
    ),
    sample: int | None = option(
        SOLVE,
        "For tables with too many distinct rows: find features on N rows drawn by chance, "
        "fit the card to all rows, and tell a bound that holds with --confidence.",
        metavar="ROWS",
        min=1,
    ),
    confidence: float = option(
        SOLVE,
        "Of the bound from --sample, between 0 and 1.",
        metavar="SHARE",
        min=0,
        max=1,
        default=0.95,
    ),
    check: bool = option(
        OUTPUT,
        "End with what the card is worth on new rows, beside a logistic regression.",
        "--check/--no-check",
        default=True,
    ),
    out: Path | None = output_file("Save the card as JSON, for 'milpscore predict'."),
    certificate: Path | None = output_file(
        "Save card, statement, bound and the evidence for it, for 'milpscore verify'."
    ),
) -> None:
    """Learn a card from a table, and certify it.

    Numeric columns are cut at rounded numbers, text becomes one column a
    value; what is of no use to a card is left out, and named. Ctrl-C stops
    the solve and keeps the best card and bound so far.
    """
    from milpscore.scorecard import Scorecard
    from milpscore.scorecard.decisions import DecisionBy

    card = survival_options(card, data, at, threshold_by=threshold_by, sample=sample)
    arguments = card.arguments(limits)
    if threshold_by is not None:
        DecisionBy.of(threshold_by)
    how: dict[str, Any] = {"heuristic": heuristic, "polish": polish}
    if sample is not None:
        how |= {"rows": sample, "confidence": confidence}
    find, filling = _exact if sample is None else _sampled, filled_in(data, certificate)
    with noting_interrupts() as interrupted:
        names, table, program, result, sample_bound, seconds = find(
            _Ask(data, card.name, arguments, solving, output, words, how)
        )
    result = replace(result, caveat=result.caveat or filling)
    design = program.statement.design.unpaired
    tell_warnings(design, output.quiet)
    title = f"{data.target}, scored by {spelt(card.name)}"
    made = None if result.card is None else _shown(program, result, title, threshold_by, at)
    if made is not None:
        made = _in_words(made, words, names, output.quiet)
    made = _per_patient(made, design, patients := _patients(data, table, output.quiet))
    more: dict[str, Any] = {} if sample is None else {"sample": sample_bound}
    if check:
        more |= _on_new_rows(program, result, table, data, solving.seed, output.quiet, patients)
        made = _with_sites(made, more.get("sites"))
    # Printed before it is saved: a full disk must not cost the answer.
    _print_answer(output.json, design, result, made, seconds, more)
    _note_one_answer(made, design, output.quiet)
    if made is None:
        say(f"No card: {result.message or result.termination.sentence}")
    elif out is not None:
        made.save(out)
        say(f"The card was saved in {out}.", output.quiet)
    if certificate is not None and made is not None:
        kept = save_certificate(certificate, program, result, data.source, output.progress)
        if kept and out is not None and isinstance(made, Scorecard):
            recorded = {**made.certificate, "evidence": certificate.name}
            replace(made, certificate=recorded).save(out)
    if interrupted.is_set() or str(result.termination) == "interrupted":
        raise typer.Exit(INTERRUPTED)
    if made is None:
        raise typer.Exit(NO_CARD)


def _print_answer(
    as_json: bool,
    design: Design,
    result: Result,
    made: AnyCard | None,
    seconds: float,
    more: dict[str, Any],
) -> None:
    """Print the card and what stands below it, or the object of ``--json``."""
    if as_json:
        said = {name: _plain(value) for name, value in more.items()}
        print_json(_as_report(design, result, made, seconds) | said)
    elif made is not None:
        lists = [value if isinstance(value, list) else [value] for value in more.values() if value]
        below = [str(value) for values in lists for value in values]
        print_text("\n".join([_as_text(made, result, seconds), *below]))


def _on_new_rows(
    program: Program, result: Result, table: Any, data: DataOptions, seed: int, quiet: bool,
    patients: Any,
) -> dict[str, Any]:  # fmt: skip
    """What the card is worth on new rows, or at each site by cards of the others."""
    name = "worth" if data.sites is None else "sites"
    if result.card is None:
        return {name: None}
    if data.sites is None:
        return {name: _worth(program, result, table, seed, quiet, patients)}
    from milpscore.cli.sites import worth_by_site

    return {name: worth_by_site(program, result, data)}


def _with_sites(made: Any, sites: Any) -> Any:
    """Return a card that keeps, for its report, what it is worth at each site."""
    if made is None or not sites:
        return made
    kept = [
        {
            k: None if isinstance(v, float) and math.isnan(v) else v
            for k, v in each._asdict().items()
        }
        for each in sites
    ]
    return replace(made, certificate={**made.certificate, "sites": kept})


def _plain(value: Any) -> Any:
    """Return what stands below a card as JSON holds it."""
    if isinstance(value, list):
        return [each._asdict() for each in value]
    return value and vars(value)


def _patients(data: DataOptions, table: Any, quiet: bool) -> Any:
    """Return the names of rows, shape (n,), where some stand for several; else None."""
    if data.id is None or table is None or table[1] is None:
        return None
    import numpy as np

    from milpscore.data import read_frame

    named = read_frame(data.data, **data.reading)[data.id].astype(object)
    if not named.dropna().duplicated().any():
        return None
    if (bare := named.isna()).any():
        say(
            f"Note: {int(bare.sum())} rows without a name in {data.id} stand for themselves.", quiet
        )
        named[bare] = [(row,) for row in np.flatnonzero(bare)]
    return named.to_numpy()


def _per_patient(made: Any, design: Design, patients: Any) -> Any:
    """Return a card, its events counted once per patient where rows have one."""
    from milpscore.scorecard import Scorecard

    if patients is None or not isinstance(made, Scorecard) or len(patients) != len(design.y):
        return made
    counted = design.weight > 0
    rarer = min(len({*patients[counted & (design.y == side)].tolist()}) for side in (-1, 1))
    return replace(made, certificate={**made.certificate, "rarer_rows": rarer})


def _worth(
    program: Program, result: Result, table: Any, seed: int, quiet: bool, patients: Any
) -> Worth | None:
    """What the card is worth on new rows; None, with a note, if that cannot be said."""
    from milpscore.core.result import Termination
    from milpscore.worth import card_worth

    design = program.statement.design.unpaired
    stopped = result.termination is Termination.INTERRUPTED
    if stopped or program.kind == "relaxed" or len(getattr(design, "levels", ())) > 2:
        return None
    X, y, cutting, _ = table or (None, None, None, None)
    whole = y is not None and design.counts is None and len(y) == len(design.y)
    try:
        kept = X if whole else None
        return card_worth(program, result, kept, cutting, seed, patients if whole else None)
    except MilpscoreError as error:
        say(f"Note: no figure for new rows ({error}).", quiet)
    except KeyboardInterrupt:
        say("Note: no figure for new rows, as the refits were interrupted.", quiet)
    return None


def _note_one_answer(card: Any, design: Design, quiet: bool) -> None:
    """Say so if a card answers all rows alike."""
    from milpscore.scorecard import Scorecard
    from milpscore.scorecard.decisions import one_answer

    if isinstance(card, Scorecard) and (odd := one_answer(card.points, card.bare_rule, design)):
        say(f"Note: {odd.for_command(speller(('threshold_by', 'class_weight')))}.", quiet)


@dataclass(frozen=True)
class _Ask:
    """What a fit was asked for; ``how`` its card is found beside the solver's options."""

    data: DataOptions
    formulation: str
    arguments: dict[str, Any]
    solving: SolveOptions
    output: OutputOptions
    words: WordOptions
    how: dict[str, Any]

    @property
    def fitting(self) -> dict[str, Any]:
        """The options of every way to a card."""
        return {
            "time_limit": self.solving.time_limit,
            "random_state": self.solving.seed,
            "options": self.solving.options,
            "progress": self.output.progress,
            **self.how,
        }


def _exact(ask: _Ask) -> tuple[list[str], Any, Program, Result, None, float]:
    """The features of the table, the table, the program, its answer, no bound, the seconds."""
    times = {key: value for key, value in ask.arguments.items() if key == "times"}
    try:
        table = ask.data.table(ask.formulation, **times)
        ask.words.check(names := ask.data.names(table))
        clock = Clock.of(ask.solving.time_limit)  # reading stands apart
        design = ask.data.design(ask.formulation, table, **times)
    except TooManyPatternsError:
        exact = ask.data.weights_column is not None or ask.data.time is not None
        if exact or "rounding" in ask.formulation:
            raise
        return _all_rows(ask)
    program, result = _solved(design, ask, clock)
    # by cuts, where jumps are penalised
    return names, table, program, result, None, clock.seconds


def _all_rows(ask: _Ask) -> tuple[list[str], Any, Program, Result, None, float]:
    """The same of a table with too many patterns for an exact search."""
    from milpscore.data.sources import names_of

    ask.words.check(names := names_of(ask.data.data))
    began = time.perf_counter()
    program, result = ask.data.all_rows(ask.formulation, **ask.fitting, **ask.arguments)
    return names, None, program, result, None, time.perf_counter() - began


def _sampled(ask: _Ask) -> tuple[list[str], None, Program, Result, SampleBound | None, float]:
    """The same by a sample, with the bound that it gives."""
    from milpscore.data.sources import names_of

    ask.words.check(names := names_of(ask.data.data))
    began = time.perf_counter()
    found = ask.data.sampled(
        ask.formulation, solver=ask.solving.solver, **ask.fitting, **ask.arguments
    )
    seconds = time.perf_counter() - began
    return names, None, found.program, found.result, found.bound, seconds


def _solved(design: Design, ask: _Ask, clock: Clock) -> tuple[Program, Result]:
    """Fit a card; after a Ctrl-C that comes before the solver runs, the verified empty card."""
    from milpscore.core.result import Termination
    from milpscore.fitting import fit_card

    common: dict[str, Any] = {**ask.arguments, "solver": ask.solving.solver, **ask.fitting}
    try:
        return fit_card(design, ask.formulation, **{**common, "time_limit": clock})
    except KeyboardInterrupt:
        none_of = ("progress", "warm_start", "heuristic", "polish")
        at_once = {**dict.fromkeys(none_of, False), "time_limit": 0}
        program, result = fit_card(design, ask.formulation, **{**common, **at_once})
        # its limit of 0 s is not the user's; why even the empty card was refused still counts
        said = result.message if result.card is None else "no solver ran"
        return program, replace(result, termination=Termination.INTERRUPTED, message=said)


def _as_report(
    design: Design, result: Result, made: AnyCard | None, seconds: float
) -> dict[str, Any]:
    """The object of ``--json``: everything known about a solve, by the names of tables."""
    from milpscore.scorecard import OrdinalCard, SurvivalCard

    card = made.card if isinstance(made, OrdinalCard | SurvivalCard) else made
    counted = int(design.rows[design.weight > 0].sum())
    errors = None if card is None else card.certificate.get("errors")
    shown = ("coefficients", "intercept", "base_points", "threshold", "terms", "bins")
    timed = ("build_seconds", "load_seconds", "solve_seconds")
    return {
        **result.summary(),
        **{name: getattr(card, name, None) for name in shown},
        **({"scale": card.risk.scale} if card is not None and card.risk is not None else {}),
        "train_accuracy": None if errors is None else 1 - errors / counted,
        "errors": errors,
        "decision": None if card is None else card.certificate.get("decision"),
        "n_rows": counted,
        "n_columns": design.shape[1],
        "classes": list(design.classes),
        "fingerprint": design.fingerprint,
        "seconds": seconds,
        **{name: getattr(result, name) for name in timed},
        **(_groups(made) if isinstance(made, OrdinalCard) else {}),
        **(survival_report(made) if isinstance(made, SurvivalCard) else {}),
    }


def _shown(
    program: Program, result: Result, title: str, threshold_by: str | None, at: str | None
) -> AnyCard:
    """The card as it is printed: of more than two classes with its groups."""
    from milpscore.data import SurvivalDesign
    from milpscore.scorecard import certified_card, ordinal_card, survival_card

    statement = program.statement
    if isinstance(statement.design, SurvivalDesign):
        times = None if at is None else numbers_of("--at", at)
        return survival_card(program, result, title, at=times)
    if len(getattr(statement.design, "levels", ())) <= 2:
        return certified_card(
            statement.design, result, title, statement=statement, threshold_by=threshold_by
        )
    if threshold_by is not None:
        raise OptionError("the thresholds of ordered classes are fitted: leave out --threshold-by")
    return ordinal_card(program, result, title)


def _in_words(made: AnyCard, words: WordOptions, names: list[str], quiet: bool) -> AnyCard:
    """The card in its readers' words."""
    from milpscore.scorecard import Scorecard

    if isinstance(made, Scorecard):
        return words.on(made, names, quiet)
    return replace(made, card=words.on(made.card, names, quiet))


def _groups(card: OrdinalCard) -> dict[str, Any]:
    """Return what ``--json`` prints of ordered classes; rows are those of the table."""
    return {
        "classes": list(card.levels),
        "thresholds": [float(T) for T in card.thresholds],
        "groups": [
            {"class": level, "total": total, "observed": list(rows)}
            for level, total, rows in zip(card.levels, card.ranges, card.observed, strict=True)
        ],
        "n_rows": card.card.certificate["n_rows"],
        "train_accuracy": 1 - card.card.certificate["errors"] / card.card.certificate["n_rows"],
    }


def _as_text(card: AnyCard, result: Result, seconds: float) -> str:
    """The card, its certificate, and how the solve went, for a person."""
    note = f"\nNote: {result.message}." if result.message else ""
    return (
        f"{card.to_text()}\n"
        f"{result.termination.sentence} {seconds:.1f} s in all, {result.solve_seconds:.1f} s of "
        f"them in the solver.\n"
        f"Solver: {result.solver} {result.solver_version}, seed {result.random_state}, nodes "
        f"{result.nodes}. Warm start: {result.warm_start}.{note}"
    )


@featured(
    "milpscore export patients.csv --target ill --formulation slim --out model.mps",
    "target",
    "formulation",
    "max_terms",
    "relaxed",
    "out",
)
def export_command(
    *,
    data: ClassOptions,
    model: Path | None = argument("[MODEL]", "File to write; ends in .mps or .lp.", None, over=""),
    out: Path | None = output_file("The same as an option."),
    card: CardOptions,
    limits: LimitOptions,
    output: QuietOption,
    relaxed: bool | None = option(
        CARD,
        "Without or with integrality; by default as the formulation is stated.",
        "--relaxed/--exact",
    ),
) -> None:
    """Write a program as an LP or MPS file; of a smooth loss the tangents are found first."""
    card = survival_options(card, data)
    arguments = card.arguments(limits)
    if (model is None) == (out is None):
        raise OptionError("name one file to write, ending in .mps or .lp: --out FILE")
    model = cast(Path, model or out)
    from milpscore.core.program import MODEL_FILES

    require_ending(model.name, MODEL_FILES)
    try:
        with noting_interrupts() as interrupted:
            design = data.design(card.name, times=arguments.get("times"))
            program = card_builder(card.name)(design, **arguments)
            if relaxed is not None:
                program = program.relaxed() if relaxed else program.exact()
            if program.takes_tangents:
                _put_tangents_in(program, output.quiet)
            path = program.write(model)
    except KeyboardInterrupt:
        say("Interrupted: no file was written.")
        raise typer.Exit(INTERRUPTED) from None
    tell_warnings(design, output.quiet)
    size = program.size
    print_text(
        f"{path}: {program.formulation}, {program.kind}, {size.rows} rows, {size.columns} columns "
        f"({size.integers} of them integer), {size.nonzeros} nonzeros"
    )
    if interrupted.is_set():
        raise typer.Exit(INTERRUPTED)


def _put_tangents_in(program: Program, quiet: bool) -> None:
    """Solve a smooth loss's program by its tangents, which stay in the model."""
    from milpscore.core.result import Termination
    from milpscore.solvers import solve

    result = solve(program, "outer_approximation", second_opinion=False, progress=False)
    ended = result.termination
    short = ended.cut or ended is Termination.INTERRUPTED
    say(
        f"The file holds {len(program.model.cuts)} tangents of the loss, which lie below it; found "
        f"by outer approximation in {result.solve_seconds:.2g} s"
        f"{f', cut short: its optimum may lie below that of the loss. {ended}' if short else ''}",
        quiet,
    )


@featured("milpscore list")
def list_command() -> None:
    """List everything that is called by name, and the versions of the solvers."""
    from textwrap import fill

    from milpscore.cli.path import loss_names, penalty_names
    from milpscore.constraints import CONSTRAINTS
    from milpscore.solvers import SOLVERS

    def folded(text: str) -> str:
        return fill(text, 79, initial_indent=" " * 6, subsequent_indent=" " * 8)

    print_text("Formulations (--formulation NAME; the arguments are the keys of --set)")
    for name in (*FORMULATIONS, *SURVIVAL_FORMULATIONS):
        description = (inspect.getdoc(card_builder(name)) or "").partition("\n")[0]
        print_text(f"\n  {spelt(name)}\n      {description}")
        print_text(folded(f"arguments: {', '.join(settable(name))}"))
    for heading, names in (
        ("Constraints (--constraints FILE, see docs/constraints.md)", CONSTRAINTS),
        ("Penalties (path --penalty NAME)", penalty_names()),
        ("Losses (path --loss NAME)", loss_names()),
        ("Solvers (--solver NAME)", SOLVERS),
    ):
        print_text(f"\n{heading}\n{folded(', '.join(names))}")
    print_text("")
    for package, role in _PACKAGES.items():
        try:
            installed = version(package)
        except PackageNotFoundError:
            installed = "not installed"
        print_text(f"  {package:9} {installed:14} {role}")
