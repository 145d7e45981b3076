# %% [markdown]
# # Credible models: an expert and a penalty
#
# **What this teaches.** Among models that predict alike, an expert believes those that rest on what
# is known to matter. The EYE penalty (*expert yielded estimates*) chooses them: dense and even in
# the known features, sparse in the rest. Here it is put beside lasso and ridge, judged by measures
# of credibility, and solved in two ways that agree.

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import milpscore
from experiments.eye.data import make_collinearity_sweep, make_twins
from experiments.eye.measures import near_zero_share
from milpscore.formulations import eye
from milpscore.metrics import average_precision, credibility_by_group
from milpscore.penalties import EYE, L1, L2
from milpscore.proximal import fit_proximal, path
from milpscore_show.plots import level_sets

plt.style.use("milpscore_show.plots.style")

# %% [markdown]
# ## The penalty
#
# With $r_j \in [0, 1]$, 1 for a feature the expert knows,
#
# $$\Omega(w) = \lVert (1 - r) \odot w \rVert_1
#   + \sqrt{\lVert (1 - r) \odot w \rVert_1^2 + \lVert r \odot w \rVert_2^2}.$$
#
# It is a norm. On known features alone it is the Euclidean one, which shares weight among
# correlated features; on unknown ones twice the lasso's. Below the expert knows $w_1$. The corners
# lie where $w_2 = 0$, and only there.

# %%
penalties = {
    "EYE, $w_1$ known": EYE(1.0, expert=np.array([1.0, 0.0])),
    "L1": L1(1.0),
    "L2": L2(1.0),
}
assert np.isclose(penalties["EYE, $w_1$ known"].value(np.array([-2.0, 0.0])), 2.0)
assert np.isclose(penalties["EYE, $w_1$ known"].value(np.array([0.0, 2.0])), 4.0)
figure = level_sets(penalties)
plt.show()

# %% [markdown]
# ## Twins
#
# Two equal columns, the first of them known. Every penalty sees the same data; what differs is whom
# it believes.

# %%
twins = make_twins(200, random_state=0)
makers = {"EYE": lambda lam: EYE(lam, expert=twins.expert), "L1": L1, "L2": L2}
rows = []
for name, make in makers.items():
    for lam in (0.1, 0.01, 0.001):
        fit = fit_proximal(twins.X, twins.y, penalty=make(lam), tol=1e-12)
        assert fit.converged
        swapped = fit.coefficients[::-1]
        dearer = make(lam).value(swapped) - make(lam).value(fit.coefficients)
        rows.append([name, lam, *fit.coefficients, dearer])
columns = ["penalty", "lam", "known", "unknown", "cost of exchanging them"]
found = pd.DataFrame(rows, columns=columns)
part = dict(list(found.groupby("penalty")))
assert (part["EYE"]["unknown"].abs() < 1e-4).all()
assert (part["EYE"]["cost of exchanging them"] > 0).all()
assert (part["L1"]["cost of exchanging them"].abs() <= 1e-9).all()
assert np.allclose(part["L2"]["known"], part["L2"]["unknown"], rtol=1e-3)
found.round(4)

# %% [markdown]
# The lasso's answer is a coin toss: exchange the two and its objective is the same (that it takes
# the known one here is the order of the columns). Ridge splits. Only EYE has a reason.
#
# ## Groups of correlated features
#
# Five groups of ten features, more and more alike inside; all matter equally; the expert knows half
# of each. The weight of each penalty is chosen as one would: the largest whose cross-validated AUC
# is within 0.005 of the best.

