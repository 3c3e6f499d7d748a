import bz2
import gzip
import json
import lzma
import os
import signal
import subprocess
import sys
import unicodedata
from dataclasses import asdict, replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corpora import Article, ArticleStore, CorpusFormatError, MissingExtraError, export_articles
from corpora.articles import export as export_module
from corpora.articles.json_lines import columns_in, read_json_lines
from tests.corpora.articles.test_store import PROJECT, some, stored

ENDINGS = [".jsonl", ".jsonl.gz", ".jsonl.bz2", ".jsonl.xz", ".JSONL.GZ", ".parquet"]
ids = st.integers(-(2**63) + 1, 2**63 - 1)
strings = st.text().map(lambda text: unicodedata.normalize("NFC", text.replace("\r", "\n")))
texts = strings.filter(str.strip)
articles = st.builds(
    Article,
    page_id=ids,
    revision_id=ids,
    title=strings,
    url=strings,
    timestamp=strings,
    language=strings.filter(bool),
    license=strings,
    text=texts,
    columns=st.dictionaries(
        strings,
        st.one_of(
            *(strings, ids, st.floats(allow_nan=False), st.booleans(), st.none()),
            st.lists(strings, max_size=3).map(tuple),
        ),
        max_size=3,
    ),
)


def fields_of(article):
    return {name: value for name, value in asdict(article).items() if name != "columns" or value}


def read(path):
    if path.name.endswith(".parquet"):
        rows = pq.read_table(path).to_pylist()
        return [
            Article(
                **row | {"columns": columns_in({"columns": json.loads(row["columns"] or "{}")})}
            )
            if "columns" in row
            else Article(**row)
            for row in rows
        ]
    return list(read_json_lines(path, language="none"))


@pytest.mark.parametrize("ending", ENDINGS)
def test_all_articles_in_order(tmp_path, ending):
    store, path = stored(tmp_path), tmp_path / f"out{ending}"
    assert export_articles(store, path) == 7
    assert read(path) == some(0, 7)
    assert export_articles(store, str(path)) == 7, "over the former one"
    assert read(path) == some(0, 7)
    assert sorted(item.name for item in tmp_path.iterdir()) == [path.name, "store"]


@pytest.mark.parametrize(
    ("ending", "unpacked"),
    [
        *((".jsonl", bytes), (".jsonl.gz", gzip.decompress), (".jsonl.bz2", bz2.decompress)),
        (".jsonl.xz", lzma.decompress),
    ],
)
def test_lines_of_json(tmp_path, ending, unpacked):
    path = tmp_path / f"out{ending}"
    export_articles(stored(tmp_path), path)
    content = unpacked(path.read_bytes())
    assert content.endswith(b"}\n")
    assert [json.loads(line) for line in content.splitlines()] == list(map(fields_of, some(0, 7)))
    other = tmp_path / f"other{ending}"
    export_articles(ArticleStore(tmp_path / "store"), other)
    assert other.read_bytes() == path.read_bytes(), "no times, no names"


@pytest.mark.parametrize("ending", [".jsonl", ".jsonl.gz", ".parquet"])
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(some=st.lists(articles, max_size=4, unique_by=lambda a: (a.language, a.page_id)))
def test_any_articles_read_back_equal(tmp_path_factory, ending, some):
    folder = tmp_path_factory.mktemp("any")
    store = ArticleStore(folder / "store", 3)
    store.append(some)
    assert export_articles(store, folder / f"x{ending}") == len(some)
    assert read(folder / f"x{ending}") == some


@pytest.mark.parametrize("ending", [".jsonl", ".parquet"])
def test_half_a_surrogate_pair_becomes_a_question_mark(tmp_path, ending):
    store = ArticleStore(tmp_path / "store")
    store.append([replace(some(1, 2)[0], title="a\ud800b", text="\udfff"), *some(2, 3)])
    export_articles(store, tmp_path / f"x{ending}")
    first, second = read(tmp_path / f"x{ending}")
    assert (first.title, first.text) == ("a?b", "?")
    assert second == some(2, 3)[0]


def test_the_schema_is_the_same_for_any_store_and_names_the_licence(tmp_path):
    empty = ArticleStore(tmp_path / "empty")
    empty.append([])
    assert export_articles(empty, tmp_path / "empty.parquet") == 0
    export_articles(stored(tmp_path), tmp_path / "x.parquet")
    schemas = [pq.read_schema(tmp_path / f"{name}.parquet") for name in ("empty", "x")]
    assert schemas[0].equals(schemas[1])
    assert [(field.name, field.type, field.nullable) for field in schemas[0]] == [
        *(("page_id", pa.int64(), False), ("revision_id", pa.int64(), False)),
        *((name, pa.string(), False) for name in ("title", "url", "timestamp", "language")),
        *((name, pa.string(), False) for name in ("license", "text")),
    ]
    for schema in schemas:
        assert b"CC BY-SA" in schema.metadata[b"license_note"]
    assert b"https://en.wikipedia.org" in schemas[1].metadata[b"attribution"]
    assert pq.read_table(tmp_path / "empty.parquet").num_rows == 0


def test_row_groups_are_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(export_module, "ROWS", 4)
    monkeypatch.setattr(export_module, "CHARACTERS", 1000)
    store = ArticleStore(tmp_path / "store", 5)
    long = [replace(one, text="x" * 600) for one in some(10, 13)]
    store.append([*some(0, 10), *long])
    export_articles(store, tmp_path / "x.parquet")
    metadata = pq.ParquetFile(tmp_path / "x.parquet").metadata
    assert [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)] == [4, 4, 4, 1]
    assert read(tmp_path / "x.parquet") == [*some(0, 10), *long]


