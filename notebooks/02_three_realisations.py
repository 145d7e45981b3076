# %% [markdown]
# # One statement, three realisations
#
# **What this teaches.** A card can be asked for in three ways that speak of one objective: over
# whole points (a mixed-integer program), over a cone (its convex relaxation, for an interior-point
# solver), and by a prox (the same relaxation, for a first-order method). Where they must agree,
# they are made to; where they differ, the difference has a name: the integrality gap.

# %%
import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer

import milpscore
from milpscore.data import Binner, make_design, read_frame, read_table
from milpscore.formulations import facets
from milpscore.losses import SmoothedHinge
from milpscore.penalties import Facets
from milpscore.proximal import fit_proximal

plt.style.use("milpscore_show.plots.style")

table, target = load_breast_cancer(return_X_y=True, as_frame=True)
malignant = (target == 0).map({True: "malignant", False: "benign"})
FOUR = ["worst radius", "worst texture", "worst smoothness", "worst concave points"]


def tertiles(columns):
    binner = Binner(n_bins=3, encoding="cumulative")
    return binner.fit_design(table[columns], malignant, positive="malignant")


design = tertiles(FOUR)

# %% [markdown]
# ## The statement
#
# Soft integrity: a convex penalty whose kinks lie at the whole numbers,
#
# $$\min_{w,\,b}\ \tfrac1n \sum_i \max(0,\ 1 - y_i (w \cdot x_i + b)) + \lambda \sum_j \Omega(w_j),
# \qquad \Omega(v) = \sum_{i \ge 0} \max(0,\ |v| - i).$$
#
# At a whole number $k$ the penalty is $k(k+1)/2 = (k^2 + |k|)/2$, and between two of them it is a
# straight line: $\Omega$ is the convex envelope of $(v^2 + |v|)/2$ on the integers. So the program
# below *is* the relaxation of the same program over $w \in \mathbb Z^p$, and `exact()` hands that
# one out.

# %%
program = facets(design, lam=0.01, loss="hinge")
program

# %%
exact = program.exact()
print(exact.size)
print(program.size)

# %% [markdown]
# ## Side by side
#
# Four ways to solve, and one to refuse. The linear and the conic rows solve one convex problem, by
# three solvers that share no code. `difference` is how far each lies above the least of them,
# `integrality_gap` how far the integer optimum does, both relative. The prox needs a smooth loss;
# the hinge has a corner, so that row says no rather than solve something else.

# %%
realised = milpscore.compare_realisations(program, time_limit=300, progress=False).table
SHOWN = ["realisation", "solver", "claim", "objective", "bound", "difference", "integrality_gap"]
realised[[*SHOWN, "integrity", "terms", "columns", "integers"]]


# %%
def row(realised, realisation, solver):
    found = realised.set_index(["realisation", "solver"])
    return found.loc[(realisation, solver)]


def relaxed_value(realised):
    """The relaxations' common objective, after a look at whether they have one."""
    relaxed = realised[realised.verified & (realised.realisation != "integer")]
    assert len(relaxed) >= 2
    assert relaxed.difference.max() < 1e-6
    return relaxed.objective.min()


integer = row(realised, "integer", "highs")
value = relaxed_value(realised)
assert integer.claim == "optimal"
assert value <= integer.objective + 1e-9
assert integer.integrality_gap >= -1e-9
print(realised.loc[realised.realisation == "proximal", "message"].item())

# %% [markdown]
# The integrality of the relaxed row is worth a look. Half of its coefficients are whole numbers
# although nobody asked: the kinks hold them. That is why the gap is small here.
#
# ## What the prox can say
#
# Round the hinge's corner off by a parabola of width $s$ and the prox applies. The smoothed loss
# lies under the hinge by at most $s/2$, so each smoothed optimum $v_s$ brackets the program's value
# $v$ from both sides, by a method that never sees a simplex or a barrier:
#
# $$v_s \;\le\; v \;\le\; v_s + s/2.$$

# %%
rows = []
for s in (1.0, 0.3, 0.1, 0.03):
    fit = fit_proximal(design.X, design.y, loss=SmoothedHinge(s), penalty=Facets(0.01), tol=1e-7)
    assert fit.converged
    assert fit.dual_objective <= value + 1e-9
    assert value <= fit.objective + s / 2 + 1e-9
    rows.append([s, fit.dual_objective, value, fit.objective + s / 2, fit.iterations])
pd.DataFrame(rows, columns=["s", "from below", "value", "from above", "steps"]).round(5)

# %% [markdown]
# With a smooth loss all three agree outright. Under the logistic loss the integer program is no
# MILP, and its row says so; cone and prox meet to nine digits.

