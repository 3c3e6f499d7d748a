import copyreg
import gzip
import io
import os
import pickle
import struct
import zlib
from dataclasses import asdict, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora import Article, CorpusFormatError, UnsupportedVersionError
from corpora.articles import shard
from corpora.articles.shard import check_article, has_columns, pack_shard, read_articles, read_keys

ids = st.integers(-(2**63), 2**63 - 1)
strings = st.text(st.characters(exclude_categories=()))  # lone surrogates too
values = st.one_of(strings, ids, st.floats(allow_nan=False), st.booleans(), st.none())
columns = st.dictionaries(strings, values, max_size=4)
articles = st.builds(Article, ids, ids, *[strings] * 6, columns)

EXAMPLE = Article(12, 345, "Anarchism", "https://x/?oldid=345", "2020-01-01", "en", "CC", "A text.")
RECORD = {name: value for name, value in asdict(EXAMPLE).items() if name != "columns"}
HEADER = {"format": "wikitopics articles", "version": 1, "keys": [("en", 12)]}


def shard_of(*values):
    """A shard as anyone could make it: bytes are taken as they are, other values pickled."""
    return gzip.compress(b"".join(v if isinstance(v, bytes) else pickle.dumps(v) for v in values))


def read(data):
    return list(read_articles(data, "000007.pkl.gz"))


@given(st.lists(articles, max_size=5))
def test_any_articles_come_back_as_they_were(some):
    data = pack_shard(some)
    assert read(data) == some
    assert read_keys(data) == [(article.language, article.page_id) for article in some]


def test_text_over_the_size_of_a_pickle_frame():
    some = [replace(EXAMPLE, text="é" * 200_000), replace(EXAMPLE, page_id=13, text="x" * 65536)]
    assert read(pack_shard(some)) == some


@given(st.lists(articles, max_size=3))
def test_equal_articles_give_equal_bytes(some):
    assert pack_shard([pickle.loads(pickle.dumps(article)) for article in some]) == pack_shard(some)


def test_shared_and_separate_strings_give_equal_bytes():
    long = "same words " * 3
    separate = "".join(list(long))
    assert separate is not long
    assert pack_shard([replace(EXAMPLE, title=long, text=long)]) == pack_shard(
        [replace(EXAMPLE, title=long, text=separate)]
    )


def test_it_is_gzip_of_protocol_5_pickles_of_plain_values():
    data = pack_shard([EXAMPLE])
    assert data[4:8] == bytes(4), "no time of writing"
    content = gzip.decompress(data)
    assert pickle.loads(content) == HEADER
    rest = content[content.index(b".", content.index(b"keys")) + 1 :]
    assert rest[:2] == b"\x80\x05"
    assert pickle.loads(rest) == RECORD
    assert read(shard_of(HEADER, RECORD)) == [EXAMPLE]


