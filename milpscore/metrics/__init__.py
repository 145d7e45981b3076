"""Measures of a linear model in floating point, for looking and comparing; verify recomputes."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
