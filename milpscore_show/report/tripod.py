"""The items of TRIPOD (2015) that a page about a card answers, and those left to its author."""

from __future__ import annotations

from collections.abc import Collection

ITEMS: tuple[tuple[str, str, str], ...] = (
    ("1", "Title: the outcome to be predicted and the population", "population outcome"),
    ("2", "Abstract", ""),
    ("3", "Background and objectives", ""),
    ("4", "Source of data and dates of the study", ""),
    ("5a", "Setting, number and place of centres", ""),
    ("5b", "Eligibility of participants", "population"),
    ("6a", "What is predicted", "outcome"),
    ("6b", "Blinding of the assessment of the outcome", ""),
    ("7a", "Predictors used", "card"),
    ("8", "Sample size: rows of the rarer class for each feature", "data"),
    ("9", "Handling of missing data", "data"),
    ("10a", "How predictors were handled: the cuts on the card", "card"),
    ("10b", "Type of model, how it was built, internal validation", "program refits"),
    ("10c", "Validation: how predictions were computed", "card"),
    ("10d", "Measures of performance", "performance"),
    ("11", "Risk groups", "groups"),
    ("12", "Validation: differences from the development data", "validation"),
    ("13a", "Flow of participants", ""),
    ("13b", "Characteristics of participants, missing data among them", "data"),
    ("13c", "Validation: comparison of predictors and outcome with development", "validation"),
    ("14a", "Number of participants and outcome events", "data"),
    ("15a", "The full model", "card"),
    ("15b", "How to use the model", "card"),
    ("16", "Performance with confidence intervals", "performance"),
    ("18", "Limitations of the study", ""),
    ("19", "Interpretation beside other evidence", ""),
    ("20", "Potential clinical use", ""),
    ("21", "Supplementary information: the proof and its hashes", "certificate"),
    ("22", "Source of funding", ""),
)
"""Number, what it asks for, and what has to be on the page for a tick; empty: never on it."""

SECTIONS = {
    "card": "the card",
    "certificate": "What is proved",
    "data": "The data",
    "performance": "How it does",
    "groups": "Risk groups",
    "validation": "The data, How it does",
    "program": "What is proved",
    "refits": "Stability",
    "population": "the head of the card",
    "outcome": "the head of the card",
}
"""Where on the page each of these is answered."""


def ticked(there: Collection[str]) -> list[tuple[str, str, str]]:
    """Number, what it asks for, and where it is answered; empty where it is not."""
    found = []
    for number, asks, needs in ITEMS:
        wanted = needs.split()
        places = dict.fromkeys(SECTIONS[each] for each in wanted)
        answered = bool(wanted) and set(wanted) <= set(there)
        found.append((number, asks, ", ".join(places) if answered else ""))
    return found
