"""The command ``ud convert``."""

from uniteddeployment.cli.errors import reports_errors
from uniteddeployment.cli.options import Files, Recursive, YamlOrJson


@reports_errors
def convert(
    file: Files,
    recursive: Recursive = False,
    output: YamlOrJson = "yaml",
) -> None:
    """Convert UnitedDeployments of OpenKruise.

    The converted manifests go to standard output. Notes about differences go to standard error. Other objects are
    printed unchanged.

    \b
    Examples:
      ud convert -f openkruise.yaml > web.yaml
      ud convert -f openkruise.yaml | ud plan --offline -f -
    """
    from uniteddeployment.cli.convert import manifests  # noqa: PLC0415

    manifests.main(file, output, recursive=recursive)
