"""Factorisation under the KL divergence: time to the objective that scikit-learn's comes to.

    python -m benchmarks.kl_nmf [--topics 25 100] [--iterations 20] [--documents 25000]

scikit-learn's NMF(solver="mu", beta_loss="kullback-leibler") makes so many iterations on the
reference counts. Ours then starts from the same factors, and is timed up to the sweep that comes to
the same divergence, with relaxed updates and with plain ones, which are scikit-learn's own. Both
run on one thread; CPU seconds, all of `fit` on both sides, compiling not counted.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import TYPE_CHECKING

import numpy as np
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from benchmarks.reference_counts import reference_counts
from models.gamma_poisson.kl_nmf import KLNMF

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy import sparse

    Pair = tuple[NDArray[np.float64], NDArray[np.float64]]

MAX_SWEEPS = 1000


def random_start(counts: sparse.csr_array, n_topics: int, seed: int) -> Pair:
    """Scores (D, K) and topics (K, V) as scikit-learn draws them for init="random"."""
    rng = np.random.default_rng(seed)
    scale = np.sqrt(counts.sum() / np.prod(counts.shape) / n_topics)
    scores = np.abs(rng.standard_normal((counts.shape[0], n_topics)))
    topics = np.abs(rng.standard_normal((n_topics, counts.shape[1])))
    return scale * scores, scale * topics


def time_theirs(counts: sparse.csr_array, start: Pair, n_iterations: int) -> tuple[float, float]:
    """CPU seconds of scikit-learn's fit, and the divergence it comes to."""
    model = NMF(
        start[0].shape[1],
        solver="mu",
        beta_loss="kullback-leibler",
        init="custom",
        tol=0.0,
        max_iter=n_iterations,
    )
    scores, topics = start[0].copy(), start[1].copy()
    started = time.process_time()
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit_transform(counts, W=scores, H=topics)
    return time.process_time() - started, model.reconstruction_err_**2 / 2.0


def time_ours(
    counts: sparse.csr_array, start: Pair, target: float, relaxation: float
) -> tuple[float, int]:
    """CPU seconds and sweeps until the divergence is `target` or less."""
    model = KLNMF(
        start[0].shape[1], n_iter=MAX_SWEEPS, tolerance=0.0, relaxation=relaxation, init=start
    )
    started = time.process_time()
    with threadpool_limits(1):
        for step in model.iterate(counts):
            if step.objective <= target * (1.0 + 1e-9):  # the same sum in another order
                return time.process_time() - started, step.n_sweeps
    return np.nan, MAX_SWEEPS


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--topics", type=int, nargs="+", default=[25, 100])
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--documents", type=int, default=25_000)
    parser.add_argument("--repeats", type=int, default=1)
    arguments = parser.parse_args()
    counts = reference_counts()[0][: arguments.documents].astype(np.float64)
    KLNMF(2, n_iter=2, random_state=0).fit(counts[:50])  # compile
    n_docs, n_words = counts.shape
    print(f"{n_docs} documents, {n_words} words; CPU seconds to the divergence of scikit-learn's")
    print("                  scikit-learn            relaxed                  plain")
    print("          D   iterations  seconds   sweeps seconds  ratio   sweeps seconds  ratio")
    for n_topics in arguments.topics:
        for seed in range(arguments.repeats):
            start = random_start(counts, n_topics, seed)
            theirs, target = time_theirs(counts, start, arguments.iterations)
            line = f"K = {n_topics:4d} {target:10.0f} {arguments.iterations:6d} {theirs:9.2f}"
            for relaxation in (KLNMF().relaxation, 1.0):
                seconds, sweeps = time_ours(counts, start, target, relaxation)
                line += f"   {sweeps:4d} {seconds:8.2f} {seconds / theirs:8.4f}"
            print(line, flush=True)


if __name__ == "__main__":
    main()
