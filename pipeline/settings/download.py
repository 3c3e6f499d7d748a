"""Settings of `download`, with defaults and help texts."""

from dataclasses import dataclass
from typing import ClassVar

from pipeline.settings.field import Groups, is_address, setting

DEFAULT_LANGUAGE = "en"


@dataclass(frozen=True)
class DownloadSettings:
    """`python -m pipeline download`."""

    GROUPS: ClassVar[Groups] = {
        "source": ("source", "input", "output", "limit", "language"),
        "dumps": ("date", "titles", "category", "keep_files", "connections"),
        "tables": ("text_column", "id_column"),
        "live wikis": ("contact", "api", "text", "depth", "requests_per_minute", "patience"),
        "running": ("threads",),
    }

    source: str = setting(
        "sample",
        "where articles come from",
        choices=(
            *("sample", "random", "titles", "category", "content", "dump", "jsonl", "cirrus"),
            *("csv", "parquet", "folder"),
        ),
    )
    input: str = setting(
        "",
        "file (dump: an XML export of a wiki; jsonl, titles, cirrus, csv, parquet), folder (dump, "
        "csv, parquet; of .txt files), address (content, cirrus) or name (category; content: of a "
        "wiki's database, such as enwiki) to read",
        metavar="INPUT",
    )
    output: str = setting("articles", "article store to add to", metavar="DIR")
    limit: int | None = setting(None, "at most this many articles", metavar="N")
    language: str = setting(
        DEFAULT_LANGUAGE, "language of the Wikipedia, or of texts that do not say", metavar="CODE"
    )
    date: str = setting(
        "", "date of the dump (content); default: the newest that is complete", metavar="DATE"
    )
    titles: str = setting(
        "", "take only the titles in this file, one a line (content, dump)", metavar="FILE"
    )
    category: str = setting(
        "",
        "take only articles whose text names this category, or one of A|B|C (content, dump)",
        metavar="NAME",
    )
    keep_files: bool = setting(
        False, "keep the files of a dump in DIR/files when they are read (content, cirrus)"
    )
    connections: int = setting(
        1, "files of a dump to download at a time, at most 3 (content, cirrus)", metavar="N"
    )
    text_column: str = setting(
        "",
        "column of the texts (csv, parquet); default: the one that is called text, or the only "
        "one of strings",
        metavar="NAME",
    )
    id_column: str = setting(
        "",
        "column of the ids (csv, parquet); default: id, or the numbers of the rows",
        metavar="NAME",
    )
    api: str = setting("", "api.php of a wiki other than Wikipedia", metavar="URL")
    contact: str = setting(
        "", "your e-mail address or web page, for the wiki's operators", metavar="ADDRESS"
    )
    depth: int = setting(1, "levels of subcategories to follow", metavar="N")
    text: str = setting(
        "wikitext",
        "form of a live wiki's text: wikitext, 50 pages a request, or each page rendered as html",
        choices=("wikitext", "html"),
    )
    requests_per_minute: int = setting(
        200, "requests a minute to a live wiki, at most", metavar="N"
    )
    patience: float = setting(
        60.0, "minutes without an answer before a live download ends", metavar="X"
    )
    threads: int = setting(-1, "processes that parse wikitext; -1: one for each core", metavar="N")

    @property
    def is_live(self) -> bool:
        """Whether the source is on the network."""
        return self.is_dump_on_server or self.source in ("random", "titles", "category")

    @property
    def is_dump_on_server(self) -> bool:
        """Whether the source is the files of a dump on a server."""
        by_address = self.source == "cirrus" and is_address(self.input)
        return by_address or self.source == "content"

    @property
    def n_processes(self) -> int:
        """Number of processes that `threads` means on this machine."""
        if self.threads > 0:
            return self.threads
        from corpora.worker_pool import available_cores  # noqa: PLC0415 - it takes long

        return max(1, available_cores() + 1 + self.threads)
