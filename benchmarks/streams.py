"""How well a stream of unknown length is learned: perplexity by `partial_fit`, as a ratio to `fit`.

    python -m benchmarks.streams [--topics K …] [--chunks N …] [--trainers NAME …] [--documents N]
        [--expectation log | mean]

Reference articles come so many at a time, once and four times over; `fit` makes one pass and four,
or, by Gibbs sampling, `--sweeps` sweeps, which are also the `n_iter` of the stream. Settings are
the defaults. Perplexity is by document completion of the first 1,000 test articles.
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

from benchmarks.reference_counts import reference_counts
from evaluation import log_likelihood
from models import GibbsLDA, OnlineLDA

if TYPE_CHECKING:
    from scipy import sparse

PASSES = (1, 4)


def perplexity(model: OnlineLDA | GibbsLDA, test: sparse.csr_array) -> float:
    return log_likelihood(
        model.topics_, test, "completion", n_samples=1, random_state=0, n_jobs=2
    ).perplexity


def measure(
    trainer: str,
    n_topics: int,
    arguments: argparse.Namespace,
    train: sparse.csr_array,
    test: sparse.csr_array,
) -> None:
    """Print what `fit` learns, and what streams of each size do."""
    common: dict[str, Any] = {"random_state": 1, "n_jobs": 2}
    kind: type[GibbsLDA | OnlineLDA] = OnlineLDA
    if trainer == "gibbs":
        kind = GibbsLDA
        common["n_iter"] = arguments.sweeps
    else:
        common["expectation"] = arguments.expectation
    fitted: dict[int, float] = {}
    for n_passes in arguments.passes:
        more = {} if trainer == "gibbs" else {"n_passes": n_passes}
        if trainer == "gibbs" and fitted:  # the same documents again say nothing new
            fitted[n_passes] = next(iter(fitted.values()))
            continue
        began = time.perf_counter()
        model = kind(n_topics, **common, **more).fit(train)
        seconds = time.perf_counter() - began
        fitted[n_passes] = perplexity(model, test)
        what = f"{trainer} K = {n_topics}, fit, {more or common['n_iter']}"
        print(f"{what}: {fitted[n_passes]:.1f}, {seconds:.1f} s", flush=True)
    for size in arguments.chunks:
        model, seconds = kind(n_topics, **common), 0.0
        for n_passes in range(1, max(arguments.passes) + 1):
            began = time.perf_counter()
            for first in range(0, train.shape[0], size):
                model.partial_fit(train[first : first + size])
            seconds += time.perf_counter() - began
            if n_passes in arguments.passes:
                found = perplexity(model, test)
                what = f"{trainer} K = {n_topics}, {size:,} at a time, pass {n_passes}"
                ratio = found / fitted[n_passes]
                print(f"{what}: {found:.1f}, {ratio:.3f} of fit, {seconds:.1f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--topics", type=int, nargs="+", default=[10, 100, 500], metavar="K")
    parser.add_argument("--chunks", type=int, nargs="+", default=[100, 1000, 25_000], metavar="N")
    parser.add_argument("--trainers", nargs="+", default=["online", "gibbs"], metavar="NAME")
    parser.add_argument("--documents", type=int, default=25_000, metavar="N")
    parser.add_argument("--expectation", choices=["log", "mean"], default="log")
    parser.add_argument("--sweeps", type=int, default=50, metavar="N")
    parser.add_argument("--passes", type=int, nargs="+", default=list(PASSES), metavar="N")
    arguments = parser.parse_args()
    train, test = reference_counts()
    train, test = train[: arguments.documents], test[:1000]
    for trainer in arguments.trainers:
        for n_topics in arguments.topics:
            measure(trainer, n_topics, arguments, train, test)


if __name__ == "__main__":
    main()
