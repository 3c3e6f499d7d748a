"""Settings of each command, with defaults and help texts."""

import re
from collections.abc import Callable
from dataclasses import Field, dataclass, field
from typing import Any, ClassVar

LDA_MODELS = ("online", "gibbs")
SAMPLED = ("gibbs", "gamma-poisson")  # Models that share settings
Groups = dict[str, tuple[str, ...]]
"""Titles of the groups of `--help`, and the settings in each, the most used first."""


def models_of_all_families() -> tuple[str, ...]:
    """Names of all models that can be trained."""
    from models.families import model_names  # noqa: PLC0415 - brings numba along

    return model_names()


def methods_of_all_families() -> tuple[str, ...]:
    """Names of all estimators of held-out likelihood."""
    from evaluation.methods import method_names  # noqa: PLC0415 - brings numba along

    return method_names()


def methods_of_evaluate() -> tuple[str, ...]:
    """Return these names and that of the estimator of differences."""
    from evaluation.difference import METHOD  # noqa: PLC0415 - brings numba along

    return (*methods_of_all_families(), METHOD)


def is_address(text: str) -> bool:
    """Whether a text is a web address rather than a file."""
    return re.match(r"https?://", text, re.IGNORECASE) is not None


def setting(
    default: Any,
    help_text: str,
    *,
    choices: tuple[str, ...] | Callable[[], tuple[str, ...]] | None = None,
    metavar: str = "",
    of: tuple[str, ...] = (),
    short: str = "",
    names_input: bool = False,
    is_positional: bool = False,
) -> Any:
    """Return a field of a settings class, with its help text.

    `choices` that are slow to find are given as a function, with their names in `metavar`. `short`
    is a short option, as -o. `of` lists the models of `train`, or experiments of `reproduce`, that
    have the setting, if not all have it; the help text then begins with them. A setting that
    `names_input` is not taken from the environment, where other commands have settings of the same
    name, and is stored only if it is given. One that `is_positional` is an argument without --.
    """
    if of:
        help_text = f"{', '.join(of)}: {help_text}"
    about = {
        "help": help_text,
        "choices": choices,
        "metavar": metavar,
        "of": of,
        "short": short,
        "names_input": names_input,
        "is_positional": is_positional,
    }
    return field(default=default, metadata=about)


def setting_of(kind: type[Any], name: str, default: Any = None, help_text: str = "") -> Any:
    """Return a field like one of another settings class, maybe with another default or help."""
    other = kind.__dataclass_fields__[name]
    about = dict(other.metadata) | ({"help": help_text} if help_text else {})
    return field(default=other.default if default is None else default, metadata=about)


def choices_of(each: Field[Any]) -> tuple[str, ...]:
    """Return the possible values of a setting; empty if it has no list of them."""
    choices = each.metadata["choices"]
    return tuple(choices() if callable(choices) else choices or ())


DEFAULT_LANGUAGE = "en"


