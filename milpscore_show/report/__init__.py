"""One self-contained HTML page about a card: the card itself, its proof, and how it does."""

import lazy_loader as lazy

from milpscore.pools import BOOTSTRAPS as BOOTSTRAPS

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
