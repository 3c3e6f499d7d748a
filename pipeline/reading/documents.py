"""Documents of a run whose excerpts readers see, with the shares of their topics."""

import logging
import re
from dataclasses import dataclass

import numpy as np

from corpora import Corpus, article_of
from corpora.errors import CorpusFormatError
from corpora.files import sha256_of
from corpora.row_blocks import tokens_of_documents
from corpora.tokens.surface import text_of
from evaluation.arrays import Floats
from evaluation.topics.reading.topic_intruders import MIN_SHARE, N_TOPICS
from pipeline.report.article_names import names_of
from pipeline.report.documents_section import MIN_WORDS, articles_of
from pipeline.runs.loaded_run import LoadedRun

logger = logging.getLogger(__name__)

EXCERPT = 700
"""Characters of an excerpt, at most: the beginning of the text, up to the end of a word."""
HEADING = re.compile(r"=+ .* =+")
LOOKED_AT = 20  # Documents whose topics are inferred for each one that is shown, at most


@dataclass(frozen=True, eq=False)
class ShownDocuments:
    """Documents with their excerpts."""

    ids: tuple[str, ...]
    titles: tuple[str, ...]
    excerpts: tuple[str, ...]
    sources: tuple[str, ...]  # Address of the revision, and licence
    shares: Floats  # (n_docs, K)


def shown_documents(
    run: LoadedRun, n: int, rng: np.random.Generator, turn: tuple[int, int], n_threads: int
) -> ShownDocuments:
    """Draw up to `n` documents with three topics of a noticeable share each, and with their text.
    Of an article one section at most is shown.

    Those of the test part come first, then those of the validation part, then the others. Of M
    models the one whose `turn` is (m, M) gets documents of its own, so that a reader sees none
    twice. There is none if the run learned from counts or its store is gone.
    """
    model, parts = run.model, run.parts
    found = [ShownDocuments((), (), (), (), np.zeros((0, model.topics.n_topics)))]
    if run.settings.counts or not run.store.exists or model.vocabulary != run.corpus.vocabulary:
        return found[0]
    for part in (parts.test, parts.validation, parts.train):
        missing = n - sum(len(each.ids) for each in found)
        if missing > 0 and part.n_tokens:
            found.append(_of_part(run, part, missing, rng, turn, n_threads))
    return ShownDocuments(
        tuple(doc_id for each in found for doc_id in each.ids),
        tuple(title for each in found for title in each.titles),
        tuple(text for each in found for text in each.excerpts),
        tuple(source for each in found for source in each.sources),
        np.concatenate([each.shares for each in found]),
    )


def _of_part(
    run: LoadedRun,
    part: Corpus,
    n: int,
    rng: np.random.Generator,
    turn: tuple[int, int],
    n_threads: int,
) -> ShownDocuments:
    long_enough = np.flatnonzero(tokens_of_documents(part.counts) >= MIN_WORDS)
    order = rng.permutation(long_enough)[: LOOKED_AT * n * turn[1]]
    own = [d for d in order.tolist() if _turn_of(part.doc_ids[d], turn[1]) == turn[0]]
    looked_at = part.rows(np.array(own[: LOOKED_AT * n], dtype=np.int64))
    shares = np.asarray(run.model.topics.proportions(looked_at.counts, n_jobs=n_threads))
    last = np.sort(shares, axis=1)[:, -N_TOPICS]
    chosen = np.flatnonzero(last >= MIN_SHARE).tolist()
    texts = _texts(run, [looked_at.doc_ids[d] for d in chosen])
    with_text = [d for d in chosen if looked_at.doc_ids[d] in texts]
    first_of = {article_of(looked_at.doc_ids[d]): d for d in reversed(with_text)}
    shown = sorted(first_of.values())[:n]
    ids = tuple(looked_at.doc_ids[d] for d in shown)
    named = names_of(run)(ids)
    return ShownDocuments(
        ids,
        tuple(named[doc_id].title for doc_id in ids),
        tuple(excerpt(texts[doc_id][0]) for doc_id in ids),
        tuple(", ".join(filter(None, (named[i].url, texts[i][1]))) for i in ids),
        shares[shown],
    )


def _turn_of(doc_id: str, n_models: int) -> int:
    """Return the model that may show a document: all documents of an article are of one."""
    return int(sha256_of(article_of(doc_id).encode())[:8], 16) % n_models


def excerpt(text: str) -> str:
    r"""Return the beginning of a text on one line, of at most `EXCERPT` characters and a mark.

    >>> excerpt("one  two\n three")
    'one two three'
    """
    lines = (line for line in text.splitlines() if not HEADING.fullmatch(line.strip()))
    line = " ".join("\n".join(lines).encode(errors="replace").decode().split())
    if len(line) <= EXCERPT:
        return line
    cut = line[: EXCERPT + 1].rpartition(" ")[0] or line[:EXCERPT]
    return f"{cut} …"


def _texts(run: LoadedRun, doc_ids: list[str]) -> dict[str, tuple[str, str]]:
    """Return text and licence of these documents that the store has, by id."""
    try:
        articles = articles_of(run.store, {article_of(doc_id) for doc_id in doc_ids})
    except CorpusFormatError as error:
        logger.warning("documents have no excerpts: %s", error)
        return {}
    found = {}
    for doc_id in doc_ids:
        article = articles.get(article_of(doc_id))
        text = None if article is None else text_of(article, doc_id)
        if article is not None and text is not None and text.strip():
            found[doc_id] = text, article.license
    return found
