"""The settings of the web's doors: its public address, its proxies, quotas, waits and streams."""

from __future__ import annotations

from pydantic import Field

from worker.contract.log_settings import LogSettings


class DoorSettings(LogSettings):
    """The part of the settings of the service that bounds callers. `app.settings` has the rest."""

    public_url: str | None = Field(
        default=None,
        pattern=r"^https?://[^\s/?#@]+(/[^\s?#]*)?$",
        description="address of the web for others, such as https://samehere.example.org; links in answers"
        " begin with it. Default: the address that the request names",
    )
    proxies: tuple[str, ...] = Field(
        default=(),
        description="addresses of your reverse proxies, as a JSON list: X-Forwarded-For and"
        " X-Forwarded-Proto are believed from them only",
    )
    token_requests: int = Field(
        default=6000, ge=0, description="most API requests of one token in a minute; 0 means no limit"
    )
    token_submissions: int = Field(
        default=1200, ge=0, description="most submissions and acts of one token in a minute; 0 means no limit"
    )
    address_requests: int = Field(
        default=1200,
        ge=0,
        description="most API requests of one address in a minute; 0 means no limit",
    )
    address_submissions: int = Field(
        default=120,
        ge=0,
        description="most submissions and acts of one address in a minute; 0 means no limit",
    )
    wait_seconds: float = Field(
        default=30.0, ge=0, le=600, description="longest wait for the end of a run by `Prefer: wait=SECONDS`"
    )
    streams: int = Field(
        default=2500, ge=1, description="most open streams and waits of one web process; more get a 503"
    )
    caller_streams: int = Field(
        default=250, ge=1, description="most open streams and waits of one token, or one address, among them"
    )
    json_depth: int = Field(
        default=100, ge=10, description="a request whose JSON is nested more deeply is refused"
    )
    json_digits: int = Field(
        default=400, ge=20, description="a request with a longer number in its JSON is refused"
    )
