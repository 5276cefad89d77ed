"""Who asks: bearer tokens, client certificates, and nobody in particular."""

from collections.abc import Mapping

from uniteddeployment.embedded.auth.jwt import UNKNOWN, InvalidTokenError
from uniteddeployment.embedded.auth.tokens import AUDIENCES, Authenticated, ServiceAccountTokens
from uniteddeployment.embedded.auth.users import ANONYMOUS, authenticated
from uniteddeployment.embedded.errors import StatusError
from uniteddeployment.embedded.http import Identity, Request


class Authenticator:
    """Knows users by the tokens that the cluster was given, by those that it has issued, and by certificates."""

    def __init__(self, tokens: Mapping[str, Identity], accounts: ServiceAccountTokens) -> None:
        self._tokens = tokens
        self._accounts = accounts

    def identify(self, request: Request) -> Identity:
        """Who asks. Raises StatusError (401) for a token that nobody has."""
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        token = token.strip()
        if token and scheme.lower() == "bearer":
            known = self._tokens.get(token)
            if known is not None:
                return authenticated(known)
            try:
                return self.recognise(token).identity
            except InvalidTokenError:
                raise StatusError(401, "Unauthorized", "Unauthorized") from None
        return ANONYMOUS if request.peer is None else authenticated(request.peer)

    def recognise(self, token: str, audiences: tuple[str, ...] = AUDIENCES) -> Authenticated:
        """Whom a token stands for. Raises InvalidTokenError, with a reason that holds nothing of the token."""
        identity = self._tokens.get(token)
        if identity is None:
            try:
                return self._accounts.recognise(token, audiences)
            except InvalidTokenError as error:
                raise (error if str(error) == UNKNOWN else InvalidTokenError(f"[{UNKNOWN}, {error}]")) from None
        # A token that was given to the cluster is for the cluster.
        shared = tuple(audience for audience in audiences if audience in AUDIENCES)
        if not shared:
            raise InvalidTokenError(UNKNOWN)
        return Authenticated(authenticated(identity), shared)
