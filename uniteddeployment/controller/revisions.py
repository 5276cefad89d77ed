"""Loads the templates of earlier revisions from ControllerRevisions on the host, and checks them."""

from uniteddeployment.controller.host import Host
from uniteddeployment.controller.objects import FullRevision
from uniteddeployment.controller.observe import Observer
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.errors import Malformed, NotFound
from uniteddeployment.kube.resource import CONTROLLERREVISIONS
from uniteddeployment.planning.application import Subject
from uniteddeployment.planning.revisions import mismatch


async def load_template(client: Client, host: Host, observer: Observer, subject: Subject, name: str) -> None:
    """Read a ControllerRevision for the observer: its template, or why it cannot be used.

    It may have been deleted or replaced by another one of the same name. Raises KubeError if the host does not answer.
    """
    key = (subject.namespace, subject.name)
    record = next((one for one in host.records(key) if one.name == name), None)
    try:
        full = await client.get(CONTROLLERREVISIONS, name, FullRevision, namespace=subject.namespace)
        problem = mismatch(record, full.content()) if record else ""
    except NotFound:
        host.drop_revision(key, name)
        return
    except (Malformed, RecursionError) as error:
        problem = f"its data cannot be read: {error}"
    if not problem:
        observer.templates[subject.namespace, name] = full.content()
    elif record:
        observer.damaged[subject.namespace, name, record.uid] = problem