@dataclass(frozen=True)
class DownloadSettings:
    """`python -m pipeline download`."""

    GROUPS: ClassVar[Groups] = {
        "source": ("source", "input", "output", "limit", "language"),
        "dumps": ("date", "titles", "category", "keep_files", "connections"),
        "tables": ("text_column", "id_column"),
        "live wikis": ("contact", "api", "text", "depth", "requests_per_minute", "patience"),
        "running": ("threads",),
    }

    source: str = setting(
        "sample",
        "where articles come from",
        choices=(
            *("sample", "random", "titles", "category", "content", "dump", "jsonl", "cirrus"),
            *("csv", "parquet", "folder"),
        ),
    )
    input: str = setting(
        "",
        "file (dump: an XML export of a wiki; jsonl, titles, cirrus, csv, parquet), folder (dump, "
        "csv, parquet; of .txt files), address (content, cirrus) or name (category; content: of a "
        "wiki's database, such as enwiki) to read",
        metavar="INPUT",
    )
    output: str = setting("articles", "article store to add to", metavar="DIR")
    limit: int | None = setting(None, "at most this many articles", metavar="N")
    language: str = setting(
        DEFAULT_LANGUAGE, "language of the Wikipedia, or of texts that do not say", metavar="CODE"
    )
    date: str = setting(
        "", "date of the dump (content); default: the newest that is complete", metavar="DATE"
    )
    titles: str = setting(
        "", "take only the titles in this file, one a line (content, dump)", metavar="FILE"
    )
    category: str = setting(
        "",
        "take only articles whose text names this category, or one of A|B|C (content, dump)",
        metavar="NAME",
    )
    keep_files: bool = setting(
        False, "keep the files of a dump in DIR/files when they are read (content, cirrus)"
    )
    connections: int = setting(
        1, "files of a dump to download at a time, at most 3 (content, cirrus)", metavar="N"
    )
    text_column: str = setting(
        "",
        "column of the texts (csv, parquet); default: the one that is called text, or the only "
        "one of strings",
        metavar="NAME",
    )
    id_column: str = setting(
        "",
        "column of the ids (csv, parquet); default: id, or the numbers of the rows",
        metavar="NAME",
    )
    api: str = setting("", "api.php of a wiki other than Wikipedia", metavar="URL")
    contact: str = setting(
        "", "your e-mail address or web page, for the wiki's operators", metavar="ADDRESS"
    )
    depth: int = setting(1, "levels of subcategories to follow", metavar="N")
    text: str = setting(
        "wikitext",
        "form of a live wiki's text: wikitext, 50 pages a request, or each page rendered as html",
        choices=("wikitext", "html"),
    )
    requests_per_minute: int = setting(
        200, "requests a minute to a live wiki, at most", metavar="N"
    )
    patience: float = setting(
        60.0, "minutes without an answer before a live download ends", metavar="X"
    )
    threads: int = setting(-1, "processes that parse wikitext; -1: one for each core", metavar="N")

    @property
    def is_live(self) -> bool:
        """Whether the source is on the network."""
        return self.is_dump_on_server or self.source in ("random", "titles", "category")

    @property
    def is_dump_on_server(self) -> bool:
        """Whether the source is the files of a dump on a server."""
        by_address = self.source == "cirrus" and is_address(self.input)
        return by_address or self.source == "content"

    @property
    def n_processes(self) -> int:
        """Number of processes that `threads` means on this machine."""
        if self.threads > 0:
            return self.threads
        from corpora.worker_pool import available_cores  # noqa: PLC0415 - brings all of corpora

        return max(1, available_cores() + 1 + self.threads)


