"""The documentation site: ``make docs``; warnings are errors there."""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
from matplotlib import rc_params_from_file

import milpscore

HERE = Path(__file__).parent
ROOT = HERE.parent
GENERATED = HERE / "_generated"

project = "milpscore"
author = "milpscore contributors"
copyright = "milpscore contributors"
version = release = milpscore.__version__

extensions = [
    "matplotlib.sphinxext.plot_directive",
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]
nitpicky = False

html_theme = "furo"
html_title = f"milpscore {release}"
html_show_sourcelink = False
html_static_path = ["_static", "_generated/static"]
html_css_files = ["site.css"]

mathjax_path = "tex-svg-full.js"  # of the site itself: formulas need no network

# The notebooks are executed by `make notebooks`; the site shows what they printed there.
nb_execution_mode = "off"
nb_merge_streams = True

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"  # numpydoc shows the types that the docstrings name
autodoc_inherit_docstrings = True
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

plot_include_source = True
plot_html_show_formats = False
plot_html_show_source_link = False
plot_formats = [("png", 110)]
plot_rcparams = {
    **rc_params_from_file(
        str(ROOT / "milpscore_show" / "plots" / "style.mplstyle"), use_default_template=False
    ),
    "figure.figsize": (7, 4),
    "savefig.bbox": "tight",
}
plot_apply_rcparams = True

PACKAGES = (
    "milpscore",
    "milpscore.data",
    "milpscore.formulations",
    "milpscore.solvers",
    "milpscore.rounding",
    "milpscore.search",
    "milpscore.constraints",
    "milpscore.verify",
    "milpscore.certificate",
    "milpscore.comparison",
    "milpscore.pools",
    "milpscore.updating",
    "milpscore.worth",
    "milpscore.sites",
    "milpscore.withheld",
    "milpscore.holes",
    "milpscore_show.studio",
    "milpscore.scorecard",
    "milpscore_show.report",
    "milpscore.estimators",
    "milpscore.losses",
    "milpscore.penalties",
    "milpscore.proximal",
    "milpscore_sequence",
    "milpscore.metrics",
    "milpscore_study",
    "milpscore_show.plots",
    "milpscore.core.program",
    "milpscore.core.result",
    "milpscore.core.card",
    "milpscore.core.design",
    "milpscore.core.errors",
)
"""What the reference covers, from the top down; the names are those of each ``__all__``."""


def _names(module: object) -> list[str]:
    """The public names of a module that have a docstring of their own."""
    listed = getattr(module, "__all__", None)
    if listed is None:
        listed = [
            name
            for name, value in vars(module).items()
            if not name.startswith("_") and getattr(value, "__module__", "") == module.__name__
        ]
    documented = [name for name in sorted(listed) if not name.startswith("__")]
    return [name for name in documented if callable(getattr(module, name))]


def _own_names(package: str) -> list[str]:
    """The public names of a package, without those the top level only passes on."""
    names = _names(importlib.import_module(package))
    if package != "milpscore":
        return names
    below = {name for other in PACKAGES[1:] for name in _names(importlib.import_module(other))}
    return [name for name in names if name not in below]


def write_reference() -> None:
    """One page a package, a table of its names on each."""
    folder = GENERATED / "api"
    folder.mkdir(parents=True, exist_ok=True)
    for package in PACKAGES:
        module = importlib.import_module(package)
        summary = (module.__doc__ or "").strip()
        lines = [f"``{package}``", "=" * (len(package) + 4), "", summary, ""]
        lines += [f".. currentmodule:: {package}", "", ".. autosummary::", "   :toctree: names", ""]
        lines += [f"   {name}" for name in _own_names(package)]
        (folder / f"{package}.rst").write_text("\n".join(lines) + "\n", encoding="utf-8")


