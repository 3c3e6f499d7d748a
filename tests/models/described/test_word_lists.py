"""Tables of topics in the forms that people write."""

import warnings
from pprint import pformat

import numpy as np
import pytest

from corpora.errors import CorpusFormatError
from models.described.printed_topics import terms_of
from models.described.word_lists import read_topic_table, words_of_cell

TOPICS = (("river", "lake", "sea"), ("piano", "violin", "term"))
WORDS = ["river", "lake", "sea", "piano", "violin", "term"]
WEIGHTS = np.array([[0.5, 0.3, 0.2, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.6, 0.3, 0.1]])


def written(tmp_path, text, name="topics.csv"):
    path = tmp_path / name
    path.write_text(text, "utf-8")
    return path


LISTS = {
    "a word a field": "river,lake,sea\npiano,violin,term\n",
    "with a header": "topic,word_1,word_2,word_3\n0,river,lake,sea\n1,piano,violin,term\n",
    "pandas": ",0,1,2\n0,river,lake,sea\n1,piano,violin,term\n",
    "R": '"","V1","V2","V3"\n"1","river","lake","sea"\n"2","piano","violin","term"\n',
    "named topics": "Topic 1;river;lake;sea\nTopic 2;piano;violin;term\n",
    "spaces": "river lake sea\n\npiano violin term\n",
    "tabs": "river\tlake\tsea\npiano\tviolin\tterm\n",
    "a column a topic": ",Topic 1,Topic 2\n1,river,piano\n2,lake,violin\n3,sea,term\n",
    "a field a topic": "topic,words\n0,river lake sea\n1,piano violin term\n",
    "commas in a field": 'topic,words\n0,"river, lake, sea"\n1,"piano, violin, term"\n',
    "get_topic_info": (
        "Topic,Count,Name,Representation,Representative_Docs\n"
        "-1,9,-1_of_the,\"['of', 'the']\",\"['a\nb']\"\n"
        "0,5,0_river_lake,\"['river', 'lake', 'sea']\",\"['c, d']\"\n"
        "1,4,1_piano,\"['piano', 'violin', 'term']\",\"['e']\"\n"
    ),
    "pairs": "Topic,Representation\n0,\"[('river', 0.5), ('lake', .3), ('sea', 0.2)]\"\n"
    "1,\"[('piano', 0.5), ('violin', .3), ('term', 0.2)]\"\n",
    "names of topics": "Topic,Name\n0,0_river_lake_sea\n1,1_piano_violin_term\n",
    "gensim": 'topic;words\n0;0.5*"river" + 0.3*"lake" + 0.2*"sea"\n'
    '1;0.5*"piano" + 0.3*"violin" + 1e-2*"term"\n',
    "gensim's lines": '0.5*"river" + 0.3*"lake" + 0.15*"sea"\n\n'
    '.5*"piano" + .3*"violin" + 1e-2*"term"\n',
    "gensim's pairs": '(0, \'0.500*"river" + 0.300*"lake" + 0.1*"sea"\')\n'
    '(1, \'0.500*"piano" + 0.300*"violin" + 0.1*"term"\')\n',
    "gensim's list": '[(0, \'0.500*"river" + 0.300*"lake" \'\n  \'+ 0.1*"sea"\'),\n'
    ' (1, \'0.500*"piano" + 0.300*"violin" + 0.1*"term"\')]\n',
    "gensim's log": 'topic #0 (0.1): 0.5*"river" + 0.3*"lake" + 0.1*"sea"\n'
    'topic #1 (0.1): 0.5*"piano" + 0.3*"violin" + 0.1*"term"\n',
    "of tutorials": 'Topic: 0 \nWords: 0.5*"river" + 0.3*"lake" + 0.1*"sea"\n'
    'Topic: 1 \nWords: 0.5*"piano" + 0.3*"violin" + 0.1*"term"\n',
    "gensim's LSI": '-0.5*"river" + 0.3*"lake" + -0.1*"sea"\n'
    '0.5*"piano" + 0.3*"violin" + 0.1*"term"\n',
    "MALLET's keys": "0\t0.5\triver lake sea \n1\t0.25\tpiano violin term \n",
    "top terms": "topic,term,beta\n1,lake,.3\n1,river,.5\n1,sea,.2\n"
    "2,piano,.6\n2,violin,.3\n2,term,.1\n",
}


