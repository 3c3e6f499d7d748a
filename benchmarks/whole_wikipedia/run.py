"""Made-up pages of real size straight through: export, store, text, counts, Gibbs, report.

    python -m benchmarks.whole_wikipedia run --pages 20000 --folder DIR [--topics 100] [--kills]
        [--paper run.json]

Every stage is a command as users give it, and with `--kills` each is killed once, by SIGKILL, and
given again, if it lasts long enough: 45 seconds, or 3 seconds of the stages that are short. The
same command on the same folder goes on where it was; what stages took is in DIR/run.json, added up.
At the end the store must hold every article that was made.

    python -m benchmarks.whole_wikipedia count --folder DIR [--paper run.json]

repeats the three passes that count words, without kills, on the store of a run; `paper` takes what
they took then, which is also in DIR/count.json. The command's start, some two seconds, is booked on
bigrams, which matters for few pages.

Killed while it counts, `train` begins with bigrams again; what that takes is booked on the stage
that was killed.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from benchmarks.whole_wikipedia.pages import WIKI_FOLDER, make_pages
from benchmarks.whole_wikipedia.server import folder_server
from benchmarks.whole_wikipedia.watch import EVERY_SECONDS, Stage, Watch, disk_of
from corpora import ArticleStore, Corpus, split
from corpora.files import atomic_write_text
from pipeline.runs.run_directory import RunDirectory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RUN = "gibbs"
SWEEPS = 100
KILL_AFTER = {"bigrams": 3.0, "vocabulary": 3.0, "counts": 3.0, "evaluate": 3.0, "report": 3.0}
KILL_AFTER_OTHERS = 45.0
"""Seconds of a stage. Checkpoints of training are 30 seconds apart."""
PAGES_A_LOOK = 100_000
"""Pages above which looks at the processes and the store become rarer, as each takes longer."""
PASSES = ("bigrams", "vocabulary", "counts")
LINEAR = ("download", "text", *PASSES, "training", "evaluate")
"""Stages that take as much time for each article, however many there are."""


@dataclass(frozen=True)
class Folder:
    """Where all is: pages, store, run, log and results."""

    path: Path
    name: str = RUN  # of the run

    @property
    def store(self) -> Path:
        """Article store."""
        return self.path / "articles"

    @property
    def runs(self) -> Path:
        """Folder of the run."""
        return self.path / "runs"

    @property
    def run(self) -> RunDirectory:
        """The run."""
        return RunDirectory(self.runs / self.name)

    @property
    def results(self) -> Path:
        """What stages took."""
        return self.path / "run.json"

    @property
    def counted(self) -> Path:
        """What the passes that count took, when they were repeated."""
        return self.path / "count.json"

    @property
    def rates(self) -> Path:
        """Rates of steps."""
        return self.path / "rates.json"

    def taken(self) -> dict[str, Any]:
        """Return what a run took, with the passes that count as they were when repeated, if so."""
        found = json.loads(self.results.read_text())
        if self.counted.exists():
            found["stages"] |= json.loads(self.counted.read_text())["stages"]
        return dict(found)

    def stage_of_training(self) -> str:
        """Name of the stage that `train` is in, by the files it has written."""
        run, store = self.run, ArticleStore(self.store)
        if run.model_path.exists() or run.has_corpus:
            return "training"
        if any(run.corpus_path.glob(".*")):
            return "counts"
        if run.bigrams_path.exists():
            return "vocabulary"
        n_done = sum(1 for _ in (self.store / "tokens").rglob("*.npz"))
        return "bigrams" if n_done >= len(store.entries) else "text"


def commands(
    folder: Folder, address: str, topics: int, threads: int
) -> Iterator[tuple[str, list[str]]]:
    """Yield the name of each command, and the command."""
    workers = ["--threads", str(threads)]
    runs = ["--runs", str(folder.runs)]
    download = ["download", "--source", "content", "--input", f"{address}{WIKI_FOLDER}", *workers]
    yield "download", [*download, "--output", str(folder.store)]
    train = ["train", "--articles", str(folder.store), "--run", RUN, *runs, *workers]
    train += ["--model", "gibbs", "--topics", str(topics), "--max-passes", str(SWEEPS)]
    yield "train", [*train, "--seed", "1"]
    yield "evaluate", ["evaluate", RUN, *runs, *workers]
    yield "report", ["report", RUN, *runs]


def straight_through(
    folder: Folder, n_pages: int, topics: int, threads: int, *, kills: bool, seed: int = 0
) -> dict[str, Any]:
    """Take made-up pages through all stages, and return what they took."""
    files = make_pages(folder.path / "server", n_pages, seed, threads)
    known = json.loads(folder.results.read_text()) if folder.results.exists() else {}
    done, disk = set(known.get("done", ())), known.get("disk", {})
    stages = {name: Stage(**values) for name, values in known.get("stages", {}).items()}
    watch = Watch(stages, every=EVERY_SECONDS * max(1.0, n_pages / PAGES_A_LOOK))

    def kill_after(name: str) -> float:
        return KILL_AFTER.get(name, KILL_AFTER_OTHERS) if kills else 0.0

    def keep() -> None:
        about = {"done": sorted(done), "disk": disk, "pages": n_pages, "topics": topics}
        about["stages"] = {name: asdict(stage) for name, stage in watch.stages.items()}
        atomic_write_text(folder.results, json.dumps(about, indent=1) + "\n")

    watch.keep = keep

    def stage_of(name: str) -> str:
        return folder.stage_of_training() if name == "train" else name

    with folder_server(folder.path / "server") as address:
        for name, command in commands(folder, address, topics, threads):
            while name not in done:
                arguments, log = ["pipeline", *command], folder.path / "log.txt"
                if watch.run(arguments, partial(stage_of, name), kill_after, log):
                    done.add(name)
                disk |= {
                    "export": sum(file.stat().st_size for file in files),
                    "articles": disk_of(folder.store / "shards"),
                    "annotation": disk_of(folder.store / "tokens"),
                    "run": disk_of(folder.runs),
                }
                keep()
    n_articles = len(ArticleStore(folder.store))
    if n_articles != n_pages:
        raise SystemExit(f"{n_pages} articles were made, and the store holds {n_articles}")
    found = json.loads(folder.results.read_text()) | about_run(folder, n_articles)
    atomic_write_text(folder.results, json.dumps(found, indent=1) + "\n")
    return found


def count_again(folder: Folder, threads: int) -> dict[str, Any]:
    """Count the words of an annotated store, and train a small model; return what a run takes, for
    the passes that count.
    """
    command = ["train", "--articles", str(folder.store), "--run", folder.name, "--seed", "1"]
    command += ["--runs", str(folder.runs), "--threads", str(threads)]
    command += ["--model", "gibbs", "--topics", "2", "--max-passes", "1"]
    shutil.rmtree(folder.runs / folder.name, ignore_errors=True)  # of an earlier repetition
    n_articles = len(ArticleStore(folder.store))
    watch = Watch(every=EVERY_SECONDS * max(1.0, n_articles / PAGES_A_LOOK))
    log = folder.path / "log.txt"
    watch.run(["pipeline", *command], folder.stage_of_training, lambda name: 0.0, log)  # noqa: ARG005
    stages = {name: asdict(watch.stages[name]) for name in PASSES if name in watch.stages}
    found = {"pages": n_articles, "stages": stages, "disk": {}} | about_run(folder, n_articles)
    atomic_write_text(folder.counted, json.dumps(found, indent=1) + "\n")
    return found


def about_run(folder: Folder, n_articles: int) -> dict[str, Any]:
    """Sizes of a run that is done."""
    run = folder.run
    corpus = Corpus.load(run.corpus_path, mmap=True)
    settings, provenance = run.settings(), run.provenance()
    training = split(corpus, settings.validation, settings.test).train
    return {
        "articles": n_articles,
        "tokens": corpus.n_tokens,
        "entries": corpus.counts.nnz,
        "words": corpus.n_words,
        "training_documents": training.n_docs,
        "training_tokens": training.n_tokens,
        "sweeps": provenance["documents_seen"] / training.n_docs,
        "seconds": provenance["seconds"],
        "validations": len(run.metrics()),
    }


def print_stages(found: dict[str, Any], paper: dict[str, Any] | None) -> None:
    """Print a line for each stage, beside what it would take by the rates of another run."""
    n = found.get("articles", found["pages"])
    print(f"{n:,} articles, {found.get('tokens', 0):,} tokens, {found.get('words', 0):,} words")
    heading = f"{'stage':12s} {'core-s':>9s} {'ms/article':>10s} {'of it here':>10s} {'s':>8s}"
    print(f"{heading} {'peak MB':>8s} {'kills':>5s} {'paper, core-s':>14s} {'ratio':>6s}")
    for name, values in found["stages"].items():
        stage = Stage(**values)
        line = f"{name:12s} {stage.cpu:9.1f} {1000 * stage.cpu / n:10.3f} "
        line += f"{stage.cpu_main / max(stage.cpu, 1e-9):10.0%} {stage.seconds:8.1f} "
        line += f"{stage.peak_bytes / 1e6:8,.0f} {stage.kills:5d}"
        if paper is not None and name in LINEAR and name in paper["stages"]:
            expected = expected_seconds(name, found, paper)
            line += f" {expected:14.1f} {stage.cpu / expected:6.2f}"
        print(line)
    for name, n_bytes in found["disk"].items():
        line = f"{name:12s} {n_bytes / 1e6:9,.1f} MB {n_bytes / n:10,.0f} bytes an article"
        if paper is not None:
            expected = paper["disk"][name] / paper["articles"] * n
            line += f", on paper {expected / 1e6:,.1f} MB, ratio {n_bytes / expected:.2f}"
        print(line)


def expected_seconds(name: str, found: dict[str, Any], paper: dict[str, Any]) -> float:
    """Processor seconds of a stage by the rates of another run: by article, training by token."""
    seconds = Stage(**paper["stages"][name]).cpu
    if name == "training" and "training_tokens" in found:
        each = paper["training_tokens"] * paper["sweeps"]
        return seconds / each * found["training_tokens"] * found["sweeps"]
    return seconds / paper["articles"] * found.get("articles", found["pages"])
