"""Images with Python in them, made without a registry."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from codegym.errors import ConfigError
from codegym.sandbox import files
from codegym_docker.daemon import translated

__all__ = ["build_from", "build_local"]

SKIPPED: Final = frozenset({"__pycache__", "idlelib", "tkinter", "turtledemo", "site-packages", "ensurepip"})
"""What programs have no use for; packages are put in one by one."""


def build_local(client: Any, tag: str, packages: Sequence[str] = ()) -> str:
    """Make an image of this machine's interpreter, the libraries it needs, and packages of this environment.

    Args:
        client: Of the daemon.
        tag: What the image is called.
        packages: Installed distributions, with what they require.

    Returns:
        The image's id.

    Raises:
        ConfigError: A package is not installed.
        SandboxUnavailableError: The daemon refuses.
    """
    try:
        extra = [Path(path) for path in files.package_paths(packages, metadata=True)]
    except files.NotInstalledError as error:
        raise ConfigError(f"packages: no distribution {str(error)!r} is installed here") from None
    with tempfile.TemporaryFile() as archive:
        with tarfile.open(fileobj=archive, mode="w") as tar:
            write_root(tar, extra)
        archive.seek(0)
        with translated(f"import the image {tag!r}"):
            repository, _, version = tag.partition(":")
            client.api.import_image_from_data(archive, repository, version or "latest")
            return str(client.images.get(tag).id)


def build_from(client: Any, image: str, tag: str, packages: Sequence[str] = ()) -> str:
    """Make an image from another one, with packages installed by pip.

    Raises:
        SandboxUnavailableError: The daemon refuses, or pip fails.
    """
    lines = [
        f"FROM {image}",
        *([f"RUN python3 -m pip install --no-cache-dir {' '.join(packages)}"] if packages else []),
    ]
    with translated(f"build the image {tag!r}", image):
        built, _ = client.images.build(fileobj=io.BytesIO("\n".join(lines).encode()), tag=tag, rm=True)
        return str(built.id)


def write_root(tar: tarfile.TarFile, packages: Iterable[Path]) -> None:
    """Write a file tree that an interpreter runs in."""
    executable = Path(files.base_executable())
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    site = Path(sys.base_prefix, "lib", version, "site-packages")
    own = [path for path in map(Path, files.interpreter_paths()) if path.is_relative_to(sys.base_prefix)]
    trees = {path: path for path in (executable, *own)} | {path: site / path.name for path in packages}
    written: set[str] = set()
    for source, target in trees.items():
        add(tar, source, target, written)
    for library in sorted(libraries(path for tree in trees for path in binaries(tree))):
        if not any(library.is_relative_to(tree.parent) for tree in trees):  # those have their own place
            add(tar, library, library, written)
    for folder in ("/tmp", "/codegym", "/etc", "/proc", "/sys", "/dev"):
        add_folder(tar, folder, written)
    link = tarfile.TarInfo("usr/bin/python3")
    link.type, link.linkname = tarfile.SYMTYPE, str(executable)
    add_folder(tar, "/usr/bin", written)
    tar.addfile(link)


def add(tar: tarfile.TarFile, source: Path, target: Path, written: set[str]) -> None:
    """Add a file or a tree, readable by everybody, with the folders above it."""
    if str(target) in written or source.name in SKIPPED or source.suffix in (".pyc", ".a"):
        return
    for parent in reversed(target.parents):
        add_folder(tar, str(parent), written)
    if source.is_dir():
        add_folder(tar, str(target), written)
        for child in sorted(source.iterdir()):
            add(tar, child, target / child.name, written)
        return
    written.add(str(target))
    info = tarfile.TarInfo(str(target).lstrip("/"))
    info.size, info.mode = source.stat().st_size, 0o755
    with source.open("rb") as file:
        tar.addfile(info, file)


def add_folder(tar: tarfile.TarFile, path: str, written: set[str]) -> None:
    """Add a folder that everybody may enter."""
    if path in written or path == "/":
        return
    written.add(path)
    info = tarfile.TarInfo(path.lstrip("/"))
    info.type, info.mode = tarfile.DIRTYPE, 0o1777 if path == "/tmp" else 0o755
    tar.addfile(info)


def binaries(tree: Path) -> Iterator[Path]:
    """The executables and shared libraries in a tree."""
    if tree.is_file():
        yield tree
        return
    for folder, _, names in os.walk(tree):
        yield from (Path(folder, name) for name in names if ".so" in name)


def libraries(programs: Iterable[Path]) -> set[Path]:
    """The shared libraries that programs load, by their paths."""
    listed = subprocess.run(["ldd", *map(str, programs)], capture_output=True, text=True)
    paths = re.findall(r"(/\S+\.so\S*) \(", listed.stdout)
    return {Path(os.path.normpath(path)) for path in paths}
