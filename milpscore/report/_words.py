"""Signs of print, and names shortened."""

from __future__ import annotations

DASH = "\u2013"
"""Stands where there is no figure."""

MINUS = "\u2212"


def signed(text: str) -> str:
    """A figure with the minus sign of print, which lines up with digits."""
    return text.replace("-", MINUS)


def short(text: str, length: int = 24) -> str:
    """The beginning of a long label."""
    return text if len(text) <= length else text[: length - 1] + "…"
