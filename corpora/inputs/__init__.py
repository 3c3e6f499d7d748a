"""What people have, as articles or counts: tables, folders of texts, files of counts."""

from corpora.inputs.find import Input, find_input
from corpora.inputs.rows import RowReader

__all__ = ["Input", "RowReader", "find_input"]
