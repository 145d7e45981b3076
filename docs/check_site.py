"""Every link inside the built site leads somewhere, and no page is empty: ``make docs-check``."""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class _Page(HTMLParser):
    """The links and anchors of a page, and its pictures without words."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.wordless: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        if named.get("id"):
            self.anchors.add(str(named["id"]))
        link = named.get("href") if tag in ("a", "link") else named.get("src")
        if link:
            self.links.append(link)
        if tag == "img" and not named.get("alt"):
            self.wordless.append(str(named.get("src")))


def read_pages(root: Path) -> dict[Path, _Page]:
    """Every page of the site."""
    pages = {}
    for path in sorted(root.rglob("*.html")):
        page = _Page()
        page.feed(path.read_text(encoding="utf-8"))
        pages[path.resolve()] = page
    return pages


def broken(pages: dict[Path, _Page]) -> list[str]:
    """Links to a file or an anchor that is not there, in words."""
    found = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.exists():
                found.append(f"{path.name}: {link} leads nowhere")
                continue
            anchors = pages[target].anchors if target in pages else {parts.fragment}
            if parts.fragment and unquote(parts.fragment) not in anchors:
                found.append(f"{path.name}: {link} names an anchor that is not there")
        found += [f"{path.name}: picture {name} has no words" for name in page.wordless]
    return found


def main() -> int:
    """1 where something is broken."""
    pages = read_pages(Path(sys.argv[1]))
    found = broken(pages)
    for line in found:
        sys.stdout.write(line + "\n")
    links = sum(len(page.links) for page in pages.values())
    sys.stdout.write(f"{len(pages)} pages, {links} links, {len(found)} broken\n")
    return 1 if found or not pages else 0


if __name__ == "__main__":
    sys.exit(main())
