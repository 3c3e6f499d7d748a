"""Fixed-length Poisson MRFs: one from end to end, regressions of many words, and against a peer.

    python -m benchmarks.poisson_mrf [single] [wikipedia] [peer] [lda] [--threads N] [--penalty X]

single: the single distribution on Classic3, in a process of its own, from reading the counts to the
    perplexity of the held-out tenth and of the rest, as published (λ = 0.00297635, c = 2). Kernels
    are compiled before. The authors' C++ takes 47 s for as much; the bar is 15 s on two cores.
wikipedia: regressions of the 5,000 most frequent words of 25,000 articles; the bar is 15 minutes.
peer: seconds of one regression of Classic3, on one thread, against L-BFGS-B, which SciPy has, over
    positive and negative parts of coefficients, until it comes to our objective. No library that is
    installed with this one has Poisson regression with an l1 penalty.
lda: topic models of Poisson MRFs by Gibbs sampling against LDA by as many sweeps, with 10 and 20
    topics, on held-out documents of Classic3 and of Wikipedia (5,000 articles, their 2,000 most
    frequent words, 500 test articles), topics of all tokens summed out by annealed importance
    sampling; and how far the best condensed documents are below the partition functions.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

from benchmarks.reference_counts import SHARED, reference_counts
from evaluation import compare, log_likelihood
from models import GibbsLDA, LPMRFTopicModel
from models.poisson_mrf.condensation import condensed_floor
from models.poisson_mrf.node_regressions import NodeRegressions, fit_nodes
from models.poisson_mrf.partition_table import partition_table
from models.poisson_mrf.topic_matrices import single_topic_scores
from models.poisson_mrf.topics import LPMRFClusters

if TYPE_CHECKING:
    from collections.abc import Sequence

Floats = NDArray[np.float64]

PARTS = ("single", "wikipedia", "peer", "lda")
CLASSIC3 = SHARED / "data" / "classic3" / "bow_3890x1000.npz"
PENALTY, LENGTH_SCALE = 0.00297635, 2.0
SMOOTHING = 1e-4
LDA_PENALTY = {"classic3": 0.01, "wikipedia": 0.03}
PUBLISHED = {"nonzeros": 78_396, "test": 33.89, "train": 27.84}
N_WORDS = 5_000
RANKS = (0.1, 0.3, 0.5, 0.7, 0.9)
"""Of the words that peers are compared on, among words by frequency."""
SAME = 1e-6
"""Share by which a peer's objective may be above ours."""
MAX_ITERATIONS = 5_000


def classic3() -> tuple[sparse.csr_array, sparse.csr_array]:
    """Training (3,501 × 1,000) and test (389 × 1,000) counts of the published split.

    Raises
    ------
    SystemExit
        If they are not here.
    """
    try:
        counts = sparse.csr_array(sparse.load_npz(CLASSIC3))
    except FileNotFoundError as error:
        raise SystemExit(
            f"{error.filename} is not here: set WIKITOPICS_SHARED to the folder that holds "
            "data/classic3"
        ) from error
    drawn = np.random.RandomState(1).rand(counts.shape[0])
    order, n_test = np.argsort(drawn), counts.shape[0] // 10
    return sparse.csr_array(counts[order[n_test:]]), sparse.csr_array(counts[order[:n_test]])


def run_single(threads: int) -> dict[str, float]:
    """Seconds of each step in this process, and what comes out."""
    found: dict[str, float] = {}
    started = time.perf_counter()

    def lap(name: str) -> None:
        nonlocal started
        now = time.perf_counter()
        found[f"{name}_seconds"] = now - started
        started = now

    train, test = classic3()
    lap("load")
    regressions = fit_nodes(train, PENALTY, smoothing=SMOOTHING, n_jobs=threads)
    mean_length = float(train.sum()) / train.shape[0]
    field = regressions.field(LENGTH_SCALE * mean_length)
    lap("regressions")
    longest = int(max(train.sum(axis=1).max(), test.sum(axis=1).max()))
    table = partition_table(
        field, longest, "envelope", mean_length=mean_length, seed=0, n_jobs=threads
    )
    lap("partition")
    model = LPMRFClusters.of_fields([field], table[None], np.ones(1))
    for name, counts in (("test", test), ("train", train)):
        found[name] = float(np.exp(-single_topic_scores(model, counts).sum() / counts.sum()))
    lap("scores")
    found["nonzeros"] = field.interactions.nnz
    found["cpu_seconds"] = time.process_time()
    return found


