"""Answers an address as a page, as JSON or as Markdown. Its end decides, else the Accept header."""

from __future__ import annotations

import hashlib
from enum import StrEnum

from fastapi import Request
from fastapi.responses import PlainTextResponse, Response
from pydantic import BaseModel

_NO_STORE = {"Cache-Control": "no-store", "Vary": "Accept"}


class Format(StrEnum):
    """The formats of an answer. The values are the endings of addresses."""

    PAGE = "html"
    JSON = "json"
    MARKDOWN = "md"


def negotiate_format(name: str, request: Request) -> tuple[str, Format]:
    """The last part of an address without the ending that names a format, and the format to answer in."""
    for ending in (Format.JSON, Format.MARKDOWN):
        if name.endswith(f".{ending}"):
            return name.removesuffix(f".{ending}"), ending
    accepted = request.headers.get("accept", "")
    if "text/html" not in accepted:
        if "application/json" in accepted:
            return name, Format.JSON
        if "text/markdown" in accepted:
            return name, Format.MARKDOWN
    return name, Format.PAGE


def as_json(document: BaseModel) -> Response:
    """A document as REST answers it."""
    return Response(document.model_dump_json(by_alias=True), media_type="application/json", headers=_NO_STORE)


def as_markdown(text: str) -> Response:
    """Markdown as plain text: a browser shows its source and renders nothing."""
    return PlainTextResponse(text, media_type="text/markdown; charset=utf-8", headers=_NO_STORE)


# A program that shows pictures of others asks again after so many seconds.
PICTURE_SECONDS = 300
# A picture may stand on pages of others. Its own colours are the only style that it may use.
_PICTURE = {
    "Cache-Control": f"public, max-age={PICTURE_SECONDS}",
    "Cross-Origin-Resource-Policy": "cross-origin",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
}


def as_picture(request: Request, svg: str, *, public: bool = True) -> Response:
    """A picture of ours as SVG. It is not sent again to a client that has it."""
    content = svg.encode(errors="replace")
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    cache = _PICTURE["Cache-Control"] if public else "private, no-cache"
    headers = {**_PICTURE, "ETag": tag, "Cache-Control": cache}
    known = {one.strip().removeprefix("W/") for one in request.headers.get("if-none-match", "").split(",")}
    if tag in known or "*" in known:
        return Response(status_code=304, headers=headers)
    return Response(content, media_type="image/svg+xml", headers=headers)


def as_file(text: str, name: str, *, media_type: str = "text/plain; charset=utf-8") -> Response:
    """An untrusted text as a download. A browser never shows it as a page."""
    headers = {**_NO_STORE, "Content-Disposition": f'attachment; filename="{name}"'}
    return Response(text.encode(errors="replace"), media_type=media_type, headers=headers)


def as_text(text: str) -> Response:
    """An untrusted text to look at in a browser."""
    return Response(text.encode(errors="replace"), media_type="text/plain; charset=utf-8", headers=_NO_STORE)


def address_of(request: Request, path: str) -> str:
    """The whole address of a page of ours, with the host that the request used."""
    return f"{str(request.base_url).rstrip('/')}{path}"
