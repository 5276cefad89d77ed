"""``python -m uniteddeployment.cli`` is ``ud``."""

from uniteddeployment.cli.main import main

main()
