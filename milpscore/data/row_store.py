"""The rows of a table with too many patterns, as codes in a file that is read some at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from milpscore.core.design import Column, Design, FloatArray, IntArray
from milpscore.core.errors import SizeError
from milpscore.data.checking import class_weights
from milpscore.data.columns import column_values
from milpscore.data.cut_points import Learned, Made, said_of
from milpscore.data.sources import Ask, Value
from milpscore.data.sql_codes import MAX_CODES, Reading, case_of, plain_values

ROWS = 2**16
"""Rows that are in memory at a time."""

_COUNTED = (Value("count(*)"),)


@dataclass(frozen=True, eq=False)
class StoredFeature:
    """How a feature is stored: a code, the columns' values for each, or the number itself."""

    name: str
    columns: tuple[int, ...]
    values: FloatArray | None  # (codes, its columns); None for a number as it is


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some rows: an operator on their design columns that is never written out."""

    of: StoredRows
    codes: npt.NDArray[np.uint8]  # (n, coded features), feature by feature
    numbers: FloatArray  # (n, columns of features that are not coded)
    y: IntArray
    weight: FloatArray

    def matvec(self, w: FloatArray) -> FloatArray:
        """X w, w of shape (p,)."""
        from milpscore.data.kernels import gather

        plain = np.asarray(self.numbers @ w[self.of.plain])
        if not self.of.coded:
            return plain
        out = np.empty(len(plain))
        gather(self.codes.T, *self.of.groups, self.of.slots, self.of.table @ w, out, 0, len(out))
        return out + plain

    def rmatvec(self, r: FloatArray) -> FloatArray:
        """X' r."""
        from milpscore.data.kernels import count

        found = np.zeros(len(self.of.columns))
        found[self.of.plain] = self.numbers.T @ r
        if self.of.coded:
            r = np.ascontiguousarray(r)
            counted = count(self.codes.T, *self.of.groups, self.of.slots, r, 0, len(r))
            found += self.of.table.T @ counted
        return found

    def rows(self, places: IntArray) -> FloatArray:
        """Some rows written out."""
        X = np.zeros((len(places), len(self.of.columns)))
        X[:, self.of.plain] = self.numbers[places]
        for f, feature in enumerate(self.of.coded):
            assert feature.values is not None
            X[:, feature.columns] = feature.values[self.codes[places, f]]
        return X


@dataclass(frozen=True, eq=False)
class StoredRows:
    """All rows of a table in a file; :meth:`chunks` reads it from the beginning."""

    path: Path
    columns: tuple[Column, ...]
    blocks: tuple[tuple[int, ...], ...]
    classes: tuple[Any, Any]
    warnings: tuple[str, ...]
    features: tuple[StoredFeature, ...]
    sizes: Sequence[int]  # rows of each stretch of the file
    weights: tuple[float, float]  # what a row of each class weighs
    merge: Callable[[Learned], Design]  # the distinct rows in some columns

    @cached_property
    def coded(self) -> list[StoredFeature]:
        """Features stored as codes."""
        return [each for each in self.features if each.values is not None]

    @cached_property
    def uncoded(self) -> list[StoredFeature]:
        """Features stored as numbers."""
        return [each for each in self.features if each.values is None]

    @cached_property
    def plain(self) -> IntArray:
        """The columns of features stored as numbers."""
        return np.array([j for each in self.uncoded for j in each.columns], dtype=np.int64)

    @cached_property
    def groups(self) -> tuple[IntArray, IntArray]:
        """Which coded features are looked up together, and the codes of each."""
        from milpscore.data.kernels import grouped

        sizes = [len(each.values) for each in self.coded if each.values is not None]
        return grouped(np.asarray(sizes, dtype=np.int64), ROWS)

    @cached_property
    def slots(self) -> IntArray:
        """Where each coded feature's codes begin in the table."""
        return np.concatenate([[0], np.cumsum(self.groups[1])]).astype(np.int64)

    @cached_property
    def table(self) -> FloatArray:
        """The values of all columns for each code, (codes, p)."""
        made = np.zeros((int(self.slots[-1]), len(self.columns)))
        for start, feature in zip(self.slots.tolist(), self.coded, strict=False):
            assert feature.values is not None
            made[start : start + len(feature.values), feature.columns] = feature.values
        return made

    @property
    def n_rows(self) -> int:
        """All rows."""
        return int(sum(self.sizes))

    def chunks(self) -> Iterator[Chunk]:
        """The rows, some at a time, in the order of the file."""
        own = [self.columns[j] for j in self.plain.tolist()]
        with self.path.open("rb") as file:
            for rows in self.sizes:
                signs = np.fromfile(file, np.int8, rows)
                codes = np.fromfile(file, np.uint8, rows * len(self.coded))
                numbers = np.fromfile(file, np.float64, rows * len(self.uncoded))
                read = {
                    each.name: numbers[k * rows : (k + 1) * rows]
                    for k, each in enumerate(self.uncoded)
                }
                X = column_values(own, pd.DataFrame(read)) if own else np.empty((rows, 0))
                y = signs.astype(np.int64)
                weight = np.where(y > 0, self.weights[1], self.weights[0])
                yield Chunk(self, codes.reshape(len(self.coded), rows).T, X, y, weight)

    @cached_property
    def summary(self) -> Design:
        """Two rows, the mean of each class with its weight: sums over rows are those of all."""
        sums, rows = np.zeros((2, len(self.columns))), np.zeros(2, dtype=np.int64)
        for chunk in self.chunks():
            for side in (0, 1):
                of = (chunk.y > 0) == side
                sums[side] += chunk.rmatvec(of.astype(np.float64))
                rows[side] += int(of.sum())
        return Design(
            sums / np.maximum(rows, 1)[:, None], np.array([-1, 1]), rows * np.array(self.weights),
            self.columns, self.blocks, self.classes, self.warnings, rows,
        )  # fmt: skip

    def sample(self, rows: int, random_state: int) -> tuple[FloatArray, IntArray, FloatArray]:
        """X, y and weights of some rows drawn by chance."""
        random = np.random.default_rng(random_state)
        drawn = np.sort(random.choice(self.n_rows, min(rows, self.n_rows), replace=False))
        parts, start = [], 0
        for chunk in self.chunks():
            end = start + len(chunk.y)
            first, last = np.searchsorted(drawn, (start, end))
            own = drawn[first:last] - start
            parts.append((chunk.rows(own), chunk.y[own], chunk.weight[own]))
            start = end
        X, y, weight = (np.concatenate(each) for each in zip(*parts, strict=True))
        return X, y, weight

    def drawn(self, rows: int, random_state: int) -> Design:
        """Some rows drawn by chance, as a design."""
        X, y, weight = self.sample(rows, random_state)
        return Design(X, y, weight, self.columns, self.blocks, self.classes, self.warnings)


