"""Instances by name: those of MIPLIB 2017 on three of the tables, and a family of our own."""

from __future__ import annotations

import csv
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from fractions import Fraction
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from milpscore.core.card import Card
from milpscore.core.design import Design
from milpscore.core.errors import DataError, OptionError, Registry
from milpscore.core.program import Program
from milpscore.core.writing import write_text
from milpscore.data import Binner, make_planted_score, make_ternary, read_table
from milpscore.data.binner import binned_design
from milpscore.formulations import FORMULATIONS

HANDICAP = "negative_row"
"""The column of the published rule: 1 on negative rows, with a weight of 1."""

INSTANCE_TABLES = "milpscore_study.instances:make_table"
"""The generator of studies that makes them."""

REACH, BOX, MARGIN = 10, 100, 0.001
"""Constants of the published rule: largest points and intercept, and how far totals stay from 0."""


class _Set(NamedTuple):
    """A file: its label, its digest, and how many rows and features it has."""

    label: str
    digest: str
    rows: int
    features: int


_SETS = {
    "adult": _Set(
        "Over50K", "b4f47313889d61c85eb1dd0ded48f624ce5145a6b2773aaed0378f5e6708f0e4", 32561, 36
    ),
    "bankruptcy": _Set(
        "NotBankrupt", "ff4e6637a2d91129d514f3a44f1f105d60368a2c920b0009d460ded1ab7b19c3", 250, 6
    ),
    "breastcancer": _Set(
        "Benign", "c5f4b53b631f263f0cfeffc8d7a8b919aab4d4d435fc7c6060bbba9a0d9eb012", 683, 9
    ),
    "haberman": _Set(
        "AliveAfter5Yrs", "33b99963934dee8f29aec8d975b76d8970e68e5f855e2a7ddc991bf0ccf3869b", 306, 3
    ),
    "mammo": _Set(
        "Malignant", "485a754dad0aa9063ce5c86b0170d2286e76899a041af2610d38bbe1ca64c5dd", 961, 14
    ),
    "mushroom": _Set(
        "poisonous", "d37a1948f2926ce05e14265b66e3904f317b96500b0de35fd752657a6328a611", 8124, 113
    ),
}
_MADE: dict[str, dict[str, Any]] = {
    "planted200": {"n_samples": 200, "n_features": 10, "random_state": 1},
    "planted1000": {"n_samples": 1000, "n_features": 20, "random_state": 2},
    "planted5000": {"n_samples": 5000, "n_features": 40, "random_state": 3},
    "noisy": {"n_samples": 2000, "n_features": 30, "noise": 0.2, "random_state": 4},
    "wide": {"n_samples": 300, "n_features": 120, "random_state": 5},
    "genes": {"random_state": 6},
}
_FAMILY: dict[str, tuple[str, tuple[float, ...]]] = {
    "convex_rounding": ("margin", (1.0, 2.0, 5.0)),
    "facets_hinge": ("lam", (0.1, 0.03, 0.01)),
    "fused_lasso": ("lam", (0.1, 0.03, 0.01)),
    "hinge": ("max_terms", (3, 5, 8)),
    "risk_score": ("max_terms", (3, 5, 8)),
    "slim": ("max_terms", (3, 5, 8)),
    "sparse_rounding": ("max_terms", (3, 5, 8)),
}
"""What the three sizes of a formulation are; ``ordinal`` is ``slim`` on tables of two labels."""

_REFERENCES = {"breastcancer-regularized": 35.767842, "mushroom-best": 0.055333761232}
"""The library's objectives, of those instances where its list of solutions was at hand."""


@dataclass(frozen=True)
class Known:
    """The best card of an instance that is known, and the bound.

    Attributes
    ----------
    objective, bound : float
        Of the program as :meth:`Instance.program` states it.
    claim : str
        "optimal" where the two meet, else "gap" or "feasible".
    by : str
        Who proved the bound, and with what.
    card : Card
    """

    objective: float
    bound: float
    claim: str
    by: str
    card: Card


