"""The items of TRIPOD+AI (2024) that a page about a card answers, and those left to its author."""

from __future__ import annotations

from collections.abc import Collection

ITEMS: tuple[tuple[str, str, str], ...] = (
    ("1", "Title: development or evaluation, the population and the outcome", "population outcome"),
    ("2", "Abstract", ""),
    ("3a", "Background: the healthcare context, existing models", ""),
    ("3b", "Target population, intended purpose and users", ""),
    ("3c", "Known health inequalities between groups", ""),
    ("4", "Objectives", ""),
    ("5", "Sources of the data, and their dates", ""),
    ("6a", "Setting, number and place of centres", ""),
    ("6b", "Eligibility of participants", "population"),
    ("6c", "Treatments received", ""),
    ("7", "Preparation and quality of the data, alike in all groups", ""),
    ("8a", "What is predicted", "outcome"),
    ("8b", "Who assessed the outcome, and whether they were blind to predictors", ""),
    ("9a", "Choice of the predictors", ""),
    ("9b", "Definition and measurement of the predictors", ""),
    ("10", "Sample size: rows of the rarer class per feature", "data"),
    ("11", "Handling of missing data", "data"),
    ("12a", "Use of the data: development and evaluation", "validation"),
    ("12b", "Handling of predictors: the cuts on the card", "card"),
    ("12c", "Type of model, how it was built, internal validation", "program refits"),
    ("12d", "Heterogeneity between clusters: how it was handled", ""),
    ("12e", "Measures and plots of performance", "performance"),
    ("12f", "Model updating", ""),
    ("12g", "How predictions were computed", "card"),
    ("13", "Class imbalance: methods, and recalibration after them", ""),
    ("14", "Fairness: what was done about it", "subgroups"),
    ("15", "Output of the model: risks, classes and thresholds", "card"),
    ("16", "Differences between the data of development and evaluation", "validation"),
    ("17", "Ethical approval", ""),
    ("18", "Funding, conflicts of interest, protocol, registration, data and code", ""),
    ("19", "Involvement of patients and the public", ""),
    ("20a", "Flow of participants", ""),
    ("20b", "Characteristics of participants, missing data among them", "data"),
    ("20c", "Evaluation: comparison of predictors and outcome with development", "validation"),
    ("21", "Number of participants and outcome events", "data"),
    ("22", "The full model, so that others can predict with it", "card"),
    ("23a", "Performance with confidence intervals, in key subgroups too", "performance subgroups"),
    ("23b", "Heterogeneity between clusters: what was found", ""),
    ("24", "Results of model updating", ""),
    ("25", "Interpretation, fairness included", ""),
    ("26", "Limitations", ""),
    ("27a", "Use: how input that is missing is handled", "card data"),
    ("27b", "Use: interaction and expertise that users need", ""),
    ("27c", "Next steps of research", ""),
)
"""Number, what it asks for, and what has to be on the page for a tick; empty: never on it."""

SECTIONS = {
    "card": "the card",
    "certificate": "What is proved",
    "data": "The data",
    "performance": "How it does",
    "subgroups": "Subgroups",
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
