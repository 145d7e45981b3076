"""The one function of this room: a card, its proof and its figures as a page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pandas import DataFrame

from milpscore.certificate import Certificate, Verification
from milpscore.core.result import Result
from milpscore.core.statement import Statement
from milpscore.plots.drawing import Results, results_of
from milpscore.report._page import Extras, page_of
from milpscore.report._subject import subject_of
from milpscore.scorecard import Scorecard


def report(
    card: Scorecard | Certificate,
    X: Any,
    y: Any = None,
    *,
    path: str | Path | None = None,
    certificate: Certificate | None = None,
    statement: Statement | None = None,
    result: Result | None = None,
    comparison: DataFrame | None = None,
    pool: Any = None,
    verification: Verification | None = None,
    sample_weight: Any = None,
    class_weight: Any = None,
    random_state: int = 0,
) -> str:
    """Write one self-contained HTML page about a card.

    The card stands first and prints on a page of its own. Below it: what is proved, in a number
    derived from the bound; what the card answers on the data, with bands; a comparison and a pool
    where they are given; and what the data are like. The page loads nothing.

    Parameters
    ----------
    card : Scorecard or Certificate
    X : Design, DataFrame or array of shape (n, number of features)
        The data to report on. Where they have another fingerprint than the card's, the page says
        so, computes its figures from them, and claims nothing.
    y : array of shape (n,), the labels; None with a Design
    path : str or Path, optional
        Where to write the page, in UTF-8.
    certificate : Certificate, optional
        Of the card; it tells which cards the bound speaks of.
    statement : Statement, optional
        ``program.statement``, which tells the same.
    result : Result, optional
        Of the solve, for its bound over time.
    comparison : DataFrame, optional
        Of :func:`milpscore.compare`, as it came.
    pool : Pool, optional
        Of :func:`milpscore.pools.pool`.
    verification : Verification, optional
        Of :func:`milpscore.certificate.verify_certificate` on the same data.
    sample_weight, class_weight :
        As they were given to the builder; None with a Design.
    random_state : int
        Seed of the bootstrap.

    Returns
    -------
    str
        The page.

    Raises
    ------
    DataError
        The data lack a feature with points or have other labels, or card, certificate and
        statement are not of one solve.
    NotApplicableError
        ``card``, ``comparison`` or ``pool`` is something else.

    Examples
    --------
    >>> milpscore.report.report(clf.scorecard_, X, y, path="report.html")    # doctest: +SKIP
    """
    subject = subject_of(
        card,
        X,
        y,
        sample_weight=sample_weight,
        class_weight=class_weight,
        certificate=certificate,
        statement=statement,
    )
    extras = Extras(comparison, _results(comparison, result), pool, verification, random_state)
    page = page_of(subject, extras)
    if path is not None:
        Path(path).write_text(page, encoding="utf-8")
    return page


def _results(comparison: DataFrame | None, result: Result | None) -> Results | None:
    """The solves whose progress can be drawn."""
    if result is not None:
        return results_of(result)
    # some DataFrame operations drop attrs: the table is shown without its charts then
    if comparison is not None and comparison.attrs.get("results"):
        return results_of(comparison)
    return None
