"""Measures of a linear model in floating point: size, integrity, losses, accuracy, credibility.

Everything here is for looking and comparing. What a certificate rests on is recomputed exactly by
:mod:`milpscore.verify`.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
