"""Loading the templates of earlier revisions: the data of ControllerRevisions on the host, checked before its use."""

from uniteddeployment.controller.host import Host
from uniteddeployment.controller.objects import FullRevision
from uniteddeployment.controller.observe import Observer
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.errors import Malformed, NotFound
from uniteddeployment.kube.resource import CONTROLLERREVISIONS
from uniteddeployment.planning.application import Subject
from uniteddeployment.planning.revisions import mismatch


async def load_template(client: Client, host: Host, observer: Observer, subject: Subject, name: str) -> None:
    """Read a ControllerRevision that a plan asks for, so that the next plan has its template, or knows why not.

    Somebody may have deleted it, or put another one of that name in its place. Raises KubeError when the host does not
    answer: then nothing is known of it.
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
