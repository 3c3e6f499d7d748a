import json

import pytest

from corpora import CorpusFormatError
from downloader.mediawiki_api import MediaWikiApi
from downloader.titles import Titles
from tests.downloader.impatient_client import PATIENT
from tests.downloader.made_up_answers import gathered, nothing
from tests.downloader.synthetic_wiki import Scripted, SyntheticWiki, serving

CLIENT = PATIENT


def titles_source(client, url, path):
    return Titles(MediaWikiApi(client, url), path, batch_size=4)


def numbers(batches):
    return [article.page_id for article in gathered(batches)[0]]


def test_blank_lines_comments_and_line_ends(client, made_up, tmp_path):
    path = tmp_path / "titles"
    lines = ["\ufeffPage 1", "", "# Page 2", "#Page 3", "  Page 4\t", "   ", "Page 5\r", "Page 6"]
    path.write_text("\n".join(lines))
    source = titles_source(client, made_up[2], path)
    assert source.total() == 4
    assert numbers(source.batches(None, nothing)) == [1, 4, 5, 6]


@pytest.mark.parametrize("content", ["", "\n\n# nothing\n"])
def test_a_file_without_titles(client, made_up, tmp_path, content):
    path = tmp_path / "titles"
    path.write_text(content)
    source = titles_source(client, made_up[2], path)
    assert source.total() == 0
    assert not list(source.batches(None, nothing))
    assert not made_up[1].asked


def test_a_file_that_grew_goes_on_and_one_that_changed_starts_anew(client, made_up, tmp_path):
    path = tmp_path / "titles"
    source = titles_source(client, made_up[2], path)
    path.write_text("".join(f"Page {number}\n" for number in range(1, 11)))
    cursor = gathered(source.batches(None, nothing))[2][-1].cursor
    assert not list(source.batches(cursor, nothing))
    with path.open("a") as file:
        file.write("Page 11\nPage 12")
    _, _, batches = gathered(source.batches(cursor, nothing))
    assert numbers(iter(batches)) == [11, 12]
    cursor = batches[-1].cursor
    with path.open("a") as file:
        file.write("3\n")  # the last line was not whole: it is another title now
    assert numbers(source.batches(cursor, nothing)) == [*range(1, 12), 123]
    path.write_text("Page 3\n")
    assert numbers(source.batches(cursor, nothing)) == [3]


@pytest.mark.parametrize(
    ("line", "fault"), [(b"Caf\xe9", "UTF-8"), (b"x" * 2000, "longer"), (b"\xff\xfeP\0", "UTF-8")]
)
def test_a_file_of_something_else(client, made_up, tmp_path, line, fault):
    path = tmp_path / "titles"
    path.write_bytes(b"Page 1\n\n" + line + b"\nPage 2\n")
    source = titles_source(client, made_up[2], path)
    with pytest.raises(CorpusFormatError, match=f"titles, line 3: .*{fault}"):
        source.total()
    with pytest.raises(CorpusFormatError, match="line 3"):
        list(source.batches(None, nothing))


def test_a_file_that_is_missing(client, tmp_path):
    with pytest.raises(FileNotFoundError):
        titles_source(client, "http://a/api.php", tmp_path / "none").total()


def test_a_file_that_is_one_endless_line_is_not_read_whole(client, tmp_path):
    path = tmp_path / "titles"
    with path.open("wb") as file:
        file.truncate(2**36)  # a hole: takes no room on disk, but would in memory
    with pytest.raises(CorpusFormatError, match="line 1"):
        titles_source(client, "http://a/api.php", path).total()


def test_addresses_stay_short_enough_for_servers(client, made_up, tmp_path):
    path = tmp_path / "titles"
    path.write_text("".join(f"{'題' * 80} {number}\n" for number in range(1, 60)))
    assert len(numbers(Titles(MediaWikiApi(client, made_up[2]), path).batches(None, nothing))) == 59
    asked = [ask["titles"] for ask in made_up[1].asked if "titles" in ask]
    assert sum(titles.count("|") + 1 for titles in asked) >= 59
    assert max(len(titles.encode()) * 3 for titles in asked) < 7000


def test_titles_that_cannot_even_be_asked_for(client, made_up, tmp_path):
    path = tmp_path / "titles"
    path.write_text("Page 1|Page 2\nPage 3\nPage\x0b4\nPa\x1fge 5\n\x1b]0;title\x07\n")
    articles, skipped, _ = gathered(titles_source(client, made_up[2], path).batches(None, nothing))
    assert [article.page_id for article in articles] == [3]
    assert skipped["invalid"] == ["Page 1|Page 2", "Page 4", "Pa ge 5", "]0;title"]
    assert not any("|" in ask.get("titles", "") for ask in made_up[1].asked)


def test_an_answer_without_the_titles_asked_for(client, made_up, tmp_path):
    wiki = SyntheticWiki(9)

    def answer(asked):
        said = json.loads(wiki.answer(asked))
        if "titles" in asked:
            said["query"]["pages"] = [
                entry for entry in said["query"]["pages"] if entry["pageid"] != 2
            ]
            for entry in said["query"]["pages"]:
                if entry["pageid"] == 3:
                    entry["title"] = "As the wiki has it"
        return said

    path = tmp_path / "titles"
    path.write_text("Page 1\nPage 2\nPage 3\n")
    with serving(Scripted(answer)) as url:
        articles, skipped, _ = gathered(titles_source(client, url, path).batches(None, nothing))
    assert [article.title for article in articles] == ["Page 1", "As the wiki has it"]
    assert skipped == {"missing": ["Page 2"]}
