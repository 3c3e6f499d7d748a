import datetime as dt
import json
import logging

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpora import CorpusFormatError, export_articles
from corpora.articles.store import ArticleStore
from corpora.inputs import find_input

WIKIPEDIA = {
    "id": ["12", "39"],
    "url": [f"https://en.wikipedia.org/wiki/{title}" for title in ("Anarchism", "Albedo")],
    "title": ["Anarchism", "Albedo"],
    "text": ["Anarchism is a philosophy.", "Albedo is a share."],
}


def write(path, columns, **options):
    pq.write_table(pa.table(columns), path, **options)
    return path


def test_the_layout_of_wikipedia(tmp_path):
    found = find_input(write(tmp_path / "train.parquet", WIKIPEDIA))
    assert (found.format, found.kind) == ("parquet", "texts")
    assert found.describe().endswith("train.parquet: Parquet, text in 'text', ids in 'id'")
    articles = list(found.articles())
    assert [a.page_id for a in articles] == [12, 39]
    assert [a.title for a in articles] == WIKIPEDIA["title"]
    assert [a.url for a in articles] == WIKIPEDIA["url"]
    assert [a.text for a in articles] == WIKIPEDIA["text"]
    assert {a.language for a in articles} == {"en"}
    assert all(a.columns == {} for a in articles)


def test_the_language_is_that_of_the_wikipedia_in_the_address(tmp_path):
    urls = ["https://de.wikipedia.org/wiki/A", "https://pt.wikipedia.org/wiki/B"]
    path = write(tmp_path / "x.parquet", WIKIPEDIA | {"url": urls})
    assert [a.language for a in find_input(path).articles()] == ["de", "pt"]
    assert [a.language for a in find_input(path, language="fr").articles()] == ["fr", "fr"]


PART = {"type": "paragraph", "value": "She was born in St. Louis."}
SECTIONS = [
    {"name": "Abstract", "type": "section", "has_parts": [{"type": "paragraph", "value": "All."}]},
    {"name": "Life", "type": "section", "has_parts": [PART, {"type": "list", "value": "no"}]},
    {"name": "References", "type": "section", "has_parts": [PART]},
]
STRUCTURED = {
    "name": "Josephine Baker",
    "identifier": 255083,
    "url": "https://en.wikipedia.org/wiki/Josephine_Baker",
    "abstract": "All, cut…",
    "date_modified": "2024-09-01T00:00:00Z",
    "version": {"identifier": 99},
    "in_language": {"identifier": "en"},
    "license": [{"name": "CC BY-SA 4.0"}],
    "infoboxes": [{"name": "Infobox", "has_parts": []}],
    "description": "dancer",
    "sections": SECTIONS,
    "main_entity": {"identifier": "Q151972", "url": "https://www.wikidata.org/wiki/Q151972"},
    "categories": [{"name": "Category:Dancers", "url": "…"}, {"name": "Category:1906 births"}],
    "templates": [{"name": "Template:Good article"}, {"name": "Template:Short description"}],
}


@pytest.mark.parametrize("is_json", [False, True], ids=["objects", "JSON in strings"])
@pytest.mark.parametrize("ending", ["parquet", "jsonl"])
def test_structured_snapshots(tmp_path, ending, is_json):
    row = {
        name: json.dumps(value) if is_json and isinstance(value, list | dict) else value
        for name, value in STRUCTURED.items()
    }
    path = tmp_path / f"enwiki.{ending}"
    if ending == "parquet":
        write(path, {name: [value] for name, value in row.items()})
    else:
        path.write_text(json.dumps(row) + "\n")
    (article,) = find_input(path).articles()
    assert article.text == "All.\n\n== Life ==\n\nShe was born in St. Louis."
    assert (article.page_id, article.title) == (255083, "Josephine Baker")
    assert (article.revision_id, article.license) == (99, "CC BY-SA 4.0")
    assert article.timestamp == "2024-09-01T00:00:00Z"
    assert article.language == "en"
    assert article.columns["description"] == "dancer"
    told = {name: article.columns[name] for name in ("categories", "wikidata", "quality")}
    assert told == {
        "categories": ("Dancers", "1906 births"),
        "wikidata": "Q151972",
        "quality": "good",
    }
    assert "main_entity" not in article.columns
    assert "templates" not in article.columns


def test_a_folder_of_files_in_the_order_of_their_names(tmp_path):
    for number in (10, 2, 1):
        rows = {"body": [f"text {number}-{i}" for i in range(3)], "k": [number] * 3}
        write(tmp_path / f"train-{number:02}.parquet", rows, row_group_size=2)
    found = find_input(tmp_path)
    assert "3 files of Parquet" in found.describe()
    articles = list(found.articles())
    assert [a.text for a in articles] == [f"text {n}-{i}" for n in (1, 2, 10) for i in range(3)]
    assert [a.page_id for a in articles] == list(range(1, 10))
    assert [a.columns for a in articles[:4]] == [{"k": 1}] * 3 + [{"k": 2}]