@dataclass(frozen=True)
class TrainSettings:
    """`python -m pipeline train`."""

    GROUPS: ClassVar[Groups] = {
        "input": (
            *("input", "format", "text_column", "id_column", "vocabulary", "articles", "counts"),
            *("documents", "validation", "test", "follow", "follow_after"),
        ),
        "text": ("spacy_model", "parts_of_speech", "stop_words", "min_length", "noun_chunks"),
        "vocabulary": (
            *("no_below", "no_above", "keep_n"),
            *("bigrams", "bigram_threshold", "bigram_min_count", "bigram_patterns"),
        ),
        "model": ("model", "topics", "alpha", "eta"),
        "--model online": (
            *("batch_size", "max_e_iterations", "e_tolerance"),
            *("learning_decay", "learning_offset", "expectation", "staleness"),
        ),
        "--model gibbs, gamma-poisson": (
            *("chains", "learn_priors", "sampler", "start", "burn_in", "topics_from"),
            "word_budget",
        ),
        "--model gamma-poisson": ("trainer", "shape"),
        "--model poisson-mrf": ("assignments", "penalty", "length_scale"),
        "stopping": ("max_passes", "early_stopping", "stopping_patience", "stopping_tolerance"),
        "running": ("run", "runs", "seed", "threads", "cluster"),
    }

    EXCLUSIVE: ClassVar[tuple[str, ...]] = ("input", "articles", "counts")
    """Settings that each say what is read: at most one is given."""

    articles: str = setting("", "article store; by default the built-in sample", metavar="DIR")
    input: str = setting(
        "",
        "what to learn from, found by its content: an article store (also its address), a folder "
        "of .txt files, a CSV, TSV, JSON lines or Parquet file or a folder of them, with a text in "
        "each row, or counts in any format that `convert` reads, or .h5ad",
        metavar="INPUT",
        names_input=True,
        is_positional=True,
    )
    format: str = setting(
        "", "format of INPUT, if its content does not tell it", metavar="NAME", names_input=True
    )
    text_column: str = setting(
        "", "column of INPUT with the texts; by default text", metavar="NAME", names_input=True
    )
    id_column: str = setting(
        "",
        "column of INPUT with the ids; by default id, or else rows are numbered",
        metavar="NAME",
        names_input=True,
    )
    vocabulary: str = setting(
        "", "words, one a line, of counts that lie beside none", metavar="FILE", names_input=True
    )
    counts: str = setting(
        "", "counts to learn from; the same as INPUT", metavar="FILE", names_input=True
    )
    run: str = setting("", "name of the run; by default from model and topics", metavar="NAME")
    runs: str = setting("runs", "folder of runs", metavar="DIR")
    model: str = setting(
        "online",
        "LDA by online variational Bayes (online) or collapsed Gibbs sampling (gibbs), "
        "Gamma-Poisson factor analysis, or Poisson MRFs, whose words depend on each other",
        choices=models_of_all_families,
        metavar="{online,gibbs,gamma-poisson,poisson-mrf}",
    )
    topics: int = setting(25, "number of topics", metavar="K")
    seed: int | None = setting(
        None,
        "random seed; it fixes the result to the bit; by default drawn and recorded",
        metavar="N",
    )
    threads: int = setting(-1, "threads and processes; -1: one for each core", metavar="N")
    cluster: str = setting(
        "",
        "Dask cluster: tcp://HOST:PORT, tls://HOST:PORT, or local:N for N processes here",
        metavar="ADDRESS",
    )
    follow: bool = setting(False, "train while a download fills the store", of=("online",))
    follow_after: int = setting(
        1000,
        "articles from which --follow learns bigrams and vocabulary",
        metavar="N",
        of=("online",),
    )

    documents: str = setting(
        "auto",
        "unit of a document; auto: sections if an article store has fewer than 1,000 articles",
        choices=("auto", "article", "section"),
    )
    spacy_model: str = setting(
        "",
        "spaCy model, or blank:CODE for a language without one; by default for the articles' "
        "language",
        metavar="NAME",
    )
    parts_of_speech: str = setting("NOUN,VERB,ADJ,ADV", "parts of speech to keep", metavar="LIST")
    min_length: int = setting(3, "letters of the shortest word to keep", metavar="N")
    stop_words: str = setting("", "stop words in addition to spaCy's", metavar="LIST")
    bigrams: str = setting(
        "classic",
        "score by which adjacent words become bigrams",
        choices=("classic", "npmi", "none"),
    )
    bigram_patterns: str = setting(
        "", 'parts of speech of bigrams, as "ADJ NOUN, NOUN NOUN"; by default all', metavar="LIST"
    )
    noun_chunks: bool = setting(
        False, "bigrams only within spaCy's noun chunks; its parser takes several times as long"
    )
    bigram_min_count: int = setting(5, "smallest count of a bigram", metavar="N")
    bigram_threshold: float | None = setting(
        None, "smallest score of a bigram; by default 100, for npmi 0.5", metavar="X"
    )
    no_below: int = setting(5, "drop words that are in fewer documents", metavar="N")
    no_above: float = setting(
        0.2, "drop words that are in a larger share of documents", metavar="X"
    )
    keep_n: int = setting(100_000, "keep at most this many words", metavar="N")
    validation: float = setting(
        0.1, "share of articles for validation; at most 1,000 documents are scored", metavar="X"
    )
    test: float = setting(0.1, "share of articles held out for evaluation", metavar="X")

    alpha: str = setting(
        "0.1",
        "Dirichlet prior of topics in documents: number, symmetric, asymmetric; online: or learned",
        of=LDA_MODELS,
    )
    eta: str = setting(
        "auto",
        "Dirichlet prior of words in topics: number or symmetric; online: or learned; auto: 0.5 "
        "for online, 0.05 for gibbs, 0.1 for gamma-poisson",
        of=(*LDA_MODELS, "gamma-poisson"),
    )
    learn_priors: str = setting(
        "alpha",
        "priors to learn, starting from --alpha and --eta",
        choices=("alpha", "eta", "both", "none"),
        of=("gibbs",),
    )
    batch_size: int | None = setting(
        None,
        "documents in a mini-batch; by default 1,000, fewer for a small corpus",
        metavar="N",
        of=("online",),
    )
    max_e_iterations: int = setting(
        20, "cap on iterations of the E-step", metavar="N", of=("online",)
    )
    e_tolerance: float = setting(
        1e-3, "tolerance of the E-step's convergence", metavar="X", of=("online",)
    )
    learning_decay: float = setting(
        0.7, "kappa, the decay of the step size", metavar="X", of=("online",)
    )
    learning_offset: float = setting(
        10.0, "tau0, the offset of the step size", metavar="X", of=("online",)
    )
    expectation: str = setting(
        "log",
        "topics in the E-step: log, exp E[log phi] of variational Bayes; mean, E[phi] as in SCVB0",
        choices=("log", "mean"),
        of=("online",),
    )
    staleness: int = setting(
        0,
        "batches by which the topics of an E-step may lag behind; N + 1 batches are in flight on a "
        "cluster",
        metavar="N",
        of=("online",),
    )
    sampler: str = setting(
        "auto",
        "Gibbs sampler; auto: by the numbers of topics and tokens",
        choices=("auto", "exact-dense", "exact-sparse", "parallel-dense", "parallel-sparse"),
        of=SAMPLED,
    )
    start: str = setting(
        "online",
        "start of the first sweep: topics of one pass of online, or uniform",
        choices=("online", "random"),
        of=SAMPLED,
    )
    burn_in: int = setting(0, "sweeps before topics are averaged", metavar="N", of=SAMPLED)
    topics_from: str = setting(
        "conditionals",
        "final topics: the conditional probabilities of all tokens given the average of samples, "
        "or that average; with --chains always the latter",
        choices=("conditionals", "samples"),
        of=("gibbs",),
    )
    chains: int = setting(
        1,
        "chains from independent seeds; their consensus depends less on the seed; takes N times "
        "the work",
        metavar="N",
        of=("gibbs",),
    )
    word_budget: int | None = setting(
        None, "words with parameters; more frequent words are frozen", metavar="N", of=LDA_MODELS
    )
    trainer: str = setting(
        "beta-gamma-pfa",
        "Gibbs sampling with a beta process, EM with a Gamma prior, or KL-NMF with a prior that is "
        "fitted afterwards",
        choices=("beta-gamma-pfa", "gap", "kl-nmf"),
        of=("gamma-poisson",),
    )
    shape: float | None = setting(
        None,
        "r, the shape of the Gamma prior of scores; by default learned, for gap 1.1",
        metavar="X",
        of=("gamma-poisson",),
    )
    assignments: str = setting(
        "gibbs",
        "gibbs: topics of tokens by sampling, started by LDA; moves: topics of tokens by moves to "
        "the most probable, started by a mixture; mixture: a topic for each document",
        choices=("gibbs", "moves", "mixture"),
        of=("poisson-mrf",),
    )
    penalty: float = setting(
        0.03,
        "lambda, the penalty of the regressions between words: higher gives fewer dependencies",
        metavar="X",
        of=("poisson-mrf",),
    )
    length_scale: float = setting(
        1.5,
        "c: in documents c times the mean length, dependencies count half",
        metavar="X",
        of=("poisson-mrf",),
    )
    max_passes: int = setting(
        100,
        "passes over the corpus, or sweeps, at most; for poisson-mrf rounds in each stage",
        metavar="N",
    )
    early_stopping: str = setting(
        "documents",
        "interval of validation checks: by documents, or by time, which is not repeatable",
        choices=("documents", "time", "none"),
    )
    stopping_patience: int = setting(
        3, "checks without improvement before training stops", metavar="N"
    )
    stopping_tolerance: float = setting(
        1e-4, "relative gain of the log-likelihood that counts as improvement", metavar="X"
    )


