"""What a report says of a run, section by section, before it is drawn or laid out as a page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evaluation.estimate import Direction


@dataclass(frozen=True)
class PartRow:
    """One part of the corpus: training, validation or test."""

    name: str
    articles: int
    documents: int
    tokens: int
    unknown: int
    """Tokens that pruning left out of the vocabulary."""


@dataclass(frozen=True)
class PruningRow:
    """A rule of pruning and the different words that it removed."""

    rule: str
    """For people: `in fewer than 5 documents`."""
    words: int
    examples: tuple[str, ...] = ()
    """Some of the words, those in most documents first; none where it is not known which."""


@dataclass(frozen=True)
class CorpusSection:
    """What topics were learned from."""

    store: str
    """Path of the article store, as it was given."""
    unit: str
    """What a document is: `article` or `section`."""
    parts: tuple[PartRow, ...]
    words: int
    """Different words of the vocabulary."""
    words_before: int | None
    """Different words of the training part before pruning; None for runs that did not note it."""
    pruning: tuple[PruningRow, ...]
    bigrams: int
    """Words of the vocabulary that are pairs joined."""


@dataclass(frozen=True)
class Look:
    """A look at validation documents during training, as `metrics.jsonl` has it."""

    documents: int
    """That training had seen, those of every pass."""
    passes: float | None
    seconds: float
    perplexity: float
    perplexity_standard_error: float | None
    bound_perplexity: float | None
    """exp(−variational bound / tokens) of the same documents, where the family has a bound."""


@dataclass(frozen=True)
class TrainingSection:
    """How training went."""

    looks: tuple[Look, ...]
    best: int | None
    """Index of the look whose topics were kept; None if the last topics were."""
    measure: str
    """What perplexity is of, for people: `completion of half of each document`."""
    ending: str
    """A sentence: why training ended where it did."""


@dataclass(frozen=True)
class TypicalArticle:
    """A document that is mostly of one topic."""

    title: str
    """Of the article, and of the section where documents are sections: `Title: Heading`."""
    url: str
    """Of the exact revision if it is known; empty, or http(s)."""
    share: float
    """Of the topic in the document's tokens."""


@dataclass(frozen=True, eq=False)
class TopicRow:
    """One topic."""

    number: int
    """As in `topics RUN` and in model.npz, from 0."""
    prevalence: float
    """Share of the training tokens."""
    label: str
    """Its most relevant words, as a name."""
    place: tuple[float, float]
    """On the map."""
    words: tuple[int, ...]
    """Indices into `TopicsSection.words`: all that are among the most relevant at some λ, the most
    probable first."""
    probabilities: tuple[float, ...]
    """p(word | topic) of each."""
    typical: tuple[TypicalArticle, ...]


@dataclass(frozen=True, eq=False)
class TopicsSection:
    """All topics, the most prevalent first."""

    topics: tuple[TopicRow, ...]
    words: tuple[str, ...]
    """Those that some topic shows."""
    word_share: tuple[float, ...]
    """p(word) of each in the training tokens under the model, what lift is against."""
    searched: tuple[str, ...]
    """Words that can be searched for, alphabetical."""
    topics_of_word: tuple[tuple[tuple[int, float], ...], ...]
    """Of each searched word the topics (number, p(topic | word)), the most probable first."""
    n_not_searched: int
    """Words of the vocabulary that are left out, the rarest."""
    map_share: float
    """Share of the squared distances between topics that the map's plane shows."""
    clouds: tuple[tuple[CloudWord, ...], ...]
    """Aligned with `topics`; empty where clouds were not laid out."""
    n_words: int = 30
    """How many of the most relevant words are known at every λ, and shown."""


@dataclass(frozen=True)
class CloudWord:
    """A word of a word cloud 400 wide and 240 high, (0, 0) at the top left."""

    word: str
    x: float
    """Middle of the word."""
    y: float
    size: float
    """Height of the font."""
    width: float
    """Length of the word, to which it is set."""
    is_upright: bool
    """Whether it is turned by a quarter, read from below."""


@dataclass(frozen=True)
class ShownDocument:
    """A held-out document, its words with the topics that they are from."""

    title: str
    url: str
    tokens: int
    """Words of the vocabulary in it."""
    unknown: int
    topics: tuple[tuple[int, float], ...]
    """(number, share), the largest first; those under one in a hundred are left out."""
    pieces: tuple[str, ...]
    """Of odd length: text between words, word as it stands in the text, text, word, …, text."""
    word_topics: tuple[int, ...]
    """(len(pieces) // 2,) the most probable topic's number of each word."""
    certainty: tuple[float, ...]
    """p(topic | word, document) of each."""
    is_cut: bool
    """Whether the text goes on."""
    is_text: bool
    """False where the article's text is not there any more, and its words stand alphabetically."""


