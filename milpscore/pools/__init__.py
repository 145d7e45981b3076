"""Not one card but many: all that are nearly optimal, and the best one of every size.

References
----------
Fisher, Rudin & Dominici, "All models are wrong, but many are useful" (2019): the ranges of a
variable's importance over all good models. Semenova, Rudin & Parr, "On the existence of simpler
machine learning models" (2022): the set of models within epsilon of the best.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)

BOOTSTRAPS = 100
"""Default number of samples of the rows on which a model is made again."""
