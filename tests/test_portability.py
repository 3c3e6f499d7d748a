"""Our code runs where POSIX is not: as far as Linux can show, with `tests.on_windows`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("corpora", "models", "evaluation", "downloader", "pipeline")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="approximates Windows on Linux")


def there(*arguments, cwd=ROOT):
    """Run a command as on Windows, where text without an encoding would not be UTF-8."""
    plain = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    return subprocess.run(
        [sys.executable, *arguments],
        env=os.environ
        | plain
        | {
            "PYTHONPATH": f"{ROOT}/tests/there:{ROOT}",
            "PYTHONWARNDEFAULTENCODING": "1",
            "WIKITOPICS_COMPILE_AHEAD": "0",
        },
        cwd=cwd,
        capture_output=True,
        check=False,
        encoding="utf-8",
    )


def test_every_module_is_imported_without_posix():
    done = there("-c", "from tests.on_windows import import_all; print(import_all())")
    assert done.returncode == 0, done.stderr
    files = sum(1 for name in PACKAGES for _ in (ROOT / name).rglob("*.py"))
    assert int(done.stdout) > 0.9 * files


REFUSED = {
    "import fcntl": "no module fcntl",
    "from pwd import getpwuid": "no module pwd",
    "import os; os.fork()": "os.fork is not there",
    "from signal import pthread_sigmask": "cannot import name 'pthread_sigmask'",
    "import sys; assert sys.platform != 'win32'": "AssertionError",
    "open('a', 'x').write('o')": "EncodingWarning",
    "open('en:1', 'x', encoding='utf-8')": "no name of a file on Windows",
    "open('NUL.txt', 'x', encoding='utf-8')": "no name of a file on Windows",
    "import os; a = open('a', 'xb'); b = open('b', 'xb'); os.replace('a', 'b')": "the file is open",
    "import os; a = open('a', 'xb'); os.remove('a')": "the file is open",
}


@pytest.mark.parametrize(("code", "error"), REFUSED.items())
def test_what_windows_has_not_is_refused(code, error, tmp_path):
    """So that the other tests can fail."""
    ours = f"exec({code!r}, {{'__name__': 'corpora.new'}})"
    done = there("-c", ours, cwd=tmp_path)
    assert done.returncode == 1
    assert error in done.stderr


def test_libraries_are_those_of_this_system():
    code = "import fcntl, os; os.getuid(); from signal import pthread_sigmask"
    done = there("-c", f"exec({code!r}, {{'__name__': 'library.new'}})")
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_the_sample_goes_from_articles_to_a_report_without_posix(tmp_path):
    train = ("train", "--articles", "articles", "--test", "0.2", "--seed", "1", "--threads", "2")
    few = ("--topics", "4", "--max-passes", "3")
    for command in (
        ("download", "--source", "sample", "--output", "articles"),
        (*train, *few, "--run", "gibbs", "--model", "gibbs"),
        (*train, *few, "--run", "online", "--model", "online"),
        ("evaluate", "gibbs"),
        ("report", "gibbs", "online"),
        ("convert", "runs/gibbs/corpus", "texts", "--to", "text"),
    ):
        done = there("-m", "pipeline", *command, cwd=tmp_path)
        assert done.returncode == 0, (command, done.stderr)
    assert (tmp_path / "report.html").stat().st_size > 100_000
    here = [sys.executable, "-m", "pipeline", *train, *few, "--run", "here"]
    subprocess.run(here, cwd=tmp_path, check=True)
    topics = [(tmp_path / "runs" / run / "topics.txt").read_bytes() for run in ("gibbs", "here")]
    assert topics[0] == topics[1]
