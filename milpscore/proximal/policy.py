"""What the proximal algorithms are tuned with; tests set others."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class NewtonPolicy:
    """Proximal Newton steps, measured by bench_prox.py and the harsh cases of the tests."""

    # first-order steps for one model, and from the best of several candidates for it
    model_steps: int = 300
    mixed_steps: int = 30
    # residual of a model, as a share of the first, at which these steps end; directions that bend
    # by 1e6 or more apart take far more
    model_tol: float = 1e-2
    sweeps: int = 2000  # of coordinate descent on one model
    # distance to the subdifferential, as a share of that at the start, at which sweeps end
    coordinates_tol: float = 1e-6
    # Newton steps after which up to this number of coefficients are given to cones
    patience: int = 4
    few_coefficients: int = 100
    cone_tol: float = 1e-12  # of the cones' solver
    # share of the curvature: rounding must not make a semidefinite matrix indefinite
    ridge: float = 1e-13
    # share of the inverse curvature: step of a prox that only moves a point into the domain
    null_step: float = 1e-14
    # variables up to which an answer of cones is made exact, with this shift and refinements
    most_polished: int = 300
    polish_shift: float = 1e-10
    refinements: int = 10
    # the line search, which doubles a full step while that helps
    shortest_step: float = 1e-6
    longest_step: float = 1e6
    rise: float = 1e-13  # relative, that a full step near the optimum may take: its rounding
    progress: float = 1e-15  # relative fall of the objective below which a step is idle
    idle_steps: int = 3  # that end the run
    # least curvature of a row, as a share of its weight, tried in turn
    curvature_floors: tuple[float, ...] = (1e-13, 1e-9, 1e-6)
    flat: float = 1e-14  # curvature of a column, as a share of its rows', below which it is flat


@dataclass(frozen=True)
class WorkingSetPolicy:
    """The working set, measured by bench_l1_path.py."""

    gram_columns: int = 400  # up to which a Gram matrix is formed; beyond, kernels read the rows
    stale: float = 0.1  # relative change of curvatures up to which a Gram matrix is used again
    all_columns: int = 64  # up to which the working set is all of them
    fewest: int = 20  # columns of a working set
    fewest_sorted: int = 100  # columns that OWL's working set adds
    # OWL goes on by first-order steps beyond this number of columns in use, or with fewer than
    # ``early`` rows per column in use if many columns want to enter
    most_sorted: int = 8000
    early: int = 8
    inner_steps: int = 10  # Newton steps on one working set
    sweeps: int = 2000  # of coordinate descent on one model
    few_sweeps: int = 20  # before conjugate gradients are tried
    products: int = 100  # of these conjugate gradients
    curvature_floor: float = 1e-6  # least curvature of a row, as a share of its weight
    spare: float = 0.3  # share of the distance that would just do, to which a set is solved
    idle_looks: int = 5  # without a smaller objective, that end the run
    progress: float = 1e-15  # relative fall of the objective below which a look is idle


@dataclass(frozen=True)
class FirstOrderPolicy:
    """First-order steps and the choice of the algorithm, measured by bench_prox.py."""

    first_look: int = 4  # steps before the first look at the gap if a step length is known
    look_every: int = 10  # least number of steps between two looks
    last_steps: int = 200  # for the last digits after stalled Newton steps
    more_curvature: float = 2.0  # factor after a step that was too long
    less_curvature: float = 0.8  # factor after a restart
    # on many rows a fit to every such row gives the start, if it has at least this number of rows,
    # in all and per class; its gap
    sample_stride: int = 32
    sample_rows: int = 1 << 14
    sample_per_class: int = 100
    sample_tol: float = 1e-3
    rounding: float = 1e-9  # share of the mean loss below which differences are not trusted
    slack: float = 1e-3  # relative, of the parabola above the loss
    steepest: float = 1e300  # curvature
    # Newton steps are quicker up to this number of coefficients, to fewer if the penalty is not a
    # norm or counts for every class, and up to these multiplications of a Gram matrix
    newton_columns: int = 500
    newton_few: int = 150
    newton_work: float = 1e10
    most_pairs: int = 50_000_000  # of bins to count for a Gram matrix; beyond, FISTA is quicker


@dataclass(frozen=True)
class ProblemPolicy:
    """Sizes and tolerances that algorithms share, measured by bench_prox.py."""

    # a Newton step's model on OWL's clusters: its rounds, at most, and those without a tenth nearer
    # after which the next Newton step does the rest; sweeps per round, at first and at most
    cluster_rounds: int = 200
    idle_rounds: int = 12
    cluster_sweeps: int = 40
    most_sweeps: int = 640
    settled_share: float = 0.001  # a round settles sizes to this share of what pulls them apart
    together_share: float = 0.05  # of the tolerance: what pulls less leaves a cluster together
    line_halvings: int = 10  # of the line search on clusters
    cluster_ridge: float = 1e-11  # relative, of the clusters' Gram matrix
    # a product gathers the columns first above these cells, up to this share of the columns
    small_cells: int = 20_000
    sparse_share: float = 0.25
    # a sparse matrix this full, up to these cells, is quicker as an array
    dense_share: float = 0.1
    dense_cells: int = 20_000_000
    # merging is worth its time if at most this share of the rows remains; rows compared at a time,
    # and rows looked at first
    merged_share: float = 0.8
    chunk_rows: int = 1 << 16
    glance_rows: int = 4096
    part_rows: int = 1 << 14  # rows of a sum at a time: they stay in the cache
    # Newton's method for the best intercept: the slope at which it ends, relative; the relative
    # fall below which rounding has the last word; a slope that falls to ``kept_bend`` in a step
    # leaves the second derivative as it is
    intercept_steps: int = 100
    intercept_tolerance: float = 1e-13
    intercept_fall: float = 1e-15
    kept_bend: float = 1e-3
    # a dual point shrunk below this proves nothing about a point that may be optimal all the same
    shrunk_scale: float = 0.9
    # out of core: rows of the sample, multiplications for its Gram matrix, gap of its models
    sample_rows: int = 100_000
    sample_work: float = 2e9
    sample_least: int = 20_000
    sample_gap: float = 1e-4
    most_passes: int = 40  # over all rows
    most_looks: int = 5  # at the gap of a model, after which it is done
    sure_share: float = 0.05  # of the gap wanted: looked at if a step may save no more than this
    curvier: float = 4.0  # factor on the curvature after a step that did not lower the objective


POLICY = ProblemPolicy()
