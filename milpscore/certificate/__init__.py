"""Certificates that can be re-proved from the data without the solver that made them."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)

PROOF_SECONDS = 600.0
"""Growing evidence, and proving again, take as long as they take: this guards against hanging."""
