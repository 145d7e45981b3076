"""The wheel on every Python that is there, away from the clone: ``pip install nox && nox``."""

from pathlib import Path

import nox

TESTS = Path(__file__).parent / "tests"
SHARE = ("metrics", "scorecard_json", "planted", "verify", "clock", "plots")
DATA = (
    "import milpscore; from pathlib import Path; from sklearn.datasets import load_breast_cancer\n"
    f"assert not Path(milpscore.__file__).is_relative_to({str(TESTS.parent)!r}), milpscore\n"
    "table = load_breast_cancer(as_frame=True).frame\n"
    "table[['worst radius', 'worst texture', 'target']].to_csv('data.csv', index=False)"
)


@nox.session(python=["3.11", "3.12", "3.13"])
def wheel(session: nox.Session) -> None:
    """Build and install the wheel, fit, prove, prove independently, and run some of the tests."""
    session.install(".", "hypothesis", "pytest", "pytest-timeout")
    session.chdir(session.create_tmp())
    session.run("python", "-c", DATA)
    session.run("milpscore", "fit", "data.csv", "--target", "target", "--certificate", "proof.json")
    session.run("milpscore", "verify", "proof.json", "data.csv")
    session.run("milpscore-check", "data.csv", "proof.json")
    run_tests(session, *SHARE)


@nox.session(python=["3.11"])
@nox.parametrize("numba", ["0.61.*", "0.68.*"])
def kernels(session: nox.Session, numba: str) -> None:
    """Compile and run kernels with numba at both ends of its range."""
    session.install(".", f"numba=={numba}", "hypothesis", "pytest", "pytest-timeout")
    run_tests(session, "jit", "planted", "tree_risk", "tree_zero_one", "proximal_path")


def run_tests(session: nox.Session, *names: str) -> None:
    """Run files of tests on the installed package."""
    files = [str(next(TESTS.rglob(f"test_{name}.py"))) for name in names]
    options = ("-q", "-m", "not slow", "-p", "no:cacheprovider", "-o", "pythonpath=")
    session.run("python", "-m", "pytest", *options, *files)
