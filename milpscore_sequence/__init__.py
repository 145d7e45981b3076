"""Labels of sequences: sparse linear-chain conditional random fields with the elastic net."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
