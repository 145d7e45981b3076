"""Forged certificates: each states something false of the table, or more than its format allows.

The base is a true certificate of cards without a penalty, written by hand from the format's page
and sealed with its digest; a forgery changes a few entries and is sealed again.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from milpscore.certificate import Certificate, certify, verify_certificate
from milpscore.cli.app import app
from milpscore.core.errors import DataError, NotApplicableError
from milpscore.data import read_table
from milpscore.formulations import slim
from milpscore.solvers import solve
from milpscore_check import Refused, check, proved

# x and z are numbers, c is a code, m is missing once; the labels are 1 in three rows of four
TABLE = "x,z,c,m,y\n1,0,9007199254740992,f,1\n2,1,9007199254740992,,1\n3,0,9007199254740993,f,1\n4,1,9007199254740992,f,0\n"  # noqa: E501


def column(feature: str, kind: str = "numeric", **entries: Any) -> dict[str, Any]:
    ends = {"lower": "-inf", "upper": "inf", "category": None, "others": []}
    return {"feature": feature, "kind": kind, **ends, **entries}


def certificate(columns: list[dict[str, Any]], **entries: Any) -> dict[str, Any]:
    """A card of one point on each column and the intercept -1/2, said to err on a row of four."""
    data = {"rows": 4, "columns": columns, "blocks": [], "classes": [0, 1], "target": "y"}
    cards = {
        "loss": "zero_one", "values": [[[1, 1]]] * len(columns), "max_terms": len(columns),
        "points": ["0", "0"], "jumps": [], "other": [], "intercept": ["-1/2", "-1/2", None],
        "scale": ["1", "1"], "gap": "0", "rules": [],
    }  # fmt: skip
    made = {
        "kind": "milpscore.certificate", "version": 3, "fingerprint": "", "data": data,
        "statement": {"formulation": "slim", "arguments": {}}, "cards": cards,
        "card": {"coefficients": [1] * len(columns), "intercept": "-1/2"}, "claim": "feasible",
        "objective": 0.25, "loss": 0.25, "penalty": 0.0, "bound": None, "bound_source": "solver",
        "engine": {}, "versions": {}, "evidence": {"kind": "none", "reason": ""}, "caveat": "",
    }  # fmt: skip
    return changed(made, entries)


def changed(content: dict[str, Any], entries: dict[str, Any]) -> dict[str, Any]:
    """Entries put in place, those of objects among the others of the object."""
    made = dict(content)
    for name, value in entries.items():
        both = isinstance(value, dict) and isinstance(made.get(name), dict)
        made[name] = changed(made[name], value) if both else value
    return made


def sealed(content: dict[str, Any]) -> str:
    inner = {k: v for k, v in content.items() if k not in ("kind", "version", "digest")}
    text = json.dumps(inner, sort_keys=True, separators=(",", ":"))
    return json.dumps({**content, "digest": hashlib.sha256(text.encode()).hexdigest()})


Answer = Callable[..., str]


@pytest.fixture
def answer(tmp_path: Path) -> Answer:
    """What the checker makes of a certificate and a table: proved, not proved or refused."""

    def answered(content: dict[str, Any] | str, table: str = TABLE, *, encoding: str = "utf-8"):  # type: ignore[no-untyped-def]
        (tmp_path / "data.csv").write_text(table, encoding=encoding)
        text = content if isinstance(content, str) else sealed(content)
        (tmp_path / "made.json").write_text(text, encoding="utf-8")
        try:
            found = check(tmp_path / "data.csv", tmp_path / "made.json")
        except Refused as error:
            return f"refused: {error}"
        return "proved" if proved(found) else f"not proved: {found}"

    return answered


ALWAYS = column("x", "step", lower="0")


def test_the_base_of_all_forgeries_is_true(answer: Answer) -> None:
    assert answer(certificate([ALWAYS])) == "proved"
    assert answer(certificate([ALWAYS], claim="gap")).startswith("not proved")


# -- numbers that are none -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "end", ["inf", "1e400", "9e999", "Infinity", "1" + "0" * 309, "nan", "1_0"]
)
def test_a_step_beyond_all_numbers_holds_nowhere(end: str, answer: Answer) -> None:
    """It was read as having no lower end, and its column as 1 in every row."""
    assert answer(certificate([column("x", "step", lower=end)])).startswith("refused")


@pytest.mark.parametrize("end", ["1e400", "-inf", "9e999", "1e309"])
def test_an_upper_end_beyond_doubles_is_not_dropped(end: str, answer: Answer) -> None:
    beyond = TABLE.replace("1,0,9", "1e999,0,9", 1)
    made = certificate([column("x", "interval", lower="0", upper=end)])
    assert answer(made, beyond).startswith("refused")
    fine = certificate([column("x", "interval", lower="0", upper="1e308")])
    assert "not proved" in answer(fine, beyond)


@pytest.mark.parametrize(
    ("name", "entries"),
    [
        ("missing", {"category": "f"}),
        ("missing", {"lower": "0"}),
        ("numeric", {"category": "1"}),
        ("numeric", {"upper": "9"}),
        ("step", {"lower": "0", "category": "1"}),
        ("category", {"category": "f", "lower": "0"}),
        ("category", {}),
    ],
)
def test_a_column_has_the_entries_of_its_kind_only(
    name: str, entries: dict[str, Any], answer: Answer
) -> None:
    """A column of missing values with a category was 1 where the text is the category as well."""
    feature = "m" if name in ("missing", "category") else "x"
    others = [] if name == "missing" else [column("m", "missing")]
    made = certificate([column(feature, name, **entries), *others])
    assert answer(made).startswith("refused")


def forged_factors(factors: list[Any]) -> dict[str, Any]:
    """Says that the card on z alone is best, where the card on all three columns errs on no row.

    That card's box is closed as breaking a rule: its factors add up to 1 exactly, in doubles to 0.
    """
    columns = [column("x", "step", lower="0"), column("z"), column("x", "step", lower="4")]
    rule = {"name": "r", "kind": "used", "groups": [[0], [1], [2]], "factors": factors}
    return certificate(
        columns,
        cards={
            "loss": "hinge", "values": [[[0, 2]], [[-1, -1]], [[-4, 0]]], "points": ["0"] * 5,
            "intercept": ["0", "0", None], "rules": [{**rule, "lower": "1", "upper": "1"}],
        },
        card={"coefficients": [0, -1, 0], "intercept": "0"},
        objective=1.0, loss=1.0, bound=0.999999, claim="optimal", bound_source="evidence",
        evidence={
            "kind": "leaves", "points": [[[1], [-1.0], 0.0, 1.0]],
            "tree": [[0, 0], [2, -1], -1, 0, [2, -1], -1, -1],
        },
    )  # fmt: skip


def test_factors_of_a_rule_are_exact(answer: Answer) -> None:
    made = forged_factors([1e16, 1, -1e16])
    del made["evidence"]["reason"]
    assert answer(made).startswith("refused")
    made = forged_factors([10**12, 1, -(10**12)])
    del made["evidence"]["reason"]
    assert "holds cards and names no point" in answer(made)


RULES = [
    {"name": "r", "kind": "used", "groups": [[0]], "factors": [1], "lower": None, "upper": "1"},
    {"name": "r", "kind": "totals", "features": [[[0], [["1"]]]], "lower": None, "upper": "9"},
    {"name": "r", "kind": "errors", "rows": None, "label": 0, "count": 1, "share": None},
]


@pytest.mark.parametrize(
    "value", [True, 1.0, 0.1, "٣", " 1", "1 ", "1_0", "inf", "1e1000", [1], {}]
)
@pytest.mark.parametrize(
    "place",
    [
        ("cards", "max_terms"), ("cards", "points", 1), ("cards", "scale", 0),
        ("cards", "scale", 1), ("cards", "intercept", 0), ("cards", "gap"),
        ("cards", "values", 0, 0, 1), ("card", "coefficients", 0), ("card", "intercept"),
        ("data", "rows"), ("data", "columns", 0, "lower"), ("version",),
        ("cards", "rules", 0, "groups", 0, 0), ("cards", "rules", 0, "factors", 0),
        ("cards", "rules", 0, "upper"), ("cards", "rules", 1, "features", 0, 1, 0, 0),
        ("cards", "rules", 1, "features", 0, 0, 0), ("cards", "rules", 1, "upper"),
        ("cards", "rules", 2, "label"), ("cards", "rules", 2, "count"),
    ],
    ids=str,
)  # fmt: skip
def test_every_number_is_whole_rational_or_refused(
    place: tuple[Any, ...], value: Any, answer: Answer
) -> None:
    """A boolean is no 1 (both have one key in a cache), a float no fraction, a letter no digit."""
    made = certificate([ALWAYS], cards={"rules": RULES})
    assert answer(made) == "proved"
    made = json.loads(json.dumps(made))
    own = made
    for step in place[:-1]:
        own = own[step]
    own[place[-1]] = value
    assert answer(made).startswith("refused")


@pytest.mark.parametrize("value", ["0.25", True, [0.25], "1e99999999", 2**1024, "nan", {}])
@pytest.mark.parametrize("name", ["objective", "loss", "penalty", "bound"])
def test_a_claim_is_a_finite_json_number(name: str, value: Any, answer: Answer) -> None:
    made = certificate([ALWAYS], **{name: value})
    assert answer(made).startswith("refused")


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity", "1e999", "-1e400"])
def test_a_claim_is_finite(text: str, answer: Answer) -> None:
    made = sealed(certificate([ALWAYS], bound=12345.5)).replace("12345.5", text)
    assert answer(made).startswith("refused")


@pytest.mark.parametrize("value", ["1e99999999", "0", True, [0], {}, 1e308])
@pytest.mark.parametrize("column", [0, 1, 2])
def test_a_tree_splits_at_json_numbers(column: int, value: Any, answer: Answer) -> None:
    """Text was read as a fraction, of as many digits as its exponent says."""
    points = [[[0], [1.0], -0.5, 1.0], [[0], [0.0], 0.0, 1.0]]
    made = with_leaves({"values": [[[0, 1]]]}, [[column, value], 0, 1])
    made["bound"], made["evidence"]["points"] = 0.1, points
    assert answer(made).startswith("proved" if value == 1e308 else "refused")


@pytest.mark.parametrize(
    "point",
    [
        [[0], [1.0], "9" * 1000, 10**6],
        [[0], [1.0], [0] * 1000, 10**6],
        [["0"], [1.0], 0.0, 1.0],
        [[0.5], [1.0], 0.0, 1.0],
        [[0], ["1"], 0.0, 1.0],
        [[0], [True], 0.0, 1.0],
        [[0], [1.0], 0.0, True],
        [[0], [1.0], 0.0, 1.0, [[0], ["1"]]],
        [[0], [1.0], 0.0, 1.0, [[0], [True]]],
        [[0], [1.0], 0.0, 1.0, [[-1], [0.5]]],
        [[0], [1.0], 0.0, 1.0, [[], []], [[], []], []],
    ],
    ids=str,
)
def test_points_hold_numbers_only(point: Any, answer: Answer) -> None:
    """A whole slope times a text repeated the text, and took all memory."""
    made = with_leaves({}, [0])
    made["evidence"]["points"] = [point]
    assert answer(made).startswith("refused")


@pytest.mark.parametrize("leaf", ["leaf", None, 0.0, True, -1.0, {}, 1, -3])
def test_a_leaf_of_an_empty_box_is_a_number_too(leaf: Any, answer: Answer) -> None:
    made = with_leaves({}, [[0, 0], leaf, 0])
    assert answer(made).startswith("refused")
    made["evidence"]["tree"] = [[0, 0], -1, 0]
    assert answer(made) == "proved"


# -- entries that repeat, or that nobody knows ---------------------------------------------------


@pytest.mark.parametrize("name", ["claim", "objective", "cards", "values", "kind", "feature"])
def test_an_entry_stands_once(name: str, answer: Answer) -> None:
    text = sealed(certificate([ALWAYS]))
    start = text.index(f'"{name}": ')
    assert answer(text).startswith("proved")
    assert answer(text[:start] + f'"{name}": null, ' + text[start:]).startswith("refused")


@pytest.mark.parametrize(
    "place",
    [
        (), ("data",), ("data", "columns", 0), ("cards",), ("card",), ("evidence",),
        ("cards", "rules", 0), ("cards", "rules", 1), ("cards", "rules", 2),
    ],
    ids=str,
)  # fmt: skip
def test_an_unknown_or_missing_entry_is_refused(place: tuple[Any, ...], answer: Answer) -> None:
    made = json.loads(json.dumps(certificate([ALWAYS], cards={"rules": RULES})))
    own = made
    for step in place:
        own = own[step]
    own["note"] = "1"
    assert answer(made).startswith("refused")
    del own["note"]
    assert answer(made) == "proved"
    needed = next(iter(own)) if place != ("card",) else "intercept"
    del own[needed]
    assert answer(made).startswith("refused")


def test_the_package_reads_a_certificate_as_the_checker_does(tmp_path: Path) -> None:
    made = certificate([ALWAYS], cards={"rules": RULES})
    path = tmp_path / "made.json"
    path.write_text(sealed(made))
    Certificate.from_json(path)
    text = sealed(made)
    for forged in (
        text.replace('"claim": ', '"claim": "optimal", "claim": '),
        sealed({**made, "note": 1}),
        sealed(changed(made, {"data": {"note": 1}})),
        sealed(changed(made, {"data": {"rows": True}})),
        sealed({**made, "bound": True}),
        sealed({**made, "objective": 10**400}),
        sealed({**made, "engine": json.loads("[" * 60 + "]" * 60)}),
    ):
        path.write_text(forged)
        with pytest.raises(DataError, match=r"made\.json: "):
            Certificate.from_json(path)
    for entries in ({"lower": "inf"}, {"lower": "1e400"}, {"kind": "missing", "category": "f"}):
        other = certificate([{**ALWAYS, **entries}])
        path.write_text(sealed(other))
        with pytest.raises(DataError, match="columns are damaged"):
            _ = Certificate.from_json(path).columns


# -- codes, labels and texts ---------------------------------------------------------------------


def test_codes_above_2_53_are_told_apart(answer: Answer) -> None:
    """As doubles both codes are one, and the column holds in every row."""
    one = certificate([column("c", "category", category="9007199254740993")])
    assert answer(one).startswith("not proved")
    spelt = TABLE.replace("9007199254740993", "9007199254740993.0")
    three = certificate([column("c", "category", category="9007199254740992")], objective=0.5)
    three["loss"] = 0.5
    assert answer(three) == answer(three, spelt) == "proved"


@pytest.mark.parametrize(
    ("labels", "decimal"),
    [
        ([9007199254740992, 9007199254740993], "."),
        ([-9223372036854775807, 9223372036854775807], "."),
        (["0.0", "1.0"], ","),
        (["0,5", "1,5"], ","),
        (["1.5", "2.5"], "."),
        (["no", "YES"], "."),
        (["True", "False"], "."),
        (["TRUE", "FALSE"], "."),
        (["1", "true"], "."),
        (["007", "8"], "."),
    ],
)
def test_true_certificates_of_odd_labels_are_accepted(
    labels: list[Any], decimal: str, tmp_path: Path
) -> None:
    """From the file through the package's own reader, by checker and verifier."""
    frame = pd.DataFrame({"x": [0, 1, 2, 3] * 5, "y": [labels[k % 4 > 1] for k in range(20)]})
    frame.loc[3, "y"] = labels[0]
    data = tmp_path / "data.csv"
    frame.to_csv(data, index=False, sep=";")
    X, y = read_table(data, target="y", decimal=decimal)
    program = slim(X, y, max_terms=1)
    made = certify(
        program, solve(program, progress=False), source={"target": "y", "decimal": decimal}
    )
    assert made.claim == "optimal"
    file = made.to_json(tmp_path / "made.json")
    found = check(data, file)
    assert proved(found), found
    again = verify_certificate(Certificate.from_json(file), X, y)
    assert again.proved, again.to_text()


