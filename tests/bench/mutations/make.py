"""Writes mutmut's copy of the project, in which each function can be replaced by one of its mutants.

A variable of the environment says which. Mutants of files that have not changed since the last time are kept.
"""

import os
import shutil
from pathlib import Path

from mutmut.__main__ import create_mutants
from mutmut.mutation.trampoline import set_mutant_under_test
from mutmut.utils.file_utils import copy_also_copy_files, copy_src_dir, walk_mutatable_files

MUTANTS = Path("mutants")


def main() -> None:
    """Write it to the folder ``mutants`` of the working directory."""
    set_mutant_under_test("mutant_generation")
    MUTANTS.mkdir(exist_ok=True)
    copy_src_dir()
    copy_also_copy_files()
    for path in walk_mutatable_files():
        if _source(path).exists() and _source(path).read_bytes() == path.read_bytes():
            os.utime(MUTANTS / path)  # mutmut goes by times, and git writes files again that have not changed
    create_mutants(2)
    for path in walk_mutatable_files():
        shutil.copy(path, _source(path))


def _source(path: Path) -> Path:
    """The source from which the present mutants of a file were made."""
    return MUTANTS / f"{path}.source"


if __name__ == "__main__":
    main()
