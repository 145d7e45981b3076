# %% [markdown]
# # Your own constraint, penalty and formulation
#
# **What this teaches.** What to do when the rule, the penalty or the whole program you need is not
# in the package. Three extensions, from one line to one file, each checked against something that
# shares no code with it.

# %%
import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pyomo.environ as pyo
from sklearn.datasets import load_breast_cancer

import milpscore
from milpscore.core.errors import NotApplicableError
from milpscore.core.program import Layout, Program
from milpscore.core.statement import InterceptRule, Statement
from milpscore.data import Binner, make_design
from milpscore.formulations import FORMULATIONS, hinge, slim
from milpscore.losses import Hinge
from milpscore.pools import pool
from milpscore.proximal import fit_proximal, path

plt.style.use("milpscore_show.plots.style")

table, target = load_breast_cancer(return_X_y=True, as_frame=True)
table = table[["worst radius", "worst texture", "worst smoothness", "worst concave points"]]
malignant = (target == 0).map({True: "malignant", False: "benign"})
binner = Binner(n_bins=4, encoding="cumulative")
design = binner.fit_design(table, malignant, positive="malignant")

# %% [markdown]
# ## Your own constraint: one line of Pyomo
#
# `milpscore.constraints` has fifteen kinds of rules. For any other there is `.model`, in Pyomo.
# Suppose totals are to be read as "seven out of ten": all points of the card must add up to ten.

# %%
program = slim(design, coef_min=0, coef_max=5, max_terms=4, l0_penalty=0.001)
free = milpscore.solve(program, "highs", time_limit=300)
model = program.model
model.out_of_ten = pyo.Constraint(expr=sum(model.w[j] for j in model.w) == 10)
ruled = milpscore.solve(program, time_limit=300)

assert str(free.claim) == str(ruled.claim) == "optimal"
assert free.card.coefficients.sum() != 10
assert ruled.card.coefficients.sum() == 10
assert abs(ruled.objective - free.objective) < 1e-9
refused = milpscore.check(program, free.card)
assert not refused.feasible
print(free.card.coefficients, f"without the rule: {free.objective:.6f}, proved")
print(ruled.card.coefficients, f"with it:          {ruled.objective:.6f}, proved")
print("the first card now:", "; ".join(refused.violations))

# %% [markdown]
# Two proofs, one objective: here the rule costs nothing at all. It is part of what *verified*
# means, so the card without it is refused. `relaxed()` keeps it. A method that works from the
# statement and not from the model cannot see it, and says so rather than solve another problem.

# %%
relaxed = program.relaxed()
lp = milpscore.solve(relaxed, time_limit=300)
assert relaxed.model.component("out_of_ten") is not None
assert abs(lp.coefficients.sum() - 10) < 1e-6
assert lp.dual_bound <= ruled.objective + 1e-9

for method in (lambda: milpscore.solve(program, "tree"), lambda: pool(program)):
    try:
        method()
        raise AssertionError("another problem was solved")
    except NotApplicableError as error:
        print(error)

# %% [markdown]
# ## Your own penalty: a dataclass with a prox
#
# Binned data put several columns behind one question. The group lasso drops a raw feature whole:
#
# $$\Omega(w) = \sum_g \sqrt{|g|}\,\|w_g\|_2, \qquad
# \operatorname{prox}_{s\Omega}(w)_g = \max\Bigl(0,\ 1 - \frac{s \sqrt{|g|}}{\|w_g\|_2}\Bigr) w_g.$$
#
# `value` and `prox` are what the steps use. `conjugate` and its companions turn every fit into a
# certificate: for a norm all of them follow from the dual norm, $\max_g \|z_g\|_2 / \sqrt{|g|}$.


