"""Doors to the siblings, which import the heart and not the other way round."""

from importlib import import_module
from typing import Any

_DOORS = {
    "instances": "milpscore_study.instances",
    "plots": "milpscore_show.plots",
    "report": "milpscore_show.report",
    "sequence": "milpscore_sequence",
    "studio": "milpscore_show.studio",
    "study": "milpscore_study",
}


def __getattr__(name: str) -> Any:
    if name not in _DOORS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(_DOORS[name])
    return module.studio if name == "studio" else module
