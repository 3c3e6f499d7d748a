import gzip
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import io, sparse

from corpora import Corpus, CorpusFormatError, formats
from corpora.formats import lines as lines_module
from tests.corpora.formats import made_up
from tests.shared_data import shared_file

BANNER = "%%MatrixMarket matrix coordinate integer general\n"
WORDS = ("ant", "bee", "cat", "doe")
CHANGES = [
    lambda text: text,
    lambda text: text.replace("\n", "\r\n"),
    lambda text: text.removesuffix("\n"),
    lambda text: text.replace("\n", "\r\n").removesuffix("\r\n"),
    lambda text: "\ufeff" + text,
    lambda text: text.replace(" ", " \t "),
    lambda text: text.replace("\n", " \n"),
]


class Form(NamedTuple):
    name: str
    read: Callable[..., Corpus]
    write: Callable[..., None]
    text: str


FORMS = {
    "uci": Form(
        *("docword.x.txt", formats.read_uci, formats.write_uci),
        "3\n4\n4\n1 1 2\n1 3 1\n3 2 3\n3 4 1\n",
    ),
    "mtx": Form(
        *("x.mtx", formats.read_matrix_market, formats.write_matrix_market),
        BANNER + "3 4 4\n1 1 2\n1 3 1\n3 2 3\n3 4 1\n",
    ),
    "ldac": Form("x.ldac", formats.read_ldac, formats.write_ldac, "2 0:2 2:1\n0\n2 1:3 3:1\n"),
}
ALL = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


def put(directory, name, content, words=WORDS):
    (directory / "vocab.txt").write_text("".join(f"{word}\n" for word in words), "utf-8")
    path = directory / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@ALL
@pytest.mark.parametrize("suffix", made_up.SUFFIXES)
@settings(max_examples=10)
@given(corpus=made_up.corpora())
def test_what_is_written_is_read_again(form, suffix, corpus):
    made_up.skip_without_zstd(suffix)
    with TemporaryDirectory() as directory:
        path = Path(directory, form.name + suffix)
        form.write(corpus, path)
        made_up.same(form.read(path), corpus)
        beside = "vocab.x.txt" if form.name.startswith("docword") else "x.vocab"
        assert made_up.only_file(path.parent) == " ".join(sorted([path.name, beside]))
        content = path.read_bytes()
        form.write(corpus, path)
        assert path.read_bytes() == content


@given(corpus=made_up.corpora())
def test_scipy_reads_what_is_written(corpus):
    with TemporaryDirectory() as directory:
        path = Path(directory, "x.mtx")
        formats.write_matrix_market(corpus, path)
        oracle = io.mmread(path)
        assert oracle.shape == corpus.counts.shape
        assert np.array_equal(oracle.toarray(), corpus.counts.toarray())


@given(corpus=made_up.corpora(), field=st.sampled_from(["integer", "real"]))
def test_what_scipy_writes_is_read(corpus, field):
    with TemporaryDirectory() as directory:
        path = put(Path(directory), "x.mtx", "", corpus.vocabulary)
        matrix = corpus.counts.astype(np.float64 if field == "real" else np.int64)
        io.mmwrite(path, matrix.tocoo(), comment="by\nscipy", field=field, symmetry="general")
        made_up.same(formats.read_matrix_market(path), corpus)


@ALL
def test_files_longer_than_a_block(form, tmp_path, monkeypatch):
    counts = np.random.default_rng(0).poisson(0.3, size=(500, 40))
    ids = tuple(str(d + 1) for d in range(500))
    corpus = Corpus(counts, tuple(f"w{w}" for w in range(40)), ids)
    form.write(corpus, tmp_path / form.name)
    monkeypatch.setattr(lines_module, "BLOCK", 100)
    made_up.same(form.read(tmp_path / form.name), corpus)


@ALL
@pytest.mark.parametrize("change", CHANGES)
def test_line_ends_and_spaces_do_not_matter(form, change, tmp_path):
    made_up.same(form.read(put(tmp_path, form.name, change(form.text))), made_up.small_corpus())


@pytest.mark.parametrize("form", ["uci", "mtx"])
def test_order_and_blank_lines_do_not_matter(form, tmp_path):
    name, read, _, text = FORMS[form]
    head, entries = text.split("1 1 2\n")
    lines = ["1 1 2", *entries.splitlines()]
    made_up.same(
        read(put(tmp_path, name, head + "\n\n".join(reversed(lines)) + "\n\n")),
        made_up.small_corpus(),
    )


def test_words_may_be_their_numbers(tmp_path):
    for form, first in (("uci", 1), ("mtx", 1), ("ldac", 0)):
        name, read, _, text = FORMS[form]
        path = tmp_path / name
        path.write_text(text)
        corpus = read(path, "numbers")
        assert corpus.vocabulary == tuple(str(first + w) for w in range(4))
        assert np.array_equal(corpus.counts.toarray(), made_up.small_corpus().counts.toarray())