@pytest.mark.parametrize("text", LISTS.values(), ids=LISTS.keys())
def test_lists_of_words(tmp_path, text):
    topics = read_topic_table(written(tmp_path, text))
    assert topics.words == TOPICS
    assert topics.topic_word is None


def rows(table, sep=","):
    return "".join(f"{sep.join(map(str, row))}\n" for row in table)


TABLES = {
    "gensim's sums of all words": "\n".join(
        " + ".join(f'{x:.3f}*"{w}"' for w, x in zip(WORDS, row, strict=True))
        for row in WEIGHTS.tolist()
    ),
    "a row a topic": rows([WORDS, *WEIGHTS.tolist()]),
    "text2vec": rows([["", *WORDS], *([k, *w] for k, w in enumerate(WEIGHTS.tolist(), 1))]),
    "R without a corner": rows([WORDS, *([k, *w] for k, w in enumerate(WEIGHTS.tolist(), 1))], " "),
    "a row a word": rows(
        [
            ["word", "topic_0", "topic_1"],
            *([w, *x] for w, x in zip(WORDS, WEIGHTS.T.tolist(), strict=True)),
        ]
    ),
    **{
        f"a row a word, columns from {first} on below {corner!r}": rows(
            [[corner, first, first + 1], *([w, *x] for w, x in zip(WORDS, WEIGHTS.T, strict=True))]
        )
        for corner, first in (("", 0), ("", 1), ("term", 1))
    },
    "a row a word, columns counted, without a corner": rows(
        [[1, 2], *([w, *x] for w, x in zip(WORDS, WEIGHTS.T, strict=True))], " "
    ),
    "a row a topic and word": rows(
        [
            ["topic", "word", "probability"],
            *([k, w, WEIGHTS[k, i]] for k in (0, 1) for i, w in enumerate(WORDS)),
        ],
        "\t",
    ),
}


@pytest.mark.parametrize("text", TABLES.values(), ids=TABLES.keys())
def test_tables_of_weights(tmp_path, text):
    topics = read_topic_table(written(tmp_path, text))
    assert list(topics.vocabulary) == WORDS
    assert topics.topic_word == pytest.approx(WEIGHTS)


def test_weights_without_words_take_those_of_a_vocabulary_and_logarithms_are_told(tmp_path):
    weights = np.random.default_rng(0).dirichlet(np.ones(6), 2)
    text = rows([[f"V{i}" for i in range(1, 7)], *np.log(weights).tolist()])
    topics = read_topic_table(written(tmp_path, text), WORDS)
    assert topics.topic_word == pytest.approx(weights)
    with pytest.raises(CorpusFormatError, match=r"topics.csv, line 1: 6 weights.*--vocabulary"):
        read_topic_table(tmp_path / "topics.csv")
    with pytest.raises(CorpusFormatError, match="2 words in the vocabulary"):
        read_topic_table(tmp_path / "topics.csv", ["a", "b"])


@pytest.mark.parametrize("numbers", [([], [], []), ([""], [0], [1])])
def test_columns_that_are_only_counted_take_the_words_of_a_vocabulary(tmp_path, numbers):
    lines = (range(6), *WEIGHTS.tolist())
    text = rows([[*number, *line] for number, line in zip(numbers, lines, strict=True)])
    topics = read_topic_table(written(tmp_path, text), WORDS)
    assert topics.topic_word == pytest.approx(WEIGHTS)


def test_counts_that_happen_to_be_consecutive_are_no_names(tmp_path):
    topics = read_topic_table(written(tmp_path, "0,1,2\n5,3,4\n"), WORDS[:3])
    assert topics.topic_word.tolist() == [[0, 1, 2], [5, 3, 4]]
    topics = read_topic_table(written(tmp_path, "river,0,1\nlake,3,4\n"))
    assert topics.topic_word.tolist() == [[0, 3], [1, 4]]


