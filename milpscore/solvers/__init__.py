"""Solvers: HiGHS for LP and MILP. A solver knows no formulation."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
