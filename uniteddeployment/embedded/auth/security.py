"""The security checks of every request: authentication, impersonation and authorization."""

from collections.abc import Mapping
from datetime import datetime
from urllib.parse import urlencode

from uniteddeployment.embedded.auth import attributes, impersonation
from uniteddeployment.embedded.auth.attributes import Attributes, forbidden
from uniteddeployment.embedded.auth.audit import AuditEvent
from uniteddeployment.embedded.auth.authentication import Authenticator
from uniteddeployment.embedded.auth.escalation import Gate
from uniteddeployment.embedded.auth.impersonation import Impersonation
from uniteddeployment.embedded.auth.rbac import ALLOWED, Decision, RbacAuthorizer
from uniteddeployment.embedded.auth.tokens import ServiceAccountTokens
from uniteddeployment.embedded.auth.users import ANONYMOUS, is_master
from uniteddeployment.embedded.discovery.routes import Address
from uniteddeployment.embedded.http import Identity, Request, Response
from uniteddeployment.embedded.storage.state import Core


class Security:
    """Authentication and authorization of one cluster. ``tokens`` are the configured bearer tokens."""

    def __init__(self, core: Core, tokens: Mapping[str, Identity]) -> None:
        self.accounts = ServiceAccountTokens(core)
        self.authenticator = Authenticator(tokens, self.accounts)
        self.authorizer = RbacAuthorizer(core)
        self.impersonation = Impersonation(self.authorizer.decide)


class Accessed:
    """The checks of one request. ``address`` is None if the path is not that of a resource."""

    __slots__ = (
        "_asked", "_decision", "_identified", "_impersonator", "_security", "_watch", "address", "identity", "query",
        "request",
    )  # fmt: skip

    def __init__(
        self,
        security: Security,
        request: Request,
        address: Address | None,
        query: Mapping[str, str],
        *,
        watch: bool,
    ) -> None:
        self._security = security
        self._watch = watch
        self._asked: Attributes | None = None
        self._impersonator: Identity | None = None
        self._decision: Decision | None = None
        self._identified = False
        self.request = request
        self.address = address
        self.query = query
        self.identity: Identity = ANONYMOUS
        """The effective user; None until :meth:`check`."""

    @property
    def attributes(self) -> Attributes:
        """The attributes of the request."""
        if self._asked is None:
            request = self.request
            self._asked = attributes.of_request(
                request.method, request.path, self.address, self.query, watch=self._watch
            )
        return self._asked

    def check(self) -> None:
        """Authenticate and authorize the request. Raises StatusError."""
        security, headers = self._security, self.request.headers
        self.identity = security.authenticator.identify(self.request)
        self._identified = True
        wanted = impersonation.wanted(headers)
        if wanted is not None:
            asking = self.identity
            self.identity = security.impersonation.impersonate(asking, wanted, self.attributes)
            self._impersonator = asking
        if is_master(self.identity):
            self._decision = ALLOWED
            return
        decision = self._decision = security.authorizer.decide(self.identity, self.attributes)
        if not decision.allowed:
            raise forbidden(self.identity, self.attributes, decision.reason)

    def gate(self) -> Gate | None:
        """The checks for writes of this request; None for members of ``system:masters``."""
        if is_master(self.identity):
            return None
        return Gate(self._security.authorizer, self.identity, self.attributes)

    def event(self, at: datetime, response: Response) -> AuditEvent:
        """The audit event of the request and its response."""
        request, decision = self.request, self._decision
        return AuditEvent(
            at,
            request.method,
            f"{request.path}?{urlencode(request.query)}" if request.query else request.path,
            self.attributes,
            response.status,
            self.identity if self._identified else None,
            self._impersonator,
            version=self.address.version if self.address is not None else "",
            user_agent=request.headers.get("user-agent", ""),
            decision="" if decision is None else "allow" if decision.allowed else "forbid",
            reason="" if decision is None else decision.reason,
            streams=response.stream is not None,
        )
