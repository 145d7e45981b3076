"""Many solves asked for in one file, kept in a file of results, resumable; how fast they were."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
