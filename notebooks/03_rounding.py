# %% [markdown]
# # From a relaxed card to a whole one: rounding
#
# **What this teaches.** What it costs to round the weights of a linear program to -1, 0 and 1, what
# can be promised before the dice are thrown, and what the *margin* has to do with it. Beside the
# roundings stand two searches that never look at the program, its bound, and the exact optimum.
#
# The set has the shape of the one in the source (Chevaleyre, Koriche & Zucker, 2013): 38 rows, 69
# features, a planted rule of six ternary weights, a few labels flipped.

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import milpscore
from milpscore.data import make_ternary
from milpscore.formulations import convex_rounding, sparse_rounding
from milpscore.rounding import (
    ROUNDINGS,
    Request,
    derandomised,
    expected_loss,
    nearest,
    randomised,
    round_program,
    rounding_bounds,
)

plt.style.use("milpscore_show.plots.style")

X, y, planted = make_ternary(random_state=0)
print(
    X.shape,
    "planted:",
    {X.columns[j]: int(planted.coefficients[j]) for j in np.flatnonzero(planted.coefficients)},
)

# %% [markdown]
# ## The program, and what the margin does to it
#
# $$\min_{w \in [-1, 1]^p,\ b}\ \frac{1}{n\gamma} \sum_i \max(0,\ \gamma - y_i (w \cdot x_i + b))$$
#
# Weights are bounded, so the margin $\gamma$ cannot be scaled away. A small one is easily reached:
# many fractional $w$ have no loss at all, the program is satisfied, and says little. A large one
# pulls every weight to its bound, for nothing else brings the totals so far.

# %%
MARGINS = (1, 2, 5, 10, 20, 30, 50)
relaxed = {}
for margin in MARGINS:
    program = convex_rounding(X, y, margin=margin)
    relaxed[margin] = program, milpscore.solve(program, "highs", progress=False)

pd.DataFrame(
    {
        "LP optimum": {m: lp.objective for m, (_, lp) in relaxed.items()},
        "fractional weights": {
            m: round(len(lp.coefficients) * (1 - milpscore.metrics.integrity(lp.coefficients)))
            for m, (_, lp) in relaxed.items()
        },
    }
).rename_axis("margin").round(4)

# %% [markdown]
# ## Promises
#
# Round each weight up with probability equal to its fractional part $f_j$, and the *expectation* of
# the totals is what it was; only their spread costs. With the intercept held,
#
# $$\mathbb E\,L(c) \;\le\; L(w) + \frac{1}{\gamma} \cdot \frac1n \sum_i
#   \sqrt{\textstyle\sum_j x_{ij}^2 f_j (1 - f_j)} \;\le\; L(w) + \frac{X_2}{2\gamma}.$$
#
# The middle is the *sharp* bound, the right one the paper's with the constant its proof gives. Both
# speak of the expectation; single draws exceed them. Because totals of data on a grid take few
# values, the expectation itself can be computed, by dynamic programming over the weights. The
# method of conditional expectations (*derandomised*) then keeps the promise without any chance.

# %%
rows = []
for margin, (program, lp) in relaxed.items():
    w, b, statement = lp.coefficients, lp.intercept, program.statement
    bounds = rounding_bounds(statement, w, b)
    fixed = derandomised(statement, w, b)
    drawn = randomised(statement, w, intercept=b, n_draws=500, random_state=0)
    row = {
        "margin": margin,
        "LP": lp.objective,
        "expected loss": expected_loss(statement, w, b),
        "mean of 500 draws": drawn.held_loss,
        "derandomised": fixed.held_loss,
        "sharp bound": bounds["sharp_bound"],
        "X_2 bound": bounds["expected_bound"],
    }
    assert lp.objective <= row["expected loss"] + 1e-9
    assert row["expected loss"] <= row["sharp bound"] + 1e-9 <= row["X_2 bound"] + 2e-9
    assert row["derandomised"] <= row["sharp bound"] + 1e-9
    assert abs(row["mean of 500 draws"] - row["expected loss"]) <= 0.1 * row["expected loss"] + 1e-9
    rows.append(row)
promises = pd.DataFrame(rows).set_index("margin")
promises.round(3)

# %% [markdown]
# At margin 1 the promise is void (five times the loss of the empty card), at 50 it is exact. In
# between, what happens is far better than what can be promised.
#
# ## The card that comes out
#
# A card may choose its intercept after rounding, and of many draws the best is kept. All cards
# below are judged alike: by the exact loss at their best allowed intercept. *Local search* changes
# one weight at a time from the empty card. The exact program starts from the best card of them
# all, and has 300 nodes of a tree.

