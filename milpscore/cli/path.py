"""``milpscore path``: penalised linear models over many penalty weights, each with its gap."""

from __future__ import annotations

import inspect
import math
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import typer

from milpscore.cli.common import (
    INTERRUPTED,
    PrintedColumn,
    counting,
    output as standard_output,
    print_json,
    require_drawable,
    save_figure,
    say,
    spelt,
    table,
    tell_warnings,
)
from milpscore.cli.groups import (
    CARD,
    PLOT,
    SEED,
    SOLVE,
    OutputOptions,
    TableOptions,
    featured,
    numbers_of,
    option,
    settings_of,
)
from milpscore.core.errors import (
    DataError,
    OptionError,
    TooManyPatternsError,
    did_you_mean,
    near_matches,
)
from milpscore.losses.registry import EXACT_ONLY, LOSSES
from milpscore.penalties import PENALTIES

if TYPE_CHECKING:
    from pandas import DataFrame
    from rich.table import Table

    from milpscore.core.design import Design
    from milpscore.core.statement import ProxPenalty
    from milpscore.data.row_store import StoredRows
    from milpscore.proximal import FacetsGrid, ProximalPath

Found: TypeAlias = "ProximalPath | FacetsGrid"

_SETS = {"box", "sparse_hull"}
"""Penalties without a weight lam: a set makes no path."""

_NOT_FOR_CLASSES = EXACT_ONLY | {"poisson", "squared"}
_BY_OPTION = {
    "lam": "--lams",
    "gamma": "--gamma",
    "expert": "--expert-features",
    "blocks": "--bins",
}


def penalty_names() -> list[str]:
    """Penalties with a weight lam."""
    return [spelt(name) for name in PENALTIES if name not in _SETS]


def loss_names() -> list[str]:
    """The smooth losses of classes."""
    return [spelt(name) for name in LOSSES if name not in _NOT_FOR_CLASSES]


