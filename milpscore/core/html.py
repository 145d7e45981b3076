"""What a notebook shows of a program and of a result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

_LEFT = ' style="text-align: left"'
_RIGHT = ' style="text-align: right"'


def summary_box(caption: str, figures: Mapping[str, str], below: Sequence[str]) -> str:
    """A captioned table of names and values with HTML below it; the values are escaped."""
    body = "\n".join(
        f'<tr><th scope="row"{_LEFT}>{escape(name)}</th><td{_RIGHT}>{escape(value)}</td></tr>'
        for name, value in figures.items()
    )
    return (
        f'<div class="milpscore-summary">\n<table>\n<caption{_LEFT}>{escape(caption)}</caption>\n'
        f"<tbody>\n{body}\n</tbody>\n</table>\n{chr(10).join(below)}\n</div>"
    )
