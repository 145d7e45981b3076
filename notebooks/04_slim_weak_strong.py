# %% [markdown]
# # Weak and strong: one 0-1 program, written six ways
#
# **What this teaches.** That six programs which allow the same cards at the same cost can be
# worlds apart for a solver; what makes the difference; and what remains for a search that does
# without the linear program.

# %%
import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_breast_cancer

import milpscore
from experiments.strength.slim import slim_strength
from milpscore.certificate import certify, verify_certificate
from milpscore.data import Binner
from milpscore.formulations import slim
from milpscore.formulations.strength import STRENGTHS, slim_program
from milpscore_show.plots import bounds_over_time

plt.style.use("milpscore_show.plots.style")

table, target = load_breast_cancer(return_X_y=True, as_frame=True)
table = table[["worst radius", "worst texture", "worst smoothness", "worst concave points"]]
malignant = (target == 0).map({True: "malignant", False: "benign"})
binner = Binner(n_bins=4, encoding="cumulative")
design = binner.fit_design(table, malignant, positive="malignant")
ASKED = {"coef_min": 0, "coef_max": 5, "max_terms": 4, "l0_penalty": 0.001}
print(f"{design.shape[0]} rows, {len(design.merged.y)} of them distinct; {design.shape[1]} columns")

# %% [markdown]
# ## The statement
#
# Errors, plus a small price for each line:
#
# $$\min\ \frac1n \sum_i z_i + C_0 \sum_j \alpha_j, \qquad
#   \begin{aligned} w \cdot x_i &\ge T - M_i z_i && y_i = +1\\
#   w \cdot x_i &\le T - 1 + M_i z_i && y_i = -1\end{aligned}$$
#
# with whole $w_j$ in $[0, 5]$, at most four of them nonzero. The six programs differ in what they
# make of the rows:
#
# - `textbook`: one $M$ for all rows, from the whole box of coefficients;
# - `row_big_m`: the least $M_i$ that frees row $i$, knowing that only four terms can count;
# - `merged`: equal rows with equal labels share one weighted $z_i$;
# - `conflicts`: $z_i + z_k = 1$ where $x_i = x_k$ and the labels differ; $z_i + z_k \ge 1$ where a
#   negative row dominates a positive one; $z_i$ ordered along dominance within a class;
# - `covers`: of each row and its nearest rows of the other class,
#   $z_i + z_k + \sum_j \alpha_j \ge 1$ over the columns that tell them apart;
# - `joint_big_m`: the least $M_i$ for thresholds next to a row's total for the same points. This is
#   what `slim` states by default, but for the dominated rows.
#
# Merging changes no bound of the LP, only its size. `conflicts` and `covers` add what no big-M
# knows: that a card *must* err here, or use a column there.

# %%
rows, roots = [], {}
for strength in STRENGTHS:
    program = slim_program(design, strength, **ASKED)
    root = milpscore.solve(program.relaxed(), "highs", progress=False)
    size = program.size
    rows.append([strength, size.rows, size.columns, size.nonzeros, root.dual_bound])
    roots[strength] = root
sizes = pd.DataFrame(rows, columns=["strength", "rows", "columns", "nonzeros", "LP bound"])
assert (sizes["LP bound"].diff().dropna() >= -1e-9).all()
textbook, row_big_m, merged, conflicts, covers, joint = sizes["LP bound"]
assert textbook * len(table) < 1
assert abs(merged - row_big_m) < 1e-7
assert conflicts > 10 * merged
assert joint >= covers - 1e-9 > conflicts
sizes.round(5)

# %% [markdown]
# The weakest root bound is worth less than one row of 569, price of the lines included. Naming the
# rows on which a card must err lifts it tenfold, before a single branching, and naming what tells
# neighbours apart closes nine tenths of what is left then.
#
# ## Rows that are too many to write down
#
# `covers` compares pairs of rows. A row may also lie between *several* rows of the other class, and
# a card cannot be right about all of them unless signs part them. There are too many such rows to
# list; `add_hull_covers` finds those that the relaxation breaks, in rounds of small linear
# programs. HiGHS gets them beside `slim` by itself. They count where measurements have many levels
# and either sign, here eighths of each one's ranks:

