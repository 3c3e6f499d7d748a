"""Articles → tokens → bags of words: stores, readers, the text stage, formats and splits."""

from typing import TYPE_CHECKING, Any

from corpora.articles.article import Article
from corpora.articles.export import export_articles
from corpora.articles.store import ArticleStore
from corpora.articles.writer import ArticleWriter
from corpora.corpus import Corpus, build_corpus, build_corpus_on_disk
from corpora.errors import (
    CorpusFormatError,
    EmptyVocabularyError,
    MissingExtraError,
    MissingModelError,
    StoreLockedError,
    UnsuitableModelError,
    UnsupportedPipelineError,
    UnsupportedVersionError,
)
from corpora.formats.registry import read_corpus, write_corpus
from corpora.lock import writer_lock
from corpora.split import Split, article_of, part_of, split
from corpora.tokens.annotate import annotate_articles
from corpora.tokens.annotated import AnnotatedArticles
from corpora.tokens.annotation import Annotation, Annotator
from corpora.tokens.annotators import load_annotator
from corpora.tokens.bigrams import Bigrams
from corpora.tokens.block import TokenBlock
from corpora.tokens.model_choice import model_for_language, model_for_store
from corpora.tokens.plain_annotator import PlainAnnotator
from corpora.tokens.selection import select
from corpora.tokens.settings import TextSettings
from corpora.tokens.spacy_model import find_model, load_model, stop_words_of
from corpora.tokens.store import TokenStore
from corpora.vocabulary import Pruning, learn_vocabulary

if TYPE_CHECKING:
    from corpora.lemma_vectorizer import LemmaVectorizer

__all__ = [
    "AnnotatedArticles",
    "Annotation",
    "Annotator",
    "Article",
    "ArticleStore",
    "ArticleWriter",
    "Bigrams",
    "Corpus",
    "CorpusFormatError",
    "EmptyVocabularyError",
    "LemmaVectorizer",
    "MissingExtraError",
    "MissingModelError",
    "PlainAnnotator",
    "Pruning",
    "Split",
    "StoreLockedError",
    "TextSettings",
    "TokenBlock",
    "TokenStore",
    "UnsuitableModelError",
    "UnsupportedPipelineError",
    "UnsupportedVersionError",
    "annotate_articles",
    "article_of",
    "build_corpus",
    "build_corpus_on_disk",
    "export_articles",
    "find_model",
    "learn_vocabulary",
    "load_annotator",
    "load_model",
    "model_for_language",
    "model_for_store",
    "part_of",
    "read_corpus",
    "select",
    "split",
    "stop_words_of",
    "write_corpus",
    "writer_lock",
]


def __getattr__(name: str) -> Any:
    """Import what needs scikit-learn when it is first asked for."""
    if name != "LemmaVectorizer":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from corpora.lemma_vectorizer import LemmaVectorizer  # noqa: PLC0415

    return globals().setdefault(name, LemmaVectorizer)
