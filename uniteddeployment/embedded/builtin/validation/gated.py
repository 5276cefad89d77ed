"""Validation of updates of pods with scheduling gates: gates can be removed, and placement can be narrowed."""

from collections.abc import Iterator, Sequence

from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.builtin.validation.causes import forbidden, invalid
from uniteddeployment.embedded.errors import Cause

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_SELECTOR_TEXT = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
_TERMS = f"spec.affinity.nodeAffinity.{_REQUIRED}.nodeSelectorTerms"


def update(spec: Obj, before: Obj) -> list[Cause]:
    """Validate an update of a pod with gates."""
    causes = new_gates(spec, before)
    given, known = spec.get("nodeSelector") or {}, before.get("nodeSelector") or {}
    if any(given.get(key) != value for key, value in known.items()):
        causes.append(invalid("spec.nodeSelector", given or None, _SELECTOR_TEXT))
    return [*causes, *_terms(_required(spec), _required(before))]


def new_gates(spec: Obj, before: Obj) -> list[Cause]:
    """Scheduling gates that an update adds."""
    known = {gate.get("name") for gate in before.get("schedulingGates") or ()}
    return [
        forbidden(
            f"spec.schedulingGates[{index}].name",
            f"only deletion is allowed, but found new scheduling gate '{gate.get('name')}'",
        )
        for index, gate in enumerate(spec.get("schedulingGates") or ())
        if gate.get("name") not in known
    ]


def freeze(frozen: Obj, before: Obj) -> None:
    """Reset the fields that :func:`update` validates, in a copy of a spec that is compared with the old one."""
    _restore(frozen, before, "schedulingGates")
    if not before.get("schedulingGates"):
        return
    _restore(frozen, before, "nodeSelector")
    affinity, known = dict(frozen.get("affinity") or {}), before.get("affinity") or {}
    _restore(affinity, known, "nodeAffinity")
    if affinity or "affinity" in before:
        frozen["affinity"] = affinity
    else:
        frozen.pop("affinity", None)


def _restore(new: Obj, old: Obj, key: str) -> None:
    if key in old:
        new[key] = old[key]
    else:
        new.pop(key, None)


def _required(spec: Obj) -> Sequence[Obj]:
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    terms: Sequence[Obj] = (affinity.get(_REQUIRED) or {}).get("nodeSelectorTerms") or ()
    return terms


def _terms(given: Sequence[Obj], known: Sequence[Obj]) -> Iterator[Cause]:
    """Terms are alternatives: another term would widen the choice, another requirement in a term narrows it."""
    if known and len(given) != len(known):
        yield invalid(
            _TERMS, list(given) or None, "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        )
        return
    for index, before in enumerate(known):
        if not _narrows(given[index], before):
            text = "only additions are allowed (no mutations or deletions)"
            yield invalid(f"{_TERMS}[{index}]", given[index], text)


def _narrows(term: Obj, before: Obj) -> bool:
    lists = [(term.get(key) or [], before.get(key) or []) for key in ("matchExpressions", "matchFields")]
    if not any(known for _, known in lists):
        return not any(given for given, _ in lists)
    return all(given[: len(known)] == known for given, known in lists)
