"""The disruption controller: computes the status of PodDisruptionBudgets.

The API decrements ``disruptionsAllowed`` on each eviction and records the pod; this controller recounts from the pods.
The total is the sum of ``spec.replicas`` of the pods' controllers, not the number of running pods.
"""

from collections.abc import Iterable
from typing import ClassVar, Final, NamedTuple

from uniteddeployment.embedded.access import Change
from uniteddeployment.embedded.apimachinery.label_selector import matches_labels
from uniteddeployment.embedded.apimachinery.meta import timestamp
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.controllers.framework.conditions import with_condition
from uniteddeployment.embedded.controllers.framework.controller import Controller, Key
from uniteddeployment.embedded.controllers.framework.label_index import LabelIndex, SelectorIndex, labels_of
from uniteddeployment.embedded.controllers.framework.times import seconds_since
from uniteddeployment.embedded.controllers.workloads.ownership import MANAGER, controller_of, is_deleting
from uniteddeployment.embedded.controllers.workloads.pods import is_ready
from uniteddeployment.embedded.controllers.workloads.rounding import scaled

BUDGETS: Final = "poddisruptionbudgets.policy"
EVICTION_WAIT: Final = 120.0
"""Seconds for which an evicted pod counts as disrupted while it has not been deleted."""

SCALED: Final = {
    ("apps", "ReplicaSet"): "replicasets.apps",
    ("apps", "StatefulSet"): "statefulsets.apps",
    ("apps", "Deployment"): "deployments.apps",
    ("", "ReplicationController"): "replicationcontrollers",
}
"""Controllers whose ``spec.replicas`` is the expected number of pods."""


class UncountableError(Exception):
    """The expected number of pods cannot be determined."""


class Numbers(NamedTuple):
    """Pods that a budget expects, and the minimum of healthy ones."""

    expected: int
    desired: int


