"""Access control: bearer tokens with scopes. Without a token, the settings grant scopes to every caller."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import Depends, Form, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from sqlalchemy.orm import Session

from app.bounded.callers import trust_caller
from app.errors import ForbiddenError, UnauthorisedError
from app.http.state import SessionDep, SettingsDep, state_of
from app.runs.maintenance.tokens import Scope, Token, any_tokens, authenticate
from app.runs.rows.acts import LOCAL

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
    scopes = settings.anonymous_scopes
    if scopes is None:
        scopes = _default_scopes(session, settings.host, scope=scope)
    if scope not in scopes:
        raise UnauthorisedError(f"This needs a token with the scope {scope}. Ask the operator for one.")
    if scope is not Scope.READ:
        trust_caller()
    return None


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


def requires(scope: Scope) -> Callable[..., Token | None]:
    """A dependency that refuses callers without the scope."""

    def dependency(
        request: Request, session: SessionDep, settings: SettingsDep, credentials: Credentials
    ) -> Token | None:
        checked: dict[Scope, Token | None] = getattr(request.state, "checked_scopes", {})
        if scope in checked:
            return checked[scope]
        return _allow(request, session, settings, credentials, scope=scope)

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
    with state.sessions.begin() as session:
        token = _allow(request, session, state.settings, credentials, scope=scope)
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
    """The name of a maintainer who sent a form. Browsers send no `Authorization`, so the token is a field."""
    if credentials is None and token.strip():
        credentials = HTTPAuthorizationCredentials(scheme="Bearer", credentials=token.strip())
    return who(_allow(request, session, settings, credentials, scope=Scope.MAINTAIN))


# The name of the maintainer who sent a form.
MaintainerByForm = Annotated[str, Depends(_by_form, scope="function")]


def token_of(token: Token | None) -> str | None:
    """The id of a token, as events name the caller."""
    return None if token is None else token.id
