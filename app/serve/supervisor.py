"""Starts servers, migrates the database, starts children, restarts what dies, and stops all in order."""

from __future__ import annotations

import errno
import http.client
import os
import selectors
import signal
import socket
import sys
import time
from functools import partial
from pathlib import Path
from types import FrameType

import structlog

from app.embedded.postgres import EmbeddedPostgres
from app.embedded.server import EmbeddedServer
from app.embedded.valkey import EmbeddedValkey
from app.errors import SetupError, UnavailableError
from app.extras import require_node, require_service
from app.runs.rows.presets import known_presets
from app.serve.brief_child import in_child
from app.serve.child_process import Backoff, Child, can_drop_to, installation
from app.serve.database import migrate
from app.serve.demo import demo_environment, load_history
from app.serve.exposure import is_loopback, require_broker, require_isolation, require_token
from app.serve.output import Follower, Output, short_line
from app.settings import ServiceSettings
from worker.contract.log import without_password

log = structlog.get_logger(__name__)

TICK_SECONDS = 0.1
IDLE_TICK_SECONDS = 1.0
# With one of these a child says that its settings or its machine can't work. A new start would not help.
SETUP_STATUSES = (2, 3)
FAILURES_BEFORE_READY = 5
NODE = "local"
# So long the node may finish its attempts. The others are leased again after the next start.
DRAIN_SECONDS = 10
# Children get whole URLs instead, each its own, since they may not be able to read the files.
OWN_VARIABLES = ("SAMEHERE_DATABASE_URL", "SAMEHERE_DATABASE_PASSWORD_FILE", "SAMEHERE_BROKER_PASSWORD_FILE")


class _StopError(BaseException):
    """Raised by the signal handler, wherever the supervisor is. It is raised only once."""


