"""The files that programs need: the interpreter, its libraries, and packages.

Runs inside the sandbox: standard library only. What guests do not need is imported where it is used, for it
makes every fork dearer.
"""

from __future__ import annotations

import functools
import marshal
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import importlib.metadata

__all__ = [
    "USUAL",
    "NotInstalledError",
    "base_executable",
    "completed",
    "installed",
    "interpreter_paths",
    "package_paths",
    "site_folders",
]

SYSTEM: Final = ("/lib", "/lib32", "/lib64", "/libx32", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libx32")
SHARED: Final = ("/usr/share/zoneinfo", "/etc/ld.so.cache", "/etc/localtime")


USUAL: Final = ("numpy", "pytest")
"""Packages that programs and tests have, where they are installed."""


class NotInstalledError(Exception):
    """A package that programs are to have is not there."""


def base_executable() -> str:
    """The interpreter itself, not a virtual environment's link to it."""
    return os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)


@functools.cache
def interpreter_paths() -> tuple[str, ...]:
    """The files that an interpreter and its extension modules are made of."""
    import glob
    import sysconfig

    stdlib = sysconfig.get_path("stdlib", vars={"base": sys.base_prefix, "installed_base": sys.base_prefix})
    platform = sysconfig.get_path("platstdlib", vars={"platbase": sys.base_exec_prefix})
    libraries = glob.glob(f"{glob.escape(sys.base_prefix)}/lib/lib*.so*")
    return tuple(dict.fromkeys([*SYSTEM, base_executable(), *libraries, stdlib, platform, *SHARED]))


def site_folders() -> list[str]:
    """Where installed packages lie, inside of what `interpreter_paths` shows."""
    import glob

    folders = {os.path.join(path, "site-packages") for path in interpreter_paths()}
    folders |= set(glob.glob("/usr/lib/python3*/dist-packages"))
    return sorted(folder for folder in folders if os.path.isdir(folder))


def package_paths(names: Iterable[str], *, metadata: bool = False) -> list[str]:
    """The top-level files and folders of distributions, and of what they require.

    Args:
        names: The distributions.
        metadata: Whether what is known of them belongs to them too.

    Raises:
        NotInstalledError: One is not installed.
    """
    import importlib.metadata

    unwanted = (".pth", "__pycache__", *(() if metadata else (".dist-info", ".egg-info")))
    paths: dict[str, None] = {}
    waiting, seen = list(names), set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        try:
            distribution = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            raise NotInstalledError(name) from None
        for file in distribution.files or ():
            top = file.parts[0]
            if not top.startswith("..") and not top.endswith(unwanted):
                paths[str(distribution.locate_file(top))] = None
        waiting += required(distribution)
    return [path for path in paths if os.path.exists(path)]


def required(distribution: importlib.metadata.Distribution) -> list[str]:
    """The installed distributions that one needs, without its extras."""
    names = []
    for line in distribution.requires or ():
        requirement, _, marker = line.partition(";")
        name = re.split(r"[^A-Za-z0-9._-]", requirement.strip(), maxsplit=1)[0]
        if "extra" not in marker and installed(name):
            names.append(name)
    return names


def installed(name: str) -> bool:
    """Whether a distribution is installed."""
    import importlib.metadata

    try:
        importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def completed(enclosure: Mapping[str, Any]) -> Mapping[str, Any]:
    """A description of the wall with the files filled in that were left to be found here, inside.

    Looks in a child, for what it imports would make every fork dearer.

    Args:
        enclosure: With ``names`` in it, the packages to show, or None for the usual ones that are there:
            without ``binds``, ``masks`` and ``packages``.

    Returns:
        With these.

    Raises:
        NotInstalledError: A package is not installed here.
    """
    if "names" not in enclosure:
        return enclosure
    os.makedirs(enclosure["mountpoint"], exist_ok=True)
    reader, writer = os.pipe()
    if not os.fork():
        with open(writer, "wb") as file:
            marshal.dump(found(enclosure["names"]), file)
        os._exit(0)
    os.close(writer)
    with open(reader, "rb") as file:
        files = marshal.load(file)
    os.wait()
    if isinstance(files, str):
        raise NotInstalledError(files)
    return {**enclosure, **files}


def found(names: Sequence[str] | None) -> dict[str, list[str]] | str:
    """The files to show, or the name of a package that is not there."""
    import sysconfig

    sys.path += [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    try:
        packages = package_paths(filter(installed, USUAL) if names is None else names)
    except NotInstalledError as error:
        return str(error)
    return {"binds": list(interpreter_paths()), "masks": site_folders(), "packages": packages}
