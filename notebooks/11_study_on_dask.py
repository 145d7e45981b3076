# %% [markdown]
# # A study that survives being killed
#
# **What this teaches.** Many solves from one text file, on the workers of a Dask cluster: each
# result is committed when it is finished, the run is killed in the middle and goes on where it was,
# and the table that comes out answers a question, here which solver proves `slim` cards fastest.
#
# Dask is the extra `distributed` (`pip install 'milpscore[distributed]'`). Without it this notebook
# uses two processes of joblib's instead; nothing else changes.

# %%
import signal
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from milpscore.core.errors import DataError, OptionError
from milpscore_show import plots
from milpscore_study import (
    StudyError,
    load_study,
    performance_profile,
    read_study,
    run_study,
)

plt.style.use("milpscore_show.plots.style")

folder = tempfile.TemporaryDirectory()
here = Path(folder.name)

# %% [markdown]
# ## The study
#
# Data sets, models with grids of parameters, folds, limits. Every combination is one solve: here
# 2 sets x 2 folds x 3 solvers x 2 sizes = 24. In each fold all solvers get the same rows, and they
# must find the same optimum.

# %%
STUDY = """
[folds]
number = 2
seed = 5

[limits]
time_limit = 600.0

[[data]]
name = "planted A"
generator = "planted_score"
arguments = { n_samples = 40, n_features = 4, n_terms = 3, noise = 0.1 }
seed = 1

[[data]]
name = "planted B"
generator = "planted_score"
arguments = { n_samples = 40, n_features = 4, n_terms = 3, noise = 0.15 }
seed = 2
"""
MODEL = """
[[models]]
name = "{name}"
estimator = "slim"
kind = "exact"
arguments = {{ coef_min = -3, coef_max = 3, l0_penalty = 0.005, solver = "{solver}" }}
grid = {{ max_terms = [2, 3] }}
"""
SOLVERS = {"HiGHS": "highs", "support tree": "support_tree", "tree": "tree"}
text = STUDY + "".join(MODEL.format(name=n, solver=s) for n, s in SOLVERS.items())
study = here / "study.toml"
study.write_text(text)
results = here / "results.sqlite"
planned = load_study(study).tasks()
assert len(planned) == 24
assert len({task.key for task in planned}) == 24
print(MODEL.format(name="tree", solver="tree"))

# %% [markdown]
# ## Two workers
#
# A cluster of two processes on this machine. On many machines it is `dask scheduler` on one and
# `dask worker tcp://HOST:8786 --nthreads 1` on the others; the study does not notice.

# %%
if find_spec("distributed"):
    from distributed import LocalCluster

    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs="ERROR"
    )
    address = cluster.scheduler_address
    where = {"dask": address}
    asked = ["--dask", address]
    print(f"Dask: {len(cluster.workers)} workers at {address}")
else:
    cluster = None
    where = {"jobs": 2}
    asked = ["--jobs", "2"]
    print("Dask is not installed: two processes of joblib's do the solves")

# %% [markdown]
# ## Run it, and kill it
#
# The study is started from the command line, as one would over night. While it runs, anybody may
# look at the file, and nobody else may write to it. Then the process is killed, not asked to stop.


# %%
def done():
    """Solves in the file, which the other process has to make first."""
    try:
        return read_study(results).done
    except DataError:
        return 0


command = [sys.executable, "-m", "milpscore", "study", "run", str(study), "--out", str(results)]
running = subprocess.Popen([*command, *asked, "--quiet"])
while running.poll() is None and done() < 2:
    time.sleep(0.05)
running.send_signal(signal.SIGSTOP)  # held still, so that it is not done before we have looked

try:
    run_study(study, results, **where)
    raise AssertionError("two writers at once")
except StudyError as error:
    print(str(error).replace(str(here), "..."))

running.kill()
print("exit code", running.wait())
killed = read_study(results)
before = killed.table().set_index("key")
assert running.returncode == -9
assert 2 <= killed.done < killed.planned
print(f"{killed.done} of {killed.planned} solves are in the file, {killed.left} are left")

