"""Content of a report, section by section, before it is drawn and laid out as a page."""

from dataclasses import dataclass
from typing import Any

from evaluation.estimate import Direction


@dataclass(frozen=True)
class PartRow:
    """One part of the corpus: training, validation or test."""

    name: str
    articles: int
    documents: int
    tokens: int
    unknown: int  # Tokens outside the vocabulary


@dataclass(frozen=True)
class PruningRow:
    """A rule of pruning and the number of different words that it removed."""

    rule: str  # Text for readers: `in fewer than 5 documents`
    words: int
    examples: tuple[str, ...] = ()
    """Some of the words, the most frequent first; empty if they are not known."""


@dataclass(frozen=True)
class CorpusSection:
    """Corpus that the topics were learned from."""

    store: str  # Path of the article store or of the input, as it was given
    unit: str  # `article`, `section`, or `document` of counts
    parts: tuple[PartRow, ...]
    words: int  # Different words of the vocabulary
    words_before: int | None
    """Different words of the training part before pruning; None for runs that did not record it."""
    pruning: tuple[PruningRow, ...]
    bigrams: int  # Words of the vocabulary that are joined pairs
    origin: str = "Articles of the store"  # Text for readers, before the path


@dataclass(frozen=True)
class CheckRow:
    """A validation check during training, from `metrics.jsonl`."""

    documents: int  # Documents seen in training so far, over all passes
    passes: float | None
    seconds: float
    perplexity: float
    perplexity_standard_error: float | None
    bound_perplexity: float | None
    """exp(−variational bound / tokens) of the same documents, where the family has a bound."""


@dataclass(frozen=True)
class TrainingSection:
    """Validation checks of training and the reason why it ended."""

    checks: tuple[CheckRow, ...]
    best: int | None  # Index of the check whose topics were kept; None if the last topics were
    measure: str  # Text for readers: `completion of half of each document`
    ending: str  # Sentences on why training ended


@dataclass(frozen=True)
class TypicalArticle:
    """A document that is mostly about one topic."""

    title: str  # Title of the article; `Title: Heading` if documents are sections
    url: str  # Link to the exact revision if it is known; http(s), or empty
    share: float  # Share of the topic in the document's tokens


@dataclass(frozen=True, eq=False)
class TopicRow:
    """One topic."""

    number: int  # Number in `topics RUN` and in model.npz, from 0
    prevalence: float  # Share of the training tokens
    label: str  # Its most relevant words, as a name
    place: tuple[float, float]  # Position on the map
    words: tuple[int, ...]
    """Indices into `TopicsSection.words` of all words that are among the most relevant at some λ,
    the most probable first."""
    probabilities: tuple[float, ...]  # p(word | topic) of each
    typical: tuple[TypicalArticle, ...]
    found: int | None = None  # Chains in which the topic is found again; None without chains


@dataclass(frozen=True, eq=False)
class TopicsSection:
    """All topics, the most prevalent first."""

    topics: tuple[TopicRow, ...]
    words: tuple[str, ...]  # Words that some topic shows
    word_share: tuple[float, ...]
    """p(word) of each in the training tokens under the model, the denominator of lift."""
    searched: tuple[str, ...]  # Words that readers can search for, alphabetical
    topics_of_word: tuple[tuple[tuple[int, float], ...], ...]
    """Topics (number, p(topic | word)) of each searched word, the most probable first."""
    n_not_searched: int  # Number of the other words of the vocabulary, the rarest
    map_share: float  # Share of the squared distances between topics that the map's plane shows
    clouds: tuple[tuple["CloudWord", ...], ...]  # Word clouds, aligned with `topics`; may be empty
    n_words: int = 30  # Number of the most relevant words that are shown at any λ
    n_chains: int = 0  # Chains of which the topics are the consensus; 0 for one chain


@dataclass(frozen=True)
class CloudWord:
    """A word of a word cloud 400 wide and 240 high, (0, 0) at the top left."""

    word: str
    x: float  # Middle of the word, as `y`
    y: float
    size: float  # Font size
    width: float  # Length of the word, to which it is set
    is_upright: bool  # Whether the word is rotated by 90° and read from below


@dataclass(frozen=True)
class ShownDocument:
    """A held-out document and the topics of its words."""

    title: str
    url: str
    tokens: int  # Tokens in the vocabulary
    unknown: int  # Tokens outside the vocabulary
    topics: tuple[tuple[int, float], ...]
    """(number, share) of the topics with a share of at least 1 %, the largest first."""
    pieces: tuple[str, ...]  # Odd number of pieces: text, word as in the text, text, word, …, text
    word_topics: tuple[int, ...]
    """(len(pieces) // 2,) number of the most probable topic of each word."""
    certainty: tuple[float, ...]  # p(topic | word, document) of each
    is_cut: bool  # Whether the document is longer than `pieces`
    is_text: bool  # False if the article's text is missing and its words are listed alphabetically


@dataclass(frozen=True)
class DocumentsSection:
    """Some documents of the test part."""

    documents: tuple[ShownDocument, ...]
    of: int  # Number of all documents of the test part


@dataclass(frozen=True)
class LikelihoodRow:
    """Likelihood of the test documents by one estimator."""

    method: str
    direction: Direction
    scored: str
    """Text for readers: `whole documents`, `second half of each document, given the first`."""
    perplexity: float
    perplexity_standard_error: float | None  # Standard error over articles
    nats_per_word: float
    nats_per_word_standard_error: float | None
    monte_carlo_standard_error: float | None  # Monte Carlo standard error of nats a word
    low_ess_documents: int  # Documents with a low effective sample size
    seconds: float
    meaning: str  # A few sentences: the quantity, and on which side of the true value it lies
    n_samples: float | None = None
    """Mean number of Monte Carlo samples per document; None without sampling."""


