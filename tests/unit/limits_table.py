"""The table of limits in docs/operations.md, generated from the constants.

``python -m tests.unit.limits_table`` updates the page.
"""

import importlib
from collections.abc import Iterator
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "operations.md"
HEAD = "| Limit | Value |"

KUBE, FLEET, CONTROLLER = "uniteddeployment.kube", "uniteddeployment.fleet", "uniteddeployment.controller"
API = "uniteddeployment_api"

ROWS = (
    ("Subsets of an application", f"{API}.v1alpha1.uniteddeployment:MAX_SUBSETS"),
    ("Replicas of an application", f"{API}.v1alpha1.meta:MAX_REPLICAS"),
    ("Override operations of a subset", f"{API}.v1alpha1.uniteddeployment:MAX_OVERRIDES"),
    ("Size of a workload", f"{API}.limits:MAX_WORKLOAD_BYTES"),
    ("Size of the copies by the overrides of a subset", f"{API}.limits:MAX_COPIED_BYTES"),
    ("Size of all workloads of an application", f"{API}.limits:MAX_RENDERED_BYTES"),
    ("Nesting of a template, a patch or a value", f"{API}.limits:MAX_DEPTH"),
    ("Paths in `ignore-differences`", f"{API}.limits:MAX_IGNORED_PATHS"),
    ("Characters of such a path", f"{API}.limits:MAX_IGNORED_PATH_LENGTH"),
    ("Errors that one object reports", f"{API}.errors:MAX_ERRORS"),
    ("Characters of the message of a member that status shows", f"{CONTROLLER}.failures:LONGEST_MESSAGE"),
    ("Size of an AdmissionReview", f"{CONTROLLER}.webhook_server:REVIEW_BYTES"),
    ("Size of a kubeconfig in a Secret", f"{KUBE}.credentials:MAX_SECRET_BYTES"),
    ("Nesting of a kubeconfig in a Secret", f"{KUBE}.bounded_yaml:MAX_DEPTH"),
    ("Values in a kubeconfig in a Secret", f"{KUBE}.bounded_yaml:MAX_NODES"),
    ("Workloads of one kind in a cluster", f"{FLEET}.cache:MOST_WORKLOADS"),
    ("Pods of the controller's workloads in a cluster", f"{FLEET}.cache:MOST_PODS"),
    ("Nodes that are counted in a cluster", f"{FLEET}.capacity.reader:MOST_NODES"),
    ("Pods that are counted in a cluster", f"{FLEET}.capacity.reader:MOST_PODS"),
    ("Resources besides cpu, memory and pods that are counted in a cluster", f"{FLEET}.capacity.vectors:MOST_OTHER"),
    ("Zones that are counted in a cluster", f"{FLEET}.capacity.sums:MOST_ZONES"),
    ("Resources that one pod or node names", f"{FLEET}.capacity.demand:MOST_NAMES"),
    ("Undecodable objects of one kind in a cluster", f"{KUBE}.snapshot:MOST_UNDECODABLE"),
    ("Size of one object, and of one watch event", f"{KUBE}.requests:MAX_OBJECT_BYTES"),
    ("Size of one page of a list", f"{KUBE}.requests:MAX_PAGE_BYTES"),
    ("Size of the refusal of a watch", f"{KUBE}.requests:MAX_REFUSAL_BYTES"),
    ("Size of one line of a watch", f"{KUBE}.watch:MAX_LINE_BYTES"),
    ("Applications with late writes to one cluster", f"{CONTROLLER}.flights:MOST_LATE"),
    ("Requested life of the token of a registered member", f"{FLEET}.account:TOKEN_SECONDS"),
    ("Time in which a member has to accept a new token", f"{FLEET}.tokens:PROOF_SECONDS"),
    ("Pause until the Secret with a refused token is read again", f"{FLEET}.member_token:REREAD_SECONDS"),
    ("Time until a connection is established", f"{KUBE}.transport:CONNECT_SECONDS"),
    ("Time until a request is answered", f"{KUBE}.client:REQUEST_SECONDS"),
    ("Size of the answer of a server that a user names", f"{KUBE}.web:MAX_ANSWER_BYTES"),
    ("Time until a cluster says which one it is", f"{FLEET}.access:IDENTIFYING_SECONDS"),
    ("Time until a probe of a cluster is answered", f"{FLEET}.probe:PROBE_SECONDS"),
    ("Interval of the probes of a cluster", f"{FLEET}.member:PROBE_INTERVAL"),
    ("Failed probes in a row until a cluster is Offline", f"{FLEET}.health:FAILED_PROBES"),
    ("Time that watches of a cluster that answers may fail", f"{FLEET}.member:WATCH_GRACE_SECONDS"),
    ("Time that the watches for its capacity may fail", f"{FLEET}.capacity.reader:GRACE_SECONDS"),
    ("Pause between two writes of the capacity of a cluster", f"{FLEET}.capacity.reader:PUBLISH_SECONDS"),
    ("Time that room is kept for pods that do not appear", f"{FLEET}.capacity.assumed:ASSUMED_SECONDS"),
    ("Time for the first lists of a cluster", f"{FLEET}.member:UNDECIDED_SECONDS"),
    ("Time without a sign of life on a watch", f"{KUBE}.reflector:IDLE_SECONDS"),
    ("Time until a streaming list begins", f"{KUBE}.reflector:INITIAL_SECONDS"),
    ("Interval for new credentials of an unreachable cluster, at first", f"{FLEET}.connector:RETRY_SECONDS"),
    ("The same interval, at most", f"{FLEET}.connector:LONGEST_RETRY_SECONDS"),
    ("Time that a start waits for members", f"{CONTROLLER}.controller:SYNC_SECONDS"),
    ("Time that a stop waits for the work in progress", f"{CONTROLLER}.controller:DRAIN_SECONDS"),
    ("Time that a pass waits for members", f"{CONTROLLER}.flights:GRACE_SECONDS"),
    ("Pause between two attempts for an application, at most", f"{CONTROLLER}.controller:RETRY_CAP_SECONDS"),
    ("Time until a temporary failure counts as Stalled", f"{CONTROLLER}.failures:TRANSIENT_SECONDS"),
    ("Time until an unexpected error of a server counts as Stalled", f"{CONTROLLER}.failures:UNEXPLAINED_SECONDS"),
    (
        "Pause between two writes of the counters of a status, and after a write to a member",
        f"{CONTROLLER}.report:STATUS_SECONDS",
    ),
    ("Time that a status waits for answers of members", f"{CONTROLLER}.report:ANSWER_SECONDS"),
    ("Time that the status of an application that changes all the time waits", f"{CONTROLLER}.report:LEFT_SECONDS"),
    ("Interval of the checks of the webhooks' certificate", f"{CONTROLLER}.webhook_certificate:CHECK_SECONDS"),
    ("Time until the webhooks are served", f"{CONTROLLER}.shell:START_SECONDS"),
    ("Time in which equal events are counted in one Event", f"{KUBE}.recorder:SERIES_SECONDS"),
)
"""What is limited, and the constant."""


