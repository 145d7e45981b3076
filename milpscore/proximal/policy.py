"""What the proximal algorithms are tuned with."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class NewtonPolicy:
    """What proximal Newton steps are tuned with, measured by bench_prox.py and the harsh cases.

    Attributes
    ----------
    model_steps : int
        First-order steps for one model.
    mixed_steps : int
        First-order steps from the best of several candidates for a model.
    model_tol : float
        Residual of a model, as a share of the first, at which these steps end; directions that
        bend by 1e6 or more apart take far more.
    sweeps : int
        Sweeps of coordinate descent on one model.
    coordinates_tol : float
        Distance to the subdifferential, as a share of that at the start, at which sweeps end.
    saved : float
        Share of the mean loss that a sweep inside a box must save to go on.
    patience : int
        Newton steps after which few coefficients are given to cones.
    few_coefficients : int
        How many are few.
    cone_tol : float
        Tolerance of the cones.
    ridge : float
        Ridge, as a share of the curvature: rounding must not make a semidefinite matrix
        indefinite.
    null_step : float
        Step, as a share of the inverse curvature, of a prox that only moves a point into the
        domain.
    most_polished : int
        Variables up to which an answer of cones is made exact.
    polish_shift : float
        Shift of the polished system.
    refinements : int
        Refinements of its solution.
    shortest_step : float
        Shortest step of the line search.
    longest_step : float
        Longest step of the line search, which doubles a full step while that helps.
    rise : float
        Relative rise that a full step near the optimum may take: its rounding.
    progress : float
        Relative fall of the objective below which a step is idle.
    idle_steps : int
        Idle steps that end the run.
    curvature_floors : tuple[float, ...]
        Least curvature of a row, as a share of its weight, tried in turn.
    flat : float
        Curvature of a column, as a share of its rows', below which it is flat.
    """

    model_steps: int = 300
    mixed_steps: int = 30
    model_tol: float = 1e-2
    sweeps: int = 2000
    coordinates_tol: float = 1e-6
    saved: float = 1e-24
    patience: int = 4
    few_coefficients: int = 100
    cone_tol: float = 1e-12
    ridge: float = 1e-13
    null_step: float = 1e-14
    most_polished: int = 300
    polish_shift: float = 1e-10
    refinements: int = 10
    shortest_step: float = 1e-6
    longest_step: float = 1e6
    rise: float = 1e-13
    progress: float = 1e-15
    idle_steps: int = 3
    curvature_floors: tuple[float, ...] = (1e-13, 1e-9, 1e-6)
    flat: float = 1e-14


@dataclass(frozen=True)
class WorkingSetPolicy:
    """What the working set is tuned with, measured by bench_l1_path.py.

    Attributes
    ----------
    stale : float
        Relative change of curvatures up to which a Gram matrix is used again.
    all_columns : int
        Columns up to which the working set is all of them.
    fewest : int
        Least size of a working set.
    fewest_sorted : int
        Least number of columns that OWL's working set adds.
    most_sorted : int
        Columns in use beyond which OWL goes on by first-order steps.
    early : int
        Rows per column in use below which OWL goes on by first-order steps if many columns want to
        enter.
    inner_steps : int
        Newton steps on one working set.
    sweeps : int
        Sweeps of coordinate descent on one model.
    few_sweeps : int
        Sweeps before conjugate gradients are tried.
    products : int
        Products of these conjugate gradients.
    curvature_floor : float
        Least curvature of a row, as a share of its weight.
    spare : float
        Share of the distance that would just do, to which a working set is solved.
    idle_looks : int
        Looks without a smaller objective that end the run.
    progress : float
        Relative fall of the objective below which a look is idle.
    """

    stale: float = 0.1
    all_columns: int = 64
    fewest: int = 20
    fewest_sorted: int = 100
    most_sorted: int = 8000
    early: int = 8
    inner_steps: int = 10
    sweeps: int = 2000
    few_sweeps: int = 20
    products: int = 100
    curvature_floor: float = 1e-6
    spare: float = 0.3
    idle_looks: int = 5
    progress: float = 1e-15


@dataclass(frozen=True)
class FirstOrderPolicy:
    """What first-order steps, and the choice of the algorithm, are tuned with (bench_prox.py).

    Attributes
    ----------
    first_look : int
        Steps before the first look at the gap if a step length is known.
    look_every : int
        Least number of steps between two looks.
    last_steps : int
        Steps for the last digits after stalled Newton steps.
    more_curvature : float
        Factor of the curvature after a step that was too long.
    less_curvature : float
        Factor of the curvature after a restart.
    sample_stride : int
        A fit to every such row gives the start on many rows.
    sample_rows : int
        Least number of rows of such a fit.
    sample_per_class : int
        Least number of rows per class of such a fit.
    sample_tol : float
        Gap of such a fit.
    rounding : float
        Share of the mean loss below which differences of losses are not trusted.
    slack : float
        Relative slack of the parabola above the loss.
    steepest : float
        Largest curvature.
    newton_columns : int
        Coefficients up to which Newton steps are the quicker.
    newton_few : int
        The same if the penalty is not a norm, or counts for every class.
    newton_work : float
        Multiplications of a Gram matrix up to which Newton steps are the quicker.
    most_pairs : int
        Pairs of bins to count for a Gram matrix of a binned design, beyond which FISTA is quicker.
    """

    first_look: int = 4
    look_every: int = 10
    last_steps: int = 200
    more_curvature: float = 2.0
    less_curvature: float = 0.8
    sample_stride: int = 32
    sample_rows: int = 1 << 14
    sample_per_class: int = 100
    sample_tol: float = 1e-3
    rounding: float = 1e-9
    slack: float = 1e-3
    steepest: float = 1e300
    newton_columns: int = 500
    newton_few: int = 150
    newton_work: float = 1e10
    most_pairs: int = 50_000_000
