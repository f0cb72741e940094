"""Runs a command of this interpreter as a user that owns nothing: ``as_nobody.py HOME ARGUMENT…``.

Root's interpreter often lies where nobody else can get at it. So this makes a mount namespace of its own in
which the folders on the way are replaced by empty ones that hold only what the interpreter needs. Exits with
status 77 where the machine does not allow that, or forbids user namespaces to ordinary users.
"""

import os
import stat
import sys
from pathlib import Path

from codegym.sandbox import linux

UNABLE = 77


def needed(home):
    """Folders that the interpreter reads, outermost first."""
    paths = {sys.base_prefix, sys.prefix, os.getcwd(), home, *filter(os.path.isdir, sys.path)}
    return sorted({os.path.realpath(path) for path in paths})


def closed(path):
    """The outermost folder above a path through which others cannot pass; None where they can."""
    above = reversed(Path(path).parents)
    return next((str(folder) for folder in above if not folder.stat().st_mode & stat.S_IXOTH), None)


def open_the_way(paths):
    """In this process, make the paths reachable by everybody."""
    linux.unshare(linux.CLONE_NEWNS)
    linux.mount(None, "/", None, linux.MS_REC | linux.MS_PRIVATE)
    kept = [(path, os.open(path, os.O_PATH)) for path in paths if closed(path)]
    for folder in {closed(path) for path, _ in kept}:
        linux.mount("tmpfs", folder, "tmpfs", 0, "mode=755")
    for path, descriptor in kept:
        os.makedirs(path, exist_ok=True)
        linux.mount(f"/proc/self/fd/{descriptor}", path, None, linux.MS_BIND | linux.MS_REC)
        os.close(descriptor)


def become_nobody():
    """Give up being root."""
    os.setgroups([])
    os.setresgid(linux.NOBODY, linux.NOBODY, linux.NOBODY)
    os.setresuid(linux.NOBODY, linux.NOBODY, linux.NOBODY)


def may_make_namespaces():
    """Whether this user may have user namespaces."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            linux.unshare(linux.CLONE_NEWUSER | linux.CLONE_NEWNS)
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def main():
    home, *arguments = sys.argv[1:]
    try:
        open_the_way(needed(home))
        become_nobody()
        for path in needed(home):
            os.listdir(path)
    except OSError as error:
        print(error)
        sys.exit(UNABLE)
    if not may_make_namespaces():
        print("this machine gives no user namespaces to ordinary users")
        sys.exit(UNABLE)
    environment = {**os.environ, "HOME": home, "TMPDIR": home, "PYTHONDONTWRITEBYTECODE": "1"}
    os.execve(sys.executable, [sys.executable, *arguments], environment)


if __name__ == "__main__":
    main()
