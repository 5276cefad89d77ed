"""Validation of built-in kinds, with the real server's messages."""

from typing import Any

import pytest

from uniteddeployment.embedded.apimachinery.clone import clone
from uniteddeployment.embedded.builtin import strategy_for

Obj = dict[str, Any]


def ready(key: str, obj: Obj) -> Obj:
    strategy = strategy_for(key)
    created = {"metadata": {"name": "a", "namespace": "ns"}, **clone(obj)}
    created["metadata"]["uid"] = "0123"
    strategy.conform(created)
    strategy.default(created)
    strategy.prepare_create(created)
    return created


def wrong(key: str, obj: Obj) -> set[str]:
    return {f"{cause.field}: {cause.message}" for cause in strategy_for(key).validate_create(ready(key, obj))}


def wrong_change(key: str, old: Obj, **change: Any) -> set[str]:
    strategy = strategy_for(key)
    before = ready(key, old)
    new = clone(before)
    for path, value in change.items():
        at = new
        *steps, last = path.split("__")
        for step in steps:
            at = at[step]
        at[last] = value
    strategy.conform(new)
    strategy.default(new)
    strategy.prepare_update(new, before, "")
    return {f"{cause.field}: {cause.message}" for cause in strategy.validate_update(new, before, "")}


def workload(**spec: Any) -> Obj:
    template = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    return {"spec": {"selector": {"matchLabels": {"app": "x"}}, "template": template, **spec}}


def pod(**spec: Any) -> Obj:
    return {"spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


def with_container(**container: Any) -> Obj:
    return {"spec": {"containers": [{"name": "c", "image": "i", **container}]}}


@pytest.mark.parametrize("key", ["deployments.apps", "replicasets.apps", "statefulsets.apps", "daemonsets.apps"])
def test_a_plain_workload_is_fine_and_its_selector_must_match_its_template(key: str) -> None:
    assert wrong(key, workload()) == set()
    assert wrong(key, workload(selector={"matchLabels": {"app": "y"}})) == {
        'spec.template.metadata.labels: Invalid value: {"app":"x"}: `selector` does not match template `labels`'
    }
    (message,) = wrong(key, workload(selector={}))
    assert message.startswith("spec.selector: Invalid value: {}: empty selector is invalid for ")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"replicas": -1}, "spec.replicas: Invalid value: -1: must be greater than or equal to 0"),
        (
            {"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "0%"}}},
            'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "0%": may not be 0 when `maxSurge` is 0',
        ),
        (
            {"strategy": {"rollingUpdate": {"maxUnavailable": "101%"}}},
            'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "101%": must not be greater than 100%',
        ),
        (
            {"strategy": {"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}},
            "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'",
        ),
        (
            {"progressDeadlineSeconds": 5, "minReadySeconds": 5},
            "spec.progressDeadlineSeconds: Invalid value: 5: must be greater than minReadySeconds",
        ),
    ],
)
def test_deployments(spec: Obj, message: str) -> None:
    assert wrong("deployments.apps", workload(**spec)) == {message}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            {"podManagementPolicy": "Sometimes"},
            "spec.podManagementPolicy: Invalid value: \"Sometimes\": must be 'OrderedReady' or 'Parallel'",
        ),
        (
            {"updateStrategy": {"type": "OnDelete", "rollingUpdate": {"partition": 1}}},
            (
                'spec.updateStrategy.rollingUpdate: Invalid value: {"Partition":1,"MaxUnavailable":null}: '
                "only allowed for updateStrategy 'RollingUpdate'"
            ),
        ),
        (
            {"persistentVolumeClaimRetentionPolicy": {"whenScaled": "Nope"}},
            (
                'spec.persistentVolumeClaimRetentionPolicy.whenScaled: Unsupported value: "Nope": supported values: '
                '"Retain", "Delete"'
            ),
        ),
        ({"ordinals": {"start": -1}}, "spec.ordinals.start: Invalid value: -1: must be greater than or equal to 0"),
    ],
)
def test_stateful_sets(spec: Obj, message: str) -> None:
    assert wrong("statefulsets.apps", workload(**spec)) == {message}