class Supervisor:
    """All processes of `samehere serve`. They die with the thread that calls `run`."""

    def __init__(self, settings: ServiceSettings, *, with_node: bool) -> None:
        self._settings = settings
        self._with_node = with_node
        self._servers: list[EmbeddedServer] = []
        self._children: list[Child] = []
        self._selector = selectors.DefaultSelector()
        self._stopping = False
        self._ready = False
        self._backoffs: dict[str, Backoff] = {}
        self._started: dict[str, float] = {}
        self._output = Output(settings)
        self._followers: dict[str, Follower] = {}

    def run(self) -> int:
        """Serve until SIGTERM or SIGINT, then return 0.

        Raises SetupError if the service can't work, UnavailableError if one of its servers is away.
        """
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        try:
            listener = self._listen()
            with listener:
                self._start(listener)
                self._watch(listener.getsockname()[1])
        except _StopError:
            pass
        finally:
            self._stopping = True
            self._end()
        return 0

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        if self._stopping:
            # After a second signal there is no more waiting.
            for child in self._children:
                child.grace_seconds = 0.0
            return
        self._stopping = True
        raise _StopError

    def _listen(self) -> socket.socket:
        settings = self._settings
        try:
            family, _, _, _, address = socket.getaddrinfo(
                settings.host, settings.port, type=socket.SOCK_STREAM
            )[0]
            listener = socket.socket(family, socket.SOCK_STREAM)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(1024)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise SetupError(
                    f"port {settings.port} of {settings.host} is in use: choose another one with --port"
                ) from error
            raise SetupError(
                f"can't listen on {settings.host} port {settings.port}: {error.strerror or error}"
            ) from error
        return listener

    def _start(self, listener: socket.socket) -> None:
        settings = self._settings
        require_isolation(settings)
        known_presets(settings)
        own_broker = settings.reveal_broker_url()
        if own_broker:
            in_child(lambda: require_broker(own_broker))
        database_url = settings.reveal_database_url() or self._serve_by(
            EmbeddedPostgres(settings.home, service_uid=settings.service_uid)
        )
        in_child(lambda: migrate(database_url))
        broker_url = own_broker or self._serve_by(
            EmbeddedValkey(settings.home, service_uid=settings.service_uid)
        )
        in_child(lambda: require_token(settings, database_url))
        inherited = {name: value for name, value in os.environ.items() if name not in OWN_VARIABLES}
        if settings.demo:
            inherited = demo_environment(settings, inherited)
            in_child(lambda: log.info("history_added", runs=load_history(database_url, settings)))
        node_environment = {
            **inherited,
            "SAMEHERE_HOME": str(settings.home.absolute()),
            "SAMEHERE_BROKER_URL": broker_url,
            "SAMEHERE_LOG_FORM": self._output.form,
        }
        own_environment = {
            **node_environment,
            "SAMEHERE_DATABASE_URL": database_url,
            "SAMEHERE_HOST": settings.host,
        }
        if self._with_node:
            own_environment["SAMEHERE_AWAITED_NODE"] = NODE
        fd = listener.fileno()
        view = [*installation(), *(server.sockets for server in self._servers)]
        uid = self._own_uid(view)
        trusted = partial(Child, environment=own_environment, drop_to=uid, view=view)
        self._children = [
            trusted("recorder", ["app.tasks", "worker"], grace_seconds=10.0),
            trusted("web", ["app.serve.web", "--fd", str(fd)], grace_seconds=8.0, keep=[fd]),
            trusted("beat", ["app.tasks", "beat"], grace_seconds=3.0),
        ]
        if self._with_node:
            environment = {"SAMEHERE_DRAIN_SECONDS": str(DRAIN_SECONDS), **node_environment}
            argv = ["worker", "node", "--name", NODE]
            self._children.append(
                Child("node", argv, environment=environment, grace_seconds=DRAIN_SECONDS + 5)
            )
        for child in self._children:
            self._begin(child)
        address = without_password(broker_url)
        log.info("node_command", command=f"SAMEHERE_BROKER_URL={address} samehere node --name NAME")

    def _own_uid(self, view: list[Path]) -> int | None:
        """The uid for web, recorder and beat if we are root. The node stays root: its slots need that."""
        if os.geteuid() != 0:
            return None
        uid = self._settings.service_uid
        if can_drop_to(uid, view):
            return uid
        log.warning(
            "children_run_as_root",
            detail=f"uid {uid} can't reach the installation, and this container allows no private view of it",
        )
        return None

    def _serve_by(self, server: EmbeddedServer) -> str:
        self._servers.append(server)
        return self._start_server(server)

    def _start_server(self, server: EmbeddedServer) -> str:
        self._started[server.name] = time.monotonic()
        self._followers.setdefault(server.name, Follower(server.log))
        return server.start()

    def _begin(self, child: Child) -> None:
        self._selector.register(child.start(), selectors.EVENT_READ, child)

    def _watch(self, port: int) -> None:
        while True:
            self._pass_on(IDLE_TICK_SECONDS if self._ready else TICK_SECONDS)
            now = time.monotonic()
            for child in self._children:
                status = child.poll(now)
                if status is not None:
                    self._after_end(child, status)
                elif child.process is None and now >= child.backoff.start_at:
                    self._begin(child)
            for server in self._servers:
                self._revive(server, now)
            if not self._ready and answers(self._settings.host, port):
                self._ready = True
                sys.stdout.write(f"samehere is ready on http://{_url_host(self._settings.host)}:{port}\n")
                sys.stdout.flush()

    def _pass_on(self, seconds: float) -> None:
        """Wait for output of the children, and pass it on together with that of the servers."""
        for key, _ in self._selector.select(seconds):
            chunk = os.read(key.fd, 65536)
            if not chunk:
                self._selector.unregister(key.fileobj)
                key.fileobj.close()  # type: ignore[union-attr]
                continue
            for line in key.data.lines(chunk):
                self._output.pass_on(key.data.name, line)
        for name, follower in self._followers.items():
            for line in follower.lines():
                self._output.pass_on(name, line)

    def _after_end(self, child: Child, status: int) -> None:
        self._pass_on(0)
        if status in SETUP_STATUSES:
            hint = " (samehere serve --no-node starts no node)" if child.name == "node" else ""
            raise SetupError(f"the {child.name} can't run{hint}: {short_line(child.last_line)}")
        if not self._ready and child.backoff.failures >= FAILURES_BEFORE_READY:
            raise SetupError(
                f"the {child.name} ended {child.backoff.failures} times "
                f"before it was ready: {short_line(child.last_line)}"
            )
        wait = child.backoff.start_at - time.monotonic()
        log.warning(
            "child_ended", child=child.name, status=status, starts_again_in_seconds=round(max(wait, 0.0), 1)
        )

    def _revive(self, server: EmbeddedServer, now: float) -> None:
        backoff = self._backoffs.setdefault(server.name, Backoff())
        if server.is_running() or now < backoff.start_at:
            return
        backoff.note_end(now, ran_seconds=now - self._started[server.name])
        log.warning("server_ended", server=server.name)
        try:
            self._start_server(server)
        except SetupError as error:
            if backoff.failures >= FAILURES_BEFORE_READY:
                # It ran before, so another start may help, for example when the disk has room again.
                raise UnavailableError(error.message) from error
            log.warning("server_not_started", server=server.name, detail=error.message)

    def _end(self) -> None:
        """Stop the web first: no new work comes in. The recorder outlives the node and stores its results."""
        for name in ("web", "beat", "node", "recorder"):
            for child in self._children:
                if child.name == name:
                    self._end_child(child)
        for server in reversed(self._servers):
            server.stop()
        self._pass_on(0)
        self._selector.close()

    def _end_child(self, child: Child) -> None:
        child.terminate()
        terminated_at = time.monotonic()
        # A second signal sets the grace time to 0, so it is read again each time.
        while child.is_running() and time.monotonic() < terminated_at + child.grace_seconds:
            self._pass_on(0.05)
        child.kill()
        self._pass_on(0)


def answers(host: str, port: int) -> bool:
    """Whether the web reports that it is ready."""
    connection = http.client.HTTPConnection(_local_address(host), port, timeout=2)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _local_address(host: str) -> str:
    """The address at which this machine reaches a server that listens on `host`."""
    if is_loopback(host):
        return host
    if ":" in host:
        return "::1"
    return "127.0.0.1" if host in {"0.0.0.0", ""} else host  # noqa: S104  # nothing is bound here


def serve(settings: ServiceSettings, *, with_node: bool = True) -> int:
    """Run the service in the main thread of this process until a signal stops it. Raises SetupError."""
    require_service()
    if with_node:
        require_node(otherwise=", or --no-node")
    return Supervisor(settings, with_node=with_node).run()


def _url_host(host: str) -> str:
    return f"[{host}]" if ":" in host else host
