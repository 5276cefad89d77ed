"""Table cells of built-in kinds."""

from datetime import UTC, datetime
from typing import Any

import pytest

from uniteddeployment.embedded.apimachinery.duration import human, since
from uniteddeployment.embedded.builtin import resources

Obj = dict[str, Any]
NOW = datetime(2026, 1, 1, tzinfo=UTC)
BY_KEY = {f"{one.key}/{one.version}": one for one in resources()}


def cells(key: str, obj: Obj) -> dict[str, Any]:
    obj.setdefault("metadata", {}).setdefault("name", "a")
    return {column.name: column.cell(obj, NOW) for column in BY_KEY[f"{key}/v1"].columns}


@pytest.mark.parametrize(
    ("seconds", "message"),
    [
        (0, "0s"), (119, "119s"), (120, "2m"), (125, "2m5s"), (600, "10m"), (10799, "179m"), (10800, "3h"),
        (12000, "3h20m"), (8 * 3600, "8h"), (47 * 3600, "47h"), (48 * 3600, "2d"), (50 * 3600, "2d2h"),
        (8 * 86400, "8d"), (700 * 86400, "700d"), (731 * 86400, "2y1d"), (2920 * 86400, "8y"), (-5, "<invalid>"),
    ],
)  # fmt: skip
def test_ages_say_two_units_at_most(seconds: int, message: str) -> None:
    assert human(seconds) == message


def test_an_age_without_a_beginning_is_unknown() -> None:
    assert since(None, NOW) == "<unknown>"


def status(*containers: Obj, **more: Any) -> Obj:
    return {"containerStatuses": list(containers), **more}


READY = {"name": "c", "ready": True, "state": {"running": {}}}


@pytest.mark.parametrize(
    ("spec", "given", "message"),
    [
        ({}, {"phase": "Pending"}, "Pending"),
        ({}, status(READY, phase="Running"), "Running"),
        ({}, status({"state": {"waiting": {"reason": "CrashLoopBackOff"}}}, phase="Running"), "CrashLoopBackOff"),
        ({}, status({"state": {"terminated": {"exitCode": 0, "reason": "Completed"}}}, phase="Succeeded"), "Completed"),
        ({}, status({"state": {"terminated": {"exitCode": 3}}}, phase="Failed"), "ExitCode:3"),
        ({}, status({"state": {"terminated": {"exitCode": 0, "signal": 9}}}, phase="Failed"), "Signal:9"),
        ({}, {"phase": "Failed", "reason": "Evicted"}, "Evicted"),
        (
            {},
            {"phase": "Pending", "conditions": [{"type": "PodScheduled", "reason": "SchedulingGated"}]},
            "SchedulingGated",
        ),
        (
            {},
            status(
                READY,
                {"state": {"terminated": {"exitCode": 0, "reason": "Completed"}}},
                phase="Running",
                conditions=[{"type": "Ready", "status": "True"}],
            ),
            "Running",
        ),
        (
            {"initContainers": [{"name": "i"}, {"name": "j"}]},
            {
                "phase": "Pending",
                "initContainerStatuses": [
                    {"name": "i", "state": {"terminated": {"exitCode": 0}}},
                    {"name": "j", "state": {"running": {}}},
                ],
            },
            "Init:1/2",
        ),
        (
            {"initContainers": [{"name": "i"}]},
            {"phase": "Pending", "initContainerStatuses": [{"name": "i", "state": {"waiting": {"reason": "Bad"}}}]},
            "Init:Bad",
        ),
        (
            {"initContainers": [{"name": "i"}]},
            {"phase": "Pending", "initContainerStatuses": [{"name": "i", "state": {"terminated": {"exitCode": 1}}}]},
            "Init:ExitCode:1",
        ),
    ],
)
def test_the_status_of_a_pod_is_the_reason_that_matters_most(spec: Obj, given: Obj, message: str) -> None:
    assert cells("pods", {"spec": {"containers": [{"name": "c"}], **spec}, "status": given})["Status"] == message


def test_a_pod_that_was_deleted_is_terminating_unless_it_has_ended() -> None:
    deleted = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    assert cells("pods", {"metadata": dict(deleted), "status": {"phase": "Running"}})["Status"] == "Terminating"
    assert cells("pods", {"metadata": dict(deleted), "status": {"phase": "Succeeded"}})["Status"] == "Succeeded"
    lost = {"phase": "Running", "reason": "NodeLost"}
    assert cells("pods", {"metadata": dict(deleted), "status": lost})["Status"] == "Unknown"