# %%
LIMITS = {"node_limit": 300, "time_limit": 300, "progress": False}
METHODS = ("derandomised", "local_search")
rows = []
for margin, (program, lp) in relaxed.items():
    w, b, statement = lp.coefficients, lp.intercept, program.statement
    drawn = randomised(statement, w, n_draws=100, random_state=0)
    cards = {"nearest": nearest(statement, w, b), "randomised, best of 100": drawn.card}
    for name in METHODS:
        found = ROUNDINGS[name](statement, Request(w, b, random_state=0))
        cards[name.replace("_", " ")] = found.card
    objective = {n: milpscore.verify.evaluate(statement, c).objective for n, c in cards.items()}
    start = cards[min(objective, key=objective.get)]
    exact = milpscore.solve(program.exact(), "highs", warm_start=start, **LIMITS)
    bound = max(lp.dual_bound, exact.dual_bound)
    assert exact.verified
    assert lp.objective - 1e-9 <= exact.objective <= min(objective.values()) + 1e-9
    assert bound <= exact.objective + 1e-6
    rows.append({"margin": margin, "LP": lp.objective, "bound": bound} | objective)
    rows[-1] |= {"exact": exact.objective, "claim": str(exact.claim)}
cards = pd.DataFrame(rows).set_index("margin")
cards.round(3)

# %%
figure, ax = plt.subplots(figsize=(7.5, 4.2))
at = np.arange(len(MARGINS))
above = cards.drop(columns=["LP", "bound", "claim"]).sub(cards["LP"], axis=0)
style = dict(zip(above.columns, "vDs^P", strict=True))
for k, (name, marker) in enumerate(style.items()):
    black = {"color": "black", "markersize": 9} if name == "exact" else {"markersize": 6}
    ax.plot(at + 0.08 * (k - 2), above[name], marker=marker, linestyle="none", label=name, **black)
ax.plot(
    at, promises["sharp bound"] - promises["LP"], color="0.5", label="sharp bound (expectation)"
)
ax.vlines(at[:-1] + 0.5, 0, 1, color="0.9", linewidth=0.8, transform=ax.get_xaxis_transform())
ax.set_xticks(at, MARGINS)
ax.set_ylim(-0.02, 0.85)
ax.set_xlabel("margin (units of the totals)")
ax.set_ylabel("mean hinge loss above the LP's")
ax.set_title("What rounding costs")
ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))

# %% [markdown]
# Two regimes. Where the margin is small the program knows nothing, and a search that looks at the
# real loss beats every rounding of its answer. Where it is large the LP is all but whole, rounding
# is nearly free, and the LP's bound nearly proves it. The middle is hardest, for
# the exact program too.

# %%
small, large = cards.loc[1], cards.loc[50]
assert small["local search"] < min(small["nearest"], small["randomised, best of 100"])
assert large["exact"] - large["LP"] <= 1e-6
assert large["claim"] == "optimal"

# %% [markdown]
# ## Few terms
#
# One more row, $\sum_j |w_j| \le k$, is the hull of all cards with at most $k$ terms. At margin 10,
# where the program knew nothing, it now binds, and bound and card come close.

# %%
rows = []
for k in (2, 4, 6, 8):
    program = sparse_rounding(X, y, margin=10, max_terms=k)
    rounded = round_program(
        program, roundings=METHODS, n_draws=200, random_state=0, solver="highs", progress=False
    )
    exact = milpscore.solve(program.exact(), "highs", warm_start=rounded.card, **LIMITS)
    assert rounded.dual_bound <= exact.objective + 1e-9
    assert exact.objective <= rounded.objective + 1e-9
    assert max(rounded.terms, exact.terms) <= k
    hits = np.flatnonzero(exact.coefficients * planted.coefficients > 0)
    rows.append(
        {
            "terms at most": k,
            "LP": rounded.dual_bound,
            "exact": exact.objective,
            "rounded": rounded.objective,
            "found by": rounded.origin,
            "claim": str(exact.claim),
            "planted genes found": f"{len(hits)} of 6",
        }
    )
pd.DataFrame(rows).round(4)

# %% [markdown]
# **What to try.** Set `weights="binary"`. Raise `n_draws` to 10,000 and see that the best draw
# improves slowly. All registered methods are in `ROUNDINGS`; rounding an ordinary regression is
# among them, and it does not know the margin either.

# %%
sorted(ROUNDINGS)
