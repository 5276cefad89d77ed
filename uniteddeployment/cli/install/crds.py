"""``ud crds``: the CustomResourceDefinitions."""

from uniteddeployment.cli.output.documents import check_output, dump_all
from uniteddeployment.cli.output.terminal import program
from uniteddeployment_api.crd import custom_resource_definitions, to_yaml


def main(output: str) -> None:
    """Print the definitions."""
    check_output(output, ("yaml", "json"))
    if output == "json":
        dump_all(list(custom_resource_definitions()), output)
    else:
        program(to_yaml())
