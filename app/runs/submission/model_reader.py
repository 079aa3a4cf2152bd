"""Asks a model to read a report, by any endpoint with the form of chat completions."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpcore2
import structlog

from app.cache import SizedCache
from app.deadline import Deadline, DeadlineBackend
from app.errors import SetupError
from app.intake.model.prompt import PROMPT_VERSION, messages, schema
from app.settings import ServiceSettings

log = structlog.get_logger(__name__)
_MOST_BYTES = 1024 * 1024
_ANSWERS: SizedCache[str] = SizedCache(8 * 1024 * 1024)
_FAULTS = (
    httpcore2.NetworkError,
    httpcore2.TimeoutException,
    httpcore2.ProtocolError,
    httpcore2.UnsupportedProtocol,
)


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
    if answer is not None:
        return answer
    with _asking.place(settings.reader_at_once) as is_free:
        if not is_free:
            log.info("model_not_asked", reason="busy")
            return None
        answer = _ask(text, title, settings)
    if answer is not None:
        _ANSWERS.store(key, answer, len(answer.encode(errors="replace")))
    return answer


class _Asking:
    """The requests under way. Each holds a thread, and perhaps a connection to the database."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0

    @contextmanager
    def place(self, most: int) -> Iterator[bool]:
        """Whether there is room for one more request. Nobody waits for it."""
        with self._lock:
            is_free = self._count < most
            self._count += is_free
        try:
            yield is_free
        finally:
            with self._lock:
                self._count -= is_free


_asking = _Asking()


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
    headers = _headers(settings) | {"Content-Type": "application/json", "Accept-Encoding": "identity"}
    deadline = Deadline()
    deadline.start(settings.reader_seconds)
    try:
        with (
            httpcore2.ConnectionPool(network_backend=DeadlineBackend(deadline)) as pool,
            pool.stream(
                "POST",
                str(settings.reader_url),
                headers=[*headers.items()],
                content=json.dumps(body).encode(),
            ) as response,
        ):
            if response.status != 200:
                log.warning("model_reader_failed", reason="status", status=response.status)
                return None
            return _content(_read(response))
    except (*_FAULTS, ValueError, RecursionError) as error:
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


def _read(response: httpcore2.Response) -> bytes:
    """The body. Raises ValueError if it is too long."""
    data = bytearray()
    for chunk in response.iter_stream():
        data += chunk
        if len(data) > _MOST_BYTES:
            raise ValueError("the answer is too long")
    return bytes(data)


def _content(data: bytes) -> str:
    """The text of the first choice. Raises ValueError if the body has another form."""
    answer: Any = json.loads(data)
    try:
        content = answer["choices"][0]["message"]["content"]
    except (KeyError, IndexError, TypeError) as error:
        raise ValueError("the answer has no choice") from error
    return str(content)
