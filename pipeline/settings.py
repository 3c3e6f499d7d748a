"""Settings of each command, with their defaults and what the command line says of them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import Field

LDA_MODELS = ("online", "gibbs")
SAMPLED = ("gibbs", "gamma-poisson")
"""Models that have a setting."""
Groups = dict[str, tuple[str, ...]]
"""Titles of the groups of `--help`, and the settings in each, the most used first."""


def models_of_all_families() -> tuple[str, ...]:
    """Models that can be trained."""
    from models.families import model_names  # noqa: PLC0415 - brings numba along

    return model_names()


def methods_of_all_families() -> tuple[str, ...]:
    """Estimators of held-out likelihood."""
    from evaluation.methods import method_names  # noqa: PLC0415 - brings numba along

    return method_names()


def is_address(text: str) -> bool:
    """Whether this is an address rather than a file."""
    return re.match(r"https?://", text, re.IGNORECASE) is not None


def setting(
    default: Any,
    help_text: str,
    *,
    choices: tuple[str, ...] | Callable[[], tuple[str, ...]] | None = None,
    metavar: str = "",
    of: tuple[str, ...] = (),
    short: str = "",
) -> Any:
    """A field of a settings class, with what the command line says of it.

    `choices` that take time to find are a function, and `metavar` says which they are. `short` is
    another name on the command line, as -o. `of` is what has this setting, if not all
    have: models of `train`, experiments of `reproduce`. The help then begins with them.
    """
    if of:
        help_text = f"{', '.join(of)}: {help_text}"
    return field(
        default=default,
        metadata={
            "help": help_text,
            "choices": choices,
            "metavar": metavar,
            "of": of,
            "short": short,
        },
    )


def choices_of(each: Field[Any]) -> tuple[str, ...]:
    """Values that a setting can have; none if any will do."""
    choices = each.metadata["choices"]
    return tuple(choices() if callable(choices) else choices or ())


@dataclass(frozen=True)
class DownloadSettings:
    """`python -m pipeline download`."""

    GROUPS: ClassVar[Groups] = {
        "source": ("source", "input", "output", "limit", "language"),
        "live wikis": ("contact", "api", "text", "depth", "requests_per_minute", "patience"),
        "running": ("threads",),
    }

    source: str = setting(
        "sample",
        "where articles come from",
        choices=("sample", "random", "titles", "category", "dump", "jsonl", "cirrus"),
    )
    input: str = setting(
        "",
        "file to read (dump: an XML export of a wiki; jsonl, titles, cirrus), address (cirrus) or "
        "name (category)",
        metavar="INPUT",
    )
    output: str = setting("articles", "article store to add to", metavar="DIR")
    limit: int | None = setting(None, "at most this many articles", metavar="N")
    language: str = setting("en", "which Wikipedia; language of a jsonl file", metavar="CODE")
    api: str = setting("", "api.php of another wiki than Wikipedia", metavar="URL")
    contact: str = setting(
        "", "who you are, for the wiki's operators: e-mail address or web page", metavar="ADDRESS"
    )
    depth: int = setting(1, "levels of subcategories to follow", metavar="N")
    text: str = setting(
        "wikitext",
        "what a live wiki is asked for: 50 pages a request, or each page rendered",
        choices=("wikitext", "html"),
    )
    requests_per_minute: int = setting(200, "most requests a minute to a live wiki", metavar="N")
    patience: float = setting(
        60.0, "minutes without an answer after which a live download ends", metavar="X"
    )
    threads: int = setting(-1, "processes that parse wikitext; -1: one a core", metavar="N")

    @property
    def is_live(self) -> bool:
        """Whether the source is asked over the network."""
        by_address = self.source == "cirrus" and is_address(self.input)
        return by_address or self.source in ("random", "titles", "category")

    @property
    def n_processes(self) -> int:
        """What `threads` comes to on this machine."""
        if self.threads > 0:
            return self.threads
        from corpora.worker_pool import available_cores  # noqa: PLC0415 - brings all of corpora

        return max(1, available_cores() + 1 + self.threads)


@dataclass(frozen=True)
class TrainSettings:
    """`python -m pipeline train`."""

    GROUPS: ClassVar[Groups] = {
        "input": ("articles", "documents", "validation", "test", "follow", "follow_after"),
        "text": ("spacy_model", "parts_of_speech", "stop_words", "min_length", "noun_chunks"),
        "vocabulary": (
            "no_below",
            "no_above",
            "keep_n",
            "bigrams",
            "bigram_threshold",
            "bigram_min_count",
            "bigram_patterns",
        ),
        "model": ("model", "topics", "alpha", "eta"),
        "--model online": (
            "batch_size",
            "max_e_iterations",
            "e_tolerance",
            "learning_decay",
            "learning_offset",
            "staleness",
        ),
        "--model gibbs, gamma-poisson": (
            "learn_priors",
            "sampler",
            "start",
            "burn_in",
            "word_budget",
        ),
        "--model gamma-poisson": ("trainer", "shape"),
        "--model poisson-mrf": ("assignments", "penalty", "length_scale"),
        "stopping": ("max_passes", "early_stopping", "stopping_patience", "stopping_tolerance"),
        "running": ("run", "runs", "seed", "threads", "cluster"),
    }

    articles: str = setting("", "article store; without one, the built-in sample", metavar="DIR")
    run: str = setting("", "name of the run; by default made of model and topics", metavar="NAME")
    runs: str = setting("runs", "where runs are kept", metavar="DIR")
    model: str = setting(
        "online",
        "what to learn, and how: LDA by online variational Bayes or by collapsed Gibbs sampling, "
        "Gamma-Poisson factor analysis, or topics in which words depend on each other",
        choices=models_of_all_families,
        metavar="{online,gibbs,gamma-poisson,poisson-mrf}",
    )
    topics: int = setting(25, "number of topics", metavar="K")
    seed: int | None = setting(None, "fixes the result to the bit; drawn if not given", metavar="N")
    threads: int = setting(-1, "threads and processes; -1: one a core", metavar="N")
    cluster: str = setting(
        "",
        "Dask cluster to work on: tcp://HOST:PORT, tls://HOST:PORT, or local:N for N processes on "
        "this machine",
        metavar="ADDRESS",
    )
    follow: bool = setting(
        False, "learn while a download fills the store, until it has ended", of=("online",)
    )
    follow_after: int = setting(
        1000,
        "articles that bigrams and words are learned from when following",
        metavar="N",
        of=("online",),
    )

    documents: str = setting(
        "auto",
        "what a document is; auto: sections in a store of fewer than 1,000 articles",
        choices=("auto", "article", "section"),
    )
    spacy_model: str = setting(
        "",
        "spaCy model, or blank:CODE for a language without; by default what the articles need",
        metavar="NAME",
    )
    parts_of_speech: str = setting("NOUN,VERB,ADJ,ADV", "parts of speech to keep", metavar="LIST")
    min_length: int = setting(3, "shortest word to keep, in letters", metavar="N")
    stop_words: str = setting("", "stop words besides spaCy's", metavar="LIST")
    bigrams: str = setting(
        "classic", "score that joins neighbours", choices=("classic", "npmi", "none")
    )
    bigram_patterns: str = setting(
        "",
        'parts of speech that a bigram may have, as "ADJ NOUN, NOUN NOUN"; by default any',
        metavar="LIST",
    )
    noun_chunks: bool = setting(
        False, "bigrams within spaCy's noun chunks only; takes its parser, several times as long"
    )
    bigram_min_count: int = setting(5, "least occurrences of a bigram", metavar="N")
    bigram_threshold: float | None = setting(
        None, "least score of a bigram; by default 100, for npmi 0.5", metavar="X"
    )
    no_below: int = setting(5, "drop words in fewer documents", metavar="N")
    no_above: float = setting(0.2, "drop words in a larger share of documents", metavar="X")
    keep_n: int = setting(100_000, "keep at most this many words", metavar="N")
    validation: float = setting(
        0.1,
        "share of articles for early stopping; at most 1,000 documents are scored",
        metavar="X",
    )
    test: float = setting(0.1, "share of articles that training never sees", metavar="X")

    alpha: str = setting(
        "0.1",
        "prior of topics in a document: number, symmetric, asymmetric; online: or learned",
        of=LDA_MODELS,
    )
    eta: str = setting(
        "auto",
        "prior of words in a topic: number or symmetric; online: or learned; auto: 0.5 for online, "
        "0.05 for gibbs, 0.1 for gamma-poisson",
        of=(*LDA_MODELS, "gamma-poisson"),
    )
    learn_priors: str = setting(
        "alpha",
        "which priors to learn, from where --alpha and --eta start",
        choices=("alpha", "eta", "both", "none"),
        of=("gibbs",),
    )
    batch_size: int | None = setting(
        None,
        "documents a step; by default 1,000, fewer for a small corpus",
        metavar="N",
        of=("online",),
    )
    max_e_iterations: int = setting(20, "the cap of the E-step", metavar="N", of=("online",))
    e_tolerance: float = setting(1e-3, "convergence of the E-step", metavar="X", of=("online",))
    learning_decay: float = setting(0.7, "kappa of the step size", metavar="X", of=("online",))
    learning_offset: float = setting(10.0, "tau0 of the step size", metavar="X", of=("online",))
    staleness: int = setting(
        0,
        "batches that topics are behind by when the next is inferred by them; so many and one are "
        "under way on a cluster at the same time",
        metavar="N",
        of=("online",),
    )
    sampler: str = setting(
        "auto",
        "how topics are drawn; auto: by topics and tokens",
        choices=("auto", "exact-dense", "exact-sparse", "parallel-dense", "parallel-sparse"),
        of=SAMPLED,
    )
    start: str = setting(
        "online",
        "topics of the first sweep: those of a pass of online, or drawn evenly",
        choices=("online", "random"),
        of=SAMPLED,
    )
    burn_in: int = setting(
        0, "sweeps before the first that topics average", metavar="N", of=SAMPLED
    )
    word_budget: int | None = setting(
        None,
        "words with parameters; the more frequent ones are frozen",
        metavar="N",
        of=LDA_MODELS,
    )
    trainer: str = setting(
        "beta-gamma-pfa",
        "Gibbs sampling with a beta process, EM with a Gamma prior, or KL-NMF, whose prior is "
        "fitted afterwards",
        choices=("beta-gamma-pfa", "gap", "kl-nmf"),
        of=("gamma-poisson",),
    )
    shape: float | None = setting(
        None,
        "r of the scores' Gamma prior; by default learned, by gap 1.1",
        metavar="X",
        of=("gamma-poisson",),
    )
    assignments: str = setting(
        "gibbs",
        "topics of tokens by sampling, after LDA; of tokens by moves to the most probable, after a "
        "mixture; or of documents, a mixture",
        choices=("gibbs", "moves", "mixture"),
        of=("poisson-mrf",),
    )
    penalty: float = setting(
        0.03,
        "lambda of the regressions of words on words: the higher, the fewer dependencies",
        metavar="X",
        of=("poisson-mrf",),
    )
    length_scale: float = setting(
        1.5,
        "c: in documents c times as long as the mean, dependencies count half",
        metavar="X",
        of=("poisson-mrf",),
    )
    max_passes: int = setting(
        100,
        "most passes over the corpus, or sweeps; of poisson-mrf a pass is a round, and so many are "
        "most in a stage, such as that with dependencies",
        metavar="N",
    )
    early_stopping: str = setting(
        "documents",
        "when to look at validation; time: as the clock says, so not repeatable",
        choices=("documents", "time", "none"),
    )
    stopping_patience: int = setting(
        3, "looks without improvement after which to stop", metavar="N"
    )
    stopping_tolerance: float = setting(
        1e-4, "share of the log-likelihood that is no improvement yet", metavar="X"
    )


@dataclass(frozen=True)
class EvaluateSettings:
    """`python -m pipeline evaluate`."""

    GROUPS: ClassVar[Groups] = {
        "documents": ("articles", "counts", "vocabulary"),
        "estimator": (
            "method",
            "samples",
            "target_se",
            "convention",
            "smoothing",
            "seed",
            "max_memory",
        ),
        "certificate": ("certify", "temperatures"),
        "running": ("per_document", "runs", "threads", "cluster"),
    }

    articles: str = setting(
        "",
        "article store to score, counted as the first RUN's was; by default its test part",
        metavar="DIR",
    )
    counts: str = setting(
        "", "bags of words to score, in any format that convert reads", metavar="FILE"
    )
    vocabulary: str = setting(
        "",
        "words, a line each, of models and --counts that do not name theirs",
        metavar="FILE",
    )
    method: str | None = setting(
        None,
        "estimator; by default completion, for poisson-mrf annealed-importance-sampling (mixtures: "
        "exact)",
        choices=methods_of_all_families,
        metavar="{completion,variational-bound,exact,harmonic-mean,annealed-importance-sampling,"
        "best-split,mean-field-is-1,mean-field-is-2,left-to-right-particle,"
        "left-to-right-sequential,direct-sampling,left-to-right,left-to-right-exact}",
    )
    convention: str = setting(
        "sequence",
        "what probability is of: tokens in order or their counts, given how many they are; or, of "
        "gamma-poisson models, counts and how many",
        choices=("sequence", "bag", "bag-and-length"),
    )
    samples: int | None = setting(None, "Monte Carlo samples a document", metavar="N")
    target_se: float | None = setting(
        None, "Monte Carlo standard error a document to sample down to", metavar="NATS"
    )
    smoothing: float = setting(
        0.0, "share of each topic to spread evenly, so that no word is impossible", metavar="SHARE"
    )
    seed: int = setting(0, "fixes all that is random", metavar="N")
    max_memory: float = setting(2.0, "GiB that exact may take", metavar="GIB")
    certify: bool = setting(
        False, "score documents simulated from the model too, where the truth can be bracketed"
    )
    temperatures: int = setting(
        500, "steps of the annealing that --certify brackets with: more, narrower", metavar="N"
    )
    per_document: str = setting(
        "", "write a line a document, of tabs between values", metavar="FILE"
    )
    runs: str = setting("runs", "where runs are kept", metavar="DIR")
    threads: int = setting(-1, "threads and processes; -1: one a core", metavar="N")
    cluster: str = setting(
        "",
        "Dask cluster to work on: tcp://HOST:PORT, tls://HOST:PORT, or local:N for N processes on "
        "this machine",
        metavar="ADDRESS",
    )


@dataclass(frozen=True)
class TopicsSettings:
    """`python -m pipeline topics`."""

    GROUPS: ClassVar[Groups] = {
        "topics": ("words", "runs"),
        "dependencies": ("dependencies", "by", "picture"),
    }

    words: int = setting(10, "words a topic", metavar="N")
    dependencies: int = setting(
        10, "of Poisson MRFs: strongest dependencies of each sign a topic; 0: none", metavar="N"
    )
    by: str = setting(
        "weight",
        "what these are sorted by; weight can be that of words that the topic hardly has; effect: "
        "how much two words' counts go together",
        choices=("weight", "effect"),
    )
    picture: str = setting(
        "", "directory to draw them in, as a graph a topic: dependencies.svg, .png", metavar="DIR"
    )
    runs: str = setting("runs", "where runs are kept", metavar="DIR")


@dataclass(frozen=True)
class ReportSettings:
    """`python -m pipeline report`."""

    GROUPS: ClassVar[Groups] = {
        "page": ("output", "documents", "words", "typical", "page_only"),
        "likelihoods": ("scored", "samples", "seed"),
        "running": ("runs", "threads"),
    }

    output: str = setting(
        "",
        "page to write; by default report.html in the run's directory; of several runs report.html "
        "in the working directory",
        metavar="FILE",
        short="-o",
    )
    documents: int = setting(20, "held-out documents to show; 0: none", metavar="N")
    scored: int = setting(
        200, "most test documents that estimators score; 0: no likelihoods", metavar="N"
    )
    samples: int | None = setting(
        None, "Monte Carlo samples a document; each estimator has a default", metavar="N"
    )
    words: int = setting(30, "words shown per topic at each position of the slider", metavar="N")
    typical: int = setting(10, "typical articles a topic", metavar="N")
    page_only: bool = setting(False, "write no figures as SVG and PNG into the runs' figures/")
    seed: int = setting(0, "fixes estimates", metavar="N")
    runs: str = setting("runs", "where runs are kept", metavar="DIR")
    threads: int = setting(-1, "threads and processes; -1: one a core", metavar="N")


@dataclass(frozen=True)
class InferSettings:
    """`python -m pipeline infer`."""

    GROUPS: ClassVar[Groups] = {
        "topics": ("words", "runs"),
        "running": ("threads",),
    }

    words: int = setting(5, "words a topic", metavar="N")
    runs: str = setting("runs", "where runs are kept", metavar="DIR")
    threads: int = setting(-1, "threads; -1: one a core", metavar="N")


@dataclass(frozen=True)
class SelectSettings:
    """`python -m pipeline select`; the settings of its runs are those of `train`."""

    GROUPS: ClassVar[Groups] = {
        "selection": ("topics", "seeds", "name", "words"),
    }

    topics: str = setting("5,10,20,40", "numbers of topics to try", metavar="LIST")
    seeds: int = setting(1, "runs for each of them, each with the next seed", metavar="N")
    name: str = setting(
        "", "of the directory select-NAME among the runs; by default the model's", metavar="NAME"
    )
    words: int = setting(10, "top words of a topic that coherence is of", metavar="N")


@dataclass(frozen=True)
class AllocateSettings:
    """`python -m pipeline allocate`."""

    GROUPS: ClassVar[Groups] = {
        "table": ("layout", "axes"),
        "models": ("graph", "ranks", "vary", "sizes", "a", "b", "alpha", "eta"),
        "estimator": ("method", "particles", "moves", "order", "repeats"),
        "factors": ("factors", "all_factors", "top"),
        "running": ("output", "seed", "threads", "max_memory"),
    }

    graph: str = setting(
        "",
        "nmf, symmetric-nmf, lda, pachinko, cp, tucker, complete, sum-conditioned, "
        "mixed-membership, hidden-markov, hidden-markov-tied, or arrows between names of axes and "
        "of hidden indices, as 'k -> i, k -> j'; semicolons between several; by default nmf of two "
        "axes, else cp",
        metavar="GRAPHS",
    )
    layout: str = setting(
        "auto",
        "what a CSV file is: records, a line an observation, or a matrix of counts",
        choices=("auto", "records", "matrix"),
    )
    axes: str = setting(
        "", "of records the columns to take, of all others names for their axes", metavar="LIST"
    )
    ranks: str = setting(
        "1:10", "numbers of hidden values to try, and ranges of them", metavar="LIST"
    )
    vary: str = setting(
        "",
        "hidden indices that have the rank; needed where several have no --sizes",
        metavar="LIST",
    )
    sizes: str = setting(
        "", "numbers of values of other hidden indices, as k1=3,k2=5", metavar="LIST"
    )
    a: float | None = setting(
        None,
        "sum of all pseudo-counts, and shape of the prior of the number of tokens; by default 1, "
        "of lda what its alpha makes",
        metavar="X",
    )
    b: float | None = setting(
        None, "rate of that prior; by default a over the number of tokens", metavar="X"
    )
    alpha: float = setting(0.1, "prior of topics in a document, each", metavar="X", of=("lda",))
    eta: float = setting(0.1, "prior of words in a topic, each", metavar="X", of=("lda",))
    method: str = setting(
        "smc",
        "estimator of the log marginal likelihood",
        choices=("smc", "smc-adaptive", "sis", "vb", "exact"),
    )
    particles: int = setting(200, "particles of each run", metavar="N")
    moves: int = setting(
        30,
        "after each token, so many of those taken in are drawn anew; 0 as published",
        metavar="N",
        of=("smc", "smc-adaptive", "sis"),
    )
    order: str = setting(
        "random",
        "in which tokens are taken in; sorted, by cell, is for tables of tens of tokens",
        choices=("random", "sorted"),
        of=("smc", "smc-adaptive", "sis"),
    )
    repeats: int = setting(
        10, "independent runs of each estimate; of vb, and of factors, starts", metavar="N"
    )
    factors: str = setting(
        "vb",
        "how the best model is factorised",
        choices=("vb", "em", "dual-em", "icm", "smc", "none"),
    )
    all_factors: bool = setting(False, "factorise under every model, not the best alone")
    top: int = setting(8, "labels that are shown of each hidden value", metavar="N")
    max_memory: float = setting(2.0, "GiB that particles, states or tables may take", metavar="GIB")
    output: str = setting(
        "", "where results are written; by default allocate/NAME of the file", metavar="DIR"
    )
    seed: int = setting(0, "fixes all that is random", metavar="N")
    threads: int = setting(-1, "threads; -1: one a core", metavar="N")


NOT_SHARED = ("topics", "run", "follow", "follow_after")
"""Settings of `train` that `select` has no use for: it numbers and names its runs itself."""


@dataclass(frozen=True)
class NoSettings:
    """Settings of a command whose arguments say all: environment and file set nothing."""

    GROUPS: ClassVar[Groups] = {}
