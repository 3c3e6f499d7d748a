"""Processes that run a module of this package."""

import os
import subprocess
import sys
from pathlib import Path
from typing import IO, Any

if sys.platform == "win32":
    OF_ITS_OWN = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW
else:
    OF_ITS_OWN = 0  # A new session says it


def start_module(
    name: str,
    *arguments: str,
    output: int | IO[Any] = subprocess.DEVNULL,
    new_session: bool = False,
) -> subprocess.Popen[bytes]:
    """Start a module of this package, whatever packages lie in the working directory."""
    root, folders = Path(__file__).parents[1], list(filter(None, [os.environ.get("PYTHONPATH")]))
    if root.name not in ("site-packages", "dist-packages"):  # those are found, after Python's own
        folders.insert(0, str(root))
    return subprocess.Popen(  # noqa: S603 - our own command, no shell
        [sys.executable, "-P", "-m", name, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(folders)},
        start_new_session=new_session,
        creationflags=OF_ITS_OWN if new_session else 0,
    )
