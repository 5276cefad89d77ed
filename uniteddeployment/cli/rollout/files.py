"""The UnitedRollouts of manifests, and ``ud rollout lint``, which checks them without any cluster."""

from collections.abc import Sequence
from dataclasses import dataclass

from uniteddeployment.cli import manifests
from uniteddeployment.cli.errors import USAGE, CommandError, fail_with
from uniteddeployment.cli.manifests import Manifest
from uniteddeployment.cli.output.terminal import say
from uniteddeployment.cli.plan import wanted
from uniteddeployment.cli.plan.planner import plan_offline
from uniteddeployment_api import names
from uniteddeployment_api.errors import FieldError, InvalidObject
from uniteddeployment_api.v1alpha1.rollout import UnitedRollout
from uniteddeployment_api.validation.rollout import parse_united_rollout, validate_united_rollout

_NAMESPACE = "default"
_Subsets = tuple[tuple[str, str, int], ...]
"""Name, cluster and number of pods of each subset."""


@dataclass(frozen=True, slots=True)
class Files:
    """The rollouts of files, and the applications beside them."""

    rollouts: tuple[Manifest, ...]
    applications: dict[str, _Subsets]

    def subsets(self, application: str) -> _Subsets | None:
        """The subsets of a UnitedDeployment of the files; None if they do not contain it."""
        return self.applications.get(application)

    def errors(self, manifest: Manifest) -> tuple[FieldError, ...]:
        """What is wrong with a rollout. Waves are checked if its target is in the files."""
        try:
            rollout = parse_united_rollout(_without_status(manifest))
        except InvalidObject as error:
            return error.errors
        subsets = self.subsets(rollout.spec.target_ref.name)
        return validate_united_rollout(rollout, None if subsets is None else [name for name, _, _ in subsets])

    def valid(self) -> list[UnitedRollout]:
        """The rollouts. Raises CommandError if one is not valid."""
        problems = [f"{manifest.title}: {error}" for manifest in self.rollouts for error in self.errors(manifest)]
        if problems:
            fail_with(problems, USAGE)
        return [parse_united_rollout(_without_status(manifest)) for manifest in self.rollouts]


def read(files: Sequence[str]) -> Files:
    """The rollouts of files. Raises CommandError if there are none."""
    objects = manifests.read(files)
    rollouts = tuple(manifest for manifest in objects if manifest.kind == names.UNITED_ROLLOUT_KIND)
    if not rollouts:
        raise CommandError(f"no {names.UNITED_ROLLOUT_KIND} in {', '.join(files)}", USAGE)
    return Files(rollouts, _applications(objects))


def lint(files: Sequence[str]) -> None:
    """Check all UnitedRollouts in files. Raises CommandError."""
    read_ = read(files)
    problems = []
    for manifest in read_.rollouts:
        errors = read_.errors(manifest)
        problems += [f"{manifest.title}: {error}" for error in errors]
        if not errors:
            say(f"{manifest.title}: valid")
    if problems:
        fail_with(problems, USAGE)


def _applications(objects: Sequence[Manifest]) -> dict[str, _Subsets]:
    """The UnitedDeployments of manifests that are valid; `ud plan` reports what is wrong with others."""
    applications: dict[str, _Subsets] = {}
    for manifest in objects:
        if manifest.kind != names.UNITED_DEPLOYMENT_KIND or manifest.document.get("apiVersion") != names.API_VERSION:
            continue
        if not (manifest.document.get("metadata") or {}).get("name"):
            continue
        application = wanted.of_manifest(manifest, _NAMESPACE)
        if not application.errors:
            results = plan_offline(application.stored).results
            applications[application.name] = tuple((one.name, one.cluster, one.replicas) for one in results)
    return applications


def _without_status(manifest: Manifest) -> dict[str, object]:
    return {key: value for key, value in manifest.document.items() if key != "status"}
