"""Imports stay lazy: cheap to start, and every lazy name resolves to what it says."""

from __future__ import annotations

import json
import os
import pkgutil
import subprocess
import sys
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

import milpscore

resource = pytest.importorskip("resource", reason="CPU seconds of a child need a POSIX system")

ROOT = Path(milpscore.__file__).parent
HEAVY = {"clarabel", "cvxpy", "ecos", "highspy", "joblib", "matplotlib", "pandas", "pyomo"}
HEAVY |= {"numba", "scipy", "sklearn"}
# Rich and Typer belong to the command line alone.
INTERFACE = {"rich", "typer"}
TOPS = ("milpscore", "milpscore_sequence", "milpscore_show", "milpscore_study")
PACKAGES = [*TOPS[1:]] + [
    name
    for top in TOPS
    for _, name, is_package in pkgutil.walk_packages([str(ROOT.parent / top)], prefix=f"{top}.")
    if is_package
]
PUBLIC = [
    (package, name)
    for package in ["milpscore", *PACKAGES]
    for name in getattr(import_module(package), "__all__", [])
]

# Runs CODE, then writes the packages it loaded and their modules to the file named last.
CHILD = """
import json, sys
log = sys.argv.pop()
try:
    {code}
finally:
    with open(log, "w") as file:
        parts = [name.split(".") for name in sys.modules]
        json.dump(sorted({{".".join(each[:n]) for each in parts for n in (1, 2)}}), file)
"""
HELP = """from milpscore.cli import main
    main()"""


def run_child(
    tmp_path: Path, code: str, *arguments: str, runs: int = 3, exit_code: int = 0
) -> tuple[float, set[str], str]:
    """Run ``code`` in a fresh interpreter: least CPU seconds, modules loaded, standard output."""
    log = tmp_path / "modules.json"
    command = [sys.executable, "-c", CHILD.format(code=code), *arguments, str(log)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT.parent)}
    seconds = []
    for _ in range(runs):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            command, capture_output=True, text=True, env=environment, cwd=tmp_path, check=False
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert done.returncode == exit_code, done.stderr
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(seconds), set(json.loads(log.read_text())), done.stdout


def test_import_is_cheap(tmp_path: Path) -> None:
    seconds, loaded, _ = run_child(tmp_path, "import milpscore")
    assert "milpscore" in loaded
    assert not loaded & (HEAVY | INTERFACE)
    assert seconds < 0.3


POSTPONED = """
    from milpscore.cli.app import Postponing

    sys.meta_path.insert(0, Postponing("scipy.stats", "scipy.spatial"))
    import scipy.stats, scipy.spatial.distance
    from scipy import stats

    assert stats is scipy.stats and "scipy.stats._stats_py" not in sys.modules
    assert "scipy.spatial._kdtree" in sys.modules  # a look for a submodule is a look
    from scipy.stats import rankdata

    assert rankdata([3, 1]).tolist() == [2, 1] and type(stats).__name__ == "module"
    print(stats.norm.cdf(0.0), scipy.stats.qmc.__name__)
"""


def test_a_postponed_module_is_loaded_at_the_first_look(tmp_path: Path) -> None:
    _, _, text = run_child(tmp_path, POSTPONED.strip(), runs=1)
    assert text.split() == ["0.5", "scipy.stats.qmc"]


def test_help_is_cheap(tmp_path: Path) -> None:
    seconds, loaded, text = run_child(tmp_path, HELP, "--help")
    for command in ("fit", "compare", "path", "export", "predict", "list", "demo"):
        assert command in text
    assert not loaded & HEAVY
    # beside the libraries that print it: the same on a slow machine
    bare, _, _ = run_child(tmp_path, "import typer, rich.console")
    assert seconds < 4.5 * bare


