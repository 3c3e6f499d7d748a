"""Approximation of Windows, on Linux: what our modules see, and what the system refuses.

A process is there once it imports this module, which `PYTHONPATH=tests/there:.` has it do at its
start. Our packages find a `sys` of platform win32, and `os`, `signal` and `time` without what
Windows lacks; POSIX modules cannot be imported by them. Libraries are those of Linux. A file that
this process has open or mapped is neither replaced nor deleted, no file gets a name that Windows
does not allow, and a file opened as text without an encoding is an error. What it cannot show:
locks that keep others from reading, files that other processes have open, Windows itself.
"""

import builtins
import os
import re
import signal
import subprocess
import sys
import time
import warnings
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from types import ModuleType

OURS = ("corpora", "models", "evaluation", "downloader", "pipeline")
MODULES = {"crypt", "curses", "fcntl", "grp", "posix", "pty", "pwd", "readline", "resource"}
MODULES |= {"spwd", "syslog", "termios", "tty"}
LACKS = {
    "os": """
        chown chroot copy_file_range ctermid fchdir fchown fchmod fdatasync fork forkpty fpathconf
        fstatvfs getegid geteuid getgid getgrouplist getgroups getloadavg getpgid getpgrp
        getpriority getresgid getresuid getsid getuid initgroups killpg lchown lockf major makedev
        memfd_create minor mkfifo mknod nice openpty pathconf pipe2 posix_fadvise posix_fallocate
        posix_spawn pread preadv pwrite pwritev readv register_at_fork sched_getaffinity
        sched_setaffinity sendfile setegid seteuid setgid setpgid setpriority setsid setuid statvfs
        sync sysconf tcgetpgrp uname wait wait3 wait4 waitid writev O_ASYNC O_CLOEXEC O_DIRECTORY
        O_DSYNC O_NOCTTY O_NOFOLLOW O_NONBLOCK O_SYNC WEXITSTATUS WIFEXITED WIFSIGNALED WNOHANG
        WTERMSIG""",
    "signal": """
        SIGALRM SIGCHLD SIGCONT SIGHUP SIGKILL SIGPIPE SIGQUIT SIGSTOP SIGTSTP SIGUSR1 SIGUSR2
        SIGWINCH SIG_BLOCK SIG_SETMASK SIG_UNBLOCK alarm getitimer pause pthread_kill
        pthread_sigmask setitimer siginterrupt sigpending sigtimedwait sigwait sigwaitinfo""",
    "time": "clock_getres clock_gettime pthread_getcpuclockid tzset",
}
HAS = {
    "sys": {"platform": "win32"},
    "os": {"O_BINARY": 0, "name": "nt"},
    "subprocess": {"CREATE_NEW_PROCESS_GROUP": 0, "CREATE_NO_WINDOW": 0},
}
FORBIDDEN = re.compile(
    r'[<>:"|?*\\\x00-\x1f]|[ .]$|^(con|prn|aux|nul|com\d|lpt\d)(\.|$)', re.IGNORECASE
)


class There(ModuleType):
    """A module as our code sees it: without what Windows lacks."""

    def __init__(self, real: ModuleType) -> None:
        super().__init__(real.__name__)
        self.real = real
        self.lacking = frozenset(LACKS.get(real.__name__, "").split())
        self.__dict__.update(HAS.get(real.__name__, {}))

    def __getattr__(self, name: str) -> object:
        if name in self.lacking:
            raise AttributeError(f"{self.real.__name__}.{name} is not there on Windows")
        return getattr(self.real, name)


THERE = {module.__name__: There(module) for module in (os, signal, subprocess, sys, time)}


def hide() -> None:
    """Let our modules be on Windows from now on."""
    usual = builtins.__import__

    def imported(name, globals=None, locals=None, fromlist=(), level=0):  # noqa: A002
        about = globals or {}
        importer = str(about.get("__package__") or about.get("__name__"))  # also of `-m pipeline`
        is_ours = importer.partition(".")[0] in OURS
        first = name.partition(".")[0]
        if is_ours and level == 0 and first in MODULES:
            raise ImportError(f"there is no module {name} on Windows")
        module = usual(name, globals, locals, fromlist, level)
        return THERE.get(module.__name__, module) if is_ours else module

    builtins.__import__ = imported
    sys.addaudithook(refuse)
    warnings.filterwarnings("error", category=EncodingWarning, module=rf"({'|'.join(OURS)})\b")


def refuse(event: str, arguments: tuple[object, ...]) -> None:
    """Raise the error that Windows would raise for this."""
    if event == "os.rename":
        for path in arguments[:2]:
            refuse_if_open(path)
    elif event == "os.remove" and not is_of_python():
        refuse_if_open(arguments[0])
    elif event == "open" and isinstance(arguments[0], str):
        is_new = isinstance(arguments[2], int) and arguments[2] & os.O_CREAT
        if is_new and not arguments[0].startswith("/dev/"):
            for part in Path(os.path.abspath(arguments[0])).parts[1:]:  # noqa: PTH100
                if FORBIDDEN.search(part):
                    raise OSError(22, "no name of a file on Windows", arguments[0])


def is_of_python() -> bool:
    """Whether a module that does otherwise on Windows deletes a file."""
    return sys._getframe(2).f_globals["__name__"] in {"multiprocessing.heap", "tempfile"}


def refuse_if_open(path: object) -> None:
    """Raise an error if this process has a file, or one in a folder, open or mapped."""
    try:
        wanted = Path(os.fsdecode(path)).resolve()
    except TypeError:  # relative to a descriptor
        return
    opened = [os.path.realpath(each) for each in Path("/proc/self/fd").iterdir()]
    maps = os.fsdecode(Path("/proc/self/maps").read_bytes())
    mapped = [line.split(maxsplit=5)[5:] for line in maps.splitlines()]
    for file in {*opened, *(each[0] for each in mapped if each)}:
        if file == str(wanted) or file.startswith(f"{wanted}/"):
            raise PermissionError(13, "the file is open, as it may not be on Windows", file)


def import_all() -> int:
    """Import every module of ours; return their number."""
    names = [
        module.name
        for package in OURS
        for module in walk_packages([package], f"{package}.")
        if not module.name.endswith("__main__")
    ]
    for name in names:
        import_module(name)
    return len(names)


hide()
