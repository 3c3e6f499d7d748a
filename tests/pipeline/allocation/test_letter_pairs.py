import string
from itertools import pairwise

import numpy as np
import pytest

from corpora import CorpusFormatError
from pipeline.allocation import letter_pairs as pairs_module
from pipeline.allocation.letter_pairs import LETTERS, count_pairs, letter_pairs, read_pairs
from tests.pipeline.support import inside
from tests.shared_data import shared_file


def pairs_lines(seed=0):
    counts = np.random.default_rng(seed).poisson(3.0, (26, 26))
    return [
        ("first," + ",".join(LETTERS)),
        *(f"{a},{','.join(map(str, row))}" for a, row in zip(LETTERS, counts, strict=True)),
    ]


def naive_pairs(text):
    counts = np.zeros((26, 26), dtype=np.int64)
    for a, b in pairwise(text):
        if a in string.ascii_letters and b in string.ascii_letters:
            counts[ord(a.upper()) - 65, ord(b.upper()) - 65] += 1
    return counts


def test_pairs_are_counted():
    texts = ["The end", "", "a", "Zürich, caf\u00e9s: e-mail ßx \u0131i", "aB\nbA @[`{ABzz"]
    found = count_pairs(texts)
    assert (found == sum(map(naive_pairs, texts))).all()
    assert found[0, 1] == 2  # aB, AB
    assert found[25, 25] == 1
    rng = np.random.default_rng(0)
    for _ in range(20):
        text = "".join(rng.choice(list(string.printable + "éß\u0130漢"), 200))
        assert (count_pairs([text]) == naive_pairs(text)).all()


def test_tables_of_pairs(tmp_path):
    path, lines = tmp_path / "p.csv", pairs_lines()
    path.write_text("\n".join(lines) + "\n")
    found = read_pairs(str(path))
    assert found[2].tolist() == [int(x) for x in lines[3].split(",")[1:]]
    assert letter_pairs(str(path), 1).source == "p.csv"
    order = np.random.default_rng(0).permutation(26)
    cells = [line.lower().split(",") for line in lines]
    shuffled = [[row[0], *(row[1 + i] for i in order)] for row in cells]
    path.write_text("\n".join(",".join(shuffled[i]) for i in [0, *(1 + order)]))
    assert (read_pairs(str(path)) == found).all()


def changed(line, text):
    lines = [*pairs_lines()]
    lines[line] = text
    return "\n".join(each for each in lines if each is not None)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "empty"),
        (changed(0, "first,A,B"), "line 1: expected a header"),
        (changed(0, "first," + ",".join("A" + LETTERS[:25])), "line 1: expected a header"),
        (changed(3, "C,1,2"), "line 4: expected a letter and 26 counts, found 3"),
        (changed(3, "B" + ",1" * 26), "line 4: expected a row for each"),
        (changed(3, "CC" + ",1" * 26), "line 4: expected a row for each"),
        (changed(3, "C,-1" + ",1" * 25), "line 4: expected whole numbers"),
        (changed(3, "C,1.5" + ",1" * 25), "line 4: expected whole numbers"),
        (changed(3, None), "no row for C"),
        (changed(3, "C,99999999999999999" + ",1" * 25), "from 1 to 2"),
        (
            "\n".join(["x," + ",".join(LETTERS), *(letter + ",0" * 26 for letter in LETTERS)]),
            "from 1 to 2",
        ),
    ],
)
def test_tables_of_pairs_that_cannot_be_read(text, complaint, tmp_path):
    path = tmp_path / "p.csv"
    path.write_text(text)
    with pytest.raises(CorpusFormatError, match=complaint):
        read_pairs(str(path))


@pytest.mark.shared
def test_the_real_pairs():
    counts = read_pairs(str(shared_file("letters/bigrams_26x26.csv")))
    assert counts.sum() == 2_819_662_855_499
    assert counts[LETTERS.index("A"), LETTERS.index("B")] == 6_479_202_253


@pytest.mark.slow
def test_the_sample_is_what_there_is_without_a_table(tiny_finished, monkeypatch):
    monkeypatch.setattr(pairs_module, "SAMPLE_STORE", "articles")
    filled = []
    monkeypatch.setattr(pairs_module, "download", lambda settings: filled.append(settings.output))
    with inside(tiny_finished):
        found = letter_pairs("", 1)
    assert (filled, found.source) == (["articles"], "sample")
    assert found.counts[LETTERS.index("T"), LETTERS.index("H")] > 100
