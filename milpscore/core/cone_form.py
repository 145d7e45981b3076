"""The standard conic form of a CVXPY problem: compiled once, handed to any solver, written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from milpscore.core.design import FloatArray
from milpscore.core.errors import FormulationError

# CVXPY compiles for a solver it knows; Clarabel is always installed, and without its quadratic
# objective the form is the plain one that every conic solver reads.
_TARGET = "CLARABEL"
_OPTIONS = {"use_quad_obj": False}


@dataclass(frozen=True, eq=False)
class ConeForm:
    """min c.x + offset with A x + s = b and s in a product of cones.

    Attributes
    ----------
    c : ndarray of shape (q,)
    offset : float
    A : sparse matrix of shape (m, q)
    b : ndarray of shape (m,)
    zero, nonneg : int
        Rows of the zero cone, then rows of the non-negative one.
    soc : tuple of int
        Sizes of the second-order cones {(t, v): ||v||_2 <= t} that follow.
    exp : int
        Number of exponential cones, closure of {(x, y, z): y > 0, y exp(x / y) <= z}, the last.
    chain, inverse : objects of CVXPY
        The way back from x to the problem's variables.
    """

    c: FloatArray
    offset: float
    A: Any
    b: FloatArray
    zero: int
    nonneg: int
    soc: tuple[int, ...]
    exp: int
    chain: Any
    inverse: Any

    @property
    def exp_start(self) -> int:
        """The first row of the exponential cones."""
        return self.zero + self.nonneg + sum(self.soc)

    def residuals(self, x: FloatArray, z: FloatArray) -> dict[str, float]:
        """Relative residuals and both objectives of x, shape (q,), and duals z, shape (m,).

        Returns
        -------
        dict
            ``primal``: how far b - A x lies outside the cones, over 1 + max |b|. ``dual``: the
            larger of max |c + A'z| over 1 + max |c| and how far z lies outside the dual cones.
            ``primal_objective``, ``dual_objective``.
        """
        outside = cone_distance(self, self.b - self.A @ x)
        slope = float(np.abs(self.c + self.A.T @ z).max(initial=0.0))
        return {
            "primal": outside / (1.0 + float(np.abs(self.b).max(initial=0.0))),
            "dual": max(
                slope / (1.0 + float(np.abs(self.c).max(initial=0.0))),
                cone_distance(self, z, dual=True) / (1.0 + float(np.abs(z).max(initial=0.0))),
            ),
            "primal_objective": float(self.c @ x) + self.offset,
            "dual_objective": -float(self.b @ z) + self.offset,
        }

    def dual_bound(self, x: FloatArray, z: FloatArray) -> float:
        """The dual objective, lowered by what its residual can be worth at the point found.

        For x in the feasible set c.x >= -b.z + (c + A'z).x: exact only up to the size of x.
        """
        slope = np.abs(self.c + self.A.T @ z)
        return -float(self.b @ z) + self.offset - float(slope @ np.abs(x))


def compiled(model: Any) -> ConeForm:
    """The standard form of a cvxpy.Problem; where only Parameters changed it is not recompiled.

    Raises
    ------
    FormulationError
        Where the problem is not convex by CVXPY's rules, or needs other cones.
    """
    import cvxpy as cp

    try:
        data, chain, inverse = model.get_problem_data(_TARGET, solver_opts=_OPTIONS)
    except (cp.error.DCPError, cp.error.DPPError, cp.error.ParameterError) as error:
        first = " ".join(str(error).split())[:300]
        raise FormulationError(
            f"CVXPY does not accept the problem as it stands: {first}; state what you added by "
            "its rules for convex problems (https://dcp.stanford.edu)"
        ) from error
    dims = data["dims"]
    if dims.psd or dims.p3d or dims.pnd:
        raise FormulationError(
            "a constraint needs semidefinite or power cones, which are not supported: use norms, "
            "squares, exp and log"
        )
    offset = float(np.ravel(inverse[-1]["offset"])[0])
    return ConeForm(
        c=np.asarray(data["c"], dtype=np.float64),
        offset=offset,
        A=sparse.csc_matrix(data["A"]),
        b=np.asarray(data["b"], dtype=np.float64).ravel(),
        zero=int(dims.zero),
        nonneg=int(dims.nonneg),
        soc=tuple(int(size) for size in dims.soc),
        exp=int(dims.exp),
        chain=chain,
        inverse=inverse,
    )


def load_values(model: Any, form: ConeForm, x: FloatArray, z: FloatArray, objective: float) -> None:
    """Put x, shape (q,), and duals z, shape (m,), back into the problem; c.x is ``objective``."""
    from types import SimpleNamespace

    answer = SimpleNamespace(
        status="Solved", x=x, z=z, obj_val=objective, solve_time=0.0, iterations=0
    )
    model.unpack_results(answer, form.chain, form.inverse)


def cone_distance(form: ConeForm, s: FloatArray, *, dual: bool = False) -> float:
    """The largest violation of cone membership in s, shape (m,); of the dual cones for ``dual``."""
    worst = 0.0
    at = form.zero
    if not dual:
        worst = float(np.abs(s[:at]).max(initial=0.0))
    worst = max(worst, float((-s[at : at + form.nonneg]).max(initial=0.0)))
    at += form.nonneg
    for size in form.soc:
        part = s[at : at + size]
        worst = max(worst, float(np.linalg.norm(part[1:]) - part[0]))
        at += size
    triples = s[form.exp_start :].reshape(-1, 3)
    if len(triples):
        worst = max(worst, float(_exp_violation(triples, dual).max()))
    return worst


def _exp_violation(triples: FloatArray, dual: bool) -> FloatArray:
    """How far each row is outside the exponential cone, or outside its dual cone.

    The dual cone is the closure of {(u, v, w): u < 0, -u exp(v / u - 1) <= w}.
    """
    x, y, z = triples.T
    scale, power, shift = (-x, y, -1.0) if dual else (y, x, 0.0)
    curved = scale > 0
    divisor = np.where(curved, -scale if dual else scale, 1.0)
    with np.errstate(over="ignore"):
        above = scale * np.exp(np.minimum(power / divisor + shift, 700.0)) - z
    # on the face where the scale is 0 the power may not lift
    lift = -y if dual else x
    face = np.maximum.reduce([-scale, lift, -z])
    return np.asarray(np.maximum(np.where(curved, above, face), 0.0))


def write_cbf(form: ConeForm, path: Path) -> None:
    """Write the Conic Benchmark Format: rows b - A x in cones, exponential cones reversed.

    CBF's exponential cone is {(t, s, r): t >= s exp(r / s), s >= 0}: the entries of ours backwards.
    """
    order = np.arange(len(form.b))
    tail = order[form.exp_start :].reshape(-1, 3)[:, ::-1].ravel()
    order = np.concatenate([order[: form.exp_start], tail])
    rows = (-form.A).tocsr()[order].tocoo()
    cones = [("L=", form.zero), ("L+", form.nonneg)]
    cones += [("Q", size) for size in form.soc] + [("EXP", 3)] * form.exp
    cones = [(name, size) for name, size in cones if size]
    costs, shifts = np.flatnonzero(form.c), np.flatnonzero(form.b[order])
    lines = ["VER", "3", "", "OBJSENSE", "MIN", ""]
    lines += ["VAR", f"{len(form.c)} 1", f"F {len(form.c)}", ""]
    lines += ["CON", f"{len(order)} {len(cones)}"]
    lines += [f"{name} {size}" for name, size in cones] + [""]
    lines += ["OBJACOORD", str(len(costs))]
    lines += [f"{j} {value!r}" for j, value in zip(costs, form.c[costs].tolist(), strict=True)]
    lines += ["", "OBJBCOORD", repr(form.offset), "", "ACOORD", str(rows.nnz)]
    entries = sorted(zip(rows.row.tolist(), rows.col.tolist(), rows.data.tolist(), strict=True))
    lines += [f"{i} {j} {value!r}" for i, j, value in entries]
    lines += ["", "BCOORD", str(len(shifts))]
    values = form.b[order][shifts].tolist()
    lines += [f"{i} {value!r}" for i, value in zip(shifts, values, strict=True)]
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
