"""The experiments of `reproduce`, and their settings."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.settings import setting

EXPERIMENTS = (
    *("buntine-table-1", "buntine-convergence", "buntine-model-selection"),
    *("l2r-kl", "l2r-convergence"),
    *("bam-toy", "bam-histogram", "bam-parafac"),
    *("bam-abalone", "bam-letters", "bam-decompositions"),
    *("lpmrf-classic3", "lpmrf-wikipedia"),
    *("lpmrf-dependencies", "lpmrf-scaling"),
)
"""What `reproduce` can do again."""
ALL_TAKE = "quick takes more than a quarter of an hour of one core, full many hours"
"""How long all of them take, by what was measured."""
L2R_EXPERIMENTS = ("l2r-kl", "l2r-convergence")
"""Those of Gamma-Poisson models, on counts."""
LETTER_EXPERIMENTS = ("bam-letters", "bam-decompositions")
"""Those of allocation models on counts of letter pairs."""
PARTICLE_EXPERIMENTS = ("bam-toy", "bam-parafac", "bam-abalone", *LETTER_EXPERIMENTS)
"""Those of allocation models that are scored by particles."""
PERPLEXITY_EXPERIMENTS = ("lpmrf-classic3", "lpmrf-wikipedia")
"""Those of the perplexity of Poisson MRFs."""


@dataclass(frozen=True)
class ReproduceSettings:
    """`python -m pipeline reproduce`."""

    scale: str = setting(
        "quick", "some minutes at most, or all that was published", choices=("quick", "full")
    )
    pairs: int | None = setting(
        None,
        "pairs of model and document; by default 100 or 1,000",
        metavar="N",
        of=("buntine-table-1",),
    )
    dataset: str = setting(
        "s10s",
        "model that documents are drawn from, of so many topics and words",
        choices=("s10s", "s10", "s40"),
        of=("buntine-model-selection",),
    )
    held_out: int | None = setting(
        None,
        "held-out documents; by default 300 or 10,000",
        metavar="N",
        of=("buntine-model-selection",),
    )
    counts: str = setting(
        "",
        "bags of words, in any format that convert reads or .npz as SciPy writes it; commas "
        "between several; by default sections of the built-in sample",
        metavar="FILES",
        of=(*L2R_EXPERIMENTS, *PERPLEXITY_EXPERIMENTS, "lpmrf-dependencies", "lpmrf-scaling"),
    )
    vocabulary: str = setting(
        "",
        "words of the one file of --counts, a line each, if they are not beside it",
        metavar="FILE",
        of=("lpmrf-dependencies",),
    )
    topics: int | None = setting(
        None,
        "number of topics; by default 5; 20 or 100; 3, or 3, 10 and 20; and 1 only",
        metavar="K",
        of=(*L2R_EXPERIMENTS, *PERPLEXITY_EXPERIMENTS),
    )
    select: str = setting(
        "auto",
        "where lambda and c of fields come from: the authors', of Classic3, or a validation part; "
        "auto: at quick the authors', where they are known",
        choices=("auto", "published", "validation"),
        of=PERPLEXITY_EXPERIMENTS,
    )
    penalty: float | None = setting(
        None,
        "lambda of all fields, with --length-scale: the higher, the fewer dependencies",
        metavar="X",
        of=(*PERPLEXITY_EXPERIMENTS, "lpmrf-dependencies"),
    )
    length_scale: float | None = setting(
        None,
        "c of all fields: in documents c times as long as the mean, dependencies count half",
        metavar="X",
        of=(*PERPLEXITY_EXPERIMENTS, "lpmrf-dependencies"),
    )
    words: int | None = setting(
        None,
        "most frequent words to keep; by default 5,000",
        metavar="N",
        of=("lpmrf-wikipedia",),
    )
    documents: int | None = setting(
        None,
        "documents to draw; by default 5,000, or all",
        metavar="N",
        of=("lpmrf-wikipedia",),
    )
    scored: int | None = setting(
        None,
        "most documents to score; by default 100 or 1,000, and 30 or 1,000 (full takes hours)",
        metavar="N",
        of=L2R_EXPERIMENTS,
    )
    max_tokens: int | None = setting(
        None,
        "longest document to score, in tokens; by default 60 or 100",
        metavar="N",
        of=("l2r-kl",),
    )
    table: str = setting(
        "",
        "abalone.csv of the UCI repository, with a header, for which there is no default; letter "
        "pairs, a CSV of 26 rows named A to Z and as many columns, by default those of the sample",
        metavar="FILE",
        of=("bam-abalone", *LETTER_EXPERIMENTS),
    )
    particles: int | None = setting(
        None,
        "particles of each run; by default as published, or fewer",
        metavar="N",
        of=PARTICLE_EXPERIMENTS,
    )
    repeats: int | None = setting(
        None,
        "independent runs of each estimate; by default as published, or fewer",
        metavar="N",
        of=PARTICLE_EXPERIMENTS,
    )
    moves: int | None = setting(
        None,
        "tokens drawn anew after each, in the runs of particles that have moves",
        metavar="N",
        of=PARTICLE_EXPERIMENTS,
    )
    output: str = setting(
        "",
        "where tables and pictures are written, by default reproduce/EXPERIMENT; of --all the "
        "directory of all experiments, by default reproduce",
        metavar="DIR",
    )
    seed: int = setting(0, "fixes all that is random", metavar="N")
    threads: int = setting(-1, "threads; -1: one a core", metavar="N")
