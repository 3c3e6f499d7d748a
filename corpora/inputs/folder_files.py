"""Files of a folder of texts or tables, without the runs and stores that commands write there."""

from collections.abc import Collection, Iterator
from pathlib import Path

from corpora.formats.text_folder import file_names

RUN = {"provenance.json", "settings.toml"}
STORE = {"manifest.jsonl", "shards"}
"""Names in a run, and in a store of articles."""


def input_names(folder: Path) -> Iterator[str]:
    """Yield paths of the files of a folder and its subfolders, relative to it, as `file_names`."""
    return file_names(folder, _is_ours)


def is_run(folder: Path) -> bool:
    """Whether a folder is a run."""
    return all((folder / name).is_file() for name in RUN)


def _is_ours(names: Collection[str]) -> bool:
    return any(ours <= set(names) for ours in (RUN, STORE))
