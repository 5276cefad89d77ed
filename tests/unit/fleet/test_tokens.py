"""The client that tries a new token."""

from datetime import UTC, datetime
from typing import Any, cast

import pytest

from uniteddeployment.fleet import tokens
from uniteddeployment.fleet.clusters import ClusterMetadata, ClusterObject
from uniteddeployment.fleet.identity import UnidentifiedError
from uniteddeployment.fleet.member_token import MemberToken
from uniteddeployment.fleet.tokens import Subject, Tokens
from uniteddeployment.kube.credentials import Connection


class Closing:
    """A client that can only be closed."""

    closed = False

    async def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize(("answer", "works"), [("uid", True), ("another", False)])
async def test_a_token_is_tried_by_a_client_that_has_metrics_of_its_own_and_is_closed(
    monkeypatch: pytest.MonkeyPatch, answer: str, works: bool
) -> None:
    """Metrics are removed when a client of their name is closed; those of the member have to stay."""
    made: list[tuple[Connection, Closing]] = []

    def connect(connection: Connection) -> Any:
        made.append((connection, Closing()))
        return made[-1][1]

    async def cluster_uid(_client: Any, **_options: Any) -> str:
        return answer

    monkeypatch.setattr(tokens, "cluster_uid", cluster_uid)
    cluster = ClusterObject(ClusterMetadata("m", "ns"))
    present = MemberToken("old", None, cast("Any", None))
    connection = Connection("https://h", tokens=present, name=cluster.key)
    subject = Subject(cluster, "uid", cast("Any", None), connection, present)
    trying = Tokens(cast("Any", None), connect, lambda: datetime.now(UTC))._prove(subject, "new")
    if works:
        await trying
    else:
        with pytest.raises(UnidentifiedError):
            await trying
    ((used, client),) = made
    assert used.name != cluster.key
    assert used.tokens is not None
    assert await used.tokens.token() == "new"
    assert client.closed
