"""Tokens are shown once, stored as a digest, and have scopes."""

from __future__ import annotations

import pytest
from sqlalchemy import select
from stage import Stage

from app.errors import InputError, UnauthorisedError
from app.runs.maintenance.tokens import Scope, any_tokens, authenticate, create, list_tokens, revoke
from app.storage.models import TokenRow


def test_a_token_opens_until_it_is_revoked(stage: Stage) -> None:
    with stage.session() as session:
        assert not any_tokens(session)
        new = create(session, name="bot", scopes=[Scope.SUBMIT])
    with stage.session() as session:
        assert any_tokens(session)
        token = authenticate(session, new.secret)
        assert token.allows(Scope.READ)
        assert token.allows(Scope.SUBMIT)
        assert not token.allows(Scope.MAINTAIN)
        row = session.scalars(select(TokenRow)).one()
        assert new.secret not in (row.digest, row.name)
        with pytest.raises(UnauthorisedError):
            authenticate(session, new.secret + "x")
        revoke(session, token.id)
    with stage.session() as session:
        with pytest.raises(UnauthorisedError):
            authenticate(session, new.secret)
        assert not any_tokens(session)
        assert [token.name for token in list_tokens(session)] == ["bot"]


@pytest.mark.parametrize(("name", "scopes"), [("", [Scope.READ]), ("x", []), ("a\nb", [Scope.READ])])
def test_a_token_needs_a_name_and_a_scope(stage: Stage, name: str, scopes: list[Scope]) -> None:
    with pytest.raises(InputError), stage.session() as session:
        create(session, name=name, scopes=scopes)
