"""Losses of the score s = w.x + b, one a file."""

from milpscore.losses._hinge import Hinge
from milpscore.losses._zero_one import ZeroOne

__all__ = ["Hinge", "ZeroOne"]
