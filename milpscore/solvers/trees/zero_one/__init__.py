"""The tree search under the 0-1 loss: over supports, then over the weights of what is left.

``rows`` merges the rows of a problem, ``support_bounds`` orders supports by what their cells cannot
avoid, ``pair_bounds`` bounds supports with signs by pairs of rows if there are too many of the
former, ``weight_walk`` goes through the weights of one support, ``descent`` improves cards, and
``tree`` takes turns among them.
"""
