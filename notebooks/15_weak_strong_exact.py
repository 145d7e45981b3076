# %% [markdown]
# # Weak, strong, exact
#
# **What this teaches.** Instances that everybody can name; what the field prints of a race on
# them: solved counts, shifted geometric means, primal integrals and a profile; and how far each
# relaxation of a score lies from its proved optimum, before any solver branches.
#
# The instances here are made, so that the notebook needs no file. With the six UCI sets in the
# folder `MILPSCORE_DATA` the same lines run on `mushroom-best` and the eight others of MIPLIB
# 2017.

# %%
import tempfile
from itertools import pairwise
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

from milpscore import instances, solve
from milpscore.formulations import perspective
from milpscore.formulations.strength import STRENGTHS, slim_program
from milpscore_show import plots
from milpscore_study import Race, instance_race, performance_profile, run_study

plt.style.use("milpscore_show.plots.style")
folder = tempfile.TemporaryDirectory()
quiet = {"progress": False, "time_limit": 600.0}

# %% [markdown]
# ## Instances
#
# An instance is rows, a formulation and its arguments, under one name. What is known of it, the
# best card and the bound, is kept with the package, and whoever finds a better card or bound can
# put it there.

# %%
names = instances.names("slim-planted200-[35]", "slim-genes-3")
known = [instances.INSTANCES[name].known for name in names]
pd.DataFrame(
    {
        "instance": names,
        "rows": [len(instances.INSTANCES[name].design().y) for name in names],
        "best card": [each.objective for each in known],
        "bound": [each.bound for each in known],
        "claim": [each.claim for each in known],
        "by": [each.by for each in known],
    }
)

# %% [markdown]
# ## The race
#
# HiGHS reads the program, the tree the statement. A limit of nodes stops both at the same point
# on every machine.

# %%
study = instance_race(names, ["highs", "tree"], node_limit=5000, time_limit=600)
race = Race(run_study(study, Path(folder.name) / "race.sqlite"))
table = race.table()
assert (table["wrong"] == 0).all()
assert (table.loc[table["solver"] == "tree", "status"] == "optimal").all()
shown = ["data", "solver", "status", "objective", "bound", "gap", "nodes", "root_bound", "lp_bound"]
table[shown].round(4)

# %% [markdown]
# No answer is wrong: none contradicts a card that was verified, here or before. Over all
# instances, `nodes` and `primal_integral` (seconds lost to cards worse than the best that is
# known) are shifted geometric means:

# %%
race.summary().drop(columns=["formulation", "seconds"]).round(2)

# %%
profile = performance_profile(race.costs("slim", by="nodes"))
figure, ax = plt.subplots(figsize=(7.5, 3.4))
plots.performance_profile(profile, ax)
ax.set_xlabel("Nodes, as a multiple of the fewest")
plt.show()

# %% [markdown]
# ## Weak and strong: the 0-1 loss
#
# One statement, six programs, all with the same cards and objectives; what their LPs know of the
# optimum, before a solver begins:

# %%
instance = instances.INSTANCES["slim-planted200-5"]
best = instance.known.objective
share = {}
for strength in STRENGTHS:
    program = slim_program(instance.design(), strength, **instance.arguments)
    share[strength] = solve(program.relaxed(), **quiet).dual_bound / best
assert all(strong >= weak - 1e-6 for weak, strong in pairwise(share.values()))
figure, ax = plt.subplots(figsize=(7.5, 3.0))
ax.barh(list(share), [100 * value for value in share.values()])
ax.invert_yaxis()
ax.set_xlim(0, 100)
ax.set_xlabel("LP bound, % of the proved optimum (slim-planted200-5)")
plt.show()

# %% [markdown]
# ## Weak and strong: the logistic loss with ridge
#
# Whole points, ridge, a price and a limit of terms. Three relaxations: the tangents' LP, in which
# the square of a point does not know whether the point is used; the perspective, in which it
# does; and the hull over whole points. Each is proved by a solver that knows nothing of the
# others, and none is above the card.

# %%
rows = []
for name in ("planted200", "planted1000"):
    design = instances.INSTANCES[f"risk_score-{name}-5"].design()
    given = {"lam": 0.02, "l0_penalty": 0.002, "max_terms": 5}
    cones, lines = (perspective(design, whole=whole, **given) for whole in (False, True))
    exact = lines.exact()
    card = solve(exact, **quiet)
    bounds = {
        "tangents' LP": solve(exact.relaxed(), **quiet).dual_bound,
        "perspective": solve(cones, **quiet).dual_bound,
        "hull over whole points": solve(lines, **quiet).dual_bound,
    }
    assert all(bound <= card.objective + 1e-9 for bound in bounds.values())
    assert bounds["hull over whole points"] >= max(bounds.values()) - 1e-6
    rows.append({"table": name, **bounds, "card": card.objective, "claim": str(card.claim)})
gaps = pd.DataFrame(rows).set_index("table")
gaps.round(5)

# %%
relaxations = ["tangents' LP", "perspective", "hull over whole points"]
left = gaps[relaxations].rsub(gaps["card"], axis=0).div(gaps["card"], axis=0) * 100
ax = left.plot.bar(figsize=(7.5, 3.2), rot=0)
ax.set_ylabel("Root gap, %")
ax.set_xlabel("")
plt.show()

# %% [markdown]
# What integrality costs is what is left over the last bar: no relaxation of one column at a time
# is tighter. The exact search closes it by branching, and its certificate says how.
#
# To try next: `names("slim-*-3")` with the six sets in `MILPSCORE_DATA`; a solver of your own
# (`solvers=["highs", "pyomo:scip"]`); other prices and limits in `given`.