def test_sidecars_count_as_containers_and_restarts_name_the_last_one() -> None:
    spec = {
        "containers": [{"name": "c"}],
        "initContainers": [{"name": "s", "restartPolicy": "Always"}, {"name": "i"}],
        "readinessGates": [{"conditionType": "a"}, {"conditionType": "b"}],
    }
    ended = {"terminated": {"finishedAt": "2025-12-31T23:55:00Z"}}
    given = status(
        {**READY, "restartCount": 3, "lastState": ended},
        phase="Running",
        initContainerStatuses=[
            {"name": "s", "started": True, "ready": True, "restartCount": 1, "state": {"running": {}}},
            {"name": "i", "restartCount": 9, "state": {"terminated": {"exitCode": 0}}},
        ],
        conditions=[{"type": "a", "status": "True"}],
        podIPs=[{"ip": "192.0.2.1"}],
    )
    shown = cells("pods", {"spec": spec, "status": given})
    assert (shown["Ready"], shown["Restarts"], shown["Readiness Gates"]) == ("2/2", "4 (5m ago)", "1/2")
    assert (shown["IP"], shown["Node"]) == ("192.0.2.1", "<none>")


@pytest.mark.parametrize(
    ("spec", "balancer", "external", "ports"),
    [
        ({"type": "ClusterIP", "clusterIP": "10.0.0.1", "ports": [{"port": 80}]}, {}, "<none>", "80/TCP"),
        ({"type": "LoadBalancer", "ports": [{"port": 80, "nodePort": 30001}]}, {}, "<pending>", "80:30001/TCP"),
        ({"type": "LoadBalancer"}, {"ingress": [{"ip": "192.0.2.1"}]}, "192.0.2.1", "<none>"),
        ({"type": "ExternalName", "externalName": "x.example"}, {}, "x.example", "<none>"),
        ({"type": "NodePort", "externalIPs": ["192.0.2.2"]}, {}, "192.0.2.2", "<none>"),
    ],
)
def test_services_show_how_they_are_reached(spec: Obj, balancer: Obj, external: str, ports: str) -> None:
    shown = cells("services", {"spec": spec, "status": {"loadBalancer": balancer}})
    assert (shown["External-IP"], shown["Port(s)"]) == (external, ports)


def test_nodes_show_their_state_and_roles() -> None:
    node = {
        "metadata": {"labels": {"node-role.kubernetes.io/b": "", "kubernetes.io/role": "a"}},
        "spec": {"unschedulable": True},
        "status": {
            "conditions": [{"type": "Ready", "status": "True"}],
            "addresses": [{"type": "InternalIP", "address": "192.0.2.9"}],
            "nodeInfo": {"kubeletVersion": "v1.36.0"},
        },
    }
    shown = cells("nodes", node)
    assert (shown["Status"], shown["Roles"], shown["Version"]) == ("Ready,SchedulingDisabled", "a,b", "v1.36.0")
    assert (shown["Internal-IP"], shown["External-IP"]) == ("192.0.2.9", "<none>")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "Running"),
        ({"conditions": [{"type": "Complete", "status": "True"}]}, "Complete"),
        ({"conditions": [{"type": "Failed", "status": "True"}]}, "Failed"),
        ({"conditions": [{"type": "Suspended", "status": "True"}]}, "Suspended"),
        ({"conditions": [{"type": "Complete", "status": "False"}]}, "Running"),
    ],
)
def test_jobs_say_how_far_they_are(given: Obj, message: str) -> None:
    assert cells("jobs.batch", {"spec": {"completions": 2}, "status": given})["Status"] == message


def test_a_job_lasts_until_it_completes() -> None:
    times = {"startTime": "2025-12-31T23:58:00Z", "completionTime": "2025-12-31T23:59:00Z", "succeeded": 1}
    shown = cells("jobs.batch", {"spec": {"parallelism": 3}, "status": times})
    assert (shown["Duration"], shown["Completions"]) == ("60s", "1/1 of 3")
    del times["completionTime"]
    assert cells("jobs.batch", {"status": times})["Duration"] == "2m"


