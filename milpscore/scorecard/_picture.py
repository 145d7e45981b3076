"""A card as a picture: the form drawn by matplotlib, for PNG, SVG and PDF."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from milpscore.core.errors import OptionError
from milpscore.core.writing import printable
from milpscore.scorecard.rendering import HEADER, decision_words, notes, risk_bars

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from milpscore.scorecard._card import Scorecard


class _Colours(NamedTuple):
    """A page's colours; ``bar`` is of totals answered positive, ``pale`` of the others."""

    paper: str
    ink: str
    grey: str
    line: str
    bar: str
    pale: str


STYLE: Any = {"svg.fonttype": "path", "svg.hashsalt": "milpscore", "pdf.fonttype": 42}


class _Page:
    """Drawings collected from the top down, as heights are known only at the end.

    Lengths are points of 1/72 inch.
    """

    width, left, right = 518.0, 28.0, 490.0  # the margins are as wide as the left one
    column, gap = 46.0, 14.0  # the boxes to fill in, and what is left free between columns
    tallest = 200 * 72.0  # a picture of a longer card is refused

    def __init__(self, colours: _Colours) -> None:
        self.colours, self.y = colours, self.left
        self._drawn: list[Callable[[Figure, float], None]] = []

    def text(
        self, x: float, words: str, size: float, colour: str = "", bold: bool = False,
        align: str = "left",
    ) -> None:  # fmt: skip
        """Words whose baseline is the current height; a dollar sign is not mathematics."""
        at, weight = self.y, "bold" if bold else "normal"
        style: dict[str, Any] = {"color": colour or self.colours.ink, "ha": align, "va": "baseline"}
        style |= {"fontsize": size, "fontweight": weight}

        def draw(figure: Figure, height: float) -> None:
            figure.text(x / self.width, 1 - at / height, words, parse_math=False, **style)

        self._drawn.append(draw)

    def box(
        self, x: float, y: float, width: float, height: float, *, fill: str = "none",
        edge: str = "none", line: float = 0.0,
    ) -> None:  # fmt: skip
        """A rectangle; a flat one is a rule."""
        from matplotlib.patches import Rectangle

        style: dict[str, Any] = {"linewidth": line, "snap": True}
        style |= {"facecolor": fill, "edgecolor": edge}

        def draw(figure: Figure, tall: float) -> None:
            corner, wide = (x / self.width, 1 - (y + height) / tall), width / self.width
            artist = Rectangle(corner, wide, height / tall, transform=figure.transFigure, **style)
            figure.add_artist(artist)

        self._drawn.append(draw)

    def rule(self, y: float, inked: bool = False) -> None:
        """Draw a line across the page, a hairline unless ``inked``."""
        colour, width = (self.colours.ink, 1.3) if inked else (self.colours.line, 0.7)
        self.box(self.left, y, self.right - self.left, width, fill=colour)

    def figure(self) -> Figure:
        """The page, as high as it was written."""
        from matplotlib.figure import Figure

        height = self.y + self.left
        figure = Figure(figsize=(self.width / 72, height / 72), facecolor=self.colours.paper)
        for draw in self._drawn:
            draw(figure, height)
        return figure


def card_figure(card: Scorecard, theme: str = "light") -> Figure:
    """The card as a figure; see :meth:`milpscore.Scorecard.figure`."""
    themes = {
        "light": _Colours("#ffffff", "#1a1a1a", "#595959", "#d0d0d0", "#0072B2", "#a9cbe0"),
        "dark": _Colours("#16181c", "#f0f0f0", "#b4b8be", "#4a4e55", "#6cb8e6", "#34536a"),
    }
    if theme not in themes:
        raise OptionError(f"unknown theme {theme!r}; choose one of {sorted(themes)}")
    from matplotlib import rc_context

    with rc_context(STYLE):
        page = _Page(themes[theme])
        page.y += 8
        for line in _wrapped(printable(card.title), page.right - page.left, 15, bold=True):
            page.text(page.left, line, 15, bold=True)
            page.y += 19
        page.y += 6
        _draw_lines(page, card)
        _draw_decision(page, card)
        if card.risk_lines:
            _draw_risks(page, card)
        page.y += 4
        for sentence in notes(card):
            for line in _wrapped(sentence, page.right - page.left, 8):
                page.text(page.left, line, 8, page.colours.grey)
                page.y += 11
            page.y += 2.5
        page.y -= 14
        if page.y > page.tallest:
            raise OptionError(
                f"the card has {sum(map(len, card.rows))} lines, too many for a picture: use "
                "to_html() or to_text()"
            )
        return page.figure()