@pytest.mark.parametrize(
    ("field", "decimal"),
    [("7/3", "."), ("1.5", ","), ("٣", "."), ("1\u00a0", "."), ("true", "."), ("1_0", ".")],
)
def test_a_field_that_the_package_takes_for_text_is_not_a_number(
    field: str, decimal: str, answer: Answer
) -> None:
    table = TABLE.replace(",", ";").replace("\n2;", f"\n{field};")
    made = certificate([ALWAYS], data={"decimal": decimal})
    assert answer(made, table).startswith("refused")


def test_truth_values_are_those_of_the_package(answer: Answer) -> None:
    """Other spellings are texts, and two texts."""
    table = TABLE.replace("9007199254740992", "true").replace("9007199254740993", "tRuE")
    made = certificate([column("c", "category", category="True")])
    assert answer(made, table).startswith("not proved")


def test_no_encoding_spells_letters_by_others(answer: Answer) -> None:
    table = TABLE.replace("\n2,1", "\n+ADI,1").replace("\n4,1", "\n\\x34,1")
    for encoding in ("utf-7", "utf_7", "UTF7", "unicode_escape", "raw-unicode-escape"):
        made = certificate([ALWAYS], data={"encoding": encoding})
        assert answer(made, table).startswith("refused")


# -- rules ---------------------------------------------------------------------------------------


