"""Authentication: bearer tokens, client certificates and anonymous requests."""

from collections.abc import Mapping

from uniteddeployment.embedded.auth.jwt import UNKNOWN, InvalidTokenError
from uniteddeployment.embedded.auth.tokens import AUDIENCES, Authenticated, ServiceAccountTokens
from uniteddeployment.embedded.auth.users import ANONYMOUS, authenticated
from uniteddeployment.embedded.errors import StatusError
from uniteddeployment.embedded.http import Identity, Request


class Authenticator:
    """Authenticates users by configured tokens, issued tokens and client certificates."""

    def __init__(self, tokens: Mapping[str, Identity], accounts: ServiceAccountTokens) -> None:
        self._tokens = tokens
        self._accounts = accounts

    def identify(self, request: Request) -> Identity:
        """The user of a request. Raises StatusError (401) for an unknown token."""
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        token = token.strip()
        if token and scheme.lower() == "bearer":
            known = self._tokens.get(token)
            if known is not None:
                return authenticated(known)
            try:
                return self.authenticate_token(token).identity
            except InvalidTokenError:
                raise StatusError(401, "Unauthorized", "Unauthorized") from None
        return ANONYMOUS if request.peer is None else authenticated(request.peer)

    def authenticate_token(self, token: str, audiences: tuple[str, ...] = AUDIENCES) -> Authenticated:
        """The user of a token. Raises InvalidTokenError, whose reason quotes nothing of the token."""
        identity = self._tokens.get(token)
        if identity is None:
            try:
                return self._accounts.authenticate_token(token, audiences)
            except InvalidTokenError as error:
                raise (error if str(error) == UNKNOWN else InvalidTokenError(f"[{UNKNOWN}, {error}]")) from None
        # The audience of a configured token is the cluster.
        shared = tuple(audience for audience in audiences if audience in AUDIENCES)
        if not shared:
            raise InvalidTokenError(UNKNOWN)
        return Authenticated(authenticated(identity), shared)
