# %% [markdown]
# # Soft integrity: the Facets penalty
#
# **What this teaches.** A convex penalty can draw coefficients to whole numbers as the lasso draws
# them to zero: by kinks. Which program it relaxes, how much is lost, and how to find models that
# come out whole by themselves, over two parameters: the price and the unit.

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer

import milpscore
from milpscore.data import Binner
from milpscore.formulations import facets
from milpscore.penalties import L1, L2, Facets
from milpscore.proximal import facets_grid, path
from milpscore_show.plots import facets_heat_maps, prox_curves, regularisation_path

plt.style.use("milpscore_show.plots.style")

# %% [markdown]
# ## A penalty with corners
#
# $$\Omega(v) = \sum_{i \ge 0} \max(0,\ |v| - i), \qquad
#   \operatorname{prox}_{\mu\Omega}(v) = \operatorname{sign}(v)\,
#   \max\bigl(k,\ |v| - \mu (k + 1)\bigr), \quad
#   k = \Bigl\lfloor \tfrac{|v|}{1 + \mu} \Bigr\rfloor$$
#
# The slope grows by one at every whole number. A function that is minimised there meets a wall on
# either side: the prox maps whole intervals to one whole number. Between the corners
# $\Omega$ is straight, and at them it equals $(v^2 + |v|)/2$, whose convex envelope over the
# integers it is.

# %%
v = np.linspace(-3.5, 3.5, 701)
whole = np.arange(-3, 4)
omega = Facets(1.0)
curve = np.array([omega.value(np.array([x])) for x in v])
quadratic = (v**2 + np.abs(v)) / 2
at_whole = [omega.value(np.array([float(k)])) for k in whole]
assert np.allclose(at_whole, (whole**2 + np.abs(whole)) / 2)
assert (curve >= quadratic - 1e-12).all()  # chords of a convex function lie above it

mu = 0.7
k = np.floor(np.abs(v) / (1 + mu))
formula = np.sign(v) * np.maximum(k, np.abs(v) - mu * (k + 1))
assert np.allclose(omega.prox(v, mu), formula, atol=1e-12)

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8))
left.plot(v, curve, label=r"Facets $\Omega(v)$")
left.plot(v, quadratic, "--", color="0.5", label=r"$(v^2 + |v|)\,/\,2$")
left.plot(whole, at_whole, "o", color="black", markersize=4, label="the same at whole numbers")
left.set_xlabel("$v$")
left.set_ylabel("penalty")
left.set_title("Penalty")
left.legend()
prox_curves({"L1": L1(1.0), "L2": L2(1.0), "Facets": omega}, right)
plt.show()

# %% [markdown]
# ## The program it relaxes
#
# With a unit $\gamma$ for the coefficients,
#
# $$\min_{w \in \gamma\,\mathbb Z^p,\ b}\ L(w, b) + \frac{\lambda}{2} \sum_j
#   \Bigl( \frac{w_j^2}{\gamma^2} + \frac{|w_j|}{\gamma} \Bigr)
#   \quad\text{relaxes to}\quad
#   \min_{w \in \mathbb R^p,\ b}\ L(w, b) + \lambda \sum_j \Omega(w_j / \gamma).$$
#
# Under the hinge loss both are at hand, and the relaxation is tight more often than not:

# %%
table, target = load_breast_cancer(return_X_y=True, as_frame=True)
table = table[["worst radius", "worst texture", "worst smoothness", "worst concave points"]]
malignant = (target == 0).map({True: "malignant", False: "benign"})
binner = Binner(n_bins=4, encoding="cumulative")
design = binner.fit_design(table, malignant, positive="malignant")

rows = []
for alpha in (0.02, 0.01, 0.005, 0.002):
    for gamma in (1.0, 0.5, 0.25):
        program = facets(design, lam=alpha * gamma, gamma=gamma, loss="hinge")
        relaxed = milpscore.solve(program, progress=False)
        exact = milpscore.solve(program.exact(), "highs", node_limit=300, time_limit=300)
        assert relaxed.verified
        assert exact.verified
        assert relaxed.dual_bound <= exact.objective + 1e-7
        rows.append(
            {
                "alpha": alpha,
                "gamma": gamma,
                "relaxed": relaxed.objective,
                "exact": exact.objective,
                "gap": max(milpscore.metrics.gap(exact.objective, relaxed.objective), 0.0),
                "integrity": milpscore.metrics.integrity(relaxed.coefficients / gamma, tol=1e-5),
                "claim": str(exact.claim),
            }
        )