def limited(**entries: Any) -> dict[str, Any]:
    return certificate([ALWAYS], cards={"rules": [{**RULES[2], **entries}]})


def test_a_rule_counts_a_row_once(answer: Answer) -> None:
    """The card errs on the last row: a half of two rows, however often the other one is named."""
    half = {"rows": [0, 3], "count": None, "share": "1/2"}
    assert answer(limited(**half)) == "proved"
    assert answer(limited(**{**half, "share": "2/5"})).startswith("not proved")
    forged = {**half, "share": "2/5", "rows": [0, 0, 3]}
    assert not answer(limited(**forged)).startswith("proved")


def test_a_rule_names_rows_there_are(answer: Answer) -> None:
    """A row of -1 was the last one."""
    assert answer(limited(rows=[0], count=0)) == "proved"
    for rows in ([-4], [4], [0, 10**9]):
        assert answer(limited(rows=rows, count=0)).startswith("refused")
    assert answer(limited(count=None)).startswith("refused")


# -- the gap -------------------------------------------------------------------------------------


def test_the_card_keeps_its_own_gap(answer: Answer) -> None:
    """Negative totals lie so far below the threshold as the cards of the claim state."""
    made = certificate(
        [column("x")], caveat="among cards whose negative totals stay 1/2 below T",
        card={"coefficients": [-1], "intercept": "7/2"},
        cards={"values": [[[-1, -1]]], "intercept": ["0", "4", None], "gap": "1/2"},
        objective=0.0, loss=0.0,
    )  # fmt: skip
    assert answer(made) == "proved"
    nearer = changed(made, {"cards": {"gap": "3/4"}})
    assert "below the threshold" in answer(nearer)
    positive = changed(made, {"card": {"intercept": "4"}})  # 0 is no negative total
    positive["objective"] = positive["loss"] = 0.25
    assert answer(positive) == "proved"


