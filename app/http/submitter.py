"""A run is cancelled, and a claim corrected, by the submitter or a maintainer, and by nobody else."""

from __future__ import annotations

from typing import Annotated

from fastapi import Cookie, Depends, Header, Request
from fastapi.security import HTTPAuthorizationCredentials
from sqlalchemy.orm import Session

from app.errors import ForbiddenError, UnauthorisedError
from app.http.access import CanSubmit, Credentials, token_with, who
from app.http.state import SessionDep, SettingsDep
from app.runs.maintenance.tokens import Scope, Token
from app.runs.rows.acts import SUBMITTER
from app.runs.rows.withdraw_secret import secret_digest
from app.settings import ServiceSettings
from app.storage.queries import runs as queries

# The cookie that a browser gets with the answer to a submission, for the pages of that run and its report.
WITHDRAW_COOKIE = "samehere_withdraw"
WithdrawSecret = Annotated[
    str | None,
    Header(
        alias="Withdraw-Secret",
        max_length=100,
        description="the last part of `withdraw_url`: for a submitter who has no token",
    ),
]
WithdrawCookie = Annotated[str | None, Cookie(alias=WITHDRAW_COOKIE, max_length=100, include_in_schema=False)]


def _cancelling(
    *,
    request: Request,
    session: SessionDep,
    settings: SettingsDep,
    credentials: Credentials,
    token: CanSubmit,
    secret: WithdrawSecret = None,
    cookie: WithdrawCookie = None,
) -> Token | None:
    run_id = request.path_params.get("run_id") or request.path_params.get("bisection_id") or ""
    run = queries.run_of(session, run_id)
    if run is None:
        # The route says that there is no such run.
        return token
    if token is not None and (token.id == run.submitter or token.allows(Scope.MAINTAIN)):
        return token
    # On loopback all callers without a token are one submitter: they are on this machine.
    if token is None and run.submitter is None and settings.listens_on_loopback:
        return token
    report = queries.report_of(session, run.report_id)
    digests = {secret_digest(each) for each in (secret, cookie) if each}
    if report is not None and report.withdraw_digest in digests:
        return token
    try:
        return token_with(request, session, settings, credentials, scope=Scope.MAINTAIN)
    except (ForbiddenError, UnauthorisedError) as error:
        raise ForbiddenError(
            "Only the submitter of this run or a maintainer can cancel it. Send the token that submitted it,"
            " or the header Withdraw-Secret with the last part of its withdraw link.",
            code="not_the_submitter",
        ) from error


# The caller, who may cancel the run of the address.
CanCancel = Annotated[Token | None, Depends(_cancelling, scope="function")]


def _correcting(
    *,
    report_id: str,
    request: Request,
    session: SessionDep,
    settings: SettingsDep,
    credentials: Credentials,
    token: CanSubmit,
    secret: WithdrawSecret = None,
) -> str:
    return corrector(request, session, settings, credentials, token=token, report_id=report_id, secret=secret)


def corrector(
    request: Request,
    session: Session,
    settings: ServiceSettings,
    credentials: HTTPAuthorizationCredentials | None,
    *,
    token: Token | None,
    report_id: str,
    secret: str | None,
) -> str:
    """The name of the caller, who may correct the claim of a report. Raises ForbiddenError."""
    report = queries.report_of(session, report_id)
    if report is None:
        # The route says that there is no such report.
        return who(token)
    first = queries.first_run(session, report_id)
    submitter = None if first is None else first.submitter
    if token is not None and (token.id == submitter or token.allows(Scope.MAINTAIN)):
        return who(token)
    if secret and report.withdraw_digest == secret_digest(secret):
        return SUBMITTER
    # On loopback all callers without a token are one submitter: they are on this machine.
    if token is None and submitter is None and settings.listens_on_loopback:
        return who(token)
    try:
        return who(token_with(request, session, settings, credentials, scope=Scope.MAINTAIN))
    except (ForbiddenError, UnauthorisedError) as error:
        raise ForbiddenError(
            "Only the submitter of this report or a maintainer can correct its claim. Send the token that"
            " submitted it, or the header Withdraw-Secret with the last part of its withdraw link.",
            code="not_the_submitter",
        ) from error


# The name of the caller, who may correct the claim of the report of the address.
CanCorrect = Annotated[str, Depends(_correcting, scope="function")]


def corrector_by_form(
    request: Request,
    session: Session,
    settings: ServiceSettings,
    *,
    report_id: str,
    secret: str,
    cookie: str | None,
) -> str:
    """The same for a form. Its field holds the withdraw secret; `cookie` is that of the submitter's browser.

    The field may hold a token, too, as programs send it. A maintainer is signed in.
    """
    report = queries.report_of(session, report_id)
    digests = {secret_digest(each) for each in (secret, cookie) if each}
    if report is not None and report.withdraw_digest in digests:
        return SUBMITTER
    credentials = HTTPAuthorizationCredentials(scheme="Bearer", credentials=secret) if secret else None
    token = token_with(request, session, settings, credentials, scope=Scope.SUBMIT)
    return corrector(request, session, settings, credentials, token=token, report_id=report_id, secret=None)


def _owner(settings: SettingsDep, token: CanSubmit) -> str | None:
    if token is None and not settings.listens_on_loopback:
        raise ForbiddenError("A webhook needs a token of its own. Ask the operator for one.", code="no_token")
    # On loopback all callers without a token are one owner: they are on this machine.
    return None if token is None else token.id


# The owner of webhooks: the id of the caller's token. NULL for the callers without a token, on loopback.
WebhookOwner = Annotated[str | None, Depends(_owner, scope="function")]