# %%
@dataclass(frozen=True)
class GroupLasso:
    """lam * sum over the groups of sqrt(size) * Euclidean norm."""

    lam: float
    group: tuple[int, ...]  # of each column, 0, 1, ...
    name: str = "group_lasso"
    separable: bool = False
    is_norm: bool = True

    def _norms(self, w):
        return np.sqrt(np.bincount(self.group, np.square(w)))

    @property
    def _roots(self):
        return np.sqrt(np.bincount(self.group))

    def value(self, w):
        return float(self.lam * self._roots @ self._norms(w))

    def prox(self, w, step, out=None):
        norms = np.maximum(self._norms(w), 1e-300)
        kept = np.maximum(0.0, 1.0 - step * self.lam * self._roots / norms)
        return np.multiply(w, kept[list(self.group)], out=out)

    def dual_norm(self, z):
        return float((self._norms(z) / self._roots).max())

    def conjugate(self, z):
        return 0.0 if self.dual_norm(z) <= self.lam * (1 + 1e-12) else np.inf

    def dual_scale(self, z):
        size = self.dual_norm(z)
        return 1.0 if size <= self.lam else self.lam / size * (1 - 1e-15)

    def lambda_max(self, grad0):
        return self.dual_norm(grad0)

    def subdiff_distance(self, w, grad):
        norms, pull = self._norms(w), self.lam * self._roots
        used = norms > 0
        kinks = np.maximum(0.0, self._norms(grad) - pull)
        toward = np.asarray(w) * (pull / np.where(used, norms, 1.0))[list(self.group)]
        return float(np.where(used, self._norms(grad + toward), kinks).max())


features = list(dict.fromkeys(column.feature for column in design.columns))
groups = tuple(features.index(column.feature) for column in design.columns)

# %% [markdown]
# Nothing is registered; the object is passed. The library proves how far the fit is from the
# optimum, with our conjugate. So the objective is checked by CVXPY as well, which has never heard
# of it.

# %%
LAM = 0.03
fit = fit_proximal(design.X, design.y, penalty=GroupLasso(LAM, groups), tol=1e-8)
assert fit.converged
assert fit.gap <= 1e-8

w, b = cp.Variable(design.shape[1]), cp.Variable()
loss = cp.sum(cp.logistic(cp.multiply(-design.y, design.X @ w + b))) / len(design.y)
norms = [
    math.sqrt(groups.count(g)) * cp.norm(w[[j for j, k in enumerate(groups) if k == g]])
    for g in range(len(features))
]
other = cp.Problem(cp.Minimize(loss + LAM * sum(norms))).solve(solver=cp.CLARABEL)
assert abs(fit.objective - other) < 1e-6
assert fit.dual_objective <= other + 1e-6
print(f"proximal {fit.objective:.8f}, gap {fit.gap:.0e}; CVXPY {other:.8f}")

# %%
found = path(design.X, design.y, penalty=lambda lam: GroupLasso(lam, groups), n_lams=40)
active = found.coefficients != 0
figure, ax = plt.subplots(figsize=(7.2, 3.8))
for g, (feature, style) in enumerate(zip(features, ("-", "--", "-.", ":"), strict=True)):
    own = np.equal(groups, g)
    assert (active[:, own].any(axis=1) == active[:, own].all(axis=1)).all()
    lines = ax.plot(found.lams, found.coefficients[:, own], style, color=f"C{g}")
    lines[0].set_label(feature)
assert not active[0].any()
ax.set_xscale("log")
ax.invert_xaxis()
ax.set_xlabel(r"$\lambda$ (a weaker penalty to the right)")
ax.set_ylabel("coefficient")
ax.legend(title="three thresholds of")
ax.set_title("The columns of a feature enter together")

# %% [markdown]
# ## Your own formulation: one file
#
# A formulation is a function that takes data and returns a `Program`: a *statement* (what a card is
# worth, free of any solver), a Pyomo model, and a *layout* (how cards are read from the model's
# variables and written into them). Here is a whole one. Not all questions cost the same: a blood
# test is not a birthday. So each column has its own price,
#
# $$\min_{w \in \mathbb Z^p,\ b \in \mathbb Z}\ \frac1n \sum_i \max(0,\ 1 - y_i (w \cdot x_i + b)) +
# \lambda \sum_j c_j\,[w_j \ne 0],$$
#
# which is `hinge` where all prices are alike. The cell below *is* the file: it imports nothing
# private.


# %%
@dataclass(frozen=True)
class Prices:
    """lam * (sum of the prices of the columns that have points)."""

    lam: float
    prices: tuple[float, ...]
    name: str = "lam"

    def value(self, w):
        return float(self.lam * np.asarray(self.prices)[np.asarray(w) != 0].sum())


