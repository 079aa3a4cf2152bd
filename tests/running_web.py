"""Serves the web application from a thread of the tests, over real HTTP on a free loopback port."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import httpx2
import uvicorn
from stage import Stage

from app.main import create_app
from app.settings import ServiceSettings

START_SECONDS = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Web:
    """A web that answers, a client that speaks to it, and the stage behind it."""

    url: str
    client: httpx2.Client
    stage: Stage


@contextmanager
def serve(settings: ServiceSettings) -> Iterator[str]:
    """The address of an application with these settings."""
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    configuration = uvicorn.Config(
        create_app(settings),
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(configuration)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    deadline = time.monotonic() + START_SECONDS
    while not server.started:
        assert thread.is_alive()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(START_SECONDS)
        listener.close()


@contextmanager
def web_of(stage: Stage, **changed: object) -> Iterator[Web]:
    """A web on a stage's database and broker; `changed` settings are its own."""
    with (
        serve(stage.settings.model_copy(update=changed)) as url,
        httpx2.Client(base_url=url, timeout=60) as client,
    ):
        yield Web(url=url, client=client, stage=stage)
