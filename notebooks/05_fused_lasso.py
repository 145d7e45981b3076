# %% [markdown]
# # Bins and points together
#
# **What this teaches.** To choose the thresholds of a card and its points in one program: start
# from more bins than anyone wants, pay for every step between neighbouring bins, and let equal
# neighbours merge. What comes out has the form of clinical tables such as DiaRem: a variable, its
# few ranges, and whole points for each.

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer

import milpscore
from milpscore.data import Binner
from milpscore.formulations import fused_lasso, fused_lasso_by_feature
from milpscore.rounding import combine
from milpscore.scorecard import certified_card
from milpscore_show.plots import totals_by_class

plt.style.use("milpscore_show.plots.style")

table, target = load_breast_cancer(return_X_y=True, as_frame=True)
table = table[["worst radius", "worst texture", "worst smoothness", "worst concave points"]]
malignant = (target == 0).map({True: "malignant", False: "benign"})
design = Binner(n_bins=10, encoding="onehot").fit_design(table, malignant, positive="malignant")
print(f"{len(design.blocks)} features in deciles: {design.shape[1]} columns; {design.names[1]}")

# %% [markdown]
# ## The program
#
# With $\theta_j$ the points of bin $j$ and $B$ the bins of one feature, in their order,
#
# $$\min_{\theta \in \{0, \dots, 5\}^p,\; b \in \mathbb Z}\ \ \frac1n \sum_i \xi_i
#   \;+\; \lambda \sum_B \sum_{j,\,j+1 \in B} |\theta_j - \theta_{j+1}|,
#   \qquad \xi_i \ge 1 - y_i (\theta \cdot x_i + b),\ \ \xi_i \ge 0 .$$
#
# A constant may move between a feature and the intercept, so the first bin of each has 0 points.

# %%
ASKED = {"coef_min": 0, "coef_max": 5}
program = fused_lasso(design, lam=0.002, **ASKED)
result = milpscore.solve(program, "highs", time_limit=300, progress=False)
card = certified_card(design, result, title="Is the tumour malignant?")
card

# %%
assert str(result.claim) == "optimal"
jumps = milpscore.metrics.total_variation(result.coefficients, design.blocks)
assert np.isclose(result.penalty, 0.002 * jumps)
# what is printed is what predicts: the raw table in, the design's errors out
wrong = card.predict(table) != malignant.to_numpy()
assert wrong.sum() == card.certificate["errors"]
print(
    f"{design.shape[1]} bins became {card.bins} ranges; {wrong.sum()} errors in {len(table)} rows"
)

# %% [markdown]
# The same card for a web page, a spreadsheet or a paper is `card.to_html()`, `.to_markdown()` or
# `.to_latex()`; for a terminal:

# %%
print(card.to_text())

# %% [markdown]
# ## The score
#
# A person adds four numbers. Below is what the sum looks like in either class; the card says
# malignant from the dashed line on.

# %%
totals = card.score(table)
assert ((totals >= float(card.threshold)) == (card.predict(table) == "malignant")).all()
totals_by_class(
    malignant == "malignant", totals, threshold=card.threshold, labels=("benign", "malignant")
)
plt.show()

# %% [markdown]
# ## Along the path
#
# As $\lambda$ grows steps vanish, first within a feature, at last whole features. Each program is
# solved exactly and as a linear program. With a single feature every constraint speaks of the
# difference of two unknowns, as in a network, and the LP is whole by itself; with four features
# little of that is lost.

# %%
lams = np.geomspace(0.001, 0.1, 13)
rows, points = [], []
for lam in lams:
    program = fused_lasso(design, lam=lam, **ASKED)
    relaxed = milpscore.solve(program.relaxed(), "highs", progress=False)
    exact = milpscore.solve(program, "highs", time_limit=300, progress=False)
    found = certified_card(design, exact)
    assert str(exact.claim) == "optimal"
    assert relaxed.objective <= exact.objective + 1e-9
    points.append(exact.coefficients)
    gap = max(milpscore.metrics.gap(exact.objective, relaxed.objective), 0.0)
    errors = found.certificate["errors"]
    rows.append([lam, relaxed.objective, exact.objective, gap, found.terms, found.bins, errors])
columns = ["lam", "LP", "exact", "integrality gap", "features", "ranges", "errors"]
path = pd.DataFrame(rows, columns=columns)
# a larger price never buys more steps
steps = [milpscore.metrics.total_variation(theta, design.blocks) for theta in points]
assert (np.diff(steps) <= 1e-9).all()
path.round(4)

# %%
figure, panels = plt.subplots(1, 4, figsize=(10, 3.2), sharey=True)
cells = np.sqrt(lams[0] / lams[1]) * np.append(lams, lams[-1] * lams[1] / lams[0])
for ax, block in zip(panels, design.blocks, strict=True):
    theta = np.array(points)[:, list(block)].T
    mesh = ax.pcolormesh(cells, np.arange(11) + 0.5, theta, cmap="cividis", vmin=0, vmax=5)
    ax.set_xscale("log")
    ax.set_title(design.columns[block[0]].feature, fontsize="medium")
    ax.set_xlabel(r"$\lambda$")
panels[0].set_ylabel("decile of the measurement")
panels[0].set_yticks(range(1, 11))
figure.colorbar(mesh, ax=panels, label="points", ticks=range(6))
figure.suptitle("Neighbouring bins merge as steps grow dearer", x=0.01, ha="left")
plt.show()

# %% [markdown]
# ## One feature at a time
#
# The source learns the points of each feature alone, adds them up, and cuts the sum where the
# errors are fewest. That is quick and needs no joint program, but no feature knows of
# another: correlated ones say the same thing twice.

# %%
alone = {}
for feature, program in fused_lasso_by_feature(design, lam=0.002, **ASKED).items():
    exact = milpscore.solve(program, "highs", time_limit=300, progress=False)
    network = milpscore.solve(program.relaxed(), "highs", progress=False)
    assert abs(exact.objective - network.objective) <= 1e-6  # whole by itself
    alone[feature] = exact.card
summed = combine(design, alone)
judged = milpscore.verify.evaluate(fused_lasso(design, lam=0.002, **ASKED).statement, summed)
assert result.dual_bound <= judged.objective + 1e-9
summed_wrong = ((design.X @ summed.coefficients >= float(summed.threshold)) != (design.y > 0)).sum()
pd.DataFrame(
    {
        "objective": [result.objective, judged.objective],
        "errors": [card.certificate["errors"], summed_wrong],
    },
    index=["jointly", "one feature at a time"],
).round(4)

# %% [markdown]
# **What to try.** `n_bins=20`: the card keeps its shape and its cuts move. Let points be negative
# (`coef_min=-5`), then demand that they never fall as a measurement grows, by
# `constraints=[Monotone("worst texture")]` from `milpscore.constraints`. Give `weights="data"`, and
# a step costs the less, the fewer rows lie beyond it. Notebook 8 has the convex sibling of this
# program.
