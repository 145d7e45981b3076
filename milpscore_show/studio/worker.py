"""The searches of a desk in a process of their own: the page stays quick, and a search can end."""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
from typing import Any, Protocol

from milpscore.core.errors import MilpscoreError, SolverError
from milpscore.core.jit import heeding_interrupts
from milpscore.core.result import TracePoint
from milpscore_show.studio.questions import Bench, Listen


class Task(Protocol):
    """What a worker does: a search, or an export."""

    def run(self, bench: Bench, listen: Listen | None = None) -> Any:
        """The answer."""


class Worker:
    """A child process that holds the bench; made at the first task, and again after it died."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._child: subprocess.Popen[bytes] | None = None
        self._closed = False
        self._runs = 0

    def run(self, task: Task, listen: Listen | None = None) -> Any:
        """The answer to a task, whose progress goes to ``listen``."""
        child = self._living()
        self._runs += 1
        try:
            _send(child.stdin, task)
            while True:
                kind, content = pickle.load(child.stdout)  # type: ignore[arg-type]
                if kind == "trace":
                    if listen is not None:
                        listen(content)
                elif kind == "refused":
                    raise MilpscoreError(content)
                else:
                    return content
        except (EOFError, OSError, pickle.UnpicklingError) as error:
            code = child.wait()
            raise SolverError(
                f"the search was ended from outside (exit code {code}); what was known before "
                "stays: ask again"
            ) from error
        finally:
            self._runs += 1

    def _living(self) -> subprocess.Popen[bytes]:
        """The child, started where there is none."""
        if self._closed:
            raise SolverError("the studio was closed")
        if self._child is None or self._child.poll() is not None:
            self._forget()
            self._child = subprocess.Popen(
                [sys.executable, "-m", __name__], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                # Ctrl-C in the terminal is the server's
                start_new_session=True,
            )  # fmt: skip
            bare = Bench(
                self._bench.design, self._bench.formulation, self._bench.arguments,
                self._bench.scale,
            )  # fmt: skip
            _send(self._child.stdin, bare)
        return self._child

    def stop(self) -> None:
        """End the search that runs; it answers with what it found, or is killed."""
        child = self._child
        if child is None or child.poll() is not None:
            return
        child.send_signal(signal.SIGINT if os.name == "posix" else signal.SIGTERM)
        run = self._runs
        late = threading.Timer(10.0, lambda: child.kill() if self._runs == run else None)
        late.daemon = True
        late.start()

    def kill(self) -> None:
        """End the process at once."""
        if self._child is not None and self._child.poll() is None:
            self._child.kill()

    def close(self) -> None:
        """End the process, and start no other."""
        self._closed = True
        self.kill()
        self._forget()

    def _forget(self) -> None:
        """Let go of a process that ended."""
        if self._child is None:
            return
        self._child.wait()
        for pipe in (self._child.stdin, self._child.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):  # of what was never sent
                    pipe.close()


def _send(pipe: Any, content: Any) -> None:
    pipe.write(pickle.dumps(content))
    pipe.flush()


def main() -> None:
    """Answer tasks until the parent goes away."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a solver prints is not an answer
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def listen_to_parent() -> None:
        try:
            while True:
                tasks.put(pickle.load(sys.stdin.buffer))
        except (EOFError, OSError):
            os._exit(0)  # the parent is gone, whatever is searched here

    threading.Thread(target=listen_to_parent, daemon=True).start()
    bench = tasks.get()

    def tell(point: TracePoint) -> None:
        _send(out, ("trace", point))

    while True:
        task = tasks.get()
        message: tuple[str, Any] = ("stopped", None)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            with heeding_interrupts():
                message = ("answer", task.run(bench, tell))
        except MilpscoreError as error:
            message = ("refused", str(error))
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        _send(out, message)


if __name__ == "__main__":
    main()
