"""A strict reader of HTML pages, and the contrast of colours, for tests of the report."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

VOID = {"meta", "input", "br", "hr", "img", "link"}
BLOCKS = {"p", "div", "table", "section", "figure", "h1", "h2", "h3", "details", "dl", "ul"}
LOADING = {"src", "href", "srcset", "data", "action", "poster", "xlink:href"}


class Page(HTMLParser):
    """Everything a page says about itself; problems are kept as sentences.

    Attributes
    ----------
    problems : list of str
    text : str
        What is read, scripts and styles left out.
    tables : mapping from caption to its rows of cells
    """

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.problems: list[str] = []
        self.words: list[str] = []
        self.ids: list[str] = []
        self.references: list[str] = []
        self.headings: list[int] = []
        self.scripts: dict[str, str] = {}
        self.tables: dict[str, list[list[str]]] = {}
        self.svgs = 0
        self._open: list[tuple[str, dict[str, Any]]] = []
        self._table: dict[str, Any] | None = None
        self.feed(html)
        self.close()
        self._finish(html)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.words))

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self._begin(tag, attrs)
        if tag not in VOID:
            self._open.append((tag, dict(attrs)))

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self._begin(tag, attrs)
        if not any(name == "svg" for name, _ in self._open):
            self.problems.append(f"<{tag}/> closes itself outside a drawing")

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open[-1][0] != tag:
            self.problems.append(f"</{tag}> closes {self._open[-1:]}")
            return
        self._open.pop()
        if tag == "table":
            table = self._table or {}
            if not table.get("caption"):
                self.problems.append("a table without a caption")
            self.tables[table.get("caption", "")] = table.get("rows", [])
            self._table = None

    def handle_data(self, data: str) -> None:
        data = data.replace("\u00a0", " ")
        inside = [name for name, _ in self._open]
        if inside and inside[-1] in ("script", "style"):
            key = self._open[-1][1].get("id", inside[-1])
            self.scripts[key] = self.scripts.get(key, "") + data
            return
        self.words.append(data)
        if self._table is not None:
            if "caption" in inside:
                self._table["caption"] = self._table.get("caption", "") + data
            elif inside[-1:] and ("td" in inside or "th" in inside):
                self._table["rows"][-1][-1] += data

    def _begin(self, tag: str, attrs: Any) -> None:
        found = dict(attrs)
        if len(found) != len(attrs):
            self.problems.append(f"<{tag}> gives an attribute twice")
        if tag in BLOCKS and any(name == "p" for name, _ in self._open):
            self.problems.append(f"<{tag}> inside a paragraph")
        if "id" in found:
            self.ids.append(found["id"])
        for name in ("aria-labelledby", "aria-describedby", "for"):
            self.references += (found.get(name) or "").split()
        # "#part" leads to a part of the page itself
        loading = [(k, v) for k, v in attrs if k in LOADING and not (v or "").startswith("#")]
        self.problems += [f"<{tag}> loads {k}={v}" for k, v in loading]
        self.problems += [f"<{tag}> has the handler {k}" for k, _ in attrs if k.startswith("on")]
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag in ("svg", "img"):
            self.svgs += 1
            if found.get("role") != "img" or not found.get("aria-labelledby"):
                self.problems.append("a picture without a name")
        if tag == "table":
            self._table = {"rows": []}
        if self._table is not None and tag == "tr":
            self._table["rows"].append([])
        if self._table is not None and tag in ("td", "th"):
            self._table["rows"][-1].append("")
            if tag == "th" and "scope" not in found:
                self.problems.append("a head of a table without a scope")

    def _finish(self, html: str) -> None:
        if self._open:
            self.problems.append(f"never closed: {[tag for tag, _ in self._open]}")
        twice = {each for each in self.ids if self.ids.count(each) > 1}
        missing = set(self.references) - set(self.ids)
        self.problems += [f"the id {each} is used twice" for each in sorted(twice)]
        self.problems += [f"nothing has the id {each}" for each in sorted(missing)]
        if self.headings[:1] != [1] or self.headings.count(1) != 1:
            self.problems.append("the page needs one h1, first")
        steps = zip(self.headings, self.headings[1:], strict=False)
        if any(after - before > 1 for before, after in steps):
            self.problems.append(f"headings leave out a level: {self.headings}")
        if not re.match(r'<!DOCTYPE html>\s*<html lang="en">', html):
            self.problems.append("the page names no language")
        for word in ("http://", "https://", r"url\((?!#)", "@import"):
            if re.search(word, html):
                self.problems.append(f"the page holds {word}")


def contrast(one: str, other: str) -> float:
    """WCAG's contrast of two colours written #rrggbb."""

    def luminance(colour: str) -> float:
        parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        red, green, blue = (
            v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in parts
        )
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)