@pytest.mark.parametrize(
    ("form", "text", "line"), [("uci", f"1\n{10**9}\n1\n1 1 1\n", 2), ("ldac", f"1 {10**9}:1\n", 1)]
)
def test_so_many_numbers_are_not_plausible(form, text, line, tmp_path):
    path = put(tmp_path, FORMS[form].name, text)
    made_up.refused(
        lambda: FORMS[form].read(path, "numbers"), f"line {line}: ", "words, which is not plau"
    )


def test_reals_that_are_whole(tmp_path):
    head = BANNER.replace("integer", "REAL") + "% a comment\n\n2 4 4\n"
    text = head + "1 1 2.0\n1 3 1e3\n2 2 +.3E1\n2 4 0.0\n"
    corpus = formats.read_matrix_market(put(tmp_path, "x.mtx", text))
    assert corpus.counts.toarray().tolist() == [[2, 0, 1000, 0], [0, 3, 0, 0]]
    assert corpus.counts.nnz == 3


BAD = [
    ("uci", "3\n4\n1\n1 1 0\n", 4, "count must be a whole number from 1 to 2147483647, found '0'"),
    ("uci", "3\n4\n1\n1 1 -1\n", 4, "found '-1'"),
    ("uci", "3\n4\n1\n1 1 2.0\n", 4, "found '2.0'"),
    ("uci", "3\n4\n1\n1 1 nan\n", 4, "found 'nan'"),
    ("uci", "3\n4\n1\n1 1 2147483648\n", 4, "found '2147483648'"),
    ("uci", f"3\n4\n1\n1 1 {10**30}\n", 4, "found '1000"),
    ("uci", "3\n4\n1\n1 1 ١\n", 4, "found '١'"),
    ("uci", "3\n4\n1\n0 1 1\n", 4, "document must be a whole number from 1 to 3, found '0'"),
    ("uci", "3\n4\n1\n4 1 1\n", 4, "document must be a whole number from 1 to 3, found '4'"),
    ("uci", "3\n4\n1\n1 0 1\n", 4, "word must be a whole number from 1 to 4, found '0'"),
    ("uci", "3\n4\n1\n1 5 1\n", 4, "word must be a whole number from 1 to 4, found '5'"),
    ("uci", "3\n4\n2\n1 1 1\n1 1\n", 5, "expected DOCUMENT WORD COUNT, found '1 1'"),
    ("uci", "3\n4\n2\n1 1 1\n1 2 1 1\n", 5, "expected DOCUMENT WORD COUNT"),
    ("uci", "3\n4\n2\n1 1 1 1 2 1\n", 4, "expected DOCUMENT WORD COUNT"),
    ("uci", "3\n4\n2\n1 1\n1 1 2 1\n", 4, "expected DOCUMENT WORD COUNT"),
    ("uci", "3\n4\n4\n1 1 1\n\n2 1 1\n1 2 1\n1 1 5\n", 8, "word 1 of document 1 appears a second"),
    ("uci", "3\n4\n2\n1 1 1\n", 3, "promises 2 entries, found 1"),
    ("uci", "3\n4\n1\n1 1 1\n1 2 1\n", 3, "promises 1 entries, found 2"),
    ("uci", f"3\n4\n{10**17}\n1 1 1\n", 3, f"promises {10**17} entries, found 1"),
    ("uci", f"{10**18}\n4\n1\n1 1 1\n", 1, "number of documents must be a whole number"),
    ("uci", f"{10**9}\n4\n1\n1 1 1\n", 1, "not plausible in a file of"),
    ("uci", "-3\n4\n1\n1 1 1\n", 1, "found '-3'"),
    ("uci", "3\n5\n1\n1 1 1\n", 2, "promises 5 words, but the vocabulary has 4"),
    ("uci", "3\n4 1\n1 1 1\n", 2, "number of words must be"),
    ("uci", "3\n4\n", 3, "expected the number of entries, found the end of the file"),
    ("uci", "", 1, "expected the number of documents, found the end of the file"),
    ("mtx", "3 4 1\n1 1 1\n", 1, "expected '%%MatrixMarket"),
    ("mtx", "", 1, "expected '%%MatrixMarket"),
    ("mtx", BANNER.replace("integer", "pattern") + "3 4 1\n1 1\n", 1, "found 'pattern'"),
    ("mtx", BANNER.replace("integer", "complex") + "3 4 1\n1 1 1 0\n", 1, "found 'complex'"),
    ("mtx", BANNER.replace("general", "symmetric") + "3 4 1\n1 1 1\n", 1, "symmetric"),
    ("mtx", BANNER.replace("coordinate", "array") + "3 4\n1\n", 1, "array"),
    ("mtx", BANNER + "% comment\n3 4\n1 1 1\n", 3, "expected ROWS COLUMNS ENTRIES, found '3 4'"),
    ("mtx", BANNER + "% comment\n", 2, "expected ROWS COLUMNS ENTRIES"),
    ("mtx", BANNER + f"%\n{10**18} 4 1\n1 1 1\n", 3, "number of rows must be a whole number"),
    ("mtx", BANNER + f"%\n{2**31 - 1} 4 1\n1 1 1\n", 3, "not plausible"),
    ("mtx", BANNER + "3 4 1\n1 1 1.0\n", 3, "found '1.0'"),
    ("mtx", BANNER + "3 4 1\n1 1 -1\n", 3, "found '-1'"),
    ("mtx", BANNER + "3 4 2\n1 1 1\n1 1 2\n", 4, "word 1 of document 1 appears a second"),
    ("mtx", BANNER + "3 4 2\n1 1 1\n% no\n", 4, "expected DOCUMENT WORD VALUE, found '% no'"),
    ("mtx", BANNER + "3 4 2\n1 1 1\n", 2, "promises 2 entries, found 1"),
    *(
        ("mtx", BANNER.replace("integer", "real") + f"3 4 1\n1 1 {value}\n", 3, "value must be")
        for value in ("1.5", "-1.0", "nan", "inf", "1e400", f"{2**31}.0", "1e", "0x1", "1_0", "1d0")
    ),
    ("mtx", BANNER.replace("integer", "real") + "3 4 1\n1.0 1 1\n", 3, "document must be"),
    ("ldac", "1 0:1\n\n1 1:1\n", 2, "found an empty line"),
    ("ldac", "1 0:1\n2 0:1\n", 2, "promises 2 different words, found 1"),
    ("ldac", "1 0:1\n1 0:1 1:1\n", 2, "promises 1 different words, found 2"),
    ("ldac", "1 0:1\n1 4:1\n", 2, "word must be a whole number from 0 to 3, found '4'"),
    ("ldac", "1 0:1\n1 -1:1\n", 2, "found '-1'"),
    ("ldac", "1 0:1\n1 1:0\n", 2, "count must be a whole number from 1"),
    ("ldac", "1 0:1\n1 1:2147483648\n", 2, "found '2147483648'"),
    ("ldac", "1 0:1\n1 1:nan\n", 2, "found 'nan'"),
    ("ldac", "1 0:1\n1 1 1\n", 2, "promises 1 different words, found 2"),
    ("ldac", "1 0:1\n1 1: 1\n", 2, "promises 1 different words, found 2"),
    ("ldac", "1 0:1\n1 1:1:1\n", 2, "expected WORD:COUNT, found '1:1:1'"),
    ("ldac", "1 0:1\n1:1:1\n", 2, "number of different words must be"),
    ("ldac", "1 0:1\n3 1:1 0:1 1:2\n", 2, "word 1 appears twice"),
    ("ldac", "x\n", 1, "number of different words must be"),
]


