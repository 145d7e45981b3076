# %% [markdown]
# # Times to an event, and a published score questioned
#
# **What this teaches.** A card that says the risk at one, three and five years: how to ask for the
# most likely one, what is proved of it, what a published card costs beside it, which other cards
# are as good, and how others check the proof. Every claim below is asserted.
#
# CHADS₂ (Gage et al., JAMA 285, 2001) gives a point each for heart failure, hypertension, an age
# of 75 and diabetes, and two for an earlier stroke. Its authors state 1.9, 2.8, 4.0, 5.9, 8.5,
# 12.5 and 18.2 strokes per 100 patient-years at totals of 0 to 6. The cohort here is *made*: its
# hazards are these rates, so that the truth is known. Patients join late, and many are lost before
# a stroke.

# %%
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from milpscore import solve
from milpscore.certificate import certify, verify_certificate
from milpscore.data import make_survival_design
from milpscore.formulations import survival_score
from milpscore.pools import pool
from milpscore.scorecard import kaplan_meier, survival_card

plt.style.use("milpscore_show.plots.style")

RATES = np.array([1.9, 2.8, 4.0, 5.9, 8.5, 12.5, 18.2]) / 100
PUBLISHED = {"failure": 1, "hypertension": 1, "age 75": 1, "diabetes": 1, "stroke": 2}
SHARES = {"failure": 0.56, "hypertension": 0.56, "age 75": 0.60, "diabetes": 0.23, "stroke": 0.25}

rng = np.random.default_rng(20)
n = 4000
table = pd.DataFrame({name: (rng.random(n) < share).astype(int) for name, share in SHARES.items()})
table["smoker"] = (rng.random(n) < 0.3).astype(int)  # of no effect
total = sum(points * table[name] for name, points in PUBLISHED.items()).to_numpy()
stroke = rng.exponential(1 / RATES[total])
joined = rng.uniform(0, 1, n) * (rng.random(n) < 0.4)  # years since the diagnosis
lost = joined + rng.exponential(4, n)
seen = stroke > joined  # who has a stroke before joining never comes
table, stroke, joined, lost, total = (
    table[seen], stroke[seen], joined[seen], lost[seen], total[seen]
)  # fmt: skip
years, event = np.round(np.minimum(stroke, lost), 4) + 1e-4, stroke <= lost
design = make_survival_design(table, time=years, event=event, entry=joined)
print(f"{len(years)} patients, {event.sum()} strokes, {years.sum() - joined.sum():.0f} years seen")

# %% [markdown]
# ## The best card of five lines
#
# Time is cut at ten quantiles of the times of strokes; within an interval the hazard of a patient
# is `h exp(total / scale)`, and the h are at their best for each card. Rows that agree on their
# lines are one row.

# %%
program = survival_score(design, times=10, coef_min=0, coef_max=4, max_terms=5)
result = solve(program, node_limit=20_000, time_limit=300)
card = survival_card(program, result, title="Stroke", at=[1, 3, 5])
print(card)
assert str(result.claim) == "optimal"
assert card.card.coefficients["smoker"] == 0

# %% [markdown]
# ## What the published points cost
#
# The same program with CHADS₂'s points alone: the price of keeping a published card is a
# difference of two objectives, both proved. Here it is nothing, or next to it: the cohort was made
# by that card.

# %%
published = survival_score(
    design, times=10, coef_sets={name: [PUBLISHED.get(name, 0)] for name in table.columns}
)
kept = solve(published, node_limit=1000, time_limit=300)
alone = solve(
    survival_score(design, times=10, coef_sets={name: [0] for name in table.columns}),
    node_limit=10, time_limit=300,
)  # fmt: skip
gain = alone.objective - result.objective
price = kept.objective - result.objective
print(f"The best card gains {gain:.5f} over no card; CHADS2 gains {gain - price:.5f} of it")
assert 0 <= price < 0.05 * gain

# %% [markdown]
# ## Which other cards are as good
#
# Every card whose objective is within .02 % of the best one, none left out. Whether an earlier
# stroke is worth exactly twice the others is a question of the data, and here is the data's
# answer.

# %%
near = pool(program, epsilon=0.0002)
assert near.complete
lines = pd.DataFrame([c.coefficients for c in near.cards], columns=design.names)
ratio = lines["stroke"] / lines[["failure", "hypertension", "age 75", "diabetes"]].mean(axis=1)
print(
    f"{len(lines)} cards; a stroke counts {ratio.min():.1f} to {ratio.max():.1f} times the others"
)
assert (lines["smoker"] == 0).mean() > 0.5
lines.head()

# %% [markdown]
# ## Risks beside what was seen
#
# The stated risks at three years, and one minus Kaplan and Meier's estimate for the patients of
# each total. Left truncation counts: a patient is at risk from joining on.

# %%
totals = card.score(table)
risks = card.risks(totals, [3.0])[:, 0]
groups = [np.flatnonzero(totals == t) for t in np.unique(totals)]
groups = [own for own in groups if len(own) >= 100]
stated = [risks[own].mean() for own in groups]
observed = [
    1 - kaplan_meier(years[own], event[own], joined[own], np.ones(len(own)), [3.0])[0]
    for own in groups
]
figure, ax = plt.subplots(figsize=(4.2, 4))
ax.plot([0, 0.5], [0, 0.5], color="0.6", linestyle=":")
ax.plot(stated, observed, "o")
ax.set_xlabel("stated risk of a stroke by three years")
ax.set_ylabel("seen, by Kaplan and Meier")
assert np.abs(np.array(stated) - observed).max() < 0.12
print(f"largest difference {np.abs(np.array(stated) - observed).max():.3f}")

# %% [markdown]
# ## The proof, for others
#
# The certificate holds the card, the bound and the leaves of a tree that prove it. The checker
# reads the table, cuts time itself and believes nothing of the solver.

# %%
proof = certify(program, result, progress=False)
with tempfile.TemporaryDirectory() as folder:
    size = proof.to_json(Path(folder) / "proof.json").stat().st_size
verified = verify_certificate(proof, design)
print(f"{len(proof.evidence['tree'])} entries, {size / 1000:.0f} kB")
print(verified.to_text())
assert verified.proved

# %% [markdown]
# **Try next.** `times="events", exposure="at_risk"` is Cox's partial likelihood: does the card
# change? Let a line's effect fade with time in the making of the cohort, and look at
# `model.report(...)` of `SurvivalScoreEstimator`, which tests each line for it (it needs
# `milpscore[survival]`). On the command line: `milpscore fit table.csv --time years --event stroke
# --entry joined --at 1,3,5`.