def store(scan: Any, made: Made, path: Path, class_weight: Any) -> StoredRows:
    """All rows in a file: of each stretch the classes, then the codes, then the numbers."""
    features, texts = [], []
    for name, part in Reading.of(made.columns, scan).parts.items():
        text, values = part.text, part.values
        if values is None and scan.kind_of(name) != "number":
            (found,) = scan.rows.ask(Ask(f"counting values of {name}", [text], _COUNTED))
            raw = found["k0"].dropna().reset_index(drop=True)
            text, values = case_of(text, raw.tolist()), plain_values(raw)
            if len(raw) > MAX_CODES:
                raise SizeError(
                    f"column {name!r} has {len(raw)} categories, and rows out of core take up"
                    f" to {MAX_CODES}: put them into groups, or drop it"
                )
        if values is None or len(values) > MAX_CODES:
            features.append(StoredFeature(name, tuple(part.columns), None))
            texts.append(f"{scan.number_of(name)}::DOUBLE")
            continue
        own = [made.columns[j] for j in part.columns]
        if any(column.kind == "missing" for column in own):
            gap = pd.Series([np.nan if values.dtype.kind == "f" else None])
            values = pd.concat([values.astype(gap.dtype), gap], ignore_index=True)
        table = column_values(own, pd.DataFrame({name: values}), "error")
        features.append(StoredFeature(name, tuple(part.columns), table))
        texts.append(f"({text})::UTINYINT")
    coded = [k for k, feature in enumerate(features) if feature.values is not None]
    plain = [k for k in range(len(features)) if k not in set(coded)]
    keys = [case_of(scan.key_of(scan.target), list(scan.labels.signs)), *texts]
    signs, sizes = np.array([*scan.labels.signs.values(), 0], dtype=np.int8), []
    with path.open("wb") as file:
        for batch in scan.rows.batches(Ask("storing rows", keys, grouped=False), ROWS):
            columns = [np.asarray(column) for column in batch.columns]
            signs[columns[0].astype(np.intp)].tofile(file)
            for kind, places in ((np.uint8, coded), (np.float64, plain)):
                for k in places:
                    columns[k + 1].astype(kind).tofile(file)
            sizes.append(batch.num_rows)
    (found,) = scan.rows.ask(Ask("counting labels", [keys[0]], _COUNTED))
    codes = (signs[found["k0"].to_numpy(np.intp)] > 0).astype(np.int64)
    mass = class_weights(
        class_weight, codes, found["v0"].to_numpy(np.float64), scan.labels.classes
    ) / found["v0"].to_numpy(np.float64)  # fmt: skip
    each = tuple(float(mass[codes == side][0]) for side in (0, 1))
    return StoredRows(
        path, tuple(made.columns), tuple(made.blocks), scan.labels.classes,
        (*said_of(made.left_out), *made.remarks), tuple(features), sizes, (each[0], each[1]),
        lambda learned: scan.design(learned, class_weight),
    )  # fmt: skip
