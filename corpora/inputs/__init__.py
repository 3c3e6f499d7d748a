"""Articles or counts from what people have: tables, folders of texts, files of counts."""

from corpora.inputs.find import Input, find_input
from corpora.inputs.rows import RowReader

__all__ = ["Input", "RowReader", "find_input"]