def single(threads: int) -> None:
    """The same in a process of its own, with the time that it takes from start to end."""
    command = [sys.executable, "-m", "benchmarks.poisson_mrf", "--one", "--threads", str(threads)]
    print("single Poisson MRF of Classic3, in a process of its own")
    started = time.perf_counter()
    found = json.loads(subprocess.check_output(command))
    elapsed = time.perf_counter() - started
    steps = ("load", "regressions", "partition", "scores")
    laps = ", ".join(f"{step} {found[f'{step}_seconds']:.2f}" for step in steps)
    print(
        f"  {elapsed:.1f} s with starting Python (bar 15, authors' C++ 47), "
        f"{found['cpu_seconds']:.1f} s of processors; {laps}"
    )
    for name, published in PUBLISHED.items():
        of = "nonzeros of Φ" if name == "nonzeros" else f"{name} perplexity (bag)"
        print(f"  {of}: {found[name]:,.6g}, published {published:,}", flush=True)


def wikipedia(threads: int, penalty: float) -> None:
    """Regressions of the most frequent words of all articles."""
    counts, _ = reference_counts()
    total = np.asarray(counts.sum(axis=0)).ravel()
    counts = sparse.csr_array(counts[:, np.sort(np.argsort(-total, kind="stable")[:N_WORDS])])
    started = time.perf_counter()
    found = fit_nodes(counts, penalty, smoothing=SMOOTHING, n_jobs=threads)
    seconds = time.perf_counter() - started
    print(f"\n{counts.shape[0]:,} Wikipedia articles, {N_WORDS:,} words, {counts.sum():,} tokens")
    print(
        f"  λ = {penalty:g}: {seconds:.1f} s of regressions (bar 900), "
        f"{found.coefficients.nnz:,} coefficients, {found.field().interactions.nnz:,} nonzeros of "
        f"Φ, largest KKT residual {found.kkt_residual.max():.1e}",
        flush=True,
    )


class Peer(NamedTuple):
    """What another solver made of one regression."""

    seconds: float
    objective: float
    n_iterations: int


def objective_of(counts: sparse.csr_array, word: int, found: NodeRegressions) -> float:
    """(1/n) Σ_i [exp η_i - y_i η_i] + λ |φ|_1 of one of our regressions."""
    row = found.coefficients[[word]]
    eta = counts @ row.toarray().ravel() + found.intercept[word]
    y = counts[:, [word]].toarray().ravel() + found.smoothing
    loss = float((np.exp(eta) - y * eta).mean())
    return loss + found.penalty * float(np.abs(row.data).sum())


def by_lbfgs(counts: sparse.csr_array, word: int, penalty: float, target: float) -> Peer:
    """L-BFGS-B over θ and the positive and negative parts of φ, until the objective is `target`."""
    n_docs, n_words = counts.shape
    y = counts[:, [word]].toarray().ravel() + SMOOTHING
    others = counts.astype(np.float64).tocsr(copy=True)
    others.data[others.indices == word] = 0.0
    transposed = others.T.tocsr()

    def value_and_slope(x: Floats) -> tuple[float, Floats]:
        positive, negative = x[1 : 1 + n_words], x[1 + n_words :]
        eta = x[0] + others @ (positive - negative)
        with np.errstate(over="ignore"):
            rate = np.exp(eta)
        surplus = (rate - y) / n_docs
        slope = transposed @ surplus
        value = (rate - y * eta).mean() + penalty * (positive.sum() + negative.sum())
        return float(value), np.concatenate([[surplus.sum()], slope + penalty, penalty - slope])

    def enough(intermediate_result: object) -> None:
        if intermediate_result.fun <= target:  # type: ignore[attr-defined]
            raise StopIteration

    first = np.zeros(1 + 2 * n_words)
    first[0] = np.log(y.mean())
    bounds = [(None, None), *[(0.0, None)] * (2 * n_words)]
    options = {"maxiter": MAX_ITERATIONS, "maxfun": 2 * MAX_ITERATIONS, "ftol": 0.0, "gtol": 0.0}
    started = time.perf_counter()
    result = minimize(
        value_and_slope,
        first,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        callback=enough,
        options=options,
    )
    return Peer(time.perf_counter() - started, float(result.fun), int(result.nit))