@dataclass(frozen=True)
class Instance:
    """A program by name.

    Attributes
    ----------
    name : str
    formulation : str
        A name of :data:`milpscore.formulations.FORMULATIONS`.
    arguments : mapping
        What its builder is called with.
    table : str
        Where the rows come from.
    rule : {"card", "published"}
        "published" is MIPLIB's: a total of 0 is an error in both classes, which the column
        :data:`HANDICAP` states; points have a small price, and the intercept has a box.
    reference : float or None
        The objective of the library's best solution, where it was at hand.
    bins : int or None
        Bins of each feature, where the formulation needs them.
    """

    name: str
    formulation: str
    arguments: Mapping[str, Any] = field(repr=False)
    table: str
    rule: str = "card"
    reference: float | None = None
    bins: int | None = None

    def design(self) -> Design:
        """Return the rows as the builder reads them; errors as :func:`make_table`."""
        X, y = make_table(self.table, rule=self.rule)
        return binned_design(X, y, self._binner())

    def _binner(self) -> Binner | None:
        """As a study bins."""
        return None if self.bins is None else Binner(self.bins, encoding="onehot", useless="keep")

    def program(self) -> Program:
        """State the program; errors as :func:`make_table`."""
        return FORMULATIONS[self.formulation](self.design(), **self.arguments)

    @property
    def known(self) -> Known | None:
        """The best card and bound that are known, or None."""
        return _best_known().get(self.name)

    def in_rows(self, objective: float) -> float:
        """Return an objective (or bound) as the library counts it: of all rows, not their mean.

        Raises
        ------
        OptionError
            The instance is not stated by the published rule.
        """
        if self.rule != "published":
            raise OptionError(f"{self.name} is not stated by MIPLIB's rule: it has no other units")
        # the handicap pays for a term and a point as well
        extra = self.arguments["l0_penalty"] + self.arguments["l1_penalty"]
        return float(_SETS[self.table].rows * (objective - extra))

    def write(self, folder: str | os.PathLike[str]) -> tuple[Path, ...]:
        """Write ``NAME.mps``, and ``NAME.sol`` where a card is known.

        By the published rule the file is the library's own model, row by row; else it is what
        :meth:`milpscore.core.program.Program.write` makes of the program.

        Returns
        -------
        tuple of Path
            The files.

        Raises
        ------
        FormulationError
            The loss is smooth: no MPS file holds it.
        """
        model, solution = (Path(folder) / f"{self.name}.{end}" for end in ("mps", "sol"))
        program = _Published(self) if self.rule == "published" else self.program()
        program.write(model)
        if (known := self.known) is None:
            return (model,)
        if isinstance(program, _Published):
            values = dict(program.values(known.card))
        else:
            program.fill(known.card)
            values = {label: float(v.value) for label, v in program.labels.items()}
        lines = [f"{label} {value:.17g}" for label, value in values.items() if value]
        first = f"=obj= {self._stated(known.objective):.17g}"
        write_text(solution, "\n".join([first, *lines, ""]))
        return model, solution

    def _stated(self, objective: float) -> float:
        """An objective in the units of the written model."""
        return self.in_rows(objective) if self.rule == "published" else objective

    def solution_line(self) -> str:
        """Return the line of a ``.solu`` list: ``=opt=`` or ``=best=`` and the objective."""
        if self.known is None:
            return f"=unkn= {self.name}"
        what = "opt" if self.known.claim == "optimal" else "best"
        return f"={what}= {self.name} {self._stated(self.known.objective):.12g}"


