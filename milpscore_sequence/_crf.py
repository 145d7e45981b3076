"""``SparseCRF``: labels of sequences in scikit-learn's manner."""

from __future__ import annotations

import math
import os
import sys
import warnings
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from milpscore.core.clock import Clock
from milpscore.core.errors import DataError, OptionError
from milpscore.core.result import Termination
from milpscore.metrics import integrity
from milpscore_sequence import training
from milpscore_sequence._files import KEPT, ModelFile, save_model
from milpscore_sequence._measures import token_accuracy
from milpscore_sequence._tagging import Tagger
from milpscore_sequence._whole_gradient import check_penalty
from milpscore_sequence.coding import Coding


@dataclass(eq=False, repr=False)
class SparseCRF(Tagger, BaseEstimator):  # type: ignore[misc]  # scikit-learn carries no types
    """A linear-chain conditional random field with the elastic net.

    Minimises sum_i -log p(y_i | x_i) + rho1 |theta|_1 + rho2/2 |theta|_2^2: a sum over the
    sequences, not a mean. Features are indicators, mu_{y,x} of an observation x with the label and
    lambda_{y',y,x} with the label before and the label.

    Parameters
    ----------
    solver : str
        "owlqn", "sbcd" or "sgd".
    rho1, rho2 : float
        Weights of the L1 norm, which makes features vanish, and of half the squared L2 norm.
    penalty : object of milpscore.penalties, optional
        A separable one in the place of rho1, rho2 and the solver, say ``Facets(0.5)`` for whole
        weights; trained by accelerated proximal gradient steps.
    patterns : text, list of lines, path object or None
        What is observed at a position, as in CRF++ and Wapiti; see :func:`parse_patterns`. None:
        unigram and bigram of every column, and the plain bigram. Named features need none.
    min_count : int
        Observations made at fewer positions are left out.
    max_iterations, tol, delta, random_state
        See :class:`TrainOptions`.
    time_limit : float or None
        Seconds of a ``fit``, reading the patterns included; kernels that have to be compiled first
        stand outside.
    patience : int or None
        Stop when the token errors on the development set were not below the fewest so far at so
        many looks in a row, and keep the model of the fewest.
    errors_every : int
        Look at the errors after N iterations; 0 for the last one only, or for each where there
        is ``patience``. A look decodes both sets, and may take longer than an iteration.
    warm_start : bool
        Begin with the weights of the last ``fit`` where there was one; they are carried over by
        the names of observations and labels, so data and patterns may differ.
    verbose : bool
        Write one line per iteration to standard error.

    Attributes
    ----------
    classes_ : ndarray of object
        Labels, sorted.
    theta_ : ndarray of shape (n_features_,)
        All weights; see :class:`Layout`.
    objective_ : float
        With the penalties, of ``theta_`` on the training data.
    status_ : str
        Why training stopped: "converged", "iteration_limit", "time_limit", "stopped" (patience),
        "flat", "stalled" or "interrupted".
    n_iter_ : int
    seconds_ : float
        Of ``fit``.
    trace_ : DataFrame
        One row per iteration: iteration, seconds, objective, active, distance, token_error,
        sequence_error, dev_token_error, dev_sequence_error.
    best_iteration_ : int or None
        The iteration with the fewest token errors on the development set. ``theta_`` is that of
        this iteration where ``patience`` was given, else that of the lowest objective.
    coding_ : Coding
        Patterns, vocabularies and labels.
    n_columns_ : int or None
        Columns of a position; None for named features.
    n_features_, n_active_ : int
        Weights, and those that are not zero.
    integrity_ : float
        Share of whole weights.
    """

    solver: str = "owlqn"
    _: KW_ONLY
    rho1: float = 0.5
    rho2: float = 1e-5
    penalty: Any = None
    patterns: Any = None
    min_count: int = 1
    max_iterations: int = 1000
    tol: float = training.TOL
    delta: float = training.DELTA
    time_limit: float | None = None
    patience: int | None = None
    errors_every: int = 0
    random_state: Any = None
    warm_start: bool = False
    verbose: bool = False

    def fit(self, X: Any, y: Any, X_dev: Any = None, y_dev: Any = None) -> Self:
        """Learn the vocabulary and the weights. Ctrl-C keeps the best model so far.

        Parameters
        ----------
        X : list of sequences
            Each a list of texts, of tuples of texts (columns), or of mappings name -> text, truth
            value, 0 or 1 (named features, as in sklearn-crfsuite).
        y : list of lists of str
        X_dev, y_dev : the same, optional
            A development set: its errors go to ``trace_``, and ``patience`` watches them.

        Returns
        -------
        SparseCRF
            Itself.

        Raises
        ------
        DataError
            Sequences, labels or patterns cannot be used.
        OptionError
            A parameter is out of range, or there is no such solver.

        Warns
        -----
        RuntimeWarning
            Training was interrupted.
        """
        _check_parameters(self)
        clock = Clock(math.inf if self.time_limit is None else self.time_limit)
        if (X_dev is None) != (y_dev is None):
            raise DataError("a development set has sequences and labels: give both X_dev and y_dev")
        if self.patience is not None and X_dev is None:
            raise OptionError("patience watches the errors on a development set: give X_dev, y_dev")
        coding, data = Coding.learn(X, y, self.patterns, self.min_count)
        start = None
        if self.warm_start and hasattr(self, "coding_"):
            start = self.weights_.moved_to(coding)
        alone = self.penalty is not None
        result = training.train(
            data,
            self.solver,
            penalty=self.penalty,
            rho1=0.0 if alone else self.rho1,
            rho2=0.0 if alone else self.rho2,
            start=start,
            tol=self.tol,
            max_iterations=self.max_iterations,
            delta=self.delta,
            time_limit=clock,
            dev=None if X_dev is None else coding.encode(X_dev, y_dev, "y_dev"),
            keep_by_dev=self.patience is not None,
            errors_every=self.errors_every or int(self.patience is not None),
            callback=Watch(self.patience, self.verbose),
            random_state=self.random_state,
        )
        self._keep(coding, result)
        if result.termination is Termination.INTERRUPTED:
            warnings.warn(
                f"training was interrupted after {self.n_iter_} iterations: the best model until "
                "then is kept",
                RuntimeWarning,
                stacklevel=2,
            )
        return self

    def score(self, X: Any, y: Any) -> float:
        """Share of positions with the right label.

        Parameters
        ----------
        X : list of sequences
        y : list of lists of str
        """
        return token_accuracy(y, self.predict(X))

    @property
    def state_features_(self) -> dict[tuple[str, str], float]:
        """(observation, label) -> weight, those that are not zero."""
        return {(x, y): w for x, before, y, w in self.weights_.named() if before is None}

    @property
    def transition_features_(self) -> dict[tuple[str, str], float]:
        """(label before, label) -> weight of the plain bigram, those that are not zero."""
        return {pair[1:]: w for pair, w in self._bigrams() if pair[0] == self.coding_.plain}

    @property
    def bigram_features_(self) -> dict[tuple[str, str, str], float]:
        """(observation, label before, label) -> weight, those that are not zero, no plain ones."""
        return {pair: w for pair, w in self._bigrams() if pair[0] != self.coding_.plain}

    def _bigrams(self) -> Iterator[tuple[tuple[str, str, str], float]]:
        """(observation, label before, label) and weight of active bigram features."""
        for x, before, y, weight in self.weights_.named():
            if before is not None:
                yield (x, before, y), weight

    @property
    def selected_features_(self) -> frozenset[tuple[str, str | None, str]]:
        """The features that are not 0, as kind, observation and labels."""
        return frozenset(named[:3] for named in self.weights_.named())

    @property
    def n_features_(self) -> int:
        """Number of weights."""
        return len(self.theta_)

    @property
    def n_active_(self) -> int:
        """Number of weights that are not zero."""
        return int(np.count_nonzero(self.theta_))

    @property
    def integrity_(self) -> float:
        """Share of whole weights, zeros included."""
        return integrity(self.theta_)

    def save(self, path: str | os.PathLike[str], *, compact: bool = False) -> None:
        """Write the model into one file, which :meth:`load` reads; no pickle in it.

        Parameters
        ----------
        path : path
            A name that ends in ``.json`` gives JSON, any other an npz archive.
        compact : bool
            Leave out observations without an active feature: predictions stay the same.

        Raises
        ------
        OSError
            The file cannot be written.
        """
        save_model(self, path, compact)

    @classmethod
    def _of_file(cls, content: ModelFile, **_: Any) -> Self:
        """The model of a file, ready to predict and to be fitted again."""
        model = super()._of_file(content, **content.parameters())
        for name in KEPT:
            setattr(model, f"{name}_", getattr(content.about, name))
        model.trace_ = training.TraceRow.table(content.about.trace)
        model.classes_ = np.array(model.coding_.labels, dtype=object)
        return model

    def _keep(self, coding: Coding, result: training.TrainResult) -> None:
        """Take over what was trained."""
        self.coding_ = coding
        self.classes_ = np.array(coding.labels, dtype=object)
        self.theta_ = result.theta
        self.objective_ = result.objective
        self.status_ = str(result.termination)
        self.n_iter_ = result.trace[-1].iteration
        self.seconds_ = result.seconds
        self.trace_ = training.TraceRow.table(result.trace)
        looked = [row for row in result.trace if not np.isnan(row.dev_token_error)]
        best = min(looked, key=lambda row: row.dev_token_error, default=None)
        self.best_iteration_ = None if best is None else best.iteration

    def _fitted(self) -> Coding:
        """The coding; scikit-learn's NotFittedError before there is one."""
        check_is_fitted(self, "theta_")
        return self.coding_


@dataclass
class Watch:
    """Prints one line per iteration, and asks to stop where patience runs out."""

    patience: int | None
    verbose: bool
    fewest: float = np.inf
    since: int = 0

    def __call__(self, row: training.TraceRow) -> bool:
        """Look at a row of the trace; whether to stop."""
        if self.verbose:
            sys.stderr.write(f"{row}\n")
        if self.patience is None or np.isnan(row.dev_token_error):
            return False
        self.since = 0 if row.dev_token_error < self.fewest else self.since + 1
        self.fewest = min(self.fewest, row.dev_token_error)
        return self.since >= self.patience


def _check_parameters(model: SparseCRF) -> None:
    """Refuse parameters outside their ranges, naming the parameter and its range."""
    whole = {"min_count": 1, "max_iterations": 0, "errors_every": 0}
    limit, patience = model.time_limit, model.patience
    training.check_ranges(
        model,
        training.NUMBERS if limit is None else (*training.NUMBERS, "time_limit"),
        whole if patience is None else {**whole, "patience": 1},
    )
    training.TRAINERS.name_of(model.solver)
    if model.penalty is not None:
        check_penalty(model.penalty)
