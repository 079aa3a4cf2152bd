"""The common parts of the embedded servers: users, sockets, start and end, and servers left behind."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import signal
import stat
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from app.embedded import launch
from app.errors import SetupError
from worker.contract.own_process import script_command

SOCKET_PATH_BYTES = 107
LOG_BYTES = 8 * 1024 * 1024
READY_SECONDS = 60.0
# Longer than `is_held` holds the lock, and longer than a killed holder needs to end.
LOCK_SECONDS = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The user that an embedded server runs as.

    `drop_to` is a separate uid if we are root. Else it is None, and the server runs as our own user.
    """

    drop_to: int | None

    @classmethod
    def of(cls, service_uid: int) -> Identity:
        """The given uid if we are root, else our own."""
        return cls(drop_to=service_uid if os.geteuid() == 0 else None)

    @property
    def uid(self) -> int:
        """The uid of the server."""
        return os.geteuid() if self.drop_to is None else self.drop_to

    def own(self, path: Path) -> None:
        """Give a path that we made to the server."""
        if self.drop_to is not None:
            os.chown(path, self.drop_to, self.drop_to, follow_symlinks=False)

    def make_folder(self, path: Path) -> Path:
        """Make a folder that only the server can enter. Raises SetupError if it has another owner."""
        if make_folder(path, mode=0o700):
            self.own(path)
        facts = path.lstat()
        if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != self.uid:
            raise SetupError(
                f"{path} must be a folder of uid {self.uid}, but it belongs to uid {facts.st_uid}. "
                "Was SAMEHERE_SERVICE_UID changed, or was samehere started by another user before?"
            )
        return path


def make_folder(path: Path, *, mode: int) -> bool:
    """Make a folder and its missing parents, with any umask. Returns False if the folder existed already."""
    if path.is_dir():
        return False
    for folder in (*reversed(path.parents), path):
        try:
            folder.mkdir()
        except FileExistsError:
            continue
        folder.chmod(mode if folder == path or os.geteuid() != 0 else 0o711)
    return True


def socket_folder(home: Path, name: str, *, socket: str, identity: Identity) -> Path:
    """The folder of a server's socket.

    It is in the home. If that path is too long for a socket, it is in a folder named by a digest of the home.
    """
    folder = home / "run" / name
    if len(os.fsencode(folder / socket)) > SOCKET_PATH_BYTES:
        digest = hashlib.sha256(os.fsencode(home)).hexdigest()[:12]
        folder = _short_base() / f"samehere-{os.geteuid()}-{digest}" / name
        parent = folder.parent
        make_folder(parent, mode=0o711 if os.geteuid() == 0 else 0o700)
        facts = parent.lstat()
        if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != os.geteuid():
            raise SetupError(f"{parent} exists and is not ours: choose a SAMEHERE_HOME with a shorter path")
    return identity.make_folder(folder)


def _short_base() -> Path:
    if os.geteuid() == 0:
        return Path("/run")
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if runtime and len(runtime) <= 40 and os.access(runtime, os.W_OK):
        return Path(runtime)
    temporary = tempfile.gettempdir()
    return Path(temporary if len(temporary) <= 40 else "/tmp")  # noqa: S108  # the caller checks the owner


def wheel_folder(package: str) -> Path:
    """The folder of a wheel that contains a server. The Python code of the wheel is never run."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise SetupError(
            f"the package {package} is missing: run pip install 'samehere[embedded]', "
            "or name your own servers in SAMEHERE_DATABASE_URL and SAMEHERE_BROKER_URL"
        )
    return Path(next(iter(spec.submodule_search_locations))).resolve()


class Lock:
    """A lock with one holder a folder. The system releases it when the holder dies."""

    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        deadline = time.monotonic() + LOCK_SECONDS
        while not _try_lock(self._fd, fcntl.LOCK_EX):
            if time.monotonic() > deadline:
                holder = os.read(self._fd, 20).decode("ascii", "replace").strip()
                os.close(self._fd)
                raise SetupError(
                    f"another samehere (pid {holder or 'unknown'}) already runs the server of {path.parent}"
                )
            time.sleep(0.02)
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, str(os.getpid()).encode(), 0)

    def release(self) -> None:
        """Release the lock."""
        os.close(self._fd)

    @staticmethod
    def is_held(path: Path) -> bool:
        """Whether a process holds the lock."""
        try:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            return not _try_lock(fd, fcntl.LOCK_SH)
        finally:
            os.close(fd)


def _try_lock(fd: int, kind: int) -> bool:
    try:
        fcntl.flock(fd, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program to start, its user, and the files that it needs."""

    argv: Sequence[str]
    identity: Identity
    death_signal: signal.Signals
    view: Sequence[Path]
    cwd: Path
    passwd: Path | None = None

    def start(self, *, log: Path, stdin: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
        """Start the program as a child that dies with the calling thread. Its output goes to the log."""
        argv = launch_argv(
            self.argv,
            death_signal=self.death_signal,
            cwd=self.cwd,
            uid=self.identity.drop_to,
            view=self.view,
            passwd=self.passwd,
            umask=0o077,
        )
        output = open_log(log)
        try:
            return subprocess.Popen(
                argv,
                stdin=stdin,
                stdout=output,
                stderr=output,
                env={"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"},
                cwd="/",
                start_new_session=True,
            )
        finally:
            os.close(output)


def launch_argv(
    argv: Sequence[str],
    *,
    death_signal: signal.Signals,
    cwd: Path,
    uid: int | None = None,
    view: Sequence[Path] = (),
    passwd: Path | None = None,
    umask: int | None = None,
) -> list[str]:
    """The command line of a child that dies with the thread that starts it."""
    spec = {
        "parent": os.getpid(),
        "signal": int(death_signal),
        "uid": uid,
        "view": [str(path) for path in view],
        "passwd": str(passwd) if passwd else None,
        "umask": umask,
        "cwd": str(cwd),
    }
    return script_command(str(launch.__file__), json.dumps(spec), *argv)


def wait_until_ready(
    process: subprocess.Popen[bytes], ready: Callable[[], bool], *, name: str, log: Path, seconds: float
) -> None:
    """Wait until a process is ready. Raises SetupError if it ends before that or takes too long."""
    deadline = time.monotonic() + seconds
    while not ready():
        status = process.poll()
        if status is not None:
            raise SetupError(
                f"the embedded {name} ended with status {status} at its start; its log ends:\n{tail(log)}"
            )
        if time.monotonic() > deadline:
            raise SetupError(
                f"the embedded {name} was not ready after {seconds:.0f} s; its log ends:\n{tail(log)}"
            )
        time.sleep(0.01)


def open_log(path: Path) -> int:
    """Open a log file to append to. A large one is renamed first, and a new one begins."""
    if path.exists() and path.stat().st_size > LOG_BYTES:
        path.replace(path.with_suffix(".old.log"))
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)


