"""The experiments of `reproduce`, and their settings."""

from dataclasses import dataclass
from typing import Any

from pipeline.settings import setting

ALL_TAKE = "quick takes more than a quarter of an hour of one core, full many hours"
"""Measured time of all of them, for the help."""
ALDEBAKEL_EXPERIMENTS = ("aldebakel-trainers", "aldebakel-topics")
L2R_EXPERIMENTS = ("l2r-kl", "l2r-convergence")
LETTER_EXPERIMENTS = ("bam-letters", "bam-decompositions")
ANNEALED_EXPERIMENTS = ("bam-parafac", "bam-abalone", "bam-letters", "bam-decompositions")
PARTICLE_EXPERIMENTS = ("bam-toy", *ANNEALED_EXPERIMENTS)
"""Experiments that score allocation models by particles."""
PERPLEXITY_EXPERIMENTS = ("lpmrf-classic3", "lpmrf-wikipedia")
FIELD_EXPERIMENTS = (*PERPLEXITY_EXPERIMENTS, "lpmrf-dependencies")
"""Experiments that take lambda and c of Poisson MRFs."""
EXPERIMENTS = (
    *ALDEBAKEL_EXPERIMENTS,
    *("buntine-table-1", "buntine-convergence", "buntine-model-selection"),
    *L2R_EXPERIMENTS,
    *("bam-toy", "bam-histogram", "bam-parafac", "bam-abalone", *LETTER_EXPERIMENTS),
    *(*FIELD_EXPERIMENTS, "lpmrf-scaling"),
)  # Names of `reproduce NAME`, in the order of `reproduce --all`


def _number(help_text: str, *of: str, metavar: str = "N") -> Any:
    """Return a setting that is None, for the number of the scale, if it is not given."""
    return setting(None, help_text, metavar=metavar, of=of)


@dataclass(frozen=True)
class ReproduceSettings:
    """`python -m pipeline reproduce`."""

    scale: str = setting(
        "quick", "some minutes at most, or all that was published", choices=("quick", "full")
    )
    pairs: int | None = _number(
        "pairs of model and document; by default 100 or 1,000", "buntine-table-1"
    )
    dataset: str = setting(
        "s10s",
        "model that documents are drawn from, of so many topics and words",
        choices=("s10s", "s10", "s40"),
        of=("buntine-model-selection",),
    )
    held_out: int | None = _number(
        "held-out documents; by default 300 or 10,000", "buntine-model-selection"
    )
    counts: str = setting(
        "",
        "bags of words, in any format that convert reads; commas "
        "between several; by default sections of the built-in sample",
        metavar="FILES",
        of=(*ALDEBAKEL_EXPERIMENTS, *L2R_EXPERIMENTS, *FIELD_EXPERIMENTS, "lpmrf-scaling"),
    )
    vocabulary: str = setting(
        "",
        "words of the one file of --counts, a line each, if they are not beside it",
        metavar="FILE",
        of=(*ALDEBAKEL_EXPERIMENTS, "lpmrf-dependencies"),
    )
    topics: int | None = _number(
        "number of topics; by default aldebakel: 20; l2r-kl: 5; l2r-convergence: 20 or 100; "
        "lpmrf-classic3: 3, or 3, 10 and 20; lpmrf-wikipedia: 1 only",
        *(*ALDEBAKEL_EXPERIMENTS, *L2R_EXPERIMENTS, *PERPLEXITY_EXPERIMENTS),
        metavar="K",
    )
    select: str = setting(
        "auto",
        "where lambda and c of fields come from: the authors', of Classic3, or a validation part; "
        "auto: at quick the authors', where they are known",
        choices=("auto", "published", "validation"),
        of=PERPLEXITY_EXPERIMENTS,
    )
    penalty: float | None = _number(
        "lambda of all fields, with --length-scale: the higher, the fewer dependencies",
        *FIELD_EXPERIMENTS,
        metavar="X",
    )
    length_scale: float | None = _number(
        "c of all fields: in documents c times as long as the mean, dependencies count half",
        *FIELD_EXPERIMENTS,
        metavar="X",
    )
    words: int | None = _number("most frequent words to keep; by default 5,000", "lpmrf-wikipedia")
    documents: int | None = _number(
        "documents to draw; by default 5,000, or all", "lpmrf-wikipedia"
    )
    scored: int | None = _number(
        "most documents to score; by default 100 or 1,000, and 30 or 1,000 (full takes hours)",
        *L2R_EXPERIMENTS,
    )
    max_tokens: int | None = _number(
        "longest document to score, in tokens; by default 60 or 100", "l2r-kl"
    )
    table: str = setting(
        "",
        "abalone.csv of the UCI repository, with a header, for which there is no default; letter "
        "pairs, a CSV of 26 rows named A to Z and as many columns, by default those of the sample",
        metavar="FILE",
        of=("bam-abalone", *LETTER_EXPERIMENTS),
    )
    particles: int | None = _number(
        "particles of each run; by default as published, or fewer", *PARTICLE_EXPERIMENTS
    )
    repeats: int | None = _number(
        "independent runs of each estimate; by default as published, or fewer",
        *(*ALDEBAKEL_EXPERIMENTS, *PARTICLE_EXPERIMENTS),
    )
    moves: int | None = _number(
        "tokens resampled after each, in the runs of particles that have moves",
        *ANNEALED_EXPERIMENTS,
    )
    sweeps: int | None = _number(
        "sweeps of each annealed chain; by default 1,000, or fewer", *ANNEALED_EXPERIMENTS
    )
    output: str = setting(
        "",
        "where tables and pictures are written, by default reproduce/EXPERIMENT; of --all the "
        "directory of all experiments, by default reproduce",
        metavar="DIR",
    )
    seed: int = setting(0, "fixes all that is random", metavar="N")
    threads: int = setting(-1, "threads; -1: one a core", metavar="N")