def copy_mathjax() -> None:
    """One file of MathJax, with its glyphs, where pages find it without a network."""
    folder = GENERATED / "static"
    folder.mkdir(parents=True, exist_ok=True)
    files = importlib.metadata.files("sphinx-mathjax-offline") or []
    (found,) = (file for file in files if file.name == mathjax_path)
    shutil.copy(Path(str(found.locate())), folder / mathjax_path)


def draw_front_page() -> None:
    """The card of the front page with what is proved of it, and the comparison beside it."""
    from sklearn.datasets import load_breast_cancer

    from milpscore import compare
    from milpscore.data import Binner
    from milpscore.estimators import RiskScoreClassifier
    from milpscore_show.plots import comparison_figure

    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X[["worst radius", "worst texture", "worst smoothness", "worst concave points"]]
    tumour = y.map({0: "malignant", 1: "benign"})
    binner = Binner(n_bins=3)
    model = RiskScoreClassifier(binner=binner, node_limit=5000, time_limit=600)
    card = model.fit(X, tumour).scorecard_
    replace(card, title="Is the tumour malignant?").write(GENERATED / "card.svg")
    found = compare(
        X, tumour, formulations=["slim", "hinge"], binner=binner, max_terms=4, cv=0, time_limit=600
    )
    comparison_figure(found).savefig(GENERATED / "comparison.svg", bbox_inches="tight")


def copy_results() -> None:
    """The measured tables of benchmarks and experiments as they were written, one page each."""
    folder = GENERATED / "measured"
    folder.mkdir(parents=True, exist_ok=True)
    for page in sorted((ROOT / "benchmarks" / "results").glob("*.md")):
        shutil.copy(page, folder / page.name)
    for page in sorted((ROOT / "experiments").glob("*/*.md")):
        shutil.copy(page, folder / f"{page.parent.name}_{page.name}")


def copy_notebooks() -> None:
    """The executed notebooks, where `make docs` or `make notebooks` has made them, to be read."""
    folder = GENERATED / "notebooks"
    folder.mkdir(parents=True, exist_ok=True)
    executed = ROOT / "build" / "notebooks"
    for page in sorted(executed.glob("[0-9]*.ipynb")):
        notebook = nbformat.read(page, as_version=4)
        notebook.cells = [part for cell in notebook.cells for part in folded(cell)]
        nbformat.write(notebook, folder / page.name)


_LONG = 8
"""Lines of code above a figure that are folded."""


def folded(cell: Any) -> list[Any]:
    """A cell as it is read: imports, what draws a figure, and what is checked are folded away."""
    if cell.cell_type != "code":
        return [cell]
    shown, checks = parted(cell.source)
    figure = any("image/png" in output.get("data", {}) for output in cell.outputs)
    if not shown:
        fold(cell, "What is checked here")
        return [cell]
    body = ast.parse(shown.replace('plt.style.use("milpscore_show.plots.style")', "")).body
    if all(isinstance(each, ast.Import | ast.ImportFrom) for each in body):
        fold(cell, "What is imported")
        return [cell]
    cell.source = shown
    if figure and shown.count("\n") >= _LONG:
        fold(cell, "How the figure is drawn")
    if not checks:
        return [cell]
    check = nbformat.v4.new_code_cell(checks)
    fold(check, "What is checked here")
    return [cell, check]


def fold(cell: Any, words: str) -> None:
    """Let a reader open the code of a cell by these words; its output stays."""
    cell.metadata["tags"] = ["hide-input"]
    cell.metadata["mystnb"] = {"code_prompt_show": words, "code_prompt_hide": words}


def parted(source: str) -> tuple[str, str]:
    """Code without its assertions, and these with the remarks right above them."""
    lines = source.split("\n")
    checked: set[int] = set()
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assert):
            first = node.lineno - 1
            while first and lines[first - 1].startswith("#"):
                first -= 1
            checked |= {*range(first, node.end_lineno or node.lineno)}
    kinds: tuple[list[str], list[str]] = ([], [])
    for at, line in enumerate(lines):
        kinds[at in checked].append(line)
    shown, checks = ("\n".join(kind).strip("\n") for kind in kinds)
    return shown, checks