class _Published:
    """The library's model of an instance (Ustun & Rudin 2016, with its package's constants).

    min sum_i z_i + C_0 sum_j alpha_j + C_1 sum_j beta_j, with y_i (w.x_i + b) + M_i z_i >= .001,
    |w_j| <= 10 alpha_j, |w_j| <= beta_j, and the sums of alpha and z as columns of their own.
    """

    def __init__(self, instance: Instance) -> None:
        X, y = make_table(instance.table)
        self.n, self.p = X.shape
        self.name, self.columns = instance.name, list(X.columns)
        self.sign = np.where(y == 1, 1.0, -1.0)
        self.rows = self.sign[:, None] * np.column_stack([np.ones(self.n), X.to_numpy(float)])
        arguments = instance.arguments
        self.prices = self.n * arguments["l0_penalty"], self.n * arguments["l1_penalty"]
        most = arguments["max_terms"]
        self.terms = self.p if most is None else most - 1

    def values(self, card: Card) -> Iterator[tuple[str, float]]:
        """Yield the names and values of a card's solution."""
        w = np.r_[float(card.intercept) + 1.0, card.coefficients[:-1].astype(float)]
        z = (self.rows @ w < MARGIN).astype(float)
        used = (w[1:] != 0).astype(float)
        wrong = [float(z[self.sign == sign].sum()) for sign in (1.0, -1.0)]
        sums = [float(used.sum()), sum(wrong), *wrong]
        yield from zip(self._names(), [*w, *used, *np.abs(w[1:]), *z, *sums], strict=True)

    def _names(self) -> list[str]:
        """The columns' names, in the library's order."""
        features = range(1, self.p + 1)
        return [
            *(f"rho_{j}" for j in (0, *features)),
            *(f"alpha_{j}" for j in features),
            *(f"beta_{j}" for j in features),
            *(f"error_{i}" for i in range(self.n)),
            "total_l0_norm", "total_error", "total_error_pos_name", "total_error_neg_name",
        ]  # fmt: skip

    def write(self, path: Path) -> None:
        """Write the model as an MPS file."""
        import highspy
        import scipy.sparse as sp

        n, p, inf = self.n, self.p, highspy.kHighsInf
        one, none = sp.eye_array(p), sp.csr_array((p, p))
        w, free = sp.hstack([sp.csr_array((p, 1)), one]), sp.csr_array((p, n + 4))
        # 1) The M of each row: what the largest points add, and the intercept.
        reach = REACH * -np.sort(-np.abs(self.rows[:, 1:]), axis=1)[:, : self.terms].sum(axis=1)
        M = reach + BOX + 1.05 * MARGIN
        # 2) Rows of data, links of points to their switches and sizes, and four sums.
        count = np.zeros((4, 1 + 3 * p + n + 4))
        count[0, 1 + p : 1 + 2 * p] = -1
        for k, sign in enumerate((1.0, -1.0), start=1):
            count[k, 1 + 3 * p : 1 + 3 * p + n] = np.where(self.sign == sign, -1.0, 0.0)
        count[:, -4:] = [[1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 1, -1, -1]]
        matrix = sp.vstack([
            sp.hstack([sp.csr_array(self.rows), sp.csr_array((n, 2 * p)), sp.diags_array(M),
                       sp.csr_array((n, 4))]),
            sp.hstack([w, REACH * one, none, free]),
            sp.hstack([-w, REACH * one, none, free]),
            sp.hstack([-w, none, one, free]),
            sp.hstack([w, none, one, free]),
            sp.csr_array(count),
        ]).tocsc()  # fmt: skip
        matrix.eliminate_zeros()
        lp = highspy.HighsLp()
        lp.num_row_, lp.num_col_ = matrix.shape
        lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        lp.a_matrix_.start_, lp.a_matrix_.index_ = matrix.indptr, matrix.indices
        lp.a_matrix_.value_ = matrix.data
        lp.row_lower_ = np.r_[np.full(n, MARGIN), np.zeros(4 * p + 4)]
        lp.row_upper_ = np.r_[np.full(n + 4 * p, inf), np.zeros(4)]
        # 3) Prices, ranges and kinds of columns.
        switch, size = np.full(p, self.prices[0]), np.full(p, self.prices[1])
        lp.col_cost_ = np.r_[np.zeros(1 + p), switch, size, np.ones(n), np.zeros(4)]
        lower = np.r_[-BOX, np.full(p, -REACH), np.zeros(2 * p + n + 4)]
        positive = float((self.sign > 0).sum())
        upper = np.r_[BOX, np.full(p, REACH), np.ones(p), np.full(p, REACH), np.ones(n)]
        lp.col_lower_ = lower
        lp.col_upper_ = np.r_[upper, self.terms, n, positive, n - positive]
        whole, real = highspy.HighsVarType.kInteger, highspy.HighsVarType.kContinuous
        lp.integrality_ = [*[whole] * (1 + 2 * p), *[real] * p, *[whole] * (n + 4)]
        lp.col_names_ = self._names()
        links = ("L0_norm_lb", "L0_norm_ub", "L1_norm_pos", "L1_norm_neg")
        lp.row_names_ = [
            *(f"error_{i}" for i in range(n)),
            *(f"{link}_{j}" for link in links for j in range(1, p + 1)),
            "total_L0_norm", "total_pos_error", "total_neg_error", "total_error",
        ]  # fmt: skip
        lp.model_name_ = self.name
        solver = highspy.Highs()
        solver.silent()
        solver.passModel(lp)
        if solver.writeModel(str(path)) == highspy.HighsStatus.kError:
            raise DataError(f"{str(path)!r} cannot be written: check the folder")


# --- the rows ------------------------------------------------------------------------------------


def make_table(
    name: str, *, rule: str = "card", random_state: Any = None
) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """Return the features and labels of a table, shapes (n, p) and (n,).

    Parameters
    ----------
    name : str
        One of the six sets, which are read from the folder ``MILPSCORE_DATA``, or of the six that
        are made.
    rule : {"card", "published"}
        "published" adds the column :data:`HANDICAP`.
    random_state : None
        Nothing is left to chance: each table has its seed.

    Raises
    ------
    DataError
        The folder or file is absent, or holds other rows.
    OptionError
        There is no such table.
    """
    if name in _MADE:
        make = make_ternary if name == "genes" else make_planted_score
        X, y, _ = make(**_MADE[name])
    elif name in _SETS:
        X, y = _read(name)
    else:
        raise OptionError(f"no table {name!r}; there are {', '.join((*_SETS, *_MADE))}")
    if rule == "published":
        X = pd.concat([X, (y == 0).astype(int).rename(HANDICAP)], axis=1)
    return X, y


