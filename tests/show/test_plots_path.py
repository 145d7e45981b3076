"""Figures of paths, grids and penalties show the numbers they are given."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

import matplotlib.pyplot as plt

from milpscore.core.errors import NotApplicableError, OptionError
from milpscore.penalties import EYE, L1, Facets, StronglyConvexFacets
from milpscore.proximal import FacetsGrid, ProximalPath, facets_grid, path
from milpscore_show import plots


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    plt.close("all")


def data(n: int = 80) -> tuple[Any, Any]:
    random = np.random.default_rng(0)
    X = random.integers(0, 5, size=(n, 4)).astype(float)
    return X, (X @ [1.0, -0.5, 0.0, 0.2] + random.normal(0, 1, n) > 1).astype(int)


@pytest.fixture(scope="module")
def lasso() -> ProximalPath:
    return path(*data(), penalty=L1, n_lams=6)


@pytest.fixture(scope="module")
def grid() -> FacetsGrid:
    return facets_grid(*data(), n_alpha=5, n_gamma=4, cv=2, random_state=0)


def test_a_path_draws_every_used_column_over_its_lams(lasso: ProximalPath) -> None:
    _, ax = plt.subplots()
    assert plots.regularisation_path(lasso, ax, names=list("abcd"), unit=0.25) is ax
    drawn = {line.get_label(): line for line in ax.lines}
    used = np.flatnonzero(np.abs(lasso.coefficients).max(axis=0))
    assert {"abcd"[j] for j in used} <= set(drawn)
    for j in used:
        assert np.array_equal(drawn["abcd"[j]].get_ydata(), lasso.coefficients[:, j])
        assert np.array_equal(drawn["abcd"[j]].get_xdata(), lasso.lams)
    # the penalty weakens to the right, and the ticks are the grid's levels
    assert ax.get_xscale() == "log"
    assert ax.get_xlim() == (lasso.lams[0], lasso.lams[-1])
    assert np.allclose(ax.get_yticks() / 0.25, np.rint(ax.get_yticks() / 0.25))
    assert {text.get_text() for text in ax.texts} == {"abcd"[j] for j in used}


def test_smaller_columns_of_a_path_are_grey_and_counted(lasso: ProximalPath) -> None:
    ax = plots.regularisation_path(lasso, max_labels=1)
    used = np.flatnonzero(np.abs(lasso.coefficients).max(axis=0))
    largest = int(np.abs(lasso.coefficients).max(axis=0).argmax())
    assert [text.get_text() for text in ax.texts] == [f"column {largest + 1}"]
    assert f"{len(used) - 1} smaller columns in grey" in ax.get_xlabel()


def test_the_labels_of_a_path_do_not_overlap(lasso: ProximalPath) -> None:
    w = np.tile(np.linspace(0, 1, 6)[:, None], (1, 9)) * (1 + 1e-4 * np.arange(9))
    close: Any = SimpleNamespace(coefficients=w, lams=lasso.lams)
    ax = plots.regularisation_path(close)
    heights = np.sort([text.xyann[1] for text in ax.texts])  # type: ignore[attr-defined]
    low, high = ax.get_ylim()
    assert np.diff(heights).min() >= 0.04 * (high - low)


def test_a_path_that_ends_at_zero_has_no_logarithm() -> None:
    found = path(*data(), penalty=L1, lams=[0.1, 0.0])
    assert plots.regularisation_path(found).get_xscale() == "linear"


def test_a_path_refuses_what_it_cannot_draw(lasso: ProximalPath) -> None:
    with pytest.raises(OptionError, match="2 names for 4 columns"):
        plots.regularisation_path(lasso, names=["a", "b"])
    cube: Any = SimpleNamespace(coefficients=np.zeros((2, 3, 4)), lams=np.array([1.0, 0.1]))
    with pytest.raises(NotApplicableError, match="one class"):
        plots.regularisation_path(cube)


def test_three_heat_maps_hold_the_grid(grid: FacetsGrid) -> None:
    figure = plots.facets_heat_maps(grid)
    panels = [ax for ax in figure.axes if ax.get_title(loc="left")]
    assert [ax.get_title(loc="left").split(":")[0] for ax in panels] == [
        "CV accuracy", "Integrity", "Terms",
    ]  # fmt: skip
    null = grid.heat_map("null") > 0
    assert 0 < null.sum() < null.size
    for ax, measure in zip(panels, ("cv_accuracy", "integrity", "terms"), strict=True):
        shown = np.ma.asarray(ax.collections[0].get_array()).reshape(grid.heat_map("null").shape)
        assert np.array_equal(np.ma.getmaskarray(shown), null)
        assert np.array_equal(shown.data[~null], grid.heat_map(measure)[~null])
        assert ax.get_xscale() == ax.get_yscale() == "log"


def test_the_cells_of_a_heat_map_lie_around_the_axes_points(grid: FacetsGrid) -> None:
    ax = plots.heat_map(grid, "magnitude")
    corners = ax.collections[0].get_coordinates()  # type: ignore[attr-defined]
    for edges, points in ((corners[0, :, 0], grid.gammas), (corners[:, 0, 1], grid.alphas)):
        assert len(edges) == len(points) + 1
        assert np.allclose(np.sqrt(edges[1:] * edges[:-1]), points)


def test_a_heat_map_needs_its_measure() -> None:
    single = facets_grid(*data(), alphas=[0.01], gammas=[0.5])
    figure = plots.facets_heat_maps(single, measures=["loss"])
    assert figure.axes[0].get_title(loc="left") == "Training loss"
    with pytest.raises(NotApplicableError, match="pass cv="):
        plots.heat_map(single, "cv_auc")


def test_prox_curves_minimise_what_they_are_defined_by() -> None:
    step = 0.7
    drawn = {"scf": StronglyConvexFacets(1.0, eps=0.1), "facets": Facets(2.0, gamma=0.5)}
    ax = plots.prox_curves(drawn, step=step, limit=3)
    lines = {line.get_label(): line for line in ax.lines}
    z = np.linspace(-3, 3, 6001)
    for label, penalty in drawn.items():
        costs = np.array([step * penalty.value(np.array([v])) for v in z])
        x, y = np.asarray(lines[label].get_xdata()), np.asarray(lines[label].get_ydata())
        for k in range(0, len(x), 250):
            assert abs(z[np.argmin((z - x[k]) ** 2 / 2 + costs)] - y[k]) < 2e-3


def test_the_default_prox_curves_are_the_papers() -> None:
    ax = plots.prox_curves()
    lines = {line.get_label(): line for line in ax.lines}
    assert {"Facets", "L1", "L2"} <= set(lines)
    x, facets = lines["Facets"].get_xdata(), lines["Facets"].get_ydata()
    # a plateau of width mu = 1 at 1, from 1 + mu to 1 + 2 mu, then 45 degrees
    at = {value: facets[int(np.argmin(np.abs(np.asarray(x) - value)))] for value in (2, 3, 4)}
    assert at == pytest.approx({2: 1, 3: 1, 4: 2}, abs=0.01)


def test_prox_curves_refuse_what_has_none() -> None:
    with pytest.raises(NotApplicableError, match="level_sets"):
        plots.prox_curves({"eye": EYE(1.0, expert=[1.0])})
    with pytest.raises(OptionError, match="limit"):
        plots.prox_curves(limit=0)


def test_level_sets_lie_where_the_penalty_has_their_value() -> None:
    eye = EYE(1.0, expert=[1.0, 0.0])
    figure = plots.level_sets({"EYE": eye, "lasso": L1(1.0)})
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["EYE", "lasso"]
    for ax, penalty in zip(figure.axes, (eye, L1(1.0)), strict=True):
        thin, thick = ax.collections
        for contours in (thin, thick):
            for level, outline in zip(contours.levels, contours.get_paths(), strict=True):  # type: ignore[attr-defined]
                corners = outline.vertices[np.abs(outline.vertices).max(axis=1) > 0.3]
                found = [penalty.value(corner) for corner in corners]
                assert np.allclose(found, level, rtol=0.02)
        assert thick.levels == [penalty.value(np.array([1.0, 0.0]))]  # type: ignore[attr-defined]


def test_the_default_level_sets() -> None:
    titles = [ax.get_title(loc="left") for ax in plots.level_sets().axes]
    assert [title.split(",")[0] for title in titles] == ["Facets", "EYE", "naive"]
    with pytest.raises(OptionError, match="limit"):
        plots.level_sets(limit=-1)
