"""Conic programs beside the proximal path: answers in harsh cases, and a path re-solved in place.

Answers: five models on the UCI sets, raw and standardised columns, logistic loss, lam from 1e-6 to
10: ECOS and the proximal path must agree within a relative 1e-8; where they do not, the proximal
path must have the lower objective and a bound that proves it. Each program is stated once for all
its lams. Where one solve takes ECOS longer than about 20 s (adult and mushroom standardised, which
leaves no zero in the matrix), a sample of the rows stands for the set.

Path: 30 lams in place, every compilation counted, beside ``milpscore.proximal.path`` on the same
lams. One thread, CPU seconds, a fresh process for every set and scaling.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
for name in THREADS:  # before NumPy is loaded, here and in the children
    os.environ[name] = "1"

import numpy as np  # noqa: E402
from _common import SEED, SETS, Report, arguments, in_child, present, uci  # noqa: E402
from _paths import problem  # noqa: E402

Rows = tuple[np.ndarray, np.ndarray]

LAMS = (1e-6, 1e-3, 1e-1, 10.0)
AGREE = 1e-8
PROVEN = 1e-6
OF_160 = 150
MOST_DENSE = 1000
"""Rows kept of a large set whose standardised columns hold no zeros."""

PATH_TOL = 1e-9


def weights(p: int) -> np.ndarray:
    """Falling weights for OWL."""
    return np.linspace(1.0, 0.1, p)


def expert(p: int) -> np.ndarray:
    """Every other feature is known to the expert."""
    return np.arange(p) % 2 == 0


def programs() -> dict[str, Callable[[np.ndarray, np.ndarray, float], Any]]:
    """Name to builder of (X, y, lam)."""
    from milpscore import formulations as f

    return {
        "eye": lambda X, y, lam: f.eye(X, y, expert=expert(X.shape[1]) * 1.0, lam=lam),
        "facets": lambda X, y, lam: f.facets(X, y, lam=lam),
        "strongly convex facets": lambda X, y, lam: f.strongly_convex_facets(X, y, lam=lam),
        "elastic net": lambda X, y, lam: f.elastic_net(X, y, lam=lam, l1_ratio=0.5),
        "owl": lambda X, y, lam: f.owl(X, y, weights=weights(X.shape[1]), lam=lam),
    }


# --- answers -------------------------------------------------------------------------------------


def columns(name: str, scaling: str) -> Rows:
    """The rows of a set; standardised where asked, and then at most ``MOST_DENSE`` of them."""
    design = uci(name)
    if design is None:
        raise FileNotFoundError(name)
    X, y = np.asarray(design.X, dtype=np.float64), design.y
    if scaling == "raw":
        return X, y
    if name in ("adult", "mushroom"):
        kept = stratified(y, MOST_DENSE)
        X, y = X[kept], y[kept]
    spread = X.std(axis=0)
    X, spread = X[:, spread > 0], spread[spread > 0]
    return (X - X.mean(axis=0)) / spread, y


def stratified(y: np.ndarray, size: int) -> np.ndarray:
    """Seeded rows, each class in its share."""
    rng = np.random.default_rng(SEED)
    parts = []
    for label in np.unique(y):
        rows = np.flatnonzero(y == label)
        parts.append(rng.choice(rows, round(size * len(rows) / len(y)), replace=False))
    return np.sort(np.concatenate(parts))


def answers(name: str, scaling: str, lams: tuple[float, ...]) -> dict[str, Any]:
    """Both solvers on every model and lam."""
    from milpscore.solvers import solve

    X, y = columns(name, scaling)
    warm(X, y, ("ecos", "proximal"))
    rows = []
    for model, build in programs().items():
        program = build(X, y, lams[0])
        for lam in lams:
            program.set(lam=lam)
            case: dict[str, Any] = {"set": name, "columns": scaling, "model": model, "lam": lam}
            case["rows"], case["p"] = program.statement.merged.X.shape
            for solver in ("ecos", "proximal"):
                started = time.process_time()
                found = solve(program, solver=solver)
                case[solver] = {
                    "objective": found.objective,
                    "bound": found.dual_bound,
                    "gap": found.objective - found.dual_bound,
                    "status": str(found.termination),
                    "claim": str(found.claim),
                    "seconds": time.process_time() - started,
                    "message": found.message,
                }
            rows.append(judged(case))
    return {"rows": rows}


def warm(X: np.ndarray, y: np.ndarray, solvers: tuple[str, ...]) -> None:
    """Import and compile everything once, on a few rows."""
    from milpscore.solvers import solve

    few = np.concatenate([np.flatnonzero(y == label)[:5] for label in np.unique(y)])
    for build in programs().values():
        for solver in solvers:
            solve(build(X[few], y[few], 0.1), solver=solver)


def judged(case: dict[str, Any]) -> dict[str, Any]:
    """The difference of the two answers, and who was right where they disagree.

    Right is the lower objective, where a bound proves it within a relative 1e-6.
    """
    ecos, proximal = case["ecos"], case["proximal"]
    least = min(ecos["objective"], proximal["objective"])
    case["difference"] = (ecos["objective"] - proximal["objective"]) / max(abs(least), 1e-300)
    case["agree"] = abs(case["difference"]) <= AGREE
    bound = max(ecos["bound"], proximal["bound"])
    case["proven to"] = (least - bound) / max(abs(least), 1e-300)
    lower = "ecos" if case["difference"] < 0 else "proximal"
    proven = case["proven to"] <= PROVEN
    case["right"] = "both" if case["agree"] else lower if proven else f"unproven, {lower} lower"
    return case


def answers_tables(report: Report, cases: list[dict[str, Any]]) -> None:
    """Agreement by set and by model and lam, every disagreement, and the targets."""
    report.tables += [
        ("ECOS beside the proximal path: cases that agree within 1e-8", by(cases, "set")),
        ("The same by model and lam", by(cases, "model")),
        ("Every disagreement", [_cells(case) for case in cases if not case["agree"]]),
    ]
    agreed, apart = sum(case["agree"] for case in cases), [c for c in cases if not c["agree"]]
    report.target(
        "ECOS agrees with the proximal path",
        f">= {OF_160} of 160",
        f"{agreed} of {len(cases)}",
        agreed * 160 >= OF_160 * len(cases),
    )
    wrong = [case for case in apart if case["right"] != "proximal"]
    proven = max((case["proven to"] for case in apart), default=0.0)
    report.target(
        "the proximal path is right where they disagree",
        f"{len(apart)} of {len(apart)}",
        f"{len(apart) - len(wrong)} of {len(apart)}, relative gap at most {proven:.1e}",
        not wrong,
    )
    open_ = [case for case in cases if case["proximal"]["status"] != "completed"]
    report.target(
        "the proximal path reaches its gap", f"{len(cases)} of {len(cases)}",
        f"{len(cases) - len(open_)} of {len(cases)}", not open_,
    )  # fmt: skip


def by(cases: list[dict[str, Any]], key: str) -> list[dict[str, Any]]:
    """Counts and seconds by set and scaling, or by model and lam."""
    second = "columns" if key == "set" else "lam"
    table: list[dict[str, Any]] = []
    for pair in dict.fromkeys((case[key], case[second]) for case in cases):
        part = [case for case in cases if (case[key], case[second]) == pair]
        row: dict[str, Any] = {key: pair[0], second: pair[1]}
        if key == "set":
            row |= {"rows": part[0]["rows"], "p": part[0]["p"]}
        table.append(
            row
            | {
                "cases": len(part),
                "agree": sum(case["agree"] for case in part),
                "worst difference": f"{max(abs(case['difference']) for case in part):.1e}",
                "ECOS completed": sum(case["ecos"]["status"] == "completed" for case in part),
                "proximal completed": sum(
                    case["proximal"]["status"] == "completed" for case in part
                ),
                "ECOS CPU s": sum(case["ecos"]["seconds"] for case in part),
                "ECOS most": max(case["ecos"]["seconds"] for case in part),
                "proximal CPU s": sum(case["proximal"]["seconds"] for case in part),
            }
        )
    return table


def _cells(case: dict[str, Any]) -> dict[str, Any]:
    """One disagreement."""
    row = {key: case[key] for key in ("set", "columns", "model", "lam")}
    for solver, short in (("ecos", "ECOS"), ("proximal", "proximal")):
        row[f"{short} objective"] = f"{case[solver]['objective']:.12g}"
        row[f"{short} gap"] = f"{case[solver]['gap']:.1e}"
        row[f"{short} status"] = case[solver]["status"]
    return row | {"difference": f"{case['difference']:.1e}", "right": case["right"]}


# --- path ----------------------------------------------------------------------------------------


@contextmanager
def compilations() -> Iterator[list[float]]:
    """The seconds of every compilation CVXPY makes meanwhile."""
    from cvxpy.reductions.dcp2cone.cone_matrix_stuffing import ConeMatrixStuffing

    seconds: list[float] = []
    original = ConeMatrixStuffing.apply

    def counted(self: Any, stated: Any) -> Any:
        started = time.perf_counter()
        answer = original(self, stated)
        seconds.append(time.perf_counter() - started)
        return answer

    ConeMatrixStuffing.apply = counted
    try:
        yield seconds
    finally:
        ConeMatrixStuffing.apply = original


def path_rows(name: str) -> Rows:
    """breastcancer's columns, or a generated table "n x p"."""
    return columns(name, "raw") if name == "breastcancer" else problem(name)


