"""A run is cancelled by its submitter or a maintainer, and by nobody else."""

from __future__ import annotations

from typing import Annotated

from fastapi import Cookie, Depends, Header, Request

from app.errors import ForbiddenError, UnauthorisedError
from app.http.access import CanSubmit, Credentials, requires
from app.http.state import SessionDep, SettingsDep
from app.runs.maintenance.tokens import Scope, Token
from app.runs.rows.withdraw_secret import secret_digest
from app.storage.queries import runs as queries

# The cookie that a browser gets with the answer to a submission, for the pages of that run.
WITHDRAW_COOKIE = "samehere_withdraw"
_may_maintain = requires(Scope.MAINTAIN)


def _cancelling(
    *,
    request: Request,
    session: SessionDep,
    settings: SettingsDep,
    credentials: Credentials,
    token: CanSubmit,
    secret: Annotated[
        str | None,
        Header(
            alias="Withdraw-Secret",
            max_length=100,
            description="the last part of `withdraw_url`: for a submitter who has no token",
        ),
    ] = None,
    cookie: Annotated[
        str | None, Cookie(alias=WITHDRAW_COOKIE, max_length=100, include_in_schema=False)
    ] = None,
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
        return _may_maintain(request, session, settings, credentials)
    except (ForbiddenError, UnauthorisedError) as error:
        raise ForbiddenError(
            "Only the submitter of this run or a maintainer can cancel it. Send the token that submitted it,"
            " or the header Withdraw-Secret with the last part of its withdraw link.",
            code="not_the_submitter",
        ) from error


# The caller, who may cancel the run of the address.
CanCancel = Annotated[Token | None, Depends(_cancelling, scope="function")]
