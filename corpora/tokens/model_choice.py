"""Default spaCy model for the language of articles."""

import logging
from collections import Counter
from itertools import product
from typing import Final

from corpora.articles.store import ArticleStore
from corpora.errors import CorpusFormatError
from corpora.tokens.spacy_model import BLANK, find_model, is_language, model_directory

logger = logging.getLogger(__name__)

SPACY_CODES: Final = {"": "en", "und": "en", "simple": "en", "no": "nb"}
"""spaCy's codes of languages that articles call otherwise; the unknown is taken for English."""

GENRES: Final = ("news", "web")
SIZES: Final = ("sm", "md", "lg")
"""spaCy's own packages are called `de_core_news_sm`; they are looked for in this order."""

OFFERED_NEWS: Final = frozenset(
    (
        *("ca", "da", "de", "el", "es", "fi", "fr", "hr", "it", "ja", "ko", "lt", "mk"),
        *("nb", "nl", "pl", "pt", "ro", "ru", "sl", "sv", "uk"),
    )
)
OFFERED_WEB: Final = frozenset(("en", "zh"))
"""Languages of the packages that `python -m spacy download` has."""


def model_for_store(articles: ArticleStore) -> str:
    """The model for the language of most articles in the first shard of the store, which never
    changes. Other languages are logged as a warning. Raises CorpusFormatError if the store holds no
    articles, or is damaged; MissingModelError as `model_for_language` does.
    """
    entries = articles.entries
    if not entries:
        raise CorpusFormatError(
            f"{articles.path} holds no articles yet, so their language cannot tell the spaCy model"
        )
    numbers = Counter(article.language for article in articles.read_shard(entries[0]))
    language = max(sorted(numbers), key=numbers.__getitem__)
    others = {each for each, _ in articles.sites()}.union(numbers) - {language}
    if others:
        logger.warning(
            "the store holds articles in %s; all of them are read as %s, the language of most "
            "articles of its first shard; name another model to have it otherwise",
            ", ".join(sorted({language, *others})),
            language or "en",
        )
    return model_for_language(language)


def model_for_language(language: str) -> str:
    """An installed model for the language, the code of a Wikipedia such as `de` or `simple` (empty
    if not known), or the language's blank tokenizer with a warning. Raises MissingModelError if it
    is English, and the small English model is not installed.
    """
    code = SPACY_CODES.get(language, language)
    if code == "en":
        return find_model("")
    for size, genre in product(SIZES, GENRES):
        package = f"{code}_core_{genre}_{size}"
        if package.isidentifier() and model_directory(package):
            return package
    name = f"{BLANK}{code if is_language(code) else 'xx'}"
    hint = ""
    if code in OFFERED_NEWS | OFFERED_WEB:
        genre = "web" if code in OFFERED_WEB else "news"
        hint = f"; for lemmas run: python -m spacy download {code}_core_{genre}_sm"
    logger.warning("no spaCy model of language %s is installed: %s%s", code, meaning(name), hint)
    return name


def meaning(blank: str) -> str:
    """Return the meaning of `blank:CODE`, in a sentence."""
    without = "" if blank != f"{BLANK}xx" else ", and knows no stop words"
    return (
        f"{blank} gives neither lemmas nor parts of speech{without}, so every word of letters "
        "that is no stop word is kept, in lower case"
    )
