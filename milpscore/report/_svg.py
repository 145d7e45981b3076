"""Small charts as SVG text: axes, lines, areas, marks; labelled for readers without sight."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape

import numpy as np
import numpy.typing as npt

from milpscore.report._words import signed

WIDTH, HEIGHT = 460, 330
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 22, 14, 48

INK, FAINT, BLUE, ORANGE = "#1a1a1a", "#d9d9d9", "#0072B2", "#B34700"
"""Blue and orange are told apart with every common form of colour blindness, and in grey."""


@dataclass(frozen=True)
class Axis:
    """One axis.

    Attributes
    ----------
    low, high : float
        Its ends, low < high.
    label : str
    ticks : tuple of (value, text)
    log : bool
    """

    low: float
    high: float
    label: str
    ticks: tuple[tuple[float, str], ...]
    log: bool = False

    def share(self, values: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Where values lie between the ends, 0 to 1; those outside are put on the ends."""
        given = np.asarray(values, dtype=np.float64)
        if self.log:
            low, high = math.log(self.low), math.log(self.high)
            found = (np.log(np.maximum(given, self.low)) - low) / (high - low)
        else:
            found = (given - self.low) / (self.high - self.low)
        return np.clip(found, 0.0, 1.0)


def linear(
    low: float, high: float, label: str, *, percent: bool = False, whole: bool = False
) -> Axis:
    """An axis with round ticks between two values.

    Parameters
    ----------
    low, high : float
    label : str
    percent : bool
        Shares, written in per cent.
    whole : bool
        Only whole ticks.
    """
    if not high > low:
        low, high = low - 1.0, high + 1.0
    rough = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(k * power for k in (1, 2, 5, 10) if k * power >= rough * (1 - 1e-9))
    step = max(step, 1.0) if whole else step
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    values = [k * step for k in range(first, last + 1)]
    ticks = tuple((v, signed(f"{v:.0%}" if percent else f"{v + 0.0:.10g}")) for v in values)
    return Axis(low, high, label, ticks)


def logarithmic(low: float, high: float, label: str) -> Axis:
    """An axis in equal factors, with ticks at 1, 2 and 5 times powers of ten."""
    high = max(high, 2.0 * low)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    marks = (1,) if len(powers) > 4 else (1, 2, 5)
    values = [k * 10.0**power for power in powers for k in marks]
    ticks = tuple((v, f"{v:.6g}") for v in values if low * (1 - 1e-9) <= v <= high * (1 + 1e-9))
    return Axis(low, high, label, ticks, log=True)


