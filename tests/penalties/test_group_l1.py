"""The group lasso: single columns are the lasso, equal columns share."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")


from milpscore.core.errors import OptionError
from milpscore.penalties import L1, GroupL1
from milpscore.proximal import fit_proximal


def test_group_lasso_of_single_columns_is_the_lasso_and_equal_columns_share() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = (X[:, 0] + 0.5 * rng.normal(size=80) > 0).astype(int)
    single = fit_proximal(X, y, penalty=GroupL1(0.05, blocks=((0,), (1,), (2,))), tol=1e-10)
    lasso = fit_proximal(X, y, penalty=L1(0.05), tol=1e-10)
    np.testing.assert_allclose(single.coefficients, lasso.coefficients, atol=1e-5)
    twins = np.column_stack([X[:, 0], X[:, 0], X[:, 1]])
    pair = fit_proximal(twins, y, penalty=GroupL1(0.05, blocks=((0, 1), (2,))), tol=1e-10)
    assert pair.coefficients[0] == pytest.approx(pair.coefficients[1], abs=1e-5)
    assert pair.coefficients[0] > 0


def test_group_lasso_refuses_blocks_and_weights_that_do_not_fit() -> None:
    with pytest.raises(OptionError, match="exactly once"):
        GroupL1(1.0, blocks=((0, 1), (1, 2)))
    with pytest.raises(OptionError, match="2 blocks"):
        GroupL1(1.0, blocks=((0, 1), (2,)), weights=[1.0])
    with pytest.raises(OptionError, match="> 0"):
        GroupL1(1.0, blocks=((0, 1), (2,)), weights=[1.0, 0.0])