@dataclass(frozen=True)
class DocumentsSection:
    """Some documents of the test part."""

    documents: tuple[ShownDocument, ...]
    of: int
    """Documents of the test part."""


@dataclass(frozen=True)
class LikelihoodRow:
    """What one estimator says of the test documents."""

    method: str
    direction: Direction
    scored: str
    """For people: `whole documents`, `second half of each document, given the first`."""
    perplexity: float
    perplexity_standard_error: float | None
    """Over articles."""
    nats_per_word: float
    nats_per_word_standard_error: float | None
    monte_carlo_standard_error: float | None
    """Of nats a word."""
    unsure_documents: int
    seconds: float
    meaning: str
    """What the figure is and on which side of the truth it lies; a few sentences."""
    n_samples: float | None = None
    """Of Monte Carlo, in the mean over documents; None where nothing is sampled."""


@dataclass(frozen=True)
class LikelihoodSection:
    """How probable unseen documents are."""

    rows: tuple[LikelihoodRow, ...]
    articles: int
    documents: int
    of_documents: int
    """Test documents altogether; those scored are evenly spaced ones."""
    tokens: int
    unknown_share: float
    reading: str
    """Two or three plain sentences: what the best of these figures means, and how sure it is."""


@dataclass(frozen=True)
class ProvenanceSection:
    """Where the run came from, as (name, value) pairs, and whose text it is."""

    entries: tuple[tuple[str, str], ...]
    settings: tuple[tuple[str, str], ...]
    sources: tuple[tuple[str, str, str], ...]
    """(language, site, licence) of the articles."""


@dataclass(frozen=True, eq=False)
class RunReport:
    """All of one run. Sections are None where the run has nothing for them."""

    name: str
    family: str
    """As `models.families` has it."""
    family_name: str
    """For people: `Latent Dirichlet allocation, collapsed Gibbs sampling`."""
    corpus: CorpusSection
    training: TrainingSection | None
    topics: TopicsSection
    documents: DocumentsSection | None
    likelihood: LikelihoodSection | None
    provenance: ProvenanceSection
    dependencies: tuple[dict[str, Any], ...] | None
    """Of Poisson MRFs: rows as `pipeline.runs.topic_table.topic_rows` has them."""
    shapes: tuple[float, ...] | None
    """(K,) of Gamma-Poisson models: r_k, in the order of `topics`."""
    notes: tuple[str, ...] = ()
    """What is missing in this report, and why; a sentence each."""


@dataclass(frozen=True)
class ComparisonRow:
    """A model on the documents that all are compared on."""

    model: str
    perplexity: float
    perplexity_standard_error: float | None
    nats_per_word: float
    monte_carlo_standard_error: float | None
    difference: float | None
    """Nats a word above the best; None for the best."""
    low: float | None
    """95 % interval of the difference, paired by article."""
    high: float | None
    probability_worse: float | None
    scored_share: float = 1.0
    """Of the model's probability, that of the words which are scored: those all models know."""
    conditional_difference: float | None = None
    """Nats a word above the first row where each model is restricted to the words that are scored,
    negative for a better one; None for the first row, and where `scored_share` differs by little.
    """
    conditional_low: float | None = None
    """95 % interval of it, paired by article."""
    conditional_high: float | None = None


@dataclass(frozen=True)
class AlignedTopics:
    """A topic of the first model and the topic of the second that is matched with it."""

    first: int | None
    second: int | None
    """Numbers; None where a topic has no partner, as one model has more topics."""
    distance: float | None
    """Jensen-Shannon distance over common words, 0 to 1."""
    shared_words: tuple[str, ...]
    """Among the 20 most probable words of both."""


@dataclass(frozen=True)
class Alignment:
    """Topics of two models side by side."""

    first: str
    second: str
    pairs: tuple[AlignedTopics, ...]
    """The closest first, then those of either model without a partner."""
    mean_distance: float


@dataclass(frozen=True)
class ComparisonSection:
    """Several runs on the same documents."""

    method: str
    direction: Direction
    articles: int
    documents: int
    tokens: int
    rows: tuple[ComparisonRow, ...]
    """The best first."""
    reading: str
    alignments: tuple[Alignment, ...]
    """Of the first run with each of the others."""
    is_comparable: bool = True
    """If not, vocabularies decide which comes first, and no row is to be called the best."""


@dataclass(frozen=True, eq=False)
class Report:
    """All of a page."""

    title: str
    runs: tuple[RunReport, ...]
    comparison: ComparisonSection | None