@featured(
    "milpscore path patients.csv --target ill --penalty l1 --cv 5 --plot path.png",
    "target",
    "penalty",
    "bins",
    "cv",
    "plot",
)
def path_command(
    *,
    data: TableOptions,
    penalty: str = option(
        CARD, f"One of {', '.join(penalty_names())}.", metavar="NAME", default="l1"
    ),
    output: OutputOptions,
    loss: str = option(
        CARD,
        f"One of {', '.join(loss_names())}; multinomial takes two classes or more.",
        metavar="NAME",
        default="logistic",
    ),
    gamma: float | None = option(
        CARD, "Unit of the coefficients for the Facets penalties (default 1).", metavar="UNIT"
    ),
    expert_features: str | None = option(
        CARD, "Features an expert knows to matter, for eye and naive-credibility.", metavar="A,B,C"
    ),
    settings: list[str] | None = option(
        CARD,
        "Any other argument of the penalty, its value read as JSON (eps=0.05, l1_ratio=0.5, "
        "alpha=\\[1,2,2]); may be repeated.",
        "--set",
        metavar="KEY=VALUE",
    ),
    n_lams: int = option(SOLVE, "Models on the path.", metavar="N", min=1, default=30),
    ratio: float = option(
        SOLVE,
        "The last lam as a share of the first, where the model is just null.",
        metavar="SHARE",
        default=0.01,
    ),
    lams: str | None = option(
        SOLVE,
        "The lams themselves (l2 and weighted-l2 need them: no lam makes those null).",
        metavar="L,L,L",
    ),
    grid: str | None = option(
        SOLVE,
        "A grid in place of a path: A values of lam/gamma times C of gamma, say 24x100; for "
        "penalties with a unit gamma and a first slope of lam/gamma, such as facets.",
        metavar="AxC",
    ),
    intercept: Literal["real", "zero"] = option(
        SOLVE, "Free and not penalised, or none.", default="real"
    ),
    tol: float = option(
        SOLVE, "Relative duality gap at which a model is done.", metavar="GAP", default=1e-6
    ),
    time_limit: float | None = option(
        SOLVE,
        "Seconds for a path, which ends there; not with --cv or --grid.",
        metavar="SECONDS",
        min=0,
    ),
    cv: int = option(
        SOLVE,
        "Folds of a cross-validation, cut points held fixed; 0 for none. It chooses lam, and of a "
        "grid gamma too, among the models with whole coefficients only.",
        metavar="N",
        min=0,
        default=0,
    ),
    jobs: int = option(SOLVE, "Processes for a grid; -1 for all cores.", metavar="N", default=1),
    seed: int = SEED,
    plot: Path | None = PLOT,
) -> None:
    """Fit penalised linear models over many penalty weights.

    Coefficients are real numbers, not yet points; every model comes with
    its relative duality gap.
    """
    from milpscore import proximal

    shape = None if grid is None else _grid_shape(grid, gamma, lams, time_limit)
    chosen = _loss_key(loss)
    weights = None if lams is None else numbers_of("--lams", lams)
    require_drawable(plot)
    with _read(data, chosen, cv, seed, shape is not None) as (design, folds, stored):
        given = {"gamma": gamma, "expert": expert_features, **settings_of(settings, _BY_OPTION)}
        binned = data.bins is not None or data.thresholds is not None
        make = _penalty_maker(penalty, design, given, binned)
        if shape is not None:
            _require_unit(penalty, make)
        common: dict[str, Any] = {"loss": chosen, "penalty": make, "tol": tol, "random_state": seed}
        steps: dict[str, Any] = {"lams": weights, "n_lams": n_lams, "ratio": ratio}
        rows: dict[str, Any] = {
            "sample_weight": design.weight,
            "cv": folds,
            "intercept": intercept == "real",
        }
        started = time.perf_counter()
        found: Found
        try:
            with counting("fitting", "models", output.quiet or not sys.stderr.isatty()) as tell:
                if tell is not None:  # a path counts models that are done; none of them fails
                    common["progress"] = lambda done, total: tell(done, 0, total)
                if stored is not None:
                    _refuse_out_of_core(intercept, time_limit)
                    found = proximal.path_out_of_core(stored, **steps, **common)
                elif shape is None:
                    steps["time_limit"] = math.inf if time_limit is None else time_limit
                    found = proximal.path(design.X, design.y, **steps, **rows, **common)
                else:
                    axes: dict[str, Any] = {
                        "n_alpha": shape[0],
                        "n_gamma": shape[1],
                        "n_jobs": jobs,
                    }
                    found = proximal.facets_grid(design.X, design.y, **axes, **rows, **common)
        except KeyboardInterrupt:
            say("Interrupted: a path cannot be resumed; ask for fewer models, or a larger --tol.")
            raise typer.Exit(INTERRUPTED) from None
    tell_warnings(design, output.quiet)
    found = _with_terms(found, design)
    seconds = time.perf_counter() - started
    if output.json:
        content = _report(found, design, penalty, chosen, seconds)
        print_json(
            content if stored is None else {**content, "fingerprint": None, "out_of_core": True}
        )
    else:
        _print(found, design, seconds)
    if shape is None and len(found.table) < (n_lams if weights is None else len(weights)):
        say(f"Stopped at the time limit, after {len(found.table)} models.")
    _tell_unfinished(found.table, tol)
    if plot is not None:
        save_figure(_figure(found, design, gamma), plot, output.quiet)


# ---------------------------------------------------------------- what was asked for


@contextmanager
def _read(
    data: TableOptions, loss: str, cv: int, seed: int, grid: bool
) -> Iterator[tuple[Design, Any, StoredRows | None]]:
    """The design, its folds, and the rows in a file where their patterns are too many."""
    from milpscore.data.binner import stratified_splits

    if loss == "multinomial":
        yield _of_many(data), cv or None, None
        return
    folds: Any = cv or None
    try:
        design = data.design(rows=bool(cv))
    except TooManyPatternsError as error:
        if cv or grid:
            raise OptionError(f"leave out {'--cv' if cv else '--grid'}: {error}") from error
        say("Note: too many distinct rows to merge: they stay in a file, read at every step.")
        with data.stored() as stored:
            yield stored.summary, None, stored
        return
    if cv and design.counts is not None:
        design, folds = stratified_splits(design, cv, seed)
    yield design, folds, None


