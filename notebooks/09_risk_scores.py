# %% [markdown]
# # Risk scores with a proof
#
# **What this teaches.** A card whose total is a *probability*: how to ask for the best one, what is
# proved of it and how others check the proof, how to impose the rules of a ward, which other cards
# are as good, and what one more line is worth. Every claim below is asserted.
#
# The data are made here, so that the truth is known: 3,000 discharges, and whether the patient came
# back within a month. Half of them fit the card, the other half judge it.

# %%
import tempfile
from dataclasses import replace
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

import milpscore
from milpscore.certificate import Certificate, certify, verify_certificate
from milpscore.constraints import AtLeast, EitherOr, Include, MaxFeatures, MaxFPR, Monotone
from milpscore.data import Binner
from milpscore.estimators import RiskScoreClassifier
from milpscore.formulations import risk_score
from milpscore.pools import pareto, pool
from milpscore.scorecard import certified_card
from milpscore_show import plots

plt.style.use("milpscore_show.plots.style")

rng = np.random.default_rng(7)
n = 3000
table = pd.DataFrame(
    {
        "age": rng.integers(18, 95, n),
        "creatinine": np.round(rng.lognormal(4.5, 0.35, n)).astype(int),
        "stays": rng.poisson(0.8, n),
        "emergency": rng.integers(0, 2, n),
        "diabetes": (rng.random(n) < 0.2).astype(int),
        "smoker": (rng.random(n) < 0.3).astype(int),
        "lives alone": (rng.random(n) < 0.35).astype(int),
    }
)
logit = (
    0.035 * (table["age"] - 60)
    + 1.35 * np.log(table["creatinine"] / 90)
    + 0.6 * np.minimum(table["stays"], 3)
    + 0.7 * table["emergency"]
    + 0.5 * table["diabetes"]
    + 0.3 * table["lives alone"]
    - 1.7
)
true_risk = 1 / (1 + np.exp(-logit.to_numpy()))
came_back = np.where(rng.random(n) < true_risk, "back", "at home")
fit, held = np.arange(n) < n // 2, np.arange(n) >= n // 2
print(f"{(came_back == 'back').mean():.0%} came back")
table.head(3)

# %% [markdown]
# ## The program
#
# Measurements become questions at thresholds a nurse knows. Integer points $w$ and an integer
# intercept $b$ are chosen to make the observed outcomes as likely as possible:
#
# $$\min_{w \in \{-3..3\}^p,\ b \in \mathbb Z}\ \frac1n \sum_i
# \log\bigl(1 + e^{-y_i (w \cdot x_i + b) / \sigma}\bigr) + C_0 \|w\|_0, \qquad \|w\|_0 \le 6,$$
#
# and the total $t = w \cdot x$ states the risk $1 / (1 + e^{-(t + b)/\sigma})$. With $\sigma = 2$
# two points make one unit of the log-odds: finer risks than $\sigma = 1$ with points as small.

# %%
thresholds = {"age": [45, 60, 75], "creatinine": [90, 120, 150], "stays": [1, 2, 4]}
binner = Binner(thresholds=thresholds, encoding="cumulative")
design = binner.fit_design(table[fit], came_back[fit], positive="back")
card_space = {"coef_min": -3, "coef_max": 3, "max_terms": 6, "scale": 2.0}
program = risk_score(design, **card_space)
result = milpscore.solve(program, time_limit=300)
card = certified_card(design, result, "Back within a month?", statement=program.statement)
card

# %% [markdown]
# Below the points stand the totals with the risk each of them states, what was observed, and in how
# many rows. A total equal to the threshold has the risk 1/2 and is answered positive. `max_terms`
# limits columns; the card counts as terms the raw features they come from.
#
# ## What is proved
#
# The logistic loss is not a line, so this is not a MILP; the default solver is a branch and bound
# with convex bounds. The usual road, logistic regression and then rounding, has no bound at all. It
# can be judged by ours.

# %%
free = LogisticRegression(C=1e6, max_iter=1000).fit(design.X, design.y)
scaled = 2.0 * free.coef_[0]
largest = np.argsort(-np.abs(scaled))[:6]
rounded = np.zeros(design.shape[1], dtype=np.int64)
rounded[largest] = np.clip(np.rint(scaled[largest]), -3, 3)
by_rounding = program.statement.with_best_intercept(rounded)


