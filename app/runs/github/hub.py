"""The requests to GitHub that the App makes, by githubkit, and the two ways in which they fail.

The only module that speaks to GitHub. A token is one of the installation, for one repository and the few
permissions below; githubkit makes it from the private key and keeps it in memory until it ends, for an hour.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from pydantic import ValidationError

from app.errors import SetupError
from app.runs.github.secrets import private_key
from app.runs.github.setup import NO_EXTRA
from app.settings import ServiceSettings

CHECK_NAME = "samehere"
PER_PAGE = 100
# Later comments are not read, as in a report that is submitted.
MOST_PAGES = 3
Conclusion = Literal["success", "failure", "neutral"]


class HubRefusedError(Exception):
    """GitHub refuses, and would again: the thing is gone, or the App may not do that."""

    def __init__(self, status: int) -> None:
        super().__init__(f"status {status}")
        self.status = status


class HubAwayError(Exception):
    """GitHub could not take the request now. `seconds` is the wait that it asks for, if it does."""

    def __init__(self, problem: str, *, seconds: float | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.seconds = seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """An issue, or a pull request with its head commit. Titles and bodies are strangers' text."""

    title: str
    body: str
    author: str
    url: str
    labels: frozenset[str]
    is_locked: bool
    head_sha: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment:
    """One comment. `ours`: this App wrote it."""

    id: int
    author: str
    body: str
    ours: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckText:
    """The text of a check. Without a conclusion it is still in progress."""

    title: str
    summary: str
    conclusion: Conclusion | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """An issue or a pull request, by its number in a repository."""

    installation_id: int
    repository: str
    number: int
    is_pull: bool = False


class Hub(Protocol):
    """GitHub, as the App uses it. Each method raises HubRefusedError or HubAwayError."""

    def role(self, place: Place, login: str) -> str:
        """The role of a person in the repository; `none` without one."""
        ...

    def subject(self, place: Place) -> Subject:
        """The issue or the pull request as it is now."""
        ...

    def comments(self, place: Place) -> list[Comment]:
        """The first comments, oldest first."""
        ...

    def post(self, place: Place, text: str) -> int:
        """Write a comment. Returns its id."""
        ...

    def edit(self, place: Place, comment_id: int, text: str) -> None:
        """Write another text into our comment."""
        ...

    def find_check(self, place: Place, sha: str, external_id: str) -> int | None:
        """The id of our check of this commit, if there is one."""
        ...

    def post_check(self, place: Place, sha: str, external_id: str, text: CheckText) -> int:
        """Add a check to a commit. Returns its id."""
        ...

    def edit_check(self, place: Place, check_id: int, text: CheckText) -> None:
        """Write another text and conclusion into our check."""
        ...


