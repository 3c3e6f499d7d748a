"""Weights of topics in documents, in the forms of other programs."""

import numpy as np
import pytest

from corpora.errors import CorpusFormatError
from models.described.document_shares import only_number_rows, read_document_shares

SHARES = np.array([[0.75, 0.25], [0.5, 0.5], [0.0, 1.0]])

WITH_IDS = {
    "a row a document": "id,topic_0,topic_1\na,.75,.25\nb,.5,.5\nc,0,1\n",
    "other columns": "id,title,tokens,topic_0,topic_1\na,A,9,.75,.25\nb,B,8,.5,.5\nc,C,1,0,1\n",
    "R": '"","V1","V2"\n"a",0.75,0.25\n"b",.5,.5\n"c",0,1\n',
    "R without a corner": '"V1" "V2"\n"a" 0.75 0.25\n"b" .5 .5\n"c" 0 1\n',
    "tidytext": "document,topic,gamma\na,1,.75\nb,1,.5\na,2,.25\nb,2,.5\nc,2,1\n",
    "MALLET": "0\ta\t0.75\t0.25\n1\tb\t0.5\t0.5\n2\tc\t0\t1\n",
    "MALLET's pairs": "#doc source topic proportion ...\n0 a 0 0.75 1 .25\n1 b 1 0.5 0 .5\n"
    "2 c 1 1.0\n",
}


@pytest.mark.parametrize("text", WITH_IDS.values(), ids=WITH_IDS.keys())
def test_shares_with_ids(tmp_path, text):
    path = tmp_path / "shares.csv"
    path.write_text(text)
    shares, ids = read_document_shares(path, 2)
    assert ids == ("a", "b", "c")
    assert shares == pytest.approx(SHARES)


@pytest.mark.parametrize(
    "text",
    [
        "doc\ttopic_0\ttopic_1\ndoc_0\t.75\t.25\ndoc_1\t.5\t.5\ndoc_2\t0\t1\n",
        "topic_0,topic_1\n.75,.25\n.5,.5\n0,1\n",
        ",topic_0,topic_1\n0,.75,.25\n1,.5,.5\n2,0,1\n",
        ".75 .25\n.5 .5\n0 1\n",
    ],
)
def test_ids_may_only_number_rows(tmp_path, text):
    path = tmp_path / "shares.csv"
    path.write_text(text)
    shares, ids = read_document_shares(path, 2)
    assert ids is None or only_number_rows(ids)
    assert shares == pytest.approx(SHARES)


def test_a_document_that_is_there_twice_is_named(tmp_path):
    path = tmp_path / "shares.csv"
    path.write_text("id,topic_0,topic_1\nx,.75,.25\ny,.5,.5\nx,0,1\n")
    with pytest.raises(CorpusFormatError, match="document 'x' is there twice"):
        read_document_shares(path, 2)


def test_clusters_are_shares_of_one_and_outliers_of_nothing(tmp_path):
    path = tmp_path / "info.csv"
    path.write_text("id,Topic,Probability\na,1,.3\nb,-1,0\nc,0,.9\n")
    shares, ids = read_document_shares(path, 2)
    assert ids == ("a", "b", "c")
    assert shares.tolist() == [[0, 1], [0, 0], [1, 0]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,topic_0\na,.5\n", "expected the weights of 2 topics, a column each, found 1"),
        ("id,topic_0,topic_1\na,.5\n", "line 2: expected 3 fields as in the first line, found 2"),
        ("id,topic_0,topic_1\na,.5,much\n", "line 2: expected finite weights, found 'much'"),
        ("id,topic_0,topic_1\n", "expected rows of documents, found none"),
        ("document,topic,gamma\na,0,.5\na,7,.5\n", "line 3: expected a topic of the 2, found '7'"),
        ("document,topic,gamma\na,0,x\n", "line 2: expected a weight, found 'x'"),
    ],
)
def test_errors_name_file_and_line(tmp_path, text, message):
    path = tmp_path / "shares.csv"
    path.write_text(text)
    with pytest.raises(CorpusFormatError) as caught:
        read_document_shares(path, 2)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)
