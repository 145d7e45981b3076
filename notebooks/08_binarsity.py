# %% [markdown]
# # Binarsity: which bins matter
#
# **What this teaches.** A numeric feature cut into many bins can take any shape; binarsity is the
# convex price that keeps the shape to few steps. On data with a known answer: what it recovers,
# which cuts it chooses along its path, and what lasso and ridge make of the same bins.

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.special import expit

import milpscore
from milpscore.data import Binner
from milpscore.formulations import binarsity
from milpscore.penalties import L1, L2, Binarsity, WeightedTV, data_driven_weights
from milpscore.proximal import fit_proximal, path

plt.style.use("milpscore_show.plots.style")

# %% [markdown]
# ## A signal of steps
#
# Three features, uniform on [0, 1]. The log odds step twice along the first, once along the second,
# and ignore the third:

# %%
rng = np.random.default_rng(0)
N, BINS = 2000, 30
X = pd.DataFrame(rng.random((N, 3)), columns=["age", "dose", "noise"])
TRUE_CUTS = {"age": (0.3, 0.7), "dose": (0.5,), "noise": ()}
truth = pd.DataFrame(
    {
        "age": np.select([X.age < 0.3, X.age < 0.7], [-1.5, 0.5], 1.5),
        "dose": np.where(X.dose < 0.5, -1.0, 1.0),
        "noise": 0.0,
    }
)
truth -= truth.mean()  # a constant belongs to the intercept
y = (rng.random(N) < expit(truth.sum(axis=1))).astype(int)
design = Binner(n_bins=BINS, encoding="onehot").fit_design(X, y)
print(design.shape, "columns of 0 and 1; the last bin of age:", design.names[BINS - 1])

# %% [markdown]
# ## The penalty
#
# $$\Omega(w) = \sum_{B}\ \sum_{k \ge 2,\ k \in B} v_k\, |w_k - w_{k-1}|
#   \qquad\text{with}\qquad \sum_{k \in B} w_k = 0 \ \text{ for every block } B .$$
#
# Its prox is that of total variation, in each block, then centred: exact, because total variation
# does not see a constant. The weights $v_k$ are 1, or grow with the share of rows right of the cut
# (`data_driven_weights`), as the theory of Alaya has them. Cone and prox agree:

# %%
program = binarsity(design, lam=0.01)
realised = milpscore.compare_realisations(program, progress=False).table
relaxed = realised[realised.verified]
assert set(relaxed.realisation) >= {"conic", "proximal"}
assert relaxed.difference.max() < 1e-7
relaxed[["realisation", "solver", "claim", "objective", "difference", "columns", "solve_seconds"]]

# %% [markdown]
# ## Four penalties on the same bins
#
# Each gets a path, and the $\lambda$ of the best cross-validated AUC. *Steps* counts cuts with a
# jump, and *error* is the root mean square distance of the fitted functions from the true ones,
# over the rows.

# %%
counts = [design.X[:, list(block)].sum(axis=0) for block in design.blocks]
weights = data_driven_weights(counts, design.blocks)
borders = np.ones(design.shape[1] - 1)
borders[[block[0] - 1 for block in design.blocks[1:]]] = 0.0  # no jump from feature to feature
makers = {
    "binarsity": lambda lam: Binarsity(lam, blocks=design.blocks),
    "binarsity, data weights": lambda lam: Binarsity(lam, blocks=design.blocks, weights=weights),
    "total variation": lambda lam: WeightedTV(lam, weights=borders),
    "lasso": L1,
    "ridge": L2,
}


def steps(w):
    """Cuts with a jump, by feature."""
    return [int((np.abs(np.diff(w[list(block)])) > 1e-6).sum()) for block in design.blocks]


def functions(w):
    """What each feature contributes to each row, centred; shape (n, 3)."""
    parts = np.column_stack([design.X[:, list(b)] @ w[list(b)] for b in design.blocks])
    return parts - parts.mean(axis=0)


paths, chosen, rows = {}, {}, []
for name, make in makers.items():
    lams = np.geomspace(1, 1e-4, 20) if name == "ridge" else None
    found = path(
        design.X, design.y, penalty=make, lams=lams, n_lams=20, cv=3, random_state=0, tol=1e-7
    )
    auc = found.table["cv_auc"]
    k = int(auc.argmax())
    paths[name], chosen[name] = found, found.coefficients[k]
    error = np.sqrt(((functions(chosen[name]) - truth.to_numpy()) ** 2).mean())
    rows.append([name, found.lams[k], auc[k], *steps(chosen[name]), error])
columns = ["penalty", "lam", "AUC", *(f"steps, {name}" for name in X), "error"]
judged = pd.DataFrame(rows, columns=columns).set_index("penalty")
judged.round(4)

