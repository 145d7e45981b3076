# %% [markdown]
# # A race of solvers
#
# **What this teaches.** How to ask which solver is the right one for *your* programs: several
# solvers on the same programs, each in several orders of rows and columns, in weak and in strong
# form; which tables answer the question; and what to do about answers that are wrong.
#
# HiGHS comes with the package. CBC and GLPK are Debian packages (`coinor-cbc`, `glpk-utils`);
# without them this notebook races HiGHS alone against the tree, and says so.

# %%
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from milpscore.core.errors import MissingDependencyError
from milpscore.solvers import SOLVERS
from milpscore_show import plots
from milpscore_study import Race, performance_profile, race_study, read_study, run_study

plt.style.use("milpscore_show.plots.style")

folder = tempfile.TemporaryDirectory()
here = Path(folder.name)

solvers = ["highs", "tree"]
for name in ("cbc", "glpk"):
    try:
        print(name, SOLVERS[name]().version())
        solvers.append(name)
    except MissingDependencyError as error:
        print(error)

# %% [markdown]
# ## The programs
#
# Two planted scores with noise. Of the 0-1 loss there are two programs: `slim:textbook` has one
# $z_i$ for each row and one big-M for all of them, `slim:conflicts` merges equal rows, takes the
# least $M_i$ for each, and names the rows on which any card must err. Both allow the same cards at
# the same cost (notebook 04 shows why the second one is stronger).
#
# A race is a study: every solver on every program of every data set, here three times. The seed is
# the solver's own and an order of rows and columns, because a solver can be lucky once. Nobody gets
# a start, and nobody is asked twice.

# %%
data = [
    {
        "name": f"planted {seed}",
        "generator": "planted_score",
        "arguments": {"n_samples": 40, "n_features": 4, "n_terms": 3, "noise": 0.1},
        "seed": seed,
    }
    for seed in (1, 2)
]
study = race_study(
    data,
    ["slim:textbook", "slim:conflicts"],
    solvers,
    seeds=3,
    arguments={"coef_min": -2, "coef_max": 2, "l0_penalty": 0.005},
    time_limit=600,
)
results = here / "race.sqlite"
race = Race(run_study(study, results))
print(f"{race.report.done} of {race.report.planned} solves are done")

# %% [markdown]
# The same on the command line, resumable in the same way:
#
# ```sh
# milpscore race data.csv --target outcome --formulations slim:textbook,slim:conflicts \
#     --solvers highs,tree,cbc,glpk --seeds 3 --time-limit 60 --plot race.png
# ```
#
# ## The table
#
# Medians over the seeds, a row a solver. `root_bound` is the bound after the first node, `lp_bound`
# that of the LP alone; a dash where a solver does not tell. The tree reads no program, so it runs
# once.

# %%
table = race.table()
shown = ["data", "solver", "status", "objective", "nodes", "root_bound", "lp_bound", "wrong"]
table[shown].round(4)

# %% [markdown]
# Solvers that share no code found the same optimum, whatever the order of the rows. Where one had
# claimed more than the re-check confirms, or a bound above a card that another solver found,
# `wrong` would count it, and `race.rows()` would say what it was.

# %%
assert (table["status"] == "optimal").all()
assert (table["wrong"] == 0).all()
assert (table.groupby("data")["objective"].agg(np.ptp) < 1e-9).all()
weak = table[table["solver"] == "highs, textbook"].set_index("data")
strong = table[table["solver"] == "highs, conflicts"].set_index("data")
assert (weak["lp_bound"] < strong["lp_bound"]).all()
(strong["lp_bound"] / weak["lp_bound"]).round(1)

# %% [markdown]
# ## Over all problems
#
# A mean of seconds is ruled by the slowest problem, a geometric one by those of no time at all: the
# shifted geometric mean by neither. A performance profile shows for how many problems a solver is
# within a factor of the best.

# %%
print(race.summary().drop(columns="seconds").round(1).to_string(index=False))
profile = performance_profile(race.costs("slim"))
assert (profile.iloc[-1] == 1.0).all()
figure, ax = plt.subplots(figsize=(7.5, 3.4))
plots.performance_profile(profile, ax)
plt.show()

# %% [markdown]
# Seconds are of this machine and what else it did; nodes are not, but one solver's node is not
# another's. On six tiny problems both are a drawing, not a benchmark.
#
# ## Bounded by nodes
#
# Larger programs are not proved at once. A limit of nodes stops a solver at the same point on every
# machine; what it has then is a card and a gap, and the gap shows what the strong form is worth.
# GLPK knows no such limit and stands aside.

# %%
larger = [
    {
        "name": "larger",
        "generator": "planted_score",
        "arguments": {"n_samples": 120, "n_features": 6, "n_terms": 4, "noise": 0.15},
        "seed": 3,
    }
]
study = race_study(
    larger,
    ["slim:textbook", "slim:conflicts"],
    [name for name in solvers if name != "glpk"],
    arguments={"coef_min": 0, "coef_max": 3, "max_terms": 4, "l0_penalty": 0.005},
    time_limit=600,
    node_limit=20,
)
limited = Race(run_study(study, here / "limited.sqlite"))
found = limited.table().set_index("solver")
found[["status", "objective", "bound", "gap", "nodes", "root_bound", "lp_bound"]].round(3)

# %%
assert found.loc["highs, conflicts", "lp_bound"] > found.loc["highs, textbook", "lp_bound"]
assert (found["bound"] <= found["objective"].min() + 1e-6).all()
assert (found["wrong"] == 0).all()
plots.bound_curves(limited.curves(), plt.figure(figsize=(6.5, 4.0)))
plt.show()

# %% [markdown]
# CBC reports nothing on its way, so its lines begin where it ended. The file keeps every solve,
# with its card:

# %%
report = read_study(results)
report.card(report.table()["key"][0])

# %%
folder.cleanup()

# %% [markdown]
# **What to try.** Your own solver: `"gurobi"`, `"cplex"`, `"xpress"`, `"scip"`, or `"pyomo:NAME"`;
# one that is absent says how to install it and stands aside. Your own table (`{"csv": "data.csv",
# "target": "outcome", "bins": 4}`), more formulations (`hinge`, `fused_lasso`), more seeds. Give
# `run_study` a `dask=` address, or `jobs=4`, and the solves run side by side: then compare nodes,
# not seconds.
