"""``milpscore crf``: train, apply, measure and print a linear-chain CRF."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from milpscore.cli import groups as options
from milpscore.cli.common import INTERRUPTED, noting_interrupts, print_json, require_folder, say
from milpscore.core.errors import DataError, OptionError

if TYPE_CHECKING:
    from milpscore.sequence import SparseCRF

_TABS = {True: "\t", False: None}

crf_app = typer.Typer(
    help="Label sequences with a sparse linear-chain CRF.",
    no_args_is_help=True,
    add_completion=False,
)


DATA, SOLVE = options.DATA_PANEL, options.SOLVE_PANEL
DATA_TXT = options.argument(
    "DATA.txt",
    "One position per line, columns parted by blanks or tabs, blank lines between sequences, the "
    "label last; UTF-8.",
)
MODEL = options.argument("MODEL", "Model saved by 'milpscore crf train'.")
TAB = options.option(
    DATA, "One tab parts the columns; tokens may hold blanks.", "--tab", default=False
)
OUT = options.option(
    None, "Write here instead of to standard output.", metavar="FILE", default=None
)


@crf_app.command("train")
@options.grouped
def train_command(
    *,
    data: Path = DATA_TXT,
    model: Path = options.option(
        options.OUTPUT_PANEL,
        "Save the model here; a name that ends in .json gives JSON, any other npz.",
        metavar="FILE",
        show_default=False,
        default=...,
    ),
    patterns: Path | None = options.option(
        DATA,
        "Patterns as in CRF++ and Wapiti; default: unigram and bigram of every column.",
        metavar="FILE",
        default=None,
    ),
    dev: Path | None = options.option(
        DATA, "More labelled sequences, to watch.", metavar="FILE", default=None
    ),
    tab: bool = TAB,
    min_count: int = options.option(
        DATA, "Leave out observations made at fewer positions.", min=1, default=1
    ),
    solver: str = options.option(
        SOLVE, "Trainer: owlqn, lbfgs, sbcd or sgd.", metavar="NAME", default="owlqn"
    ),
    rho1: float = options.option(SOLVE, "Weight of the L1 norm.", min=0, default=0.5),
    rho2: float = options.option(SOLVE, "Weight of half the squared L2 norm.", min=0, default=1e-5),
    max_iterations: int = options.option(SOLVE, "Iterations at most.", min=0, default=1000),
    tol: float = options.option(
        SOLVE,
        "Relative distance of 0 to the subdifferential at which to stop.",
        min=0,
        default=1e-4,
    ),
    time_limit: float | None = options.option(
        SOLVE, "Seconds of training.", metavar="SECONDS", min=0, default=None
    ),
    patience: int | None = options.option(
        SOLVE, "Stop after so many iterations without fewer errors on --dev.", min=1, default=None
    ),
    seed: int = options.SEED,
    json: bool = options.JSON,
    quiet: bool = options.QUIET,
) -> None:
    """Learn a model from labelled sequences.

    The objective is the sum of -log p plus rho1 |theta|_1 plus
    rho2/2 |theta|^2. Ctrl-C stops the training, and the best model so far
    is saved.
    """
    from milpscore.sequence import SparseCRF, read_sequences

    require_folder(model)
    if patience is not None and dev is None:
        raise OptionError("--patience watches the errors on other sequences: add --dev FILE")
    estimator = SparseCRF(
        solver,
        rho1=rho1,
        rho2=rho2,
        patterns=patterns,
        min_count=min_count,
        max_iterations=max_iterations,
        tol=tol,
        time_limit=time_limit,
        patience=patience,
        random_state=seed,
        verbose=not quiet,
    )
    with noting_interrupts() as interrupted, _told_warnings(quiet):
        try:
            given = [
                read_sequences(path, separator=_TABS[tab])
                for path in (data, dev)
                if path is not None
            ]
            estimator.fit(*chain.from_iterable(given))
        except KeyboardInterrupt:
            say("Interrupted before there was a model.")
            raise typer.Exit(INTERRUPTED) from None
    # before anything is printed: the reader of a pipe may be gone
    estimator.save(model)
    about = _about(estimator)
    print_json(about) if json else typer.echo(_as_text(about))
    say(f"The model was saved in {model}.")
    if interrupted.is_set():
        raise typer.Exit(INTERRUPTED)


@crf_app.command("tag")
@options.grouped
def tag_command(
    *,
    model: Path = MODEL,
    data: Path = DATA_TXT,
    out: Path | None = OUT,
    tab: bool = TAB,
    posterior: bool = options.option(
        None, "Add the probability of each label.", "--posterior", default=False
    ),
    n_best: int | None = options.option(
        None,
        "The K best labellings of each sequence, each after a line '# rank probability'.",
        metavar="K",
        min=1,
        default=None,
    ),
) -> None:
    """Label sequences: all columns of the file, and the predicted label at the right.

    The file may have a label of its own as one more column; it is kept.
    """
    from milpscore.sequence import write_sequences

    require_folder(out)
    if posterior and n_best is not None:
        raise OptionError("--posterior and --n-best exclude each other: drop one")
    estimator, rows, X, _ = _loaded(model, data, tab)
    if n_best is None:
        predicted = estimator.predict(X)
        added = [predicted]
        if posterior:
            each = zip(estimator.predict_marginals(X), predicted, strict=True)
            added.append(
                [[f"{at[y]:.6f}" for at, y in zip(some, ys, strict=True)] for some, ys in each]
            )
        with _stream(out) as stream:
            write_sequences(stream, rows, *added)
        return
    best = estimator.predict_n_best(X, n_best)
    with _stream(out) as stream:
        for sequence, found in zip(rows, best, strict=True):
            for rank, (labels, probability) in enumerate(found, start=1):
                stream.write(f"# {rank} {probability:.6g}\n")
                write_sequences(stream, [sequence], [labels])


@crf_app.command("eval")
@options.grouped
def eval_command(
    *, model: Path = MODEL, data: Path = DATA_TXT, tab: bool = TAB, json: bool = options.JSON
) -> None:
    """Compare the labels of a file with the predicted ones."""
    from milpscore.sequence import report, sequence_accuracy, token_accuracy

    estimator, _, X, y = _loaded(model, data, tab)
    if y is None:
        raise DataError(
            f"{str(data)!r} has as many columns as the model reads, so no label to compare with: "
            "add it as the last column"
        )
    predicted = estimator.predict(X)
    table = report(y, predicted)
    accuracies = {
        "token_accuracy": token_accuracy(y, predicted),
        "sequence_accuracy": sequence_accuracy(y, predicted),
    }
    if json:
        rows = table.to_dict("records")
        split = {
            f"{kind}s": [row for row in rows if row["kind"] == kind] for kind in ("label", "span")
        }
        print_json({**accuracies, "n_sequences": len(y), "n_tokens": sum(map(len, y)), **split})
        return
    from milpscore.cli.common import output, plain_table

    console = output()
    console.print(plain_table(table))
    for name, value in accuracies.items():
        console.print(f"{name.replace('_', ' ')}: {value:.2%}")


@crf_app.command("dump")
@options.grouped
def dump_command(
    *,
    model: Path = MODEL,
    top: int | None = options.option(
        None, "Only the N largest weights.", metavar="N", min=1, default=None
    ),
    out: Path | None = OUT,
) -> None:
    """Print the active features by falling |weight|.

    Columns, parted by tabs: observation, label before (# where the feature
    looks at one label), label, weight.
    """
    from milpscore.sequence import SparseCRF

    require_folder(out)
    estimator = SparseCRF.load(model)
    with _stream(out) as stream:
        stream.writelines(line + "\n" for line in estimator.dump(top))


def _loaded(model: Path, data: Path, tab: bool) -> tuple[SparseCRF, Any, Any, Any]:
    """A model; all rows of a file; their columns without a label; the labels, if there are any."""
    from milpscore.sequence import SparseCRF, read_sequences

    estimator = SparseCRF.load(model)
    wanted = estimator.n_columns_
    if wanted is None:
        raise DataError(
            f"{str(model)!r} was trained on named features, which no file of columns has: apply it "
            "in Python"
        )
    rows, _ = read_sequences(data, labelled=False, separator=_TABS[tab])
    width = len(rows[0][0])
    if width not in (wanted, wanted + 1):
        raise DataError(
            f"{str(data)!r} has {width} column{'s' * (width > 1)}, the model reads {wanted}: give "
            "these, with or without the label as one more"
        )
    if width == wanted:
        return estimator, rows, rows, None
    X = [[row[:-1] for row in sequence] for sequence in rows]
    return estimator, rows, X, [[row[-1] for row in sequence] for sequence in rows]


def _about(estimator: SparseCRF) -> dict[str, Any]:
    """What a training is summed up in."""
    last = estimator.trace_.iloc[-1].to_dict() if len(estimator.trace_) else {}
    errors = {str(key): value for key, value in last.items() if str(key).endswith("_error")}
    return {
        "solver": estimator.solver,
        "status": str(estimator.status_),
        "objective": estimator.objective_,
        "iterations": estimator.n_iter_,
        "seconds": estimator.seconds_,
        "n_labels": len(estimator.classes_),
        "n_features": estimator.n_features_,
        "n_active": estimator.n_active_,
        **errors,
    }


def _as_text(about: dict[str, Any]) -> str:
    """The same in words."""
    lines = [
        f"{about['solver']}: {about['status']} after {about['iterations']} iterations, "
        f"{about['seconds']:.1f} s",
        f"objective {about['objective']:.6g}; {about['n_active']} of {about['n_features']} "
        f"features active, {about['n_labels']} labels",
    ]
    shown = [
        f"{key.replace('_', ' ')} {value:.2%}"
        for key, value in about.items()
        if key.endswith("_error") and not math.isnan(value)
    ]
    return "\n".join([*lines, ", ".join(shown)] if shown else lines)


def _stream(out: Path | None) -> Any:
    """The file, or standard output."""
    if out is None:
        return nullcontext(sys.stdout)
    return out.open("w", encoding="utf-8", newline="\n")


@contextmanager
def _told_warnings(quiet: bool) -> Iterator[None]:
    """Say warnings in one line each instead of with the place in the code."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        finally:
            for warning in [] if quiet else caught:
                say(f"Warning: {warning.message}")
