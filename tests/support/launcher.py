"""``python -ES launcher.py SOCKET ARGUMENTS...``: ``ud`` for shells, with the streams of this process.

It imports little, because it runs for each command. See ``preloaded``.
"""

import array
import json
import os
import signal
import socket
import sys


def main(path: str, arguments: list[str]) -> int:
    """Start the process, pass signals on to it, and return its exit code."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        request = {"arguments": arguments, "environment": dict(os.environ), "folder": os.getcwd()}  # noqa: PTH109  # pathlib takes longer to import
        streams = array.array("i", (0, 1, 2))
        rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, streams)
        connection.sendmsg([json.dumps(request).encode() + b"\n"], [rights])
        answers = connection.makefile()
        pid = int(answers.readline())
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, _: os.kill(pid, number))
        return int(answers.readline())


if __name__ == "__main__":
    code = main(sys.argv[1], sys.argv[2:])
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(code)
