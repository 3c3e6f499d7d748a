import numpy as np

from evaluation import relevant_words
from pipeline.report import sections
from tests.pipeline.report import made_up_sections

SYLLABLES = (
    *("ba", "ce", "di", "fo", "gu", "la", "me", "ni", "ro", "su", "ta", "ve", "wi", "no", "pa"),
    *("re", "li", "mo", "tu", "sa", "ker", "lin", "dor", "mas", "ten"),
)
CONNECTING = (
    *("the", "of", "and", "in", "to", "a", "was", "is", "for", "as", "on", "by", "with", "that"),
    *("from", "at", "it", "his", "were", "which"),
)
N_WORDS = 30
"""Most relevant words that the page shows."""


def made_up_words(n, rng):
    """Different words of two to five syllables, alphabetical; some are pairs joined."""
    found = {}
    while len(found) < n:
        word = "".join(rng.choice(SYLLABLES, size=rng.integers(2, 6)))
        found[f"{word}_{rng.choice(SYLLABLES)}on" if rng.random() < 0.05 else word] = None
    return tuple(sorted(found))


def made_up_report(
    n_topics=12, n_words=2000, n_documents=6, n_runs=1, words_a_document=250, spoil=str
):
    """Report of `n_words` words; `spoil` changes every title, heading, address and word."""
    runs = tuple(
        _run(i, n_topics, n_words, n_documents, words_a_document, spoil) for i in range(n_runs)
    )
    return sections.Report(
        title=spoil("Topics of a made-up encyclopedia"),
        runs=runs,
        comparison=_comparison(runs) if n_runs > 1 else None,
        measures=made_up_sections.measures_section(tuple(run.name for run in runs))
        if n_runs > 1
        else None,
    )


def _run(i, n_topics, n_words, n_documents, words_a_document, spoil):
    rng = np.random.default_rng([10, i])
    vocabulary = made_up_words(n_words, rng)
    topic_word = rng.gamma(0.02, size=(n_topics, n_words)) + 1e-12
    topic_word /= topic_word.sum(axis=1, keepdims=True)
    prevalence = np.sort(rng.dirichlet(np.full(n_topics, 2.0)))[::-1]
    topics = _topics(topic_word, prevalence, vocabulary, spoil, rng)
    return sections.RunReport(
        name=f"run {i + 1}",
        family="gibbs",
        family_name="Latent Dirichlet allocation, collapsed Gibbs sampling",
        corpus=_corpus(n_words, spoil),
        training=made_up_sections.training_section(25, bound=True),
        topics=topics,
        documents=_documents(
            n_documents, words_a_document, topic_word, topics, vocabulary, spoil, rng
        ),
        likelihood=made_up_sections.likelihood_section(),
        provenance=_provenance(),
        dependencies=None,
        shapes=None,
        coherence=made_up_sections.coherence_section(n_topics),
        notes=("The variational bound is not known for this family.",) if i else (),
    )


def _topics(topic_word, prevalence, vocabulary, spoil, rng):
    n_topics, n_words = topic_word.shape
    word_share = prevalence @ topic_word
    candidates = relevant_words(topic_word, word_share, N_WORDS)
    shown = sorted(set(np.concatenate(candidates).tolist()))
    place_of = {w: i for i, w in enumerate(shown)}
    of_topic = prevalence[:, None] * topic_word / word_share
    largest = np.argsort(-of_topic, axis=0, kind="stable")[:3].T
    # Numbers differ from ranks, as they do in real runs.
    number, rows = rng.permutation(n_topics), []
    for k in range(n_topics):
        mean = np.log(topic_word[k]) - 0.4 * np.log(word_share)
        label = " ".join(vocabulary[w] for w in np.argsort(-mean)[:3])
        rows.append(
            sections.TopicRow(
                number=int(number[k]),
                prevalence=float(prevalence[k]),
                label=spoil(label),
                place=(float(rng.random()), float(rng.random())),
                words=tuple(place_of[w] for w in candidates[k].tolist()),
                probabilities=tuple(topic_word[k, candidates[k]].tolist()),
                typical=tuple(_typical(spoil, 0.95 - 0.04 * j, rng) for j in range(10)),
            )
        )
    return sections.TopicsSection(
        topics=tuple(rows),
        words=tuple(spoil(vocabulary[w]) for w in shown),
        word_share=tuple(word_share[shown].tolist()),
        searched=tuple(spoil(word) for word in vocabulary),
        topics_of_word=tuple(
            tuple(
                (int(number[k]), float(of_topic[k, w])) for k in largest[w] if of_topic[k, w] > 0.01
            )
            for w in range(n_words)
        ),
        n_not_searched=1234,
        map_share=0.231,
        clouds=tuple(
            made_up_sections.cloud_of([spoil(vocabulary[w]) for w in top], row[top])
            for row, top in zip(topic_word, np.argsort(-topic_word)[:, :40], strict=True)
        ),
    )


