"""The trainers, by name; adding one is a new file and one line here."""

from __future__ import annotations

from collections.abc import Callable

from milpscore.core.errors import OptionError
from milpscore.sequence._data import SequenceData
from milpscore.sequence._lbfgs import train_lbfgs
from milpscore.sequence._owlqn import train_owlqn
from milpscore.sequence._prepared import Prepared
from milpscore.sequence._sbcd import train_sbcd
from milpscore.sequence._sgd import train_sgd
from milpscore.sequence._trace import TrainOptions, TrainResult

Trainer = Callable[[SequenceData | Prepared, TrainOptions], TrainResult]

TRAINERS: dict[str, Trainer] = {
    "lbfgs": train_lbfgs,
    "owlqn": train_owlqn,
    "sbcd": train_sbcd,
    "sgd": train_sgd,
}


def trainer(name: str) -> Trainer:
    """The trainer called ``name``; hyphens count for nothing.

    Raises
    ------
    OptionError
        There is none; the message lists those there are.
    """
    key = name.lower().replace("-", "").replace("_", "")
    if key not in TRAINERS:
        raise OptionError(f"no trainer {name!r}; there are {', '.join(sorted(TRAINERS))}")
    return TRAINERS[key]
