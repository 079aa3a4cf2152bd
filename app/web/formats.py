"""The same thing as a page, as JSON or as Markdown: by the end of its address, else by what the caller accepts."""

from __future__ import annotations

from enum import StrEnum

from fastapi import Request
from fastapi.responses import PlainTextResponse, Response
from pydantic import BaseModel

_NO_STORE = {"Cache-Control": "no-store", "Vary": "Accept"}


class Form(StrEnum):
    """How somebody wants to have it."""

    PAGE = "html"
    JSON = "json"
    MARKDOWN = "md"


def asked(name: str, request: Request) -> tuple[str, Form]:
    """An id without the ending that names a form, and the form."""
    for form in (Form.JSON, Form.MARKDOWN):
        if name.endswith(f".{form}"):
            return name.removesuffix(f".{form}"), form
    accepted = request.headers.get("accept", "")
    if "text/html" not in accepted:
        if "application/json" in accepted:
            return name, Form.JSON
        if "text/markdown" in accepted:
            return name, Form.MARKDOWN
    return name, Form.PAGE


def as_json(document: BaseModel) -> Response:
    """A document as REST gives it."""
    return Response(document.model_dump_json(by_alias=True), media_type="application/json", headers=_NO_STORE)


def as_markdown(text: str) -> Response:
    """Markdown as plain text: a browser shows it, and nothing in it is obeyed."""
    return PlainTextResponse(text, media_type="text/markdown; charset=utf-8", headers=_NO_STORE)


def as_file(text: str, name: str, *, media_type: str = "text/plain; charset=utf-8") -> Response:
    """A text of strangers: saved, or shown as text, and never as a page."""
    headers = {**_NO_STORE, "Content-Disposition": f'attachment; filename="{name}"'}
    return Response(text.encode(errors="replace"), media_type=media_type, headers=headers)


def as_text(text: str) -> Response:
    """A text of strangers to look at."""
    return Response(text.encode(errors="replace"), media_type="text/plain; charset=utf-8", headers=_NO_STORE)


def address_of(request: Request, path: str) -> str:
    """The whole address of a page of ours, as whoever asks reaches it."""
    return f"{str(request.base_url).rstrip('/')}{path}"