def priced_hinge(X, y=None, *, prices, lam=0.01, coef_min=-3, coef_max=3, positive=None):
    r"""Integer points under the hinge loss, every column at its own price.

    .. math::

        \min\ \tfrac1S \sum_i s_i \xi_i + \lambda \sum_j c_j \alpha_j \quad
        \text{s.t.}\ \xi_i \ge 1 - y_i (w \cdot x_i + b),\ l \alpha_j \le w_j \le u \alpha_j
    """
    design = X if y is None else make_design(X, y, positive=positive)
    rows, p = design.merged, design.shape[1]
    if isinstance(prices, Mapping):
        prices = [prices[column.feature] for column in design.columns]
    low, high = np.full(p, coef_min), np.full(p, coef_max)
    smallest = np.minimum(rows.X * low, rows.X * high).sum(axis=1)
    largest = np.maximum(rows.X * low, rows.X * high).sum(axis=1)
    # the loss is convex in b, with kinks at y_i - w.x_i: no b beyond them can matter
    reach = (math.floor(-1 - largest.max()), math.ceil(1 - smallest.min()))
    statement = Statement(
        formulation="priced_hinge",
        design=design,
        loss=Hinge(1.0),
        penalties=(Prices(lam, tuple(map(float, prices))),),
        coef_min=low,
        coef_max=high,
        intercept=InterceptRule("integer", Fraction(reach[0]), Fraction(reach[1]), Fraction(1)),
    )
    m = pyo.ConcreteModel(name="priced_hinge")
    m.J, m.I = pyo.RangeSet(0, p - 1), pyo.RangeSet(0, len(rows.y) - 1)
    m.w = pyo.Var(m.J, domain=pyo.Integers, bounds=(coef_min, coef_max))
    m.b = pyo.Var(domain=pyo.Integers, bounds=reach)
    m.alpha = pyo.Var(m.J, domain=pyo.Binary)
    m.xi = pyo.Var(m.I, domain=pyo.NonNegativeReals)
    m.above = pyo.Constraint(m.J, rule=lambda m, j: m.w[j] <= coef_max * m.alpha[j])
    m.below = pyo.Constraint(m.J, rule=lambda m, j: m.w[j] >= coef_min * m.alpha[j])

    @m.Constraint(m.I)
    def margin(m, i):
        total = sum(float(x) * m.w[j] for j, x in enumerate(rows.X[i]) if x)
        return m.xi[i] >= 1 - int(rows.y[i]) * (total + m.b)

    share = (rows.weight / rows.weight.sum()).tolist()
    m.loss = pyo.Expression(expr=sum(share[i] * m.xi[i] for i in m.I))
    m.penalty = pyo.Expression(expr=lam * sum(float(prices[j]) * m.alpha[j] for j in m.J))
    m.objective = pyo.Objective(expr=m.loss + m.penalty)
    names = frozenset(part.name for part in m.component_objects(descend_into=True))
    return Program(statement, m, Layout(read=read, fill=fill), stated=names)


def read(m):
    """Points and intercept from the model's values."""
    return np.array([m.w[j].value for j in m.J], dtype=float), float(m.b.value)


def fill(m, statement, card):
    """Every variable as the card implies it."""
    rows = statement.design.merged
    m.b.set_value(int(card.intercept))
    for j, points in enumerate(card.coefficients.tolist()):
        m.w[j].set_value(points)
        m.alpha[j].set_value(int(points != 0))
    slack = np.maximum(0.0, 1 - rows.y * (card.totals(rows.X) + int(card.intercept)))
    for i, value in enumerate(slack.tolist()):
        m.xi[i].set_value(value)


# %% [markdown]
# The registry maps a name to a builder, or to where one lies as "module:attribute".

# %%
FORMULATIONS.register("priced_hinge", priced_hinge)

# %% [markdown]
# ### Against brute force
#
# First a case small enough to try everything: four columns, points from -2 to 2, every intercept.
# The loop below shares nothing with the program.

# %%
rng = np.random.default_rng(1)
X = rng.integers(0, 3, (40, 4)).astype(float)
y = np.where(X @ [2, -1, 1, 0] + rng.normal(0, 0.5, 40) > 2.5, 1, -1)
price = np.array([1.0, 3.0, 0.5, 1.0])


def worth(w, b, lam):
    hinge_loss = np.maximum(0, 1 - y * (X @ w + b)).mean()
    return hinge_loss + lam * price[np.array(w) != 0].sum()


