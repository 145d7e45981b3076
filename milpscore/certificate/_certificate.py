"""The certificate: everything a claim rests on, as plain data in one JSON file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, get_args

import numpy as np

from milpscore.core.card import Card
from milpscore.core.design import Column, ColumnKind
from milpscore.core.errors import DataError, FormulationError

VERSION = 1
"""Raised whenever a verifier of the previous layout would misread a certificate."""

MAX_BYTES = 50_000_000
"""The largest certificate as text; beyond it the evidence is left out."""

KIND = "milpscore.certificate"


@dataclass(frozen=True)
class Certificate:
    """A card, what is claimed of it, and the evidence.

    Attributes
    ----------
    fingerprint : str
        SHA-256 of the data.
    data : mapping
        ``columns``, ``blocks`` and ``classes`` of the design, ``rows``, and where known how the
        table was read: ``target``, ``weights_column``, ``class_weight``, ``missing``.
    statement : mapping
        ``formulation`` and ``arguments``: the builder makes the program again from them.
    card : mapping
        ``coefficients`` and ``intercept``, the latter as text.
    claim : str
    objective, loss, penalty : float
    bound : float or None
        What the evidence is to prove; a little below the solver's own bound. None: no bound.
    bound_source : str
    engine : mapping
        ``solver, version, random_state, termination, nodes, options``.
    versions : mapping
        Of milpscore and what computed with it.
    evidence : mapping
        ``kind`` is "leaves" (with ``nodes``), "tangents" (with ``points``) or "none" (with
        ``reason``: the bound is then re-proved by a second opinion).
    caveat : str
    digest : str
        SHA-256 of everything else, which tells a file that was changed; it proves nothing.
    """

    kind: ClassVar[str] = KIND

    fingerprint: str
    data: Mapping[str, Any]
    statement: Mapping[str, Any]
    card: Mapping[str, Any]
    claim: str
    objective: float
    loss: float
    penalty: float
    bound: float | None
    bound_source: str
    engine: Mapping[str, Any]
    versions: Mapping[str, str]
    evidence: Mapping[str, Any] = field(repr=False)
    caveat: str = ""
    digest: str = ""

    def sealed(self) -> Certificate:
        """The same with the digest of its content."""
        return Certificate(**{**self._content(), "digest": self.content_digest()})

    def content_digest(self) -> str:
        """SHA-256 of everything but the digest."""
        content = {name: v for name, v in self._content().items() if name != "digest"}
        text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()

    def _content(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @property
    def points(self) -> Card:
        """The card itself."""
        try:
            given = self.card["coefficients"]
            if any(isinstance(w, bool) or not isinstance(w, int) for w in given):
                raise ValueError("points are whole numbers")
            return Card(np.array(given, dtype=np.int64), Fraction(self.card["intercept"]))
        except (KeyError, TypeError, ValueError, ZeroDivisionError, OverflowError) as error:
            raise DataError(f"the certificate holds no card ({error}): make it again") from error

    @property
    def columns(self) -> tuple[Column, ...]:
        """The design's columns."""
        try:
            return tuple(_column(entry) for entry in self.data["columns"])
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(
                f"the certificate's columns are damaged ({error}): make it again"
            ) from error

    def to_text(self) -> str:
        """The certificate as one JSON object, an entry a line, a node of a tree a line."""
        content = {"kind": KIND, "version": VERSION, **self._content()}
        evidence = dict(content.pop("evidence"))
        lists = {name: evidence.pop(name) for name in ("nodes", "points") if name in evidence}
        lines = [f"{_text(name)}: {_text(value)}" for name, value in content.items()]
        inner = [f"{_text(name)}: {_text(value)}" for name, value in evidence.items()]
        inner += [f"{_text(k)}: [\n{_rows(rows)}\n]" for k, rows in lists.items()]
        lines.append('"evidence": {' + ", ".join(inner) + "}")
        return "{\n" + ",\n".join(lines) + "\n}\n"

    def to_json(self, path: str | Path) -> Path:
        """Write the certificate to a file.

        Parameters
        ----------
        path : str or Path

        Returns
        -------
        Path
        """
        Path(path).write_text(self.to_text(), encoding="utf-8")
        return Path(path)

    @classmethod
    def from_json(cls, path: str | Path) -> Certificate:
        """Read a certificate from a file.

        Raises
        ------
        DataError
            Where the file is not a certificate, or one of another version.
        """
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"), parse_constant=_refuse)
        except (UnicodeDecodeError, ValueError) as error:
            raise DataError(
                f"{Path(path).name} is not JSON ({error}); give a file written by 'milpscore fit "
                "--certificate'"
            ) from error
        if not isinstance(content, dict) or content.get("kind") != KIND:
            raise DataError(
                f"{Path(path).name} is not a certificate: it states no bound that could be proved. "
                "Write one with 'milpscore fit --certificate FILE'"
            )
        if content.get("version") != VERSION:
            raise DataError(
                f"the certificate has version {content.get('version')!r}, this milpscore reads "
                f"{VERSION}: verify it with the milpscore that wrote it"
            )
        return cls._from_content({k: v for k, v in content.items() if k not in ("kind", "version")})

    @classmethod
    def _from_content(cls, content: dict[str, Any]) -> Certificate:
        """The certificate of a parsed file, every entry of its kind."""
        kinds: dict[str, Any] = {
            **dict.fromkeys(("data", "statement", "card", "engine", "versions", "evidence"), dict),
            **dict.fromkeys(("objective", "loss", "penalty"), (int, float)),
            "bound": (int, float, type(None)),
        }
        for each in fields(cls):
            wanted = kinds.get(each.name, str)
            value = content.get(each.name)
            if each.name not in content or isinstance(value, bool) or not isinstance(value, wanted):
                raise DataError(f"the certificate's {each.name} is missing or damaged")
        if set(content) != {each.name for each in fields(cls)}:
            raise DataError("the certificate holds entries of another layout: make it again")
        if not isinstance(content["statement"].get("arguments"), dict):
            raise DataError("the certificate's statement is damaged: make it again")
        lists = [content["data"].get(name) for name in ("columns", "blocks", "classes")]
        sound = all(isinstance(each, list) for each in lists) and len(lists[2]) == 2
        if not sound or not all(_is_block(block) for block in lists[1]):
            raise DataError("the certificate's data are damaged: make it again")
        return cls(**content)


