"""The settings of the service. Each one is read from a variable `SAMEHERE_*`. All defaults are here."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator

from app.bounded.frames import CallLimits
from app.door_settings import DoorSettings
from app.errors import SetupError
from app.github_settings import GithubSettings
from app.limits import ReadLimits
from worker.contract import GIB, KIB, MIB, AttemptKind, Level, Limits
from worker.contract.broker.url import check_broker_url
from worker.contract.home import default_home
from worker.contract.secret_file import complete_urls

# The user of the embedded servers and of the web, if root starts the service.
SERVICE_UID = 47100
POSTGRES_SCHEMES = frozenset({"postgresql", "postgres", "postgresql+psycopg"})


class ServiceSettings(DoorSettings, GithubSettings):
    """The settings of the service. The end of a name is its unit: seconds, bytes or days."""

    home: Path = Field(default_factory=default_home, description="the folder for all stored data")
    # Without these two, `samehere serve` starts an embedded Postgres and an embedded Valkey.
    database_url: SecretStr | None = Field(default=None, description="postgresql://… of your own server")
    broker_url: SecretStr | None = Field(
        default=None, description="redis://… or redis+socket:///path of your own server"
    )
    database_password_file: Path | None = Field(
        default=None, description="file with the password of the database; the URL then has none"
    )
    broker_password_file: Path | None = Field(
        default=None, description="file with the password of the broker; the URL then has none"
    )
    service_uid: int = Field(
        default=SERVICE_UID,
        ge=1,
        description="if root starts the service: the uid of the servers, web, recorder and beat",
    )
    database_pool_size: int = Field(
        default=8,
        ge=1,
        le=100,
        description="connections that one process keeps open; under load as many again, for a minute",
    )

    postgres_programs: Path | None = Field(
        default=None,
        description="folder of pg_dump, pg_restore and psql for `samehere dump` and `samehere restore`;"
        " default: those of the embedded Postgres, or of the machine",
    )

    host: str = Field(
        default="127.0.0.1", description="address of the web; until a token exists, only loopback is allowed"
    )
    port: int = Field(default=8000, ge=0, le=65535, description="port of the web; 0 takes a free port")

    hosts: tuple[str, ...] = Field(
        default=(), description="more host names of the web, as a JSON list; * allows any name"
    )
    anonymous_scopes: tuple[str, ...] | None = Field(
        default=None,
        description="scopes granted without a token, as a JSON list; default: read, plus submit on loopback,"
        " plus maintain there until the first token exists",
    )

    sign_in_hours: float = Field(
        default=12.0,
        gt=0,
        le=24 * 90,
        description="how long a browser stays signed in to act as a maintainer",
    )

    awaited_node: str | None = Field(
        default=None,
        description="the web is ready only after this node has connected; `samehere serve` sets its own",
    )
    demo: bool = Field(
        default=False,
        description="pages say that the history was recorded elsewhere; set by `samehere serve --demo`",
    )
    preset: str = Field(
        default="quick", description="the preset of a submission that names no preset and no targets"
    )
    presets: Path | None = Field(
        default=None, description="a TOML file with your own presets, `[presets.NAME]`; see docs/presets.md"
    )
    preview: bool = Field(
        default=True,
        description="show a quick warm attempt, which does not count, before the other results are there",
    )
    preview_seconds: float = Field(
        default=2.0, gt=0, le=600, description="a preview that takes longer is stopped and not shown"
    )
    warm_repeats: bool = Field(default=True, description="repeats that only confirm the first may start warm")
    required_level: Level = Field(
        default=Level.NAMESPACES, description="a node with weaker isolation than this does not run scripts"
    )

    script_bytes: int = Field(default=256 * KIB, ge=1, description="a longer script is refused")
    report_bytes: int = Field(default=1 * MIB, ge=1, description="a longer report is refused")
    wall_seconds: float = Field(
        default=60.0,
        gt=0,
        le=600,
        description="time limit of an attempt; eight times as much, at most 600, for a passage check",
    )
    memory_bytes: int = Field(default=4 * GIB, ge=64 * MIB, description="memory limit of an attempt")
    stream_bytes: int = Field(default=256 * KIB, ge=KIB, description="bytes stored of each output stream")
    stream_kill_bytes: int = Field(
        default=64 * MIB, ge=KIB, description="an attempt that prints more is stopped"
    )
    result_bytes: int = Field(
        default=4 * MIB, ge=16 * KIB, description="a larger message from a node is refused"
    )
    reader_url: str | None = Field(
        default=None,
        description="address of a model that reads reports, too, in the form of chat completions; see"
        " docs/model-reader.md",
    )
    reader_model: str = Field(default="", description="the name of that model, as its endpoint knows it")
    reader_key_file: Path | None = Field(default=None, description="file with the key of that endpoint")
    reader_seconds: float = Field(
        default=20.0, gt=0, le=120, description="a model that answers later is not waited for"
    )
    reader_at_once: int = Field(
        default=2,
        ge=1,
        le=64,
        description="how many reports one process sends to the model at once; rules alone read the others",
    )
    reader_characters: int = Field(
        default=60_000, ge=1_000, description="a longer report is not sent to the model"
    )
    reading_seconds: float = Field(
        default=10.0,
        ge=1,
        le=600,
        description="processor time in which one text is read, or one run is judged; then it is refused",
    )
    reading_memory_bytes: int = Field(
        default=1 * GIB, ge=64 * MIB, description="memory with which one text is read, or one run is judged"
    )
    reading_processes: int = Field(
        default=2, ge=1, le=64, description="how many texts one process reads or judges at the same time"
    )
    reading_processes_of_strangers: int = Field(
        default=1,
        ge=1,
        le=64,
        description="how many more texts the web reads at the same time for callers without a token who do"
        " not submit; one address has at most half of the places",
    )
    body_bytes: int = Field(
        default=256 * KIB,
        ge=KIB,
        description="a larger request is refused, if it carries neither a report nor a bundle",
    )
    body_seconds: float = Field(
        default=60.0, gt=0, description="a request whose body takes longer to arrive is refused"
    )
    json_values: int = Field(
        default=50_000, ge=100, description="a request whose JSON has more fields and items is refused"
    )
    bundle_values: int = Field(
        default=1_000_000, ge=1_000, description="a bundle with more fields and items is refused"
    )
    bundle_bytes: int = Field(default=16 * MIB, ge=16 * KIB, description="a larger bundle is refused")
    cells: int = Field(default=400, ge=1, description="most cells of one run")
    repeats: int = Field(default=250, ge=1, description="most repeats of one job")
    explain_seconds: float = Field(
        default=120.0,
        ge=0,
        le=3600,
        description="where the results of a run put numbers in question, cells with trace=on are added by"
        " themselves if they take no longer together, as far as can be told; 0 means never",
    )
    contrast_seconds: float = Field(
        default=60.0,
        ge=0,
        le=3600,
        description="after a run ends `reproduced` without a contrast, a cell that may give one is added if"
        " its attempts take no longer together, as far as can be told; 0 means never",
    )

    heartbeat_seconds: float = Field(default=5.0, gt=0, description="how often a node sends a heartbeat")
    lease_seconds: float = Field(
        default=30.0, gt=0, description="how long a node may hold an attempt without a heartbeat"
    )
    leases: int = Field(
        default=3, ge=1, description="an attempt is lost after it has lost so many leases while it ran"
    )
    unstarted_leases: int = Field(
        default=60,
        ge=1,
        description="an attempt is lost after so many leases in all, whether it started or not",
    )
    job_restarts: int = Field(
        default=3,
        ge=0,
        description="how often a job may start again on another node or in another environment",
    )
    node_absence_seconds: float = Field(
        default=300.0, gt=0, description="how long queued attempts wait for a node that has disconnected"
    )
    lock_seconds: float = Field(
        default=0.25,
        gt=0,
        le=20,
        description="how long the recorder waits for a run that somebody else works on, before it takes the"
        " messages of others first",
    )
    backlog_seconds: float = Field(
        default=300.0,
        ge=0,
        description="how long leases that ran out are kept while messages of their node wait to be recorded",
    )
    one_card_seconds: float = Field(
        default=300.0,
        ge=0,
        description="once an attempt on one card has waited so long, jobs on several cards take their turn"
        " like all others",
    )
    repeat_seconds: float = Field(
        default=300.0, ge=0, description="once a repeat has waited so long, new runs do not come before it"
    )
    sweep_seconds: float = Field(
        default=5.0, gt=0, description="how often beat looks for work that waits because a message was lost"
    )

    rerun: bool = Field(default=True, description="rerun reports with a new toolchain, and on a schedule")
    rerun_seconds: float = Field(default=30.0, gt=0, description="how often beat looks for reports to rerun")
    rerun_days: float = Field(
        default=30.0,
        ge=0,
        description="a report is rerun so many days after it was last verified; 0 means never",
    )
    rerun_at_once: int = Field(
        default=2, ge=1, description="most scheduled reruns that are open at the same time"
    )
    rerun_attempts_a_day: int = Field(
        default=2000, ge=0, description="most attempts of scheduled reruns in 24 hours"
    )
    rerun_cells: int = Field(default=12, ge=1, description="most cells of one scheduled rerun")

    canary_seconds: float = Field(
        default=900.0,
        ge=0,
        description="how often the service runs a script with a known verdict through its nodes;"
        " 0 means never",
    )
    canary_limit_seconds: float = Field(
        default=300.0, gt=0, description="a canary that takes longer makes `/readyz` answer 503"
    )

    gate_issues: int = Field(
        default=100, ge=1, description="most issues of one request whether they may be closed"
    )
    mcp_result_bytes: int = Field(
        default=24 * KIB,
        ge=4 * KIB,
        description="a longer result of an MCP tool is shortened, so that it fits a model's context",
    )
    unawaited_runs: int = Field(
        default=2000, ge=0, description="most open runs that nobody waits for, such as those of a bulk import"
    )
    webhooks: int = Field(default=10, ge=0, description="most webhooks of one token; 0 allows none")
    webhook_private: bool = Field(
        default=False,
        description="webhooks may go to private, loopback and link-local addresses, and use plain HTTP",
    )
    webhook_key_file: Path | None = Field(
        default=None,
        description="file with keys that encrypt the keys of webhooks in the database; see docs/webhooks.md",
    )
    webhook_seconds: float = Field(
        default=15.0, gt=0, le=60, description="time limit of one try to deliver a webhook"
    )
    webhook_senders: int = Field(
        default=4, ge=1, le=64, description="how many webhooks are sent to at the same time"
    )
    webhook_retry_seconds: float = Field(
        default=5.0, gt=0, description="wait after the first failed try; each further wait is twice the last"
    )
    webhook_retry_most_seconds: float = Field(
        default=21_600.0, gt=0, description="longest wait between two tries"
    )
    webhook_days: float = Field(
        default=3.0, gt=0, description="an event that could not be delivered for so many days is given up"
    )
    webhook_log_days: float = Field(
        default=30.0, gt=0, description="the log keeps a delivery so many days after it has ended"
    )
    webhook_rotation_hours: float = Field(
        default=24.0, ge=0, description="how long the key before a rotation signs as well"
    )
    import_bytes: int = Field(
        default=256 * MIB, ge=KIB, description="`samehere import-issues` refuses a larger file"
    )
    import_issues: int = Field(
        default=10_000, ge=1, description="`samehere import-issues` refuses a file with more issues"
    )

    @model_validator(mode="before")
    @classmethod
    def _read_passwords(cls, settings: dict[str, Any]) -> dict[str, Any]:
        return complete_urls(settings, ("database", "broker"))

    @field_validator("database_url")
    @classmethod
    def _check_database_url(cls, url: SecretStr | None) -> SecretStr | None:
        scheme = url.get_secret_value().partition("://")[0] if url is not None else ""
        if scheme and scheme not in POSTGRES_SCHEMES:
            raise ValueError("only Postgres is possible: postgresql://USER:PASSWORD@HOST/NAME")
        return url

    @field_validator("broker_url")
    @classmethod
    def _check_broker_url(cls, url: SecretStr | None) -> SecretStr | None:
        check_broker_url(url.get_secret_value() if url is not None else "")
        return url

    def reveal_database_url(self) -> str | None:
        """The URL of the database with its password. Give it to a driver, and to nothing that is shown."""
        return self.database_url.get_secret_value() if self.database_url is not None else None

    def reveal_broker_url(self) -> str | None:
        """The URL of the broker with its password. Give it to a client, and to nothing that is shown."""
        return self.broker_url.get_secret_value() if self.broker_url is not None else None

    def with_database(self, url: str) -> ServiceSettings:
        """These settings with another database."""
        return self.model_copy(update={"database_url": SecretStr(url)})

    @property
    def most_database_connections(self) -> int:
        """How many connections one process has at most: those it keeps open, and as many again under load."""
        return 2 * self.database_pool_size

    @property
    def listens_on_loopback(self) -> bool:
        """Whether all callers are on this machine, or come through a proxy that runs on it."""
        return self.host in {"127.0.0.1", "::1", "localhost"}

    @property
    def lease(self) -> timedelta:
        """How long a node may hold an attempt without a heartbeat."""
        return timedelta(seconds=self.lease_seconds)

    @property
    def read_limits(self) -> ReadLimits:
        """How large a script and a report may be."""
        return ReadLimits(script_bytes=self.script_bytes, report_bytes=self.report_bytes)

    @property
    def reading_limits(self) -> CallLimits:
        """The limits within which a text is read, or a run is judged."""
        return CallLimits(seconds=self.reading_seconds, memory_bytes=self.reading_memory_bytes)

    @property
    def limits(self) -> Limits:
        """The limits of one attempt."""
        return Limits(
            wall_seconds=self.wall_seconds,
            memory_bytes=self.memory_bytes,
            stream_bytes=self.stream_bytes,
            stream_kill_bytes=self.stream_kill_bytes,
            result_bytes=self.result_bytes,
        )

    def limits_of(self, kind: AttemptKind) -> Limits:
        """The limits of an attempt of this kind."""
        limits = self.limits
        if kind is AttemptKind.PREVIEW:
            return limits.model_copy(update={"wall_seconds": min(limits.wall_seconds, self.preview_seconds)})
        return limits.for_passage() if kind is AttemptKind.PASSAGE else limits


def read_settings(**options: Any) -> ServiceSettings:
    """Read the settings; an option that is None does not count.

    Raises SetupError, which names the wrong option or variable and never shows its value.
    """
    try:
        return ServiceSettings(**{name: value for name, value in options.items() if value is not None})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        message = first["msg"].removeprefix("Value error, ")
        if not first["loc"]:
            # The message of a rule over several settings names them.
            raise SetupError(f"{message}.", code="bad_setting") from None
        name = str(first["loc"][0])
        source = f"--{name}" if options.get(name) is not None else f"SAMEHERE_{name.upper()}"
        raise SetupError(f"{source}: {message}.", code="bad_setting") from None
