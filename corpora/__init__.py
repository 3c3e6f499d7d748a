"""Articles → tokens → bags of words: stores, readers, the text stage, formats and splits."""

from corpora.articles.article import Article
from corpora.articles.store import ArticleStore
from corpora.corpus import Corpus, build_corpus
from corpora.errors import (
    CorpusFormatError,
    EmptyVocabularyError,
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
    "Bigrams",
    "Corpus",
    "CorpusFormatError",
    "EmptyVocabularyError",
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
    "find_model",
    "load_model",
    "part_of",
    "split",
    "tokenize",
    "writer_lock",
]
