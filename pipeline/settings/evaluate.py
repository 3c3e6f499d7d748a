"""Settings of `evaluate`, with defaults and help texts."""

from dataclasses import dataclass
from typing import ClassVar

from pipeline.settings.field import Groups, methods_of_evaluate, setting


@dataclass(frozen=True)
class EvaluateSettings:
    """`python -m pipeline evaluate`."""

    GROUPS: ClassVar[Groups] = {
        "documents": (
            *("documents", "articles", "counts"),
            *("format", "text_column", "id_column", "vocabulary"),
        ),
        "estimator": (
            *("method", "samples", "target_se", "convention"),
            *("smoothing", "seed", "max_memory"),
        ),
        "certificate": ("certify", "temperatures"),
        "measures": ("measures", "labels", "words", "reference"),
        "running": ("per_document", "runs", "threads", "cluster"),
    }

    documents: str = setting(
        "",
        "what to score, in any form that `train INPUT` takes; texts are counted as the first RUN's",
        metavar="INPUT",
        names_input=True,
    )
    format: str = setting(
        "",
        "format of --documents, if their content does not tell it",
        metavar="NAME",
        names_input=True,
    )
    text_column: str = setting(
        "",
        "column of --documents with the texts; by default text",
        metavar="NAME",
        names_input=True,
    )
    id_column: str = setting(
        "",
        "column of --documents with the ids; by default id, or else rows are numbered",
        metavar="NAME",
        names_input=True,
    )
    articles: str = setting(
        "",
        "article store to score, counted as the first RUN's store; by default that run's test part",
        metavar="DIR",
    )
    counts: str = setting(
        "", "bags of words to score, in any format that `convert` reads", metavar="FILE"
    )
    vocabulary: str = setting(
        "", "words, one a line, for models and --counts without words", metavar="FILE"
    )
    method: str | None = setting(
        None,
        "estimator; by default completion, for poisson-mrf annealed-importance-sampling (exact for "
        "mixtures); annealing-between: differences of the first model from the others alone",
        choices=methods_of_evaluate,
        metavar="{completion,variational-bound,exact,harmonic-mean,annealed-importance-sampling,"
        "best-split,mean-field-is-1,mean-field-is-2,left-to-right-particle,"
        "left-to-right-sequential,direct-sampling,left-to-right,left-to-right-exact,"
        "annealing-from-mean,annealing-between}",
    )
    convention: str = setting(
        "sequence",
        "event whose probability is given: tokens in order, or their counts, given the number of "
        "tokens; for gamma-poisson also counts and their number",
        choices=("sequence", "bag", "bag-and-length"),
    )
    samples: int | None = setting(None, "Monte Carlo samples for each document", metavar="N")
    target_se: float | None = setting(
        None, "Monte Carlo standard error to reach for each document", metavar="NATS"
    )
    smoothing: float = setting(
        0.0, "share of each topic spread evenly, so that no word has probability 0", metavar="SHARE"
    )
    seed: int = setting(0, "random seed", metavar="N")
    max_memory: float = setting(2.0, "memory for --method exact, in GiB", metavar="GIB")
    certify: bool = setting(
        False, "check the estimator on simulated documents, whose true value can be bracketed"
    )
    temperatures: int | None = setting(
        None,
        "annealing steps: of --certify, by default 500; of annealing-between, by default 100; more "
        "give a narrower bracket",
        metavar="N",
    )
    measures: str = setting(
        "",
        "table of models and measures instead of the likelihood alone: all, or some of likelihood, "
        "coherence, diversity, exclusivity, stability, labels",
        metavar="LIST",
    )
    labels: str = setting(
        "",
        "labels of the documents for --measures: a column that came along with them, such as "
        "categories, or a table of id and label",
        metavar="COLUMN|FILE",
    )
    words: int = setting(10, "top words of a topic, from 2 to 50, for --measures", metavar="N")
    reference: str = setting(
        "",
        "file that `index` made, in which --measures counts coherence; by default the documents",
        metavar="FILE",
    )
    per_document: str = setting("", "write a tab-separated line for each document", metavar="FILE")
    runs: str = setting("runs", "folder of runs", metavar="DIR")
    threads: int = setting(-1, "threads and processes; -1: one for each core", metavar="N")
    cluster: str = setting(
        "",
        "Dask cluster: tcp://HOST:PORT, tls://HOST:PORT, or local:N for N processes here",
        metavar="ADDRESS",
    )