def plain_columns(columns: tuple[Column, ...]) -> list[dict[str, Any]]:
    """Columns as JSON holds them: ends of intervals as text, infinite ones included."""
    return [
        {**asdict(column), "lower": repr(column.lower), "upper": repr(column.upper)}
        for column in columns
    ]


def _column(entry: Mapping[str, Any]) -> Column:
    """A column as :func:`plain_columns` wrote it."""
    column = Column(**{**entry, **{end: float(entry[end]) for end in ("lower", "upper")}})
    texts = [column.name, column.feature, *([] if column.category is None else [column.category])]
    if not all(isinstance(text, str) for text in texts) or column.kind not in get_args(ColumnKind):
        raise ValueError(f"{column.name!r} has a name, feature, category or kind that is none")
    return column


def _is_block(block: Any) -> bool:
    """Whether a block lists positions of columns."""
    return isinstance(block, list) and all(type(j) is int for j in block)


def plain_label(label: Any) -> Any:
    """A class label as JSON holds it."""
    value = label.item() if isinstance(label, np.generic) else label
    if not isinstance(value, str | int | float | bool):
        raise FormulationError(f"the label {label!r} is not plain data: recode the target")
    return value


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _rows(rows: Any) -> str:
    return ",\n".join(json.dumps(row, separators=(",", ":"), allow_nan=False) for row in rows)


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")