# %%
CORRELATIONS = (0.0, 0.3, 0.6, 0.9, 0.99)
data = make_collinearity_sweep(
    1500, correlations=CORRELATIONS, group_size=10, n_known=5, random_state=0
)
makers = {
    "EYE": lambda lam: EYE(lam, expert=data.expert),
    "EYE, marks inverted": lambda lam: EYE(lam, expert=1 - data.expert),
    "lasso": L1,
    "ridge": L2,
}
chosen, rows = {}, []
for name, make in makers.items():
    lams = np.geomspace(10, 0.001, 20) if name == "ridge" else None
    found = path(
        data.X, data.y, penalty=make, lams=lams, n_lams=15, ratio=0.01, cv=3, random_state=0
    )
    auc = found.table["cv_auc"]
    k = int(np.flatnonzero(auc >= auc.max() - 0.005)[0])  # lams descend
    w = chosen[name] = found.coefficients[k]
    rows.append(
        {
            "penalty": name,
            "lam": found.lams[k],
            "AUC": auc[k],
            "average precision": average_precision(w, data.expert),
            "symmetric KL, summed": credibility_by_group(w, data.expert, data.groups).sum(),
            "near zero": near_zero_share(w),
        }
    )
judged = pd.DataFrame(rows).set_index("penalty")
judged.round(3)

# %%
assert judged["AUC"].max() - judged["AUC"].min() < 0.02  # they predict alike ...
right = judged.loc["EYE"]
for name in ("lasso", "ridge"):  # ... and do not explain alike
    assert right["average precision"] > judged.loc[name, "average precision"]
    assert right["symmetric KL, summed"] < judged.loc[name, "symmetric KL, summed"]

# %% [markdown]
# *Average precision* asks whether large weights come first on known features (1 at best, about one
# half by chance here). *Symmetric KL* compares the shape of the weights in a group with the
# expert's marks (0 at best). Credibility costs next to nothing here, because correlated features
# carry much the same information; for the same reason an expert who has it exactly the wrong way
# round does little harm to the predictions. A penalty can say what is believed, not whether it is
# true.

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 3.8))
for (name, w), marker in zip(chosen.items(), "osD^", strict=True):
    if name == "EYE, marks inverted":
        continue
    divergence = credibility_by_group(w, data.expert, data.groups)
    left.plot(range(len(CORRELATIONS)), divergence, marker=marker, label=name)
left.set_xticks(range(len(CORRELATIONS)), CORRELATIONS)
left.set_xlabel("correlation inside the group")
left.set_ylabel("symmetric KL (less is more credible)")
left.set_ylim(bottom=0)
left.set_title("Credibility by group")
left.legend()
last = data.groups[-1]
order = last[np.argsort(-data.expert[last], kind="stable")]
for k, name in enumerate(("EYE", "lasso", "ridge")):
    right.bar(np.arange(len(order)) + 0.27 * (k - 1), chosen[name][order], width=0.27, label=name)
right.axvline(4.5, color="0.6", linewidth=0.8)
right.set_xticks([2, 7], ["known", "unknown"])
right.set_ylabel("coefficient")
right.set_title(f"The group of correlation {CORRELATIONS[-1]}")
right.legend()

# %% [markdown]
# ## Two ways to the same model
#
# As a second-order cone program, $a \ge \lVert (1-r) \odot w \rVert_1$ and
# $z \ge \lVert (a,\ r \odot w) \rVert_2$ with $a + z$ in the objective; and by its prox, whose one
# equation Newton solves in a few steps. Three solvers, one answer:

# %%
program = eye(data.X, data.y, expert=data.expert, lam=float(judged.loc["EYE", "lam"]))
realised = milpscore.compare_realisations(program, progress=False)
relaxed = realised.table[realised.table.verified]
assert set(relaxed.realisation) >= {"conic", "proximal"}
assert relaxed.difference.max() < 1e-7
answers = realised.results
by_prox = answers["proximal", "proximal"].coefficients
for (_, solver), result in answers.items():
    assert np.abs(result.coefficients - by_prox).max() < 1e-3, solver
relaxed[["realisation", "solver", "claim", "objective", "difference", "terms", "solve_seconds"]]

# %% [markdown]
# **What to try.** Let the expert hesitate: marks of 0.5 are allowed. Mark a feature that is pure
# noise and see how long EYE believes it. `OneStandardErrorCV(EyeClassifier())` does the choice of
# `lam`; `python -m experiments eye-figure4a` repeats the experiment of Wang, Oh, Wang & Wiens
# (2018) that this one abridges.
