"""Preparation of Jobs (labels and selector by uid) and DaemonSets (template generation)."""

from uniteddeployment.embedded.apimachinery.resources import Obj

CONTROLLER_UID = "batch.kubernetes.io/controller-uid"
JOB_NAME = "batch.kubernetes.io/job-name"
_OLD_NAMES = ("controller-uid", "job-name")
_TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"


def prepare_job(job: Obj) -> None:
    spec, metadata = job["spec"], job["metadata"]
    if spec.get("manualSelector"):
        return
    uid = metadata["uid"]
    template = spec.setdefault("template", {}).setdefault("metadata", {})
    labels = template.setdefault("labels", {})
    for uid_label, name_label in ((CONTROLLER_UID, JOB_NAME), _OLD_NAMES):
        labels[uid_label] = uid
        labels[name_label] = metadata.get("name", "")
    spec.setdefault("selector", {}).setdefault("matchLabels", {}).setdefault(CONTROLLER_UID, uid)
    if not metadata.get("labels"):
        # Reading a stored job adds the labels of its template, and the response is the stored object.
        metadata["labels"] = dict(labels)


def prepare_daemon_set_update(new: Obj, old: Obj, subresource: str) -> None:
    if subresource == "status":
        return
    before = (old["metadata"].get("annotations") or {}).get(_TEMPLATE_GENERATION, "1")
    changed = new["spec"].get("template") != old["spec"].get("template")
    count = int(before) if before.isdigit() else 0
    new["metadata"].setdefault("annotations", {})[_TEMPLATE_GENERATION] = str(count + 1) if changed else before
