"""The least change of a card in use: the best card with at most r of its lines changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from milpscore.constraints import Constraint, MaxPoints, apply_constraints
from milpscore.constraints.parts import Answers
from milpscore.core.card import Card
from milpscore.core.clock import Clock
from milpscore.core.design import Column, Design, FloatArray, IntArray
from milpscore.core.errors import DataError, OptionError, is_whole
from milpscore.core.program import Program
from milpscore.core.result import Claim, Result, Termination
from milpscore.core.writing import printable
from milpscore.data import Binner, apply_columns, make_design
from milpscore.data.columns import total_of
from milpscore.fitting import fit_card
from milpscore.formulations import BEYOND, any_scale, risk_score
from milpscore.formulations.policy import POLICY
from milpscore.scorecard import Scorecard
from milpscore.scorecard.certified import shown_card
from milpscore.scorecard.claims import changed_points, rarer_rows
from milpscore.scorecard.rendering import table_lines
from milpscore.solvers.options import Options
from milpscore.verify import evaluate

IN_USE = "card in use"
"""The column that holds the totals of the card in use."""


@dataclass(frozen=True)
class ChangedLine:
    """A line of the card and its points before and after; 0 where there is none."""

    line: str
    before: int
    after: int

    def __str__(self) -> str:
        return f"{self.line}: {self.before} → {self.after}"


@dataclass(frozen=True, repr=False)
class Rung:
    """The best card with at most ``changes`` lines changed.

    Attributes
    ----------
    changes : int
    card : Scorecard
        With risks by its new intercept and slope; what did not change is printed as before.
    changed : tuple of ChangedLine
    loss : float
        The mean logistic loss, recomputed.
    bound : float
        No card with at most ``changes`` lines changed, to points of the range, loses less.
    program, result :
        The program of the changes, whose last column is the total of the card in use, and its
        answer; :func:`milpscore.certificate.certify` makes a certificate of both.
    """

    changes: int
    card: Scorecard
    changed: tuple[ChangedLine, ...]
    loss: float
    bound: float
    program: Program
    result: Result

    @property
    def is_bounded(self) -> bool:
        """Whether more is proved than that no loss is below 0."""
        return self.result.claim is not Claim.FEASIBLE

    def __repr__(self) -> str:
        return f"<Rung of {self.changes} changes: loss {self.loss:.5f}, bound {self.bound:.5f}>"


@dataclass(frozen=True, repr=False)
class Update:
    """A card in use, and the best ones that change little of it.

    Attributes
    ----------
    card : Scorecard
        The card in use.
    stated_loss : float or None
        The mean logistic loss of the risks it states; None if it states none.
    intercept_loss : float or None
        The same with the best intercept for its slope (calibration in the large).
    point_range : (int, int)
        The least and most points that a line may have after a change.
    point_changes : int or None
        The most points by which lines may change together; None without a limit.
    rungs : tuple of Rung
        For 0, 1, ... changes: new intercept and slope alone first.
    remark : str
        What cut the search short, at which numbers of changes; empty if nothing did.
    """

    card: Scorecard
    stated_loss: float | None
    intercept_loss: float | None
    point_range: tuple[int, int]
    point_changes: int | None
    rungs: tuple[Rung, ...]
    remark: str = ""

    @property
    def table(self) -> pd.DataFrame:
        """One row per rung: lines changed, loss, bound, gap, claim and what changed."""
        rows: list[tuple[Any, ...]] = [
            ("as it states", None, self.stated_loss, None, "", ""),
            ("new intercept", None, self.intercept_loss, None, "", ""),
        ]
        known = [row for row in rows if row[2] is not None]
        for rung in self.rungs:
            name = "new slope and intercept" if not rung.changes else f"{rung.changes} changed"
            said = "; ".join(map(str, rung.changed))
            bound, claim = rung.bound if rung.is_bounded else None, str(rung.result.claim)
            known.append((name, rung.changes, rung.loss, bound, claim, said))
        names = ["card", "changes", "loss", "bound", "claim", "changed"]
        return pd.DataFrame(known, columns=names).set_index("card")

    @property
    def sentences(self) -> list[str]:
        """What no small change gains, rung by rung."""
        first, (low, high) = self.rungs[0], self.point_range
        by = changed_points(self.point_changes)
        said: list[str] = []
        if first.changes:  # the card itself breaks a limit: there is nothing to gain on
            return said
        for rung in self.rungs[1:]:
            lines = "one line" if rung.changes == 1 else f"{rung.changes} lines"
            of = f"change of at most {lines}, {by}to points from {low} to {high},"
            loss = f"off the loss of the recalibrated card ({first.loss:.5f})"
            most = f"takes more than {max(0.0, first.loss - rung.bound):.5f} {loss}"
            said.append(
                f"{f'No {of} {most}' if rung.is_bounded else f'What a {of} takes is not bounded'}; "
                f"the best change found takes {first.loss - rung.loss:.5f} off."
            )
        return said

    def to_text(self) -> str:
        """The table, and what it proves."""
        table = self.table.drop(columns=["changes", "changed"]).reset_index()
        cells = [[*table.columns], *map(list, table.itertuples(index=False))]
        shown = table_lines([[_cell(value) for value in row] for row in cells])
        lines = [
            f"{rung.changes} changed: " + "; ".join(map(str, rung.changed))
            for rung in self.rungs if rung.changed
        ]  # fmt: skip
        head = f"Least changes of: {self.card.title}"
        said = [head, "", *shown, "", *lines, *self.sentences, *filter(None, [self.remark])]
        return printable("\n".join(said), "\n")

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return f"<Update of {self.card.title!r}: {len(self.rungs) - 1} changes at most>"


def update(
    card: Scorecard,
    X: Any,
    y: Any,
    *,
    changes: int = 2,
    point_changes: int | None = None,
    new_lines: Binner | None = None,
    coef_min: int = -5,
    coef_max: int = 5,
    constraints: Iterable[Constraint] = (),
    sample_weight: Any = None,
    time_limit: float = Options.time_limit,
    random_state: int = 0,
    progress: bool | None = None,
) -> Update:
    r"""Change a card in use as little as is worth it, with a proof of what more would gain.

    With the points :math:`w^0` of the card and changes v of them, total and slope are

    .. math:: s\,(w^0 \cdot x + v \cdot x) + b, \qquad \lVert v \rVert_0 \le r, \qquad
        l \le w^0 + v \le u,

    a risk score whose columns are those of the card, and the card's own total with the coefficient
    1. Each r from 0 to ``changes`` is solved: first intercept and slope alone (recalibration), then
    the best change of one line, and so on. A line may be a column of the card that had no points.
    After Ctrl-C the rungs so far are returned, and ``remark`` says so.

    Parameters
    ----------
    card : Scorecard
        The card in use.
    X : DataFrame, array or list of rows, shape (n, q)
        Raw data, with the features of the card.
    y : array of shape (n,)
        With the labels of the card.
    changes : int
        The most lines that may change.
    point_changes : int, optional
        The most points by which they may change together: from 1 to 4 and from 3 to 2 are 4.
    new_lines : Binner, optional
        Makes further lines of X that a change may add; by default those of the card alone.
    coef_min, coef_max : int
        Ranges of the points after a change, widened to those the card has.
    constraints : iterable of Constraint
        Limits on errors and gaps (``MaxErrors``, ``MaxFPR``, ``MinTPR``, ``MaxGap``): what the
        answers of the new card must keep to. A number of changes is left out if no card of it was
        found, by proof or for lack of time.
    sample_weight : array of shape (n,), optional
    time_limit : float
        Seconds for all rungs together, shared equally.
    random_state, progress :
        As in :func:`milpscore.solvers.solve`.

    Returns
    -------
    Update

    Raises
    ------
    DataError
        The rows lack features of the card, hold other labels, or one label alone; or no card of so
        few changes keeps to the limits.
    OptionError
        ``changes`` or ``point_changes`` is not a whole number from 0 on, or a constraint speaks of
        points.
    """
    limits = {"changes": changes}
    if point_changes is not None:
        limits["point_changes"] = point_changes
    for name, limit in limits.items():
        if not is_whole(limit, 0):
            raise OptionError(
                f"{{{name}}} must be a whole number from 0 on, got {limit!r}", **{name: ...}
            )
    clock, card = Clock.of(time_limit), _known(card, X)
    design, points = _lines(card, X, y, new_lines, sample_weight)
    total = total_of(design.X, points.tolist())
    if np.ptp(total) == 0.0:
        raise DataError("the card gives all rows one total: there is nothing to recalibrate")
    total_column = Column(IN_USE, IN_USE, "total", points=tuple(points.tolist()))
    augmented = make_design(
        np.column_stack([design.X, total]), design.y > 0, sample_weight=design.weight,
        positive=True, columns=(*design.columns, total_column),
    )  # fmt: skip
    augmented = replace(augmented, classes=card.classes)
    rules = _of_answers(constraints, augmented)
    low, high = min(coef_min, int(points.min())), max(coef_max, int(points.max()))
    ranges: dict[str, Any] = {
        "coef_min": np.append(low - points, 1).tolist(),
        "coef_max": np.append(high - points, 1).tolist(),
    }
    # the card's points are no multiples of smaller ones: any slope may be theirs
    free, step = risk_score(augmented, **ranges).statement.scales, augmented.step
    assert free is not None
    ends = [float(free.lower)] + ([] if step is None else [float(step) / POLICY.steepest])
    stated, shifted = _as_it_is(card, augmented, total)
    rungs: list[Rung] = []
    # the column of the totals has the coefficient 1
    within = () if point_changes is None else (MaxPoints(point_changes + 1),)
    short: dict[str, list[int]] = {}
    for r in range(changes + 1):
        try:
            program, result = fit_card(
                augmented, "risk_score", max_terms=r + 1, l0_penalty=0.0, progress=progress,
                scale=(min(ends), float(free.upper)),
                time_limit=clock.part(1.0 / (changes + 1 - r)), random_state=random_state,
                constraints=(*rules, *within), **ranges,
            )  # fmt: skip
            before = rungs[-1] if rungs else None
            if result.card is not None:
                made = _rung(card, design, points, (low, high), r, program, result, before, rules)
                rungs.append(_with(made, point_changes=point_changes))
            ended = result.termination
        except KeyboardInterrupt:  # between the searches
            if not rungs:
                raise
            ended = Termination.INTERRUPTED
        if ended is Termination.INTERRUPTED or (ended.cut and result.claim is not Claim.OPTIMAL):
            short.setdefault(ended.sentence.rstrip("."), []).append(r)
        if ended is Termination.INTERRUPTED:
            break
    if not rungs:
        raise DataError(f"no card of at most {changes} changes: {result.message}")
    remark = "; ".join(
        f"{why} at {', '.join(map(str, at))} of {changes} changes" for why, at in short.items()
    )
    remark = remark and f"{remark}: better cards may be left there."
    range_ = low, high
    return _recorded(Update(card, stated, shifted, range_, point_changes, tuple(rungs), remark))


def _of_answers(constraints: Iterable[Constraint], design: Design) -> tuple[Constraint, ...]:
    """Return limits on answers; OptionError for what speaks of points, which are changes here."""
    rules = tuple(constraints)
    for applied in apply_constraints(rules, design):
        if not all(isinstance(part, Answers) for part in applied.parts):
            raise OptionError(
                f"{applied.name!r} speaks of points: an update takes limits on errors and gaps"
            )
    return rules


def _recorded(made: Update) -> Update:
    """Return the update with its table on every card, for the report."""
    table = made.table.reset_index().astype(object)
    rows = table.where(table.notna(), None).to_dict("records")
    *earlier, last = (_with(rung, rungs=rows) for rung in made.rungs)
    if made.remark:
        last = _with(last, cut_short=made.remark)
    return replace(made, rungs=(*earlier, last))


def _with(rung: Rung, **entries: Any) -> Rung:
    """Return a rung with more entries in its card's certificate."""
    known = {**rung.card.certificate, **entries}
    return replace(rung, card=replace(rung.card, certificate=known))


