"""Articles → tokens → bags of words: stores, readers, the text stage, formats and splits."""

from typing import TYPE_CHECKING

from corpora.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from corpora.articles.article import Article as Article
    from corpora.articles.export import export_articles as export_articles
    from corpora.articles.store import ArticleStore as ArticleStore
    from corpora.articles.writer import ArticleWriter as ArticleWriter
    from corpora.corpus import Corpus as Corpus
    from corpora.corpus import build_corpus as build_corpus
    from corpora.corpus import build_corpus_on_disk as build_corpus_on_disk
    from corpora.errors import CorpusFormatError as CorpusFormatError
    from corpora.errors import EmptyVocabularyError as EmptyVocabularyError
    from corpora.errors import MissingExtraError as MissingExtraError
    from corpora.errors import MissingModelError as MissingModelError
    from corpora.errors import StoreLockedError as StoreLockedError
    from corpora.errors import UnsuitableModelError as UnsuitableModelError
    from corpora.errors import UnsupportedPipelineError as UnsupportedPipelineError
    from corpora.errors import UnsupportedVersionError as UnsupportedVersionError
    from corpora.formats.registry import read_corpus as read_corpus
    from corpora.formats.registry import write_corpus as write_corpus
    from corpora.hash_split import Split as Split
    from corpora.hash_split import article_of as article_of
    from corpora.hash_split import part_of as part_of
    from corpora.hash_split import split as split
    from corpora.lemma_vectorizer import LemmaVectorizer as LemmaVectorizer
    from corpora.lock import writer_lock as writer_lock
    from corpora.tokens.annotate import annotate_articles as annotate_articles
    from corpora.tokens.annotated import AnnotatedArticles as AnnotatedArticles
    from corpora.tokens.annotation import Annotation as Annotation
    from corpora.tokens.annotation import Annotator as Annotator
    from corpora.tokens.annotators import load_annotator as load_annotator
    from corpora.tokens.bigrams import Bigrams as Bigrams
    from corpora.tokens.block import TokenBlock as TokenBlock
    from corpora.tokens.model_choice import model_for_language as model_for_language
    from corpora.tokens.model_choice import model_for_store as model_for_store
    from corpora.tokens.plain_annotator import PlainAnnotator as PlainAnnotator
    from corpora.tokens.selection import select as select
    from corpora.tokens.settings import TextSettings as TextSettings
    from corpora.tokens.spacy_model import find_model as find_model
    from corpora.tokens.spacy_model import load_model as load_model
    from corpora.tokens.spacy_model import stop_words_of as stop_words_of
    from corpora.tokens.store import TokenStore as TokenStore
    from corpora.vocabulary import Pruning as Pruning
    from corpora.vocabulary import learn_vocabulary as learn_vocabulary
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
