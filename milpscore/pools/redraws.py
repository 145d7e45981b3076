"""Models made again on bootstrap samples of their rows: how often each feature is chosen."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable, Generator, Hashable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np
import pandas as pd

from milpscore.core.clock import Clock
from milpscore.core.design import BoolArray, Design, FloatArray, IntArray
from milpscore.core.errors import (
    MilpscoreError,
    NotApplicableError,
    OptionError,
    is_whole,
)
from milpscore.core.jit import heeding_interrupts
from milpscore.core.program import Program
from milpscore.data.checking import patient_codes
from milpscore.fitting import fit_card
from milpscore.metrics import SelectionStability, selection_stability
from milpscore.pools import BOOTSTRAPS
from milpscore.pools.nearly_best import Pool
from milpscore.proximal import path
from milpscore.scorecard import Scorecard, certified_card
from milpscore.solvers.engine import progress_line

T = TypeVar("T")
Picked = tuple[frozenset[Hashable], ...]
"""What a model uses: a single set, or for a path one set per lam."""


@dataclass(frozen=True)
class Redrawn(Generic[T]):
    """Answers of bootstrap samples."""

    asked: int
    made: tuple[T, ...]  # the answers there are
    failed: Mapping[str, int]  # how often there was none, per reason

    @property
    def interrupted(self) -> bool:
        """Whether there are fewer samples than were asked for."""
        return len(self.made) + sum(self.failed.values()) < self.asked


def redrawn(
    work: Callable[[np.random.Generator], T],
    bootstraps: int,
    *,
    n_jobs: int = 1,
    random_state: int = 0,
    progress: bool | None = None,
) -> Redrawn[T]:
    """Do the work once per generator and count errors by reason; Ctrl-C ends it early."""
    # the generators do not depend on n_jobs
    made: list[T] = []
    failed: Counter[str] = Counter()
    seeds = np.random.SeedSequence(random_state).spawn(bootstraps)
    with (
        progress_line("bootstrap", progress, Clock(0)) as line,
        heeding_interrupts(),
        closing(_attempts(work, seeds, n_jobs)) as attempts,
    ):
        line.phase(f"sample 1 of {bootstraps}")
        for k, (found, reason) in enumerate(attempts, start=2):
            if reason:
                failed[reason] += 1
            else:
                made.append(found)
            line.phase(f"sample {min(k, bootstraps)} of {bootstraps}")
    return Redrawn(bootstraps, tuple(made), dict(failed))


def _attempts(
    work: Callable[[np.random.Generator], T], seeds: Sequence[Any], n_jobs: int
) -> Generator[tuple[Any, str]]:
    """The answer of each sample, or why there is none, in order."""
    if n_jobs == 1:
        yield from (_attempt(work, seed) for seed in seeds)
        return
    from joblib import Parallel, delayed

    parallel = Parallel(n_jobs=n_jobs, return_as="generator")
    found = parallel(delayed(_attempt)(work, seed) for seed in seeds)
    try:
        yield from found
    finally:
        with warnings.catch_warnings():
            # joblib warns of answers nobody took: after Ctrl-C nobody wants them
            warnings.simplefilter("ignore", UserWarning)
            found.close()


def _attempt(work: Callable[[np.random.Generator], T], seed: Any) -> tuple[T | None, str]:
    """The answer of one sample, or why there is none."""
    try:
        return work(np.random.default_rng(seed)), ""
    except MilpscoreError as error:
        return None, str(error).partition(";")[0]


def resampled(
    design: Design, random: np.random.Generator, patients: IntArray | None = None
) -> Design:
    """Draw with replacement as many rows as have positive weight, or as many patients.

    Equal rows are counted. ``patients`` (n,) numbers them from 0: their rows are drawn together.
    """
    rows = np.where(design.weight > 0, design.rows, 0)
    if patients is None:
        drawn = random.multinomial(int(rows.sum()), rows / rows.sum())
    else:
        count = int(patients.max()) + 1
        drawn = rows * random.multinomial(count, np.full(count, 1 / count))[patients]
    there = np.flatnonzero(drawn)
    weight = design.weight[there] / design.rows[there] * drawn[there]
    return Design(
        design.X[there], design.y[there], weight, design.columns, design.blocks, design.classes,
        counts=drawn[there], class_factors=design.class_factors,
    )  # fmt: skip


@dataclass(frozen=True)
class CardsAgain:
    """Fit a program's card to other rows, in fast mode if the program is exact."""

    design: Design
    formulation: str
    arguments: Mapping[str, Any]
    exact: bool
    random_state: int
    patients: IntArray | None = None

    @classmethod
    def of(cls, program: Program, random_state: int, patients: Any = None) -> CardsAgain:
        """Take what a program was built with, and which rows are of one patient."""
        design, exact = program.statement.design.unpaired, program.kind == "exact"
        given = dict(program.arguments)
        codes = patient_codes(design, patients)
        return cls(design, program.formulation, given, exact, random_state, codes)

    def sample(self, random: np.random.Generator) -> Design:
        """Draw a bootstrap sample of the rows."""
        return resampled(self.design, random, self.patients)

    def card(self, sample: Design) -> Scorecard:
        """The card on a sample."""
        again, result = fit_card(
            sample, self.formulation, heuristic=self.exact, progress=False, time_limit=math.inf,
            random_state=self.random_state, **self.arguments,
        )  # fmt: skip
        return certified_card(sample, result, statement=again.statement)

    def __call__(self, random: np.random.Generator) -> Picked:
        """The features that the card of a sample uses."""
        card = self.card(self.sample(random))
        return (frozenset(feature.name for feature in card.used_features),)


