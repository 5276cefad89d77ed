"""The token of ``ud embedded``."""

from pathlib import Path

import pytest

from uniteddeployment.cli.demo.embedded import chosen_token
from uniteddeployment.cli.errors import USAGE, CommandError


def test_the_token_comes_from_the_option_or_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(" from-file\n")
    assert chosen_token("given", None) == "given"
    assert chosen_token("", None) == ""
    assert chosen_token("", file) == "from-file"


def test_an_unusable_token_is_invalid_usage_and_is_not_printed(tmp_path: Path) -> None:
    """I12"""
    file, empty, bytes_ = tmp_path / "token", tmp_path / "empty", tmp_path / "bytes"
    file.write_text("from-file")
    empty.write_text("\n")
    bytes_.write_bytes(b"\xff")
    for token, path in (("given", file), ("", empty), ("", bytes_), ("", tmp_path / "none"), ("", tmp_path)):
        with pytest.raises(CommandError) as caught:
            chosen_token(token, path)
        assert caught.value.code == USAGE
        assert "from-file" not in str(caught.value)
        assert "given" not in str(caught.value)
