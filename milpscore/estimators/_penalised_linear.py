"""Penalised linear estimators for any penalty with a prox."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

from milpscore.core.design import FloatArray
from milpscore.core.errors import OptionError
from milpscore.core.terms import ProxPenalty, SmoothLoss
from milpscore.data import Binner
from milpscore.estimators._penalised import PenalisedModel
from milpscore.estimators._penalised_cv import PenalisedClassifierCVBase
from milpscore.estimators._penalised_tasks import PenalisedClassifierBase, PenalisedRegressorBase
from milpscore.penalties import penalty_class
from milpscore.proximal._fit import Algorithm
from milpscore.proximal._path import Maker, as_maker

_LAM = 0.01


class _AnyPenalty(PenalisedModel):
    """The meaning of ``penalty`` and ``lam``."""

    penalty: Any

    def _maker(self, design: Any, weight: FloatArray) -> Maker:
        given = "l1" if self.penalty is None else self.penalty
        if isinstance(given, str):
            return _named(given)
        if self.lam is None and not isinstance(given, type):
            return _Itself(given)
        return as_maker(given)

    def _weight(self) -> Any:
        return _LAM if self.lam is None else self.lam

    def along_path(self, *data: Any, **options: Any) -> Any:
        """As :meth:`PenalisedModel.along_path`; the path varies the penalty's lam."""
        if self.lam is None:
            # what matters is only that the penalty's own weight is not meant
            return self._with_lam().along_path(*data, **options)
        return super().along_path(*data, **options)
