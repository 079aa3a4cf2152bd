"""No page weighs more than 100 kB before images, in the largest states.

A page counts as sent, without compression, with its style sheets and scripts. Text that a reader typed into a
form does not count.
"""

from __future__ import annotations

import re
from collections import Counter
from urllib.parse import urljoin

from html_page import Page, faults
from running_web import Web
from starlette.routing import Route
from weight_data import HEAVY, fill

from app.main import create_app
from app.web.pages import page

HEAVIEST = 100_000
# Pages of one address that are looked at by following links; the heaviest are given.
OF_EACH = 4
_ID = re.compile(r"[0-9a-hjkmnp-tv-z]{26}")


def brought(web: Web, source: str) -> int:
    """The bytes of the style sheets and scripts of a page."""
    page = Page(source)
    paths = [one.attributes["href"] for one in page.all("link", rel="stylesheet")]
    paths += [one.attributes["src"] for one in page.all("script")]
    return sum(len(web.client.get(path).content) for path in paths)


def look_at_all(web: Web, first: dict[str, str]) -> tuple[dict[str, int], set[str]]:
    """The weight of each page in reach, and the addresses that were asked for."""
    waiting = list(first.values())
    weights: dict[str, int] = {}
    asked: set[str] = set()
    seen = Counter[str]()
    while waiting:
        path = waiting.pop(0)
        address = _ID.sub("{id}", path.partition("?")[0])
        if path in asked or (path not in first.values() and seen[address] >= OF_EACH):
            continue
        asked.add(path)
        seen[address] += 1
        answer = web.client.get(path)
        assert answer.status_code == 200, (path, answer.text[:300])
        if answer.headers["content-type"].startswith("text/html"):
            whole = "<!doctype" in answer.text
            weights[path] = len(answer.content) + (brought(web, answer.text) if whole else 0)
            assert not whole or list(faults(answer.text)) == [], path
            links = [
                urljoin(path, href)
                for href in re.findall(r'<a [^>]*href="([^"]+)"', answer.text.replace("&amp;", "&"))
            ]
            waiting += [link.partition("#")[0] for link in links if link.startswith("/")]
    return weights, asked


def test_no_page_is_heavy_in_the_hugest_states(web: Web) -> None:
    paths = fill(web.stage)
    weights, asked = look_at_all(web, paths)
    # The form that completes a report holds its whole text.
    heavy = {path: size for path, size in weights.items() if size > HEAVIEST and path[:6] != "/plan?"}
    assert heavy == {}
    # A page of another address is not forgotten: each has been looked at, but those that need a secret or
    # are tested below.
    pages = [
        route
        for route in create_app(web.stage.settings).routes
        if isinstance(route, Route) and "GET" in (route.methods or ())
    ]
    own = [
        route for route in pages if not route.path.startswith(("/api/", "/healthz", "/readyz", "/metrics"))
    ]
    missed = {
        route.path
        for route in own
        if not any(route.path_regex.match(path.partition("?")[0]) for path in asked)
    }
    assert missed <= {"/withdraw/{secret}"}
    # They are as heavy as they should be to show anything.
    assert max(weights.values()) > HEAVIEST / 2
    assert len(weights) > 40
    _what_is_posted_is_light(web, paths)


def _what_is_posted_is_light(web: Web, paths: dict[str, str]) -> None:
    typed = {"text": f"print(5)\n# {HEAVY[:50_000]}", "claim": HEAVY[:5000], "preset": "quick"}
    targets = " ".join(f"cpu@*:threads={number}" for number in (1, 2))
    for path, more in (
        ("/plan", {"include": targets}),
        ("/plan", {"include": "nonsense@"}),
        ("/", {"preset": "none"}),
    ):
        answer = web.client.post(path, data=typed | more)
        assert answer.status_code in {200, 422}
        assert list(faults(answer.text)) == []
        sent = sum(len(page_of(value)) for value in (typed | more).values())
        assert len(answer.content) - sent + brought(web, answer.text) < HEAVIEST, (path, more)
    wrong = web.client.post(f"{paths['run wide']}/cells", data={"target": "x" * 400})
    assert wrong.status_code == 422
    assert len(wrong.content) + brought(web, wrong.text) < HEAVIEST


def page_of(text: str) -> bytes:
    """A typed text, as a form shows it again."""
    return page("cell_form.html", run_id="", target=text, problem=None).body
