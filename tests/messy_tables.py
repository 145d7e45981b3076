"""Nine tables as they arrive, each beside the clean one that a careful person would make of it."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

ROWS = 1200


@dataclass(frozen=True)
class Messy:
    """A table as it is written, the same one clean, and the options that the messy one needs."""

    clean: pd.DataFrame
    text: str
    target: str = "died"
    options: Sequence[str] = ()

    def write(self, folder: Path) -> tuple[Path, Path]:
        """The clean file and the messy one."""
        paths = folder / "clean.csv", folder / "messy.csv"
        self.clean.to_csv(paths[0], index=False)
        paths[1].write_text(self.text, encoding="utf-8")
        return paths


def patients(rows: int = ROWS, seed: int = 7) -> pd.DataFrame:
    """Measurements, categories and an outcome that depends on them."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "age": rng.integers(20, 95, rows),
            "sbp": rng.normal(125, 22, rows).round(),
            "crp": np.exp(rng.normal(3, 1.1, rows)).round(1),
            "troponin": np.exp(rng.normal(2.5, 0.9, rows)).round(),
            "sex": rng.choice(["female", "male"], rows),
            "ward": rng.choice(["surgery", "medicine", "stroke unit"], rows, p=[0.4, 0.4, 0.2]),
        }
    )
    score = (
        0.05 * (table.age - 60) - 0.03 * (table.sbp - 125) + 0.7 * np.log(table.crp / 20)
        + 0.6 * np.log(table.troponin / 12) + 0.8 * (table.ward == "stroke unit")
        + 0.6 * (table.sex == "male")
    )  # fmt: skip
    died = rng.random(rows) < 1 / (1 + np.exp(2.4 - score))
    return table.assign(died=died.astype(int))


def csv(table: pd.DataFrame, **more: Any) -> str:
    """A table as the text of a file."""
    return str(table.to_csv(index=False, **more))


def ward() -> Messy:
    """Units behind the numbers, a limit of detection, blanks and words for what is not known."""
    clean = patients()
    odd = clean.astype(object)
    odd["age"] = [f"{v} years" for v in clean.age]
    odd["crp"] = [f" {v} mg/l" if v >= 5 else "<5" for v in clean.crp]
    odd["troponin"] = [f"{v:.0f}" for v in clean.troponin]
    odd.loc[::97, "troponin"] = "pending"
    odd.loc[::50, "sbp"] = "n/k"
    return Messy(clean, csv(odd))


def bank() -> Messy:
    """Amounts with signs and thousands, shares in per cent."""
    rng = np.random.default_rng(3)
    clean = pd.DataFrame(
        {
            "income": np.exp(rng.normal(8.2, 0.5, ROWS)).round(),
            "debt": np.exp(rng.normal(8.5, 1.0, ROWS)).round(),
            "use": rng.uniform(0, 110, ROWS).round(1),
            "limit": rng.choice([1000.0, 2000.0, 5000.0, 12000.0], ROWS),
        }
    )
    score = 0.04 * (clean.use - 50) + np.log(clean.debt / 5000) - 1.5 * np.log(clean.income / 3600)
    clean["default"] = (rng.random(ROWS) < 1 / (1 + np.exp(1.8 - score))).astype(int)
    odd = clean.assign(
        income=[f"€ {v:,.0f}" for v in clean.income],
        debt=[f"{v:,.0f}" for v in clean.debt],
        use=[f"{v:.1f}%" for v in clean.use],
        limit=[f"{v / 1000:g}e3" for v in clean["limit"]],
    )
    return Messy(clean, csv(odd), "default")


def german() -> Messy:
    """Semicolons, decimal commas, and labels of another language."""
    clean = patients()
    clean["died"] = clean.died.map({0: "nein", 1: "ja"})
    odd = clean.assign(sbp=clean.sbp + 0.5, crp=clean.crp)
    return Messy(odd, csv(odd, sep=";", decimal=","))


