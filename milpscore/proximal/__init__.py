"""Penalised linear models by proximal algorithms: single fits, paths and grids, with gaps."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
