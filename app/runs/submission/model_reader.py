"""Asks a model to read a report, by any endpoint with the form of chat completions."""

from __future__ import annotations

import hashlib
import json
import time
from typing import Any

import httpx2
import structlog

from app.cache import SizedCache
from app.errors import SetupError
from app.intake.model.prompt import PROMPT_VERSION, messages, schema
from app.settings import ServiceSettings

log = structlog.get_logger(__name__)
_MOST_BYTES = 1024 * 1024
_ANSWERS: SizedCache[str] = SizedCache(8 * 1024 * 1024)


def ask_model(text: str, *, title: str, settings: ServiceSettings) -> str | None:
    """The model's answer about a report, as it came; None if there is none in time.

    The same report is not sent twice in a row. Raises SetupError if the key cannot be read.
    """
    if settings.reader_url is None:
        return None
    if len(text) > settings.reader_characters:
        log.info("model_not_asked", reason="long_report", characters=len(text))
        return None
    key = _digest(settings.reader_url, settings.reader_model, title, text)
    answer = _ANSWERS.find(key)
    if answer is None:
        answer = _ask(text, title, settings)
        if answer is not None:
            _ANSWERS.store(key, answer, len(answer.encode(errors="replace")))
    return answer


def _digest(*parts: str) -> str:
    data = json.dumps([PROMPT_VERSION, *parts]).encode()
    return hashlib.sha256(data).hexdigest()


def _ask(text: str, title: str, settings: ServiceSettings) -> str | None:
    """One request, without retries: somebody waits for the answer. It follows no redirect with the key."""
    body = {
        "model": settings.reader_model,
        "messages": messages(text, title=title),
        "temperature": 0,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "readings", "schema": schema()},
        },
    }
    try:
        with (
            httpx2.Client(timeout=settings.reader_seconds, follow_redirects=False) as client,
            client.stream(
                "POST", str(settings.reader_url), json=body, headers=_headers(settings)
            ) as response,
        ):
            if response.status_code != 200:
                log.warning("model_reader_failed", reason="status", status=response.status_code)
                return None
            return _content(_read(response, time.monotonic() + settings.reader_seconds))
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
        # The text of an error may hold the address with a secret in it.
        log.warning("model_reader_failed", reason=type(error).__name__)
        return None


def _headers(settings: ServiceSettings) -> dict[str, str]:
    if settings.reader_key_file is None:
        return {}
    try:
        key = settings.reader_key_file.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SetupError(
            "The key of the model can't be read. SAMEHERE_READER_KEY_FILE names the file that holds it.",
            code="bad_setting",
        ) from error
    return {"Authorization": f"Bearer {key}"}


def _read(response: httpx2.Response, end: float) -> bytes:
    """The body. Raises ValueError if it is too long or comes too slowly; `end` is in monotonic seconds."""
    data = bytearray()
    for chunk in response.iter_bytes():
        data += chunk
        if len(data) > _MOST_BYTES or time.monotonic() > end:
            raise ValueError("the answer is too long or too slow")
    return bytes(data)


def _content(data: bytes) -> str:
    """The text of the first choice. Raises ValueError if the body has another form."""
    answer: Any = json.loads(data)
    try:
        content = answer["choices"][0]["message"]["content"]
    except (KeyError, IndexError, TypeError) as error:
        raise ValueError("the answer has no choice") from error
    return str(content)
