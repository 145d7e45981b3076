"""Penalties of the coefficients, one a file."""

from milpscore.penalties._block_tv import BlockTV
from milpscore.penalties._l0 import L0
from milpscore.penalties._l1 import L1

__all__ = ["L0", "L1", "BlockTV"]
