"""Certificates that can be re-proved from the data without the solver that made them."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)

PROOF_SECONDS = 600.0
"""Proving again takes as long as it takes: this guards against hanging."""
