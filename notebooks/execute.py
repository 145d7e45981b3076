"""Execute the notebooks, two at a time, each within its seconds: ``make notebooks``.

``--stale`` leaves out those that were executed since they were written. ``--keep`` copies the
results to ``notebooks/executed``, which the repository holds so that they can be read there.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

import jupytext
import nbclient
import nbformat
from joblib import Parallel, delayed

HERE = Path(__file__).parent
OUT = HERE.parent / "build" / "notebooks"
KEPT = HERE / "executed"


def execute(source: Path, limit: float) -> tuple[str, float, str]:
    """Run one notebook and keep it with its outputs; what went wrong, or nothing."""
    notebook = jupytext.read(source)
    notebook.metadata["kernelspec"] = {
        "name": "python3",
        "display_name": "Python 3",
        "language": "python",
    }
    begun = time.perf_counter()
    client = nbclient.NotebookClient(
        notebook,
        timeout=int(10 * limit),
        kernel_name="python3",
        resources={"metadata": {"path": HERE}},
        # a kernel's notes on its own ports are not a notebook's output
        extra_arguments=["--log-level=40"],
    )
    trouble = ""
    try:
        client.execute()
    except (nbclient.exceptions.CellExecutionError, nbclient.exceptions.CellTimeoutError) as error:
        trouble = str(error)
    nbformat.write(notebook, _executed(source))
    if trouble:
        os.utime(_executed(source), (0, 0))  # to be done again
    return source.name, time.perf_counter() - begun, trouble


def _executed(source: Path) -> Path:
    return OUT / source.with_suffix(".ipynb").name


def _outdated(source: Path) -> bool:
    """Whether the copy kept in the repository lacks, or shows another text than the source."""
    kept = KEPT / source.with_suffix(".ipynb").name
    if not kept.is_file():
        return True
    both = jupytext.read(source), nbformat.read(kept, as_version=4)
    text, shown = ([(cell.cell_type, cell.source) for cell in each.cells] for each in both)
    return text != shown


def _keep(source: Path) -> None:
    """Copy a notebook into the repository, without the times of its cells."""
    notebook = nbformat.read(_executed(source), as_version=4)
    for number, cell in enumerate(notebook.cells):
        cell.metadata.pop("execution", None)
        cell["id"] = f"cell-{number}"
    KEPT.mkdir(exist_ok=True)
    nbformat.write(notebook, KEPT / _executed(source).name)


def _is_stale(source: Path) -> bool:
    made = _executed(source)
    return not made.is_file() or made.stat().st_mtime < source.stat().st_mtime


def main() -> int:
    """Execute all, or those named; 1 where one fails or takes too long."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="default: every notebook")
    parser.add_argument("--seconds", type=float, default=900.0, help="allowed for each")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--stale", action="store_true", help="leave out what is executed already")
    parser.add_argument("--keep", action="store_true", help="copy the results into the repository")
    asked = parser.parse_args()
    every = [HERE / name for name in asked.names] or sorted(HERE.glob("[0-9]*.py"))
    sources = [source for source in every if not asked.stale or _is_stale(source)]
    OUT.mkdir(parents=True, exist_ok=True)
    # one thread a kernel, or two notebooks wait for each other's cores
    os.environ.update(OMP_NUM_THREADS="1", PYTHONWARNINGS="ignore::DeprecationWarning")
    jobs = Parallel(n_jobs=asked.jobs, return_as="generator")
    failed = 0
    for name, seconds, trouble in jobs(
        delayed(execute)(source, asked.seconds) for source in sources
    ):
        slow = seconds > asked.seconds
        failed += bool(trouble) or slow
        verdict = "failed" if trouble else "too slow" if slow else "ran"
        sys.stdout.write(f"{name:<40} {verdict:<8} {seconds:6.1f} s\n{trouble}")
        sys.stdout.flush()
    if asked.keep and not failed:
        for source in every:
            _keep(source)
    if old := [source.stem for source in every if _outdated(source)]:
        failed += 1
        sys.stdout.write(f"kept with another text: {', '.join(old)}; make notebooks ARGS=--keep\n")
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