def _known(card: Scorecard, X: Any) -> Scorecard:
    """Return the card without columns of features that have no points and that X lacks."""
    if not isinstance(X, pd.DataFrame):
        return card
    needed = {feature.name for feature in card.used_features} | {*map(str, X.columns)}
    kept = [j for j, column in enumerate(card.columns) if column.feature in needed]
    place = {j: k for k, j in enumerate(kept)}
    return replace(
        card,
        columns=tuple(card.columns[j] for j in kept),
        points=tuple(card.points[j] for j in kept),
        blocks=tuple(tuple(place[j] for j in b) for b in card.blocks if {*b} <= place.keys()),
        flags=tuple(place[j] for j in card.flags if j in place),
    )


def _lines(
    card: Scorecard, X: Any, y: Any, new_lines: Binner | None, sample_weight: Any
) -> tuple[Design, IntArray]:
    """Return a design of the lines that may change, and the points that they have."""
    columns, values = list(card.columns), apply_columns(card.columns, X)
    labels = np.asarray(y)
    if unknown := sorted({*np.unique(labels).tolist()} - {*card.classes}, key=str):
        raise DataError(
            f"the labels hold {unknown[0]!r}; the card answers {list(card.classes)}: recode the "
            "labels to these two, or name their column"
        )
    positive = labels == card.classes[1]
    if new_lines is not None:
        more = new_lines.fit_design(X, positive)
        names = {column.name for column in columns}
        fresh = [j for j, column in enumerate(more.columns) if column.name not in names]
        columns += [more.columns[j] for j in fresh]
        values = np.column_stack([values, more.X[:, fresh]])
    design = make_design(
        values, positive, sample_weight=sample_weight, positive=True, columns=columns,
        blocks=card.blocks,
    )  # fmt: skip
    points = np.zeros(len(columns), dtype=np.int64)
    points[: len(card.points)] = card.points
    return replace(design, classes=card.classes), points