gaps = pd.DataFrame(rows)
# a relaxed model that is whole already solves the exact program
tight = gaps[(gaps.integrity == 1) & (gaps.claim == "optimal")]
assert np.allclose(tight["relaxed"], tight["exact"], atol=1e-6)
gaps.round(4)

# %% [markdown]
# ## A path that climbs stairs
#
# Under a smooth loss the models come by the prox, a few milliseconds each. Along $\lambda$ the
# coefficients walk from one multiple of the unit to the next and rest there.

# %%
UNIT = 0.5
stairs = path(
    design.X, design.y, penalty=lambda lam: Facets(lam, gamma=UNIT), n_lams=80, ratio=0.01
)
assert (stairs.table["gap"] <= 1e-6).all()
figure, ax = plt.subplots(figsize=(8.5, 4.2))
regularisation_path(stairs, ax, names=design.names, unit=UNIT, max_labels=8)
plt.show()

# %% [markdown]
# ## The grid
#
# Two parameters make a plane of models: $\alpha = \lambda / \gamma$, the first slope, and $\gamma$,
# the unit. Where $\alpha$ exceeds the largest entry of the gradient at $w = 0$ every model is null,
# whatever the unit, which is the grey band. Below it, to the left, many small steps are dear and
# coefficients rest on them; to the lower right the kinks are too weak, or too far away, to hold.

# %%
grid = facets_grid(design.X, design.y, n_alpha=20, n_gamma=24, cv=3, random_state=0)
models = grid.table
assert models["gap"].max() <= 1e-6
alpha_max = models.loc[models.null == 1, "alpha"].min()
assert ((models["alpha"] >= alpha_max) == models["null"].astype(bool)).all()
figure = facets_heat_maps(grid, measures=["cv_accuracy", "integrity", "terms"])
plt.show()

# %% [markdown]
# ## Whole by themselves
#
# Nothing was rounded, and yet some models of the grid have whole coefficients only, in their unit.
# Such a model is a card: divide by $\gamma$ and print the points.

# %%
null, whole = models["null"].astype(bool), models["integral"].astype(bool)
print(f"{len(models)} models: {null.sum()} null, {(whole & ~null).sum()} more whole by themselves")
cards = models[whole & ~null].sort_values("cv_accuracy", ascending=False)
assert (cards["integrity"] == 1).all()
cards[["alpha", "gamma", "terms", "cv_accuracy", "cv_auc"]].head(8).round(4)

# %%
# of those within three points of accuracy of the best, the one with the fewest points to add up
cards = cards.assign(points=cards["magnitude"] / cards["gamma"])
best = (
    cards[cards["cv_accuracy"] >= cards["cv_accuracy"].max() - 0.03].sort_values("points").iloc[0]
)
i = int(np.flatnonzero(grid.alphas == best["alpha"])[0])
j = int(np.flatnonzero(grid.gammas == best["gamma"])[0])
scaled = grid.coefficients[i, j] / best["gamma"]
assert np.allclose(scaled, np.rint(scaled), atol=1e-6)
points = pd.Series(np.rint(scaled).astype(int), index=design.names, name="points")
threshold = -grid.intercepts[i, j] / best["gamma"]
hits = ((design.X @ points.to_numpy() >= threshold) == (design.y > 0)).mean()
print(f"unit {best['gamma']:.3g}; positive from {threshold:.2f} points on; accuracy {hits:.1%}")
assert hits > 0.9
points[points != 0].to_frame()

# %% [markdown]
# **What to try.** In `facets_grid`,
# `penalty=lambda lam, gamma: StronglyConvexFacets(lam, gamma=gamma)` bends the straight pieces a
# little, so that the optimum is unique; `AlphaFacets` lets the slopes grow as you like. The
# estimator is `milpscore.estimators.FacetsClassifier`.