_FOREIGN = re.compile(r":(?:ref|term):`~?([^`<]+?)(?:\s*<[^`>]*>)?`")
_LITERAL = re.compile(r"(``.+?``|:\w+:`.+?`)")
_TRAILING = re.compile(r"(?<=\w)_(?![\w`])")  # n_features_ is an attribute, not a link


def tidy_docstring(*event: Any) -> None:
    """Let |w| be an absolute value, not a substitution; unlink scikit-learn's own labels."""
    lines: list[str] = event[-1]
    block: int | None = None  # the indent of a directive or literal block that we are inside
    for i, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if block is not None and line.strip() and indent <= block:
            block = None
        if block is None:
            parts = _LITERAL.split(_FOREIGN.sub(r"\1", line))
            parts[::2] = [_TRAILING.sub(r"\_", part.replace("|", r"\|")) for part in parts[::2]]
            lines[i] = "".join(parts)
            if line.lstrip().startswith((".. math", ".. code")) or line.rstrip().endswith("::"):
                block = indent


_PRINTS = re.compile(r"<!-- prints: (.*?) -->", flags=re.DOTALL)


def show_outputs(*event: Any) -> None:
    """What a page's code prints, which its tests hold it to, below the code."""
    source: list[str] = event[2]
    source[0] = _PRINTS.sub("```{code-block} text\n:class: printed\n\n\\1\n```", source[0])


_SIDEBARS: dict[tuple[str, str], str] = {}


def _sidebar_of(page: str) -> tuple[str, str]:
    """What a page's sidebar depends on: its own place or, for a name or a source, its folder's."""
    folder, _, name = page.rpartition("/")
    if folder == "_generated/api/names":
        return folder, max((p for p in PACKAGES if name.startswith(f"{p}.")), key=len, default="")
    return (folder, "source") if page.startswith("_modules/") else (page, "")


def share_sidebars(*event: Any) -> None:
    """End the sidebar at the packages, and make it once a package: else it takes minutes.

    Sphinx goes through all names for each page of a name. Such a page is reached from its
    package's table.
    """
    page: str = event[1]
    context: dict[str, Any] = event[3]
    whole, key = context.get("toctree"), _sidebar_of(page)

    def sidebar(**options: Any) -> str:
        if key not in _SIDEBARS:
            _SIDEBARS[key] = whole(**{**options, "maxdepth": 2})
        return _SIDEBARS[key]

    if whole is not None:
        context["toctree"] = sidebar


def name_parts(app: Any, error: Exception | None) -> None:
    """Give the theme's pages what a keyboard or a screen reader needs, as axe-core asks."""
    if error is not None:
        return
    lacking = {
        '<p class="caption" role="heading">': '<p class="caption" role="heading" aria-level="2">',
        '<aside class="sidebar-drawer">': '<aside class="sidebar-drawer" aria-label="Site">',
        '<aside class="toc-drawer': '<aside aria-label="Page" class="toc-drawer',
        "<pre>": '<pre tabindex="0">',  # which scrolls where it is wide
    }
    met: set[str] = set()
    for page in Path(app.outdir).rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        for part, named in lacking.items():
            text = text.replace(part, named)
            met |= {part} if named in text else set()
        page.write_text(text, encoding="utf-8")
    if other := lacking.keys() - met:
        raise RuntimeError(f"the theme writes these parts of a page otherwise: {sorted(other)}")


def setup(app: Any) -> None:
    """After numpydoc has turned the docstring into reStructuredText, and before the theme."""
    app.connect("autodoc-process-docstring", tidy_docstring, priority=900)
    app.connect("source-read", show_outputs)
    app.connect("html-page-context", share_sidebars, priority=400)
    app.connect("build-finished", name_parts)


shutil.rmtree(GENERATED, ignore_errors=True)
copy_mathjax()
draw_front_page()
write_reference()
copy_results()
copy_notebooks()
