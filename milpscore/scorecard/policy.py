"""How much a card in print says."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PrintPolicy:
    """Limits that keep a card to lines of a terminal and a page, and its sentences readable."""

    digits: int = 6  # significant ones of figures in sentences
    line: int = 79  # characters of a line of text
    page_columns: int = 7  # totals side by side on a page of LaTeX
    most_rules: int = 8  # rules named in a sentence
    most_categories: int = 8  # of more categories the others are named, if these are fewer

    # totals and risks
    most_totals: int = 30  # listed one by one where all are known,
    most_groups: int = 12  # where only those that occur are known,
    most_ranges: int = 8  # and ranges of equal width beyond these
    tail: float = 0.01  # of many totals, risks below it and above 1 - it are not told apart
    certain: float = 0.0005  # nearer to 0 or 1 a risk is printed as next to certain
    most_ordinal_totals: int = 100  # lines of an ordinal card's table by total

    events_per_line: int = 10  # fewer are said to be too few (Peduzzi et al., 1996)

    # votes
    most_ways: int = 8  # ways to a positive answer listed one by one
    most_voting_totals: int = 200_000  # voters with more different totals are refused
    most_questions: int = 14  # features of a card whose orders are compared, by all their sets


POLICY = PrintPolicy()
