"""What the embedded servers share: who they run as, where their sockets lie, how they start, and how a left-over one ends."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from app.embedded import launch
from app.errors import SetupError

SOCKET_PATH_BYTES = 107
LOG_BYTES = 8 * 1024 * 1024
READY_SECONDS = 60.0
# Longer than a glance of `is_held`, or than the end of a holder that was killed.
LOCK_SECONDS = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Whom a server runs as: `drop_to` is an own uid when we are root, else None and the server runs as we do."""

    drop_to: int | None

    @classmethod
    def of(cls, service_uid: int) -> Identity:
        """As root the given uid, else the present one."""
        return cls(drop_to=service_uid if os.geteuid() == 0 else None)

    @property
    def uid(self) -> int:
        """The uid in force."""
        return os.geteuid() if self.drop_to is None else self.drop_to

    def own(self, path: Path) -> None:
        """Give the server what we made for it."""
        if self.drop_to is not None:
            os.chown(path, self.drop_to, self.drop_to, follow_symlinks=False)

    def make_folder(self, path: Path) -> Path:
        """A folder that only the server can enter; refused when it exists and is somebody else's."""
        if make_folder(path, mode=0o700):
            self.own(path)
        facts = path.lstat()
        if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != self.uid:
            raise SetupError(
                f"{path} should be a folder that belongs to uid {self.uid}, and belongs to uid {facts.st_uid}. "
                "Was SAMEHERE_SERVICE_UID changed, or was samehere started by another user before?"
            )
        return path


def make_folder(path: Path, *, mode: int) -> bool:
    """Make a folder and its missing parents, whatever the umask. One that exists is left as it is. Whether it was made."""
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
    """The folder of a server's socket: in the home, or in a short place that the home decides if the path would be too long."""
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
    return Path(tempfile.gettempdir()) if len(tempfile.gettempdir()) <= 40 else Path("/tmp")  # noqa: S108  # checked by the caller


def wheel_folder(package: str) -> Path:
    """Where a wheel that brings a server lies; its own Python code is never run."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise SetupError(
            f"the package {package} is missing: pip install 'samehere[embedded]', or give servers of your own by "
            "SAMEHERE_DATABASE_URL and SAMEHERE_BROKER_URL"
        )
    return Path(next(iter(spec.submodule_search_locations))).resolve()


class Lock:
    """One holder per folder; the system lets go of it when the holder dies."""

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
        """Let go."""
        os.close(self._fd)

    @staticmethod
    def is_held(path: Path) -> bool:
        """Whether somebody has it."""
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
    """A program to start, as whom, and what it must reach."""

    argv: Sequence[str]
    identity: Identity
    death_signal: signal.Signals
    view: Sequence[Path]
    cwd: Path
    passwd: Path | None = None

    def start(self, *, log: Path, stdin: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
        """Start it as a child that dies with the calling thread. Output goes to the log."""
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
    return [sys.executable, "-I", "-S", launch.__file__, json.dumps(spec), *argv]


def wait_until_ready(
    process: subprocess.Popen[bytes], ready: Callable[[], bool], *, name: str, log: Path, seconds: float
) -> None:
    """Return when it is ready; raise SetupError with the end of its log when it ends before, or takes too long."""
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
    """A log file to append to, begun anew when it grew large."""
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
    """Processes of that program whose working folder is `folder`, seen by identity and not by name: it may be bound elsewhere."""
    try:
        wanted = folder.stat()
    except FileNotFoundError:
        return []
    found = []
    for entry in os.listdir("/proc"):  # noqa: PTH208  # names are all that is needed
        if not entry.isdigit():
            continue
        try:
            at = os.stat(f"/proc/{entry}/cwd")  # noqa: PTH116  # follows the magic link
            name = os.readlink(f"/proc/{entry}/exe").removesuffix(" (deleted)")  # noqa: PTH115
        except OSError:
            continue
        if (at.st_dev, at.st_ino) == (wanted.st_dev, wanted.st_ino) and name.rpartition("/")[2] == program:
            found.append(int(entry))
    return found


def end_holders(folder: Path, program: str, *, signals: Sequence[tuple[signal.Signals, float]]) -> bool:
    """End what a killed run left behind, by ever harder signals. Whether there was anything."""
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
    """End a child of ours, by ever harder signals."""
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
    """A server in a folder of the home: one holder at a time. Start and stop it from a thread that lives as long as it should."""

    name: str
    stop_signals: Sequence[tuple[signal.Signals, float]]

    def __init__(self, home: Path, *, service_uid: int) -> None:
        self.home = home.absolute()
        self.folder = self.home / self.name
        self.log = self.folder / f"{self.name}.log"
        self.identity = Identity.of(service_uid)
        # The folder of its socket, once it is known.
        self.sockets = Path()
        self._lock: Lock | None = None
        self._process: subprocess.Popen[bytes] | None = None

    @property
    @abstractmethod
    def url(self) -> str:
        """Where clients find it; only after `start`."""

    @abstractmethod
    def _launch(self) -> subprocess.Popen[bytes]:
        """End what a killed run left behind, create what is missing, and start the program."""

    @abstractmethod
    def _is_ready(self) -> bool:
        """Whether it serves."""

    def _prepare(self) -> None:  # noqa: B027  # most have nothing to do
        """Called once it serves."""

    def is_running(self) -> bool:
        """Whether the process that `start` started lives."""
        return self._process is not None and self._process.poll() is None

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The server; only after `start`."""
        if self._process is None:
            raise SetupError(f"the embedded {self.name} is not started")
        return self._process

    def start(self) -> str:
        """Start it, and again if it ended. Its URL. Raises SetupError."""
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
        """Where clients find the one that another process of this user runs."""

    def attach(self) -> str | None:
        """The URL of the one that another process runs in this home, or None. Starts nothing."""
        return self._running_url if Lock.is_held(self.folder / "lock") else None

    def stop(self) -> None:
        """End it in order, harder if that takes long."""
        if self._process is not None:
            stop_child(self._process, signals=self.stop_signals)
            self._process = None
        if self._lock is not None:
            self._lock.release()
            self._lock = None
