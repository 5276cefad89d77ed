"""Audit events of requests."""

import json
from pathlib import Path

import pytest

from tests.embedded.cluster_kit import CONFIGMAPS, Api, configmap
from tests.embedded.rbac_kit import ask_as
from tests.support import audit
from uniteddeployment.embedded.auth.audit import AuditEvent, AuditLog


def test_every_request_yields_one_event_with_its_authorization_attributes() -> None:
    """Tests compare a program's permissions with its requests, so events must be complete and without duplicates."""
    api, events = Api(), list[AuditEvent]()
    api.cluster.audit.append(events.append)
    api.configmap("a")
    api.ask("GET", f"{CONFIGMAPS}/a")
    api.watch(CONFIGMAPS)
    api.ask(
        "PATCH", "/apis/apps/v1/namespaces/default/deployments/web/scale", {}, content="application/json-patch+json"
    )
    api.ask("DELETE", f"{CONFIGMAPS}?labelSelector=a=b")
    api.ask("GET", "/version")
    api.ask("GET", CONFIGMAPS, token="nobody-has-it")
    ask_as(api, "bob", "GET", CONFIGMAPS)
    requested = audit.of_events(events)
    assert [(item.user, *item.rule, item.status) for item in requested] == [
        ("admin", "", "configmaps", "create", 201),
        ("admin", "", "configmaps", "get", 200),
        ("admin", "", "configmaps", "watch", 200),
        ("admin", "apps", "deployments/scale", "patch", 404),
        ("admin", "", "configmaps", "deletecollection", 200),
        ("admin", "", "", "get", 200),
        ("", "", "configmaps", "list", 401),
        ("bob", "", "configmaps", "list", 403),
    ]
    assert (requested[1].namespace, requested[1].name) == ("default", "a")
    assert requested[5].path == "/version"
    assert events[-1].impersonator is not None
    assert events[-1].impersonator.name == "admin"


def test_the_file_has_the_events_of_a_real_server_and_no_secrets(tmp_path: Path) -> None:
    """No log contains a credential (I12), and readers of a real audit log can read this one."""
    log = AuditLog(tmp_path / "audit")
    api = Api()
    api.cluster.audit.append(log)
    api.create("/api/v1/namespaces/default/secrets", configmap("s") | {"kind": "Secret", "stringData": {"k": "hidden"}})
    ask_as(api, "bob", "GET", CONFIGMAPS)
    text = (tmp_path / "audit").read_text()
    log.close()
    assert "hidden" not in text
    assert "admin-token" not in text
    assert (tmp_path / "audit").stat().st_mode & 0o077 == 0
    created, refused = (json.loads(line) for line in text.splitlines())
    assert (created["kind"], created["apiVersion"], created["level"]) == ("Event", "audit.k8s.io/v1", "Metadata")
    assert created["objectRef"] == {"resource": "secrets", "namespace": "default", "apiVersion": "v1"}
    assert created["annotations"]["authorization.k8s.io/decision"] == "allow"
    assert refused["impersonatedUser"] == {"username": "bob", "groups": ["system:authenticated"]}
    assert refused["user"]["username"] == "admin"
    assert refused["annotations"]["authorization.k8s.io/decision"] == "forbid"
    assert refused["responseStatus"]["code"] == 403


def test_the_two_events_of_a_watch_on_a_real_server_count_as_one_request(tmp_path: Path) -> None:
    event = {"auditID": "1", "verb": "watch", "requestURI": "/api/v1/pods?watch=true", "user": {"username": "a"}}
    lines = [{**event, "stage": stage, "objectRef": {"resource": "pods"}} for stage in ("ResponseStarted", "Complete")]
    (tmp_path / "audit").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert [item.rule for item in audit.read(tmp_path / "audit")] == [("", "pods", "watch")]


def test_a_log_that_cannot_be_written_is_an_error_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        AuditLog(tmp_path / "missing" / "audit")
