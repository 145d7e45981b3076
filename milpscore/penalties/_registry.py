"""The penalties that have a prox, by name; adding one is a new file and one line here."""

from __future__ import annotations

from importlib import import_module

from milpscore.core.errors import OptionError

PENALTIES: dict[str, str] = {
    "adaptive_l1": "milpscore.penalties._adaptive_l1",
    "alpha_facets": "milpscore.penalties._alpha_facets",
    "binarsity": "milpscore.penalties._binarsity",
    "box": "milpscore.penalties._box",
    "elastic_net": "milpscore.penalties._elastic_net",
    "eye": "milpscore.penalties._eye",
    "facets": "milpscore.penalties._facets",
    "group_l1": "milpscore.penalties._group_l1",
    "l1": "milpscore.penalties._l1",
    "l2": "milpscore.penalties._l2",
    "naive_credibility": "milpscore.penalties._naive_credibility",
    "owl": "milpscore.penalties._owl",
    "scf": "milpscore.penalties._strongly_convex_facets",
    "sparse_hull": "milpscore.penalties._sparse_hull",
    "weighted_l1": "milpscore.penalties._weighted_l1",
    "weighted_l2": "milpscore.penalties._weighted_l2",
    "weighted_tv": "milpscore.penalties._weighted_tv",
}


def penalty_class(name: str) -> type:
    """The class of the penalty called ``name``; hyphens count as underscores.

    Raises
    ------
    OptionError
        Where there is none; the message lists those there are.
    """
    key = name.replace("-", "_")
    if key not in PENALTIES:
        raise OptionError(f"no penalty {name!r}; there are {', '.join(sorted(PENALTIES))}")
    module = import_module(PENALTIES[key])
    (found,) = (
        thing
        for thing in vars(module).values()
        if isinstance(thing, type) and thing.__module__ == module.__name__
    )
    return found