@dataclass(frozen=True)
class IndexSettings:
    """`python -m pipeline index`."""

    GROUPS: ClassVar[Groups] = {
        "input": ("input", "format", "text_column", "id_column", "documents"),
        "index": ("output", "like"),
        "text": TrainSettings.GROUPS["text"],
        "vocabulary": TrainSettings.GROUPS["vocabulary"],
        "running": ("runs", "threads"),
    }

    input: str = setting(
        "",
        "reference corpus: an article store, or texts in any form that `train INPUT` takes",
        metavar="ARTICLES",
        names_input=True,
        is_positional=True,
    )
    format: str = setting(
        "",
        "format of ARTICLES, if their content does not tell it",
        metavar="NAME",
        names_input=True,
    )
    text_column: str = setting(
        "", "column of ARTICLES with the texts; by default text", metavar="NAME", names_input=True
    )
    id_column: str = setting(
        "",
        "column of ARTICLES with the ids; by default id, or else rows are numbered",
        metavar="NAME",
        names_input=True,
    )
    output: str = setting(
        "",
        "file to write; by default NAME.index in the working directory, NAME that of ARTICLES",
        metavar="FILE",
        names_input=True,
    )
    like: str = setting(
        "",
        "read ARTICLES as this run read its own, with its bigrams, and keep all words of the run",
        metavar="RUN",
        names_input=True,
    )
    documents: str = setting_of(TrainSettings, "documents")
    spacy_model: str = setting_of(TrainSettings, "spacy_model")
    parts_of_speech: str = setting_of(TrainSettings, "parts_of_speech")
    min_length: int = setting_of(TrainSettings, "min_length")
    stop_words: str = setting_of(TrainSettings, "stop_words")
    bigrams: str = setting_of(TrainSettings, "bigrams")
    bigram_patterns: str = setting_of(TrainSettings, "bigram_patterns")
    noun_chunks: bool = setting_of(TrainSettings, "noun_chunks")
    bigram_min_count: int = setting_of(TrainSettings, "bigram_min_count")
    bigram_threshold: float | None = setting_of(TrainSettings, "bigram_threshold")
    no_below: int = setting_of(TrainSettings, "no_below")
    no_above: float = setting_of(
        TrainSettings,
        "no_above",
        1.0,
        "drop words that are in a larger share of documents; 1: none, as topics may have them",
    )
    keep_n: int = setting_of(TrainSettings, "keep_n")
    runs: str = setting_of(TrainSettings, "runs")
    threads: int = setting_of(TrainSettings, "threads")


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
    words: int = setting(10, "top words of a topic, for --measures", metavar="N")
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