# %%
program = facets(design, lam=0.01, loss="logistic")
smooth = milpscore.compare_realisations(program, progress=False).table
relaxed_value(smooth)
assert row(smooth, "proximal", "proximal").verified
assert row(smooth, "integer", "highs").claim == "none"
smooth[["realisation", "solver", "claim", "objective", "difference", "integrity", "terms"]]

# %% [markdown]
# ## The integrality gap on real sets
#
# The same statement on other tables, over a range of $\lambda$; "4 deciles" has whole numbers from
# 1 to 10 in place of the questions. The UCI sets are read where the environment variable
# `MILPSCORE_DATA` names a folder that holds them; they are not needed.

# %%
ranks = np.ceil(10 * table[FOUR].rank(pct=True)).astype(int)  # the decile of each tumour, 1 to 10
sets = {
    "breast cancer, 4 measurements": design,
    "breast cancer, 4 deciles": make_design(ranks, malignant, positive="malignant"),
    "breast cancer, 10 means": tertiles([name for name in table if name.startswith("mean")]),
}
folder = Path(os.environ.get("MILPSCORE_DATA", "no folder given"))
for name in ("bankruptcy", "haberman", "breastcancer", "mammo"):
    path = folder / f"{name}.csv"
    if path.is_file():
        frame = read_frame(path)
        sets[f"{name} (UCI)"] = make_design(*read_table(frame, frame.columns[0]))
    else:
        print(f"absent, and left out: {name}")

# %%
LIMITS = {"node_limit": 100, "time_limit": 300, "progress": False}
lams = np.geomspace(0.003, 0.1, 4)
rows = []
for name, data in sets.items():
    for lam in lams:
        program = facets(data, lam=lam, loss="hinge")
        realised = milpscore.compare_realisations(program, **LIMITS).table
        value, integer = relaxed_value(realised), row(realised, "integer", "highs")
        assert value <= integer.objective + 1e-9
        gap = max(integer.integrality_gap, 0.0)
        rows.append([name, lam, value, integer.bound, integer.objective, gap, integer.claim])
columns = ["set", "lam", "relaxed", "integer bound", "integer", "integrality gap", "claim"]
gaps = pd.DataFrame(rows, columns=columns)
assert (gaps["integer bound"] <= gaps["integer"] + 1e-9).all()
gaps.groupby("set", sort=False).agg(
    smallest=("integrality gap", "min"),
    largest=("integrality gap", "max"),
    proved=("claim", lambda claims: f"{(claims == 'optimal').sum()} of {len(claims)}"),
).round(4)

# %%
figure, ax = plt.subplots(figsize=(7.5, 3.8))
for (name, part), marker in zip(gaps.groupby("set", sort=False), "osD^vP*", strict=False):
    ax.plot(part.lam, 100 * part["integrality gap"], marker=marker, markersize=5, label=name)
    unproved = part[part.claim != "optimal"]
    ax.plot(unproved.lam, 100 * unproved["integrality gap"], "x", color="black", markersize=9)
ax.set_xscale("log")
ax.set_yscale("symlog", linthresh=1)
ax.set_yticks([0, 1, 3, 10, 30, 100], ["0", "1", "3", "10", "30", "100"])
ax.set_yticks([], minor=True)
ax.set_ylim(-0.15, 100)
ax.set_xlabel(r"$\lambda$, weight of the penalty")
ax.set_ylabel("gap, % of the integer objective")
ax.set_title("Integer optimum above its relaxation (cross: not proved in 100 nodes)")
ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))

# %% [markdown]
# Columns of 0 and 1 keep the gap small: a point more or less is all that one column can say.
# Columns of 1 to 10 do not: there one whole point is ten, and too coarse. The remedy is not a
# better solver but a smaller unit. With $w_j \in \gamma\,\mathbb Z$ and $\Omega(w_j / \gamma)$, and
# $\lambda$ shrunk with $\gamma$ so that the first slope stays, the gap goes:

# %%
rows = []
for gamma in (1.0, 0.5, 0.2, 0.1):
    program = facets(sets["breast cancer, 4 deciles"], lam=0.01 * gamma, gamma=gamma, loss="hinge")
    realised = milpscore.compare_realisations(program, **LIMITS).table
    value, integer = relaxed_value(realised), row(realised, "integer", "highs")
    assert value <= integer.objective + 1e-9
    rows.append([gamma, value, integer.objective, integer.integrality_gap, integer.claim])
units = pd.DataFrame(rows, columns=["gamma", "relaxed", "integer", "integrality gap", "claim"])
assert units["integrality gap"].iloc[-1] < units["integrality gap"].iloc[0]
units.round(4)

# %% [markdown]
# **What to try.** Take `gamma=0.01` with `lam=0.0001` and read the points: the gap is gone, and so
# is the card. Use `loss="squared"` and see which rows are left. Ask for at most three terms
# (`milpscore.formulations.facets_hinge(..., max_terms=3)`) and look at what the relaxation then
# loses. The next notebook rounds.