def test_a_card_outside_its_gap_is_not_certified() -> None:
    """The threshold is set anew by a sweep over the totals, which knows of no gap."""
    rng = np.random.default_rng(0)
    X = rng.normal(0, 1, (30, 2))
    program = slim(X, X.sum(1) > 0, coef_min=-2, coef_max=2, threshold_gap=0.05)
    result = solve(program, "tree", progress=False)
    assert result.card is not None
    totals = X @ result.card.coefficients + float(result.card.intercept)
    wide = slim(X, X.sum(1) > 0, coef_min=-2, coef_max=2, threshold_gap=-2 * totals.min())
    with pytest.raises(NotApplicableError, match="below the threshold"):
        certify(wide, result)


# -- bounded work --------------------------------------------------------------------------------

HINGE = {"loss": "hinge", "points": ["0", "0"]}


def with_leaves(cards: dict[str, Any], tree: list[Any], **entries: Any) -> dict[str, Any]:
    made = certificate(
        [ALWAYS], cards={**HINGE, **cards}, objective=0.75, loss=0.75, bound=0.7, claim="gap",
        evidence={"kind": "leaves", "points": [[[0], [1.0], -0.5, 1.0]], "tree": tree}, **entries,
    )  # fmt: skip
    del made["evidence"]["reason"]
    return made