def export() -> Messy:
    """An export of a spreadsheet: nameless empty columns, a name used twice, and a copy."""
    clean = patients()
    second = clean.sbp + np.random.default_rng(1).normal(0, 3, ROWS).round()
    odd = clean.assign(
        second=second, copy=clean.sbp, note=np.nan, blank=np.nan, row=range(1, ROWS + 1)
    )
    odd = odd[["age", "sbp", "blank", "second", "copy", *odd.columns[2:7], "note", "row"]]
    names = [{"second": "sbp", "copy": "sbp", "note": "", "blank": "", "row": ""}.get(n, n)
             for n in odd.columns]  # fmt: skip
    text = odd.to_csv(index=False, header=names)
    return Messy(clean.assign(second=second), str(text), options=("--drop", "#12"))


def sentinels() -> Messy:
    """Numbers that stand for what was not measured."""
    clean, rng = patients(), np.random.default_rng(5)
    lost, none = rng.random(ROWS) < 0.45, rng.random(ROWS) < 0.08
    odd = clean.assign(troponin=clean.troponin.mask(lost, 9999), sbp=clean.sbp.mask(none, -999))
    clean = clean.assign(troponin=clean.troponin.mask(lost), sbp=clean.sbp.mask(none))
    return Messy(clean, csv(odd), options=("--na", "-999,9999"))


def capitals() -> Messy:
    """Categories that several people typed."""
    clean, rng = patients(), np.random.default_rng(6)
    ways: tuple[Callable[[str], str], ...] = (str, str.upper, str.title, lambda t: f"{t} ")
    odd = clean.assign(
        **{
            name: [ways[k](text) for k, text in zip(rng.integers(0, 4, ROWS), clean[name],
                                                    strict=True)]
            for name in ("sex", "ward")
        }
    )  # fmt: skip
    return Messy(clean, csv(odd))


def codes() -> Messy:
    """A postcode with leading zeros, and words of many levels."""
    clean, rng = patients(), np.random.default_rng(8)
    common = [f"{k:05d}" for k in (1067, 4109, 10115, 20095, 50667, 80331)]
    rare = [f"{k:05d}" for k in rng.integers(1000, 99999, 300)]
    job = [f"job {k}" for k in range(400)]
    clean = clean.assign(
        postcode=np.where(rng.random(ROWS) < 0.6, rng.choice(common, ROWS), rng.choice(rare, ROWS)),
        job=rng.choice(job, ROWS),
    )
    return Messy(clean.drop(columns=["postcode", "job"]), csv(clean))


def few() -> Messy:
    """Two deaths in 25 rows."""
    clean = patients(25, 11)
    clean["died"] = (clean.age.rank(ascending=False) <= 2).astype(int)
    return Messy(clean, csv(clean))


def ragged() -> Messy:
    """Lines that end early, as an editor leaves them."""
    clean = patients().assign(note=1.0)[["died", "age", "sbp", "crp", "troponin", "ward", "sex"]]
    lines = csv(clean).splitlines()
    for line in (4, 90, 700):
        lines[line - 1] = ",".join(lines[line - 1].split(",")[:5])
    return Messy(clean, "\n".join(lines) + "\n")


TABLES: dict[str, Callable[[], Messy]] = {
    made.__name__: made
    for made in (ward, bank, german, export, sentinels, capitals, codes, few, ragged)
}


def long_line() -> str:
    """A file in which a line has more fields than the header."""
    lines = csv(patients(50)).splitlines()
    lines[16] += ",77"
    return "\n".join(lines) + "\n"


def excel(table: pd.DataFrame, path: Path, sheet: str = "Sheet1") -> Path:
    """A table as a workbook with another sheet before it."""
    held = io.BytesIO()
    with pd.ExcelWriter(held, engine="openpyxl") as book:
        pd.DataFrame({"read me": ["second sheet"]}).to_excel(book, sheet_name="about", index=False)
        table.to_excel(book, sheet_name=sheet, index=False)
    path.write_bytes(held.getvalue())
    return path