# %%
eighths = table.rank(pct=True).mul(8).astype(int).clip(upper=7)
asked = {**ASKED, "coef_min": -5}
tight = slim(eighths, malignant, positive="malignant", **asked)
default = milpscore.solve(tight.relaxed(), "highs", progress=False).dual_bound
added = milpscore.solvers.add_hull_covers(tight)
hull = milpscore.solve(tight.relaxed(), "highs", progress=False).dual_bound
best = milpscore.solve(tight, "tree", time_limit=300, progress=False)
assert str(best.claim) == "optimal"
assert default < hull <= best.objective
closed = (hull - default) / (best.objective - default)
print(f"{added} rows lift the bound from {default:.4f} to {hull:.4f} of {best.objective:.4f}")
print(f"and close {closed:.0%} of what was open")

# %% [markdown]
# ## A hundred nodes each
#
# HiGHS repairs much by itself: presolve tightens an $M$ here and there, cuts do the rest. So each
# program is run twice, with presolve and cuts and without them, for a hundred nodes.

# %%
LIMITS = {"node_limit": 100, "time_limit": 300}
runs = slim_strength(design, switches=((True, True), (False, False)), **LIMITS, **ASKED)
runs[["strength", "presolve", "cuts", "objective", "bound", "gap", "nodes", "claim"]].round(4)

# %% [markdown]
# ## The tree
#
# The same statement without a linear program: `solver="tree"` decides which columns take part and
# bounds the errors of every completion from the data alone.

# %%
# the first solve of a session loads the compiled kernels: a small one first, for fair seconds
milpscore.solve(slim(design, coef_max=1, max_terms=1), "tree", progress=False)

program = slim(design, **ASKED)
tree = milpscore.solve(program, "tree", time_limit=300, progress=False)
tree

# %%
assert str(tree.claim) == "optimal"
# all programs allow the same cards: no bound may pass the optimum, no card may fall below it
assert (sizes["LP bound"] <= tree.objective + 1e-9).all()
assert (runs["bound"] <= tree.objective + 1e-6).all()
assert (runs["objective"] >= tree.objective - 1e-6).all()
assert (runs["gap"] >= -1e-9).all()

# %% [markdown]
# ## Bounds over time
#
# Solid lines are cards, dashed ones bounds, and what lies between is open. The dotted lines are the
# root bounds of the table above.

# %%
drawn = {}
for strength in STRENGTHS:
    drawn[f"HiGHS, {strength}", "exact"] = runs.attrs["results"][strength, True, True, 0]
    drawn[f"HiGHS, {strength}", "relaxed"] = roots[strength]
drawn["tree", "exact"] = tree
figure, ax = plt.subplots(figsize=(8.5, 4.2))
bounds_over_time(drawn, ax)
ax.set_ylim(0, 0.13)
ax.set_ylabel("errors / 569 + 0.001 x lines")
ax.set_title("Best card and proven bound, presolve and cuts on")
plt.show()

# %% [markdown]
# ## A proof to keep
#
# An optimal card is a claim about all others, and such a claim can be written down. `certify` keeps
# card, statement, bound and a fingerprint of the data; `verify_certificate` counts every error on
# the raw rows again, in whole numbers, and has the bound proved anew by another engine.

# %%
certificate = certify(program, tree)
verification = verify_certificate(certificate, design)
assert verification.proved
print(verification.to_text())

# %% [markdown]
# **What to try.** Let points be negative (`coef_min=-5`): without signs no row dominates another,
# and `conflicts` loses its cuts where `covers` keeps them. Cut each measurement into tertiles and
# HiGHS solves the strong programs at once, the weak ones much later. Give `seeds=(0, 1, 2)` to
# `slim_strength` before believing any of the seconds: `milpscore_study.bound_curves` draws the
# medians.