for lam in (0.0, 0.02, 0.05, 0.5):
    tiny = priced_hinge(X, y, prices=price, lam=lam, coef_min=-2, coef_max=2)
    solved = milpscore.solve(tiny, "highs", time_limit=300)
    every = itertools.product(*[range(-2, 3)] * 4, range(-17, 18))
    best = min(worth(card[:4], card[4], lam) for card in every)
    assert str(solved.claim) == "optimal"
    assert abs(solved.objective - best) < 1e-9
    found = f"program {solved.objective:.6f}, brute force {best:.6f}"
    print(f"lam {lam:<5} {found}, points {solved.card.coefficients.tolist()}")

# %% [markdown]
# ### In the same table as the others
#
# Registered means found by name: `compare` solves it exactly, relaxes it, rounds it, and the order
# *relaxed, exact, rounded* must hold. A look under the microscope is dear, a radius is cheap:

# %%
prices = dict(zip(features, (1.0, 1.0, 5.0, 10.0), strict=True))
LAM = 0.002
compared = milpscore.compare(
    design,
    formulations=["hinge", "priced_hinge"],
    arguments={"hinge": {"l0_penalty": LAM}, "priced_hinge": {"prices": prices, "lam": LAM}},
    coef_min=-3,
    coef_max=3,
    cv=None,
    time_limit=300,
    progress=False,
)
exact = {}
for name, rows in compared.table.groupby("formulation"):
    objective = rows.set_index("kind")["objective"]
    exact[name] = compared.results[(name, "exact")]
    assert str(exact[name].claim) == "optimal"
    assert objective["relaxed"] <= objective["exact"] + 1e-9
    assert objective["exact"] <= objective[["randomised", "nearest"]].min() + 1e-9
compared.table[["formulation", "kind", "claim", "objective", "bound", "loss", "terms"]].round(4)

# %% [markdown]
# With a uniform price it must give `hinge` back. With real ones no card of `hinge`, which is blind
# to them, may give as small a loss for less money.

# %%
uniform = priced_hinge(design, prices=dict.fromkeys(prices, 1.0), lam=LAM)
same = milpscore.solve(uniform, "highs", time_limit=300)
assert abs(same.objective - exact["hinge"].objective) < 1e-9


def bill(card):
    """What the columns with points cost."""
    return sum(prices[design.columns[j].feature] for j in np.flatnonzero(card.coefficients))


rows = []
for lam in np.geomspace(0.0003, 0.03, 9):
    blind = milpscore.solve(hinge(design, l0_penalty=lam, coef_min=-3, coef_max=3), time_limit=300)
    aware = milpscore.solve(priced_hinge(design, prices=prices, lam=lam), time_limit=300)
    assert str(blind.claim) == str(aware.claim) == "optimal"
    assert aware.objective <= blind.loss + lam * bill(blind.card) + 1e-9
    assert abs(aware.penalty - lam * bill(aware.card)) < 1e-9
    rows += [["hinge", lam, bill(blind.card), blind.loss]]
    rows += [["priced_hinge", lam, bill(aware.card), aware.loss]]
cards = pd.DataFrame(rows, columns=["formulation", "lam", "bill", "loss"])
pairs = cards[cards["formulation"] == "priced_hinge"].merge(
    cards[cards["formulation"] == "hinge"], how="cross", suffixes=("", "_blind")
)
as_good = pairs["loss_blind"] <= pairs["loss"] + 1e-9
assert (pairs.loc[as_good, "bill_blind"] >= pairs.loc[as_good, "bill"]).all()

figure, ax = plt.subplots(figsize=(6.4, 3.6))
for (name, part), marker in zip(cards.groupby("formulation"), "so", strict=True):
    label = {"hinge": "blind to prices", "priced_hinge": "aware of them"}[name]
    ax.plot(part["bill"], part["loss"], marker=marker, linestyle="--", label=label)
ax.set_xlabel("bill: sum of the prices of the columns asked for")
ax.set_ylabel("mean hinge loss")
ax.set_title("What a card costs and what it gives")
ax.legend()

# %%
FORMULATIONS.remove("priced_hinge")

# %% [markdown]
# **What to try.** Give `priced_hinge` a `max_terms`: one constraint on `alpha`, and one argument of
# the statement, which the re-check reads. Put a lower price on a second column of the same feature
# (a variable for each feature, at least each of its alphas). Swap the loss for
# `milpscore.losses.Hinge(2.0)`. Then read `docs/extending.md` on what a registered name gets
# tested for.
