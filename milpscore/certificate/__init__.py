"""Certificates that can be re-proved from the data without the solver that made them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from milpscore._lazy import lazy_exports

if TYPE_CHECKING:
    from milpscore.certificate._certificate import Certificate
    from milpscore.certificate._certify import certify
    from milpscore.certificate._verify import Part, Verification, verify_certificate

__all__ = ["Certificate", "Part", "Verification", "certify", "verify_certificate"]

_EXPORTS = {
    "Certificate": "milpscore.certificate._certificate",
    "Part": "milpscore.certificate._verify",
    "Verification": "milpscore.certificate._verify",
    "certify": "milpscore.certificate._certify",
    "verify_certificate": "milpscore.certificate._verify",
}
__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