@pytest.mark.parametrize(("form", "text", "line", "message"), BAD)
def test_the_message_names_file_and_line(form, text, line, message, tmp_path):
    name, read, *_ = FORMS[form]
    path = put(tmp_path, name, text)
    made_up.refused(lambda: read(path), f"{path}, line {line}: ", message)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("block", [20, 1 << 18])
def test_an_error_deep_in_the_file(form, block, tmp_path, monkeypatch):
    monkeypatch.setattr(lines_module, "BLOCK", block)
    name, read, *_ = FORMS[form]
    if form == "ldac":
        text = "".join(f"1 {d % 4}:{d + 1}\n" for d in range(900)) + "1 1:x\n" + "1 0:1\n" * 9
        at = 901
    else:
        head = "910\n4\n910\n" if form == "uci" else BANNER + "%\n910 4 910\n"
        text = head + "".join(f"{d + 1} {d % 4 + 1} 1\n" for d in range(900)) + "901 1 x\n"
        at = 904
    path = put(tmp_path, name, text)
    with pytest.raises(CorpusFormatError, match=f"line {at}: .*'x'"):
        read(path)


@pytest.mark.parametrize("form", FORMS)
@given(data=st.binary(max_size=40))
def test_any_bytes_give_a_corpus_or_an_error_of_ours(form, data):
    name, read, _, text = FORMS[form]
    with TemporaryDirectory() as directory:
        for content in (data, text.encode() + data, data + text.encode()):
            try:
                corpus = read(put(Path(directory), name, content))
            except CorpusFormatError:
                continue
            assert corpus.counts.data.min(initial=1) >= 1