def _of_many(data: TableOptions) -> Design:
    """The design of a table of any number of classes, which y numbers from 0 in their order."""
    import numpy as np

    from milpscore.data import read_frame
    from milpscore.data.checking import class_weights

    labels = read_frame(data.data, **data.reading)[data.target].to_numpy()
    classes, codes = np.unique(labels, return_inverse=True)
    # columns and weights are those of one class against the rest
    against = replace(data, positive=str(classes[-1]), class_weight=None)
    design = against.design(rows=True)
    if design.shape[0] != len(codes):
        raise OptionError("the multinomial loss takes the rows of a table that fits into memory")
    names = tuple(classes.tolist())
    weight = class_weights(data.class_weight, codes, design.weight, names)
    return replace(design, y=codes.astype(np.float64), weight=weight, classes=names)


def _loss_key(name: str) -> str:
    """The registry's name of a loss as it was typed."""
    if (found := LOSSES.name_of(name)) in _NOT_FOR_CLASSES:
        raise OptionError(
            f"the loss {found} is not smooth or not of classes; use {', '.join(loss_names())}"
        )
    return found


def _refuse_out_of_core(intercept: str, time_limit: float | None) -> None:
    """Rows that stay in a file are fitted with an intercept and to the end."""
    if time_limit is not None:
        raise OptionError("rows out of core have no time limit: leave it out")
    if intercept == "zero":
        raise OptionError("rows out of core are fitted with an intercept: leave out --intercept")


def _grid_shape(
    text: str, gamma: float | None, lams: str | None, time_limit: float | None
) -> tuple[int, int]:
    """Both numbers of ``--grid 24x100``."""
    if time_limit is not None:
        raise OptionError("--grid has no time limit: leave out --time-limit")
    found = re.fullmatch(r"([1-9]\d{0,4})x([1-9]\d{0,4})", text.strip().lower())
    if found is None:
        raise OptionError(f"--grid {text!r}: write two whole numbers, for example 24x100")
    if gamma is not None or lams is not None:
        which = "--gamma" if gamma is not None else "--lams"
        raise OptionError(f"{which} and --grid exclude each other: the grid chooses its own")
    return int(found[1]), int(found[2])


def _penalty_maker(
    name: str, design: Design, asked: dict[str, Any], binned: bool
) -> Callable[..., ProxPenalty]:
    """What makes the penalty from lam (and gamma, where a grid varies it); tried once."""
    if (found := PENALTIES.name_of(name) if name in PENALTIES else name) not in PENALTIES:
        hint = did_you_mean(spelt(name), penalty_names())
        raise OptionError(f"no penalty {name!r}; {hint}there are {', '.join(penalty_names())}")
    if found in _SETS:
        raise OptionError(f"{spelt(found)} is a set without a weight lam, and makes no path")
    made, name = PENALTIES[found], spelt(found)
    known = dict(list(inspect.signature(made).parameters.items())[1:])
    given = {key: value for key, value in asked.items() if value is not None}
    for key in given.keys() - known.keys():
        if key in ("gamma", "expert"):
            raise OptionError(f"{name} takes no {_BY_OPTION[key]}: leave it out")
        takes = ", ".join(k for k in known if k not in _BY_OPTION) or "none"
        raise OptionError(f"{name} has no argument {key!r} for --set; it has {takes}")
    if "expert" in given:
        given["expert"] = _known_columns(design, given["expert"])
    if "blocks" in known:
        given |= _blocks(name, design, "weights" in given, binned)
    for key, parameter in known.items():
        if parameter.default is parameter.empty and key not in given:
            instead = f"{_BY_OPTION[key]} A,B,C" if key in _BY_OPTION else f"--set {key}=VALUE"
            raise OptionError(f"{name} needs {key}: add {instead}")

    def make(lam: float, unit: float | None = None) -> ProxPenalty:
        of: ProxPenalty = made(lam, **(given if unit is None else {**given, "gamma": unit}))
        return of

    try:
        make(1.0)
    except TypeError as error:
        raise OptionError(f"{name}: an argument is of the wrong kind ({error})") from error
    return make