def _typical(spoil, share, rng):
    title = made_up_title(rng)
    return sections.TypicalArticle(spoil(title), spoil(_address(title, rng)), share)


def made_up_title(rng):
    return " ".join(word.title() for word in made_up_words(int(rng.integers(1, 4)), rng))


def _address(title, rng):
    revision = int(rng.integers(1e9))
    return f"https://en.wikipedia.org/w/index.php?title={title.replace(' ', '_')}&oldid={revision}"


def _documents(n_documents, n_words, topic_word, topics, vocabulary, spoil, rng):
    number = [topic.number for topic in topics.topics]
    prevalence, shown = np.array([topic.prevalence for topic in topics.topics]), []
    up_to = np.cumsum(topic_word, axis=1)
    for d in range(n_documents):
        theta = rng.dirichlet(12 * prevalence)
        topic_of, pieces = rng.choice(len(theta), size=n_words, p=theta), [""]
        for i, k in enumerate(topic_of):
            word = vocabulary[min(np.searchsorted(up_to[k], rng.random()), len(vocabulary) - 1)]
            between = " " + " ".join(rng.choice(CONNECTING, size=rng.integers(0, 3)))
            end = ".\n" if i % 60 == 59 else "." if i % 12 == 11 else ""
            pieces += [spoil(word), f"{end}{between.rstrip()} "]
        order, title = np.argsort(-theta, kind="stable"), made_up_title(rng)
        shown.append(
            sections.ShownDocument(
                title=spoil(title),
                url=spoil(_address(title, rng)),
                tokens=n_words,
                unknown=n_words // 20,
                topics=tuple((number[k], float(theta[k])) for k in order if theta[k] >= 0.01),
                pieces=tuple(pieces),
                word_topics=tuple(number[k] for k in topic_of),
                certainty=tuple(rng.beta(5, 1.5, size=n_words).tolist()),
                is_cut=d == 1,
                is_text=d != 2,
            )
        )
    return sections.DocumentsSection(documents=tuple(shown), of=40 * n_documents)


def _corpus(n_words, spoil):
    return sections.CorpusSection(
        store="articles-sample",
        unit="article",
        parts=(
            sections.PartRow("training", 20_000, 20_000, 4_321_098, 123_456),
            sections.PartRow("validation", 2_500, 2_500, 540_137, 17_201),
            sections.PartRow("test", 2_500, 2_500, 538_770, 16_985),
        ),
        words=n_words,
        words_before=9 * n_words,
        pruning=(
            sections.PruningRow("in fewer than 5 documents", 7 * n_words),
            sections.PruningRow(
                "in more than half of the documents", 14, (spoil("year"), spoil("time"))
            ),
        ),
        bigrams=n_words // 20,
    )


def _provenance():
    return sections.ProvenanceSection(
        entries=(("begun", "2026-11-22T11:51:30+00:00"), ("model, SHA-256", "5f" * 32)),
        settings=(("model", "gibbs"), ("topics", "12"), ("stop_words", '["a", "the"]')),
        sources=(("en", "en.wikipedia.org", "CC BY-SA 4.0"),),
    )


def _comparison(runs):
    names, n_topics = [run.name for run in runs], len(runs[0].topics.topics)
    aligned = [
        made_up_sections.alignment_of(n_topics - 1, i, name, names[0])
        for i, name in enumerate(names[1:])
    ]
    differences = {name: (0.04 * i, 0.011) if i else None for i, name in enumerate(names)}
    return made_up_sections.comparison_of(differences, tuple(aligned))