def test_keys_need_the_beginning_only_and_articles_are_lazy():
    noise = "".join(chr(0x4E00 + byte) for byte in os.urandom(300_000))
    some = [replace(EXAMPLE, page_id=i, text=noise) for i in range(3)]
    data = pack_shard(some)
    assert read_keys(data[: len(data) // 10]) == [("en", 0), ("en", 1), ("en", 2)]
    lazy = read_articles(data[: len(data) // 2], "half")
    assert next(lazy) == some[0]
    with pytest.raises(CorpusFormatError, match="half"):
        list(lazy)


def test_every_truncation_is_reported():
    data = pack_shard([EXAMPLE, replace(EXAMPLE, page_id=13)])
    for size in range(len(data)):
        with pytest.raises(CorpusFormatError, match=r"000007\.pkl\.gz"):
            read(data[:size])


def test_a_flipped_byte_never_yields_other_articles_nor_another_error():
    """Some bits of gzip mean nothing (the time, for one); its CRC sees every change that does."""
    some = [EXAMPLE, replace(EXAMPLE, page_id=13)]
    data = pack_shard(some)
    for position in range(len(data)):
        for mask in (0x01, 0x20, 0xFF):
            damaged = bytearray(data)
            damaged[position] ^= mask
            try:
                found = read(bytes(damaged))
            except CorpusFormatError:
                continue
            assert found == some


@pytest.mark.parametrize(
    "junk",
    # With a time of their own the members would name other tests in each process that runs them.
    [
        *(b"\0", b"\0\0\0\0\0", b"junk", b"\x1f\x8b"),
        *(gzip.compress(b"", mtime=0), gzip.compress(b"more", mtime=0)),
    ],
)
def test_something_behind_the_stream_is_reported(junk):
    with pytest.raises(CorpusFormatError, match=r"000007\.pkl\.gz"):
        read(pack_shard([EXAMPLE]) + junk)


@pytest.mark.parametrize(
    "values",
    [
        pytest.param((HEADER,), id="an article too few"),
        pytest.param((HEADER, RECORD, RECORD), id="an article too many"),
        pytest.param((HEADER, RECORD, b"\0"), id="a byte too many"),
        pytest.param((HEADER, RECORD | {"page_id": 1}), id="another article"),
        pytest.param((HEADER, RECORD | {"more": "x"}), id="a field too many"),
        pytest.param((HEADER, {"page_id": 12, "language": "en"}), id="missing fields"),
        pytest.param((HEADER, RECORD | {"page_id": "12"}), id="str for int"),
        pytest.param((HEADER, RECORD | {"title": 12}), id="int for str"),
        pytest.param((HEADER, RECORD | {"title": None}), id="None"),
        pytest.param((HEADER, RECORD | {"revision_id": True}), id="bool for int"),
        pytest.param((HEADER, RECORD | {"revision_id": 2**63}), id="65 bits"),
        pytest.param((HEADER, RECORD | {"revision_id": 1 << 9999}), id="10000 bits"),
        pytest.param((HEADER, RECORD | {"text": ["a"]}), id="list for str"),
        pytest.param((HEADER, RECORD | {"text": b"a"}), id="bytes for str"),
        pytest.param((HEADER, [RECORD]), id="no dict"),
        pytest.param((HEADER, RECORD | {"columns": {"a": 1}}), id="columns in version 1"),
        pytest.param((HEADER | {"version": 2}, RECORD | {"columns": [1]}), id="columns are a list"),
        pytest.param((HEADER | {"version": 2}, RECORD | {"columns": None}), id="no columns"),
        pytest.param((HEADER | {"version": 2}, RECORD | {"columns": {1: 1}}), id="column named 1"),
        pytest.param((HEADER | {"version": 2}, RECORD | {"columns": {"a": []}}), id="list in it"),
        pytest.param((HEADER | {"version": 3}, RECORD | {"columns": {"a": [1]}}), id="no texts"),
        pytest.param((HEADER | {"version": 2}, RECORD | {"columns": {"a": {}}}), id="dict in it"),
        pytest.param((HEADER | {"version": 2}, RECORD | {"columns": {"a": 2**63}}), id="65 bits"),
        pytest.param(({"format": "something else"},), id="another format"),
        pytest.param((["wikitopics articles"],), id="header is no dict"),
        pytest.param((HEADER | {"version": 0}, RECORD), id="version 0"),
        pytest.param((HEADER | {"version": "2"}, RECORD), id="version is no int"),
        pytest.param((HEADER | {"extra": 1}, RECORD), id="header has more"),
        pytest.param((HEADER | {"keys": "en"}, RECORD), id="keys are no list"),
        pytest.param((HEADER | {"keys": [["en", 12]]}, RECORD), id="keys are no pairs"),
        pytest.param((HEADER | {"keys": [("en", "12")]}, RECORD), id="key of strings"),
        pytest.param((), id="nothing"),
        pytest.param((b"\x80\x05.",), id="stop at once"),
        pytest.param((b"\x80\x06N.",), id="protocol 6"),
        pytest.param((b"\x80\x05}u.",), id="items without a mark"),
        pytest.param((b"\x80\x05}(}}u.",), id="unhashable key"),
        pytest.param((b"\x80\x05K\x01(K\x01e.",), id="append to an integer"),
        pytest.param((b"\x80\x05h\x05.",), id="missing memo entry"),
        pytest.param((b"\x80\x05\x8c\x01\xff.",), id="broken UTF-8"),
        pytest.param((b"\x80\x05X\x01\0",), id="length cut short"),
        pytest.param((b"\x80\x05X\x09\0\0\0end.",), id="string cut short"),
        pytest.param((b"\x80\x05\x95\x04\0\0\0\0\0\0\0N.",), id="frame cut short"),
        pytest.param((HEADER, b"\x80\x05Pid\n."), id="persistent id"),
        pytest.param((HEADER, b"\x80\x05K\x01Q."), id="binary persistent id"),
        pytest.param((HEADER, b"\x80\x05\x97."), id="out-of-band buffer"),
        pytest.param((HEADER, b"\x80\x05\x96" + b"\xff" * 7 + b"\x7f."), id="bytearray of 8 EiB"),
        pytest.param((HEADER, b"\x80\x05\x8d" + b"\xff" * 7 + b"\x7f."), id="string of 8 EiB"),
        pytest.param((HEADER, b"\x80\x05X\xff\xff\xff\xff."), id="string of 4 GiB"),
        pytest.param((HEADER, b"\x80\x05\x95" + b"\xff" * 7 + b"\x7f."), id="frame of 8 EiB"),
        pytest.param((HEADER, b"\x80\x05Nr\xff\xff\xff\xff."), id="memo index of 4 Gi"),
        pytest.param((HEADER, b"\x80\x05\x8b\xff\xff\xff\x7f."), id="integer of 2 GiB"),
    ],
)
def test_malformed_shards_and_tricks_of_the_stack_language_are_refused(values):
    with pytest.raises(CorpusFormatError, match=r"000007\.pkl\.gz"):
        read(shard_of(*values))


@pytest.mark.parametrize(
    "keys", ["en", ("en", 12), ["en"], [["en", 12]], [("en", "12")], [(12, "en")]]
)
def test_keys_that_are_no_keys_are_reported(keys):
    with pytest.raises(CorpusFormatError, match=r"000007\.pkl\.gz: the header's keys"):
        read_keys(shard_of(HEADER | {"keys": keys}), "000007.pkl.gz")


def test_a_newer_version_asks_for_an_upgrade():
    data = shard_of(HEADER | {"version": 4, "new": "things"})
    for reading in (read, read_keys):
        with pytest.raises(UnsupportedVersionError, match="newer wikitopics; upgrade"):
            reading(data)


class Command:
    def __init__(self, command):
        self.command = command

    def __reduce__(self):
        return os.system, (self.command,)


def hostile(command):
    """Pickles that run the command, by every road to a global."""
    for protocol in range(6):
        yield pickle.dumps(Command(command), protocol=protocol)
    string = struct.pack("<cI", b"X", len(command)) + command.encode()
    yield b"\x80\x02cos\nsystem\n(" + string + b"tR."  # GLOBAL
    yield b"\x80\x04\x8c\x02os\x8c\x06system\x93" + string + b"\x85R."  # STACK_GLOBAL
    yield b"\x80\x02(" + string + b"ios\nsystem\n."  # INST
    yield b"\x80\x02(cos\nsystem\n" + string + b"o."  # OBJ


@pytest.mark.parametrize("before", [(), (HEADER,)], ids=["as header", "as article"])
def test_hostile_shards_are_refused_and_never_run(tmp_path, before):
    ran = tmp_path / "ran"
    for attack in hostile(f"touch {ran}"):
        pickle.loads(attack)
        assert ran.exists(), "where it is not refused, the attack works"
        ran.unlink()
        with pytest.raises(CorpusFormatError, match=r"000007\.pkl\.gz.*refused"):
            read(shard_of(*before, attack))
        assert not ran.exists()


def test_an_attack_hidden_in_a_field_is_refused_and_never_run(tmp_path):
    ran = tmp_path / "ran"
    with pytest.raises(CorpusFormatError, match=r"refused, it asks for .*system"):
        read(shard_of(HEADER, RECORD | {"text": Command(f"touch {ran}")}))
    assert not ran.exists()


@pytest.mark.parametrize(
    ("attack", "asked"),
    [
        (b"\x80\x05cos\nsystem\n.", "os.system"),
        (b"\x80\x05\x8c\x02os\x8c\x06system\x93.", "os.system"),
        (b"\x80\x05(ios\nsystem\n.", "os.system"),
        (pickle.dumps(Article), "corpora.articles.article.Article"),
        (pickle.dumps(EXAMPLE), "Article"),
        (pickle.dumps(Command("true")), "system"),
    ],
)
def test_the_refused_global_is_named(attack, asked):
    with pytest.raises(CorpusFormatError, match=rf"000007\.pkl\.gz.*{asked}"):
        read(shard_of(HEADER, attack))


def test_registered_extension_codes_are_refused_even_when_cached():
    copyreg.add_extension("posix", "system", 240)
    try:
        attack = pickle.dumps(os.system, protocol=5)
        assert attack == b"\x80\x05\x82\xf0."
        assert pickle.loads(attack) is os.system  # and now it is in the cache
        for code in (b"\x82\xf0", b"\x83\xf0\0", b"\x84\xf0\0\0\0"):
            with pytest.raises(CorpusFormatError, match="refused"):
                read(shard_of(b"\x80\x05" + code + b"."))
    finally:
        copyreg.remove_extension("posix", "system", 240)
        copyreg._extension_cache.pop(240, None)


def test_a_few_bytes_that_unfold_into_gigabytes_are_refused():
    """Compressed twice over, so that making the bomb needs no memory either."""
    packer = zlib.compressobj(9, wbits=31)
    data = packer.compress(pickle.dumps(HEADER) + b"\x80\x05(")
    mebibyte = b"X" + (2**20).to_bytes(4, "little") + b"a" * 2**20
    data += b"".join(packer.compress(mebibyte) for _ in range(200)) + packer.flush()
    assert len(data) < 2**20
    with pytest.raises(CorpusFormatError, match="over 134217728 bytes"):
        read(data)


@pytest.mark.parametrize(
    ("field", "value"),
    [("title", None), ("page_id", "12"), ("page_id", True), ("revision_id", 2**63), ("text", b"x")],
)
def test_what_could_not_be_read_back_is_not_packed(field, value):
    article = replace(EXAMPLE, **{field: value})
    for storing in (check_article, lambda one: pack_shard([one])):
        with pytest.raises(ValueError, match=rf"cannot be stored: its {field}"):
            storing(article)


def test_a_string_of_another_class_is_not_packed():
    class Html(str):
        __slots__ = ()

    with pytest.raises(ValueError, match="type Html, expected str"):
        check_article(replace(EXAMPLE, text=Html("x")))


def test_the_longest_article_can_be_read_back(monkeypatch):
    assert 4 * shard.MAX_CHARACTERS < shard.MAX_PICKLE_BYTES
    monkeypatch.setattr(shard, "MAX_CHARACTERS", 2**12)
    monkeypatch.setattr(shard, "MAX_PICKLE_BYTES", 2**15)
    rest = sum(len(value) for value in RECORD.values() if isinstance(value, str))
    longest = replace(EXAMPLE, text="😀" * (2**12 - rest + len(EXAMPLE.text)))
    assert read(pack_shard([longest])) == [longest]
    with pytest.raises(ValueError, match="longer than 4096 characters"):
        check_article(replace(longest, text=longest.text + "."))


def test_articles_without_columns_are_the_bytes_of_version_1():
    content = gzip.decompress(pack_shard([EXAMPLE, replace(EXAMPLE, page_id=13)]))
    assert b"columns" not in content
    expected = io.BytesIO()
    for value in (HEADER | {"keys": [("en", 12), ("en", 13)]}, RECORD, RECORD | {"page_id": 13}):
        pickler = pickle.Pickler(expected, protocol=5)
        pickler.fast = True
        pickler.dump(value)
    assert content == expected.getvalue()


def test_columns_come_back_in_their_order_and_types_and_raise_the_version():
    given = {"z": "é", "a": 3, "share": 0.5, "is_new": True, "none": None, "far": -(2**63)}
    data = pack_shard([EXAMPLE, replace(EXAMPLE, page_id=13, columns=given)])
    assert pickle.loads(gzip.decompress(data))["version"] == 2
    first, second = read(data)
    assert first == EXAMPLE
    assert list(second.columns.items()) == list(given.items())
    assert list(map(type, second.columns.values())) == list(map(type, given.values()))
    assert has_columns(data)
    assert not has_columns(pack_shard([EXAMPLE]))


def test_columns_of_several_texts_are_lists_in_version_3():
    given = {"categories": ("B", "A"), "none": (), "length": 3}
    data = pack_shard([replace(EXAMPLE, columns=given), replace(EXAMPLE, page_id=13)])
    content = io.BytesIO(gzip.decompress(data))
    assert pickle.load(content)["version"] == 3
    assert pickle.load(content)["columns"] == {"categories": ["B", "A"], "none": [], "length": 3}
    assert [article.columns for article in read(data)] == [given, {}]
    assert has_columns(data)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"a": 2**63}, "column 'a' does not fit in 64 bits"),
        ({"a": ["b"]}, "column 'a' is of type list"),
        ({"a": ("b", 1)}, "column 'a' holds something else than up to 65536 texts"),
        ({"a": ("",) * (2**16 + 1)}, "column 'a' holds something else than up to 65536 texts"),
        ({"a": ("x" * 2**23, "y" * 2**23)}, "longer than 16777216 characters"),
        ({7: "a"}, "name of a column is of type int"),
        ([("a", 1)], "columns are of type list"),
        ({str(i): i for i in range(2**16 + 1)}, "more than 65536 columns"),
        ({"a": "x" * 2**24}, "longer than 16777216 characters"),
    ],
)
def test_columns_that_could_not_be_read_back_are_not_packed(given, why):
    with pytest.raises(CorpusFormatError, match=why):
        pack_shard([replace(EXAMPLE, columns=given)])
