"""Takes an event from GitHub: verified, and stored if it asks for something. The work is done later.

Nothing of a stranger's text is stored, and nothing is asked of GitHub here.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from pydantic import BaseModel, ValidationError
from sqlalchemy.orm import Session

from app.clock import now
from app.errors import InputError, UnauthorisedError
from app.runs.github.command import command_in
from app.runs.github.repositories import Repository, repositories
from app.runs.github.secrets import webhook_secret
from app.settings import ServiceSettings
from app.storage.models.github_delivery import DeliveryKind
from app.storage.queries.doors import github as queries

_DELIVERY = re.compile(r"[A-Za-z0-9-]{1,64}")
LOGIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


class Receipt(BaseModel):
    """The answer to an event. GitHub shows it to the owner of the App."""

    taken: bool
    reason: str = ""


class _Installation(BaseModel):
    id: int


class _Repository(BaseModel):
    full_name: str


class _Sender(BaseModel):
    login: str
    type: str


class _Label(BaseModel):
    name: str


class _Subject(BaseModel):
    """An issue, or a pull request."""

    number: int
    updated_at: datetime
    pull_request: Any = None


class _Comment(BaseModel):
    body: str
    created_at: datetime


class _Event(BaseModel):
    """The part of a payload that counts. GitHub sends much more."""

    action: str
    repository: _Repository
    sender: _Sender
    installation: _Installation
    issue: _Subject | None = None
    pull_request: _Subject | None = None
    label: _Label | None = None
    comment: _Comment | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    """A request for a run."""

    kind: DeliveryKind
    number: int
    is_pull: bool
    preset: str | None
    happened_at: datetime


def take_event(
    session: Session, body: bytes, headers: Mapping[str, str], *, settings: ServiceSettings
) -> Receipt:
    """Verify and store an event. Whatever asks for nothing is answered, and forgotten.

    Raises UnauthorisedError for a wrong signature, InputError for a payload that is none, SetupError.
    """
    _verify(body, headers.get("x-hub-signature-256", ""), settings=settings)
    delivery = headers.get("x-github-delivery", "")
    if _DELIVERY.fullmatch(delivery) is None:
        raise InputError("X-GitHub-Delivery is missing.", code="bad_event", field="X-GitHub-Delivery")
    kind = headers.get("x-github-event", "")
    if kind not in {"issues", "pull_request", "issue_comment"}:
        return Receipt(taken=False, reason="this kind of event asks for nothing")
    try:
        event = _Event.model_validate_json(body)
    except ValidationError:
        raise InputError("This is no event of a GitHub App.", code="bad_event") from None
    name = event.repository.full_name.lower()
    repository = repositories(settings).get(name)
    if repository is None:
        return Receipt(taken=False, reason="this repository is not in the list of this service")
    if event.sender.type != "User" or LOGIN.fullmatch(event.sender.login) is None:
        return Receipt(taken=False, reason="only people are obeyed")
    request = _request(kind, event, repository)
    if request is None:
        return Receipt(taken=False, reason="neither the label nor a command")
    moment = now()
    if request.happened_at < moment - timedelta(days=settings.github_days):
        return Receipt(taken=False, reason="too old")
    is_new = queries.add_delivery(
        session,
        {
            "id": delivery,
            "digest": hashlib.sha256(body).hexdigest(),
            "kind": request.kind,
            "installation_id": event.installation.id,
            "repository": name,
            "number": request.number,
            "is_pull": request.is_pull,
            "sender": event.sender.login,
            "preset": request.preset,
            "state": "waiting",
            "tries": 0,
            "next_at": moment,
            "created_at": moment,
        },
    )
    return Receipt(taken=is_new, reason="" if is_new else "this event came before")


def _verify(body: bytes, signature: str, *, settings: ServiceSettings) -> None:
    """As GitHub signs: HMAC-SHA256 over the body, compared in constant time. The older SHA-1 is not taken."""
    secret = webhook_secret(settings).get_secret_value().encode()
    right = "sha256=" + hmac.new(secret, body, hashlib.sha256).hexdigest()
    # As bytes: strings with other than ASCII characters can't be compared.
    if not hmac.compare_digest(right.encode(), signature.encode("utf-8", "replace")):
        raise UnauthorisedError("The signature of this event is not right (X-Hub-Signature-256).")


def _request(kind: str, event: _Event, repository: Repository) -> _Request | None:
    if kind == "issue_comment":
        if event.action != "created" or event.comment is None or event.issue is None:
            return None
        command = command_in(event.comment.body)
        if command is None:
            return None
        return _Request(
            kind="comment",
            number=event.issue.number,
            is_pull=event.issue.pull_request is not None,
            preset=command.preset,
            happened_at=event.comment.created_at,
        )
    subject = event.issue if kind == "issues" else event.pull_request
    if event.action != "labeled" or event.label is None or subject is None:
        return None
    if event.label.name.lower() != repository.label.lower():
        return None
    return _Request(
        kind="label",
        number=subject.number,
        is_pull=kind == "pull_request",
        preset=None,
        happened_at=subject.updated_at,
    )
