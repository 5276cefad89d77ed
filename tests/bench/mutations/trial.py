"""Runs tests against mutants, each in a fork of a process that has collected the tests.

So a mutant that the first test notices takes hundredths of a second.
"""

import doctest
import inspect
import itertools
import json
import os
import resource
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType

import pytest
from mutmut.state import state
from mutmut.utils.format_utils import mangled_name_from_mutant_name

_VARIABLE = "MUTANT_UNDER_TEST"
_SPARE_SECONDS, _FACTOR = 20, 10
"""The CPU time that tests may take with a mutant: that without it times ``_FACTOR``, and ``_SPARE_SECONDS``."""


class Trials:
    """A plugin of pytest that runs the collected tests once to learn what they reach, then against each mutant."""

    def __init__(self, mutants: Sequence[str], workers: int) -> None:
        self._mutants = mutants
        self._workers = workers
        self.noticed: dict[str, str] = {}
        """Mutant -> the test that failed, or why it ended early; empty if no test noticed it."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run them in place of the tests."""
        if session.testsfailed:
            raise session.Interrupted("tests cannot be collected")
        reaching = self._reaching(session)
        waiting = deque(self._mutants)
        running: dict[int, tuple[str, Path]] = {}
        while waiting or running:
            while waiting and len(running) < self._workers:
                mutant = waiting.popleft()
                tests = reaching.get(mangled_name_from_mutant_name(mutant), [])
                pid, answer = _forked(partial(_try, session, mutant, tests))
                running[pid] = mutant, answer
            pid, status = os.wait()
            mutant, answer = running.pop(pid)
            code = os.waitstatus_to_exitcode(status)
            if code > 0:
                raise RuntimeError(f"the trial of {mutant} ended with {code}")
            self.noticed[mutant] = answer.read_text() if code == 0 else f"the process ended with {code}"
            answer.unlink()
            print(
                f"{len(self.noticed)}/{len(self._mutants)} {mutant}: {self.noticed[mutant] or 'SURVIVED'}", flush=True
            )
        return True

    def _reaching(self, session: pytest.Session) -> dict[str, list[tuple[int, float]]]:
        """Mangled name of a function -> the tests that reach it, by their places, with their CPU seconds."""
        places = range(len(session.items))
        parts = [places[number :: self._workers] for number in range(self._workers)]
        learning = [_forked(partial(_learn, session, part)) for part in parts]
        reaching: dict[str, list[tuple[int, float]]] = {}
        for fork in learning:
            for name, tests in json.loads(_result(fork)).items():
                reaching.setdefault(name, []).extend(tests)
        return reaching


def _forked(work: Callable[[], str]) -> tuple[int, Path]:
    """Do work in a fork; return its process, and the file with the result."""
    number, name = tempfile.mkstemp()
    os.close(number)
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid, Path(name)
    code = 1
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        Path(name).write_text(work())
        code = 0
    finally:
        os._exit(code)


def _result(fork: tuple[int, Path]) -> str:
    pid, answer = fork
    _, status = os.waitpid(pid, 0)
    if status:
        raise RuntimeError("the tests cannot be run without any mutation")
    text = answer.read_text()
    answer.unlink()
    return text


def _learn(session: pytest.Session, places: Iterable[int]) -> str:
    """JSON: mangled name of a function -> [place, CPU seconds] of each of some tests that reaches it.

    A test that fails without any mutation, for example because it reads the code, proves nothing and is left out.
    """
    os.environ[_VARIABLE] = "stats"
    reaching: dict[str, list[tuple[int, float]]] = {}
    for place in places:
        item = session.items[place]
        state()._stats.clear()
        start = time.process_time()
        if _fails(session, item, None):
            print(f"fails without any mutation: {item.nodeid}", file=sys.stderr, flush=True)
            continue
        seconds = time.process_time() - start
        for name in state()._stats:
            reaching.setdefault(name, []).append((place, seconds))
    return json.dumps(reaching)


def _try(session: pytest.Session, mutant: str, tests: Iterable[tuple[int, float]]) -> str:
    """The first test that fails with a mutant; empty if none does. Those of its module run first, then fast ones."""
    os.environ[_VARIABLE] = mutant
    module = mutant.split(".")[-2]
    ordered = sorted(tests, key=lambda test: (f"test_{module}" not in session.items[test[0]].nodeid, test[1]))
    seconds = int(time.process_time() + sum(test[1] for test in ordered) * _FACTOR) + _SPARE_SECONDS
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    items = [session.items[place] for place, _ in ordered]
    for item, following in itertools.zip_longest(items, items[1:]):
        try:
            failed = _fails(session, item, following)
        except BaseException as error:  # noqa: BLE001  # of the mutant
            return f"{item.nodeid}: {error!r}"
        if failed:
            return item.nodeid
    return ""


def _fails(session: pytest.Session, item: pytest.Item, following: pytest.Item | None) -> bool:
    before = session.testsfailed
    session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
    return session.testsfailed > before


def _find_examples_of_mutated_functions() -> None:
    """mutmut wraps functions, and doctest passes over those that seem to be of another module."""
    is_from_module = doctest.DocTestFinder._from_module  # type: ignore[attr-defined]  # it has no public hook

    def unwrapped(finder: doctest.DocTestFinder, module: ModuleType | None, found: object) -> bool:
        return bool(is_from_module(finder, module, inspect.unwrap(found) if callable(found) else found))

    doctest.DocTestFinder._from_module = unwrapped  # type: ignore[attr-defined]  # as above


def main() -> None:
    """Arguments: a file with the names of mutants, a file for the results, the number of workers, tests."""
    task, verdicts, workers, *tests = sys.argv[1:]
    _find_examples_of_mutated_functions()
    trials = Trials(json.loads(Path(task).read_text()), int(workers))
    code = pytest.main(["-q", "-s", "-p", "no:cacheprovider", "-p", "no:xdist", "--timeout=300", *tests], [trials])
    if code:
        sys.exit(int(code))
    Path(verdicts).write_text(json.dumps(trials.noticed))


if __name__ == "__main__":
    main()