@ALL
def test_truncated_gzip_and_utf_16_are_named(form, tmp_path):
    data = gzip.compress(form.text.encode())
    for keep in (0.3, 0.9):
        path = put(tmp_path, f"{form.name}.gz", data[: int(len(data) * keep)])
        with pytest.raises(CorpusFormatError, match="too early"):
            form.read(path)
    with pytest.raises(CorpusFormatError, match="UTF-16"):
        form.read(put(tmp_path, form.name, form.text.encode("utf-16")))


@ALL
@pytest.mark.parametrize("word", ["", " ", "a\nb", "a\rb", "\ufeffa", "\ud800"])
def test_a_word_that_no_line_holds_is_named(form, word, tmp_path):
    corpus = Corpus(sparse.csr_array([[1, 2]]), ("fine", word), ("1",))
    made_up.refused(lambda: form.write(corpus, tmp_path / form.name), repr(word), form.name)
    assert not made_up.only_file(tmp_path)


@ALL
def test_a_failure_leaves_neither_file(form, tmp_path):
    form.write(made_up.small_corpus(), tmp_path / form.name)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    # Without counts, which are missed once the vocabulary is written.
    broken = made_up.small_corpus()
    object.__setattr__(broken, "counts", None)
    object.__setattr__(broken, "vocabulary", ("other",) * 4)
    with pytest.raises((AttributeError, TypeError)):
        form.write(broken, tmp_path / form.name)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_no_vocabulary_says_where_it_was_looked_for(tmp_path):
    (tmp_path / "docword.x.txt").write_text(FORMS["uci"].text)
    with pytest.raises(FileNotFoundError) as error:
        formats.read_uci(tmp_path / "docword.x.txt")
    made_up.says(error, "vocab.x.txt", "x.vocab", "numbers")


@pytest.mark.parametrize("name", ["vocab.x.txt", "x.vocab", "x.vocab.txt", "x_vocabulary.txt"])
def test_where_a_vocabulary_is_found(name, tmp_path):
    put(tmp_path, "x.ldac", FORMS["ldac"].text, ("wrong",))
    (tmp_path / name).write_text("\n".join(WORDS))
    assert formats.read_ldac(tmp_path / "x.ldac").vocabulary == WORDS


@pytest.mark.parametrize("name", ["docword.x.txt.gz", "x.mtx", "x.mtx.xz", "x.ldac", "docword.mtx"])
def test_the_vocabulary_that_was_written_is_read_whatever_else_is_there(name, tmp_path):
    others = [f"vocab.{stem}.txt" for stem in ("x", "docword")]
    others += [f"{stem}{end}" for stem in ("x", "docword") for end in (".vocab", ".vocab.txt")]
    for other in (*others, "x_vocabulary.txt", "vocab.txt", "vocabulary.txt"):
        (tmp_path / other).write_text("doe\ncat\nbee\nant\n")
    formats.write_corpus(made_up.small_corpus(), tmp_path / name, replace=True)
    made_up.same(formats.read_corpus(tmp_path / name), made_up.small_corpus())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"ant\nbee\nant\ndoe\n", "line 3: 'ant' is in line 1 already"),
        (b"ant\n\ncat\ndoe\n", "line 2: expected a word, found an empty line"),
        (b"ant\nb\xffe\ncat\ndoe\n", "line 2: not valid UTF-8 (byte 1 of the line)"),
        (b"ant\nbee\ncat\ndoe\n\n", "line 5: expected a word"),
    ],
)
def test_a_bad_vocabulary(content, message, tmp_path):
    path = put(tmp_path, "x.ldac", FORMS["ldac"].text)
    (tmp_path / "vocab.txt").write_bytes(content)
    made_up.refused(lambda: formats.read_ldac(path), str(tmp_path / "vocab.txt"), message)


def test_a_line_without_an_end_is_not_read_into_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(lines_module, "MAX_LINE_BYTES", 1 << 20)
    for form in FORMS.values():
        path = put(tmp_path, f"{form.name}.gz", gzip.compress(b"0" * (1 << 24)))
        with pytest.raises(CorpusFormatError, match="line 1: longer than"):
            form.read(path)


@pytest.mark.shared
def test_a_real_file():
    path = shared_file("kos/docword.kos.txt.gz")
    corpus = formats.read_uci(path, "numbers")
    assert (corpus.n_docs, corpus.n_words, corpus.counts.nnz) == (3430, 6906, 353160)
    oracle = np.loadtxt(path, skiprows=3, dtype=np.int64)
    expected = sparse.csr_array((oracle[:, 2], (oracle[:, 0] - 1, oracle[:, 1] - 1)))
    assert (corpus.counts != expected).nnz == 0
    assert corpus.n_tokens == oracle[:, 2].sum()
