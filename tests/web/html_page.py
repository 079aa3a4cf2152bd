"""Reads a page as strictly as a reviewer would: closed tags, labels, headings, and nothing inline."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import pairwise

VOID = {"meta", "link", "input", "br", "hr", "img"}
# Allowed beginnings of our links; `https://` is for the issue's.
ADDRESSES = ("/", "#", "https://", "http://", "?")


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    text: str = ""
    inside: list[str] = field(default_factory=list)


class Page(HTMLParser):
    """The elements of a page. Raises AssertionError for tags that aren't closed in order."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[Element] = []
        self._open: list[Element] = []
        self.feed(source)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs), f"an attribute twice in {tag}"
        element = Element(
            tag, {name: value or "" for name, value in attrs}, inside=[one.tag for one in self._open]
        )
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self._open, f"</{tag}> without its start"
        assert self._open[-1].tag == tag, f"</{tag}> closes <{self._open[-1].tag}>"
        self._open.pop()

    def handle_data(self, data: str) -> None:
        for element in self._open:
            element.text += data

    def all(self, tag: str, **attributes: str) -> list[Element]:
        return [
            one for one in self.elements if one.tag == tag and attributes.items() <= one.attributes.items()
        ]

    def one(self, tag: str, **attributes: str) -> Element:
        [found] = self.all(tag, **attributes)
        return found

    @property
    def text(self) -> str:
        return self.one("body").text


def faults(source: str) -> Iterator[str]:
    """The faults of a page: forbidden parts and missing ones."""
    page = Page(source)
    for element in page.elements:
        yield from (
            f"{element.tag} {name}" for name in element.attributes if name.startswith("on") or name == "style"
        )
        if element.tag == "style" or (
            element.tag == "script" and (not element.attributes.get("src") or element.text.strip())
        ):
            yield f"inline {element.tag}"
        for name in ("href", "src", "action"):
            address = element.attributes.get(name, "/")
            if not address.startswith(ADDRESSES) or (name != "href" and not address.startswith("/")):
                yield f"{element.tag} {name}={address[:60]}"
        if element.tag == "th" and "scope" not in element.attributes:
            yield "th without scope"
    ids = [element.attributes["id"] for element in page.elements if "id" in element.attributes]
    yield from {f"id {name} twice" for name in ids if ids.count(name) > 1}
    yield from _unlabelled(page)
    levels = [int(one.tag[1]) for one in page.elements if one.tag in {"h1", "h2", "h3", "h4"}]
    if (
        levels.count(1) != 1
        or levels[0] != 1
        or any(after > before + 1 for before, after in pairwise(levels))
    ):
        yield f"headings {levels}"
    # A picture has titles of its own.
    [title] = [one for one in page.all("title") if "svg" not in one.inside]
    if page.one("html").attributes.get("lang") != "en" or not title.text.strip():
        yield "no language or title"


def _unlabelled(page: Page) -> Iterator[str]:
    labels = {one.attributes.get("for") for one in page.all("label")}
    known = {one.attributes.get("id") for one in page.elements}
    for element in page.elements:
        if element.tag in {"input", "textarea", "select"} and not (
            element.attributes.get("type") == "hidden"
            or element.attributes.get("id") in labels
            or "label" in element.inside
            or element.attributes.get("aria-label")
        ):
            yield f"{element.tag} {element.attributes.get('name')} without a label"
        for name in ("aria-describedby", "for"):
            if not set(element.attributes.get(name, "").split()) <= known:
                yield f"{element.tag} {name} points nowhere"
        if element.tag in {"a", "button"} and not (
            element.text.strip() or element.attributes.get("aria-label")
        ):
            yield f"{element.tag} without words"