def test_without_pyarrow_it_says_what_to_install(tmp_path, monkeypatch):
    store = stored(tmp_path)
    for name in [name for name in sys.modules if name.split(".")[0] == "pyarrow"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [_NoPyarrow(), *sys.meta_path])
    with pytest.raises(MissingExtraError, match=r"pip install 'wikitopics\[parquet\]'"):
        export_articles(store, tmp_path / "x.parquet")
    assert [item.name for item in tmp_path.iterdir()] == ["store"]
    assert export_articles(store, tmp_path / "x.jsonl") == 7, "the others need it not"


class _NoPyarrow:
    def find_spec(self, name, *_):
        if name.split(".", maxsplit=1)[0] == "pyarrow":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


@pytest.mark.parametrize("name", ["x.csv", "x", "x.json", "x.jsonl.zst", "jsonl", "x.parquet.gz"])
def test_other_endings_are_refused(tmp_path, name):
    with pytest.raises(ValueError, match=r"must end in \.jsonl, .*\.jsonl\.xz or \.parquet"):
        export_articles(stored(tmp_path), tmp_path / name)
    assert [item.name for item in tmp_path.iterdir()] == ["store"]


@pytest.mark.parametrize("place", ["manifest.jsonl", "shards/x.jsonl", "../link/manifest.jsonl"])
def test_the_store_itself_is_never_written_over(tmp_path, place):
    store = stored(tmp_path)
    (tmp_path / "link").symlink_to(store.path)
    with pytest.raises(ValueError, match="inside the article store"):
        export_articles(store, store.path / place)
    store.verify()


@pytest.mark.parametrize("ending", ENDINGS)
def test_of_a_damaged_store_nothing_appears(tmp_path, ending):
    store, path = stored(tmp_path), tmp_path / f"x{ending}"
    path.write_text("the former one")
    shard = store.path / "shards" / "000003.pkl.gz"
    shard.write_bytes(shard.read_bytes()[:-1])
    with pytest.raises(CorpusFormatError, match=r"000003\.pkl\.gz: the shard is damaged"):
        export_articles(store, path)
    assert path.read_text() == "the former one"
    assert {item.name for item in tmp_path.iterdir()} == {path.name, "store"}


def test_paths_that_cannot_be_written(tmp_path):
    store = stored(tmp_path)
    (tmp_path / "x.jsonl").mkdir()
    with pytest.raises(IsADirectoryError, match=r"x\.jsonl"):
        export_articles(store, tmp_path / "x.jsonl")
    with pytest.raises(FileNotFoundError, match="nowhere"):
        export_articles(store, tmp_path / "nowhere" / "x.jsonl")
    with pytest.raises(CorpusFormatError, match="no article store"):
        export_articles(ArticleStore(tmp_path / "none"), tmp_path / "y.jsonl")
    assert {item.name for item in tmp_path.iterdir()} == {"store", "x.jsonl"}


@pytest.mark.parametrize(
    "ending",
    [
        ".jsonl",
        pytest.param(".jsonl.gz", marks=pytest.mark.slow),
        pytest.param(".parquet", marks=pytest.mark.slow),
    ],
)
def test_a_write_that_the_system_refuses(tmp_path, ending):
    code = """
import resource, sys
from corpora import ArticleStore, export_articles
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    export_articles(ArticleStore(sys.argv[1]), sys.argv[2])
except OSError as error:
    print(error)
"""
    store = ArticleStore(tmp_path / "store")
    store.append(replace(one, text=os.urandom(500).hex()) for one in some(0, 20))
    done = subprocess.run(
        [sys.executable, "-c", code, store.path, (tmp_path / f"x{ending}")],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "File too large" in done.stdout, done
    assert [item.name for item in tmp_path.iterdir()] == ["store"]


def test_killed_in_the_midst_nothing_appears_and_the_next_one_clears_up(tmp_path):
    code = """
import os, signal, sys
from corpora import ArticleStore, export_articles
class Killed(ArticleStore):
    def read_shard(self, entry):
        if entry.shard == "000003.pkl.gz":
            os.kill(os.getpid(), signal.SIGKILL)
        return super().read_shard(entry)
export_articles(Killed(sys.argv[1]), sys.argv[2])
"""
    store, path = stored(tmp_path), tmp_path / "x[1]*.jsonl"
    done = subprocess.run([sys.executable, "-c", code, store.path, path], cwd=PROJECT, check=False)
    assert done.returncode == -signal.SIGKILL
    assert not path.exists()
    assert len(list(tmp_path.glob(".*.partial"))) == 1
    other = tmp_path / ".y.jsonl.12345678.partial"
    other.touch()
    assert export_articles(store, path) == 7
    assert list(tmp_path.glob(".*.partial")) == [other]


def test_two_exports_at_once_leave_each_other_alone(tmp_path):
    class Meanwhile(ArticleStore):
        def read_shard(self, entry):
            if entry.shard == "000002.pkl.gz":
                assert export_articles(ArticleStore(self.path), path) == 7
            return super().read_shard(entry)

    path = tmp_path / "x.jsonl"
    assert export_articles(Meanwhile(stored(tmp_path).path), path) == 7
    assert read(path) == some(0, 7)