def engine(value: Any) -> dict[str, Any]:
    return certificate([ALWAYS], engine={"x": value})


def ruled(rule: dict[str, Any], times: int = 1) -> dict[str, Any]:
    return certificate([ALWAYS], cards={"rules": [rule] * times})


def priced(points: list[Any], most: int = 1) -> dict[str, Any]:
    return certificate([ALWAYS], cards={"points": points, "values": [[[1, most]]]})


BULK: dict[str, Callable[[], dict[str, Any] | str]] = {
    # a single split of all values, each of which was looked for among half of them
    "values": lambda: with_leaves(
        {"values": [[[0, 199_999]]], "points": [0] * 200_000}, [[0, 100_000], 0, 0]
    ),
    "one split after the other": lambda: with_leaves(
        {"values": [[[0, 199_999]]], "points": [0] * 200_000},
        [[0, 200_000 - k] for k in range(1000)],
    ),
    "tree": lambda: with_leaves({"values": [[[0, 1]]]}, [[0, 0]] * 290_000),
    "columns": lambda: certificate(
        [column("x", "step", lower=f"{k}.5") for k in range(1000)],
        card={"coefficients": [1] * 1000, "intercept": "-1/2"},
    ),
    "too many columns": lambda: certificate([ALWAYS] * 10_000),
    "rules": lambda: ruled(RULES[2], 15_000),
    "rows": lambda: ruled({**RULES[2], "rows": list(range(1000)) * 1400}),
    "groups": lambda: ruled({**RULES[0], "groups": [[0] * 1_400_000], "upper": None}),
    "totals": lambda: ruled({**RULES[1], "features": [[[0], [["1"]] * 90_000]]}),
    "ranges": lambda: certificate(
        [ALWAYS], cards={"values": [[[k, k] for k in range(100_000, 390_000)]]}
    ),
    "costs": lambda: priced(["0"] + [f"0.{k}" for k in range(140_000)]),
    "digits": lambda: priced(["0"] + [f"{'9' * 390}e{k % 999}" for k in range(15_000)], 15_000),
    "jumps": lambda: certificate([ALWAYS], cards={"jumps": [[0, 0, "0"]] * 140_000}),
    "doubles": lambda: sealed(engine([0])).replace("[0]", "[" + "0.1," * 1_400_000 + "0]", 1),
    "powers": lambda: sealed(engine([0])).replace("[0]", "[" + "1e15," * 1_400_000 + "0]", 1),
    "texts": lambda: engine([f"{k:x}" for k in range(140_000)]),
    "keys": lambda: engine({f"{k:x}": k for k in range(140_000)}),
    "lists": lambda: engine([[]] * 290_000),
    "objects": lambda: engine([{}] * 19_000),
    "wide letters": lambda: engine("\U0001d7d8" + "e" * 7_000_000),
    "depth": lambda: "[" * 290_000 + "]" * 290_000,
}
MEASURED = (
    "import resource, sys; before = resource.getrusage(resource.RUSAGE_SELF)\n"
    "resource.setrlimit(resource.RLIMIT_CPU, (20, 20))\n"
    "resource.setrlimit(resource.RLIMIT_AS, (320_000_000, 320_000_000))\n"
    "from milpscore_check.__main__ import main; code = main(sys.argv[1:])\n"
    "after = resource.getrusage(resource.RUSAGE_SELF)\n"
    "size = [line for line in open('/proc/self/status') if line.startswith('VmHWM')]\n"
    "print(after.ru_utime + after.ru_stime - before.ru_utime, size)\n"
    "sys.exit(code)"
)


