# SPDX-License-Identifier: MIT
"""
mutation/process.py - run a program that may hang, crash or eat all memory.
"""

import os
import resource
import signal
import subprocess
import tempfile
import time

MOST_BYTES = 4 << 30        # of memory that one process may have


class Ended:
    """status is as of subprocess; stopped says why we ended it, or is None."""

    def __init__(self, status, stopped, out, err):
        self.status = status
        self.stopped = stopped
        self.out = out
        self.err = err

    def why(self):
        """In one word or two."""
        if self.stopped:
            return self.stopped
        if self.status < 0:
            return signal.Signals(-self.status).name
        return f"status {self.status}"


def no_core():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def resident(pid):
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as stream:
            return int(stream.read().split()[1]) * os.sysconf("SC_PAGESIZE")
    except (OSError, IndexError):
        return 0


def watch(process, seconds):
    """Wait for its end.  Returns why it must be ended instead, or None."""
    end = time.monotonic() + seconds
    while True:
        left = end - time.monotonic()
        try:
            process.wait(max(min(left, 0.5), 0.001))
            return None
        except subprocess.TimeoutExpired:
            if left <= 0:
                return "hang"
            if resident(process.pid) > MOST_BYTES:
                return "memory"


def run(command, seconds, env=None, cwd=None):
    """Run it for so long at most; its children end with it."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=env,
            cwd=cwd, start_new_session=True, preexec_fn=no_core)
        stopped = "interrupted"
        try:
            stopped = watch(process, seconds)
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read().decode(errors="replace"))
        return Ended(process.returncode, stopped, *texts)
