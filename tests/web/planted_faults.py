"""Plants faults in the parts of the templates, and draws pages again from the values of real requests."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import jinja2
import pytest
from running_web import Web

from app.web import pages, parts

TEMPLATES = pages.HERE / "templates"
_TAG = re.compile(r'\{%-? part "([^"]+)"(?: instead="(\w+)")?[^%]*%\}')


@dataclass(frozen=True)
class Part:
    """A part of a template, by its place among all parts of all templates."""

    template: str
    name: str
    instead: str

    @property
    def placeholder(self) -> str:
        """The text that stands in its place."""
        return (
            str(parts.PLACEHOLDERS["text"])
            if self.instead == "text"
            else str(jinja2.utils.markupsafe.escape(parts.SENTENCE.format(self.name)))
        )


PARTS = [
    Part(path.name, tag[1], tag[2] or "block")
    for path in sorted(TEMPLATES.glob("*.html"))
    for tag in _TAG.finditer(path.read_text())
]


@dataclass
class Plants:
    """A function that each part calls first. It fails in the part that is chosen."""

    chosen: int | None = None
    # The parts that are being drawn, the outermost first.
    open: list[int | None] = field(default_factory=list)
    texts: dict[int, list[str]] = field(default_factory=lambda: defaultdict(list))
    around: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))

    def __call__(self, number: int) -> str:
        self.open[-1] = number
        self.around[number] |= {one for one in self.open[:-1] if one is not None}
        if number == self.chosen:
            raise ZeroDivisionError("planted")
        return ""

    def draw_part(self, *some: Any, **named: Any) -> Any:
        """Draws a part, and notes its text."""
        self.open.append(None)
        text = _DRAW_PART(*some, **named)
        number = self.open.pop()
        # A part whose value fails does not come to its call.
        if number is not None:
            self.texts[number].append(str(text))
        return text


_DRAW_PART = parts.draw_part


def environment(plants: Plants) -> jinja2.Environment:
    """The environment of the templates, with a call of `plants` in each part."""
    made = pages.environment.__wrapped__()
    numbers = dict.fromkeys(TEMPLATES.glob("*.html"), 0)
    count = 0
    for path in sorted(numbers):
        numbers[path], count = count, count + len(_TAG.findall(path.read_text()))

    def load(name: str) -> str:
        following = iter(range(numbers[TEMPLATES / name], len(PARTS)))
        return _TAG.sub(
            lambda tag: f"{tag[0]}{{{{ planted({next(following)}) }}}}", (TEMPLATES / name).read_text()
        )

    made.loader = jinja2.FunctionLoader(load)
    made.globals["planted"] = plants
    return made


@dataclass(frozen=True)
class Drawn:
    """A page that was drawn: its template, and the values."""

    path: str
    template: str
    values: dict[str, Any]


def drawn_pages(web: Web, paths: list[str], *, planned: str) -> list[Drawn]:
    """The pages at these addresses, and the plan of a text. Their lazy values are computed."""
    found: list[Drawn] = []
    render = jinja2.Template.render
    with pytest.MonkeyPatch.context() as patch:

        def keep(template: jinja2.Template, **values: Any) -> str:
            found.append(Drawn(path, str(template.name), values))
            return render(template, **values)

        patch.setattr(jinja2.Template, "render", keep)
        for path in [*paths, "/plan"]:
            form = {"text": planned}
            answer = web.client.post(path, data=form) if path == "/plan" else web.client.get(path)
            assert answer.status_code == 200, path
            assert 'class="broken"' not in answer.text, path
    return found


class Faults:
    """Draws pages with a fault in one part."""

    def __init__(self, drawn: list[Drawn]) -> None:
        self.drawn = drawn
        self.plants = Plants()
        self._environment = environment(self.plants)
        # The texts of the parts of each page.
        self.whole = [self.draw(page, None)[1] for page in drawn]

    def draw(self, page: Drawn, number: int | None, **changed: object) -> tuple[str, dict[int, list[str]]]:
        """A page and the texts of its parts. The part with this number fails."""
        self.plants.chosen = number
        self.plants.texts = defaultdict(list)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(parts, "draw_part", self.plants.draw_part)
            template = self._environment.get_template(page.template)
            return template.render(**{**page.values, **changed}), self.plants.texts

    def page_with(self, number: int) -> tuple[Drawn, dict[int, list[str]]]:
        """The page on which a part has the longest text, and the texts of all its parts."""
        having = [at for at, texts in enumerate(self.whole) if number in texts]
        assert having, "no page of this test draws this part"
        longest = max(having, key=lambda at: max(map(len, self.whole[at][number])))
        return self.drawn[longest], self.whole[longest]
