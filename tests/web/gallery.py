"""Draws every page in every state: `make screenshots` fills docs/gallery; `--serve` keeps a filled web
running to look at.
"""

from __future__ import annotations

import argparse
import io
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import gallery_data
import gallery_demo
from PIL import Image
from playwright.sync_api import Browser, sync_playwright
from running_web import web_of
from stage import Stage

from app.embedded.postgres import EmbeddedPostgres
from app.embedded.valkey import EmbeddedValkey
from app.settings import ServiceSettings
from app.storage.migrate import upgrade

GALLERY = Path(__file__).parents[2] / "docs" / "gallery"
# The second step of a submission is drawn with this report.
REPORT = Path(__file__).parents[2] / "demo" / "reports" / "trapz_is_gone.md"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
# The page, how it is looked at, how much of it is kept: pictures stay small.
LONGEST = 1_800
COLOURS = 128
# 590 wide pages are what a screen of 1180 shows at a zoom of 200 %.
VIEWS = (("light", 1180), ("dark", 1180), ("light", 360), ("light", 590))
# Drawn in all views; the others by daylight on a desk only.
IN_ALL = {
    "home",
    "demo home",
    "demo changes",
    "report that regressed",
    "report over versions",
    "report closed",
    "run",
    "run live",
    "cell",
    "submit, step 2",
    "numbers of a report",
    "heat map",
    "bisection",
    "compare colours",
    "compare lists",
}


@contextmanager
def stage() -> Iterator[Stage]:
    """A database and a broker of one's own."""
    folder = Path(tempfile.mkdtemp(prefix="samehere-gallery-"))
    folder.chmod(0o711)
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        postgres, valkey = EmbeddedPostgres(folder), EmbeddedValkey(folder)
        for server in (postgres, valkey):
            server.start()
            stack.callback(server.stop)
        upgrade(postgres.url)
        settings = ServiceSettings(
            database_url=postgres.url,
            broker_url=valkey.url,
            lease_seconds=3600.0,
            # On a busy machine the script of 2 000 lines takes longer than a service allows.
            reading_seconds=300.0,
        )
        made = Stage(settings)
        stack.callback(made.close)
        yield made


def draw(browser: Browser, url: str, *, scheme: str, width: int, out: Path) -> None:
    """One picture."""
    context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 900})  # type: ignore[arg-type]
    page = context.new_page()
    if url.endswith("/plan"):
        page.goto(url.removesuffix("plan"))
        page.locator("#text").fill(REPORT.read_text())
        page.get_by_role("button", name="Next").click()
    else:
        page.goto(url)
    page.wait_for_timeout(150)
    height = min(LONGEST, int(page.evaluate("document.documentElement.scrollHeight")))
    picture = page.screenshot(full_page=True, clip={"x": 0, "y": 0, "width": width, "height": height})
    context.close()
    Image.open(io.BytesIO(picture)).convert("RGB").quantize(
        COLOURS, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE
    ).save(out, optimize=True)


def file_name(name: str, scheme: str, width: int) -> str:
    """`report-over-versions.light.1180.png`."""
    return f"{name.replace(',', '').replace(' ', '-')}.{scheme}.{width}.png"


def index(names: Iterable[str]) -> str:
    """The page that shows them all."""
    head = "Each page in each state, as `make screenshots` drew it: recorded history, and states made up to be hard."  # noqa: E501
    parts = [f"# Gallery\n\n{head}\n"]
    for name in names:
        views = VIEWS if name in IN_ALL else VIEWS[:1]
        pictures = "\n".join(
            f"![{name}, {scheme}, {width} px]({file_name(name, scheme, width)})" for scheme, width in views
        )
        parts.append(f"## {name.capitalize()}\n\n{pictures}\n")
    return "\n".join(parts)


def main(arguments: list[str]) -> int:
    """Fill, serve, and draw."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--serve", action="store_true", help="keep serving instead of drawing")
    parser.add_argument("--chromium", default=shutil.which("chromium") or shutil.which("google-chrome"))
    parser.add_argument("--out", type=Path, default=GALLERY)
    chosen = parser.parse_args(arguments)
    with ExitStack() as stack:
        urls: dict[str, str] = {}
        for fill, demo in ((gallery_demo.fill, True), (gallery_data.fill, False)):
            made = stack.enter_context(stage())
            paths = fill(made)
            web = stack.enter_context(web_of(made, demo=demo))
            urls |= {name: f"{web.url}{path}" for name, path in paths.items()}
        if chosen.serve:
            sys.stdout.write("".join(f"{name}\t{url}\n" for name, url in urls.items()))
            sys.stdout.flush()
            while True:
                time.sleep(60)
        chosen.out.mkdir(parents=True, exist_ok=True)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chosen.chromium, args=FLAGS)
            for name, url in urls.items():
                for scheme, width in VIEWS if name in IN_ALL else VIEWS[:1]:
                    draw(
                        browser,
                        url,
                        scheme=scheme,
                        width=width,
                        out=chosen.out / file_name(name, scheme, width),
                    )
            browser.close()
        (chosen.out / "index.md").write_text(index(urls))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
