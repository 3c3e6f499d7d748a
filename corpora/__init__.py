"""Articles → tokens → bags of words: stores, readers, the text stage, formats and splits."""

from corpora.articles.article import Article
from corpora.articles.export import export_articles
from corpora.articles.store import ArticleStore
from corpora.articles.writer import ArticleWriter
from corpora.corpus import Corpus, build_corpus
from corpora.errors import (
    CorpusFormatError,
    EmptyVocabularyError,
    MissingExtraError,
    MissingModelError,
    StoreLockedError,
    UnsuitableModelError,
    UnsupportedVersionError,
)
from corpora.lock import writer_lock
from corpora.split import Split, article_of, part_of, split
from corpora.tokens.bigrams import Bigrams
from corpora.tokens.block import TokenBlock
from corpora.tokens.settings import TextSettings
from corpora.tokens.spacy_stage import find_model, load_model, tokenize
from corpora.tokens.store import TokenStore
from corpora.vocabulary import Pruning

__all__ = [
    "Article",
    "ArticleStore",
    "ArticleWriter",
    "Bigrams",
    "Corpus",
    "CorpusFormatError",
    "EmptyVocabularyError",
    "MissingExtraError",
    "MissingModelError",
    "Pruning",
    "Split",
    "StoreLockedError",
    "TextSettings",
    "TokenBlock",
    "TokenStore",
    "UnsuitableModelError",
    "UnsupportedVersionError",
    "article_of",
    "build_corpus",
    "export_articles",
    "find_model",
    "load_model",
    "part_of",
    "split",
    "tokenize",
    "writer_lock",
]
