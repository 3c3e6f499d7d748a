"""Settings of `train`, with defaults and help texts."""

from dataclasses import dataclass
from typing import ClassVar

from pipeline.settings.field import (
    AUTO,
    LDA_MODELS,
    SAMPLED,
    Groups,
    models_of_all_families,
    setting,
)


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
        AUTO,
        "LDA by collapsed Gibbs sampling (gibbs) or online variational Bayes (online), "
        "Gamma-Poisson factor analysis, or Poisson MRFs, whose words depend on each other; auto: "
        "gibbs where its tokens fit into half of the memory, online for --follow, --cluster and "
        "larger inputs",
        choices=models_of_all_families,
        metavar="{auto,gibbs,online,gamma-poisson,poisson-mrf}",
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
        "Gibbs sampler; auto: by the numbers of topics, tokens and documents",
        choices=("auto", "exact-dense", "exact-sparse", "parallel-dense", "parallel-sparse"),
        of=SAMPLED,
    )
    start: str = setting(
        "auto",
        "topics before the first sweep: online, of a pass of online LDA; anchors, of passes that "
        "begin at anchor words, so that seeds differ little; random, uniform; auto: anchors for "
        "LDA with 1,000 documents to learn from, at most 2,000 topics and one chain, else online",
        choices=("auto", "online", "anchors", "random"),
        of=SAMPLED,
    )
    burn_in: int = setting(0, "sweeps before topics are averaged", metavar="N", of=SAMPLED)
    topics_from: str = setting(
        "conditionals",
        "final topics: the conditional probabilities of all tokens given the average of samples, "
        "or that average",
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
