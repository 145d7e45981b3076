"""One desk, the search beside it, and everybody who looks at it."""

from __future__ import annotations

import itertools
import logging
import threading
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from milpscore.core.errors import MilpscoreError, OptionError
from milpscore.core.result import TracePoint
from milpscore.solvers.options import Options
from milpscore_show.studio._desk import Desk
from milpscore_show.studio.questions import Gather, Question
from milpscore_show.studio.session import open_session, session_text
from milpscore_show.studio.showing import Export, act, file_name, view
from milpscore_show.studio.worker import Worker

Tell = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class Job:
    """What is to be searched, and what it is called: a question, or the name of another task."""

    says: str
    what: Question | str
    prices: bool = False


class Hub:
    """Takes edits and searches from several pages at once, and sends all of them what changed."""

    def __init__(
        self, desk: Desk, time_limit: float = Options.time_limit,
        node_limit: int | None = Options.node_limit,
    ) -> None:  # fmt: skip
        self.desk = desk
        self.limits: dict[str, Any] = {"time_limit": time_limit, "node_limit": node_limit}
        self.worker = Worker(desk.bench)
        self.files: dict[str, bytes] = {}
        self._listeners: dict[int, Tell] = {}
        self._numbers, self._exports = itertools.count(1), itertools.count(1)
        self._lock = threading.RLock()
        self._jobs: deque[Job] = deque()
        self._running: Job | None = None
        self._asked: Counter[Question] = Counter()
        self._said = ""
        self._stopping = False
        self._wake = threading.Condition(self._lock)
        self._open = True
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    # ---------------------------------------------------------------- for pages

    def state(self) -> dict[str, Any]:
        """What a page shows."""
        with self._lock:
            search = {
                "running": self._running and self._running.says,
                "waiting": [job.says for job in self._jobs],
                "said": self._said,
            }
            return {**view(self.desk), "search": search}

    def act(self, request: str | bytes) -> dict[str, Any]:
        """Do an edit and return what a page shows then; take back one that cannot be shown."""
        with self._lock:
            before = self.desk.revision
            act(self.desk, request)
            try:
                state = self.state()
            except Exception:
                if self.desk.revision != before:
                    self.desk.undo()
                raise
        self._tell({"kind": "changed"})
        return state

    def session(self) -> dict[str, str]:
        """The desk as a file: its name, and its text."""
        with self._lock:
            return {"name": f"{file_name(self.desk.title)}.json", "text": session_text(self.desk)}

    def open(self, text: str | bytes) -> dict[str, Any]:
        """Take over a session, and return what a page shows then."""
        with self._lock:
            open_session(self.desk, text)
            state = self.state()
        self._tell({"kind": "changed"})
        return state

    def ask(self, what: str) -> None:
        """Search: "free", "best", "pool", "export", "prices", or "price " and a wish's key."""
        with self._lock:
            desk = self.desk
            if what == "free":
                jobs = [Job("best card without wishes", desk.free)]
            elif what == "best":
                jobs = [Job("best card that obeys the wishes", desk.question)]
            elif what == "pool":
                jobs = [Job("nearly best cards", "pool")]
            elif what == "export":
                Export.of(desk)  # says at once where nothing is proved
                jobs = [Job("evidence and report", "export")]
            elif what == "prices":
                jobs = [self._pricing(key) for key in desk.wishes] + [self._pricing(None)]
            elif what.startswith("price "):
                jobs = [self._pricing(what.removeprefix("price "))]
            else:
                raise OptionError(f"there is no search {what[:40]!r}")
            if len(self._jobs) + len(jobs) > 200:
                raise OptionError("too many searches are waiting: stop them, or let them end")
            known = {*self._jobs, self._running}
            self._jobs.extend(job for job in jobs if job not in known)
            self._said = ""
            self._wake.notify_all()
        self._tell({"kind": "changed"})

    def _pricing(self, key: str | None) -> Job:
        question = self.desk.question if key is None else self.desk.wish(key)
        says = "price of all wishes together" if key is None else f"price: {key}"
        return Job(says, question, prices=True)

    def stop(self) -> None:
        """End the search that runs, and forget those that wait."""
        with self._lock:
            self._jobs.clear()
            if self._running is not None:
                self._stopping = True
                self.worker.stop()
        self._tell({"kind": "changed"})

    def listen(self, tell: Tell) -> Callable[[], object]:
        """Tell somebody what happens, until what is returned here is called."""
        with self._lock:
            number = next(self._numbers)
            self._listeners[number] = tell
        return lambda: self._listeners.pop(number, None)

    def _tell(self, event: dict[str, Any]) -> None:
        for each in list(self._listeners.values()):
            each(event)

    def close(self) -> None:
        """End the search, and its process."""
        with self._lock:
            self._open = False
            self._jobs.clear()
            self._wake.notify_all()
        self.worker.close()
        self._thread.join()

    # ---------------------------------------------------------------- the search

    def _work(self) -> None:
        """Search what is asked, one after the other."""
        while True:
            with self._lock:
                while self._open and not self._jobs:
                    self._wake.wait()
                if not self._open:
                    return
                self._running = job = self._jobs.popleft()
                self._stopping = False
            self._tell({"kind": "changed"})
            try:
                said = self._done(job)
            except MilpscoreError as error:
                said = "Stopped." if self._stopping else str(error)
            except Exception as error:  # or no later search would run
                logging.getLogger("milpscore").exception("a search of the studio failed")
                said = f"The search failed ({type(error).__name__}: {error}): undo the edit."
            with self._lock:
                self._running, self._said = None, said
            self._tell({"kind": "changed"})

    def _done(self, job: Job) -> str:
        """Do one job; a sentence about it."""
        if isinstance(job.what, Question):
            return self._searched(job, job.what)
        desk = self.desk
        with self._lock:
            task = Gather(desk.free, **self.limits) if job.what == "pool" else Export.of(desk)
        answer = self.worker.run(task)
        if answer is None:
            return "Stopped."
        with self._lock:
            if job.what == "pool":
                desk.learn(desk.free, answer)
                return f"{len(answer.cards)} nearly best cards are known."
            name = f"{file_name(desk.title)}-{next(self._exports)}.zip"
            self.files[name] = answer
            for old in list(self.files)[:-4]:
                del self.files[old]
        self._tell({"kind": "file", "name": name})
        return f"{name} is ready."

    def _searched(self, job: Job, wanted: Question) -> str:
        """Search the best card of a question, and once the best one without wishes."""
        desk = self.desk
        for question in dict.fromkeys((desk.free, wanted)):
            with self._lock:
                if self._is_known(job, question):
                    continue
                again = 2 ** self._asked[question]
                self._asked[question] += 1
                limits = {k: v and v * again for k, v in self.limits.items()}
                task = desk.best_of(question, **limits)
            answer = self.worker.run(task, lambda point: self._trace(job, point))
            if answer is None:
                return "Stopped."
            with self._lock:
                desk.learn(question, answer)
            if str(answer.termination) == "interrupted":
                return "Stopped; what was proved until then is kept."
        with self._lock:
            proved = desk.is_settled(wanted)
        left = f"Not proved within the limit: {job.says}. Asked again, it gets twice."
        return f"Done: {job.says}." if proved else left

    def _is_known(self, job: Job, question: Question) -> bool:
        """Whether a job needs no search of a question."""
        # A card that is taken has a proof by itself; for prices what is best without wishes is
        # searched once.
        searched = question.key in self.desk.ledger.results
        if question != job.what:
            return searched or self.desk.is_settled(question)
        return self.desk.is_settled(question) and (searched or job.prices)

    def _trace(self, job: Job, point: TracePoint) -> None:
        """Tell how far a search is."""
        event = {"seconds": point.seconds, "objective": point.objective,
                "bound": point.dual_bound, "nodes": point.nodes}  # fmt: skip
        finite = {k: v for k, v in event.items() if abs(v) < float("inf")}
        self._tell({"kind": "trace", "says": job.says, **finite})
