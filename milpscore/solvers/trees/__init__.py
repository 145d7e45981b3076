"""Tree searches for integer cards: a statement in, a card and a bound out.

Under smooth convex losses (``risk``) every node is a box of whole coefficients with some features
in, some out and the rest undecided. Its relaxation gives each undecided feature the convex envelope
of what it costs at its whole points, terms included, and shares out the limit on terms by one
multiplier: the convex hull of the node's cards, a perspective where there is a squared penalty.
Newton's method solves it on rows merged by the few active columns. Each of its points gives a line
below the loss; the least of the line over the node's cards is a bound, whatever the point, and what
would raise that bound to the best card is dropped (features, signs, points, intercepts). Nodes are
split at 0 of the undecided feature that moves scores most, then at the most fractional coordinate,
the intercept among them. Where columns have two values, all supports are looked at in turns with
the boxes (``supports``): the cells of a support say what no card on it avoids, whatever its scale,
and what they leave is searched by boxes on that support alone. The 0-1 loss has a search of its own
(``zero_one``), over supports and then weights: supports by size, bounded by their cells, or, where
these are too many, supports with signs, bounded by pairs of rows that only some signs put in order
(``orders``).

References
----------
Ustun & Rudin, "Learning optimized risk scores" (2019): the problem, and tangents of its loss as
bounds. Frangioni & Gentile, "Perspective cuts for a class of convex 0-1 mixed integer programs"
(2006): the envelope.
"""