def test_negative_weights_stay(tmp_path):
    text = rows([WORDS, *(WEIGHTS - 0.2).tolist()])
    assert read_topic_table(written(tmp_path, text)).topic_word.min() == pytest.approx(-0.2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("topic,term,beta\n0,river,much\n", "line 2: expected a weight, found 'much'"),
        ("topic,term,beta\n0,river,.1\n0,river,.2\n", "line 3: topic 0 has 'river' twice"),
        ("topic,term,beta\n0,river\n0,river,.2\n", "line 2: expected 3 fields, found 2"),
        ("topic,words\n0,\n1,lake sea\n", "line 2: expected words, found ''"),
        ("a,b,c\n1,2,3\n1,2\n", "line 3: expected 3 numbers, found 2"),
        ("a,b,c\n1,2,3\n1,2,x\n", "line 3: expected a number, found 'x'"),
        ("a,b,c\n1,2,3\n1,2,nan\n", "line 3: expected finite numbers"),
        ("a,b,a\n1,2,3\n4,5,6\n", "twice"),
        ("river,lake,river\npiano,violin,term\n", "topic 0 has a word twice"),
        ('river,"lake\n', "line 1: unexpected end of data"),
        ('0.5*"lake" + 0.4*"lake"\n', "line 1: topic 0 has a word twice"),
        ("topic,words\n-1,of the\n", "expected rows of topics, found none"),
        ("0.5*a + 0.4*b\n0.05*water, 0.03*animal\n", 'line 2: expected "+" between the terms'),
        ("0.05*water 0.03*animal\n", "before '0.03*animal'"),
        ('0.05*"water", 0.03*"animal"\n', "before '0.03*\"animal\"'"),
    ],
)
def test_errors_name_file_and_line(tmp_path, text, message):
    with pytest.raises(CorpusFormatError) as caught:
        read_topic_table(written(tmp_path, text))
    assert message in str(caught.value)
    assert str(tmp_path / "topics.csv") in str(caught.value)


def test_sums_of_gensim_may_have_any_words():
    text = '0.5*"c++" + 2.5e-05*"a, b" + 0.1*"it\'s" + 0.1*bare'
    assert terms_of(text) == [("c++", 0.5), ("a, b", 2.5e-05), ("it's", 0.1), ("bare", 0.1)]
    assert terms_of(repr('0.5*"don\'t"')) == [("don't", 0.5)]
    assert terms_of("0.5*water, 0.3*fish") == [("water", 0.5), ("fish", 0.3)]  # a field is a topic
    assert terms_of("5*stars hotel") == terms_of("river, 0.5*x") == []


def test_topics_that_gensim_printed(tmp_path):
    corpus = [[(0, 3), (1, 2)], [(2, 3), (3, 2)], [(0, 1), (2, 2)]]
    words = dict(enumerate(("river", "c++", "piano", "a+b")))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from gensim.models import LdaModel

        model = LdaModel(corpus, 2, words, random_state=0)
    shown = model.show_topics(num_words=3, formatted=False)
    expected = tuple(tuple(word for word, _ in terms) for _, terms in shown)
    printed = model.print_topics(num_words=3)
    for text in (str(printed), pformat(printed, width=30), "\n".join(map(str, printed))):
        assert read_topic_table(written(tmp_path, text)).words == expected


@pytest.mark.parametrize(
    "text", ["(0, 0.5*a + 0.4*b), (1, 0.3*c + 0.2*d)", "0: 0.5*a + 0.4*b 1: 0.3*c + 0.2*d"]
)
def test_brackets_or_numbers_separate_sums_of_one_line(tmp_path, text):
    assert read_topic_table(written(tmp_path, text)).words == (("a", "b"), ("c", "d"))


def test_a_field_is_never_run():
    assert words_of_cell("[__import__('os').mkdir('executed')]")[0].startswith("[__import__")
