"""Columns by their names: the variables of a model, and labels that LP and MPS files can hold."""

from __future__ import annotations

import io
import re
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from milpscore.core.design import Column
from milpscore.core.errors import FormulationError, did_you_mean
from milpscore.core.program import variables
from milpscore.core.writing import replacing


class PointsByName:
    """The variables that hold the points, by design column; of a raw feature all its columns.

    ``points["worst texture >= 22.65"]`` and ``points[3]`` are one variable (an expression, where
    the model doubles its columns), ``points["worst texture"]`` is a tuple of them where the feature
    has several columns.
    """

    def __init__(self, columns: Sequence[Column], variables: Sequence[Any]) -> None:
        self._columns, self._variables = columns, variables

    def __getitem__(self, name: str | int) -> Any:
        if isinstance(name, int):
            return self._variables[name]
        found = self._positions(name)
        if not found:
            known = [*self, *dict.fromkeys(column.feature for column in self._columns)]
            hint = did_you_mean(str(name), known) or f"there are {', '.join(known[:10])}"
            raise FormulationError(f"the design has no column {name!r}; {hint.strip()}")
        own = [self._variables[j] for j in found]
        return own[0] if len(own) == 1 else tuple(own)

    def _positions(self, name: Any) -> list[int]:
        """Return the column of this name, else those of the feature."""
        own = [j for j, column in enumerate(self._columns) if column.name == name]
        return own or [j for j, column in enumerate(self._columns) if column.feature == name]

    def __contains__(self, name: object) -> bool:
        return bool(self._positions(name))

    def __iter__(self) -> Iterator[str]:
        return (column.name for column in self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __repr__(self) -> str:
        shown = ", ".join(list(self)[:5]) + (", ..." if len(self) > 5 else "")
        return f"<points of {len(self)} columns: {shown}>"


def safe_labels(names: Sequence[str]) -> list[str]:
    """Return one label per name, of letters, digits, "_" and "." only, no two of them equal.

    At most 100 characters are the name's: the formats' limit is 255 for the whole.
    """
    signs = {">=": "ge", "<=": "le", "!=": "ne", "<": "lt", ">": "gt", "=": "eq", "%": "pct"}
    labels: list[str] = []
    taken: set[str] = set()
    for name in names:
        text = unicodedata.normalize("NFKD", name)
        for sign, word in signs.items():
            text = text.replace(sign, f" {word} ")
        plain = re.sub(r"[^0-9A-Za-z_.]+", "_", text).strip("_.")[:100] or "column"
        label, number = plain, 2
        while label.lower() in taken:  # some readers do not tell cases apart
            label, number = f"{plain}_{number}", number + 1
        taken.add(label.lower())
        labels.append(label)
    return labels


class Labeller:
    """What Pyomo's writers call a component: an index of a column becomes the column's label.

    The variables are named first, in the order of their declaration, whatever the writer's order.
    """

    def __init__(self, model: Any, labels: Sequence[str]) -> None:
        from pyomo.core.base.label import LPFileLabeler

        self._plain, self._labels = LPFileLabeler(), labels
        self._signed = [f"{label}_{side}" for label in labels for side in ("plus", "minus")]
        self._taken: set[str] = set()
        self.variables = {self._new(var): var for var in variables(model)}
        self._known = {id(var): label for label, var in self.variables.items()}

    def __call__(self, data: Any) -> str:
        """Return the label of a variable or a row."""
        return self._known.get(id(data)) or self._new(data)

    def _new(self, data: Any) -> str:
        """Return a label that nothing else has."""
        text = self._text(data)
        unique, number = text, 2
        while unique in self._taken:
            unique, number = f"{text}_{number}", number + 1
        self._taken.add(unique)
        return unique

    def _text(self, data: Any) -> str:
        """Return a component's name, with the column's in place of its position."""
        parent = data.parent_component()
        named = _columns_of(parent, len(self._labels))
        if named is None:
            return str(self._plain(data))
        index = data.index()
        first, *rest = index if isinstance(index, tuple) else (index,)
        own = (self._signed if named == "signed" else self._labels)[first]
        return f"{self._plain(parent)}({'_'.join([own, *map(_plain_part, rest)])})"


def _plain_part(part: Any) -> str:
    """Return a further part of an index."""
    return re.sub(r"[^0-9A-Za-z]", "_", str(part))


def _columns_of(parent: Any, columns: int) -> str | None:
    """Whether a component's first index counts columns, or both signs of columns, in turn."""
    if not parent.is_indexed():
        return None
    name = parent.index_set().local_name
    if name == "D":
        return "columns" if len(parent.index_set()) == columns else "signed"
    # sets of the builders' models whose first part is the position of a column
    by_column = ("J", "J_sets", "J_signs", "jumps", "choice_index", "kinks", "chords")
    return "columns" if name in by_column else None


def write_model(model: Any, names: Sequence[str], path: Path) -> None:
    """Write a Pyomo model as LP or MPS, labels for its columns, what they stand for in its head."""
    labels = safe_labels(names)
    if path.suffix == ".nl":
        _write_nl(model, Labeller(model, labels), path)
        return
    with replacing(path) as part:
        model.write(str(part), io_options={"labeler": Labeller(model, labels)})
        written = part.read_text(encoding="utf-8")
        mark = "\\" if path.suffix == ".lp" else "*"
        lines = [
            f"{mark} {label} is {' '.join(name.split())}\n"
            for label, name in zip(labels, names, strict=True)
        ]
        # minimising is every reader's default, and GLPK's knows no such section
        written = written.replace("OBJSENSE\n MIN\n", "", 1)
        text = f"{mark} Columns of the data\n{''.join(lines)}{written}"
        part.write_text(text, encoding="utf-8")


def _write_nl(model: Any, labeller: Labeller, path: Path) -> None:
    """Write a model as AMPL's .nl, and the names of its columns and rows beside it."""
    from pyomo.environ import Suffix
    from pyomo.repn.plugins.nl_writer import NLWriter

    file = io.StringIO()
    written = NLWriter().write(model, file)
    text, order = file.getvalue(), model.component("priority")
    if isinstance(order, Suffix) and not order.export_enabled():
        # Pyomo would warn of variables that are fixed: only what is written has an order here
        ranks = [f"{k} {order[v]}" for k, v in enumerate(written.variables) if v in order]
        *head, rest = text.split("\n", 10)
        text = "\n".join([*head, f"S0 {len(ranks)} priority", *ranks, rest])
    with replacing(path) as part:
        part.write_text(text, encoding="ascii")
    for ending, listed in ((".col", written.variables), (".row", written.constraints)):
        with replacing(path.with_suffix(ending)) as part:
            part.write_text("".join(f"{labeller(each)}\n" for each in listed), encoding="utf-8")