def resolved(name: str, model: str, solver: str, n_lams: int) -> dict[str, Any]:
    """A path of ``n_lams`` to lambda_max / 100, one program re-solved, beside the proximal path."""
    from dataclasses import replace

    from milpscore.proximal import path
    from milpscore.proximal.problem import prepare
    from milpscore.solvers import solve

    X, y = path_rows(name)
    warm(X, y, (solver, "proximal"))
    top = _penalty(model, X.shape[1], 1.0).lambda_max(prepare(X, y, "logistic").null.gradient)
    lams = top * np.geomspace(1.0, 0.01, n_lams)
    with compilations() as compiled:
        started = time.process_time()
        program = programs()[model](X, y, lams[0])
        built = time.process_time() - started
        found, growths, made = [], 0, []
        for lam in lams:
            program.set(lam=lam)
            before, size = program.cone, len(compiled)
            found.append(solve(program, solver=solver))
            growths += program.cone is not before
            made.append(len(compiled) - size)
        total = time.process_time() - started
    penalty = program.statement.penalty
    path(X, y, penalty=penalty, lams=lams[:2], tol=PATH_TOL)  # compiled or read from disk
    started = time.process_time()
    beside = path(X, y, penalty=lambda lam: replace(penalty, lam=lam), lams=lams, tol=PATH_TOL)
    ours = time.process_time() - started
    handed = [one.load_seconds for one in found]
    again = [k for k in range(1, n_lams) if made[k]]
    still = [handed[k] for k in range(1, n_lams) if not made[k]]
    return {
        "set": name,
        "model": model,
        "solver": solver,
        "lams": n_lams,
        "compilations": sum(made),
        "growths": growths,
        "at": again,
        "build s": built,
        "first hand-over s": handed[0],
        "median hand-over s": float(np.median(still)),
        "solver wall s": sum(one.solve_seconds for one in found),
        "CPU s": total,
        "proximal path CPU s": ours,
        "ratio": total / ours,
        "worst difference": max(
            abs(one.objective - other.objective) / abs(other.objective)
            for one, other in zip(found, beside.results, strict=True)
        ),
        "claims": {str(c): sum(one.claim == c for one in found) for c in {o.claim for o in found}},
        "hand-over seconds": handed,
    }


