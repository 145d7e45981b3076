"""One card for several sites, each with an intercept of its own."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from milpscore.core.card import Card
from milpscore.core.design import BoolArray, Design, IntArray
from milpscore.core.errors import DataError, NotApplicableError, OptionError
from milpscore.core.program import Program
from milpscore.core.result import Result
from milpscore.core.writing import printable
from milpscore.data import make_survival_design
from milpscore.fitting import fit_card
from milpscore.formulations import risk_score
from milpscore.scorecard import Scorecard
from milpscore.scorecard.certified import allowed_cards, shown_card
from milpscore.scorecard.claims import certificate_sentences, rarer_rows
from milpscore.scorecard.rendering import attainable_totals, table_lines, text_table
from milpscore.verify import evaluate


@dataclass(frozen=True, repr=False)
class SiteCards:
    """Points that all sites share, and the card of each with its own intercept.

    Attributes
    ----------
    cards : mapping of site to Scorecard
        The same lines and points, with the site's risks and decision.
    table : DataFrame
        By site: rows, the share of positive ones (by weight), the intercept in points, and the mean
        logistic loss with it and with one intercept for all sites.
    loss : float
        The mean loss over all sites, recomputed.
    program, result :
        The program whose intercepts are profiled out, and its answer with objective and bound;
        :func:`milpscore.certificate.certify` makes a certificate of both.
    """

    cards: Mapping[Hashable, Scorecard]
    table: pd.DataFrame
    loss: float
    program: Program
    result: Result

    def to_text(self) -> str:
        """The lines, the risk that each total means at each site, and the table of sites."""
        named = [str(site) for site in self.cards]
        first, *_ = self.cards.values()
        totals = attainable_totals(first)
        lines = [*text_table(first), ""]
        if totals is not None:
            counted = np.array(totals, dtype=np.float64)
            risks = [[f"{p:.1%}" for p in card.risks(counted)] for card in self.cards.values()]
            shown = [*map(list, zip(map(str, totals), *risks, strict=True))]
            lines += ["Risk at each site:", *table_lines([["Total", *named], *shown]), ""]
        rows = [["Site", "Rows", "Positive", "Loss", "With one intercept"]]
        for name, row in zip(named, self.table.to_dict("records"), strict=True):
            losses = (f"{each:.5f}" for each in (row["loss"], row["loss_with_one_intercept"]))
            rows.append([name, f"{row['rows']:,}", f"{row['positive']:.1%}", *losses])
        lines += [*table_lines(rows), "", *certificate_sentences(first.certificate)]
        return printable("\n".join(lines), "\n")

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return f"<SiteCards of {len(self.cards)} sites: loss {self.loss:.5f}, {self.result.claim}>"


def fit_by_site(
    design: Design,
    by: Any,
    *,
    title: str = "Scorecard",
    time_limit: float | None = None,
    random_state: int = 0,
    progress: bool | None = None,
    **arguments: Any,
) -> SiteCards:
    r"""Fit one card to several sites, the intercept of each being a nuisance that is profiled out.

    Sites differ in how many of their rows are positive, for reasons that no column knows. With one
    intercept the points have to explain that as well; with an intercept :math:`b_g` for each site
    g they are those of rows compared within their site:

    .. math:: \min_{w, s}\ \frac1N \sum_g \min_{b_g} \sum_{i \in g} n_i
        \log\bigl(1 + e^{-y_i (s\, w \cdot x_i + b_g)}\bigr) + C_0 \lVert w \rVert_0 .

    That is :func:`milpscore.formulations.survival_score` in discrete time, each site an interval in
    which its rows alone are at risk, positive ones as events: the tree, bounds, tangents in HiGHS
    and certificates are those there are.

    Parameters
    ----------
    design : Design
        Rows of two classes, say of :func:`milpscore.data.read_sites`.
    by : array of shape (n,)
        The site of each row.
    title : str
    time_limit : float, optional
        As in :func:`milpscore.solvers.solve`.
    random_state, progress :
        As in :func:`milpscore.solvers.solve`.
    **arguments :
        Arguments of ``survival_score``: ``max_terms``, ranges, penalties, ``scale``, constraints
        on points.

    Returns
    -------
    SiteCards

    Raises
    ------
    DataError
        There is one site alone, ``by`` has another length, or the rows of a site are of one class,
        which says nothing of points once its intercept is its own.
    OptionError
        An argument is one of times, or no card was found.
    NotApplicableError
        The design is not one of two classes.
    """
    sites, number = _sites(design, by)
    if timed := sorted({"times", "exposure", "time", "event", "entry"} & arguments.keys()):
        raise OptionError(f"{timed[0]!r} is an argument of times: leave it out")
    if time_limit is not None:
        arguments["time_limit"] = time_limit
    program, result = fit_card(
        make_survival_design(
            design.X, time=number + 1.0, event=design.y > 0, entry=number.astype(np.float64),
            sample_weight=design.weight, columns=design.columns, blocks=design.blocks,
        ),
        "survival_score", times=np.arange(1.0, len(sites) + 1.0).tolist(), exposure="discrete",
        random_state=random_state, progress=progress, **arguments,
    )  # fmt: skip
    if result.card is None:
        raise OptionError(f"no card was found: {result.message}")
    cards, rows = dict[Hashable, Scorecard](), []
    ranges = {
        end: limit.tolist()
        for end, limit in zip(("coef_min", "coef_max"), program.statement.ranges, strict=True)
    }
    given: dict[str, Any] = {
        **ranges, "scale": float(result.card.scale or 1), "intercept": "real",
        "max_terms": program.statement.max_terms,
    }  # fmt: skip
    points = result.card.coefficients
    shared = risk_score(design, **given).statement.with_best_intercept(points)
    for k, site in enumerate(sites):
        own = _rows_of(design, number == k)
        statement = risk_score(own, **given).statement
        card = statement.with_best_intercept(points)
        losses = [evaluate(statement, each).loss for each in (card, Card(points, shared.intercept))]
        weight = own.weight.sum()
        share = float(own.weight[own.y > 0].sum() / weight)
        rows.append((int(own.rows.sum()), weight, share, float(card.intercept), *losses))
        shown = shown_card(statement, card, f"{title}: {site}")
        cards[site] = replace(shown, certificate=_record(program, result, design, own))
    names = ["rows", "weight", "positive", "intercept", "loss", "loss_with_one_intercept"]
    table = pd.DataFrame(rows, columns=names, index=pd.Index(sites, name="site"))
    loss = float(np.average(table["loss"], weights=table["weight"]))
    return SiteCards(cards, table, loss, program, result)


def _rows_of(design: Design, chosen: BoolArray) -> Design:
    """Return some rows of a design."""
    counts = None if design.counts is None else design.counts[chosen]
    parts = {name: getattr(design, name)[chosen] for name in ("X", "y", "weight")}
    return replace(design, counts=counts, **parts)


def _sites(design: Design, by: Any) -> tuple[list[Hashable], IntArray]:
    """Return the sites in order, and the number of each row's."""
    if type(design) is not Design:
        raise NotApplicableError("sites are compared in rows of two classes, without times")
    labels = np.asarray(by)
    if labels.shape != design.y.shape:
        raise DataError(
            f"{{by}} has the shape {labels.shape}, where {design.y.shape} is needed", by=...
        )
    if pd.isna(labels).any():
        raise DataError("{by} has missing values: name the site of each row", by=...)
    found, number = np.unique(labels, return_inverse=True)
    sites, number = found.tolist(), number.ravel().astype(np.int64)
    if len(sites) < 2:
        raise DataError("{by} names one site alone: fit its card as any other", by=...)
    for k, site in enumerate(sites):
        if len(np.unique(design.y[(number == k) & (design.weight > 0)])) < 2:
            raise DataError(
                f"the rows of {site!r} are of one class, which says nothing of points once its "
                "intercept is its own: leave them out"
            )
    return sites, number


def _record(program: Program, result: Result, design: Design, own: Design) -> dict[str, Any]:
    """Return what a site's card says of its making."""
    assert result.card is not None
    caveats = ["for all sites together, each with an intercept of its own", result.caveat]
    return {
        # each site's card is a risk score: that they were solved as one of times is how, not what
        **result.summary(), "formulation": "risk_score", "loss_name": "logistic",
        "rarer_rows": rarer_rows(design), "n_rows": int(own.rows[own.weight > 0].sum()),
        "lines": int(np.count_nonzero(result.card.coefficients)),
        "allowed": allowed_cards(program.statement, result.card.scale, result.dual_bound),
        "caveat": ", ".join(filter(None, caveats)),
    }  # fmt: skip
