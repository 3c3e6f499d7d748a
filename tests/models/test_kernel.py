import logging
import os
import subprocess
import sys
import time
from threading import Thread

import numba
import numpy as np
import pytest
from numba.core import config, event
from numba.core.compiler_lock import global_compiler_lock
from scipy import sparse

from models.kernel import kernel, prefetch, read_only, seconds_compiling, working_clock
from models.variational.inference import documents_of, infer_doc_topic, infer_documents


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("writeable", [True, False])
def test_read_only_arrays_share_memory_where_they_can(order, writeable):
    array = np.array([[1.0, 2.0], [3.0, 4.0]], order=order)  # type: ignore[call-overload]
    array.flags.writeable = writeable
    found = read_only(array)
    assert (found == array).all()
    assert found.flags.c_contiguous
    assert not found.flags.writeable
    assert array.flags.writeable == writeable
    assert np.shares_memory(found, array) == (order == "C")


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_indices_are_as_small_as_they_can_be(index):
    counts = sparse.csr_array(np.array([[1, 0, 2], [0, 3, 0]]))
    counts.indices, counts.indptr = counts.indices.astype(index), counts.indptr.astype(index)
    documents = documents_of(counts)
    assert documents.start.dtype == documents.word_of.dtype == np.int32
    assert (documents.start.tolist(), documents.word_of.tolist()) == ([0, 2, 3], [0, 2, 1])
    assert (documents.counts.tolist(), counts.indices.dtype) == ([1.0, 2.0, 3.0], index)


def test_a_kernel_is_compiled_once_for_all_that_callers_have():
    rng = np.random.default_rng(0)
    counts = sparse.csr_array(rng.poisson(1.0, size=(4, 5)))
    weight, alpha = rng.random((5, 3)), np.full(3, 0.1)
    settings = {"max_iterations": 20, "tolerance": 1e-3}
    found = infer_doc_topic(counts, weight, alpha, **settings)  # type: ignore[arg-type]
    n_compiled, large = len(getattr(infer_documents, "signatures", ())), counts.copy()
    large.indices, large.indptr = large.indices.astype(np.int64), large.indptr.astype(np.int64)
    for each in (read_only(weight), np.asfortranarray(weight)):
        again = infer_doc_topic(large, each, read_only(alpha), **settings)  # type: ignore[arg-type]
        assert (again == found).all()
    assert len(getattr(infer_documents, "signatures", ())) == n_compiled


def test_the_working_clock_stands_still_while_kernels_are_compiled():
    compiling, working, started = seconds_compiling(), working_clock(), time.perf_counter()

    def compile_slowly():
        with global_compiler_lock, global_compiler_lock:  # as kernels that call others
            time.sleep(0.1)

    threads = [Thread(target=compile_slowly) for _ in range(2)]
    for thread in threads:
        thread.start()
    time.sleep(0.05)
    assert seconds_compiling() > compiling  # in the middle of it
    for thread in threads:
        thread.join()
    time.sleep(0.05)
    compiling, working = seconds_compiling() - compiling, working_clock() - working
    passed = time.perf_counter() - started
    assert compiling >= 0.2  # one after the other, and who waits is not counted twice
    assert 0.05 <= working < passed - 0.19
    assert compiling + working == pytest.approx(passed, abs=0.1)
    assert seconds_compiling() == seconds_compiling()


def test_a_package_is_announced_once(caplog):
    class Fake:
        def __init__(self, module):
            self.py_func = type("f", (), {"__module__": module})

    modules = ("made.up.first", "numba.np.random", "made.up.second", "made.other.first")
    with caplog.at_level(logging.INFO, "corpora.kernel_cache"):
        for module in modules:
            with event.trigger_event("numba:compile", data={"dispatcher": Fake(module)}):  # type: ignore[no-untyped-call]
                pass
    said = "compiling kernels of made.{} (the first time a command needs them, some seconds)"
    assert caplog.messages == [said.format("up"), said.format("other")]


def test_compiling_is_timed():
    @kernel
    def doubled(x):
        return 2 * x

    before = seconds_compiling()
    assert doubled(2.0) == 4.0
    if hasattr(doubled, "signatures"):  # not where kernels are left uncompiled
        assert seconds_compiling() > before
    before = seconds_compiling()
    assert (doubled(3.0), seconds_compiling()) == (6.0, before)


IN_ANOTHER_PROCESS = """
import hashlib
import numba
import numpy as np
from evaluation import log_likelihood
from models import OnlineLDA
counts = np.random.default_rng(0).poisson(0.05, size=(600, 400))
model = OnlineLDA(8, random_state=1, n_passes=2, batch_size=100).fit(counts)
scores = log_likelihood(model, counts[:50], random_state=0).log_likelihood
bits = model.topic_word_dirichlet_.tobytes() + scores.tobytes()
print(hashlib.sha256(bits).hexdigest())
"""


@pytest.mark.slow
def test_what_compiles_kernels_has_the_bits_of_what_loads_them(tmp_path):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", IN_ANOTHER_PROCESS]
    first, second = (subprocess.check_output(command, env=environment) for _ in range(2))
    assert first == second


@pytest.mark.skipif(config.DISABLE_JIT, reason="without compilation nothing is fetched")
def test_a_line_is_fetched_and_nothing_else_happens():
    @numba.njit
    def total_of(values, ahead):
        total = 0.0
        for n in range(len(values)):
            prefetch(values, n + ahead)
            total += values[n]
        return total

    values = np.arange(5.0)
    assert [total_of(values, ahead) for ahead in (0, 4, 10**9)] == [10.0] * 3
    assert "@llvm.prefetch" in next(iter(total_of.inspect_llvm().values()))
    assert prefetch(values, 0) is None  # in plain Python
