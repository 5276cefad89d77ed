"""Writes mutmut's copy of the project, in which each function can be replaced by one of its mutants.

A variable of the environment says which. Files that have not changed since the last time are kept.
"""

from pathlib import Path

from mutmut.__main__ import create_mutants
from mutmut.mutation.trampoline import set_mutant_under_test
from mutmut.utils.file_utils import copy_also_copy_files, copy_src_dir


def main() -> None:
    """Write it to the folder ``mutants`` of the working directory."""
    set_mutant_under_test("mutant_generation")
    Path("mutants").mkdir(exist_ok=True)
    copy_src_dir()
    copy_also_copy_files()
    create_mutants(2)


if __name__ == "__main__":
    main()
