"""GitHub's REST API and its events, as far as an App sees them, on loopback.

Requests and answers are held to GitHub's public schema: a body that its model refuses gets 422, a token
without the permission 403, and each answer is checked against its model before it is sent.
"""

from __future__ import annotations

import json
import re
import secrets
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import githubkit_schemas.latest.models as schema
import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from github_schema import filled
from githubkit import webhooks
from pydantic import ValidationError

APP = "Iv23samehere"
INSTALLATION = 77
REPOSITORY = "Octo/Numbers"
SECRET = "a secret of webhooks"
LEVELS = {"none": 0, "read": 1, "write": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One request, as it came."""

    method: str
    path: str
    body: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer that a test makes up, such as a limit."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: Any = field(default_factory=dict)


# The status, headers and JSON of an answer.
Sent = tuple[int, dict[str, str], Any]
# The body and the headers of an event.
Event = tuple[bytes, dict[str, str]]


class _RefusedError(Exception):
    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def _user(login: str) -> dict[str, Any]:
    return filled(schema.SimpleUser, login=login, type="Bot" if login.endswith("[bot]") else "User")


class StandIn:
    """The state of GitHub, and its answers."""

    def __init__(self) -> None:
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.url = ""
        self.forget()

    def forget(self) -> None:
        """A GitHub without a past, at the same address."""
        self.asks: list[Ask] = []
        self.tokens: dict[str, dict[str, Any]] = {}
        self.roles: dict[str, str] = {"ada": "maintain"}
        self.subjects: dict[int, dict[str, Any]] = {}
        self.comments: dict[int, dict[str, Any]] = {}
        self.checks: dict[int, dict[str, Any]] = {}
        # Answers instead of the right one, if it gives one.
        self.fault: Callable[[Ask], Answer | None] = lambda _ask: None

    def pem(self) -> bytes:
        """The private key, as GitHub gives it to the owner of an App: PKCS#1."""
        return self.key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )

    def open(self, number: int, *, body: str, labels: tuple[str, ...] = (), **more: Any) -> None:
        """An issue, or with `head_sha` a pull request."""
        self.subjects[number] = {
            "title": "logdet is wrong", "body": body, "labels": list(labels), "locked": False, **more
        }  # fmt: skip

    def say(self, number: int, body: str, *, by: str) -> int:
        """A comment by somebody else than the App."""
        return self._add_comment(number, body, by=by, app=None)

    @property
    def writes(self) -> list[Ask]:
        """The requests that change something on GitHub."""
        return [ask for ask in self.asks if ask.method != "GET" and "access_tokens" not in ask.path]

    @property
    def ours(self) -> list[str]:
        """The comments of the App, oldest first."""
        return [one["body"] for one in self.comments.values() if one["app"] == APP]

    # Events

    def labelled(
        self, number: int, label: str = "samehere", *, by: str = "ada"
    ) -> tuple[bytes, dict[str, str]]:
        """The event of a label that somebody sets now."""
        self.subjects[number]["labels"].append(label)
        is_pull = "head_sha" in self.subjects[number]
        facts = self._event(by, action="labeled", label=filled(schema.WebhooksLabel, name=label))
        if is_pull:
            pull = filled(
                schema.WebhookPullRequestLabeledPropPullRequest, number=number, updated_at=_moment()
            )
            facts |= {"number": number, "pull_request": pull}
            return signed("pull_request", filled(schema.WebhookPullRequestLabeled, **facts))
        issue = filled(schema.WebhookIssuesLabeledPropIssue, number=number, updated_at=_moment())
        return signed("issues", filled(schema.WebhookIssuesLabeled, **facts, issue=issue))

    def commented(self, number: int, body: str, *, by: str = "ada", at: datetime | None = None) -> Event:
        """The event of a comment that somebody writes now."""
        self.say(number, body, by=by)
        moment = _moment() if at is None else at.isoformat()
        comment = filled(schema.WebhookIssueCommentCreatedPropComment, body=body, created_at=moment)
        more = {}
        if "head_sha" in self.subjects[number]:
            more["pull_request"] = filled(schema.WebhookIssueCommentCreatedPropIssueAllof0PropPullRequest)
        issue = filled(schema.WebhookIssueCommentCreatedPropIssue, number=number, updated_at=moment, **more)
        facts = self._event(by, action="created", issue=issue, comment=comment)
        return signed("issue_comment", filled(schema.WebhookIssueCommentCreated, **facts))

    def _event(self, by: str, **more: Any) -> dict[str, Any]:
        return {
            "repository": filled(schema.RepositoryWebhooks, full_name=REPOSITORY),
            "sender": _user(by),
            "installation": filled(schema.SimpleInstallation, id=INSTALLATION),
            **more,
        }

    # Requests

    def answer(self, ask: Ask, authorization: str) -> Sent:
        self.asks.append(ask)
        fault = self.fault(ask)
        if fault is not None:
            return fault.status, fault.headers, fault.body
        try:
            return self._route(ask, authorization)
        except _RefusedError as error:
            return error.status, {}, filled(schema.BasicError, message="refused")
        except ValidationError:
            return 422, {}, filled(schema.BasicError, message="Validation Failed")

    def _route(self, ask: Ask, authorization: str) -> Sent:
        for (method, pattern), handle in ROUTES.items():
            match = re.fullmatch(pattern, ask.path.partition("?")[0])
            if match is not None and method == ask.method:
                return handle(self, ask, authorization, *map(int_if_digits, match.groups()))
        raise _RefusedError(404)

    def token(self, ask: Ask, authorization: str, installation: int) -> Sent:
        kind, _, token = authorization.partition(" ")
        try:
            claims = jwt.decode(token, self.key.public_key(), algorithms=["RS256"])
        except jwt.InvalidTokenError:
            raise _RefusedError(401) from None
        if kind != "Bearer" or claims["iss"] != APP or claims["exp"] - claims["iat"] > 600:
            raise _RefusedError(401)
        if installation != INSTALLATION:
            raise _RefusedError(404)
        body = schema.AppInstallationsInstallationIdAccessTokensPostBody.model_validate(ask.body)
        permissions = body.model_dump(exclude_unset=True).get("permissions") or {}
        made = "ghs_" + secrets.token_hex(18)
        self.tokens[made] = {"permissions": permissions, "repositories": body.repositories}
        ends = (datetime.now(UTC) + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
        return 201, {}, filled(schema.InstallationToken, token=made, expires_at=ends)

    def allow(self, authorization: str, permission: str, level: str) -> None:
        """Refuse a token that is none, is for another repository, or lacks the permission."""
        token = self.tokens.get(authorization.removeprefix("token "))
        if token is None:
            raise _RefusedError(401)
        if token["repositories"] != [REPOSITORY.partition("/")[2].lower()]:
            raise _RefusedError(404)
        if LEVELS[token["permissions"].get(permission, "none")] < LEVELS[level]:
            raise _RefusedError(403)

    def role(self, _ask: Ask, authorization: str, login: str) -> Sent:
        self.allow(authorization, "metadata", "read")
        role = self.roles.get(login, "read")
        permission = {"maintain": "write", "triage": "read"}.get(role, role)
        return 200, {}, filled(schema.RepositoryCollaboratorPermission, role_name=role, permission=permission)

    def issue(self, _ask: Ask, authorization: str, number: int) -> Sent:
        self.allow(authorization, "issues", "read")
        one = self._subject(number)
        labels = [{"name": name} for name in one["labels"]]
        url = f"https://github.com/{REPOSITORY}/issues/{number}"
        facts = {name: one[name] for name in ("title", "body", "locked")}
        user = _user(one.get("author", "reporter"))
        facts |= {"number": number, "labels": labels, "html_url": url, "state": "open", "user": user}
        return 200, {}, filled(schema.Issue, **facts)

    def pull(self, _ask: Ask, authorization: str, number: int) -> Sent:
        self.allow(authorization, "pull_requests", "read")
        one = self._subject(number)
        head = filled(schema.PullRequestPropHead, sha=one["head_sha"])
        return 200, {}, filled(schema.PullRequest, number=number, head=head)

    def list_comments(self, _ask: Ask, authorization: str, number: int) -> Sent:
        self.allow(authorization, "issues", "read")
        return 200, {}, [self._comment(key) for key, one in self.comments.items() if one["number"] == number]

    def post_comment(self, ask: Ask, authorization: str, number: int) -> Sent:
        self.allow(authorization, "issues", "write")
        self._subject(number)
        body = schema.ReposOwnerRepoIssuesIssueNumberCommentsPostBody.model_validate(ask.body).body
        key = self._add_comment(number, body, by="samehere[bot]", app=APP)
        return 201, {}, self._comment(key)

    def edit_comment(self, ask: Ask, authorization: str, key: int) -> Sent:
        self.allow(authorization, "issues", "write")
        if self.comments.get(key, {}).get("app") != APP:
            raise _RefusedError(404)
        body = schema.ReposOwnerRepoIssuesCommentsCommentIdPatchBody.model_validate(ask.body).body
        self.comments[key]["body"] = body
        return 200, {}, self._comment(key)

    def list_checks(self, _ask: Ask, authorization: str, sha: str) -> Sent:
        self.allow(authorization, "checks", "read")
        runs = [self._check(key) for key, one in self.checks.items() if one["head_sha"] == sha]
        answer = schema.ReposOwnerRepoCommitsRefCheckRunsGetResponse200
        return 200, {}, filled(answer, total_count=len(runs), check_runs=runs)

    def post_check(self, ask: Ask, authorization: str) -> Sent:
        self.allow(authorization, "checks", "write")
        completed = ask.body.get("status") == "completed"
        model = schema.ReposOwnerRepoCheckRunsPostBodyOneof1
        if completed:
            model = schema.ReposOwnerRepoCheckRunsPostBodyOneof0
        model.model_validate(ask.body)
        key = len(self.checks) + 900
        self.checks[key] = dict(ask.body)
        return 201, {}, self._check(key)

    def edit_check(self, ask: Ask, authorization: str, key: int) -> Sent:
        self.allow(authorization, "checks", "write")
        if key not in self.checks:
            raise _RefusedError(404)
        completed = ask.body.get("status") == "completed"
        model = schema.ReposOwnerRepoCheckRunsCheckRunIdPatchBodyAnyof1
        if completed:
            model = schema.ReposOwnerRepoCheckRunsCheckRunIdPatchBodyAnyof0
        model.model_validate(ask.body)
        self.checks[key].update(ask.body)
        return 200, {}, self._check(key)

    def _subject(self, number: int) -> dict[str, Any]:
        if number not in self.subjects:
            raise _RefusedError(404)
        return self.subjects[number]

    def _add_comment(self, number: int, body: str, *, by: str, app: str | None) -> int:
        key = len(self.comments) + 5000
        self.comments[key] = {"number": number, "body": body, "by": by, "app": app}
        return key

    def _comment(self, key: int) -> dict[str, Any]:
        one = self.comments[key]
        by_app = None if one["app"] is None else filled(schema.Integration, client_id=one["app"])
        facts = {"body": one["body"], "user": _user(one["by"]), "performed_via_github_app": by_app}
        return filled(schema.IssueComment, id=key, **facts)

    def _check(self, key: int) -> dict[str, Any]:
        one = self.checks[key]
        names = ("name", "head_sha", "external_id", "status")
        output = filled(schema.CheckRunPropOutput, **one["output"])
        facts = {name: one[name] for name in names}
        return filled(schema.CheckRun, id=key, conclusion=one.get("conclusion"), output=output, **facts)


def _moment() -> str:
    return datetime.now(UTC).isoformat()


def int_if_digits(text: str) -> int | str:
    return int(text) if text.isdigit() else text


def signed(kind: str, payload: dict[str, Any]) -> Event:
    """The body and the headers of an event, signed as GitHub signs."""
    body = json.dumps(payload).encode()
    return body, {
        "content-type": "application/json",
        "user-agent": "GitHub-Hookshot/044aadd",
        "x-github-event": kind,
        "x-github-delivery": str(uuid.uuid4()),
        "x-hub-signature-256": webhooks.sign(SECRET, body, method="sha256"),
    }


_REPOSITORY = f"/repos/(?i:{REPOSITORY})"
ROUTES: dict[tuple[str, str], Callable[..., Sent]] = {
    ("POST", r"/app/installations/(\d+)/access_tokens"): StandIn.token,
    ("GET", rf"{_REPOSITORY}/collaborators/([^/]+)/permission"): StandIn.role,
    ("GET", rf"{_REPOSITORY}/issues/(\d+)"): StandIn.issue,
    ("GET", rf"{_REPOSITORY}/pulls/(\d+)"): StandIn.pull,
    ("GET", rf"{_REPOSITORY}/issues/(\d+)/comments"): StandIn.list_comments,
    ("POST", rf"{_REPOSITORY}/issues/(\d+)/comments"): StandIn.post_comment,
    ("PATCH", rf"{_REPOSITORY}/issues/comments/(\d+)"): StandIn.edit_comment,
    ("GET", rf"{_REPOSITORY}/commits/(\w+)/check-runs"): StandIn.list_checks,
    ("POST", rf"{_REPOSITORY}/check-runs"): StandIn.post_check,
    ("PATCH", rf"{_REPOSITORY}/check-runs/(\d+)"): StandIn.edit_check,
}


@contextmanager
def github() -> Iterator[StandIn]:
    """GitHub, on a free port of loopback."""
    stand_in = StandIn()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            size = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(size)) if size else None
            ask = Ask(method=self.command, path=self.path, body=body)
            status, headers, data = stand_in.answer(ask, self.headers.get("Authorization", ""))
            raw = json.dumps(data).encode()
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(raw))}.items():
                self.send_header(name, value)
            self.send_header("Content-Type", "application/json; charset=utf-8")
            self.end_headers()
            self.wfile.write(raw)

        do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = answer  # noqa: N815  # names of the library

        def log_message(self, *_words: Any) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        stand_in.url = f"http://127.0.0.1:{server.server_address[1]}"
        yield stand_in
        server.shutdown()
        thread.join()