def _require_unit(name: str, make: Callable[..., ProxPenalty]) -> None:
    """Refuse a grid of a penalty whose first slope is not lam / gamma."""
    import numpy as np

    try:
        slope = make(1.0, 2.0).lambda_max(np.ones(1))
    except TypeError:  # it takes no gamma
        slope = np.nan
    if slope != 2.0:
        raise OptionError(f"--grid is for penalties such as facets: {name} has no unit gamma")


def _known_columns(design: Design, expert: str) -> list[float]:
    """1 for every column of the features named, 0 else."""
    wanted = [part.strip() for part in expert.split(",") if part.strip()]
    features = {column.feature for column in design.columns}
    for one in wanted:
        if one not in features and one not in design.names:
            hint = near_matches(one, sorted(features), "features")
            raise DataError(f"--expert-features: there is no feature {one!r}; {hint}")
    return [float(bool({c.feature, c.name} & set(wanted))) for c in design.columns]


def _blocks(name: str, design: Design, weighted: bool, binned: bool) -> dict[str, Any]:
    """Blocks of the design; binarsity's weights from the rows in each bin unless there are some."""
    if not binned or not design.blocks:
        raise OptionError(f"{name} needs bins: add --bins N or --thresholds FILE")
    # missing values have no place in the order of the bins: a block of their own
    alone = [(j,) for j, column in enumerate(design.columns) if column.kind == "missing"]
    blocks = sorted([*design.blocks, *alone])
    if sum(map(len, blocks)) != design.shape[1]:
        inside = {j for block in blocks for j in block}
        outside = next(column for j, column in enumerate(design.columns) if j not in inside)
        raise OptionError(
            f"{name} needs every feature in one-hot bins, and {outside.feature!r} is not: "
            "use --bins N, without --encoding cumulative"
        )
    if weighted or name != "binarsity":
        return {"blocks": blocks}
    from milpscore.penalties import data_driven_weights

    rows = design.weight @ design.X
    weights = data_driven_weights([rows[list(block)] for block in blocks], blocks)
    # only their proportions are given by the theory: lam reads best where the largest weight is 1
    return {"blocks": blocks, "weights": weights / weights.max()}


# ---------------------------------------------------------------- what came of it


def _with_terms(found: Found, design: Design) -> Found:
    """The same, its terms counted as everywhere: raw features; ``nonzeros`` counts columns."""
    w = found.coefficients
    if "alpha" in found.table:
        w = w.swapaxes(0, 1).reshape(-1, *w.shape[2:])
    # a term of any class is one
    by_model = abs(w).sum(axis=2) if w.ndim == 3 else w
    terms = [design.count_terms(row) for row in by_model]
    return replace(found, table=found.table.assign(nonzeros=found.table["terms"], terms=terms))


def _report(
    found: Found, design: Design, penalty: str, loss: str, seconds: float
) -> dict[str, Any]:
    """The object of ``--json``: coefficients in the order of ``design_columns``."""
    frame, path = found.table, {}
    if "alpha" not in frame:
        path["coefficients"] = found.coefficients.tolist()
        path["intercepts"] = found.intercepts.tolist()
    return {
        "penalty": penalty.replace("-", "_"),
        "loss": loss,
        "table": frame.to_dict("records"),
        "models": len(frame),
        "null": int(frame["null"].sum()),
        "integral": int(frame["integral"].sum()),
        "worst_gap": float(frame["gap"].max()),
        "n_rows": int(design.rows[design.weight > 0].sum()),
        "n_columns": design.shape[1],
        "classes": list(design.classes),
        "design_columns": list(design.names),
        "fingerprint": design.fingerprint,
        "seconds": seconds,
        "chosen": _chosen(found, design),
        **path,
    }


def _best_first(frame: DataFrame) -> DataFrame:
    """The best models first: held out where there was a cross-validation, else of least loss.

    Of a grid those with whole coefficients only, of all where none is whole.
    """
    whole = frame[frame["integral"]] if "alpha" in frame else frame[:0]
    among = whole if len(whole) else frame[~frame["null"]]
    held_out = "cv_accuracy" in frame
    by = ["cv_accuracy" if held_out else "loss", "terms"]
    return among.sort_values(by, ascending=[not held_out, True], kind="stable")