def tail(path: Path, *, lines: int = 12) -> str:
    """The last lines of a log."""
    try:
        return "\n".join(path.read_text(errors="replace").splitlines()[-lines:])
    except OSError:
        return ""


def holders(folder: Path, program: str) -> list[int]:
    """The pids of this program's processes with `folder` as working folder.

    Device and inode are compared instead of the path, because the folder may be bound to another path.
    """
    try:
        expected = folder.stat()
    except FileNotFoundError:
        return []
    pids = []
    for entry in os.listdir("/proc"):  # noqa: PTH208  # only the names are needed
        if not entry.isdigit():
            continue
        try:
            actual = os.stat(f"/proc/{entry}/cwd")  # noqa: PTH116  # follows the magic link
            name = os.readlink(f"/proc/{entry}/exe").removesuffix(" (deleted)")  # noqa: PTH115
        except OSError:
            continue
        is_same_folder = (actual.st_dev, actual.st_ino) == (expected.st_dev, expected.st_ino)
        if is_same_folder and name.rpartition("/")[2] == program:
            pids.append(int(entry))
    return pids


def end_holders(folder: Path, program: str, *, signals: Sequence[tuple[signal.Signals, float]]) -> bool:
    """End processes that a killed run left behind, by harder and harder signals. True if there were any."""
    pids = holders(folder, program)
    if not pids:
        return False
    for number, seconds in signals:
        for pid in pids:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                continue
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            pids = holders(folder, program)
            if not pids:
                return True
            time.sleep(0.02)
    raise SetupError(f"processes {pids} of an earlier run hold {folder} and can't be ended")


def stop_child(process: subprocess.Popen[bytes], *, signals: Sequence[tuple[signal.Signals, float]]) -> None:
    """End a child by harder and harder signals."""
    for number, seconds in signals:
        if process.poll() is not None:
            return
        process.send_signal(number)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            continue
    process.wait(5)


class EmbeddedServer(ABC):
    """A server in a folder of the home. Only one process at a time can run it.

    Start it in a thread that lives as long as the server, because the server dies with that thread.
    """

    name: str
    stop_signals: Sequence[tuple[signal.Signals, float]]

    def __init__(self, home: Path, *, service_uid: int) -> None:
        self.home = home.absolute()
        self.folder = self.home / self.name
        self.log = self.folder / f"{self.name}.log"
        self.identity = Identity.of(service_uid)
        # The folder of the socket. It is set when the server starts.
        self.sockets = Path()
        self._lock: Lock | None = None
        self._process: subprocess.Popen[bytes] | None = None

    @property
    @abstractmethod
    def url(self) -> str:
        """The address for clients. It is valid only after `start`."""

    @abstractmethod
    def _launch(self) -> subprocess.Popen[bytes]:
        """End a server left behind by a killed run, create missing files, and start the program."""

    @abstractmethod
    def _is_ready(self) -> bool:
        """Whether the server answers."""

    def _prepare(self) -> None:  # noqa: B027  # not every server has something to do
        """Called as soon as the server answers."""

    def is_running(self) -> bool:
        """Whether the process of `start` is alive."""
        return self._process is not None and self._process.poll() is None

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The process of the server. Raises SetupError before `start`."""
        if self._process is None:
            raise SetupError(f"the embedded {self.name} is not started")
        return self._process

    def start(self) -> str:
        """Start the server, also after it has ended, and return its URL. Raises SetupError."""
        make_folder(self.folder, mode=0o711 if os.geteuid() == 0 else 0o700)
        if self._lock is None:
            self._lock = Lock(self.folder / "lock")
        try:
            self._process = self._launch()
            wait_until_ready(
                self._process, self._is_ready, name=self.name, log=self.log, seconds=READY_SECONDS
            )
            self._prepare()
        except BaseException:
            self.stop()
            raise
        return self.url

    @property
    @abstractmethod
    def _running_url(self) -> str:
        """The address of the server that another process of this user runs."""

    def attach(self) -> str | None:
        """The URL of the server that another process runs in this home, or None. Starts nothing."""
        return self._running_url if Lock.is_held(self.folder / "lock") else None

    def stop(self) -> None:
        """Stop the server in an orderly way, with harder signals if that takes long."""
        if self._process is not None:
            stop_child(self._process, signals=self.stop_signals)
            self._process = None
        if self._lock is not None:
            self._lock.release()
            self._lock = None
