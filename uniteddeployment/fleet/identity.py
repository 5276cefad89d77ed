"""The identity of a cluster: the uid of its namespace kube-system, independent of its address (I14)."""

from collections.abc import Callable

from uniteddeployment.kube.client import Client
from uniteddeployment.kube.decoding import DecodingError, decode
from uniteddeployment.kube.errors import Forbidden, KubeError, NotFound, Unauthorized
from uniteddeployment.kube.meta import PartialObject
from uniteddeployment.kube.requests import Request, failure
from uniteddeployment.kube.resource import NAMESPACES
from uniteddeployment.kube.transport import Answer
from uniteddeployment.text import shortened

SYSTEM_NAMESPACE = "kube-system"
LONGEST_UID = 128
_REQUEST = Request("GET", NAMESPACES.path(None, SYSTEM_NAMESPACE), verb="probe", resource=NAMESPACES.plural)


class UnidentifiedError(KubeError):
    """The cluster answers, and cannot be identified. The message says what to do."""


class RefusedError(UnidentifiedError):
    """The cluster does not accept the credentials."""


class MissingRightError(UnidentifiedError):
    """The credentials do not have the right to read the namespace."""


async def cluster_uid(
    client: Client,
    *,
    timeout: float,  # noqa: ASYNC109  # handed to the transport
    answered: Callable[[Answer], None] = lambda _answer: None,
) -> str:
    """The uid of the cluster. Raises KubeError if it does not answer, UnidentifiedError if it has no uid.

    ``answered`` is called with the answer, also with a refusal.
    """
    try:
        answer = await client.send_probe(_REQUEST, timeout=timeout)
        answered(answer)
        if not 200 <= answer.status < 300:
            raise failure(answer.status, answer.headers, answer.body)
        uid = decode(answer.body, PartialObject).metadata.uid
    except Unauthorized:
        raise RefusedError("it refuses our credentials (401 Unauthorized)") from None
    except Forbidden:
        raise MissingRightError(
            f"the credentials may not get the namespace {SYSTEM_NAMESPACE}, whose uid identifies the cluster: "
            "grant the verb get on it, as config/member does"
        ) from None
    except NotFound:
        raise UnidentifiedError(f"it has no namespace {SYSTEM_NAMESPACE}, whose uid identifies the cluster") from None
    except DecodingError as error:
        raise UnidentifiedError(f"it does not answer like a Kubernetes API server: {error}") from None
    if not uid:
        raise UnidentifiedError(f"its namespace {SYSTEM_NAMESPACE} has no uid, which identifies the cluster")
    return shortened(uid, LONGEST_UID)