def _read(name: str) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """The rows of a file, if they are the ones that the instances are about."""
    folder = os.environ.get("MILPSCORE_DATA")
    if folder is None:
        raise DataError(f"the table {name} is read from a folder: export MILPSCORE_DATA=FOLDER")
    path = Path(folder) / f"{name}.csv"
    try:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise DataError(f"{str(path)!r} cannot be read ({error.strerror})") from error
    if digest != _SETS[name].digest:
        raise DataError(f"{str(path)!r} has other rows than the instances are about")
    X, y = read_table(path, _SETS[name].label)
    return X, y


# --- the names -----------------------------------------------------------------------------------


def _published() -> Iterator[Instance]:
    """The nine of MIPLIB 2017, and each as its card would be printed."""
    for table in ("adult", "breastcancer", "mushroom"):
        n, p = _SETS[table].rows, _SETS[table].features
        for kind in ("best", "max5features", "regularized"):
            # what is not regularised has a price below that of any error
            l0 = 0.01 if kind == "regularized" else 0.9 / (n * (p + 1))
            most = 5 if kind == "max5features" else None
            points: dict[str, Any] = {"coef_min": -REACH, "coef_max": REACH, "l0_penalty": l0}
            name = f"{table}-{kind}"
            yield Instance(f"{name}-card", "slim", {**points, "max_terms": most}, table)
            published = {
                **points,
                "max_terms": None if most is None else most + 1,
                "l1_penalty": 0.5 * min(1 / n, l0 / (REACH * p + BOX)),
                # a positive total reaches T, a negative one stays below T - 1
                "intercept_bounds": (-BOX - 1, BOX - 1),
                "coef_sets": {HANDICAP: [1]},
            }
            reference = _REFERENCES.get(name)
            yield Instance(name, "slim", published, table, "published", reference)


def _family() -> Iterator[Instance]:
    """Every formulation on every table, in three sizes."""
    for formulation, (what, sizes) in _FAMILY.items():
        for table in (*_SETS, *_MADE):
            # decimals have too fine a grid for some
            bins = 4 if formulation == "fused_lasso" or table == "genes" else None
            most = _SETS[table].features if table in _SETS else _MADE[table].get("n_features", 69)
            for size in sizes:
                if what == "max_terms" and size > most:
                    continue  # the same as without a limit, or with that of the size before
                name = f"{formulation}-{table}-{size:g}"
                yield Instance(name, formulation, {what: size}, table, bins=bins)


INSTANCES: Registry[Instance] = Registry("instance", {})
"""The instances by name."""

for _instance in (*_published(), *_family()):
    INSTANCES.register(_instance.name, _instance)


def names(*patterns: str) -> list[str]:
    """Return the names that match any of the patterns, such as "slim-*-3"; all without any.

    Raises
    ------
    OptionError
        A pattern matches none.
    """
    found: dict[str, None] = {}
    for pattern in patterns or ("*",):
        some = [name for name in INSTANCES if fnmatchcase(name, pattern)]
        some = some or [INSTANCES[pattern].name]
        found.update(dict.fromkeys(some))
    return list(found)


def write_solu(path: str | os.PathLike[str], which: Iterable[str]) -> Path:
    """Write the list of what is known of instances, a line each, as MIP libraries have it."""
    lines = [INSTANCES[name].solution_line() for name in which]
    return write_text(path, "\n".join([*lines, ""]))


# --- what is known -------------------------------------------------------------------------------


@cache
def _best_known() -> dict[str, Known]:
    """The best card and bound of each instance, from the file beside this one."""
    text = (files("milpscore_study") / "best_known.csv").read_text(encoding="utf-8")
    return {row["name"]: _known(row) for row in csv.DictReader(text.splitlines())}


def _known(row: Mapping[str, str]) -> Known:
    """A line of the file."""
    scale = Fraction(row["scale"]) if row["scale"] else None
    points = np.array(json.loads(row["points"]), dtype=np.int64)
    card = Card(points, Fraction(row["intercept"]), scale)
    return Known(float(row["objective"]), float(row["bound"]), row["claim"], row["by"], card)
