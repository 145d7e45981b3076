"""Tables that lay answers side by side: formulations, and the realisations of one statement."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
