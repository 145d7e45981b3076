# %% [markdown]
# # Labelling sequences with few features
#
# **What this teaches.** A conditional random field over sequences whose penalty makes features
# vanish: patterns, the path over the penalty, probabilities of labels and of whole labellings,
# whole-number weights, the trainers, and keeping a model. The data are drawn from a CRF whose
# parameters are known, so that what is found can be set beside what is true.

# %%
import itertools
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from milpscore.penalties import Facets
from milpscore_sequence import (
    TRAINERS,
    SparseCRF,
    decoding_errors,
    make_letters_to_phonemes,
    n_best,
    parse_patterns,
    posterior_marginals,
    train,
)

plt.style.use("milpscore_show.plots.style")

# %% [markdown]
# ## Words read aloud
#
# 1,200 words over 12 letters, read aloud in 16 sounds. Every letter has a few sounds of its own;
# some change what follows a sound. Only one parameter in five is not zero.

# %%
made = make_letters_to_phonemes(1200, 0, n_observations=12, n_labels=16, density=0.2)
words = [["".join(position) for position in word] for word in made.rows]
sounds = made.labels
X, y = words[:700], sounds[:700]
X_dev, y_dev = words[700:900], sounds[700:900]
X_test, y_test = words[900:], sounds[900:]
test_data = made.data.subset(np.arange(900, 1200))
least = decoding_errors(test_data, made.theta)[0]
print(f"{''.join(words[0])}  ->  {' '.join(sounds[0])}")
print(f"{np.count_nonzero(made.theta)} of {len(made.theta)} true parameters are not zero")
print(f"the true model itself errs on {least:.1%} of the test positions: sounds are drawn, not set")

# %% [markdown]
# ## Patterns
#
# What is observed at a position is written as in CRF++: `u` lines join an observation and the label
# (weights $\mu$), `b` lines with the label before as well (weights $\lambda$), and `%x[row,column]`
# points at a token. The model and its objective, a *sum* over the words:
#
# $$p_\theta(y \mid x) = \frac1{Z_\theta(x)} \exp \sum_t \bigl(\mu_{x_t, y_t} +
# \lambda_{x_t, y_{t-1}, y_t}\bigr), \qquad
# \min_\theta\ \sum_i -\log p_\theta(y_i \mid x_i) + \rho_1 \|\theta\|_1 +
# \tfrac{\rho_2}2 \|\theta\|_2^2.$$

# %%
PATTERNS = ["u:here=%x[0,0]", "b:here=%x[0,0]"]
for pattern in parse_patterns(PATTERNS):
    print(pattern.kind, pattern.line)

crf = SparseCRF(rho1=1.0, rho2=0.01, patterns=PATTERNS, errors_every=0).fit(X, y)
assert crf.status_ == "converged"
assert crf.n_features_ == len(made.theta)
print(f"{crf.n_active_} of {crf.n_features_} weights are not zero")
print(f"test error {1 - crf.score(X_test, y_test):.1%}, that of the truth {least:.1%}")
crf.features(top=6).round(2)

# %% [markdown]
# ## The path
#
# From a large $\rho_1$ down, each fit begins with the weights of the one before (`warm_start`).
# True parameters have names too: every model can be asked how many of its features are true.

# %%
letters = sorted({letter for word in words for letter in word})
mu, lam = made.data.layout.split(made.theta)
truth = {(f"u:here={letters[i]}", None, f"p{j:02d}") for i, j in np.argwhere(mu)}
truth |= {(f"b:here={letters[i]}", f"p{k:02d}", f"p{j:02d}") for i, k, j in np.argwhere(lam)}
assert len(truth) == np.count_nonzero(made.theta)

RHO1 = np.geomspace(40, 0.05, 14)
walker = SparseCRF(rho2=0.01, patterns=PATTERNS, warm_start=True, errors_every=0)
rows = []
for rho1 in RHO1:
    walker.set_params(rho1=float(rho1)).fit(X, y)
    assert walker.status_ == "converged"
    found = set(walker.features()[["observation", "label_before", "label"]].itertuples(False, None))
    rows.append(
        {
            "rho1": rho1,
            "active": walker.n_active_,
            "true ones": len(found & truth),
            "train": 1 - walker.score(X, y),
            "dev": 1 - walker.score(X_dev, y_dev),
        }
    )