@dataclass
class GithubHub:
    """GitHub, or a GitHub Enterprise Server, over its REST API."""

    settings: ServiceSettings
    _clients: dict[tuple[int, str, bool], Any] = field(default_factory=dict, repr=False)

    def role(self, place: Place, login: str) -> str:
        with self._asking(place) as (rest, owner, name):
            answer = rest.repos.get_collaborator_permission_level(owner, name, login).parsed_data
            # A role of the organisation's own has the permission that it builds on.
            standard = {"read", "triage", "write", "maintain", "admin"}
            return str(answer.role_name if answer.role_name in standard else answer.permission)

    def subject(self, place: Place) -> Subject:
        with self._asking(place) as (rest, owner, name):
            issue = rest.issues.get(owner, name, place.number).parsed_data
            sha = rest.pulls.get(owner, name, place.number).parsed_data.head.sha if place.is_pull else None
            labels = [label if isinstance(label, str) else str(label.name or "") for label in issue.labels]
            return Subject(
                title=issue.title,
                body=_text(issue.body),
                author="" if issue.user is None else issue.user.login,
                url=issue.html_url,
                labels=frozenset(label.lower() for label in labels),
                is_locked=issue.locked,
                head_sha=sha,
            )

    def comments(self, place: Place) -> list[Comment]:
        comments: list[Comment] = []
        with self._asking(place) as (rest, owner, name):
            for number in range(1, MOST_PAGES + 1):
                page = rest.issues.list_comments(
                    owner, name, place.number, per_page=PER_PAGE, page=number
                ).parsed_data
                comments += [self._comment(comment) for comment in page]
                if len(page) < PER_PAGE:
                    break
        return comments

    def _comment(self, comment: Any) -> Comment:
        by = comment.performed_via_github_app
        ours = bool(by) and self.settings.github_app in {str(by.id), _text(by.client_id)}
        author = comment.user.login if comment.user else ""
        return Comment(id=comment.id, author=author, body=_text(comment.body), ours=ours)

    def post(self, place: Place, text: str) -> int:
        with self._asking(place) as (rest, owner, name):
            return int(rest.issues.create_comment(owner, name, place.number, body=text).parsed_data.id)

    def edit(self, place: Place, comment_id: int, text: str) -> None:
        with self._asking(place) as (rest, owner, name):
            rest.issues.update_comment(owner, name, comment_id, body=text)

    def find_check(self, place: Place, sha: str, external_id: str) -> int | None:
        with self._asking(place) as (rest, owner, name):
            answer = rest.checks.list_for_ref(owner, name, sha, check_name=CHECK_NAME).parsed_data
            return next((run.id for run in answer.check_runs if run.external_id == external_id), None)

    def post_check(self, place: Place, sha: str, external_id: str, text: CheckText) -> int:
        with self._asking(place) as (rest, owner, name):
            data = {"name": CHECK_NAME, "head_sha": sha, "external_id": external_id, **_check(text)}
            return int(rest.checks.create(owner, name, data=data).parsed_data.id)

    def edit_check(self, place: Place, check_id: int, text: CheckText) -> None:
        with self._asking(place) as (rest, owner, name):
            rest.checks.update(owner, name, check_id, data=_check(text))

    @contextmanager
    def _asking(self, place: Place) -> Iterator[tuple[Any, str, str]]:
        """The requests for one repository, with their errors as ours. No error holds a text of GitHub."""
        from githubkit.exception import GitHubException, RateLimitExceeded, RequestFailed

        owner, _, name = place.repository.partition("/")
        try:
            with self._client(place, name) as client:
                yield client.rest, owner, name
        except RateLimitExceeded as error:
            raise HubAwayError("rate limit", seconds=error.retry_after.total_seconds()) from None
        except RequestFailed as error:
            status = error.response.status_code
            if status == 401:
                # The token was revoked. The next try asks for another one.
                self._clients.clear()
            if status >= 500 or status in {401, 408, 409, 429}:
                raise HubAwayError(f"status {status}") from None
            raise HubRefusedError(status) from None
        except GitHubException as error:
            raise HubAwayError(type(error).__name__) from None
        except ValidationError:
            # Not what GitHub's schema says, such as a redirect of a repository that was renamed.
            raise HubRefusedError(422) from None

    def _client(self, place: Place, name: str) -> Any:
        """A client for one repository of an installation."""
        try:
            from githubkit import AppInstallationAuthStrategy, GitHub
            from githubkit.cache import MemCacheStrategy
        except ImportError:
            raise SetupError(NO_EXTRA, code="no_extra") from None

        key = (place.installation_id, place.repository, place.is_pull)
        known = self._clients.get(key)
        if known is None:
            permissions = {"issues": "write", "metadata": "read"}
            if place.is_pull:
                permissions = {**permissions, "pull_requests": "read", "checks": "write"}
            known = GitHub(
                AppInstallationAuthStrategy(
                    self.settings.github_app,
                    private_key(self.settings).get_secret_value(),
                    place.installation_id,
                    repositories=[name],
                    permissions=permissions,
                ),
                base_url=self.settings.github_url,
                user_agent="samehere",
                # Waits are ours, in the database: no thread sleeps. A repository that moved is another one.
                auto_retry=False,
                follow_redirects=False,
                http_cache=False,
                # The client's own: its tokens end with it.
                cache_strategy=MemCacheStrategy(),
                timeout=self.settings.github_seconds,
            )
            self._clients[key] = known
        return known


def _text(value: Any) -> str:
    """A text that GitHub may leave out."""
    return value if isinstance(value, str) else ""


def _check(text: CheckText) -> dict[str, Any]:
    output = {"title": text.title, "summary": text.summary}
    if text.conclusion is None:
        return {"status": "in_progress", "output": output}
    return {"status": "completed", "conclusion": text.conclusion, "output": output}
