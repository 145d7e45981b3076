"""Integer scoring systems with certificates: exact programs beside their relaxations.

Everything below is imported when first used, so ``import milpscore`` costs next to nothing.
"""

import lazy_loader as lazy

from milpscore._version import __version__

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
__all__ += ["__version__"]
