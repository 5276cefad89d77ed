"""A real Prometheus that scrapes metrics of applications, as a process of its own on loopback."""

import shutil
import socket
import subprocess
import tempfile
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import msgspec
import pytest

from tests.support.waiting import until

CONFIG = """
global:
  scrape_interval: 100ms
scrape_configs:
  - job_name: web
    static_configs:
      - targets: ["127.0.0.1:{port}"]
"""


class Application:
    """Counters that grow with each scrape: by (cluster, revision), 100 requests of which some are errors."""

    def __init__(self, errors: dict[tuple[str, str], int]) -> None:
        self.errors = errors
        self.scrapes = 0

    def text(self) -> str:
        """The metrics for the next scrape."""
        self.scrapes += 1
        lines = ["# TYPE http_requests_total counter", "# TYPE build_info gauge", "build_info 1"]
        for (cluster, revision), errors in self.errors.items():
            labels = f'cluster="{cluster}",uniteddeployment_revision="{revision}"'
            for code, number in (("500", errors), ("200", 100 - errors)):
                lines.append(f'http_requests_total{{{labels},code="{code}"}} {number * self.scrapes}')
        return "\n".join(lines) + "\n"


@contextmanager
def prometheus(errors: dict[tuple[str, str], int]) -> Iterator[str]:
    """A Prometheus that has scraped an application twice; the value is its URL. Skips where it is not installed."""
    program = shutil.which("prometheus")
    if program is None:
        pytest.skip("Prometheus is not installed; on Debian: apt-get install prometheus")
    application = Application(errors)
    with _serving(application) as port, tempfile.TemporaryDirectory() as folder, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
        free.close()
        config, log = Path(folder, "prometheus.yml"), Path(folder, "log")
        config.write_text(CONFIG.format(port=port))
        options = [f"--config.file={config}", f"--storage.tsdb.path={folder}/data", f"--web.listen-address={address}"]
        with log.open("wb") as output, subprocess.Popen([program, *options], stdout=output, stderr=output) as process:
            try:
                until(lambda: _scraped(f"http://{address}") or process.poll() is not None, "the first scrapes")
                assert process.poll() is None, log.read_text()
                yield f"http://{address}"
            finally:
                process.terminate()
                try:
                    process.wait(15)
                except subprocess.TimeoutExpired:
                    process.kill()


def _scraped(url: str) -> bool:
    query = urllib.parse.urlencode({"query": "sum(count_over_time(build_info[1m]))"})
    try:
        with urllib.request.urlopen(f"{url}/api/v1/query?{query}", timeout=5) as answer:  # noqa: S310  # loopback
            result = msgspec.json.decode(answer.read())["data"]["result"]
    except (urllib.error.URLError, OSError):
        return False
    return bool(result) and int(result[0]["value"][1]) >= 3


@contextmanager
def _serving(application: Application) -> Iterator[int]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = application.text().encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the name in the standard library
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
