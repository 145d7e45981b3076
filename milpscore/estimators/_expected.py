"""The checks of scikit-learn's ``check_estimator`` that fail for a reason, by estimator."""

from __future__ import annotations

EXPECTED_FAILED_CHECKS: dict[str, dict[str, str]] = {}
"""Estimator name -> check name -> reason, as ``expected_failed_checks=`` takes it.

Every estimator not listed passes every check.
"""
