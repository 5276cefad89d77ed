"""The token of a registered member, which is replaced while connections use it."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime

import structlog

from uniteddeployment.fleet import rotation
from uniteddeployment.fleet.account import read_lifetime
from uniteddeployment.fleet.rotation import Schedule
from uniteddeployment.kube.credentials import CredentialsError
from uniteddeployment.kube.errors import KubeError

_log = structlog.get_logger(__name__)

REREAD_SECONDS = 15.0
"""The Secret is read at most this often because its token is refused."""


class MemberToken:
    """Provides the token in a Secret that ``ud clusters register`` created.

    It is replaced in place, so connections that use it stay open. ``reread`` reads the Secret. ``issued`` is when the
    token was issued by the clock of whoever requested it; None if that is not known.
    """

    def __init__(
        self, value: str, issued: datetime | None, reread: Callable[[], Awaitable[tuple[str, datetime | None]]]
    ) -> None:
        self.value = value
        self.issued = issued
        self._reread = reread
        self._lock = asyncio.Lock()
        self._read_at = 0.0

    def __repr__(self) -> str:
        return "MemberToken()"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MemberToken) and other.value == self.value

    __hash__ = None  # type: ignore[assignment]  # its value changes

    def schedule(self, uid: str) -> Schedule | None:
        """When it is replaced, for the Cluster with this uid; None if it does not expire."""
        life = read_lifetime(self.value)
        return rotation.schedule(life, self.issued, uid) if life is not None else None

    def replace(self, value: str, issued: datetime | None) -> None:
        """Provide another token from now on."""
        self.value, self.issued = value, issued

    async def token(self, *, refused: str | None = None) -> str:
        """The present token. If it is refused, read the Secret: the member may have been registered again."""
        if refused is not None and refused == self.value:
            await self._read_again(refused)
        return self.value

    async def _read_again(self, refused: str) -> None:
        clock = asyncio.get_running_loop().time
        async with self._lock:
            if refused != self.value or (self._read_at and clock() - self._read_at < REREAD_SECONDS):
                return  # another request has read it meanwhile
            self._read_at = clock()
            try:
                self.replace(*await self._reread())
            except (KubeError, CredentialsError) as error:
                _log.warning("token not read again", error=str(error))