def _chosen(found: Found, design: Design) -> dict[str, Any] | None:
    """What the cross-validation chose: lam, gamma of a grid, and the coefficients."""
    best = _best_first(found.table)
    if "cv_accuracy" not in best or not len(best):
        return None
    at, w = best.index[0], found.coefficients
    if "alpha" in best:  # gamma by gamma
        place: Any = divmod(int(at), len(found.table["alpha"].unique()))[::-1]
    else:
        place = int(at)
    kept = ("lam", "gamma", "terms", "integral", "cv_accuracy")
    return {
        **{name: best[name].iloc[0].item() for name in kept if name in best},
        "coefficients": dict(zip(design.names, w[place].tolist(), strict=True)),
        "intercept": found.intercepts[place].tolist(),
    }


_COLUMNS = {
    "lam": PrintedColumn("lam", "{:.4g}"),
    "alpha": PrintedColumn("alpha", "{:.4g}"),
    "gamma": PrintedColumn("gamma", "{:.4g}"),
    "terms": PrintedColumn("terms", "{:d}"),
    "integrity": PrintedColumn("whole", "{:.0%}"),
    "loss": PrintedColumn("loss", "{:.5f}"),
    "objective": PrintedColumn("objective", "{:.5f}"),
    "gap": PrintedColumn("gap", "{:.1e}"),
    "cv_accuracy": PrintedColumn("held out", "{:.1%}"),
    "cv_auc": PrintedColumn("AUC", "{:.3f}"),
    "seconds": PrintedColumn("seconds", "{:.3f}"),
}
_BEST = 10


def _print(found: Found, design: Design, seconds: float) -> None:
    """What a person reads: the path's table, or the best models of a grid."""
    console, frame = standard_output(), found.table
    if "alpha" not in frame:
        console.print(_table(frame))
    else:
        console.print(
            f"{len(frame)} models: {int(frame['null'].sum())} null, "
            f"{int(frame['integral'].sum())} with whole coefficients only (in units of gamma)."
        )
        best = _best_first(frame).head(_BEST)
        some = "of them" if best["integral"].all() else "models"
        console.print(_table(best, f"The best {len(best)} {some}"))
    chosen = _chosen(found, design)
    if chosen is not None:
        unit = f", gamma {chosen['gamma']:.4g}" if "gamma" in chosen else ""
        console.print(
            f"Chosen by cross-validation: lam {chosen['lam']:.4g}{unit} "
            f"(held out {chosen['cv_accuracy']:.1%})."
        )
    console.print(
        f"{seconds:.1f} s. 'whole' is the share of whole coefficients, 'gap' the relative duality "
        "gap: the objective lies at most that much above its optimum."
    )


def _table(frame: DataFrame, title: str | None = None) -> Table:
    """One line a model; whole models are green."""
    columns = {name: column for name, column in _COLUMNS.items() if name in frame}
    rows = frame.to_dict("records")
    return table(rows, columns, title=title, green=lambda row: bool(row["integral"]))


def _tell_unfinished(frame: DataFrame, tol: float) -> None:
    """Say how many models did not reach the gap asked for."""
    reached = frame["termination"].isin(["gap_reached", "converged"])
    if not reached.all():
        say(
            f"Warning: {int((~reached).sum())} of {len(frame)} models stopped with a gap above "
            f"{tol:g}, the worst {frame['gap'].max():.1e}: raise --tol, or scale the columns."
        )


def _figure(found: Found, design: Design, gamma: float | None) -> Any:
    """The figure of a path or of a grid."""
    import numpy as np

    from milpscore.proximal import ProximalPath
    from milpscore_show import plots

    if not isinstance(found, ProximalPath):
        return plots.facets_heat_maps(found)
    import matplotlib.pyplot as plt

    w = found.coefficients
    parts = [w] if w.ndim == 2 else list(np.moveaxis(w, 2, 0))
    figure, panels = plt.subplots(
        len(parts), figsize=(8.5, 5.0 * len(parts)), layout="constrained", squeeze=False
    )
    for k, (part, ax) in enumerate(zip(parts, panels[:, 0], strict=True)):
        drawn = replace(found, coefficients=part)
        plots.regularisation_path(drawn, ax, names=design.names, unit=gamma)
        if len(parts) > 1:
            ax.set_title(f"Regularisation path, {design.classes[k]}", loc="left")
    return figure
