"""How far plug-in predictions are from what a model says exactly: completion and word prediction.

    python -m benchmarks.prediction --counts FILES [--topics 5] [--documents 1000]

For each corpus (files as in `reproduce l2r-kl`, commas between several) the 100 most frequent words
are kept, and topics are learned from all but the documents that are scored: by GibbsLDA, and by
BetaGammaPFA with r learned and r = 1. Nats a word by the exact prediction, by the plug-in estimate,
and what that costs more, paired over documents; and the exact likelihood of whole documents, given
their length, for the order of the models by each.
"""

from __future__ import annotations

import argparse

import numpy as np

from evaluation import LikelihoodEstimate, log_likelihood, paired_difference, prediction
from evaluation.token_prediction import TASKS
from models import BetaGammaPFA, GibbsLDA
from pipeline.reproduce.counts import most_frequent_words, name_of, read_counts, whole_counts

MAX_TOKENS = 60
SWEEPS = 500


def renamed(estimate: LikelihoodEstimate, method: str) -> LikelihoodEstimate:
    """Under one method's name, as only estimates of the same one are compared."""
    values = {name: getattr(estimate, name) for name in LikelihoodEstimate.__dataclass_fields__}
    return LikelihoodEstimate(**values | {"method": method})


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--counts", required=True)
    parser.add_argument("--topics", type=int, default=5)
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    print("corpus        model      task                exact   plug-in   plug-in costs more")
    for path in arguments.counts.split(","):
        counts = most_frequent_words(whole_counts(read_counts(path)), 100)
        n_tokens = np.asarray(counts.sum(axis=1)).ravel()
        possible = np.flatnonzero((n_tokens >= 2) & (n_tokens <= MAX_TOKENS))
        rng = np.random.default_rng(0)
        n_scored = min(arguments.documents, len(possible) // 5)
        scored = np.sort(rng.permutation(possible)[:n_scored])
        train = counts[np.setdiff1d(np.arange(counts.shape[0]), scored)]
        held_out = counts[scored]
        common = {"n_iter": SWEEPS, "burn_in": SWEEPS // 2, "random_state": 0}
        models = {
            "LDA": GibbsLDA(arguments.topics, eta=0.1, **common),
            "r learned": BetaGammaPFA(arguments.topics, **common),
            "r = 1": BetaGammaPFA(arguments.topics, learn_shape=False, **common),
        }
        for name, model in models.items():
            topics = model.fit(train).topics_
            for task in TASKS:
                exact, plugged = (
                    renamed(
                        prediction(
                            topics, held_out, task, how, random_state=0, n_jobs=arguments.threads
                        ),
                        task,
                    )
                    for how in ("exact", "plug-in")
                )
                cost = paired_difference(plugged, exact)
                print(
                    f"{name_of(path):13s} {name:10s} {task:17s} {exact.nats_per_word:7.4f}"
                    f"   {plugged.nats_per_word:7.4f}   {cost.nats_per_word:+.4f} ±"
                    f" {cost.standard_error:.4f}"
                )
            whole = log_likelihood(
                topics, held_out, "exact", convention="sequence", n_jobs=arguments.threads
            )
            print(
                f"{name_of(path):13s} {name:10s} {'whole documents':17s}"
                f" {whole.nats_per_word:7.4f}   ({whole.n_documents} documents,"
                f" {whole.total_tokens} tokens)",
                flush=True,
            )


if __name__ == "__main__":
    main()