def _as_it_is(
    card: Scorecard, augmented: Design, total: FloatArray
) -> tuple[float | None, float | None]:
    """Return the loss of the risks a card states, and with the best intercept for its slope."""
    if card.risk is None or card.risk.link != "logistic":
        return None, None
    fixed = risk_score(augmented, scale=float(card.risk.scale), intercept="real").statement
    base, cut = sum(card.base_points.values()), card.fitted_rule.threshold
    alone = np.append(np.zeros(augmented.shape[1] - 1, dtype=np.int64), 1)
    own = Card(alone, Fraction(base) - cut)
    best = fixed.with_best_intercept(alone)
    return evaluate(fixed, own).loss, evaluate(fixed, best).loss


def _rung(
    card: Scorecard,
    design: Design,
    points: IntArray,
    allowed: tuple[int, int],
    changes: int,
    program: Program,
    result: Result,
    before: Rung | None,
    rules: tuple[Constraint, ...],
) -> Rung:
    """Return the card of a rung; the one with fewer changes where that is as good."""
    found = result.card
    assert found is not None  # the card in use is one
    own = points + found.coefficients[:-1]
    plain = risk_score(
        design, scale=float(found.scale or 1), coef_min=own.tolist(), coef_max=own.tolist()
    ).statement
    bare = Card(own, found.intercept)
    loss = evaluate(plain, bare).loss  # of the card that is shown, over its own columns
    kept = replace(plain, constraints=apply_constraints(rules, design))
    shown = shown_card(kept, bare, card.title, base_points=dict(card.base_points))
    statement, bound = program.statement, result.dual_bound
    assert statement.scales is not None
    everywhere = any_scale(statement, bound)
    bound -= BEYOND * everywhere  # what scales beyond the range searched may gain
    ends = float(statement.scales.lower), float(statement.scales.upper)
    certificate = {
        **result.summary(), "changes": changes, "points_from": allowed[0],
        "points_to": allowed[1], "loss_name": "logistic",
        "n_rows": int(design.rows[design.weight > 0].sum()), "rarer_rows": rarer_rows(design),
        "lines": int(np.count_nonzero(own)),
    }  # fmt: skip
    if not everywhere:
        certificate["caveat"] = f"at scales from {ends[0]:.3g} to {ends[1]:.3g}"
    shown = replace(shown, words=card.words, outcome=card.outcome, certificate=certificate)
    if before is not None and before.loss <= loss + BEYOND:
        return replace(before, changes=changes, bound=bound, program=program, result=result)
    changed = tuple(_changes(card, design, points, own))
    return Rung(changes, shown, changed, loss, bound, program, result)


def _cell(value: Any) -> str:
    """Return a cell as text, empty where nothing is known."""
    if isinstance(value, float):
        return "" if np.isnan(value) else f"{value:.5f}"
    return "" if value is None else str(value)


def _changes(
    card: Scorecard, design: Design, points: IntArray, own: IntArray
) -> Iterator[ChangedLine]:
    """Yield the lines whose points differ, as they are printed."""
    for j in np.flatnonzero(points != own):
        column = design.columns[j]
        base = card.base_points.get(column.feature, 0)
        yield ChangedLine(column.name, base + int(points[j]), base + int(own[j]))