# %% [markdown]
# ## Go on
#
# The same call again. It finds what is done, does the rest, and touches nothing that is there. A
# file whose study was changed meanwhile is refused, with what has changed.

# %%
edited = here / "edited.toml"
edited.write_text(text.replace("noise = 0.15", "noise = 0.2"))
try:
    run_study(edited, results, **where)
    raise AssertionError("rows of two studies in one file")
except OptionError as error:
    print(str(error).replace(str(here), "..."))

counts = []
report = run_study(study, results, **where, progress=lambda c: counts.append(c.done))
table = report.table()
assert counts[0] == killed.done
assert counts == sorted(counts)
assert counts[-1] == report.planned == report.done == len(table) == 24
assert report.failed == report.left == 0
kept = table.set_index("key").loc[before.index]
assert (kept["finished"] == before["finished"]).all()
assert (kept["seconds"] == before["seconds"]).all()
print(f"{counts[0]} solves at the start, {counts[-1]} at the end; {len(before)} rows untouched")

# %% [markdown]
# ## The table
#
# One row a solve: the task, its parameters, its figures, versions and times. Here a DataFrame, for
# others CSV or Parquet, and for those who prefer SQL the file has a view `figures`.

# %%
csv = report.export(here / "table.csv")
assert len(pd.read_csv(csv)) == 24
shown = ["data", "fold", "model", "parameters.max_terms", "claim", "objective", "test_accuracy"]
table[[*shown, "solve_seconds"]].head(6).round(3)

# %% [markdown]
# Solvers that share no code must agree: one optimum a problem, proved by each of them. Every row
# also holds its card.

# %%
problems = table.groupby(["data", "fold", "parameters.max_terms"])
assert (table["claim"] == "optimal").all()
assert (problems["objective"].agg(np.ptp) < 1e-9).all()
report.card(table["key"][0])

# %% [markdown]
# A key is a hash of what was solved: a study of a part has the same keys for the same solves.

# %%
part = STUDY[: STUDY.rindex("[[data]]")] + MODEL.format(name="tree", solver="tree")
(here / "part.toml").write_text(part)
keys = {task.key for task in load_study(here / "part.toml").tasks()}
assert len(keys) == 4
assert keys < set(table["key"])

# %% [markdown]
# ## Which solver is fastest?
#
# A mean over problems is ruled by the hardest one. A performance profile is not: for solver $s$ it
# shows the share of problems that $s$ proves within $\tau$ times the seconds of the best solver on
# that problem,
#
# $$\rho_s(\tau) = \frac1{|P|}\,\Bigl|\Bigl\{p : t_{ps} \le \tau \min_{s'} t_{ps'}\Bigr\}\Bigr|.$$
#
# At $\tau = 1$ it says how often a solver is the fastest; at the right end, how often it succeeds.
# A first solve with `tree` also loads compiled code, once in each worker; that is left in.

# %%
proved = table["solve_seconds"].where(table["claim"] == "optimal", np.inf)
problem = ["data", "fold", "parameters.max_terms"]
seconds = table.assign(seconds=proved).pivot_table("seconds", problem, "model")
profile = performance_profile(seconds)
assert seconds.shape == (8, 3)
assert profile.index[0] == 1.0
assert (profile.iloc[-1] == 1.0).all()
assert profile.loc[1.0].sum() >= 1.0 - 1e-9

figure, ax = plt.subplots(figsize=(6.6, 3.4))
plots.performance_profile(profile, ax)
seconds.agg(["min", "median", "max"]).round(3)

# %% [markdown]
# Seconds depend on the machine and on what else it does; the claims and the objectives do not. On
# eight small problems the profile is a drawing, not a benchmark.

# %%
if cluster is not None:
    cluster.close()
folder.cleanup()

# %% [markdown]
# **What to try.** Kill a worker instead (`cluster.scale(1)` in the middle): its solve is given to
# another and kept once. Add `certificates = true` and read a proof back with
# `report.certificate(key)`. Add a model `estimator = "RiskScoreClassifier"` of the kind
# `cross_validated`. Draw held-out accuracy over terms: `milpscore study plot results.sqlite --out
# figure.png`.