def test_pods_of_a_stateful_set_have_a_volume_for_each_claim() -> None:
    mounted = {"name": "c", "image": "i", "volumeMounts": [{"name": "data", "mountPath": "/data"}]}
    template = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [mounted]}}
    claim = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}
    assert wrong("statefulsets.apps", workload(template=template)) == {
        'spec.template.spec.containers[0].volumeMounts[0].name: Not found: "data"'
    }
    assert wrong("statefulsets.apps", workload(template=template, volumeClaimTemplates=[claim])) == {
        "spec.volumeClaimTemplates[0].spec.resources[storage]: Required value"
    }
    # An object that was stored under older rules can still be scaled.
    assert wrong_change("statefulsets.apps", workload(template=template), spec__replicas=3) == set()


def test_immutable_fields() -> None:
    (message,) = wrong_change("statefulsets.apps", workload(serviceName="a"), spec__serviceName="b")
    assert message.startswith(
        "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals'"
    )
    allowed = {"spec__replicas": 3, "spec__minReadySeconds": 1, "spec__ordinals": {"start": 1}}
    assert wrong_change("statefulsets.apps", workload(), **allowed) == set()
    labels = {"app": "z"}
    assert wrong_change(
        "deployments.apps",
        workload(),
        spec__selector={"matchLabels": labels},
        spec__template__metadata={"labels": labels},
    ) == {'spec.selector: Invalid value: {"matchLabels":{"app":"z"}}: field is immutable'}
    assert wrong_change("controllerrevisions.apps", {"data": {"a": 1}, "revision": 1}, data={"a": 2}) == {
        'data: Invalid value: {"a":2}: field is immutable'
    }
    assert wrong_change("secrets", {}, type="other") == {'type: Invalid value: "other": field is immutable'}
    assert wrong_change("configmaps", {"immutable": True, "data": {"a": "b"}}, data={"a": "c"}) == {
        "data: Forbidden: field is immutable when `immutable` is set"
    }


@pytest.mark.parametrize(
    ("obj", "message"),
    [
        ({"spec": {}}, "spec.containers: Required value"),
        (with_container(image=""), "spec.containers[0].image: Required value"),
        (with_container(ports=[{"containerPort": 0}]), "spec.containers[0].ports[0].containerPort: Required value"),
        (
            with_container(ports=[{"containerPort": 1, "hostPort": 70000}]),
            "spec.containers[0].ports[0].hostPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
        ),
        (
            with_container(volumeMounts=[{"name": "v", "mountPath": "/v"}]),
            'spec.containers[0].volumeMounts[0].name: Not found: "v"',
        ),
        (
            with_container(env=[{"name": "A", "valueFrom": {}}]),
            (
                'spec.containers[0].env[0].valueFrom: Invalid value: "": must specify one of: `fieldRef`, '
                "`resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`"
            ),
        ),
        (
            with_container(resources={"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}),
            'spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1',
        ),
        (
            with_container(livenessProbe={}),
            "spec.containers[0].livenessProbe: Required value: must specify a handler type",
        ),
        (
            with_container(startupProbe={"exec": {"command": ["a"]}, "successThreshold": 2}),
            "spec.containers[0].startupProbe.successThreshold: Invalid value: 2: must be 1",
        ),
        (
            with_container(securityContext={"runAsUser": -1}),
            (
                "spec.containers[0].securityContext.runAsUser: Invalid value: -1: "
                "must be between 0 and 2147483647, inclusive"
            ),
        ),
        (
            pod(restartPolicy="Maybe"),
            'spec.restartPolicy: Unsupported value: "Maybe": supported values: "Always", "OnFailure", "Never"',
        ),
        (pod(volumes=[{"name": "v", "secret": {}}]), "spec.volumes[0].secret.secretName: Required value"),
        (
            pod(volumes=[{"name": "v", "emptyDir": {}, "hostPath": {"path": "/"}}]),
            "spec.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type",
        ),
        (pod(volumes=[{"name": "v"}, {"name": "v"}]), 'spec.volumes[1].name: Duplicate value: "v"'),
        (
            pod(tolerations=[{"operator": "Equal"}]),
            (
                'spec.tolerations[0].operator: Invalid value: "Equal": operator must be Exists when `key` is empty, '
                'which means "match all values and all keys"'
            ),
        ),
        (
            pod(tolerations=[{"key": "a", "operator": "Exists", "tolerationSeconds": 1}]),
            (
                'spec.tolerations[0].effect: Invalid value: "": '
                "effect must be 'NoExecute' when `tolerationSeconds` is set"
            ),
        ),
        (
            pod(topologySpreadConstraints=[{"maxSkew": 0, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}]),
            "spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero",
        ),
        (
            pod(
                affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}}
            ),
            (
                "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: "
                "Required value: must have at least one node selector term"
            ),
        ),
        (
            pod(activeDeadlineSeconds=0),
            "spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive",
        ),
        (
            pod(initContainers=[{"name": "i", "image": "i", "readinessProbe": {"exec": {"command": ["a"]}}}]),
            (
                "spec.initContainers[0].readinessProbe: Forbidden: may not be set for init containers without "
                "restartPolicy=Always"
            ),
        ),
        (pod(initContainers=[{"name": "c", "image": "i"}]), 'spec.initContainers[0].name: Duplicate value: "c"'),
    ],
)
def test_pods(obj: Obj, message: str) -> None:
    assert wrong("pods", obj) == {message}