def _penalty(model: str, p: int, lam: float) -> Any:
    from milpscore.penalties import EYE, Facets

    return EYE(lam, expert=expert(p) * 1.0) if model == "eye" else Facets(lam)


def path_table(report: Report, runs: list[dict[str, Any]]) -> None:
    """The paths and the target: nothing is compiled but at first and where a grid had to grow."""
    table = []
    for run in runs:
        keys = ("set", "model", "solver", "lams", "compilations", "growths", "build s",
                "first hand-over s", "median hand-over s", "solver wall s", "CPU s",
                "proximal path CPU s", "ratio")  # fmt: skip
        row = {key: run[key] for key in keys}
        table.append(row | {"worst difference": f"{run['worst difference']:.1e}"})
        wanted = 1 + run["growths"]
        report.target(
            f"{run['set']}, {run['model']}, {run['solver']}: compilations",
            f"1 and {run['growths']} growths" if run["growths"] else "1",
            str(run["compilations"]),
            run["compilations"] == wanted,
        )
    report.tables.append(
        (f"A path to lambda_max / 100 re-solved in place, proximal path at {PATH_TOL:g}", table)
    )


def _more(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)


def main() -> None:
    settings = arguments(__doc__ or "", _more)
    limit = settings.time_limit or 1800.0
    report = Report("Conic programs: ECOS beside the proximal path", settings)
    found, absent = present(settings.sets)
    report.note(*absent)
    quick = settings.quick
    cases: list[dict[str, Any]] = []
    for name in found[:2] if quick else found:
        for scaling in ("raw", "standardised"):
            cases += in_child(answers, name, scaling, LAMS, patience=limit)["rows"]
            agreed = sum(case["agree"] for case in cases)
            print(f"{name}, {scaling}: {agreed} of {len(cases)} so far", flush=True)
    runs = []
    for name in ("breastcancer",) if quick else ("breastcancer", "1000 x 200"):
        if name == "breastcancer" and name not in found:
            continue
        for model in ("eye", "facets"):
            for solver in ("ecos", "clarabel"):
                runs.append(
                    in_child(resolved, name, model, solver, 5 if quick else 30, patience=limit)
                )
                print(f"{name}, {model}, {solver}: {runs[-1]['CPU s']:.1f} s", flush=True)
    if cases:
        answers_tables(report, cases)
        if {"adult", "mushroom"} & set(found):
            report.note(
                f"adult and mushroom standardised: {MOST_DENSE} rows, each class in its share "
                f"(seed {SEED}); centred columns hold no zeros, and one ECOS solve of all rows "
                "took 24 to 112 s."
            )
    if runs:
        path_table(report, runs)
    report.records = [*cases, *runs]
    report.finish()


if __name__ == "__main__":
    main()
