"""Studies and experiments of many solves, kept in a file of results and resumable."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