def _draw_lines(page: _Page, card: Scorecard) -> None:
    """The table of points with a box beside every line, and the box for the total."""
    box = page.right - page.column
    points = box - page.gap
    rows = [row for group in card.rows for row in group]
    # the value column is as wide as it must be, and at most two fifths of the page
    whole = page.right - page.left
    widest = max((_width(row.condition, 10.5) for row in rows), default=0.0)
    wide = min(max(widest, 60.0), 0.4 * whole)
    named = max((_width(row.feature, 10.5, bold=True) for row in rows), default=0.0)
    value = min(page.left + max(named + 2 * page.gap, 0.42 * whole), points - 44 - wide)
    for x, head, align in zip(
        (page.left, value, points), HEADER, ("left", "left", "right"), strict=True
    ):
        page.text(x, head, 9, page.colours.grey, align=align)
    page.text(box + page.column / 2, "Yours", 9, page.colours.grey, align="center")
    page.y += 6
    page.rule(page.y, inked=True)
    for group in card.rows:
        names = _wrapped(group[0].feature, value - page.left - page.gap, 10.5, bold=True)
        floor = page.y + 21 + 13.5 * (len(names) - 1)
        for k, row in enumerate(group):
            texts = _wrapped(row.condition, wide, 10.5)
            page.y += 15
            if k == 0:
                for n, name in enumerate(names):
                    page.y += 13.5 * n
                    page.text(page.left, name, 10.5, bold=True)
                    page.y -= 13.5 * n
            page.text(points, row.points_text, 11, bold=True, align="right")
            page.box(box, page.y - 11.5, page.column, 14.5, edge=page.colours.grey, line=0.7)
            for text in texts:
                page.text(value, text, 10.5)
                page.y += 13.5
            page.y -= 7.5
        page.y = max(page.y, floor)
        page.rule(page.y)
    if not card.rows:
        page.y += 15
        page.text(page.left, "No variable has points.", 10.5)
        page.y += 6
        page.rule(page.y)
    page.y += 20
    page.text(points, "Total", 12, bold=True, align="right")
    page.box(box, page.y - 14, page.column, 20, edge=page.colours.ink, line=1.4)
    page.y += 16


def _draw_decision(page: _Page, card: Scorecard) -> None:
    """The decision between two rules, the answers bold."""
    page.rule(page.y, inked=True)
    page.y += 18
    words = [
        (word, bold) for part, bold in decision_words(card) for word in re.findall(r"\S+| ", part)
    ]
    x, space = page.left, _width("a a", 11.5) - 2 * _width("a", 11.5)
    for word, bold in words:
        if word == " ":
            x += space
            continue
        width = _width(word, 11.5, bold)
        if x > page.left and x + width > page.right:
            x, page.y = page.left, page.y + 15
        page.text(x, word, 11.5, bold=bold)
        x += width + 0.8 * bold  # bold letters are drawn a little wider than they are said to be
    page.y += 9
    page.rule(page.y, inked=True)
    page.y += 14


def _draw_risks(page: _Page, card: Scorecard) -> None:
    """Every total with its risk and a bar as high as it, in bands across the page."""
    lines = [
        (f"{name} (%)", [cell.replace("%", "") for cell in cells])
        if any("%" in cell for cell in cells)
        else (name, cells)
        for name, *cells in card.risk_lines
    ]
    heights, answers = risk_bars(card)
    label = max(_width(name, 8) for name, _ in lines) + page.gap
    wide = max(_width(cell, 8, bold=True) for _, cells in lines for cell in cells) + 9
    fits = max(int((page.right - page.left - label) // wide), 1)
    for band in np.array_split(np.arange(len(heights)), math.ceil(len(heights) / fits)):
        step = min((page.right - page.left - label) / len(band), 60.0)
        centres = page.left + label + (np.arange(len(band)) + 0.5) * step
        page.y += 34
        for x, k in zip(centres.tolist(), band, strict=True):
            tall = max(30 * heights[k], 0.7)
            fill = page.colours.bar if answers[k] else page.colours.pale
            page.box(x - 0.32 * step, page.y - tall, 0.64 * step, tall, fill=fill)
        page.rule(page.y)
        page.y += 13
        for name, cells in lines:
            page.text(page.left, name, 8, page.colours.grey)
            for x, k in zip(centres.tolist(), band, strict=True):
                page.text(x, cells[k], 8, bold=name == "Total", align="center")
            page.y += 12.5
        page.y += 4
    page.y += 6


@cache
def _font(bold: bool) -> Any:
    """The page's font."""
    from matplotlib.font_manager import FontProperties

    return FontProperties(weight="bold" if bold else "normal")


def _width(text: str, size: float, bold: bool = False) -> float:
    """How wide a text is."""
    from matplotlib.textpath import text_to_path

    font = _font(bold).copy()
    font.set_size(size)
    return float(text_to_path.get_text_width_height_descent(text, font, ismath=False)[0])


def _wrapped(text: str, width: float, size: float, bold: bool = False) -> list[str]:
    """The text in lines no wider than ``width``; a longer word is broken."""
    lines, line = [], ""
    for word in text.split(" "):
        if line and _width(f"{line} {word}", size, bold) <= width:
            line = f"{line} {word}"
            continue
        lines += [line] if line else []
        line = word
        while _width(line, size, bold) > width and len(line) > 1:
            fits = max(int(len(line) * width / _width(line, size, bold)), 1)
            while fits > 1 and _width(line[:fits], size, bold) > width:
                fits -= 1
            lines.append(line[:fits])
            line = line[fits:]
    return [*lines, line]