@dataclass(frozen=True)
class TopicsSettings:
    """`python -m pipeline topics`."""

    GROUPS: ClassVar[Groups] = {
        "topics": ("words", "runs", "threads"),
        "columns": ("over", "period", "groups"),
        "coherence": ("reference", "measure"),
        "dependencies": ("dependencies", "by", "picture"),
    }

    words: int = setting(10, "words of each topic", metavar="N")
    dependencies: int = setting(
        10, "strongest dependencies of each sign in a topic of a Poisson MRF; 0: none", metavar="N"
    )
    by: str = setting(
        "weight",
        "order of dependencies: by weight, also of words that are rare in the topic, or by effect, "
        "the correlation of the two counts",
        choices=("weight", "effect"),
    )
    over: str = setting(
        "",
        "mean shares of topics by a column that came along with the texts: categories, quality, "
        "year, …",
        metavar="COLUMN",
    )
    period: str | None = setting(
        None,
        "periods of a column of dates; by default the finest with 20 documents on average",
        choices=("year", "quarter", "month", "day"),
    )
    groups: int | None = setting(
        None,
        "groups that are shown, the largest; by default all, 20 of categories, 10 of lengths",
        metavar="N",
    )
    picture: str = setting(
        "", "folder for a drawing of dependencies: dependencies.svg, .png", metavar="DIR"
    )
    reference: str = setting(
        "", "coherence of each topic, counted in this file that `index` made", metavar="FILE"
    )
    measure: str = setting(
        "c_npmi",
        "measure of coherence",
        choices=("c_npmi", "c_v", "c_uci", "u_mass"),
    )
    runs: str = setting("runs", "folder of runs", metavar="DIR")
    threads: int = setting(
        -1, "threads for --documents and --over; -1: one for each core", metavar="N"
    )


