import pytest

from corpora import Article, ArticleStore, CorpusFormatError, find_model
from corpora.tokens import model_choice
from corpora.tokens.model_choice import model_for_language, model_for_store


@pytest.fixture
def installed(tmp_path, monkeypatch):
    names = []
    monkeypatch.setattr(
        model_choice, "model_directory", lambda name: tmp_path if name in names else None
    )
    return names


@pytest.mark.parametrize("language", ["en", "simple", "und", ""])
def test_english_and_the_unknown_get_the_small_english_model(language, caplog):
    assert model_for_language(language) == find_model("")
    assert caplog.messages == []


def test_an_installed_model_is_taken_the_smallest_first(installed, caplog):
    installed.append("de_core_news_lg")
    assert model_for_language("de") == "de_core_news_lg"
    installed += ["de_core_news_md", "zh_core_web_sm", "nb_core_news_sm", "fr_dep_news_trf"]
    assert model_for_language("de") == "de_core_news_md"
    assert model_for_language("zh") == "zh_core_web_sm"
    assert model_for_language("no") == "nb_core_news_sm"
    assert caplog.messages == []
    assert model_for_language("fr") == "blank:fr"


@pytest.mark.parametrize(
    ("language", "model", "said"),
    [
        ("de", "blank:de", "run: python -m spacy download de_core_news_sm"),
        ("zh", "blank:zh", "run: python -m spacy download zh_core_web_sm"),
        ("no", "blank:nb", "run: python -m spacy download nb_core_news_sm"),
        ("hi", "blank:hi", "every word of letters that is no stop word is kept"),
        ("zh-min-nan", "blank:xx", "knows no stop words"),
        ("../de", "blank:xx", "knows no stop words"),
    ],
)
def test_without_a_model_a_blank_one_is_taken_and_it_is_said_once(
    language, model, said, installed, caplog
):
    assert model_for_language(language) == model
    (message,) = caplog.messages
    assert said in message
    assert ("spacy download" in message) == ("spacy download" in said)


def store_of(path, *languages):
    store = ArticleStore(path, shard_size=3)
    store.append(
        Article(n, 0, f"Title {n}", f"https://{language}.example.org/{n}", "", language, "", "x")
        for n, language in enumerate(languages)
    )
    return store


def test_the_language_is_that_of_the_articles(tmp_path, installed, caplog):
    installed.append("de_core_news_sm")
    assert model_for_store(store_of(tmp_path / "de", "de", "de")) == "de_core_news_sm"
    assert caplog.messages == []


def test_without_articles_there_is_nothing_to_tell_the_language(tmp_path):
    with pytest.raises(CorpusFormatError, match="none holds no articles yet"):
        model_for_store(store_of(tmp_path / "none"))


def test_of_several_languages_most_of_the_first_shard_decide(tmp_path, installed, caplog):
    installed.append("de_core_news_sm")
    store = store_of(tmp_path / "both", "en", "de", "de", "fr", "fr", "fr", "fr")
    assert model_for_store(store) == "de_core_news_sm"
    (message,) = caplog.messages
    assert "articles in de, en, fr" in message
    assert "read as de" in message