@pytest.mark.parametrize("kind", BULK)
def test_no_file_takes_long_or_much_memory(kind: str, tmp_path: Path) -> None:
    """Beside a table of 1,000 rows, in a process of its own with little memory.

    The limits are far above what is promised: a file that needs more hung, or took all there was.
    """
    rows = np.arange(1000)
    frame = pd.DataFrame({"x": rows + 1, "z": rows % 7, "y": (rows % 4 != 3).astype(int)})
    frame.to_csv(tmp_path / "data.csv", index=False)
    made = BULK[kind]()
    text = made if isinstance(made, str) else sealed(changed(made, {"data": {"rows": 1000}}))
    assert len(text.encode()) <= 8_000_000
    (tmp_path / "made.json").write_text(text, encoding="utf-8")
    call = [sys.executable, "-c", MEASURED, str(tmp_path / "data.csv"), str(tmp_path / "made.json")]
    done = subprocess.run(call, check=False, capture_output=True, text=True)
    assert done.returncode in (0, 1, 2), done.stderr
    assert "Traceback" not in done.stderr
    assert "signs" not in done.stderr, "the file is refused for its bulk, and tries nothing"


def test_running_out_of_memory_is_a_refusal(
    monkeypatch: pytest.MonkeyPatch, answer: Answer
) -> None:
    def full(*_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr("milpscore_check.report.Table", full)
    assert answer(certificate([ALWAYS])).startswith("refused")


def test_verify_refuses_in_one_line(tmp_path: Path) -> None:
    data, made = tmp_path / "data.csv", tmp_path / "made.json"
    data.write_text(TABLE)
    for entries in ({"bound": "1e99999999"}, {"loss": True}, {"note": 1}, {"objective": 10**400}):
        made.write_text(sealed(certificate([ALWAYS], **entries)))
        done = CliRunner().invoke(app, ["verify", str(made), str(data)])
        assert (done.exit_code, len(done.stderr.splitlines())) == (2, 1), done.output
