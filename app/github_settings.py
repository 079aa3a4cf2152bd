"""The settings of the GitHub App. Without them it is off."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from worker.contract import KIB, MIB
from worker.contract.log_settings import LogSettings

_TOGETHER = ("github_app", "github_key_file", "github_secret_file", "github_repositories")


class GithubSettings(LogSettings):
    """The part of the settings of the service that is about GitHub. `app.settings` has the rest."""

    github_app: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z0-9._-]{1,60}$",
        description="client id of your GitHub App, or its App id; see docs/github-app.md",
    )
    github_key_file: Path | None = Field(
        default=None, description="file with the private key of the GitHub App, as GitHub made it (PEM)"
    )
    github_secret_file: Path | None = Field(
        default=None, description="file with the webhook secret of the GitHub App, on one line"
    )
    github_repositories: Path | None = Field(
        default=None,
        description="a TOML file with the repositories in which the GitHub App acts; it acts in no other",
    )
    github_url: str = Field(
        default="https://api.github.com",
        pattern=r"^https?://[^\s/?#@]+(/[^\s?#]*)?$",
        description="address of GitHub's API; that of a GitHub Enterprise Server ends with /api/v3",
    )
    github_seconds: float = Field(
        default=15.0, gt=0, le=60, description="time limit of one request to GitHub"
    )
    github_bytes: int = Field(
        default=2 * MIB, ge=16 * KIB, description="a larger event from GitHub is refused"
    )
    github_progress_seconds: float = Field(
        default=60.0, ge=1, description="shortest time between two edits of a comment that show progress"
    )
    github_retry_seconds: float = Field(
        default=10.0,
        gt=0,
        description="wait after a request to GitHub that failed; each further wait is twice the last, and at"
        " most an hour. GitHub's own word on its limits counts more",
    )
    github_days: float = Field(
        default=3.0,
        gt=0,
        description="an act that GitHub did not take for so many days is given up; an older event is not"
        " obeyed",
    )
    github_log_days: float = Field(
        default=30.0, gt=0, description="an event is remembered for so many days after its end"
    )

    @model_validator(mode="after")
    def _check_github(self) -> Self:
        missing = [name for name in _TOGETHER if getattr(self, name) is None]
        if missing and len(missing) < len(_TOGETHER):
            names = ", ".join(f"SAMEHERE_{name.upper()}" for name in missing)
            raise ValueError(f"the GitHub App needs {names}, too; see docs/github-app.md")
        if self.github_log_days <= self.github_days:
            raise ValueError("SAMEHERE_GITHUB_LOG_DAYS is more than SAMEHERE_GITHUB_DAYS")
        return self

    @property
    def github_is_on(self) -> bool:
        """Whether the GitHub App is set up."""
        return self.github_repositories is not None