@dataclass(frozen=True)
class LikelihoodSection:
    """Likelihood of held-out documents."""

    rows: tuple[LikelihoodRow, ...]
    articles: int
    documents: int
    of_documents: int  # Number of all test documents; the scored ones are evenly spaced
    tokens: int
    unknown_share: float
    reading: str
    """Two or three sentences: the meaning and the precision of the best of these estimates."""


@dataclass(frozen=True)
class Measured:
    """A figure with its 95 % interval, or the reason why it has none."""

    value: float | None
    low: float | None = None
    high: float | None = None
    why: str = ""
    """Reason, for readers, why there is no value or no interval; empty if there is one."""


@dataclass(frozen=True)
class CoherenceSection:
    """Coherence of the topics of a run."""

    measure: str
    n_words: int  # Top words of a topic
    counted_in: str  # Text for readers: `the 369 documents of the test part, each a window`
    topics: tuple[tuple[int, Measured], ...]
    """(number, coherence) of all topics, the most coherent first, those without a value last."""
    mean: Measured  # Over the topics that have a value


@dataclass(frozen=True)
class MeasureColumn:
    """A measure of several models."""

    name: str
    meaning: str
    better: str  # `low`, `high`, or empty if the models are not compared by it
    over: str  # What the intervals are over: `documents`, `topics` or `models`
    figures: tuple[Measured, ...]  # In the order of the models
    best: str = ""  # Name of the best model; empty without a comparison
    worse: tuple[str, ...] = ()  # Names of the models that are told apart from the best


@dataclass(frozen=True)
class MeasuresSection:
    """Several models by all measures that need nothing but held-out documents."""

    models: tuple[str, ...]
    columns: tuple[MeasureColumn, ...]
    documents: int
    coherence_in: str  # Text for readers: `the scored documents`
    notes: tuple[str, ...] = ()  # Warnings, for readers


@dataclass(frozen=True)
class ProvenanceSection:
    """Origin of the run as (name, value) pairs, and sources of its text."""

    entries: tuple[tuple[str, str], ...]
    settings: tuple[tuple[str, str], ...]
    sources: tuple[tuple[str, str, str], ...]  # (language, site, licence) of the articles


@dataclass(frozen=True, eq=False)
class RunReport:
    """Report of one run. A section is None if the run has no data for it."""

    name: str
    family: str  # Name in `models.families`
    family_name: str  # Text for readers: `Latent Dirichlet allocation, collapsed Gibbs sampling`
    corpus: CorpusSection
    training: TrainingSection | None
    topics: TopicsSection
    documents: DocumentsSection | None
    likelihood: LikelihoodSection | None
    provenance: ProvenanceSection
    dependencies: tuple[dict[str, Any], ...] | None
    """Rows of `pipeline.runs.topics.topic_rows` for Poisson MRFs."""
    shapes: tuple[float, ...] | None  # (K,) r_k of a Gamma-Poisson model, in the order of `topics`
    coherence: CoherenceSection | None = None
    notes: tuple[str, ...] = ()  # Sentences on what is missing in this report, and why

    @property
    def labels(self) -> dict[int, str]:
        """Names of the topics by number."""
        return {topic.number: topic.label for topic in self.topics.topics}


@dataclass(frozen=True)
class ComparisonRow:
    """A model on the documents that all models are compared on."""

    model: str
    perplexity: float
    perplexity_standard_error: float | None
    nats_per_word: float
    monte_carlo_standard_error: float | None
    difference: float | None  # Nats a word above the best model; None for the best
    low: float | None  # 95 % interval of the difference, paired by article
    high: float | None
    probability_worse: float | None
    scored_share: float = 1.0  # Model's probability of the scored words, those that all models know
    conditional_difference: float | None = None
    """Nats a word above the first row if each model is restricted to the scored words, negative
    for a better one; None for the first row, and if the `scored_share`s differ by little."""
    conditional_low: float | None = None  # 95 % interval of it, paired by article
    conditional_high: float | None = None


@dataclass(frozen=True)
class AlignedTopics:
    """A topic of the first model and its partner in the second; None for a missing partner."""

    first: int | None
    second: int | None
    distance: float | None  # Jensen-Shannon distance over common words, 0 to 1
    shared_words: tuple[str, ...]  # Words among the 20 most probable of both


@dataclass(frozen=True)
class Alignment:
    """Topics of two models side by side."""

    first: str
    second: str
    pairs: tuple[AlignedTopics, ...]  # Pairs, the closest first, then topics without a partner
    mean_distance: float


@dataclass(frozen=True)
class ComparisonSection:
    """Several runs on the same documents."""

    method: str
    direction: Direction
    articles: int
    documents: int
    tokens: int
    rows: tuple[ComparisonRow, ...]  # The best first
    reading: str
    alignments: tuple[Alignment, ...]  # Alignments of the first run with each other run
    is_comparable: bool = True
    """False if the order of the rows depends on the vocabularies: no row is called the best."""


@dataclass(frozen=True, eq=False)
class Report:
    """Content of a page."""

    title: str
    runs: tuple[RunReport, ...]
    comparison: ComparisonSection | None
    measures: MeasuresSection | None = None
