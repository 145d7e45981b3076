# %% [markdown]
# # A first card, with its certificate
#
# **What this teaches.** From a table to a card that a person can apply with a pencil, and from the
# card to a sentence about *every* card: how few errors any of them could make. It takes a minute.
#
# The data are scikit-learn's breast-cancer set: 569 tumours, ten measurements of the worst cells of
# each, and whether the tumour was malignant.

# %%
from sklearn.datasets import load_breast_cancer

import milpscore
from milpscore.data import Binner
from milpscore.formulations import slim

table, target = load_breast_cancer(return_X_y=True, as_frame=True)
table = table[["worst radius", "worst texture", "worst smoothness", "worst concave points"]]
malignant = (target == 0).map({True: "malignant", False: "benign"})

# %% [markdown]
# ## From measurements to lines of a card
#
# A person applies thresholds, not decimals. `Binner` cuts each measurement at its tertiles; each
# cut becomes a column that asks one question, such as "worst radius at least 16.82?". Rows that
# answer all questions alike, and agree on the outcome, are merged: the program needs only
# distinct ones.

# %%
design = Binner(n_bins=3, encoding="cumulative").fit_design(table, malignant, positive="malignant")
print(design.names)
print(f"{design.shape[0]} rows, {len(design.merged.y)} of them distinct")

# %% [markdown]
# ## The program
#
# `slim` states the card exactly: whole points from 0 to 5, at most four lines, as few errors as
# possible, a small price for each line. A program can be looked at before it is solved.

# %%
program = slim(design, coef_min=0, coef_max=5, max_terms=4, l0_penalty=0.001)
program

# %% [markdown]
# ## The card

# %%
result = milpscore.solve(program, time_limit=300)
card = milpscore.scorecard.certified_card(design, result, title="Is the tumour malignant?")
card

# %%
result

# %% [markdown]
# ## What is proved
#
# The objective is errors / 569 + 0.001 x lines. Nothing in the result was taken from the solver's
# word: the points were rounded and everything was counted again on the 569 rows. From the *bound*,
# not from the card, follows how few errors any such card could make.

# %%
import math

rows = design.shape[0]
errors = card.certificate["errors"]
# such a card pays for four lines at most; what the bound leaves beyond that are errors
fewest = math.ceil((result.dual_bound - 0.001 * 4) * rows - 1e-6)
print(f"this card errs on {errors} rows; no card of this kind errs on fewer than {fewest}")

assert str(result.claim) == "optimal"
assert result.dual_bound <= result.objective <= result.dual_bound + 1e-6
assert fewest <= errors

# %% [markdown]
# ## Using it
#
# The card predicts from raw measurements, prints as text, Markdown, LaTeX or SQL, and is kept as
# JSON.

# %%
answers = card.predict(table)
assert (answers != malignant.to_numpy()).sum() == errors
print(card.to_sql(table="tumours")[:600])

# %% [markdown]
# **What to try.** Set `max_terms=2` and see what two lines cost. Let points be negative with
# `coef_min=-5`. Add a demand, say `constraints=[milpscore.constraints.Include("worst texture")]`.
# Then ask in the next notebook what the relaxations of this program would have given.