walk = pd.DataFrame(rows).set_index("rho1")
chosen = float(walk["dev"].idxmin())
assert walk["active"].iloc[0] < walk["active"].iloc[-1]
assert walk["train"].iloc[-1] < walk["train"].iloc[0]

figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.6))
left.plot(walk.index, walk["active"], "o-", markersize=4, label="active features")
left.plot(walk.index, walk["true ones"], "s--", markersize=4, label="of them true")
left.axhline(len(truth), color="0.5", linewidth=0.8)
left.annotate("all true ones", (RHO1[0], len(truth)), va="bottom", color="0.4")
left.set_ylabel("features")
left.legend(loc=(0.03, 0.6))
right.plot(walk.index, 100 * walk["train"], "s--", markersize=4, label="training words")
right.plot(walk.index, 100 * walk["dev"], "o-", markersize=4, label="development words")
right.set_ylabel("wrong labels, %")
right.legend(loc="upper right")
right.axvline(chosen, color="0.5", linewidth=0.8)
for ax in (left, right):
    ax.set_xscale("log")
    ax.invert_xaxis()
    ax.set_xlabel(r"$\rho_1$ (weaker to the right)")

# %% [markdown]
# The left panel is the sober part: a large $\rho_1$ finds true features only, a small one more of
# them and ever more that are not. The development words choose:

# %%
crf = SparseCRF(rho1=chosen, rho2=0.01, patterns=PATTERNS, errors_every=0).fit(X, y)
at = walk.loc[chosen]
error = 1 - crf.score(X_test, y_test)
assert walk["true ones"].iloc[0] == walk["active"].iloc[0]
precise = walk["true ones"] / walk["active"]
assert precise[chosen] > 0.6
assert precise.iloc[-1] < 0.3
assert error < least + 0.02
print(f"rho1 {chosen:.2f}: {at['active']:.0f} features, {at['true ones']:.0f} of them true ones")
print(f"test error {error:.1%} (the truth {least:.1%})")

# %% [markdown]
# ### What the second penalty is for
#
# Let every letter be observed twice, under two names, the second one coming late. The $L_1$ norm
# cares only for the sum of the two weights, and leaves what it finds. With $\rho_2 > 0$ the
# objective is strictly convex: there is one optimum, and twins share alike wherever one begins.

# %%
shares = {}
for rho2 in (0.0, 1.0):
    twin = SparseCRF(rho1=1.0, rho2=rho2, patterns=PATTERNS, warm_start=True, errors_every=0)
    twin.fit(X, y)
    twin.set_params(patterns=[*PATTERNS, "u:again=%x[0,0]"], tol=1e-6).fit(X, y)
    assert twin.status_ == "converged"
    weights = twin.state_features_
    shares[rho2] = max(
        abs(weight - weights.get((name.replace("here", "again"), sound), 0.0))
        for (name, sound), weight in weights.items()
    )
assert shares[0.0] > 1.0
assert shares[1.0] < 0.01
for rho2, apart in shares.items():
    print(f"rho2 = {rho2}: twins differ by up to {apart:.4f}")

# %% [markdown]
# ## Probabilities: forwards and backwards
#
# `predict_marginals` gives $p(y_t \mid x)$ by the forward-backward recursions, `predict_n_best` the
# most probable labellings with theirs. A word of three letters has $16^3 = 4096$ labellings, few
# enough to add up by hand from the weights' names.

# %%
word = next(word for word in X_test if len(word) == 3)
unigram, bigram = crf.state_features_, crf.bigram_features_