def test_of_a_pod_only_images_deadlines_and_more_tolerations_may_change() -> None:
    assert wrong_change("pods", pod(), spec__containers=[{"name": "c", "image": "other"}]) == set()
    assert wrong_change("pods", pod(), spec__activeDeadlineSeconds=5) == set()
    assert wrong_change("pods", pod(), spec__tolerations=[{"key": "a", "operator": "Exists"}]) == set()
    two = [{"name": "c", "image": "i"}, {"name": "d", "image": "i"}]
    assert wrong_change("pods", pod(), spec__containers=two) == {
        "spec.containers: Forbidden: pod updates may not add or remove containers"
    }
    (message,) = wrong_change("pods", pod(), spec__nodeName="somewhere")
    assert message.startswith(
        "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,"
    )
    assert "somewhere" in message
    assert wrong_change("pods", pod(activeDeadlineSeconds=5), spec__activeDeadlineSeconds=6) == {
        "spec.activeDeadlineSeconds: Invalid value: 6: must be less than or equal to previous value"
    }


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({}, "spec.ports: Required value"),
        (
            {"ports": [{"port": 1, "protocol": "X"}]},
            'spec.ports[0].protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP"',
        ),
        ({"ports": [{"name": "a", "port": 1}, {"name": "a", "port": 2}]}, 'spec.ports[1].name: Duplicate value: "a"'),
        ({"type": "ExternalName"}, "spec.externalName: Required value"),
        (
            {"ports": [{"port": 1, "nodePort": 30001}]},
            "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'",
        ),
        (
            {"ports": [{"port": 1}], "externalTrafficPolicy": "Local"},
            'spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services',
        ),
        (
            {"type": "NodePort", "ports": [{"port": 1, "nodePort": 80}]},
            (
                "spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. "
                "The range of valid ports is 30000-32767"
            ),
        ),
        (
            {"type": "Wrong", "ports": [{"port": 1}]},
            (
                'spec.type: Unsupported value: "Wrong": supported values: "ClusterIP", "ExternalName", "LoadBalancer", '
                '"NodePort"'
            ),
        ),
    ],
)
def test_services(spec: Obj, message: str) -> None:
    assert wrong("services", {"spec": spec}) == {message}


