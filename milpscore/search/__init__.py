"""What improves a card: single changes, descents, starts from a path, and fast risk scores."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
