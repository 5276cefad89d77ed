"""The UnitedRollouts of manifests, and ``ud rollout lint``, which checks them without any cluster."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from uniteddeployment.cli import manifests
from uniteddeployment.cli.errors import USAGE, CommandError, fail_with
from uniteddeployment.cli.manifests import Manifest
from uniteddeployment.cli.output.terminal import say
from uniteddeployment.cli.plan import wanted
from uniteddeployment.cli.plan.planner import plan_offline
from uniteddeployment_api import names
from uniteddeployment_api.errors import FieldError, InvalidObject
from uniteddeployment_api.v1alpha1.rollout import UnitedRollout
from uniteddeployment_api.validation.gates import kinds_of, parse_gate_template, validate_gate_template
from uniteddeployment_api.validation.rollout import parse_united_rollout, validate_united_rollout
from uniteddeployment_rollout.gates.resolve import resolve

_NAMESPACE = "default"


@dataclass(frozen=True, slots=True)
class Subset:
    """A subset of an application."""

    name: str
    cluster: str
    """The Cluster as namespace/name; empty for the host."""
    replicas: int
    labels: Mapping[str, str] | None = None
    """Labels of the Cluster; None if they are not known."""


@dataclass(frozen=True, slots=True)
class Files:
    """The rollouts of files, and the applications beside them."""

    rollouts: tuple[Manifest, ...]
    applications: Mapping[str, tuple[Subset, ...]]
    templates: tuple[Manifest, ...] = ()
    """The GateTemplates."""

    def subsets(self, application: str) -> tuple[Subset, ...] | None:
        """The subsets of a UnitedDeployment of the files; None if they do not contain it."""
        return self.applications.get(application)

    def errors(self, manifest: Manifest) -> tuple[FieldError, ...]:
        """What is wrong with a rollout. Waves are checked as far as its target and Clusters are in the files."""
        try:
            rollout = parse_united_rollout(_without_status(manifest))
        except InvalidObject as error:
            return error.errors
        gates = tuple(self._gate_errors(rollout))
        subsets = self.subsets(rollout.spec.target_ref.name)
        if subsets is None:
            return (*validate_united_rollout(rollout), *gates)
        errors = validate_united_rollout(rollout, {subset.name: subset.labels or {} for subset in subsets})
        known = all(subset.labels is not None for subset in subsets)
        return tuple(error for error in (*errors, *gates) if known or error.rule != "rollout-wave-selects-subsets")

    def _gate_errors(self, rollout: UnitedRollout) -> Iterator[FieldError]:
        """Yield gates that do not fit their GateTemplates, as far as these are in the files."""
        templates = {}
        for manifest in self.templates:
            with contextlib.suppress(InvalidObject):  # it is reported as an error of the template
                templates[_name(manifest)] = parse_gate_template(_without_status(manifest)).spec
        for number, step in enumerate(rollout.spec.steps):
            for index, gate in enumerate(step.gates):
                name = gate.template_ref.name if gate.template_ref is not None else gate.name
                if name in templates and not kinds_of(gate) and (problem := resolve(gate, templates).problem):
                    yield FieldError(f"spec.steps[{number}].gates[{index}]", problem)

    def valid(self) -> list[UnitedRollout]:
        """The rollouts. Raises CommandError if one is not valid."""
        problems = [f"{manifest.title}: {error}" for manifest in self.rollouts for error in self.errors(manifest)]
        if problems:
            fail_with(problems, USAGE)
        return [parse_united_rollout(_without_status(manifest)) for manifest in self.rollouts]


def read(files: Sequence[str]) -> Files:
    """The rollouts of files. Raises CommandError if there are none."""
    contents = _contents(manifests.read(files))
    if not contents.rollouts:
        raise CommandError(f"no {names.UNITED_ROLLOUT_KIND} in {', '.join(files)}", USAGE)
    return contents


def lint(files: Sequence[str]) -> None:
    """Check all UnitedRollouts and GateTemplates in files. Raises CommandError."""
    contents = _contents(manifests.read(files))
    if not contents.rollouts and not contents.templates:
        kinds = f"{names.UNITED_ROLLOUT_KIND} and no {names.GATE_TEMPLATE_KIND}"
        raise CommandError(f"no {kinds} in {', '.join(files)}", USAGE)
    problems = []
    for manifest in (*contents.templates, *contents.rollouts):
        errors = _template_errors(manifest) if manifest in contents.templates else contents.errors(manifest)
        problems += [f"{manifest.title}: {error}" for error in errors]
        if not errors:
            say(f"{manifest.title}: valid")
    if problems:
        fail_with(problems, USAGE)


def _contents(objects: Sequence[Manifest]) -> Files:
    rollouts = tuple(manifest for manifest in objects if manifest.kind == names.UNITED_ROLLOUT_KIND)
    templates = tuple(manifest for manifest in objects if manifest.kind == names.GATE_TEMPLATE_KIND)
    return Files(rollouts, _applications(objects), templates)


def _template_errors(manifest: Manifest) -> tuple[FieldError, ...]:
    try:
        return validate_gate_template(parse_gate_template(_without_status(manifest)))
    except InvalidObject as error:
        return error.errors


def labelled(subsets: Sequence[Subset], labels: Mapping[str, Mapping[str, str]]) -> tuple[Subset, ...]:
    """The subsets with the labels of their Clusters, as far as they are known."""
    return tuple(
        replace(subset, labels=labels.get(subset.cluster, subset.labels) if subset.cluster else {})
        for subset in subsets
    )


def _applications(objects: Sequence[Manifest]) -> dict[str, tuple[Subset, ...]]:
    """The UnitedDeployments of manifests that are valid; `ud plan` reports what is wrong with others."""
    labels = {f"{_namespace(one)}/{_name(one)}": _labels(one) for one in objects if _is(one, names.CLUSTER_KIND)}
    applications = {}
    for manifest in objects:
        if not _is(manifest, names.UNITED_DEPLOYMENT_KIND) or not _name(manifest):
            continue
        application = wanted.of_manifest(manifest, _NAMESPACE)
        if not application.errors:
            results = plan_offline(application.stored).results
            subsets = [Subset(result.name, result.cluster, result.replicas) for result in results]
            applications[application.name] = labelled(subsets, labels)
    return applications


def _is(manifest: Manifest, kind: str) -> bool:
    return manifest.kind == kind and manifest.document.get("apiVersion") == names.API_VERSION


def _name(manifest: Manifest) -> str:
    return str(_metadata(manifest).get("name") or "")


def _namespace(manifest: Manifest) -> str:
    return str(_metadata(manifest).get("namespace") or _NAMESPACE)


def _labels(manifest: Manifest) -> dict[str, str]:
    found = _metadata(manifest).get("labels")
    return {str(key): str(value) for key, value in found.items()} if isinstance(found, Mapping) else {}


def _metadata(manifest: Manifest) -> Mapping[str, Any]:
    found = manifest.document.get("metadata")
    return found if isinstance(found, Mapping) else {}


def _without_status(manifest: Manifest) -> dict[str, object]:
    return {key: value for key, value in manifest.document.items() if key != "status"}
