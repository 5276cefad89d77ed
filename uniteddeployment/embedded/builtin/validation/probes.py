"""Validation of probes and lifecycle hooks of containers."""

from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.builtin.validation.causes import forbidden, invalid, required
from uniteddeployment.embedded.builtin.validation.fields import non_negative, one_of, port_number, port_number_or_name
from uniteddeployment.embedded.errors import Cause

_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_COUNTS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")


def probe(given: Obj, path: str, *, once: bool) -> list[Cause]:
    """A probe; ``once`` requires a success threshold of 1."""
    causes = _handler(given, path)
    for key in _COUNTS:
        causes += non_negative(given, key, path)
    if once and given.get("successThreshold") != 1:
        causes.append(invalid(f"{path}.successThreshold", given.get("successThreshold", 0), "must be 1"))
    grace = given.get("terminationGracePeriodSeconds")
    if grace is not None and not once:
        causes.append(invalid(f"{path}.terminationGracePeriodSeconds", grace, "must not be set for readinessProbes"))
    elif grace is not None and grace <= 0:
        causes.append(invalid(f"{path}.terminationGracePeriodSeconds", grace, "must be greater than 0"))
    return causes


def lifecycle(given: Obj, path: str) -> list[Cause]:
    """The lifecycle hooks of a container."""
    return [
        cause for key in ("postStart", "preStop") if key in given for cause in _handler(given[key], f"{path}.{key}")
    ]


def _handler(given: Obj, path: str) -> list[Cause]:
    kinds = [key for key in _HANDLERS if key in given]
    if not kinds:
        return [required(path, "must specify a handler type")]
    causes = [forbidden(f"{path}.{key}", "may not specify more than 1 handler type") for key in kinds[1:]]
    key = kinds[0]
    action, at = given[key], f"{path}.{key}"
    if key == "exec" and not action.get("command"):
        causes.append(required(f"{at}.command"))
    elif key == "httpGet":
        if not action.get("path"):
            causes.append(required(f"{at}.path"))
        causes += port_number_or_name(action.get("port", 0), f"{at}.port")
        causes += one_of(action, "scheme", at, ("HTTP", "HTTPS"))
        causes += [
            required(f"{at}.httpHeaders[{index}].name")
            for index, header in enumerate(action.get("httpHeaders") or ())
            if not header.get("name")
        ]
    elif key == "tcpSocket":
        causes += port_number_or_name(action.get("port", 0), f"{at}.port")
    elif key == "grpc":
        causes += port_number(action.get("port", 0), f"{at}.port")
    return causes