def score_of(labels):
    """The exponent of one labelling."""
    total = sum(unigram.get((f"u:here={x}", s), 0.0) for x, s in zip(word, labels, strict=True))
    moves = zip(word[1:], labels[:-1], labels[1:], strict=True)
    return total + sum(bigram.get((f"b:here={x}", a, b), 0.0) for x, a, b in moves)


every = list(itertools.product(crf.classes_, repeat=len(word)))
weight = np.exp([score_of(labels) for labels in every])
probability = weight / weight.sum()
marginals = crf.predict_marginals([word])[0]
for t, row in enumerate(marginals):
    assert abs(sum(row.values()) - 1) < 1e-9
    for label, value in row.items():
        by_hand = probability[[labels[t] == label for labels in every]].sum()
        assert abs(value - by_hand) < 1e-9

best = crf.predict_n_best([word], 5)[0]
assert np.allclose([value for _, value in best], np.sort(probability)[::-1][:5])
assert best[0][0] == crf.predict([word])[0] == list(every[int(probability.argmax())])
pd.DataFrame({"labelling": [" ".join(labels) for labels, _ in best], "probability":
              [value for _, value in best]}).round(3)  # fmt: skip

# %%
long = max(X_test, key=len)
table = pd.DataFrame(crf.predict_marginals([long])[0])[list(crf.classes_)]
path = crf.predict([long])[0]
figure, ax = plt.subplots(figsize=(7.6, 3.8))
image = ax.imshow(table.T, cmap="Blues", vmin=0, vmax=1, aspect="auto")
ax.plot(range(len(long)), [list(crf.classes_).index(s) for s in path], "o", color="#D55E00",
        markersize=4, label="most probable labelling")  # fmt: skip
ax.set_xticks(range(len(long)), list(long))
ax.set_yticks(range(len(crf.classes_)), crf.classes_, fontsize="x-small")
ax.set_xlabel("letters of a word")
ax.set_ylabel("sound")
ax.set_title("Probability of every sound at every letter", pad=20)
ax.legend(loc="lower right", bbox_to_anchor=(1.0, 0.99))
figure.colorbar(image, label="probability")
assert np.allclose(table.sum(axis=1), 1)

# %% [markdown]
# Are these probabilities right? The share of right labels, and of words whose true labelling is
# among the $k$ best, beside what the model and the truth promise. Shrunken weights are modest: they
# hold more than they promise.

# %%
data = crf.encode(X_test, y_test)
sure = posterior_marginals(data, crf.theta_).max(axis=1)
right = [
    max(row, key=row.get) == sound
    for rows, labels in zip(crf.predict_marginals(X_test), y_test, strict=True)
    for row, sound in zip(rows, labels, strict=True)
]
lists = crf.predict_n_best(X_test, 10)
ideal = n_best(test_data, made.theta, 10)
rows = []
for k in (1, 2, 5, 10):
    held = [
        labels in [guess for guess, _ in some[:k]]
        for labels, some in zip(y_test, lists, strict=True)
    ]
    promised = [sum(value for _, value in some[:k]) for some in lists]
    possible = [sum(one.probability for one in some[:k]) for some in ideal]
    rows.append([k, np.mean(held), np.mean(promised), np.mean(possible)])
held = pd.DataFrame(rows, columns=["k", "held", "promised", "promised by the truth"])
assert (held["held"] > held["promised"] - 0.03).all()
assert (held["held"] - held["promised by the truth"]).abs().max() < 0.06
print(f"likeliest label: probability {sure.mean():.3f}, right {np.mean(right):.3f}")
held.round(3)

# %% [markdown]
# ## Whole numbers
#
# Any separable penalty of `milpscore.penalties` may stand in the place of $\rho_1$ and $\rho_2$.
# Facets has kinks at the whole numbers, so weights rest there: a step towards a CRF whose table one
# can add up without a calculator. It is soft. Few active weights come to rest where the loss pulls
# hard, more where the penalty is strong; what is left of the fractions is rounded here, and the
# price of rounding looked at.

# %%


def rounded_error(model):
    """Test error once every weight is a whole number."""
    data = model.encode(X_test, y_test)
    return decoding_errors(data, np.rint(model.theta_))[0]


