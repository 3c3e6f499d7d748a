"""The article store: a directory of compressed shards and a checksummed list of them.

    DIR/manifest.jsonl         what is stored, see `corpora.articles.manifest`
    DIR/shards/000001.pkl.gz   see `corpora.articles.shard`
    DIR/ATTRIBUTION            whose text it is, see `corpora.articles.attribution`
    DIR/keys.sqlite            for the writer; may be deleted, see `corpora.articles.key_index`
    DIR/lock                   held by the one process that writes

Readers need the first two only, and can read them at a URL too, see `corpora.articles.remote`.
"""

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np

from corpora.articles import attribution, key_index
from corpora.articles.article import Article
from corpora.articles.attribution import read_attribution
from corpora.articles.manifest import HEADER, ShardEntry, Tail, read_manifest
from corpora.articles.remote import is_url, path_of, read_bytes, refuse_writing
from corpora.articles.shard import read_articles
from corpora.articles.shard_file import FOLDER, shard_path, stored_bytes, stored_keys
from corpora.articles.writer import ArticleWriter
from corpora.errors import CorpusFormatError
from corpora.files import PathLike, atomic_write_text, remove_partial_files, sync_directory
from corpora.lock import writer_lock


class ArticleStore:
    """Articles on disk, in the order in which they were appended; each (language, page_id) once.

    One process at a time may write; any number may read meanwhile, and see what was stored when
    they began. Reading and writing hold one shard in memory at a time. `path` is the directory, or
    a URL to read from, `https://host/dir` or `s3://bucket/dir`; the first `append` or `writer`
    makes the directory. `shard_size` is the number of articles in each shard that this object
    writes.

    Reading methods raise CorpusFormatError if the directory is not a store or is damaged, naming
    the file; OSError if a file cannot be read; MissingExtraError if a URL needs a package that is
    not installed.
    """

    def __init__(self, path: PathLike, shard_size: int = 250) -> None:
        if shard_size < 1:
            raise ValueError(f"shard_size must be at least 1, not {shard_size}")
        self.path = path_of(path)
        self.shard_size = shard_size

    @property
    def exists(self) -> bool:
        """Whether `path` holds a store, sound or not; OSError if a URL cannot be reached."""
        if not is_url(self.path):
            return self._manifest_path.is_file()
        try:
            read_bytes(self._manifest_path)
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True

    @property
    def entries(self) -> tuple[ShardEntry, ...]:
        """The shards that are stored at this moment, in order."""
        return tuple(entry for entry, _ in self._lines())

    def __len__(self) -> int:
        return sum(entry.articles for entry, _ in self._lines())

    def __iter__(self) -> Iterator[Article]:
        return chain.from_iterable(map(self.read_shard, self.entries))

    def keys(self) -> set[tuple[str, int]]:
        """(language, page_id) of every stored article."""
        return {key for entry in self.entries for key in stored_keys(self.path, entry)}

    def sites(self) -> set[tuple[str, str]]:
        """(language, site as `https://en.wikipedia.org`) of the articles' wikis, by ATTRIBUTION."""
        known = read_attribution(self.path / attribution.FILE)
        sources = known.sources if known else ()
        return {(source.language, source.site) for source in sources if source.site}

    def read_shard(self, entry: ShardEntry) -> Iterator[Article]:
        """The articles of a shard. Raises CorpusFormatError if it is missing or another one."""
        data = stored_bytes(self.path, entry)
        return read_articles(data, str(shard_path(self.path, entry)))

    def verify(self) -> None:
        """Check the manifest, every shard and every article, in memory for one shard and 16 bytes
        an article. Raises CorpusFormatError at the first fault; also if an article is stored twice.
        """
        ids_of: defaultdict[str, array[int]] = defaultdict(partial(array, "q"))
        for entry in self.entries:
            n_articles = 0
            for article in self.read_shard(entry):
                n_articles += 1
                ids_of[article.language].append(article.page_id)
            if n_articles != entry.articles:
                raise CorpusFormatError(
                    f"{shard_path(self.path, entry)}: expected {entry.articles} articles as the"
                    f" manifest says, found {n_articles}"
                )
        for language, ids in ids_of.items():
            ordered = np.sort(np.frombuffer(ids, dtype=np.int64))
            twice = ordered[1:][ordered[1:] == ordered[:-1]]
            if len(twice):
                self._report_twice(language, int(twice[0]))

    def append(self, articles: Iterable[Article]) -> int:
        """Store those of `articles` that are not stored yet; return how many that were. The
        iterable is consumed one article at a time, and a shard committed for every `shard_size`
        articles; if the iterable raises (KeyboardInterrupt too), the gathered articles are
        committed first. Raises ValueError if an article cannot be stored, see
        `corpora.articles.shard.check_article`, and what `writer` does.
        """
        with self.writer() as writer:
            for article in articles:
                writer.add(article)
                if writer.n_pending >= self.shard_size:
                    writer.commit()
        return writer.n_added

    @contextmanager
    def writer(self) -> Iterator[ArticleWriter]:
        """Hold the store for writing; leaving the block commits what waits, also on an error. The
        store is made if there is none; the newest shards are checked. Raises StoreLockedError if
        another process is writing; CorpusFormatError if `path` is a directory of something else, or
        a damaged store; OSError if `path` is a URL or, for instance, the disk is full. What was
        committed before is intact.
        """
        refuse_writing(self.path)
        self._refuse_other_directories()
        self.path.mkdir(parents=True, exist_ok=True)
        with writer_lock(self.path):
            self._prepare_for_writing()
            writer = ArticleWriter(self.path, self._manifest_path, self.shard_size)
            try:
                yield writer
            finally:
                writer.close()

    @property
    def _manifest_path(self) -> Path:
        return self.path / "manifest.jsonl"

    def _lines(self) -> Iterator[tuple[ShardEntry, Tail]]:
        try:
            yield from read_manifest(self._manifest_path)
        except (FileNotFoundError, NotADirectoryError) as error:
            if is_url(self.path):
                raise CorpusFormatError(
                    f"no article store at {self.path}: there is no {self._manifest_path}; give the"
                    " URL of the directory that holds manifest.jsonl and shards"
                ) from error
            raise CorpusFormatError(
                f"no article store at {self.path}: make one with"
                f" `python -m pipeline download --output {self.path}`"
            ) from error

    def _report_twice(self, language: str, page_id: int) -> None:
        """Raise the error of an article that is stored twice, with the shards that hold it."""
        shards = [
            entry.shard
            for entry in self.entries
            for key in stored_keys(self.path, entry)
            if key == (language, page_id)
        ]
        raise CorpusFormatError(
            f"{self.path}: article {language}:{page_id} is stored twice, in shard {shards[0]} and"
            f" in shard {shards[1]}"
        )

    def _refuse_other_directories(self) -> None:
        """Never mix a store into a directory that holds something else."""
        if self.exists or not self.path.exists():
            return
        if not self.path.is_dir():
            raise CorpusFormatError(f"{self.path} is a file; an article store is a directory")
        for item in self.path.iterdir():
            if not self._is_left_by_a_writer(item):
                raise CorpusFormatError(
                    f"{self.path} holds {item.name} but no {self._manifest_path.name}, so it is not"
                    " an article store; name a new or an empty directory"
                )

    def _is_left_by_a_writer(self, item: Path) -> bool:
        """Whether a writer or downloader that was killed early may have left it."""
        own = {"lock", attribution.FILE, *(key_index.FILE + end for end in key_index.SUFFIXES)}
        written_to = (self._manifest_path.name, attribution.FILE)
        return (
            item.name in own
            or (item.name == "download" and item.is_dir())
            or any(item.name.startswith(f".{name}.") for name in written_to)
        )

    def _prepare_for_writing(self) -> None:
        """Make the store if there is none, and clear away what a killed writer left."""
        shards = self.path / FOLDER
        if not self.exists:
            atomic_write_text(self._manifest_path, HEADER.decode() + "\n")
            sync_directory(self.path.parent)
        shards.mkdir(exist_ok=True)
        sync_directory(self.path)
        remove_partial_files(self.path)
        remove_partial_files(shards)
