"""A cluster in this process, for tests: what happens to each task is said beforehand."""

import pickle
import threading

from pipeline.cluster.cluster import Cluster
from pipeline.selection.run_slice import score_model, train_slice

LOST, KILLED, DISK_FULL = "lost", "killed", "disk full"


class Pending:
    def __init__(self, value=None, status="pending"):
        self.value, self.status = value, status
        self.callbacks = []

    def result(self, timeout):  # noqa: ARG002 - nothing takes time here
        from distributed.client import FutureCancelledError

        if self.status == "cancelled":
            raise FutureCancelledError("key", "lost")
        if self.status == "pending":
            raise TimeoutError
        if self.status == "error":
            raise self.value
        return pickle.loads(self.value)

    def add_done_callback(self, callback):
        self.callbacks.append(callback)
        if self.status != "pending":
            callback(self)

    def cancel(self, *, force):  # noqa: ARG002
        self.end("cancelled")

    def end(self, status, value=None):
        if self.status == "pending":
            self.value, self.status = value, status
            for callback in self.callbacks:
                callback(self)


class Bench(Cluster):
    """Cluster of one thread, the last task first; `fate(number)` may replace a result."""

    n_threads = 0
    addresses = ()  # for E-steps, which nobody is to make here

    def __init__(self, n_threads=2, fate=lambda _: "", on_submit=lambda _: None):
        self.n_threads, self._fate, self._on_submit = n_threads, fate, on_submit
        self.trained = []
        self.n_scored = 0
        self.futures = []
        self._waiting = []
        self._changed = threading.Condition()
        self._is_open = True
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def submit(self, function, *arguments):
        future, number = Pending(), len(self.trained) + self.n_scored
        if function is train_slice:
            self.trained.append(arguments[0].name)
        elif function is score_model:
            self.n_scored += 1
        else:
            number = -1  # of the text stage
        values = [each.result(0) if isinstance(each, Pending) else each for each in arguments]
        self.futures.append(future)
        fate = self._fate(number) if number >= 0 else ""
        with self._changed:
            self._waiting.append((fate, future, function, pickle.dumps(values)))
            self._changed.notify()
        if number >= 0:
            self._on_submit(number)
        return future

    def scatter(self, value, *, broadcast):  # noqa: ARG002
        return Pending(pickle.dumps(value), "finished")

    def holders(self, future):  # noqa: ARG002
        return ()

    def check(self):
        pass

    def wait_for(self, future, seconds):
        pass  # its status is all there is to it

    def wait_for_workers(self):
        pass

    def close(self):
        self._is_open = False
        with self._changed:
            self._changed.notify()
        self._thread.join()

    def _work(self):
        while self._is_open:
            with self._changed:
                while not self._waiting and self._is_open:
                    self._changed.wait()
                while self._changed.wait(0.01):  # until no more is coming
                    pass
                task = self._waiting.pop() if self._waiting else None
            if task is not None:
                self._do(*task)

    def _do(self, fate, future, function, values):
        from distributed import KilledWorker

        if fate == LOST:
            future.end("cancelled")
        elif fate == KILLED:
            future.end("error", KilledWorker("task", None, 3))
        elif fate == DISK_FULL:
            future.end("error", OSError(28, "No space left on device"))
        elif future.status == "pending":
            try:
                result = pickle.dumps(function(*pickle.loads(values)))
            except Exception as error:  # noqa: BLE001 - it is raised where it is waited for
                future.end("error", error)
            else:
                future.end("finished", result)
