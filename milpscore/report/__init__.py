"""One self-contained HTML page about a card: the card itself, its proof, and how it does."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)

BOOTSTRAPS = 100
"""Samples of the rows on which a card is made again unless told otherwise."""