def test_the_address_of_a_service_is_for_life() -> None:
    headless = {"spec": {"clusterIP": "None", "selector": {"a": "b"}}}
    assert wrong_change("services", headless, spec__clusterIP="10.0.0.77") >= {
        'spec.clusterIPs[0]: Invalid value: ["10.0.0.77"]: may not change once set'
    }


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            {"minAvailable": 1, "maxUnavailable": 1, "selector": {"matchLabels": {"app": "x"}}},
            (
                'spec: Invalid value: {"MinAvailable":1,"Selector":{"matchLabels":{"app":"x"}},"MaxUnavailable":1,'
                '"UnhealthyPodEvictionPolicy":null}: minAvailable and maxUnavailable cannot be both set'
            ),
        ),
        ({"minAvailable": "150%"}, 'spec.minAvailable: Invalid value: "150%": must not be greater than 100%'),
        (
            {"selector": {"matchExpressions": [{"key": "a", "operator": "Wrong"}]}},
            'spec.selector.matchExpressions[0].operator: Invalid value: "Wrong": not a valid selector operator',
        ),
    ],
)
def test_disruption_budgets(spec: Obj, message: str) -> None:
    assert wrong("poddisruptionbudgets.policy", {"spec": spec}) == {message}


def test_autoscalers() -> None:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    key = "horizontalpodautoscalers.autoscaling"
    assert wrong(key, {"spec": {"maxReplicas": 2, "scaleTargetRef": target}}) == set()
    assert wrong(key, {"spec": {"minReplicas": 5, "maxReplicas": 2, "scaleTargetRef": target}}) == {
        "spec.maxReplicas: Invalid value: 2: must be greater than or equal to `minReplicas`"
    }
    metrics = [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Odd"}}}]
    assert wrong(key, {"spec": {"maxReplicas": 2, "scaleTargetRef": target, "metrics": metrics}}) == {
        'spec.metrics[0].resource.target.type: Invalid value: "Odd": must be either Utilization, Value, or AverageValue'
    }


def test_jobs_end_and_keep_their_template() -> None:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    job = {"spec": {"template": template}}
    assert wrong("jobs.batch", job) == set()
    assert wrong("jobs.batch", pod_in_job := {"spec": {"template": {"spec": pod()["spec"]}}}) == {
        'spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"'
    }, pod_in_job
    assert wrong_change("jobs.batch", job, spec__completions=5) == {
        "spec.completions: Invalid value: 5: field is immutable"
    }
    (message,) = wrong_change("jobs.batch", job, spec__template__spec__hostname="h")
    assert message.startswith("spec.template: Invalid value: ")
    suspended = {"spec": {"template": template, "suspend": True}}
    assert wrong_change("jobs.batch", suspended, spec__template__spec__nodeSelector={"a": "b"}) == set()
    cron = {"spec": {"schedule": "* * *", "jobTemplate": {"spec": {"template": template}}}}
    assert {message.partition(":")[0] for message in wrong("cronjobs.batch", cron)} == {"spec.schedule"}
    cron["spec"].update(schedule="@daily", timeZone="Mars/Base")
    assert wrong("cronjobs.batch", cron) == {'spec.timeZone: Invalid value: "Mars/Base": unknown time zone Mars/Base'}


@pytest.mark.parametrize(
    ("key", "obj", "message"),
    [
        (
            "configmaps",
            {"data": {"a": "b"}, "binaryData": {"a": "Yg=="}},
            'data[a]: Invalid value: "a": duplicate of key present in binaryData',
        ),
        ("configmaps", {"data": {"a": "x" * (1024 * 1024 + 1)}}, "[]: Too long: may not be more than 1048576 bytes"),
        ("secrets", {"type": "kubernetes.io/tls", "data": {"tls.crt": ""}}, "data[tls.key]: Required value"),
        (
            "events",
            {"involvedObject": {"namespace": "other"}},
            'involvedObject.namespace: Invalid value: "other": does not match event.namespace',
        ),
        (
            "leases.coordination.k8s.io",
            {"spec": {"leaseDurationSeconds": 0}},
            "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
        ),
        (
            "nodes",
            {"spec": {"taints": [{"key": "a", "effect": "Odd"}]}},
            (
                'metadata.taints[0].effect: Unsupported value: "Odd": supported values: "NoSchedule", '
                '"PreferNoSchedule", "NoExecute"'
            ),
        ),
        (
            "persistentvolumeclaims",
            {"spec": {"accessModes": ["ReadWriteOnce"]}},
            "spec.resources[storage]: Required value",
        ),
        (
            "persistentvolumes",
            {"spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}}},
            "spec: Required value: must specify a volume type",
        ),
        ("endpointslices.discovery.k8s.io", {"endpoints": []}, "addressType: Required value"),
        (
            "limitranges",
            {"spec": {"limits": [{"type": "Pod", "min": {"cpu": "2"}, "max": {"cpu": "1"}}]}},
            'spec.limits[0].min[cpu]: Invalid value: "2": min value 2 is greater than max value 1',
        ),
        (
            "resourcequotas",
            {"spec": {"hard": {"pods": "1500m"}}},
            'spec.hard[pods]: Invalid value: "1500m": must be an integer',
        ),
        ("storageclasses.storage.k8s.io", {}, "provisioner: Required value"),
        (
            "priorityclasses.scheduling.k8s.io",
            {"value": 2 * 10**9},
            "value: Forbidden: maximum allowed value of a user defined priority is 1000000000",
        ),
        (
            "roles.rbac.authorization.k8s.io",
            {"rules": [{"apiGroups": [""], "resources": ["pods"]}]},
            "rules[0].verbs: Required value: verbs must contain at least one value",
        ),
        (
            "networkpolicies.networking.k8s.io",
            {"spec": {"policyTypes": ["Odd"]}},
            'spec.policyTypes[0]: Unsupported value: "Odd": supported values: "Egress", "Ingress"',
        ),
        (
            "ingresses.networking.k8s.io",
            {"spec": {}},
            "spec: Invalid value: []: either `defaultBackend` or `rules` must be specified",
        ),
    ],
)
def test_config_maps_secrets_events_leases_and_nodes(key: str, obj: Obj, message: str) -> None:
    assert wrong(key, obj) == {message}


def test_of_a_bound_claim_only_the_size_may_grow() -> None:
    claim = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}}}
    assert wrong_change("persistentvolumeclaims", claim, spec__volumeName="pv") == set()
    smaller = wrong_change("persistentvolumeclaims", claim, spec__resources={"requests": {"storage": "1Gi"}})
    assert {message.partition(":")[0] for message in smaller} == {"spec.resources.requests.storage"}
    modes = wrong_change("persistentvolumeclaims", claim, spec__accessModes=["ReadWriteMany"])
    assert {message.partition(":")[0] for message in modes} == {"spec"}