@dataclass(frozen=True)
class ReportSettings:
    """`python -m pipeline report`."""

    GROUPS: ClassVar[Groups] = {
        "page": ("output", "documents", "words", "typical", "page_only"),
        "likelihoods": ("scored", "samples", "seed"),
        "coherence": ("reference",),
        "running": ("runs", "threads"),
    }

    output: str = setting(
        "",
        "page to write; by default report.html in the run's directory, for several runs in the "
        "working directory",
        metavar="FILE",
        short="-o",
    )
    documents: int = setting(20, "held-out documents to show; 0: none", metavar="N")
    scored: int = setting(200, "test documents to score, at most; 0: no likelihoods", metavar="N")
    samples: int | None = setting(
        None, "Monte Carlo samples for each document; each estimator has a default", metavar="N"
    )
    words: int = setting(30, "words of each topic at each position of the slider", metavar="N")
    typical: int = setting(10, "typical articles of each topic", metavar="N")
    page_only: bool = setting(False, "write no SVG and PNG figures into the runs' figures/")
    seed: int = setting(0, "random seed of estimates", metavar="N")
    reference: str = setting(
        "",
        "file that `index` made, in which coherence is counted; by default the test part",
        metavar="FILE",
    )
    runs: str = setting("runs", "folder of runs", metavar="DIR")
    threads: int = setting(-1, "threads and processes; -1: one for each core", metavar="N")


@dataclass(frozen=True)
class ReadingTestSettings:
    """`python -m pipeline reading-test`."""

    GROUPS: ClassVar[Groups] = {
        "questions": ("questions", "tasks", "topics", "documents", "repeated"),
        "files": ("output", "key", "vocabulary"),
        "running": ("seed", "runs", "threads"),
    }

    questions: int = setting(
        40,
        "questions that a reader answers, at most; more are dealt to several sheets",
        metavar="N",
    )
    tasks: str = setting(
        "word-intrusion,topic-intrusion",
        "what is asked, by commas: word-intrusion, topic-intrusion, rating",
        metavar="TASKS",
    )
    topics: int | None = setting(
        None,
        "topics of each model that are asked about, drawn at random; by default all",
        metavar="N",
    )
    documents: int = setting(20, "documents of each run for topic-intrusion", metavar="N")
    repeated: int = setting(
        4, "questions that a reader has twice, which shows agreement with oneself", metavar="N"
    )
    output: str = setting("reading-test.html", "page for the readers", metavar="FILE", short="-o")
    key: str = setting(
        "",
        "right answers, not for the readers; by default beside the page, its name with .key.json",
        metavar="FILE",
    )
    vocabulary: str = setting("", "words, one a line, for models without words", metavar="FILE")
    seed: int = setting(0, "random seed of intruders and of the order", metavar="N")
    runs: str = setting("runs", "folder of runs", metavar="DIR")
    threads: int = setting(-1, "threads; -1: one for each core", metavar="N")