# %%
total = judged[[name for name in judged if name.startswith("steps")]].sum(axis=1)
for rival in ("lasso", "ridge"):
    assert total["binarsity"] < total[rival]
    assert judged.loc["binarsity", "error"] < judged.loc[rival, "error"]
    assert judged.loc["binarsity", "AUC"] > judged.loc[rival, "AUC"]
# the intercept takes up the constants: centred blocks cost total variation nothing
one, other = paths["binarsity"].table["objective"], paths["total variation"].table["objective"]
assert np.allclose(one, other, rtol=1e-6)

# %% [markdown]
# Binarsity and total variation are one problem here, in two parametrisations: centring picks one of
# many equal answers, and makes blocks comparable. Lasso and ridge look at each bin alone. They
# do not know that bins have neighbours, so each bin gets its own step and nothing averages out.
#
# ## The path, and the cuts it finds
#
# Each dot is a cut with a jump, its area the height of the jump. From left to right the price
# falls; the large dots keep to the true cuts (lines), and noise comes late and small.

# %%
found = paths["binarsity"]
figure, panels = plt.subplots(1, 3, figsize=(10.5, 3.6), sharey=True)
for ax, block, name in zip(panels, design.blocks, X, strict=True):
    cuts = np.array([design.columns[j].lower for j in block[1:]])
    jumps = np.abs(np.diff(found.coefficients[:, list(block)], axis=1))
    lam, cut = np.meshgrid(found.lams, cuts, indexing="ij")
    ax.scatter(lam, cut, s=60 * jumps, color="#0072B2", alpha=0.7, linewidths=0)
    for position in TRUE_CUTS[name]:
        ax.axhline(position, color="#D55E00", linewidth=1)
    ax.axvline(judged.loc["binarsity", "lam"], color="0.5", linestyle=":", linewidth=1)
    ax.set_xscale("log")
    ax.set_xlim(found.lams[0] * 1.2, found.lams[-1] / 1.2)
    ax.set_ylim(0, 1)
    ax.set_xlabel(r"$\lambda$ (dotted: chosen)")
    ax.set_title(name)
panels[0].set_ylabel("cut")
plt.show()

# %% [markdown]
# ## From steps to ranges
#
# The price that picks the cuts also flattens the steps. So take the cuts and forget the price: keep
# the jumps that matter, merge the other bins, and fit the few ranges anew, all but unpenalised.

# %%
LEAST = 0.2  # log odds a step must be worth
kept = {}
for block, name in zip(design.blocks, X, strict=True):
    jumps = np.abs(np.diff(chosen["binarsity"][list(block)]))
    kept[name] = [design.columns[block[k + 1]].lower for k in np.flatnonzero(jumps > LEAST)]
print({name: np.round(cuts, 3).tolist() for name, cuts in kept.items()})

used = [name for name in X if kept[name]]
merged = Binner(thresholds={name: kept[name] for name in used}, encoding="onehot").fit_design(
    X[used], y
)
refit = fit_proximal(merged.X, merged.y, penalty=L2(1e-6))
assert refit.converged
assert "noise" not in used
for name, cuts in kept.items():
    for cut in TRUE_CUTS[name]:
        assert min(abs(c - cut) for c in cuts) < 1.5 / BINS  # each true cut is found, to a bin

w = refit.coefficients
again = np.column_stack([merged.X[:, list(b)] @ w[list(b)] for b in merged.blocks])
again -= again.mean(axis=0)
error = np.sqrt(((again - truth[used].to_numpy()) ** 2).sum() / truth.size)
print(f"{design.shape[1]} bins became {merged.shape[1]} ranges; error {error:.3f}")
assert error < judged["error"].min()

# %%
figure, panels = plt.subplots(1, 3, figsize=(10.5, 3.6), sharey=True)
fits = {name: functions(chosen[name]) for name in ("lasso", "binarsity")}
colours = {"lasso": "#E69F00", "binarsity": "#0072B2"}
for q, (ax, name) in enumerate(zip(panels, X, strict=True)):
    order = np.argsort(X[name].to_numpy())
    at = X[name].to_numpy()[order]
    for method, parts in fits.items():
        ax.plot(at, parts[order, q], color=colours[method], linewidth=1.4, label=method)
    if name in used:
        ax.plot(at, again[order, used.index(name)], color="#009E73", linewidth=2, label="refitted")
    ax.plot(at, truth[name].to_numpy()[order], "--", color="black", linewidth=1, label="truth")
    ax.set_xlabel(name)
    ax.set_title(name)
panels[0].set_ylabel("log odds, centred")
panels[0].legend()
plt.show()

# %% [markdown]
# **What to try.** Double the bins: binarsity hardly minds. Give the true function a slope and see
# it become stairs. `OneStandardErrorCV(BinarsityClassifier())` bins, fits and chooses `lam` in one
# object; with the hinge loss, `binarsity(design, loss="hinge").exact()` is the program over whole
# points of notebook 5.
