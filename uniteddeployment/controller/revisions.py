"""Loads the templates of earlier revisions from ControllerRevisions on the host, and checks them."""

from uniteddeployment.controller.host import Host
from uniteddeployment.controller.objects import FullRevision
from uniteddeployment.controller.observe import Observer
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.decoding import DecodingError
from uniteddeployment.kube.errors import Malformed, NotFound
from uniteddeployment.kube.resource import CONTROLLERREVISIONS
from uniteddeployment.planning.application import Subject
from uniteddeployment.planning.observed import RevisionData, RevisionRecord
from uniteddeployment.planning.revisions import mismatch

_NO_DATA = RevisionData(template={})


async def load_template(client: Client, host: Host, observer: Observer, subject: Subject, name: str) -> None:
    """Read a ControllerRevision for the observer: its template, or why it cannot be used.

    It may have been deleted or replaced by another one of the same name. Raises KubeError if the host does not answer.
    """
    key = (subject.namespace, subject.name)
    record = next((record for record in host.records(key) if record.name == name), None)
    try:
        full = await client.get(CONTROLLERREVISIONS, name, FullRevision, namespace=subject.namespace)
    except NotFound:
        host.drop_revision(key, name)
        return
    except Malformed as error:
        data, problem = _NO_DATA, _unreadable(error)
    else:
        data, problem = checked(record, full)
    if not problem:
        observer.templates[subject.namespace, name] = data
    elif record:
        observer.damaged[subject.namespace, name, record.uid] = problem


def checked(record: RevisionRecord | None, full: FullRevision) -> tuple[RevisionData, str]:
    """The data of a ControllerRevision, and why it cannot be used; empty if it can.

    Without ``record``, only its form is checked.
    """
    try:
        data = full.content()
        problem = mismatch(record, data) if record is not None else ""
    except (DecodingError, RecursionError) as error:
        return _NO_DATA, _unreadable(error)
    return (_NO_DATA if problem else data), problem


def _unreadable(error: Exception) -> str:
    return f"its data is unreadable: {error}"