def test_a_binding_keeps_its_role() -> None:
    binding = {"roleRef": {"kind": "Role", "name": "r"}}
    key = "rolebindings.rbac.authorization.k8s.io"
    assert wrong_change(key, binding, roleRef={"kind": "Role", "name": "other"}) == {
        (
            'roleRef: Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"Role","Name":"other"}: '
            "cannot change roleRef"
        )
    }


def test_valid_objects_with_probable_mistakes_get_warnings() -> None:
    strategy = strategy_for("deployments.apps")
    spread = [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}]
    template = {
        "spec": {
            "topologySpreadConstraints": spread,
            "containers": [
                {
                    "name": "c",
                    "env": [{"name": "A"}, {"name": "A"}],
                    "ports": [{"containerPort": 1}, {"containerPort": 1, "name": "b"}],
                    "resources": {"limits": {"memory": "1m"}},
                }
            ],
        }
    }
    new = ready("deployments.apps", {"spec": {"template": template}})
    at = "spec.template.spec"
    assert list(strategy.warnings(new, None)) == [
        f"{at}.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod",
        f'{at}.containers[0].env[1]: hides previous definition of "A", which may be dropped when using apply',
        f"{at}.containers[0].ports[1]: duplicate port definition with {at}.containers[0].ports[0]",
        f'{at}.containers[0].resources.limits[memory]: fractional byte value "1m" is invalid, must be an integer',
    ]
    assert list(strategy.warnings(new, new)) == []
