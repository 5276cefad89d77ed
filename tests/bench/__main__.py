"""``make bench``: the numbers of the design, as figures and ratios of one run. Timing never decides a test.

Each module here has ``run() -> list[tuple[str, str]]``; name one or more to run only those. Modules with
``ON_REQUEST = True`` run only when they are named.
"""

import importlib
import pkgutil
import sys
import time
from pathlib import Path


def main() -> None:
    found = [
        module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)]) if module.name[:6] == "bench_"
    ]
    wanted = [f"bench_{name.removeprefix('bench_')}" for name in sys.argv[1:]] or found
    for name in wanted:
        started = time.perf_counter()
        module = importlib.import_module(f"tests.bench.{name}")
        if not sys.argv[1:] and getattr(module, "ON_REQUEST", False):
            continue
        rows = module.run()
        print(f"\n{name.removeprefix('bench_')} ({time.perf_counter() - started:.1f} s)")
        width = max(len(what) for what, _ in rows)
        for what, figure in rows:
            print(f"  {what:<{width}}  {figure}")


if __name__ == "__main__":
    main()