MISTAKES = {
    "fit absent.csv --target y": "No such file",
    "fit table.csv --target z": "no column 'z'; the columns are 'a', 'y'",
    "fit table.csv --target y --weights-column b": "no column 'b'",
    "fit table.csv --target y --frobnicate": "No such option",
    "fit table.csv --target y --formulation slimm": "did you mean slim?",
    "fit table.csv --target y --solver highz": "did you mean highs?",
    "compare absent.csv --target y": "No such file",
    "path absent.csv --target y --penalty l1": "No such file",
    "pool absent.csv --target y": "No such file",
    "predict absent.json table.csv": "No such file",
    "verify absent.json table.csv": "No such file",
    "report absent.json table.csv --out a.html": "No such file",
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_before_anything_heavy_is_loaded(mistake: str, tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text('"a";" y "\n1;0\n2;1\n')
    code = HELP.replace("main()", "sys.stderr = sys.stdout; main()")
    _, loaded, text = run_child(tmp_path, code, *mistake.split(), runs=1, exit_code=2)
    assert MISTAKES[mistake] in text
    assert not loaded & (HEAVY | {"numpy"})


def test_a_first_card_loads_what_it_needs(tmp_path: Path) -> None:
    """A risk score proved by the tree needs pandas and numba, and what numba asks of SciPy."""
    rows = "".join(f"{int(k % 5 > 1)},{k % 5},{k % 3}\n" for k in range(40))
    (tmp_path / "table.csv").write_text("y,a,b\n" + rows)
    fit = ["fit", "table.csv", "--target", "y", "--max-terms", "2", "--json"]
    _, loaded, text = run_child(tmp_path, HELP, *fit, runs=1)
    assert json.loads(text)["claim"] == "optimal"
    assert not loaded & (HEAVY - {"numba", "pandas", "scipy"})
    # numba loads scipy.linalg to see that BLAS is there
    assert {f"scipy.{each}" for each in ("optimize", "sparse", "special")}.isdisjoint(loaded)


EACH = """
    from importlib import import_module

    for name in {packages!r}:
        import_module(name)
        found = {heavy!r} & {{each.partition(".")[0] for each in sys.modules}}
        assert not found, (name, found)
"""


def test_a_package_alone_loads_nothing_heavy(tmp_path: Path) -> None:
    run_child(tmp_path, EACH.strip().format(packages=PACKAGES, heavy=HEAVY), runs=1)


@pytest.mark.parametrize(("package", "name"), PUBLIC)
def test_every_public_name_resolves(package: str, name: str) -> None:
    module = import_module(package)
    assert name in dir(module)
    assert getattr(module, name) is not None


@pytest.mark.parametrize("package", ["milpscore", *PACKAGES])
def test_no_module_shares_the_name_of_what_it_exports(package: str) -> None:
    module = import_module(package)
    folder = Path(module.__file__ or "").parent
    for name in getattr(module, "__all__", []):
        # importing a submodule binds it in its package, where it would shadow the function
        assert not (folder / f"{name}.py").exists()


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="No milpscore attribute nonsense"):
        milpscore.nonsense  # type: ignore[attr-defined]  # noqa: B018


def test_version_is_that_of_the_distribution() -> None:
    try:
        installed = version("milpscore")
    except PackageNotFoundError:
        pytest.skip("milpscore is on the path, not installed")
    assert milpscore.__version__ == installed


def test_tagging_loads_a_kernel_and_nothing_else_heavy(tmp_path: Path) -> None:
    from milpscore_sequence import SparseCRF

    X = [[("the", "DT"), ("dog", "NN")], [("a", "DT"), ("cat", "NN")]]
    SparseCRF(max_iterations=2).fit(X, [["B", "I"], ["B", "I"]]).save(tmp_path / "m.npz")
    (tmp_path / "x.txt").write_text("the DT\ndog NN\n")
    _, loaded, printed = run_child(tmp_path, HELP, "crf", "tag", "m.npz", "x.txt", runs=1)
    assert printed.splitlines()[:2] == ["the\tDT\tB", "dog\tNN\tI"]
    assert not loaded & (HEAVY - {"numba", "scipy"})  # the one Viterbi is a kernel


def test_estimators_are_at_the_top() -> None:
    from milpscore import estimators

    classes = [name for name in estimators.__all__ if name.endswith(("Classifier", "Regressor"))]
    bases = {"CardClassifier", "FormulationClassifier"}
    for name in set(classes) - bases:
        assert getattr(milpscore, name) is getattr(estimators, name)
