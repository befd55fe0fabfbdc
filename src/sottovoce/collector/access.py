"""Access rules: which role may call which route. Analysts and admins show a token with each request."""

from __future__ import annotations

import asyncio

from sottovoce.collector import tokens
from sottovoce.collector.store import Store
from sottovoce.web.http import Problem, Request

TOKEN_CHALLENGE = {"www-authenticate": "Bearer"}


class Access:
    """Lets those in who have a token of the right role."""

    def __init__(self, store: Store) -> None:
        self.store = store

    async def role(self, token: str) -> str | None:
        """The role of a token, or None if it is not valid."""
        return await asyncio.to_thread(tokens.role_of, self.store, token)

    async def require(self, request: Request, *roles: str) -> None:
        """Raise a `Problem` unless the request has a token of one of these roles."""
        scheme, _, token = request.header(b"authorization").partition(" ")
        if scheme.lower() != "bearer" or not token:
            raise Problem(401, "no_token", "this needs a token", TOKEN_CHALLENGE)
        role = await self.role(token.strip())
        if role is None:
            raise Problem(401, "bad_token", "the token is not valid", TOKEN_CHALLENGE)
        if role not in roles:
            raise Problem(403, "wrong_role", f"this needs a token of the role {roles[-1]}")