class DisruptionController(Controller):
    """Keeps the status of PodDisruptionBudgets."""

    name: ClassVar[str] = "controllermanager"

    def setup(self) -> None:
        self._pods = LabelIndex(self.access.list("pods"))
        self._selectors = SelectorIndex()
        for budget in self.access.list(BUDGETS):
            self._note_budget(Change("ADDED", BUDGETS, budget, None))
        self._unsubscribe.append(self.access.subscribe(BUDGETS, self._note_budget))
        self._unsubscribe.append(self.access.subscribe("pods", self._note_pod))

    def _note_budget(self, change: Change) -> None:
        budget = change.obj
        if change.type == "DELETED":
            self._selectors.drop(budget)
            return
        self._selectors.put(budget, (budget["spec"].get("selector") or {}).get("matchLabels") or {})
        self.enqueue((budget["metadata"]["namespace"], budget["metadata"]["name"]))

    def _note_pod(self, change: Change) -> None:
        """Queue the budgets that the pod counts in, or counted in before."""
        self._pods.note(change)
        namespace = change.obj["metadata"]["namespace"]
        sides = [labels_of(side) for side in (change.obj, change.old) if side is not None]
        for name in self._selectors.candidates(namespace, *sides):
            budget = self.access.get(BUDGETS, namespace, name)
            selector = budget["spec"].get("selector") if budget is not None else None
            if any(matches_labels(selector, labels) for labels in sides):
                self.enqueue((namespace, name))

    def sync(self, key: Key) -> None:
        budget = self.access.get(BUDGETS, *key)
        if budget is None:
            return
        selector = budget["spec"].get("selector")
        pods = [pod for pod in self._candidates(key[0], selector) if matches_labels(selector, labels_of(pod))]
        if not pods:
            self._record_event(budget, "Normal", "NoPods", "No matching pods found")
        try:
            numbers = self._numbers(budget, pods)
        except UncountableError as error:
            reason = "CalculateExpectedPodCountFailed"
            self._record_event(budget, "Warning", reason, f"Failed to calculate the number of expected pods: {error}")
            self._fail_safe(budget, str(error))
            return
        disrupted = self._still_disrupted(budget, pods)
        healthy = sum(
            is_ready(pod) and not is_deleting(pod) and pod["metadata"]["name"] not in disrupted for pod in pods
        )
        self._report(budget, numbers, healthy, disrupted)

    def _candidates(self, namespace: str, selector: Obj | None) -> Iterable[Obj]:
        wanted = (selector or {}).get("matchLabels")
        if not wanted:
            return self.access.list("pods", namespace)
        pods = (self.access.get("pods", namespace, name) for name in self._pods.find(namespace, wanted))
        return (pod for pod in pods if pod is not None)

    def _numbers(self, budget: Obj, pods: list[Obj]) -> Numbers:
        spec = budget["spec"]
        if spec.get("maxUnavailable") is not None:
            expected = self._expected(budget, pods)
            return Numbers(expected, max(0, expected - scaled(spec["maxUnavailable"], expected, up=True)))
        least = spec.get("minAvailable", 1)
        if isinstance(least, int):
            return Numbers(len(pods), least)
        expected = self._expected(budget, pods)
        return Numbers(expected, scaled(least, expected, up=True))

    def _expected(self, budget: Obj, pods: list[Obj]) -> int:
        """The sum of replicas of all controllers that own one of the pods."""
        scales: dict[str, int] = {}
        seen: set[str] = set()
        bare = []
        for pod in pods:
            reference = controller_of(pod)
            if reference is None:
                bare.append(pod["metadata"]["name"])
            elif reference["uid"] not in seen:
                seen.add(reference["uid"])
                owner, replicas = self._scale(reference, pod)
                scales[owner] = replicas
        if bare:
            self._record_event(
                budget,
                "Warning",
                "UnmanagedPods",
                f"Pods selected by this PodDisruptionBudget (selector: {_written(budget['spec'].get('selector'))}) "
                "were found to be unmanaged. As a result, the status of the PDB cannot be calculated correctly, which "
                'may result in undefined behavior. To account for these pods please set ".spec.minAvailable" '
                "field of the PDB to an integer value.",
            )
        return sum(scales.values())

    def _scale(self, reference: Obj, pod: Obj) -> tuple[str, int]:
        """The uid and the replicas of the topmost controller of an owner reference."""
        namespace = pod["metadata"]["namespace"]
        group, _, _ = reference["apiVersion"].rpartition("/")
        resource = SCALED.get((group, reference["kind"]))
        owner = self.access.get(resource, namespace, reference["name"]) if resource else None
        if owner is None or owner["metadata"]["uid"] != reference["uid"]:
            raise UncountableError(f'found no controllers for pod "{pod["metadata"]["name"]}"')
        above = controller_of(owner)
        if above is not None and reference["kind"] == "ReplicaSet" and above["kind"] == "Deployment":
            return self._scale(above, pod)
        return owner["metadata"]["uid"], owner["spec"].get("replicas", 1)

    def _still_disrupted(self, budget: Obj, pods: list[Obj]) -> dict[str, str]:
        """Evicted pods that still exist. A pod that was not deleted in time no longer counts."""
        noted = (budget.get("status") or {}).get("disruptedPods") or {}
        kept: dict[str, str] = {}
        now = self.clock.now()
        for pod in pods:
            name = pod["metadata"]["name"]
            if name not in noted or is_deleting(pod):
                continue
            left = EVICTION_WAIT - seconds_since(noted[name], now)
            if left <= 0:
                message = "Pod was expected by PDB {}/{} to be deleted but it wasn't"
                where = message.format(budget["metadata"]["namespace"], budget["metadata"]["name"])
                self.events.event(pod, "Warning", "NotDeleted", where, component=self.name)
                continue
            kept[name] = noted[name]
            self.enqueue((budget["metadata"]["namespace"], budget["metadata"]["name"]), after=left)
        return kept

    def _report(self, budget: Obj, numbers: Numbers, healthy: int, disrupted: dict[str, str]) -> None:
        allowed = max(0, healthy - numbers.desired) if numbers.expected > 0 else 0
        status: Obj = {
            "observedGeneration": budget["metadata"]["generation"],
            "currentHealthy": healthy,
            "desiredHealthy": numbers.desired,
            "expectedPods": numbers.expected,
            "disruptionsAllowed": allowed,
            "conditions": (budget.get("status") or {}).get("conditions") or [],
        }
        if disrupted:
            status["disruptedPods"] = disrupted
        reason = "SufficientPods" if allowed else "InsufficientPods"
        self._write(budget, with_condition(status, self._condition(budget, allowed > 0, reason, "")))

    def _fail_safe(self, budget: Obj, why: str) -> None:
        """Allow no eviction while pods cannot be counted."""
        status = {"currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0, **(budget.get("status") or {})}
        status["disruptionsAllowed"] = 0
        self._write(budget, with_condition(status, self._condition(budget, False, "SyncFailed", why)))

    def _condition(self, budget: Obj, allowed: bool, reason: str, message: str) -> Obj:
        return {
            "type": "DisruptionAllowed",
            "status": "True" if allowed else "False",
            "observedGeneration": budget["metadata"]["generation"],
            "lastTransitionTime": timestamp(self.clock.now()),
            "reason": reason,
            "message": message,
        }

    def _write(self, budget: Obj, status: Obj) -> None:
        if budget.get("status") != status:
            self.access.update(BUDGETS, {**budget, "status": status}, manager=MANAGER, subresource="status")

    def _record_event(self, budget: Obj, type_: str, reason: str, message: str) -> None:
        self.events.event(budget, type_, reason, message, component=self.name)


def _written(selector: Obj | None) -> str:
    """A selector as Go prints it, for the real controller's event message."""
    labels = "".join(f"{key}: {value}," for key, value in sorted(((selector or {}).get("matchLabels") or {}).items()))
    requirements = ""
    for rule in (selector or {}).get("matchExpressions") or ():
        values = " ".join(rule.get("values") or ())
        requirements += f"LabelSelectorRequirement{{Key:{rule['key']},Operator:{rule['operator']},Values:[{values}],}},"
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{requirements}}},}}"
    )