@dataclass(frozen=True)
class _PathsAgain:
    """Fit a path of penalised models to other rows."""

    X: FloatArray
    y: Any
    lams: FloatArray
    arguments: Mapping[str, Any]

    def __call__(self, random: np.random.Generator) -> Picked:
        n = len(self.y)
        counts = random.multinomial(n, np.full(n, 1 / n))
        there = np.flatnonzero(counts)
        again = path(
            self.X[there], self.y[there], lams=self.lams, sample_weight=counts[there],
            **self.arguments,
        )  # fmt: skip
        return _used(again.coefficients)


def _used(coefficients: FloatArray) -> Picked:
    """The columns that the models of a path use, (lams, p) or (lams, p, classes)."""
    used = np.asarray(coefficients if coefficients.ndim == 2 else coefficients.any(axis=2))
    return tuple(frozenset(np.flatnonzero(w).tolist()) for w in used)


@dataclass(frozen=True)
class _FitsAgain:
    """Fit an estimator to other rows, or other sequences."""

    model: Any
    X: Sequence[Any]
    y: Sequence[Any]

    def __call__(self, random: np.random.Generator) -> Picked:
        from sklearn.base import clone

        drawn = random.integers(len(self.X), size=len(self.X)).tolist()
        again = clone(self.model).fit([self.X[i] for i in drawn], [self.y[i] for i in drawn])
        return (again.selected_features_,)


@dataclass(frozen=True)
class Stability:
    """Which features are chosen on bootstrap samples of the rows.

    Attributes
    ----------
    samples : Redrawn
        ``asked``, ``made`` (the features chosen on each sample), ``failed`` (how often a sample
        gave nothing, per reason) and ``interrupted``.
    own : tuple of sets
        What the model on all rows uses; for a path one set per lam.
    candidates : int
        Number of features to choose from.
    lams : tuple of float
        The path's; empty for other models.
    names : mapping
        Printed names of features, if they differ.
    pool : mapping from feature to float
        Share of the pool's cards that use a feature; empty without a pool.
    """

    samples: Redrawn[Picked]
    own: Picked
    candidates: int
    lams: tuple[float, ...]
    names: Mapping[Hashable, str]
    pool: Mapping[str, float]

    @cached_property
    def features(self) -> tuple[Hashable, ...]:
        """Every feature that was ever chosen, the commonest first."""
        often = Counter(
            name for made in (*self.samples.made, self.own) for name in set().union(*made)
        )
        return tuple(sorted(often, key=lambda name: (-often[name], str(name))))

    @cached_property
    def selected(self) -> BoolArray:
        """Whether each sample (axis 0) at each lam (axis 1) chose each of :attr:`features`."""
        place = {name: k for k, name in enumerate(self.features)}
        found = np.zeros((len(self.samples.made), len(self.own), len(place)), dtype=bool)
        for i, made in enumerate(self.samples.made):
            for j, chosen in enumerate(made):
                found[i, j, [place[name] for name in chosen]] = True
        return found

    @property
    def frequency(self) -> pd.DataFrame:
        """Share of the samples that chose each feature, beside what the model itself uses.

        Columns ``own``, ``bootstrap``, and ``pool`` if there is one; for a path a column per lam.
        """
        index = pd.Index([self.names.get(name, name) for name in self.features], name="feature",
                         dtype=object, tupleize_cols=False)  # fmt: skip
        shares = self.selected.mean(axis=0).T
        if self.lams:
            return pd.DataFrame(shares, index=index, columns=pd.Index(self.lams, name="lam"))
        own = [name in self.own[0] for name in self.features]
        table = pd.DataFrame({"own": own, "bootstrap": shares[:, 0]}, index=index)
        if self.pool:
            table["pool"] = [self.pool.get(str(name), 0.0) for name in index]
        return table

    @property
    def index(self) -> SelectionStability:
        """Nogueira's index with its interval; for a path see :attr:`indices`."""
        if self.lams:
            raise NotApplicableError("a path has one index for each lam: take indices")
        return selection_stability(self.selected[:, 0], candidates=self.candidates)

    @property
    def indices(self) -> pd.DataFrame:
        """Nogueira's index with its interval, per lam of a path."""
        rows = [
            selection_stability(self.selected[:, k], candidates=self.candidates)
            for k in range(len(self.lams))
        ]
        return pd.DataFrame(rows, index=pd.Index(self.lams, name="lam"))