def test_selectors_are_one_line_sorted_by_key() -> None:
    selector = {
        "matchLabels": {"b": "1"},
        "matchExpressions": [
            {"key": "c", "operator": "NotIn", "values": ["y", "x"]},
            {"key": "a", "operator": "Exists"},
            {"key": "d", "operator": "DoesNotExist"},
        ],
    }
    assert cells("replicasets.apps", {"spec": {"selector": selector}})["Selector"] == "a,b=1,c notin (x,y),!d"


def test_events_show_both_of_their_forms() -> None:
    core = {
        "involvedObject": {"kind": "Pod", "name": "p"},
        "source": {"component": "kubelet", "host": "n"},
        "lastTimestamp": "2025-12-31T23:59:00Z",
        "count": 2,
        "message": " hello\n",
    }
    shown = cells("events", core)
    assert (shown["Object"], shown["Source"], shown["Last Seen"]) == ("pod/p", "kubelet, n", "60s")
    assert (shown["Count"], shown["Message"]) == (2, "hello")
    newer = {"regarding": {"kind": "Pod", "name": "p"}, "eventTime": "2025-12-31T23:59:00.000000Z", "note": "bye"}
    shown = cells("events.events.k8s.io", newer)
    assert (shown["Object"], shown["First Seen"], shown["Count"], shown["Message"]) == ("pod/p", "60s", 1, "bye")


def test_claims_show_their_volume_only_when_they_have_one() -> None:
    claim: dict[str, Any] = {
        "spec": {"storageClassName": "fast"},
        "status": {"phase": "Bound", "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]},
    }
    assert cells("persistentvolumeclaims", claim)["Capacity"] == ""
    claim["spec"]["volumeName"] = "pv"
    shown = cells("persistentvolumeclaims", claim)
    assert (shown["Capacity"], shown["Access Modes"], shown["StorageClass"]) == ("1Gi", "RWO", "fast")


def test_a_default_class_says_so() -> None:
    marked = {"metadata": {"name": "fast", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}}
    assert cells("storageclasses.storage.k8s.io", marked)["Name"] == "fast (default)"


def test_a_claim_that_names_a_volume_but_is_not_bound_has_no_capacity() -> None:
    claim: dict[str, Any] = {
        "metadata": {"annotations": {"volume.beta.kubernetes.io/storage-class": "old"}},
        "spec": {"volumeName": "pv"},
    }
    shown = cells("persistentvolumeclaims", claim)
    assert (shown["Capacity"], shown["StorageClass"]) == ("0", "old")


@pytest.mark.parametrize(
    ("subsets", "message"),
    [
        ([], "<none>"),
        ([{"notReadyAddresses": [{"ip": "192.0.2.1"}], "ports": [{"port": 80}]}], ""),
        ([{"addresses": [{"ip": "2001:db8::1"}], "ports": [{"port": 80}]}], "[2001:db8::1]:80"),
        ([{"addresses": [{"ip": f"192.0.2.{n}"} for n in range(4)]}], "192.0.2.0,192.0.2.1,192.0.2.2 + 1 more..."),
    ],
)
def test_endpoints_show_their_first_addresses(subsets: list[Obj], message: str) -> None:
    assert cells("endpoints", {"subsets": subsets})["Endpoints"] == message


def test_ports_of_slices_are_numbers_names_or_any() -> None:
    slice_ = {"ports": [{"name": "", "port": None}, {"port": 2}, {}], "endpoints": []}
    shown = cells("endpointslices.discovery.k8s.io", slice_)
    assert (shown["Ports"], shown["Endpoints"]) == (",2,*", "<unset>")
    assert cells("endpointslices.discovery.k8s.io", {"ports": [{"name": ""}]})["Ports"] == "<unset>"


def test_rules_without_a_host_count_among_the_hosts_that_are_not_shown() -> None:
    rules: list[Obj] = [{"host": "a"}, {"host": "b"}, {"host": "c"}, {"http": {}}, {"host": "d"}]
    assert cells("ingresses.networking.k8s.io", {"spec": {"rules": rules}})["Hosts"] == "a,b,c + 2 more..."
    assert cells("ingresses.networking.k8s.io", {"spec": {"rules": [{"http": {}}]}})["Hosts"] == "*"


def test_columns_are_described_as_the_fields_they_show() -> None:
    described = {column.name: column.description for column in BY_KEY["nodes/v1"].columns}
    assert described["Status"] == "The status of the node"
    assert described["Version"] == "Kubelet Version reported by the node."
    assert [column.name for column in BY_KEY["serviceaccounts/v1"].columns] == ["Name", "Age"]
