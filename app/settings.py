"""What an operator can set on the trusted side: one frozen class, read from `SAMEHERE_*` variables, every default named here."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from app.limits import ReadLimits
from worker.contract import GIB, KIB, MIB, Level, Limits
from worker.contract.home import default_home

# Whom the embedded servers run as when we are root.
SERVICE_UID = 47100


class ServiceSettings(BaseSettings):
    """The service's settings. Seconds and bytes, as the names say."""

    model_config = SettingsConfigDict(env_prefix="SAMEHERE_", frozen=True, extra="ignore")

    home: Path = Field(default_factory=default_home, description="the folder that holds all state")
    # Without these two, `samehere serve` starts an embedded Postgres and an embedded Valkey.
    database_url: str | None = Field(default=None, description="postgresql://… of a server of your own")
    broker_url: str | None = Field(
        default=None, description="redis://… or redis+socket:///path of a server of your own"
    )
    service_uid: int = Field(
        default=SERVICE_UID, ge=1, description="as root, whom the servers, web, recorder and beat run as"
    )
    database_pool_size: int = Field(default=8, ge=1, le=100, description="connections one process keeps")

    host: str = Field(
        default="127.0.0.1", description="address of the web; any but loopback is refused until tokens exist"
    )
    port: int = Field(default=8000, ge=0, le=65535, description="port of the web; 0 takes a free one")

    hosts: tuple[str, ...] = Field(
        default=(), description="further names under which the web is reached, as JSON; * allows any"
    )
    anonymous_scopes: tuple[str, ...] | None = Field(
        default=None,
        description='may be done without a token, as JSON; default: ["read"], on loopback also "submit", and "maintain" until there is one',
    )

    awaited_node: str | None = Field(
        default=None,
        description="a node without which the web is not ready at first; `samehere serve` names its own",
    )
    demo: bool = Field(
        default=False,
        description="the pages say that the history was recorded elsewhere; set by `samehere serve --demo`",
    )
    preset: str = Field(default="quick", description="what a submission without preset and targets runs on")
    presets: Path | None = Field(
        default=None,
        description="a TOML file with presets of your own, `[presets.NAME]`; see docs/presets.md",
    )
    preview: bool = Field(
        default=True, description="before the attempts that count, one that starts warm shows what to expect"
    )
    preview_seconds: float = Field(
        default=2.0, gt=0, le=600, description="a preview that takes longer is stopped and not shown"
    )
    required_level: Level = Field(
        default=Level.NAMESPACES, description="strangers' code is refused below this isolation"
    )

    script_bytes: int = Field(default=256 * KIB, ge=1, description="a longer script is refused")
    report_bytes: int = Field(default=1 * MIB, ge=1, description="a longer report is refused")
    wall_seconds: float = Field(default=60.0, gt=0, le=600, description="how long an attempt may take")
    memory_bytes: int = Field(default=4 * GIB, ge=64 * MIB, description="how much memory an attempt may use")
    stream_bytes: int = Field(default=256 * KIB, ge=KIB, description="kept of each output stream")
    stream_kill_bytes: int = Field(
        default=64 * MIB, ge=KIB, description="an attempt that prints more is stopped"
    )
    result_bytes: int = Field(
        default=4 * MIB, ge=16 * KIB, description="a larger message of a node is refused"
    )
    bundle_bytes: int = Field(default=16 * MIB, ge=16 * KIB, description="a larger bundle is refused")
    cells: int = Field(default=400, ge=1, description="cells of one run, at most")
    repeats: int = Field(default=250, ge=1, description="repeats of one job, at most")

    heartbeat_seconds: float = Field(default=5.0, gt=0, description="how often a node shows that it lives")
    lease_seconds: float = Field(
        default=30.0, gt=0, description="how long a node may hold an attempt without a sign of life"
    )
    leases: int = Field(
        default=3, ge=1, description="leases an attempt may lose while it runs before it is lost"
    )
    unstarted_leases: int = Field(
        default=60, ge=1, description="leases in all, whatever became of them, before an attempt is lost"
    )
    job_restarts: int = Field(
        default=3, ge=0, description="how often a job starts again on another node or environment"
    )
    node_absence_seconds: float = Field(
        default=300.0, gt=0, description="how long queued attempts wait for a node that is away"
    )
    sweep_seconds: float = Field(
        default=5.0, gt=0, description="how often beat looks for what a lost message left behind"
    )

    rerun: bool = Field(
        default=True, description="reports are run again when a toolchain comes, and on a schedule"
    )
    rerun_seconds: float = Field(
        default=30.0, gt=0, description="how often beat looks for what is to be run again"
    )
    rerun_days: float = Field(
        default=30.0, ge=0, description="a report is run again this long after it was last verified; 0: never"
    )
    rerun_at_once: int = Field(
        default=2, ge=1, description="runs of that kind that are open at a time, at most"
    )
    rerun_attempts_a_day: int = Field(
        default=2000, ge=0, description="attempts of such runs in 24 hours, at most"
    )
    rerun_cells: int = Field(default=12, ge=1, description="cells of one such run, at most")

    unawaited_runs: int = Field(
        default=2000,
        ge=0,
        description="runs that were sent with nobody waiting for them and are open, at most",
    )
    import_bytes: int = Field(
        default=256 * MIB, ge=KIB, description="`samehere import-issues` refuses a larger file"
    )
    import_issues: int = Field(default=10_000, ge=1, description="and one with more issues")

    @property
    def lease(self) -> timedelta:
        """How long a node may hold an attempt without a sign of life."""
        return timedelta(seconds=self.lease_seconds)

    @property
    def read_limits(self) -> ReadLimits:
        """How large a script and a report may be."""
        return ReadLimits(script_bytes=self.script_bytes, report_bytes=self.report_bytes)

    @property
    def limits(self) -> Limits:
        """What one attempt may use."""
        return Limits(
            wall_seconds=self.wall_seconds,
            memory_bytes=self.memory_bytes,
            stream_bytes=self.stream_bytes,
            stream_kill_bytes=self.stream_kill_bytes,
            result_bytes=self.result_bytes,
        )
