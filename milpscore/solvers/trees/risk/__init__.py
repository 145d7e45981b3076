"""The tree search under smooth convex losses.

The life of one node, a box of whole coefficients with features in, out and undecided::

    root --> Relaxation.solve: a line below the loss, its least value over the box is the bound
      |
      v                   +---------------------------------------------------------+
    open nodes (heap by bound; a stack, depth first, once memory is used up)        |
      |  OpenNodes.take: the lowest bound                                           |
      |-- bound >= cutoff: closed (the best card has improved since)                |
      |-- Relaxation.tighten: closed if the line rules out every card below cutoff, |
      |   else features, signs, points and intercepts leave the box                 |
      |-- Cards.round: a card near the relaxation; a better one lowers the cutoff   |
      |-- split: by slope, undecided feature, fractional coefficient or intercept   |
      |     each part --> RiskTree.consider: rules, room for terms, own relaxation    |
      |         bound >= cutoff: closed                                             |
      |         else: kept -------------------------------------------------------->+
      '-- nothing to split: RiskTree._finish, one card is left, and it is verified

``tree`` runs it, ``relaxation`` bounds a node with the kernels of ``hulls``, ``heuristics`` rounds
to cards. If columns have two values, ``support_bounds`` enumerates supports in turns with the
boxes; limits on errors are priced by ``limit_prices`` and bounded per support by ``side_bounds``.
"""
