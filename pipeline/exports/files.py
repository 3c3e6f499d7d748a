"""Files that `topics` writes for other tools, and checks that they can be written."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.errors import UsageError
from pipeline.exports.csv_file import described_endings, is_csv
from pipeline.exports.documents_table import check_documents_path, write_documents
from pipeline.exports.targets import check_file
from pipeline.exports.topics_table import write_topics
from pipeline.exports.word_network import write_graphml

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.runs.loaded_run import LoadedRun

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Files:
    """Names of the files to write, "" for none."""

    csv: str = ""
    documents: str = ""
    graphml: str = ""
    force: bool = False
    words: int = 10  # Words of each topic
    threads: int = -1

    @property
    def named(self) -> dict[str, str]:
        """Options that have a name, with the name."""
        names = {"csv": self.csv, "documents": self.documents, "graphml": self.graphml}
        return {option: name for option, name in names.items() if name}

    def check(self) -> None:
        """Raise UsageError if a file exists, a name does not tell its format, or two are the same.

        Raises MissingExtraError if a package is missing; FileNotFoundError if a folder is.
        """
        if self.csv and not is_csv(self.csv):
            raise UsageError(f"--csv {self.csv}: the name must end in {described_endings()}")
        if self.documents:
            check_documents_path(self.documents)
        seen: dict[Path, str] = {}
        for option, name in self.named.items():
            other = seen.setdefault(Path(name).resolve(), option)
            if other != option:
                raise UsageError(f"--{other} and --{option} are both {name}: choose two names")
            check_file(name, f"--{option}", force=self.force)

    def write(self, run: LoadedRun) -> list[dict[str, Any]]:
        """Write the files, each whole or not at all, and return their names and sizes."""
        writers: dict[str, Callable[[str], dict[str, int]]] = {
            "csv": partial(write_topics, run, n_words=self.words),
            "documents": partial(write_documents, run, n_jobs=self.threads),
            "graphml": partial(write_graphml, run, n_words=self.words),
        }
        written = []
        for option, name in self.named.items():
            logger.info("writing %s of run %s", name, run.name)
            written.append({"file": name, **writers[option](name)})
        return written
