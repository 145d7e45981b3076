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


@dataclass(frozen=True)
class ProblemPolicy:
    """Sizes and tolerances that algorithms share, measured by benchmarks/bench_prox.py.

    Attributes
    ----------
    cluster_rounds : int
        Rounds of a Newton step's model on clusters, at most.
    idle_rounds : int
        Rounds without a tenth nearer after which the next Newton step does the rest.
    cluster_sweeps : int
        Sweeps per round at first.
    most_sweeps : int
        Sweeps per round, at most.
    settled_share : float
        A round settles sizes to this share of what pulls clusters apart.
    together_share : float
        What is pulled apart by less than this share of the tolerance stays together.
    line_halvings : int
        Halvings of the line search on clusters.
    cluster_ridge : float
        Relative ridge of the clusters' Gram matrix.
    sparse_share : float
        Share of the columns up to which a product gathers them first.
    small_cells : int
        Cells above which a product with few columns gathers them first.
    dense_share : float
        A sparse matrix this full is quicker as an array.
    dense_cells : int
        Cells up to which it is made one.
    merged_share : float
        Merging is worth its time where at most this share of the rows remains.
    chunk_rows : int
        Rows merged at a time.
    glance_rows : int
        Rows that are merged first, to see whether it is worth its time.
    part_rows : int
        Rows of a sum at a time: they stay in the cache.
    intercept_steps : int
        Newton steps for the best intercept.
    intercept_tolerance : float
        Slope at which the intercept is the best one.
    intercept_fall : float
        Relative fall of the slope below which rounding has the last word.
    kept_bend : float
        A slope that falls to this share in a step leaves the second derivative as it is.
    shrunk_scale : float
        A dual point shrunk below this share proves nothing about a point that may be optimal all
        the same.
    sample_rows : int
        Rows of the sample, at most.
    sample_work : float
        Multiplications for one Gram matrix of the sample.
    sample_least : int
        Rows of the sample, at least.
    sample_gap : float
        Relative gap of the models on the sample.
    most_passes : int
        Passes over all rows, at most.
    most_looks : int
        Moments in a model's trace after which it is done.
    sure_share : float
        Share of the gap wanted that a step may still be expected to save when gaps are looked at.
    curvier : float
        Factor on the curvature after a step that did not lower the objective.
    """

    cluster_rounds: int = 200
    idle_rounds: int = 12
    cluster_sweeps: int = 40
    most_sweeps: int = 640
    settled_share: float = 0.001
    together_share: float = 0.05
    line_halvings: int = 10
    cluster_ridge: float = 1e-11
    sparse_share: float = 0.25
    small_cells: int = 20_000
    dense_share: float = 0.1
    dense_cells: int = 20_000_000
    merged_share: float = 0.8
    chunk_rows: int = 1 << 16
    glance_rows: int = 4096
    part_rows: int = 1 << 14
    intercept_steps: int = 100
    intercept_tolerance: float = 1e-13
    intercept_fall: float = 1e-15
    kept_bend: float = 1e-3
    shrunk_scale: float = 0.9
    sample_rows: int = 100_000
    sample_work: float = 2e9
    sample_least: int = 20_000
    sample_gap: float = 1e-4
    most_passes: int = 40
    most_looks: int = 5
    sure_share: float = 0.05
    curvier: float = 4.0


POLICY = ProblemPolicy()
"""What runs are tuned with; tests set another."""
