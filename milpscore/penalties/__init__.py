"""Penalties of the coefficients: value, prox, conjugate, subdifferential; sets and cards too."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