def peer() -> None:
    """Words of several frequencies; ours are the mean of all words, one thread each."""
    counts, _ = classic3()
    with threadpool_limits(1):
        started = time.perf_counter()
        found = fit_nodes(counts, PENALTY, smoothing=SMOOTHING, n_jobs=1)
        ours = (time.perf_counter() - started) / counts.shape[1]
        print(f"\none regression of Classic3, λ = {PENALTY:g}: {1000 * ours:.1f} ms, mean of all")
        print(
            "L-BFGS-B   rank   coefficients   iterations   seconds   ratio   objective above ours"
        )
        by_count = np.argsort(-np.asarray(counts.sum(axis=0)).ravel(), kind="stable")
        ratios = []
        for rank in RANKS:
            word = int(by_count[int(rank * len(by_count))])
            target = objective_of(counts, word, found)
            theirs = by_lbfgs(counts, word, PENALTY, target + SAME * abs(target))
            ratios.append(theirs.seconds / ours)
            n = np.diff(found.coefficients.indptr)[word]
            print(
                f"{int(rank * len(by_count)):15d} {n:14d} {theirs.n_iterations:12d}"
                f" {theirs.seconds:9.2f} {ratios[-1]:7.1f}"
                f" {(theirs.objective - target) / abs(target):22.1e}",
                flush=True,
            )
    print(f"mean ratio {np.mean(ratios):.0f}")


def against_lda(threads: int, penalty: float, name: str, n_topics: int) -> None:
    """Print both models' perplexities on the same documents, and the difference of pairs."""
    if name == "classic3":
        train, test = classic3()
    else:
        counts = [sparse.csr_array(part) for part in reference_counts()]
        frequent = np.argsort(-np.asarray(counts[0].sum(axis=0)).ravel(), kind="stable")[:2000]
        train = sparse.csr_array(counts[0][:5000][:, frequent])
        test = sparse.csr_array(counts[1][:500][:, frequent])
    scoring = {"method": "annealed-importance-sampling", "random_state": 0, "n_jobs": threads}
    started = time.perf_counter()
    fields = LPMRFTopicModel(n_topics, penalty=penalty, random_state=0, n_jobs=threads).fit(train)
    fitted = time.perf_counter()
    lda = GibbsLDA(
        n_topics,
        eta=0.1,
        n_iter=260,  # as many as the other
        burn_in=200,
        learn_priors="both",
        random_state=0,
        n_jobs=threads,
    ).fit(train)
    lda_fitted = time.perf_counter()
    estimates = {
        "LPMRF": log_likelihood(fields, test, **scoring),
        "LDA": log_likelihood(lda, test, **scoring),
    }
    difference = compare(estimates).against_best
    ((_, found),) = difference.items()
    topics = fields.topics_
    most = topics.log_partition.shape[1] - 1
    lengths = np.unique(np.geomspace(2, most, 12).astype(int))
    excess = max(
        float((condensed_floor(field, lengths) - topics.log_partition[k, lengths]).max())
        for k, field in enumerate(topics.fields)
    )
    print(
        f"{name:10s}{n_topics:4d}{estimates['LPMRF'].perplexity:10.1f}"
        f"{estimates['LDA'].perplexity:8.1f}{found.nats_per_word:9.4f} ± {found.standard_error:.4f}"
        f"{len(topics.edge_weight):10,d}{excess:8.1f}"
        f"{fitted - started:8.0f} and {lda_fitted - fitted:.0f} s;"
        f" unsure {[int(each.has_low_ess.sum()) for each in estimates.values()]}",
        flush=True,
    )


def compile_kernels(threads: int) -> None:
    """Have kernels compiled and cached."""
    rng = np.random.default_rng(0)
    counts = sparse.csr_array(rng.poisson(1.0, (40, 6)))
    field = fit_nodes(counts, 0.01, n_jobs=threads).field(10.0)
    assert field.n_interactions
    partition_table(field, 10, "envelope", mean_length=6.0, n_samples=2)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)}; by default all")
    parser.add_argument("--threads", type=int, default=-1)
    parser.add_argument("--penalty", type=float, default=0.02, help="of wikipedia")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    if arguments.one:
        print(json.dumps(run_single(arguments.threads)))
        return
    unknown = sorted(set(arguments.parts) - set(PARTS))
    if unknown:
        parser.error(f"no such part: {', '.join(unknown)}; choose from {', '.join(PARTS)}")
    parts = arguments.parts or PARTS
    compile_kernels(arguments.threads)
    if "single" in parts:
        single(arguments.threads)
    if "wikipedia" in parts:
        wikipedia(arguments.threads, arguments.penalty)
    if "peer" in parts:
        peer()
    if "lda" in parts:
        print(
            "corpus      K     LPMRF     LDA  nats a word apart, of the better   pairs  condensed "
            "documents' share at most e^   fitted in; documents hardly sampled"
        )
        for name in ("classic3", "wikipedia"):
            for n_topics in (10, 20):
                against_lda(arguments.threads, LDA_PENALTY[name], name, n_topics)


if __name__ == "__main__":
    main()
