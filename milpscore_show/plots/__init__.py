"""Figures: a comparison, a path, a grid of Facets models, a pool, penalties, a calibration.

Each function takes an Axes and gives it back; those that draw several take and give a Figure.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