@dataclass(frozen=True)
class InferSettings:
    """`python -m pipeline infer`."""

    GROUPS: ClassVar[Groups] = {
        "input": ("format", "text_column", "id_column", "vocabulary"),
        "topics": ("words", "runs"),
        "running": ("threads",),
    }

    format: str = setting(
        "",
        "format of INPUT, if its content does not tell it",
        metavar="NAME",
        names_input=True,
    )
    text_column: str = setting(
        "", "column of INPUT with the texts; by default text", metavar="NAME", names_input=True
    )
    id_column: str = setting(
        "",
        "column of INPUT with the ids; by default id, or else rows are numbered",
        metavar="NAME",
        names_input=True,
    )
    vocabulary: str = setting(
        "", "words, one a line, of counts that lie beside none", metavar="FILE", names_input=True
    )
    words: int = setting(5, "words of each topic", metavar="N")
    runs: str = setting("runs", "folder of runs", metavar="DIR")
    threads: int = setting(-1, "threads; -1: one for each core", metavar="N")


@dataclass(frozen=True)
class SelectSettings:
    """`python -m pipeline select`; the settings of its runs are those of `train`."""

    GROUPS: ClassVar[Groups] = {"selection": ("topics", "seeds", "name", "words", "reference")}

    topics: str = setting("5,10,20,40", "numbers of topics to try", metavar="LIST")
    seeds: int = setting(1, "runs for each number of topics, with successive seeds", metavar="N")
    name: str = setting(
        "", "name of the folder select-NAME among the runs; by default the model", metavar="NAME"
    )
    words: int = setting(10, "top words of a topic for coherence", metavar="N")
    reference: str = setting(
        "",
        "count coherence in this file that `index` made; by default in the training part",
        metavar="FILE",
    )


@dataclass(frozen=True)
class AllocateSettings:
    """`python -m pipeline allocate`."""

    GROUPS: ClassVar[Groups] = {
        "table": ("layout", "axes"),
        "models": ("graph", "ranks", "vary", "sizes", "a", "b", "alpha", "eta"),
        "estimator": ("method", "particles", "moves", "order", "chains", "sweeps", "repeats"),
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
        "smc",
        "estimator of the log marginal likelihood",
        choices=("smc", "annealed", "smc-adaptive", "sis", "vb", "exact"),
    )
    particles: int = setting(200, "particles of each run", metavar="N")
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
    chains: int = setting(
        4, "chains of each run, resampled among each other", metavar="N", of=("annealed",)
    )
    sweeps: int = setting(
        1000, "steps from independent tokens to the model", metavar="N", of=("annealed",)
    )
    repeats: int = setting(
        10, "independent runs of each estimate; starts of vb and of factors", metavar="N"
    )
    factors: str = setting(
        "vb",
        "method that factorises the table under the best model",
        choices=("vb", "em", "dual-em", "icm", "smc", "none"),
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


NOT_SHARED = ("topics", "run", "follow", "follow_after")
"""Settings of `train` that `select` does not take: it numbers and names its runs itself."""


@dataclass(frozen=True)
class WarmSettings:
    """`python -m pipeline warm`."""

    GROUPS: ClassVar[Groups] = {"running": ("threads",)}

    threads: int = setting(-1, "processes that compile; -1: one for each core", metavar="N")


@dataclass(frozen=True)
class NoSettings:
    """Settings of a command whose arguments say all: environment and file set nothing."""

    GROUPS: ClassVar[Groups] = {}