rows = []
models = {"elastic net": crf}
for lam in (1.0, 4.0, 16.0):
    models[f"Facets({lam})"] = SparseCRF(
        penalty=Facets(lam), patterns=PATTERNS, errors_every=0
    ).fit(X, y)
for name, model in models.items():
    used = model.theta_[model.theta_ != 0]
    rows.append(
        {
            "model": name,
            "active": model.n_active_,
            "integrity": model.integrity_,
            "whole, of the active": np.mean(used == np.rint(used)),
            "test error": 1 - model.score(X_test, y_test),
            "once rounded": rounded_error(model),
            "left": np.count_nonzero(np.rint(model.theta_)),
        }
    )
whole = pd.DataFrame(rows).set_index("model")
resting = whole["whole, of the active"]
assert resting["elastic net"] == 0
assert resting["Facets(16.0)"] > 0.3 > resting["Facets(4.0)"] > 0.05
assert whole.loc["Facets(4.0)", "test error"] < least + 0.02
assert (whole["once rounded"] < whole["test error"] + 0.03).all()
whole.round(3)

# %% [markdown]
# Integrity counts zeros too, so the elastic net has 0.97 without one whole active weight: look at
# the active ones. Rounding is cheap for every model here. One letter of the Facets table:

# %%
points = models["Facets(4.0)"].features()
letter = points[points["observation"].str.endswith("=a")]
letter.assign(weight=np.rint(letter["weight"]).astype(int)).query("weight != 0").head(8)

# %% [markdown]
# ## The trainers
#
# One objective, several roads, the same problem for all that are registered. A trace has a row
# an iteration: seconds, objective, active features, and the distance of 0 to the
# subdifferential, which says how far from optimal a point is whatever road led there.

# %%
data = crf.encode(X, y)
options = {"tol": 1e-5, "max_iterations": 400, "random_state": 0}
traces = {name: train(data, name, rho1=1.0, rho2=0.01, **options) for name in TRAINERS}
converged = {name: result for name, result in traces.items() if result.converged}
lowest = min(result.objective for result in traces.values())
assert "owlqn" in converged
for result in converged.values():
    assert result.objective <= lowest * (1 + 1e-5)

figure, ax = plt.subplots(figsize=(6.8, 3.6))
for (name, result), style in zip(traces.items(), ("-", "--", "-.", ":", "-"), strict=False):
    steps = pd.DataFrame(result.trace)
    above = (steps["objective"].cummin() / lowest - 1).clip(lower=1e-9)
    ax.plot(steps["seconds"].clip(lower=1e-3), above, style, linewidth=1.8, label=name)
ax.set_xscale("log")
ax.set_yscale("log")
ax.set_xlabel("seconds of training")
ax.set_ylabel("objective above the lowest, relative")
ax.set_title("Roads to one objective")
ax.legend()
pd.DataFrame(
    {
        name: {
            "objective": round(result.objective, 3),
            "active": result.active,
            "distance": f"{result.distance:.0e}",
            "status": str(result.termination),
        }
        for name, result in traces.items()
    }
).T

# %% [markdown]
# ## Keep it
#
# One file, no pickle in it: an npz archive, or JSON that anybody can read. `compact` leaves out
# observations without a weight.

# %%
with tempfile.TemporaryDirectory() as folder:
    for name in ("model.npz", "model.json"):
        path = Path(folder) / name
        crf.save(path, compact=True)
        again = SparseCRF.load(path)
        assert again.predict(X_test) == crf.predict(X_test)
        print(f"{name}: {path.stat().st_size / 1000:.1f} kB, the same {len(X_test)} predictions")

# %% [markdown]
# **What to try.** Add the letter before (`"u:before=%x[-1,0]"`): the truth has no such feature, and
# $\rho_1$ should find that out. Give `fit` the development words and `patience=5`. Take
# `make_chunking` and `span_scores` for spans in the manner of CoNLL. On the command line it is
# `milpscore crf train`, `tag`, `eval` and `dump`.