def stability(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    pool: Pool | None = None,
    patients: Any = None,
    bootstraps: int = BOOTSTRAPS,
    n_jobs: int = 1,
    random_state: int = 0,
    progress: bool | None = None,
    **arguments: Any,
) -> Stability:
    """Refit a model to bootstrap samples of its rows, and count which features it chooses.

    Parameters
    ----------
    model : Program, penalty or estimator
        A program (which holds its rows: no X and y) is refitted in fast mode. A penalty, as
        :func:`milpscore.proximal.path` takes it, gives a path with the lams of all rows. An
        estimator with ``selected_features_`` and ``n_features_``, such as
        :class:`milpscore_sequence.SparseCRF`, is fitted to samples of rows or sequences.
    X, y :
        As ``fit`` or ``path`` takes them; for a path arrays or a DataFrame.
    pool : Pool, optional
        The program's: adds the share of its cards that use each feature.
    patients : array of shape (n,), optional
        The patient of each row, if the model is a program: rows of a patient are drawn together.
    bootstraps : int
    n_jobs : int
        Processes (joblib); the answer does not depend on it.
    random_state : int
    progress : bool, optional
        Show a progress line; default: in a terminal. Ctrl-C ends the sampling and keeps the
        answers so far.
    **arguments
        The path's.

    Returns
    -------
    Stability

    Raises
    ------
    NotApplicableError
        For another model, or a program that does not know its arguments.
    OptionError
        ``bootstraps`` is not a whole number >= 1, or ``arguments`` without a path.

    References
    ----------
    Nogueira, Sechidis and Brown, "On the stability of feature selection algorithms", JMLR 18
    (2018). Meinshausen and Buhlmann, "Stability selection", JRSS B 72 (2010): the paths.
    """
    if not is_whole(bootstraps, 1):
        raise OptionError(f"bootstraps must be a whole number >= 1, got {bootstraps!r}")
    work, own, candidates, more = _again(model, X, y, random_state, arguments)
    if patients is not None:
        if not isinstance(model, Program):
            raise NotApplicableError("patients are drawn of a program's rows: pass the program")
        work = CardsAgain.of(model, random_state, patients)
    samples = redrawn(work, bootstraps, n_jobs=n_jobs, random_state=random_state, progress=progress)
    shares = {} if pool is None else pool.feature_importance["share"].to_dict()
    return Stability(samples, own, candidates, **{"lams": (), "names": {}, "pool": shares, **more})


def _again(
    model: Any, X: Any, y: Any, random_state: int, arguments: dict[str, Any]
) -> tuple[Callable[[np.random.Generator], Picked], Picked, int, dict[str, Any]]:
    """How to refit a model, what it uses itself, out of how many, and further fields."""
    selects = hasattr(type(model), "selected_features_")
    if arguments and (selects or isinstance(model, Program)):
        raise OptionError(f"only a path takes further arguments such as {next(iter(arguments))!r}")
    if isinstance(model, Program):
        if not model.arguments:
            raise NotApplicableError("the program does not know the arguments it was built with")
        again = CardsAgain.of(model, random_state)
        card = again.card(again.design)
        used = frozenset(feature.name for feature in card.used_features)
        return again, (used,), len(card.features), {}
    if selects:
        from sklearn.base import clone

        whole = clone(model).fit(X, y)
        return _FitsAgain(clone(model), X, y), (whole.selected_features_,), whole.n_features_, {}
    if not (callable(model) or hasattr(model, "prox")):
        raise NotApplicableError(
            "stability needs a Program, a penalty or an estimator with selected_features_ (a "
            f"SparseCRF), not a {type(model).__name__}"
        )
    names = dict(enumerate(map(str, X.columns))) if hasattr(X, "columns") else {}
    rows, labels = np.asarray(X, dtype=np.float64), np.asarray(y)
    first = path(rows, labels, penalty=model, **arguments)
    kept = {name: v for name, v in arguments.items() if name not in ("lams", "n_lams", "ratio")}
    again_path = _PathsAgain(rows, labels, first.lams, {"penalty": model, **kept})
    more = {"lams": tuple(first.lams.tolist()), "names": names}
    return again_path, _used(first.coefficients), rows.shape[1], more
