"""Compilation of kernels in a process of its own, while a command downloads, reads and annotates.

The process does what the command will do, with a few documents, and leaves the kernels in the
cache; where the command needs one that is being compiled, it waits for it (`corpora.kernel_cache`).

    python -m pipeline.warming.background TASK

A task is JSON: that of `task_of`, or settings of `train` such as {"model": "gibbs", "topics": 12}.
"""

import json
import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

from llvmlite.binding import get_host_cpu_name
from numba.core import config

from corpora.kernel_cache import (
    cache_folder,
    claim,
    free,
    inner_first,
    left_to_others,
    share_compiling,
)
from corpora.worker_pool import available_cores
from corpora.worker_process import use_one_thread
from evaluation.methods import SCORINGS
from models.families import FAMILIES
from models.topics import TopicWords
from pipeline.own_process import start_module
from pipeline.settings import TrainSettings
from pipeline.training.trainers import spec_of

VARIABLE = "WIKITOPICS_COMPILE_AHEAD"
"""Environment variable that switches this off: 0."""
ARTICLE_TOKENS = 200
"""Tokens of a usual document, by which "auto" chooses the sampler whose kernels are compiled."""
LEVELS = 3
"""Levels of kernels of an estimator that are compiled before those which call them."""
_started: list[subprocess.Popen[bytes]] = []


def compile_ahead(settings: TrainSettings) -> bool:
    """Start to compile the kernels of training, then those of scoring its topics.

    Returns whether a process does so: none is started if they are in the cache, if there is none,
    or on a single core. It ends by itself, maybe after the command; an interrupt from the terminal
    ends both.
    """
    if os.environ.get(VARIABLE) == "0" or vars(config)["DISABLE_JIT"] or available_cores() == 1:
        return False
    task = task_of(settings)
    mark = mark_of(task)
    if mark is None or mark.exists() or not os.access(mark.parent, os.W_OK):
        return False
    if claim(mark):  # no other process has the same task
        free(mark)
        _started.append(start_module("pipeline.warming.background", task))
    return True


def task_of(settings: TrainSettings) -> str:
    """Return what decides which kernels training needs, as JSON."""
    spec = spec_of(settings)
    values = {name: getattr(settings, name) for name in spec.settings}
    return json.dumps({"trainer": spec.name, "topics": settings.topics, "settings": values})


def mark_of(task: str) -> Path | None:
    """Return the file that says that the kernels of a task are cached; None without a cache."""
    folder = cache_folder()
    name = f"{get_host_cpu_name()} {task}"
    return folder and folder / f"done-{sha256(name.encode()).hexdigest()[:16]}"


def compile_kernels(task: str, *, forks: bool = False) -> None:
    """Compile the kernels of a task, those of training first; `forks` to share out the others."""
    mark = mark_of(task)
    if mark is not None and not claim(mark):
        return
    from pipeline.warming import recipes  # noqa: PLC0415 - takes a second

    asked: dict[str, Any] = json.loads(task)
    family, spec = next(
        (family, spec)
        for family in FAMILIES
        for spec in family.trainers
        if spec.name == asked["trainer"]
    )
    settings = _quick_settings(asked)
    untrained = [kind for kind in family.topics.values() if kind in recipes.UNTRAINED]
    helper = None
    if (
        sys.platform == "linux" and forks and untrained
    ):  # its scoring is compiled where training leaves a core idle
        helper = os.fork()
        if helper == 0:
            os.nice(19)
            share_compiling()
            _score(untrained[0])
            return
    trainer = spec.build(settings, 1).set_params(**spec.quick)
    topics = recipes.train(trainer, max(recipes.N_DOCUMENTS, asked["topics"]))
    if sys.platform != "win32":
        os.nice(10)  # what follows is for the next command
    if sys.platform == "linux" and forks and not untrained:
        helper = os.fork()
    if forks:
        share_compiling()
    _score(type(topics))
    if helper == 0:
        return
    has_ended_well = helper is None or os.waitpid(helper, 0)[1] == 0
    if mark is not None:
        if has_ended_well and all(map(Path.exists, left_to_others())):
            mark.touch()
        free(mark)


def _quick_settings(asked: dict[str, Any]) -> dict[str, Any]:
    """Return settings for a small training that takes the kernels of the one asked for."""
    from models.gibbs.collapsed_gibbs import auto_sampler  # noqa: PLC0415 - slow to import

    settings = {**asked["settings"], "topics": asked["topics"], "max_passes": 2, "seed": 0}
    if settings.get("sampler") == "auto":  # that of articles, which are longer than documents here
        settings["sampler"] = auto_sampler(asked["topics"], ARTICLE_TOKENS, 1)
    return settings


def _score(kind: type[TopicWords]) -> None:
    """Compile what scores topics of a kind, what takes longest first."""
    from pipeline.warming import recipes  # noqa: PLC0415 - takes a second

    scoring = next(each for each in SCORINGS if issubclass(kind, each.topics))
    for method in dict.fromkeys((*scoring.shown, scoring.default)):
        for _ in range(LEVELS):
            with inner_first():
                recipes.score(scoring.topics, method)
        recipes.score(scoring.topics, method)
    recipes.describe(scoring.topics)


if __name__ == "__main__":
    use_one_thread()  # threads of OpenMP do not survive a fork
    task = sys.argv[1]
    if "trainer" not in (given := json.loads(task)):
        task = task_of(TrainSettings(**given))
    compile_kernels(task, forks=sys.platform == "linux")  # no other system is safe to fork here
