"""The settings of the log, the same for every process of the service and for nodes."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

LogLevel = Literal["debug", "info", "warning", "error"]
LogForm = Literal["json", "text"]


class LogSettings(BaseSettings):
    """The fields of the log; `ServiceSettings` and `NodeSettings` inherit them."""

    # An error never shows a value, since it may be a password.
    model_config = SettingsConfigDict(
        env_prefix="SAMEHERE_", frozen=True, extra="ignore", hide_input_in_errors=True
    )

    log_level: LogLevel = Field(
        default="info",
        description="the lowest level of our own events in the log; other libraries write from `warning`",
    )
    log_form: LogForm | None = Field(
        default=None,
        description="`json`: one object a line; `text`: for people; default: `text` on a terminal,"
        " else `json`",
    )
    log_repeats: int = Field(
        default=5,
        ge=1,
        description="lines of one kind of warning or error in ten seconds; the rest of them are one line with"
        " their number",
    )
