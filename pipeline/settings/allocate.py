"""Settings of `allocate`, with defaults and help texts."""

from dataclasses import dataclass
from typing import ClassVar

from pipeline.settings.field import Groups, setting


@dataclass(frozen=True)
class AllocateSettings:
    """`python -m pipeline allocate`."""

    GROUPS: ClassVar[Groups] = {
        "table": ("layout", "axes"),
        "models": ("graph", "ranks", "vary", "sizes", "a", "b", "alpha", "eta"),
        "estimator": (
            *("method", "particles", "moves", "order", "modes", "chains", "sweeps", "repeats"),
        ),
        "factors": ("factors", "all_factors", "top"),
        "running": ("output", "seed", "threads", "max_memory"),
    }

    graph: str = setting(
        "",
        "nmf, symmetric-nmf, lda, pachinko, cp, tucker, complete, sum-conditioned, "
        "mixed-membership, hidden-markov, hidden-markov-tied, or arrows between axes and hidden "
        "indices, as 'k -> i, k -> j'; semicolons separate several; by default nmf for two axes, "
        "else cp",
        metavar="GRAPHS",
    )
    layout: str = setting(
        "auto",
        "layout of a CSV file: records, one observation a line, or a matrix of counts",
        choices=("auto", "records", "matrix"),
    )
    axes: str = setting(
        "", "columns of records to use; names of the axes of other tables", metavar="LIST"
    )
    ranks: str = setting(
        "1:10", "ranks to compare (numbers of hidden values), as numbers and ranges", metavar="LIST"
    )
    vary: str = setting(
        "",
        "hidden indices whose size is the rank; needed if several have no --sizes",
        metavar="LIST",
    )
    sizes: str = setting("", "sizes of other hidden indices, as k1=3,k2=5", metavar="LIST")
    a: float | None = setting(
        None,
        "total of all pseudo-counts, and shape of the prior of the number of tokens; by default 1, "
        "for lda the value that its alpha implies",
        metavar="X",
    )
    b: float | None = setting(
        None, "rate of that prior; by default --a over the number of tokens", metavar="X"
    )
    alpha: float = setting(0.1, "Dirichlet prior of topics in documents", metavar="X", of=("lda",))
    eta: float = setting(0.1, "Dirichlet prior of words in topics", metavar="X", of=("lda",))
    method: str = setting(
        "annealed",
        "estimator of the log marginal likelihood",
        choices=("annealed", "smc", "smc-adaptive", "sis", "vb", "exact"),
    )
    particles: int = setting(
        200, "particles of each run", metavar="N", of=("smc", "smc-adaptive", "sis")
    )
    moves: int = setting(
        30,
        "rejuvenation moves after each token: earlier tokens that are resampled; 0 as published",
        metavar="N",
        of=("smc", "smc-adaptive", "sis"),
    )
    order: str = setting(
        "random",
        "order of tokens; sorted, by cell, is for tables of tens of tokens",
        choices=("random", "sorted"),
        of=("smc", "smc-adaptive", "sis"),
    )
    modes: int = setting(
        8,
        "modes that are looked at; chains start from the best; 0: from the prior's mean",
        metavar="N",
        of=("annealed",),
    )
    chains: int = setting(
        4,
        "chains of each run, resampled among each other; twice as many where modes are many",
        metavar="N",
        of=("annealed",),
    )
    sweeps: int = setting(
        1000, "steps from independent tokens to the model", metavar="N", of=("annealed",)
    )
    repeats: int = setting(
        10,
        "independent runs of each estimate; starts of vb and of factors, modes of annealed factors",
        metavar="N",
    )
    factors: str = setting(
        "vb",
        "method that factorises the table under the best model",
        choices=("vb", "em", "dual-em", "icm", "smc", "annealed", "none"),
    )
    all_factors: bool = setting(False, "factorise under every model, not only the best")
    top: int = setting(8, "labels shown for each hidden value", metavar="N")
    max_memory: float = setting(
        2.0, "memory for particles, states or tables, in GiB", metavar="GIB"
    )
    output: str = setting(
        "", "folder of results; by default allocate/NAME of the file", metavar="DIR"
    )
    seed: int = setting(0, "random seed", metavar="N")
    threads: int = setting(-1, "threads; -1: one for each core", metavar="N")