def summary(card):
    """Loss and errors, counted anew on the raw rows."""
    score = design.X @ card.coefficients + float(card.intercept)
    loss = np.logaddexp(0, -design.y * score / 2.0).mean()
    errors = int(((score >= 0) != (design.y > 0)).sum())
    return {"loss": loss, "columns": card.nonzeros, "errors": errors}


losses = pd.DataFrame(
    {
        "no points": summary(program.statement.empty_card()),
        "rounded regression": summary(by_rounding),
        "this card": summary(result.card),
    }
).T
assert str(result.claim) == "optimal"
assert abs(losses.loc["this card", "loss"] - result.loss) < 1e-9
assert result.dual_bound <= result.objective <= result.dual_bound + 1e-6
assert (losses["loss"] >= result.dual_bound - 1e-6 * 6).all()
print(f"no card of this kind has an objective below {result.dual_bound:.6f}")
losses.round(4)

# %% [markdown]
# ## A certificate that somebody else can check
#
# A bound is a solver's word until it is proved. `certify` writes down the leaves of the search with
# a linear inequality each; `verify_certificate` derives them again from the data, without the
# solver. A file that claims more than it proves is caught even when its checksum is right: below,
# somebody passes the rounded regression off as optimal.

# %%
folder = tempfile.TemporaryDirectory()
path = certify(program, result).to_json(Path(folder.name) / "proof.json")
print(f"{path.stat().st_size / 1000:.0f} kB")
certificate = Certificate.from_json(path)
verification = verify_certificate(certificate, design)
assert verification.proved
print(verification.to_text())

# %%
worse = milpscore.check(program, by_rounding)
boast = replace(
    certificate,
    card={"coefficients": rounded.tolist(), "intercept": str(by_rounding.intercept)},
    objective=worse.objective,
    loss=worse.loss,
    penalty=worse.penalty,
    bound=worse.objective - 1e-7,
).sealed()
answer = verify_certificate(boast, design)
assert answer["file"].status == answer["objective"].status == "proved"
assert "bound" in answer.failed
print(answer["bound"].status, "-", answer["bound"].sentence)

# %% [markdown]
# ## Does it hold on new patients?
#
# A proof of optimality says nothing of new rows; calibration does. `RiskScoreClassifier` is that
# program in scikit-learn's manner, thresholds included. The other 1,500 patients speak:

# %%
classifier = RiskScoreClassifier(**card_space, binner=binner, time_limit=300)
classifier.fit(table[fit], came_back[fit])
assert classifier.classes_.tolist() == ["at home", "back"]
assert classifier.scorecard_.points == card.points
assert classifier.scorecard_.threshold == card.threshold

groups = classifier.calibration_table(table[held], came_back[held])
spoken_against = groups[(groups["risk"] < groups["lower"]) | (groups["risk"] > groups["upper"])]
assert len(spoken_against) <= 2
print("totals whose interval misses the stated risk:", spoken_against["total"].tolist())
figure, ax = plt.subplots(figsize=(6.4, 3.6))
plots.calibration(groups, ax, title="1,500 patients the card never saw")

# %% [markdown]
# As the data were made here, the stated risks can also be set beside the *true* ones, which no
# patient carries on a label.

# %%
stated = classifier.predict_proba(table[held])[:, 1]
base = (came_back[fit] == "back").mean()
error = np.abs(stated - true_risk[held]).mean()
error_of_base = np.abs(base - true_risk[held]).mean()
assert error < error_of_base / 2
print(f"mean distance to the true risk: {error:.3f} (the same risk for all: {error_of_base:.3f})")

# %% [markdown]
# ## The rules of the ward
#
# Demands go into the program, so that the proof holds for the cards that meet them. What a rule
# costs is a difference of two proved numbers.

