"""The rules of the house that ruff does not know: ``python tools/house.py``, part of ``make lint``.

Lines per room, functions of too many branches, class names that stand twice in a package,
assignments into other people's modules, arguments that errors name in braces, and idioms that a
native reader stumbles over.
``budget.toml`` holds what is allowed; an allowance for what is still there may only shrink.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

PACKAGES = (
    "milpscore", "milpscore_show", "milpscore_study", "milpscore_sequence", "milpscore_check",
)  # fmt: skip
BESIDE = ("benchmarks", "experiments", "fuzz")
TEXTS = ("README.md", "CONTRIBUTING.md", "SECURITY.md")
BRANCHES = (ast.If, ast.For, ast.While, ast.IfExp, ast.ExceptHandler, ast.comprehension, ast.Assert)
MOST_BRANCHES = 20
IDIOMS = re.compile(
    r"\bso (?:many|much)\b"
    r"|\bone an? (?:row|column|class|feature|set|card|node|line)\b"
    r"|\ba row a \w+"
    r"|(?<!here )\bis no \b"
    r"|\blest\b"
    r"|\b(?:tells|told)\b(?! apart)"
    r'|(?:"""|# |^)Of |[.:] Of (?!the$)'
)


def rooms(root: Path) -> Counter[str]:
    """Lines per room of the heart and per sibling."""
    lines: Counter[str] = Counter()
    for package in PACKAGES:
        for path in (root / package).rglob("*.py"):
            inside = path.relative_to(root / package).parts
            room = f"{package}/{inside[0]}" if package == "milpscore" and inside[1:] else package
            lines[room] += len(path.read_text(encoding="utf-8").splitlines())
    return lines


def complexity(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """One more than the branches of a function, those of the functions inside it included."""
    nodes = list(ast.walk(function))
    chains = sum(len(node.values) - 1 for node in nodes if isinstance(node, ast.BoolOp))
    return 1 + chains + sum(isinstance(node, BRANCHES) for node in nodes)


def patched(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Assignments to attributes of what a module imports from others."""
    foreign: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            pairs = [(each.name, each.asname or each.name.split(".")[0]) for each in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            pairs = [(node.module, each.asname or each.name) for each in node.names]
        else:
            continue
        known = {*PACKAGES, *sys.stdlib_module_names}
        foreign |= {name for home, name in pairs if home.partition(".")[0] not in known}
    for node in ast.walk(tree):
        for target in _targets(node):
            root: ast.expr = target
            while isinstance(root, ast.Attribute):
                root = root.value
            if root is not target and isinstance(root, ast.Name) and root.id in foreign:
                yield target.lineno, ast.unparse(target)


def _targets(node: ast.AST) -> Iterator[ast.expr]:
    """What a statement assigns, ``setattr`` included."""
    if isinstance(node, ast.Assign):
        found = list(node.targets)
    elif isinstance(node, ast.AugAssign | ast.AnnAssign | ast.For):
        found = [node.target]
    elif isinstance(node, ast.Call) and ast.unparse(node.func) == "setattr" and node.args:
        yield ast.Attribute(node.args[0], "setattr", lineno=node.lineno)
        return
    else:
        return
    while found:
        target = found.pop()
        if isinstance(target, ast.Tuple | ast.List):
            found += target.elts
        else:
            yield target


def unnamed(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Arguments in braces that an error's text names and is not given: readers see the braces."""
    known = {"None", "True", "False", "X", "y", "Binner", "argument"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
            parts = getattr(node.args[0], "values", [node.args[0]])
            text = "".join(str(getattr(part, "value", "")) for part in parts)
            given = {each.arg for each in node.keywords}
            if node.func.id.endswith("Error") and None not in given:
                named = {*re.findall(r"\{([A-Za-z_]+)\}", text)}
                yield from ((node.lineno, name) for name in sorted(named - given - known))


def findings(root: Path) -> Iterator[str]:
    """Every breach, with its place."""
    budget = tomllib.loads((root / "budget.toml").read_text(encoding="utf-8"))
    lines = rooms(root)
    for room, count in sorted(lines.items()):
        most = budget["lines"].get(room)
        if most is None or count > most:
            yield f"{room}: {count} lines, and budget.toml allows {most}"
    complexities: list[str] = []
    repeated: list[str] = []
    for package in PACKAGES:
        classes: Counter[str] = Counter()
        for path in sorted((root / package).rglob("*.py")):
            place, text = path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")
            tree = ast.parse(text)
            classes.update(node.name for node in tree.body if isinstance(node, ast.ClassDef))
            kinds = ast.FunctionDef | ast.AsyncFunctionDef
            functions = [node for node in ast.walk(tree) if isinstance(node, kinds)]
            complexities += [
                f"{place}:{each.name}" for each in functions if complexity(each) > MOST_BRANCHES
            ]
            yield from (
                f"{place}:{line}: {name} is another library's" for line, name in patched(tree)
            )
            yield from (
                f"{place}:{line}: {{{name}}} is not among the error's keywords"
                for line, name in unnamed(tree)
            )
            yield from idioms(place, text)
        repeated += [f"{package}:{name}" for name, count in classes.items() if count > 1]
    beside = [path for folder in BESIDE for path in sorted((root / folder).rglob("*.py"))]
    pages = sorted((root / "docs").rglob("*.md"))
    for path in [*(root / name for name in TEXTS), *pages, *beside]:
        place = path.relative_to(root).as_posix()
        if path.is_file() and not place.startswith(("docs/_generated", "docs/measured")):
            yield from idioms(place, path.read_text(encoding="utf-8"))
    yield from beyond("branches", complexities, budget["branches"])
    yield from beyond("class names", repeated, budget["class_names"])


def idioms(place: str, text: str) -> Iterator[str]:
    """Lines with an idiom; names such as told_once are none."""
    for number, line in enumerate(text.splitlines(), 1):
        if found := IDIOMS.search(line):
            yield f"{place}:{number}: say {found.group(0).strip()!r} as a native writer would"


def beyond(what: str, found: list[str], allowed: list[str]) -> Iterator[str]:
    """What is not allowed, and allowances that nothing needs any more."""
    yield from (f"{each}: too many {what}" for each in sorted({*found} - {*allowed}))
    yield from (
        f"{each}: remove it from budget.toml, {what} are in order"
        for each in sorted({*allowed} - {*found})
    )


def main() -> int:
    """Print every breach; 1 if there is any."""
    breaches = list(findings(Path(sys.argv[1] if len(sys.argv) > 1 else ".")))
    print("\n".join(breaches) or "the house is in order")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