def value(constant: str) -> int | float:
    """The value of ``module:NAME``."""
    module, _, name = constant.partition(":")
    found: int | float = getattr(importlib.import_module(module), name)
    return found


def table() -> str:
    """Return the table, with one row for each limit."""
    return "\n".join([HEAD, "|---|---|", *_rows()])


def _rows() -> Iterator[str]:
    for what, constant in ROWS:
        yield f"| {what} | {_text(constant, value(constant))} |"


def _text(constant: str, number: float) -> str:
    if constant.endswith("_BYTES"):
        return f"{number / (1 << 20):g} MiB" if number >= 1 << 20 else f"{number / (1 << 10):g} KiB"
    if constant.endswith(("_SECONDS", "_INTERVAL")):
        return f"{number / 86400:g} days" if number >= 2 * 86400 else f"{number:g} s"
    return f"{number:,}"


def on_page() -> str:
    """Return the table as the page has it."""
    lines = PAGE.read_text().splitlines()
    start = lines.index(HEAD)
    end = next((n for n in range(start, len(lines)) if not lines[n].startswith("|")), len(lines))
    return "\n".join(lines[start:end])


def main() -> None:
    """Write the table into the page."""
    PAGE.write_text(PAGE.read_text().replace(on_page(), table()))


if __name__ == "__main__":
    main()