@dataclass
class Chart:
    """A chart under construction; every part is added on top of the earlier ones.

    Attributes
    ----------
    key : str
        Unique on the page: the ids of its parts begin with it.
    title, description : str
        Plain text for readers without sight.
    x, y : Axis
    """

    key: str
    title: str
    description: str
    x: Axis
    y: Axis
    parts: list[str] = field(default_factory=list)

    def across(self, values: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Positions on the picture from the left."""
        return _LEFT + self.x.share(values) * (WIDTH - _LEFT - _RIGHT)

    def down(self, values: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Positions on the picture from the top."""
        return HEIGHT - _BOTTOM - self.y.share(values) * (HEIGHT - _TOP - _BOTTOM)

    def line(
        self,
        x: npt.ArrayLike,
        y: npt.ArrayLike,
        colour: str = INK,
        width: float = 2.0,
        dash: str = "",
    ) -> None:
        """Straight lines through points."""
        style = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(
            f'<polyline points="{_points(self.across(x), self.down(y))}" fill="none" '
            f'stroke="{colour}" stroke-width="{width:g}" stroke-linejoin="round"{style}/>'
        )

    def band(
        self, x: npt.ArrayLike, lower: npt.ArrayLike, upper: npt.ArrayLike, colour: str = BLUE
    ) -> None:
        """A shaded area between two lines."""
        there, back = self.across(x), self.across(x)[::-1]
        around = np.r_[there, back], np.r_[self.down(upper), self.down(lower)[::-1]]
        self.parts.append(
            f'<polygon points="{_points(*around)}" fill="{colour}" fill-opacity="0.16"/>'
        )

    def bars(
        self,
        left: npt.ArrayLike,
        right: npt.ArrayLike,
        heights: npt.ArrayLike,
        colour: str,
        *,
        hollow: bool = False,
    ) -> None:
        """Bars from zero; hollow ones are told from full ones in black and white."""
        start, end = self.across(left), self.across(right)
        zero, top = float(self.down(0.0)), self.down(heights)
        inset = 0.08 * (end - start)
        paint = (
            f'fill="#ffffff" stroke="{colour}" stroke-width="1.5"' if hollow else f'fill="{colour}"'
        )
        for a, b, h in zip(start + inset, end - inset, top, strict=True):
            if abs(h - zero) > 1e-6:
                self.parts.append(
                    f'<rect x="{a:.1f}" y="{min(h, zero):.1f}" width="{max(b - a, 0.5):.1f}" '
                    f'height="{abs(h - zero):.1f}" {paint}/>'
                )

    def whiskers(self, x: npt.ArrayLike, lower: npt.ArrayLike, upper: npt.ArrayLike) -> None:
        """Upright lines, for intervals."""
        for a, low, high in zip(self.across(x), self.down(lower), self.down(upper), strict=True):
            self.parts.append(
                f'<path d="M{a:.1f} {low:.1f}V{high:.1f}M{a - 3:.1f} {low:.1f}h6M{a - 3:.1f} '
                f'{high:.1f}h6" stroke="#6b6b6b" fill="none"/>'
            )

    def dots(
        self, x: npt.ArrayLike, y: npt.ArrayLike, radius: npt.ArrayLike, colour: str, name: str = ""
    ) -> None:
        """Round marks; a single one can have a name by which a script finds it."""
        size = np.broadcast_to(np.asarray(radius, dtype=np.float64), np.shape(np.atleast_1d(x)))
        known = f' id="{self.key}-{name}"' if name else ""
        for a, b, r in zip(
            np.atleast_1d(self.across(x)), np.atleast_1d(self.down(y)), size, strict=True
        ):
            self.parts.append(
                f'<circle{known} cx="{a:.1f}" cy="{b:.1f}" r="{r:.1f}" fill="{colour}" '
                f'stroke="#ffffff"/>'
            )

    def rule(self, value: float, name: str = "") -> None:
        """A dashed upright line over the whole height."""
        at = float(self.across(value))
        known = f' id="{self.key}-{name}"' if name else ""
        self.parts.append(
            f'<line{known} x1="{at:.1f}" x2="{at:.1f}" y1="{_TOP}" y2="{HEIGHT - _BOTTOM}" '
            f'stroke="{INK}" stroke-width="1.5" stroke-dasharray="4 3"/>'
        )

    def note(self, x: float, y: float, text: str, anchor: str = "start") -> None:
        """Words at a place of the picture."""
        self.parts.append(
            f'<text x="{float(self.across(x)):.1f}" y="{float(self.down(y)):.1f}" '
            f'text-anchor="{anchor}">{escape(text)}</text>'
        )

    def svg(self) -> str:
        """The chart as one ``svg`` element."""
        title, description = f"{self.key}-title", f"{self.key}-desc"
        return (
            f'<svg id="{self.key}" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
            f'aria-labelledby="{title} {description}">\n<title id="{title}">{escape(self.title)}'
            f'</title>\n<desc id="{description}">{escape(self.description)}</desc>\n'
            + "\n".join([*self._frame(), *self.parts])
            + "\n</svg>"
        )

    def _frame(self) -> Iterable[str]:
        """Grid lines, ticks and labels."""
        base = HEIGHT - _BOTTOM
        for value, text in self.y.ticks:
            at = float(self.down(value))
            yield (
                f'<line x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{at:.1f}" y2="{at:.1f}" '
                f'stroke="{FAINT}"/>'
            )
            yield f'<text x="{_LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{escape(text)}</text>'
        yield f'<line x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{base}" y2="{base}" stroke="{INK}"/>'
        for value, text in self.x.ticks:
            at = float(self.across(value))
            yield f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{base}" y2="{base + 4}" stroke="{INK}"/>'
            yield (f'<text x="{at:.1f}" y="{base + 17}" text-anchor="middle">{escape(text)}</text>')
        middle = (_LEFT + WIDTH - _RIGHT) / 2
        yield (
            f'<text x="{middle:.1f}" y="{HEIGHT - 8}" text-anchor="middle">'
            f"{escape(self.x.label)}</text>"
        )
        height = (_TOP + base) / 2
        yield (
            f'<text x="13" y="{height:.1f}" text-anchor="middle" '
            f'transform="rotate(-90 13 {height:.1f})">{escape(self.y.label)}</text>'
        )


def _points(
    x: Sequence[float] | npt.NDArray[np.float64], y: Sequence[float] | npt.NDArray[np.float64]
) -> str:
    """Points as SVG writes them; those that fall together stand once."""
    written = [f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True)]
    kept = [point for point, last in zip(written, ["", *written], strict=False) if point != last]
    return " ".join(kept)