def test_values_of_all_kinds_come_along(tmp_path):
    columns = {
        "text": ["a text"],
        "when": pa.array([1_700_000_000_123_456_789], pa.timestamp("ns", "UTC")),
        "day": [dt.date(2020, 1, 2)],
        "share": [0.5],
        "none": pa.array([None], pa.int32()),
        "is_new": [True],
        "kind": pa.array(["red"]).dictionary_encode(),
        "tags": [["a", "b"]],
    }
    (article,) = find_input(write(tmp_path / "x.parquet", columns)).articles()
    assert article.columns == {
        "when": "2023-11-14T22:13:20.123456+00:00",
        "day": "2020-01-02",
        "share": 0.5,
        "none": None,
        "is_new": True,
        "kind": "red",
    }


def test_the_only_column_of_strings_is_the_text(tmp_path, caplog):
    caplog.set_level(logging.WARNING)
    columns = {"year": [1, 2, 3], "speech": ["My lords", " ", None]}
    (article,) = find_input(write(tmp_path / "x.parquet", columns)).articles()
    assert (article.text, article.columns) == ("My lords", {"year": 1})
    assert caplog.messages == [f"{tmp_path}/x.parquet: 2 rows are left out, the text is empty"]


@pytest.mark.parametrize(
    ("columns", "asked", "why"),
    [
        ({"id": [1, 1], "text": ["a", "b"]}, "", "row 2, column 'id': the id 1 is that of row 1"),
        ({"id": [1, None], "text": ["a", "b"]}, "", "row 2, column 'id': no id"),
        ({"text": [1.5, 2.5]}, "", "row 1, column 'text': expected a text, found the number 1.5"),
        ({"text": [float("nan")]}, "", "row 1, column 'text': expected a text, found NaN"),
        (
            {"text": [b"a"]},
            "",
            "row 1, column 'text': expected a text, found a value of type bytes",
        ),
        ({"a": ["x"], "b": ["y"]}, "", "which column is the text.*'a', 'b'"),
        ({"a": ["x"], "b": ["y"]}, "body", "no column 'body'; the columns are 'a', 'b'"),
    ],
)
def test_bad_rows_are_one_line_that_names_the_place(tmp_path, columns, asked, why):
    path = write(tmp_path / "bad.parquet", columns)
    with pytest.raises(CorpusFormatError, match=rf"bad\.parquet.*{why}") as caught:
        list(find_input(path, text_column=asked).articles())
    assert "\n" not in str(caught.value)


def test_bytes_that_are_not_utf_8_name_the_row(tmp_path):
    good, bad = pa.array([b"a", b"caf\xe9"]), ["1", "2"]
    text = pa.Array.from_buffers(pa.string(), 2, good.buffers())
    path = write(tmp_path / "bad.parquet", {"text": text, "k": bad})
    with pytest.raises(CorpusFormatError, match=r"bad\.parquet, row 2, column 'text': not UTF-8"):
        list(find_input(path).articles())


def test_every_truncation_is_one_line(tmp_path):
    data = write(tmp_path / "good.parquet", WIKIPEDIA).read_bytes()
    path = tmp_path / "bad.parquet"
    for size in [*range(0, len(data), 97), len(data) - 1]:
        path.write_bytes(data[:size])
        with pytest.raises(CorpusFormatError, match=r"bad\.parquet") as caught:
            list(find_input(path).articles())
        assert "\n" not in str(caught.value)


def test_a_damaged_part_is_one_line_after_the_articles_before(tmp_path):
    columns = {"text": [f"text {i} " + "x" * 50 for i in range(1000)]}
    path = write(tmp_path / "x.parquet", columns, row_group_size=500, use_dictionary=False)
    data = bytearray(path.read_bytes())
    place = pq.ParquetFile(path).metadata.row_group(1).column(0).data_page_offset
    data[place : place + 40] = b"\xff" * 40
    path.write_bytes(data)
    read = []
    with pytest.raises(CorpusFormatError, match=r"x\.parquet: .* cut short or damaged"):
        read.extend(find_input(path).articles())
    assert [article.page_id for article in read[:400]] == list(range(1, 401))


def test_a_second_file_without_the_column(tmp_path):
    write(tmp_path / "1.parquet", {"text": ["a"]})
    write(tmp_path / "2.parquet", {"body": ["a"]})
    with pytest.raises(CorpusFormatError, match=r"2\.parquet: there is no column 'text'"):
        find_input(tmp_path)


@pytest.mark.parametrize("ending", ["parquet", "jsonl"])
def test_an_export_of_a_store_comes_back(tmp_path, ending):
    columns = {"id": ["a7", "b8"], "text": ["One.", "Two."], "k": [1, None], "x": [0.5, 1.0]}
    articles = list(find_input(write(tmp_path / "x.parquet", columns)).articles())
    store = ArticleStore(tmp_path / "store")
    store.append(articles)
    export_articles(store, tmp_path / f"out.{ending}")
    assert list(find_input(tmp_path / f"out.{ending}").articles()) == articles
