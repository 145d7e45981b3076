"""A card that can be questioned: edited by hand, held to wishes, each of which has a proved price.

The state is plain Python (:class:`Desk`), what is known and asked stands in ``questions``; the page
(``server``), the search in a process of its own (``worker``) and the notebook's widget are thin.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
