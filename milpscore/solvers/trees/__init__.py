"""Tree searches for integer cards: a statement in, a card and a bound out.

Under smooth convex losses (``risk``) every node is a box of whole coefficients with some features
in, some out and the rest undecided. Its relaxation gives each undecided feature the convex envelope
of what it costs at its whole points, terms included, and shares out the limit on terms by one
multiplier: the convex hull of the node's cards, a perspective where there is a squared penalty.
Each point of Newton's method on it gives a line below the loss, whose least value over the node's
cards is a bound. Where columns have two values, supports are enumerated in turns with the boxes:
their cells say what no card avoids at any scale. The 0-1 loss (``zero_one``) is searched
over supports, bounded by cells or by pairs of rows, and then over weights.

References
----------
Ustun & Rudin, "Learning optimized risk scores" (2019): the problem, and tangents of its loss as
bounds. Frangioni & Gentile, "Perspective cuts for a class of convex 0-1 mixed integer programs"
(2006): the envelope.
"""
