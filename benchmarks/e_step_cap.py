"""The E-step cap (Aldebakel et al. 2022, Figure 16): time to early stopping, and quality there.

    python -m benchmarks.e_step_cap [--topics 20] [--seeds 5]

24,000 articles to learn from, 1,000 held out, K = 20, batches of 1,000, alpha 0.1, eta 0.01,
tau0 = 10, kappa 0.7 (and theirs, 0.05), early stopping on the held-out variational bound by
documents, a look every 5,000 at least. Each seed holds out other articles. The paper's own times
(43, 48, 83, 75, 72 s) and bounds (-1.189, -1.209, -1.209, -1.235, -1.258 e8) are of other articles.
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.reference_counts import reference_counts
from evaluation import log_likelihood
from models import EarlyStopping, OnlineLDA

if TYPE_CHECKING:
    from scipy import sparse

CAPS = (5, 10, 20, 40, 80)
HELD_OUT, LOOK_EVERY, MAX_PASSES = 1000, 5000, 100


def train_to_stop(
    train: sparse.csr_array,
    held_out: sparse.csr_array,
    n_topics: int,
    cap: int,
    decay: float,
    seed: int,
) -> tuple[float, float, float, float]:
    """Seconds, passes, held-out bound a word (nats) and completion perplexity at early stopping."""
    model = OnlineLDA(
        n_topics,
        alpha=0.1,
        eta=0.01,
        batch_size=1000,
        max_e_iterations=cap,
        learning_decay=decay,
        learning_offset=10.0,
        n_passes=MAX_PASSES,
        random_state=seed,
        n_jobs=2,
    )
    stopping = EarlyStopping(LOOK_EVERY)
    seconds, passes = 0.0, 0.0
    started = time.perf_counter()
    for step in model.iterate(train):
        seconds += time.perf_counter() - started
        passes = step.n_passes
        if stopping.due(step.n_documents):
            bound = log_likelihood(model, held_out, "variational-bound", n_jobs=2)
            if stopping.record(step.n_documents, bound.total):
                break
        started = time.perf_counter()
    bound = log_likelihood(model, held_out, "variational-bound", n_jobs=2)
    completion = log_likelihood(model, held_out, "completion", random_state=0, n_jobs=2)
    return seconds, passes, -bound.nats_per_word, completion.perplexity


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--topics", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--decays", type=float, nargs="+", default=[0.7, 0.05])
    arguments = parser.parse_args()
    counts, _ = reference_counts()
    OnlineLDA(2, n_passes=1).fit(counts[:100])  # compile
    for decay in arguments.decays:
        print(f"\nkappa = {decay}: mean ± standard error over {arguments.seeds} seeds")
        print("  cap       seconds      passes      bound, nats a word   completion perplexity")
        for cap in CAPS:
            runs = []
            for seed in range(arguments.seeds):
                order = np.random.default_rng(seed).permutation(counts.shape[0])
                held_out, train = counts[order[:HELD_OUT]], counts[order[HELD_OUT:]]
                runs.append(
                    train_to_stop(
                        train, held_out, n_topics=arguments.topics, cap=cap, decay=decay, seed=seed
                    )
                )
            mean = np.mean(runs, axis=0)
            error = np.std(runs, axis=0, ddof=1) / np.sqrt(len(runs))
            print(
                f"  {cap:3d}  {mean[0]:6.2f} ± {error[0]:4.2f}  {mean[1]:5.2f} ± {error[1]:4.2f}"
                f"   {mean[2]:8.4f} ± {error[2]:6.4f}     {mean[3]:7.1f} ± {error[3]:4.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
