"""What a card is worth on new rows, beside a logistic regression and a card of twice the lines."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from milpscore.core.card import Card, TotalCuts
from milpscore.core.design import Design, FloatArray, IntArray
from milpscore.core.errors import DataError, MilpscoreError, OptionError
from milpscore.core.program import Program
from milpscore.core.result import Result
from milpscore.data import (
    SurvivalDesign,
    apply_columns,
    make_design,
    read_counts,
    survival_target,
)
from milpscore.data.checking import patient_codes
from milpscore.data.survival import labels_by_event
from milpscore.fitting import fit_card
from milpscore.losses import LINKS
from milpscore.losses.kinds import link_of
from milpscore.metrics import concordance
from milpscore.penalties import L2
from milpscore.proximal import fit_proximal


@dataclass(frozen=True)
class WorthPolicy:
    """Work of the estimate: about half a second for a table of 1,200 rows and 100 columns.

    Attributes
    ----------
    folds : int
        Refits of the fast mode, each judged on the rows left out.
    max_rows, max_cells : int
        Rows, and rows times columns, beyond which a sample is drawn.
    min_rows : int
        Rows of that sample, however many columns there are.
    ridge : float
        Penalty of the logistic regression, on columns of unit variance.
    clear_gain : float
        Difference of AUC from which more lines are advised.
    """

    folds: int = 5
    max_rows: int = 3000
    max_cells: int = 300_000
    min_rows: int = 500
    ridge: float = 1e-3
    clear_gain: float = 0.01


POLICY = WorthPolicy()


@dataclass(frozen=True)
class Worth:
    """Areas under the ROC curve of a card and of what it is compared with; of times Harrell's C.

    Attributes
    ----------
    auc : float
        Of the card on the rows it was fitted to.
    auc_new, auc_logistic : float
        On rows left out, mean over folds: of cards made again by the fast mode, and of a logistic
        regression on all columns; of times of Cox's model, by scikit-survival.
    auc_larger : float or None
        As ``auc_new``, with at most ``larger_terms`` terms; None without a limit on terms.
    larger_terms : int or None
    cut_anew : bool
        Whether the refits chose their cuts; not so of rows that were merged while they were read,
        or if an argument names single columns.
    rows : int
        Rows that the folds hold.
    sampled : bool
        Whether these were drawn by chance from more.
    measure, rival : str
        What the figures are, and of whom the second is.
    """

    auc: float
    auc_new: float
    auc_logistic: float
    auc_larger: float | None
    larger_terms: int | None
    cut_anew: bool
    rows: int
    sampled: bool
    measure: str = "AUC"
    rival: str = "a logistic regression"

    def __str__(self) -> str:
        how = [f"{POLICY.folds} refits on {self.rows:,} rows drawn by chance"] * self.sampled
        how += ["cuts not chosen anew, which flatters"] * (not self.cut_anew)
        on = f" ({'; '.join(how)})" if how else ""
        said = (
            f"{self.measure} {self.auc:.3f} here, {self.auc_new:.3f} on new rows{on}; "
            f"{self.rival} on all columns {self.auc_logistic:.3f}"
        )
        if self.auc_larger is None:
            return f"{said}."
        said += f", {self.larger_terms} terms {self.auc_larger:.3f}"
        gains = self.auc_larger - self.auc_new > POLICY.clear_gain
        return f"{said}: raise --max-terms." if gains else f"{said}."


def card_worth(
    program: Program, result: Result, table: Any = None, cutting: Any = None,
    random_state: int = 0, patients: Any = None,
) -> Worth:  # fmt: skip
    """Estimate what a card is worth on new rows, by cards made again on five parts of its rows.

    Parameters
    ----------
    program : Program
        An exact one of two classes, or of times to an event.
    result : Result
        Its answer, with a card.
    table : DataFrame of shape (n, q), optional
        The rows before they were cut; without it the cuts stay as they are.
    cutting : Cutting, optional
        How the table is cut; None leaves numbers as they are.
    random_state : int
        Seed of the folds and of the sample of a large table.
    patients : array of shape (n,), optional
        Whose row each is: the rows of a patient, imputed ones say, are left out together.

    Returns
    -------
    Worth

    Raises
    ------
    DataError
        There are fewer rows of the rarer class than two per fold.
    MilpscoreError
        The program cannot be stated on a part of the rows.
    MissingDependencyError
        The program is one of times, and scikit-survival is not installed.
    """
    assert result.card is not None
    design, random = program.statement.design.unpaired, np.random.default_rng(random_state)
    codes = patient_codes(design, patients)
    folds, sampled = (
        _folds(design, random) if codes is None else _patient_folds(design, random, codes)
    )
    rows, kept = sum(len(test) for _, test in folds), np.flatnonzero(design.weight > 0)
    own = _auc(design.of_rows(kept), _totals(design.X[kept], result.card.coefficients))
    uncut = not any(column.kind in ("interval", "step") for column in design.columns)
    anew = uncut or table is not None
    try:
        found = [_fold_aucs(program, each) for each in _parts(design, folds, table, cutting)]
    except MilpscoreError:
        if table is None:
            raise
        # what names single columns holds for these cuts alone
        found = [_fold_aucs(program, each) for each in _parts(design, folds, None, None)]
        anew = uncut
    new, logistic, larger = np.mean(found, axis=0).tolist()
    said = ("C", "Cox's model") if isinstance(design, SurvivalDesign) else ()
    if math.isnan(larger):
        return Worth(own, new, logistic, None, None, anew, rows, sampled, *said)
    terms = 2 * int(program.arguments["max_terms"])
    return Worth(own, new, logistic, larger, terms, anew, rows, sampled, *said)


def _folds(
    design: Design, random: np.random.Generator
) -> tuple[list[tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]], bool]:
    """Return training and test rows per fold, each class dealt evenly; whether they are a sample.

    Rows that were merged while a table was read stand as often as they were.
    """
    cap = max(POLICY.min_rows, min(POLICY.max_rows, POLICY.max_cells // max(design.shape[1], 1)))
    counted = np.flatnonzero(design.weight > 0)
    total = int(design.rows[counted].sum())
    sides, sampled = [], total > cap
    for side in (design.y > 0, design.y <= 0):
        places = counted[side[counted]]
        counts = design.rows[places]
        size = int(counts.sum())
        wanted = min(size, max(2 * POLICY.folds, round(size * cap / total)))
        drawn = random.choice(size, wanted, replace=False) if sampled else np.arange(size)
        sides.append(random.permutation(places[np.searchsorted(counts.cumsum(), drawn, "right")]))
        if size < 2 * POLICY.folds and not (size == 0 and isinstance(design, SurvivalDesign)):
            raise DataError(
                f"the rarer class has {size} rows, too few to judge the card on new ones"
            )
    fold = np.concatenate([np.arange(len(side)) % POLICY.folds for side in sides])
    rows = np.concatenate(sides)
    return [(rows[fold != k], rows[fold == k]) for k in range(POLICY.folds)], sampled


class SiteWorth(NamedTuple):
    """What a card of all other sites is worth at one site.

    Attributes
    ----------
    site : str
    rows : int
    auc : float
        AUC of the card of all sites; NaN if the site has one class alone.
    auc_left_out : float
        AUC of a card that the fast mode made from the other sites.
    stated, observed : float
        The mean risk that this card states for the site's rows, and the share of positives among
        them; ``stated`` is NaN of a card without risks.
    """

    site: str
    rows: int
    auc: float
    auc_left_out: float
    stated: float
    observed: float

    def __str__(self) -> str:
        said = f"Site {self.site} ({self.rows:,} rows): AUC {self.auc:.3f}, {self.auc_left_out:.3f}"
        said += " by a card of the other sites"
        if math.isnan(self.stated):
            return f"{said}."
        return f"{said}, which states {self.stated:.1%} where {self.observed:.1%} is observed."


def site_worth(program: Program, result: Result, paths: Sequence[str | Path]) -> list[SiteWorth]:
    """Judge a card site by site: by cards made again without the site's rows.

    Parameters
    ----------
    program : Program
        An exact one of two classes, of the counts of all sites.
    result : Result
        Its answer, with a card.
    paths : sequence of path
        The sites' counts, at least two; see :func:`milpscore.data.read_counts`.

    Returns
    -------
    list of SiteWorth

    Raises
    ------
    DataError
        A file is damaged, or the sites but one hold one class alone.
    OptionError
        For fewer than two sites.
    """
    if len(paths) < 2:
        raise OptionError("sites are judged by the others: give counts of two at least")
    assert result.card is not None
    loss: Any = program.statement.loss
    link, found = link_of(loss), []
    for at, path in enumerate(paths):
        own = read_counts(path, one_class=True)
        others = read_counts(*paths[:at], *paths[at + 1 :])
        card = _fast_card(program.formulation, others, dict(program.arguments))
        totals = _totals(own.X, card.coefficients)
        share = own.weight / own.weight.sum()
        stated = math.nan
        if link is not None:
            score = (totals + float(card.intercept)) / float(card.scale or loss.fixed)
            stated = float(share @ LINKS[link](score))
        whole = _totals(own.X, result.card.coefficients)
        both = len({*own.y.tolist()}) > 1
        here, there = (_auc(own, each) if both else math.nan for each in (whole, totals))
        observed = float(share @ (own.y > 0))
        rows = int(own.rows.sum())
        found.append(SiteWorth(Path(path).stem, rows, here, there, stated, observed))
    return found


def _patient_folds(
    design: Design, random: np.random.Generator, codes: IntArray
) -> tuple[list[tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]], bool]:
    """Return the folds of :func:`_folds`, each patient's rows in one of them."""
    _, first = np.unique(codes, return_index=True)
    ill = np.bincount(codes, weights=design.y > 0) > 0
    weight = np.bincount(codes, weights=design.weight).astype(np.float64)
    whole = replace(
        design, X=design.X[first], y=np.where(ill, 1, -1).astype(design.y.dtype), weight=weight
    )
    folds, sampled = _folds(whole, random)

    def rows(some: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
        return np.flatnonzero(np.isin(codes, some))

    return [(rows(train), rows(test)) for train, test in folds], sampled


def _parts(design: Design, folds: Any, table: Any, cutting: Any) -> Iterator[tuple[Design, Design]]:
    """Yield the training rows of each fold as a design, and its test rows in the same columns."""
    for train, test in folds:
        weight = design.weight / design.rows
        made, rest = (
            replace(design.of_rows(rows), weight=weight[rows], counts=None)
            for rows in (train, test)
        )
        if table is not None:
            make = make_design if cutting is None else cutting.design
            labels = labels_by_event(made.y > 0) > 0
            cut = make(table.iloc[train], labels, sample_weight=made.weight, positive=True)
            held_out = apply_columns(cut.columns, table.iloc[test], unseen="zero")
            if isinstance(made, SurvivalDesign):
                parts = (made, cut.X), (rest, held_out)
                own: dict[str, Any] = {"columns": cut.columns, "blocks": cut.blocks}
                made, rest = (replace(part, X=X, **own) for part, X in parts)
            else:
                made, rest = cut, replace(cut, X=held_out, y=rest.y, weight=rest.weight)
        yield made, rest


def _fold_aucs(program: Program, part: tuple[Design, Design]) -> FloatArray:
    """Return the AUC on test rows of a card made again, a regression, twice the terms or NaN."""
    train, test = part
    arguments, limit = dict(program.arguments), program.arguments.get("max_terms")
    answers = [_fast_totals(program.formulation, train, test, arguments)]
    # columns of unit variance, or the penalty would mean different things for each
    spread = train.X.std(axis=0)
    unit = 1.0 / np.where(spread > 0, spread, 1.0)
    if isinstance(train, SurvivalDesign):
        slopes = _cox(train, unit)
    else:
        slopes = fit_proximal(
            train.X * unit, train.y, penalty=L2(POLICY.ridge), sample_weight=train.weight
        ).coefficients
    answers.append(_totals(test.X * unit, slopes))
    if limit is not None:
        arguments["max_terms"] = 2 * int(limit)
        answers.append(_fast_totals(program.formulation, train, test, arguments))
    found = [_auc(test, totals) for totals in answers]
    return np.array(found if limit is not None else [*found, math.nan])


def _cox(train: SurvivalDesign, unit: FloatArray) -> FloatArray:
    """Return the coefficients of Cox's model with a ridge, by scikit-survival; entries left out."""
    module = import_module("sksurv.linear_model")
    model = module.CoxPHSurvivalAnalysis(alpha=POLICY.ridge * len(train.time))
    found = model.fit(train.X * unit, survival_target(train.event, train.time))
    return np.asarray(found.coef_, dtype=np.float64)


def _fast_totals(
    formulation: str, train: Design, test: Design, arguments: dict[str, Any]
) -> FloatArray:
    """Return the totals of the test rows by the fast card of the training rows."""
    return _totals(test.X, _fast_card(formulation, train, arguments).coefficients)


def _fast_card(formulation: str, train: Design, arguments: dict[str, Any]) -> Card:
    """Return the fast card of some rows."""
    _, again = fit_card(
        train, formulation, heuristic=True, progress=False, time_limit=math.inf, **arguments
    )
    if again.card is None:
        raise DataError(f"no card on a part of the rows: {again.message}")
    return again.card


def _totals(X: FloatArray, points: npt.NDArray[Any]) -> FloatArray:
    """Return the totals of rows from the columns that have points."""
    used = np.flatnonzero(points)
    return np.asarray(X[:, used] @ points[used].astype(np.float64))


def _auc(design: Design, totals: FloatArray) -> float:
    """Weighted area under the ROC curve, as ``metrics.auc`` without loading scikit-learn.

    Times have Harrell's C in its place.
    """
    if isinstance(design, SurvivalDesign):
        return concordance(design.event, design.time, totals)
    cuts = TotalCuts.of(np.round(totals, 9))
    true = cuts.above(np.where(design.y > 0, design.weight, 0.0))
    false = cuts.above(np.where(design.y > 0, 0.0, design.weight))
    return float(0.5 * ((true[:-1] + true[1:]) @ -np.diff(false)) / (true[0] * false[0]))
