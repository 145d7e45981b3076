"""``milpscore crf``: train, apply, measure and print a linear-chain CRF."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from milpscore.cli.common import (
    INTERRUPTED,
    noting_interrupts,
    output,
    plain_table,
    print_json,
    print_text,
    say,
)
from milpscore.cli.groups import (
    DATA,
    JSON,
    QUIET,
    SEED,
    SOLVE,
    argument,
    featured,
    file,
    grouped,
    option,
    output_file,
)
from milpscore.core.errors import DataError, OptionError
from milpscore.core.writing import data_output, replacing

if TYPE_CHECKING:
    from milpscore_sequence import SparseCRF, Tagger

crf_app = typer.Typer(
    help="Label sequences with a sparse linear-chain CRF.",
    no_args_is_help=True,
    add_completion=False,
)


DATA_TXT = argument(
    "DATA.txt",
    "One position per line, columns parted by blanks or tabs, blank lines between sequences, the "
    "label last; UTF-8.",
)
MODEL = argument("MODEL", "Model saved by 'milpscore crf train'.")
TAB = option(DATA, "One tab parts the columns; tokens may hold blanks.", default=False)
OUT = output_file("Write here instead of to standard output.", panel=None)


@crf_app.command("train")
@grouped
@featured(
    "milpscore crf train train.txt --model model.npz --dev dev.txt",
    "model",
    "dev",
    "patterns",
    "rho1",
    "time_limit",
)
def train_command(
    *,
    data: Path = DATA_TXT,
    model: Path = output_file(
        "Save the model here; a name that ends in .json gives JSON, any other npz. The one of "
        "--warm-start may be named.",
        over="warm_start",
        show_default=False,
        default=...,
    ),
    patterns: Path | None = file(
        "Patterns as in CRF++ and Wapiti; default: unigram and bigram of every column.", DATA
    ),
    dev: Path | None = file("More labelled sequences, to watch.", DATA),
    tab: bool = TAB,
    min_count: int = option(
        DATA, "Leave out observations made at fewer positions.", min=1, default=1
    ),
    solver: str = option(SOLVE, "Trainer: owlqn, sbcd or sgd.", metavar="NAME", default="owlqn"),
    rho1: float = option(SOLVE, "Weight of the L1 norm.", min=0, default=0.5),
    rho2: float = option(SOLVE, "Weight of half the squared L2 norm.", min=0, default=1e-5),
    max_iterations: int = option(SOLVE, "Iterations at most.", min=0, default=1000),
    tol: float = option(
        SOLVE,
        "Relative distance of 0 to the subdifferential at which to stop.",
        min=0,
        default=1e-4,
    ),
    delta: float = option(
        SOLVE,
        "Stop where ten iterations lowered the objective by less than this share; 0: never.",
        min=0,
        default=0.0,
    ),
    time_limit: float | None = option(SOLVE, "Seconds of training.", metavar="SECONDS", min=0),
    patience: int | None = option(
        SOLVE, "Stop after this number of iterations without fewer errors on --dev.", min=1
    ),
    errors_every: int = option(
        SOLVE,
        "Look at the errors every N iterations; 0: at the end alone, with --patience at each.",
        min=0,
        default=0,
    ),
    warm_start: Path | None = file("Begin with the weights of this model.", SOLVE),
    seed: int = SEED,
    json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Learn a model from labelled sequences.

    The objective is the sum of -log p plus rho1 |theta|_1 plus
    rho2/2 |theta|^2. Ctrl-C stops the training, and the best model so far
    is saved.
    """
    from milpscore_sequence import SparseCRF, read_sequences

    if patience is not None and dev is None:
        raise OptionError("--patience watches the errors on other sequences: add --dev FILE")
    estimator = SparseCRF() if warm_start is None else SparseCRF.load(warm_start)
    estimator.set_params(
        solver=solver,
        penalty=None,
        rho1=rho1,
        rho2=rho2,
        patterns=patterns,
        min_count=min_count,
        max_iterations=max_iterations,
        tol=tol,
        delta=delta,
        time_limit=time_limit,
        patience=patience,
        errors_every=errors_every,
        random_state=seed,
        warm_start=warm_start is not None,
        verbose=not quiet,
    )
    separator = "\t" if tab else None
    with noting_interrupts() as interrupted, _told_warnings(quiet):
        try:
            given = [
                read_sequences(path, separator=separator)
                for path in (data, dev)
                if path is not None
            ]
            estimator.fit(*chain.from_iterable(given))
        except KeyboardInterrupt:
            say("Interrupted before there was a model.")
            raise typer.Exit(INTERRUPTED) from None
    # before anything is printed: the reader of a pipe may be gone
    estimator.save(model)
    _tell(estimator, json)
    say(f"The model was saved in {model}.")
    if interrupted.is_set():
        raise typer.Exit(INTERRUPTED)