# %%
rules = {
    "none": [],
    "points never fall with age, creatinine": [Monotone(["age", "creatinine"])],
    "smoker or lives alone, not both": [EitherOr("smoker", "lives alone")],
    "at most 3 features": [MaxFeatures(3)],
    "at most 10 % false alarms under 60": [MaxFPR(0.1, where="age < 60")],
    "at most 20 % false alarms in emergencies": [MaxFPR(0.2, where="emergency")],
}
solved = {}
for name, demanded in rules.items():
    ruled = risk_score(design, **card_space, constraints=demanded)
    solved[name] = milpscore.solve(ruled, time_limit=300)
    assert milpscore.check(ruled, solved[name].card).feasible
    assert solved[name].objective >= result.dual_bound - 1e-9
MONOTONE = "points never fall with age, creatinine"
assert solved[MONOTONE].objective - result.objective <= 1e-6
found = solved.values()
pd.DataFrame(
    {
        "objective": [each.objective for each in found],
        "costs": [max(each.objective - result.objective, 0.0) for each in found],
        "claim": [str(each.claim) for each in found],
        "terms": [each.terms for each in found],
        "seconds": [each.solve_seconds for each in found],
    },
    index=list(solved),
).round(4)

# %% [markdown]
# Monotone points cost nothing here, and that is proved, not an impression: the best card has them
# already. Rules that nothing can meet are named:

# %%
demands = [
    MaxFeatures(2, name="fits on a wristband"),
    Include("age", name="age counts"),
    AtLeast(1, ["creatinine"], name="some laboratory"),
    AtLeast(1, ["diabetes", "smoker"], name="some history"),
    Monotone("age", name="risk rises with age"),
]
impossible = risk_score(design, **card_space, constraints=demands)
nothing = milpscore.solve(impossible, time_limit=300)
why = milpscore.solvers.conflict(impossible)
assert nothing.card is None
assert "risk rises with age" not in why.names
print(why.sentence)

# %% [markdown]
# ## All cards that are as good
#
# The optimum is one card. `pool` finds *every* card within half a percent of it, and proves that
# none is missing: a column in all of them is one that no good card does without.

# %%
cards = pool(program, epsilon=0.005, time_limit=300)
assert cards.complete
assert (cards.objectives <= 1.005 * result.objective + 1e-9).all()
assert cards.cards[0].coefficients.tolist() == result.card.coefficients.tolist()
print(cards)
cards.importance[["share", "min_points", "max_points", "min_reliance", "max_reliance"]].round(3)

# %%
figure, ax = plt.subplots(figsize=(6.6, 4.2))
plots.points_over_pool(cards, ax)
indispensable = cards.importance.index[cards.importance["share"] == 1].tolist()
print("no good card does without", ", ".join(indispensable))

# %% [markdown]
# ## What one more line is worth
#
# The best card of every size, each with its own proof. The sixth column is hardly worth its ink.

# %%
front = pareto(program, time_limit=300)
assert (front.table["claim"] == "optimal").all()
gains = -front.table["objective"].diff().dropna()
assert (gains >= -1e-9).all()
assert gains.iloc[-1] < gains.max() / 10
figure, ax = plt.subplots(figsize=(6.4, 3.4))
plots.loss_against_terms(front, ax)
columns = ["max_terms", "terms", "objective", "bound", "claim", "dominated"]
front.table[columns].round(4)

# %% [markdown]
# ## The page for the committee
#
# Card, proof in words, bands, pool and verification in one HTML file that loads nothing from
# anywhere: it can be mailed and printed.

# %%
page = Path(folder.name) / "card.html"
text = milpscore.report.report(
    card,
    design,
    program=program,
    pool=cards,
    verification=verification,
    path=page,
    outcome="back within a month",
    bootstraps=20,
)
assert page.read_text(encoding="utf-8") == text
assert "<script src" not in text
assert "https://" not in text
print(f"{page.name}: {page.stat().st_size / 1000:.0f} kB")
print("open it with: import webbrowser; webbrowser.open(page.as_uri())")

# %%
folder.cleanup()

# %% [markdown]
# **What to try.** Set `scale=3.0` and look at the lowest totals of the calibration again. Ask for
# `penalty="facets", lam=0.002`, which prefers small points. Let `OneStandardErrorCV` choose
# `max_terms` and `scale`. Raise `epsilon` to 0.02 and see which columns stay indispensable. Then
# write a rule of your own: that is the next notebook.
