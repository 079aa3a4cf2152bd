"""Access control: bearer tokens with scopes. Without a token, the settings grant scopes to every caller."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from fastapi import Depends, Form, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from sqlalchemy.orm import Session

from app.bounded.callers import trust_caller
from app.errors import ForbiddenError, UnauthorisedError
from app.http.guards import SAFE, comes_from_our_page
from app.http.state import SessionDep, SettingsDep, state_of
from app.runs.maintenance.sign_in import signed_in_token
from app.runs.maintenance.tokens import Scope, Token, any_tokens, authenticate
from app.runs.run_object.answer.disposition_part import LOCAL
from app.settings import ServiceSettings

# The cookie of a browser that has signed in.
SIGN_IN_COOKIE = "samehere_sign_in"
bearer = HTTPBearer(
    auto_error=False, scheme_name="token", description="A token made by `samehere token create --scope …`."
)
Credentials = Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)]


def _allow(
    request: Request, session: SessionDep, settings: SettingsDep, credentials: Credentials, *, scope: Scope
) -> Token | None:
    if credentials is not None:
        token = authenticate(session, credentials.credentials)
        if not token.allows(scope):
            raise ForbiddenError(f"This token lacks the scope {scope}.", code="scope_missing")
        trust_caller()
        return token
    if request.headers.get("Authorization"):
        raise UnauthorisedError("Send a token as `Authorization: Bearer …`.")
    signed_in = _signed_in(request, session)
    if signed_in is not None and signed_in.allows(scope):
        trust_caller()
        return signed_in
    scopes = settings.anonymous_scopes
    if scopes is None:
        scopes = _default_scopes(session, settings.host, scope=scope)
    if scope not in scopes:
        if signed_in is not None:
            raise ForbiddenError(f"The token of this sign-in lacks the scope {scope}.", code="scope_missing")
        raise UnauthorisedError(f"This needs a token with the scope {scope}. Ask the operator for one.")
    if scope is not Scope.READ:
        trust_caller()
    return None


def _signed_in(request: Request, session: Session) -> Token | None:
    """The token with which the browser has signed in.

    The cookie counts for reading, and for the forms of our own pages. Programs send their token.
    """
    secret = request.cookies.get(SIGN_IN_COOKIE)
    if not secret:
        return None
    if request.method not in SAFE and (
        request.url.path.startswith("/api/") or not comes_from_our_page(request)
    ):
        return None
    return signed_in_token(session, secret)


def _default_scopes(session: Session, host: str, *, scope: Scope) -> tuple[str, ...]:
    """The scopes of callers without a token.

    On loopback they may submit, and also maintain until the first token exists. Elsewhere they may only read.
    """
    if host not in {"127.0.0.1", "::1", "localhost"}:
        return (Scope.READ,)
    return (
        Scope.READ,
        Scope.SUBMIT,
        *((Scope.MAINTAIN,) if scope is Scope.MAINTAIN and not any_tokens(session) else ()),
    )


def who(token: Token | None) -> str:
    """The name under which an act is stored."""
    return LOCAL if token is None else token.name


def needs_database(request: Request, scope: Scope) -> bool:
    """Whether it takes the database to know whether a caller has a scope."""
    shows_who = request.headers.get("Authorization") or request.cookies.get(SIGN_IN_COOKIE)
    return bool(shows_who) or scope is Scope.MAINTAIN


def token_with(
    request: Request,
    session: Session,
    settings: ServiceSettings,
    credentials: HTTPAuthorizationCredentials | None,
    *,
    scope: Scope,
) -> Token | None:
    """The token of a caller with this scope. Raises UnauthorisedError, ForbiddenError."""
    checked: dict[Scope, Token | None] = getattr(request.state, "checked_scopes", {})
    if scope in checked:
        return checked[scope]
    return _allow(request, session, settings, credentials, scope=scope)


def requires(scope: Scope) -> Callable[..., Awaitable[Token | None]]:
    """A dependency that refuses callers without the scope."""

    async def dependency(
        request: Request, session: SessionDep, settings: SettingsDep, credentials: Credentials
    ) -> Token | None:
        check = partial(token_with, request, session, settings, credentials, scope=scope)
        return await run_in_threadpool(check) if needs_database(request, scope) else check()

    _SCOPES[dependency] = scope
    return dependency


# The scope that each dependency made by `requires` checks.
_SCOPES: dict[Callable[..., Any], Scope] = {}


def scope_of_dependency(call: Callable[..., Any] | None) -> Scope | None:
    """The scope that a dependency requires. None for all others."""
    return None if call is None else _SCOPES.get(call)


def check_scope(request: Request, scope: Scope) -> Token | None:
    """The caller's token. Refuses a caller without the scope, before the body is read.

    The dependency does not check again.

    Raises UnauthorisedError, ForbiddenError.
    """
    state = state_of(request)
    kind, _, secret = request.headers.get("Authorization", "").partition(" ")
    credentials = (
        HTTPAuthorizationCredentials(scheme=kind, credentials=secret.strip())
        if kind.lower() == "bearer" and secret.strip()
        else None
    )
    if needs_database(request, scope):
        with state.sessions.begin() as session:
            token = _allow(request, session, state.settings, credentials, scope=scope)
    else:
        # Without a statement there is no transaction to begin and to end.
        token = _allow(request, state.sessions(), state.settings, credentials, scope=scope)
    request.state.checked_scopes = {scope: token}
    return token


CanRead = Annotated[Token | None, Depends(requires(Scope.READ), scope="function")]
CanSubmit = Annotated[Token | None, Depends(requires(Scope.SUBMIT), scope="function")]
CanMaintain = Annotated[Token | None, Depends(requires(Scope.MAINTAIN), scope="function")]


def _by_form(
    request: Request,
    session: SessionDep,
    settings: SettingsDep,
    credentials: Credentials,
    token: Annotated[str, Form(max_length=200)] = "",
) -> str:
    """The name of a maintainer who sent a form: signed in, or with the token in a field, as programs do."""
    if credentials is None and token.strip():
        credentials = HTTPAuthorizationCredentials(scheme="Bearer", credentials=token.strip())
    return who(_allow(request, session, settings, credentials, scope=Scope.MAINTAIN))


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewer:
    """The person who looks at a page: the name of the sign-in, if there is one, and what the page offers."""

    name: str | None
    may_maintain: bool


def _viewer(request: Request, session: SessionDep, settings: SettingsDep) -> Viewer:
    signed_in = _signed_in(request, session)
    if signed_in is not None:
        return Viewer(name=signed_in.name, may_maintain=signed_in.allows(Scope.MAINTAIN))
    scopes = settings.anonymous_scopes
    if scopes is None:
        scopes = _default_scopes(session, settings.host, scope=Scope.MAINTAIN)
    return Viewer(name=None, may_maintain=Scope.MAINTAIN in scopes)


# The person who looks at a page.
ViewerDep = Annotated[Viewer, Depends(_viewer, scope="function")]
# The name of the maintainer who sent a form.
MaintainerByForm = Annotated[str, Depends(_by_form, scope="function")]


def is_encrypted(request: Request) -> bool:
    """Whether the browser uses https, perhaps to a proxy. Its cookies then never go over http."""
    return request.url.scheme == "https" or request.headers.get("origin", "").startswith("https://")


def token_of(token: Token | None) -> str | None:
    """The id of a token, as events name the caller."""
    return None if token is None else token.id