@crf_app.command("tag")
@grouped
@featured("milpscore crf tag model.npz new.txt --out tagged.txt", "out", "posterior", "n_best")
def tag_command(
    *,
    model: Path = MODEL,
    data: Path = DATA_TXT,
    out: Path | None = OUT,
    tab: bool = TAB,
    posterior: bool = option(None, "Add the probability of each label.", default=False),
    n_best: int | None = option(
        None,
        "The K best labellings of each sequence, each after a line '# rank probability'.",
        metavar="K",
        min=1,
    ),
) -> None:
    """Label sequences: all columns of the file, and the predicted label at the right.

    The file may have a label of its own as one more column; it is kept.
    """
    from milpscore_sequence import write_sequences

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
@grouped
@featured("milpscore crf eval model.npz test.txt")
def eval_command(
    *, model: Path = MODEL, data: Path = DATA_TXT, tab: bool = TAB, json: bool = JSON
) -> None:
    """Compare the labels of a file with the predicted ones."""
    from milpscore_sequence import report, sequence_accuracy, token_accuracy

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
    console = output()
    console.print(plain_table(table))
    for name, value in accuracies.items():
        console.print(f"{name.replace('_', ' ')}: {value:.2%}")


@crf_app.command("dump")
@grouped
@featured("milpscore crf dump model.npz --top 20", "top")
def dump_command(
    *,
    model: Path = MODEL,
    top: int | None = option(None, "Only the N largest weights.", metavar="N", min=1),
    out: Path | None = OUT,
) -> None:
    """Print the active features by falling |weight|.

    Columns, parted by tabs: observation, label before (# where the feature
    looks at one label), label, weight.
    """
    from milpscore_sequence import Tagger

    estimator = Tagger.load(model)
    with _stream(out) as stream:
        stream.writelines(line + "\n" for line in estimator.dump(top))


def _loaded(model: Path, data: Path, tab: bool) -> tuple[Tagger, Any, Any, Any]:
    """A model; all rows of a file; their columns without a label; the labels, if there are any."""
    from milpscore_sequence import Tagger, read_sequences

    estimator = Tagger.load(model)
    wanted = estimator.n_columns_
    if wanted is None:
        raise DataError(
            f"{str(model)!r} was trained on named features, which no file of columns has: apply it "
            "in Python"
        )
    rows, _ = read_sequences(data, labelled=False, separator="\t" if tab else None)
    width = len(rows[0][0])
    if width not in (wanted, wanted + 1):
        raise DataError(
            f"{str(data)!r} has {width} column{'s' * (width > 1)}, the model reads {wanted}: give "
            "these, with or without the label as one more"
        )
    if width == wanted:
        return estimator, rows, rows, None
    bare = {row: row[:-1] for row in set(chain.from_iterable(rows))}
    X = [[bare[row] for row in sequence] for sequence in rows]
    return estimator, rows, X, [[row[-1] for row in sequence] for sequence in rows]


def _tell(estimator: SparseCRF, as_json: bool) -> None:
    """Sum a training up."""
    trace = estimator.trace_
    kept = trace[trace["objective"] == estimator.objective_].iloc[-1].to_dict()
    errors = {str(key): value for key, value in kept.items() if str(key).endswith("_error")}
    about: dict[str, Any] = {
        "solver": estimator.solver,
        "status": str(estimator.status_),
        "objective": estimator.objective_,
        "iterations": estimator.n_iter_,
        "seconds": estimator.seconds_,
        "n_labels": len(estimator.classes_),
        "n_features": estimator.n_features_,
        "n_active": estimator.n_active_,
    }
    if as_json:
        print_json({**about, **errors})
        return
    print_text(
        "{solver}: {status} after {iterations} iterations, {seconds:.1f} s\nobjective "
        "{objective:.6g}; {n_active} of {n_features} features active, {n_labels} labels".format(
            **about
        )
    )
    known = {key: value for key, value in errors.items() if not math.isnan(value)}
    if known:
        print_text(", ".join(f"{key.replace('_', ' ')} {known[key]:.2%}" for key in known))


@contextmanager
def _stream(out: Path | None) -> Iterator[Any]:
    """Yield a file that appears when it is complete, or standard output."""
    if out is None:
        yield data_output()
        return
    with replacing(out) as part, part.open("w", encoding="utf-8", newline="\n") as file:
        yield file


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
