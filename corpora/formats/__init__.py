"""Bags of words in file formats of other tools: readers, writers, formats by file name."""

from corpora.formats.json_lines import read_json_lines, write_json_lines
from corpora.formats.ldac import read_ldac, write_ldac
from corpora.formats.mallet_doc_topics import DocTopics, read_doc_topics, write_doc_topics
from corpora.formats.mallet_state import MalletState
from corpora.formats.mallet_state_file import read_mallet_state, write_mallet_state
from corpora.formats.mallet_topic_keys import TopicKeys, read_topic_keys, write_topic_keys
from corpora.formats.matrix_market import read_matrix_market, write_matrix_market
from corpora.formats.registry import (
    FORMATS,
    Format,
    UnknownFormatError,
    check_target,
    format_of,
    losses,
    read_corpus,
    write_corpus,
)
from corpora.formats.scipy_npz import read_npz, write_npz
from corpora.formats.targets import NotReplaceableError, check_file_target
from corpora.formats.text_folder import read_text_folder, write_text_folder
from corpora.formats.uci import read_uci, write_uci
from corpora.formats.vocabulary_file import NUMBERS, read_vocabulary

__all__ = [
    "FORMATS",
    "NUMBERS",
    "DocTopics",
    "Format",
    "MalletState",
    "NotReplaceableError",
    "TopicKeys",
    "UnknownFormatError",
    "check_file_target",
    "check_target",
    "format_of",
    "losses",
    "read_corpus",
    "read_doc_topics",
    "read_json_lines",
    "read_ldac",
    "read_mallet_state",
    "read_matrix_market",
    "read_npz",
    "read_text_folder",
    "read_topic_keys",
    "read_uci",
    "read_vocabulary",
    "write_corpus",
    "write_doc_topics",
    "write_json_lines",
    "write_ldac",
    "write_mallet_state",
    "write_matrix_market",
    "write_npz",
    "write_text_folder",
    "write_topic_keys",
    "write_uci",
]
