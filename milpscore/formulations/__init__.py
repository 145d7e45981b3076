"""Pyomo for LP and MILP, CVXPY for cones. A formulation knows no solver."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
