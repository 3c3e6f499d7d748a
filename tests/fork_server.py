"""New processes that start in milliseconds, as forks of one that has imported what they take."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Self

SERVER = """
import json, os, sys, traceback
exec(json.loads(sys.stdin.readline()), {"__name__": "__main__"})
for line in sys.stdin:
    code, arguments, folder, environment, output = json.loads(line)
    child = os.fork()
    if not child:
        with open(output, "w") as file:
            os.dup2(file.fileno(), 1), os.dup2(file.fileno(), 2)
        os.environ.clear(), os.environ.update(environment), os.chdir(folder)
        sys.argv[1:] = arguments
        status = 1
        try:
            exec(code, {"__name__": "__main__"})
            status = 0
        except BaseException:
            traceback.print_exc()
        sys.stdout.flush(), sys.stderr.flush(), os._exit(status)
    print(os.waitpid(child, 0)[1], flush=True)
"""


class ForkServer:
    """A process that has run some code, and of which each line of its input makes a new process."""

    def __init__(self, code: str, environment: dict[str, str] | None = None) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", SERVER],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._tell(code)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def run(
        self,
        code: str,
        *arguments: str,
        cwd: Path | None = None,
        environment: dict[str, str] | None = None,
    ) -> str:
        """Return what a new process prints, also on stderr; raise RuntimeError if it fails."""
        environment = dict(os.environ) if environment is None else environment
        with tempfile.NamedTemporaryFile() as output:
            self._tell([code, arguments, str(cwd or Path.cwd()), environment, output.name])
            assert self._process.stdout is not None
            status = int(self._process.stdout.readline())
            printed = Path(output.name).read_text("utf-8")
        if status:
            raise RuntimeError(f"{printed}\nexit code {os.waitstatus_to_exitcode(status)}")
        return printed

    def _tell(self, what: object) -> None:
        assert self._process.stdin is not None
        print(json.dumps(what), file=self._process.stdin, flush=True)
