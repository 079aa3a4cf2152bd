"""Who may do what: bearer tokens with scopes; without a token, what the settings grant to anyone who can reach us."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from fastapi import Depends, Form, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from sqlalchemy.orm import Session

from app.errors import ForbiddenError, UnauthorisedError
from app.http.state import SessionDep, SettingsDep
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
        return token
    if request.headers.get("Authorization"):
        raise UnauthorisedError("Send a token as `Authorization: Bearer …`.")
    granted = (
        settings.anonymous_scopes
        if settings.anonymous_scopes is not None
        else _default(session, settings.host, scope=scope)
    )
    if scope not in granted:
        raise UnauthorisedError(f"This needs a token with the scope {scope}: ask the operator for one.")
    return None


def _default(session: Session, host: str, *, scope: Scope) -> tuple[str, ...]:
    """On loopback whoever reaches us may submit, and maintain as long as there is no token; elsewhere only read."""
    if host not in {"127.0.0.1", "::1", "localhost"}:
        return (Scope.READ,)
    return (
        Scope.READ,
        Scope.SUBMIT,
        *((Scope.MAINTAIN,) if scope is Scope.MAINTAIN and not any_tokens(session) else ()),
    )


def who(token: Token | None) -> str:
    """Under which name an act is kept."""
    return LOCAL if token is None else token.name


def requires(scope: Scope) -> Callable[..., Token | None]:
    """A dependency that lets only those through who hold the scope."""

    def allowed(
        request: Request, session: SessionDep, settings: SettingsDep, credentials: Credentials
    ) -> Token | None:
        return _allow(request, session, settings, credentials, scope=scope)

    return allowed


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
    """A browser sends no header of ours: the token stands in the form."""
    if credentials is None and token.strip():
        credentials = HTTPAuthorizationCredentials(scheme="Bearer", credentials=token.strip())
    return who(_allow(request, session, settings, credentials, scope=Scope.MAINTAIN))


# Who acts on a page; the name under which the act is kept.
MaintainerByForm = Annotated[str, Depends(_by_form, scope="function")]


def token_of(token: Token | None) -> str | None:
    """Who it was, as events name it: the id of the token, none where none was needed."""
    return None if token is None else token.id
