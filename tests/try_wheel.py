"""Build sdist and wheel, and try the wheel as a user: in an environment and a folder of its own.

    python tests/try_wheel.py [DIST]

The wheel is built from the sdist, so that one that lacks files is noticed. DIST is a folder for
both; by default they are deleted. Needs the package `build`, and a package index.
"""

import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("corpora", "downloader", "evaluation", "models", "pipeline")
COMMANDS = (
    "train --run tried --model gibbs --topics 8 --max-passes 20 --test 0.2 --seed 1",
    "evaluate tried",
    "topics tried",
    "report tried",
)
MADE = ("runs/tried/model.npz", "runs/tried/topics.txt", "runs/tried/report.html")


def build(dist: Path) -> Path:
    """Build both; return the wheel."""
    run(sys.executable, "-m", "build", "--outdir", str(dist), str(ROOT), cwd=dist)
    (sdist,), (wheel,) = dist.glob("*.tar.gz"), dist.glob("*.whl")
    tracked = run("git", "ls-files", "--", *PACKAGES, cwd=ROOT).split()
    wanted = {*tracked, *(f"{package}/py.typed" for package in PACKAGES)}
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
        check(sdist.name, wanted | {"README.md", "LICENSE", "pyproject.toml"}, names)
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        check(wheel.name, wanted, names)
    strangers = {name.partition("/")[0] for name in names} - {*PACKAGES}
    if [name for name in strangers if not name.endswith(".dist-info")]:
        sys.exit(f"{wheel.name} has more than our packages: {sorted(strangers)}")
    return wheel


def check(name: str, wanted: set[str], found: set[str]) -> None:
    """End with a message if files are missing."""
    if missing := sorted(wanted - found):
        sys.exit(f"{name} lacks {', '.join(missing)}")
    print(f"{name}: {len(found)} files, all that are wanted among them", flush=True)


def try_out(wheel: Path, folder: Path) -> None:
    """Install the wheel in a new environment, and run it from an empty folder."""
    environment, empty = folder / "environment", folder / "empty"
    venv.create(environment, with_pip=True)
    binaries = environment / ("Scripts" if sys.platform == "win32" else "bin")
    python = str(binaries / "python")
    empty.mkdir()
    run(python, "-m", "pip", "install", "--quiet", "--no-compile", str(wheel), cwd=empty)
    where = run(python, "-c", "import pipeline; print(pipeline.__file__)", cwd=empty)
    if not Path(where.strip()).resolve().is_relative_to(environment.resolve()):
        sys.exit(f"tried {where} instead of the wheel")
    for command in COMMANDS:
        print(run(str(binaries / "wikitopics"), *command.split(), cwd=empty), flush=True)
    for name in MADE:
        if not (empty / name).is_file():
            sys.exit(f"{name} was not made")


def run(*words: str, cwd: Path) -> str:
    """Run a command; return what it prints."""
    print("$", *words, flush=True)
    done = subprocess.run(words, cwd=cwd, stdout=subprocess.PIPE, encoding="utf-8", check=False)
    if done.returncode:
        sys.exit(f"{done.stdout}\n{words[0]} ended with {done.returncode}")
    return done.stdout


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="wikitopics-wheel-") as temporary:
        dist = Path(sys.argv[1] if sys.argv[1:] else f"{temporary}/dist").resolve()
        dist.mkdir(parents=True, exist_ok=True)
        try_out(build(dist), Path(temporary))
