"""Control groups: both versions of the interface, and what they are there for."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from codegym.core import Limits
from codegym.errors import InfraError
from codegym.sandbox import CallBatch, Ending, cgroups, make_sandbox
from codegym.sandbox.linux import ControlGroup
from codegym.sandbox.plain import encode

V1_MOUNTS = """\
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
39 31 0:36 / /sys/fs/cgroup/with\\040space rw,relatime - cgroup cgroup rw,pids
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
"""
V1_OWN = "8:pids:/\n4:memory:/some/where\n2:cpu,cpuacct:/\n0::/\n"
V2_MOUNTS = "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"


def test_version_1_is_found_hierarchy_by_hierarchy():
    first, *_ = cgroups.candidates(V1_MOUNTS, V1_OWN)
    assert first.version == 1
    assert first.folders == {
        "memory": Path("/sys/fs/cgroup/memory/some/where"),
        "pids": Path("/sys/fs/cgroup/with space"),
        "cpuacct": Path("/sys/fs/cgroup/cpu,cpuacct"),
    }
    assert first.file("g", "cpu") == Path("/sys/fs/cgroup/cpu,cpuacct/g/cpuacct.usage")


def test_in_version_2_the_group_above_is_tried_too():
    found = [p.folders["memory"] for p in cgroups.candidates(V2_MOUNTS, "0::/user.slice/run.scope\n")]
    assert found == [Path("/sys/fs/cgroup/user.slice/run.scope"), Path("/sys/fs/cgroup/user.slice")]
    assert [p.folders["memory"] for p in cgroups.candidates(V2_MOUNTS, "0::/\n")] == [Path("/sys/fs/cgroup")]


def test_without_control_groups_there_is_no_place():
    assert list(cgroups.candidates("22 1 0:20 / / rw - ext4 /dev/vda rw\n", "")) == []


@pytest.fixture
def unified(tmp_path, monkeypatch):
    """A folder that looks like a delegated subtree of version 2: a new folder in it gets the files."""
    real = Path.mkdir

    def mkdir(self, *args, **kwargs):
        real(self, *args, **kwargs)
        if self.parent == tmp_path:
            for name in (
                "memory.max",
                "memory.current",
                "memory.swap.max",
                "pids.max",
                "cpu.stat",
                "cgroup.procs",
            ):
                (self / name).write_text("0")

    def rmdir(self):
        for file in self.iterdir():
            file.unlink()
        os.rmdir(self)

    monkeypatch.setattr(Path, "mkdir", mkdir)
    monkeypatch.setattr(Path, "rmdir", rmdir)
    return cgroups.Parent(version=2, folders=dict.fromkeys(("memory", "pids", "cpuacct"), tmp_path))


def test_version_2_is_written_to_in_its_own_words(unified, tmp_path):
    assert cgroups.usable(unified)
    group = cgroups.Group(unified)
    folder = tmp_path / group.name
    (folder / "memory.current").write_text("1000")
    group.add(77)
    group.measure()
    group.limit(500, 9)
    written = {
        name: (folder / name).read_text()
        for name in ("cgroup.procs", "memory.max", "pids.max", "memory.swap.max")
    }
    assert written == {"cgroup.procs": "77", "memory.max": "1500", "pids.max": "9", "memory.swap.max": "0"}
    assert group.files() == {"cpu": str(folder / "cpu.stat"), "kills": ""}
    (folder / "memory.max").write_text("untouched")
    group.limit(500, 9)
    assert (folder / "memory.max").read_text() == "untouched"
    group.remove()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_a_memory_controller_is_no_place(tmp_path):
    parent = cgroups.Parent(version=2, folders={"memory": tmp_path})
    assert not cgroups.usable(parent)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_to_is_no_place():
    assert not cgroups.usable(cgroups.Parent(version=2, folders={"memory": Path("/proc")}))


def test_the_groups_of_a_maker_that_was_killed_are_removed(tmp_path):
    ended = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True
    )
    stale, alive, other = f"codegym-{ended.stdout.strip()}-0", f"codegym-{os.getpid()}-0", "somebody-1-0"
    for name in (stale, alive, other):
        (tmp_path / name).mkdir()
    cgroups.reap(cgroups.Parent(version=2, folders={"memory": tmp_path}))
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([alive, other])


def test_a_group_whose_processes_stay_is_our_trouble(tmp_path, monkeypatch):
    monkeypatch.setattr(cgroups, "REMOVE_S", 0.01)
    monkeypatch.setattr(cgroups, "removed", lambda folder: False)
    group = cgroups.Group(cgroups.Parent(version=2, folders={"memory": tmp_path}))
    with pytest.raises(InfraError, match="still has processes"):
        group.remove()


@pytest.mark.parametrize(
    ("text", "seconds"), [("2500000000\n", 2.5), ("usage_usec 1500000\nuser_usec 1\n", 1.5)]
)
@pytest.mark.parametrize(
    "kills", ["oom_kill_disable 0\nunder_oom 0\noom_kill 3\n", "low 0\noom 4\noom_kill 3\n"]
)
def test_a_group_is_read_in_both_versions(tmp_path, text, seconds, kills):
    (tmp_path / "cpu").write_text(text)
    (tmp_path / "kills").write_text(kills)
    group = ControlGroup({name: str(tmp_path / name) for name in ("cpu", "kills")})
    assert (group.cpu_s(), group.out_of_memory_kills()) == (seconds, 3)
    os.close(group.cpu)
    os.close(group.kills)


def test_of_a_group_without_files_nothing_is_known():
    group = ControlGroup({"cpu": "", "kills": ""})
    assert (group.cpu_s(), group.out_of_memory_kills()) == (0, 0)


# For real, where this process may make groups

needs_groups = pytest.mark.skipif(
    sys.platform != "linux" or cgroups.find_parent() is None,
    reason="this process may not make control groups with a memory limit",
)


@pytest.fixture
def lone():
    with make_sandbox("local", workers=1) as sandbox:
        yield sandbox


def ask(sandbox, code, **limits):
    request = CallBatch(code=code, entry_point="f", inputs=[encode(((1,), {}))], limits=Limits(**limits))
    return sandbox.execute(request)


@needs_groups
def test_memory_is_limited_for_all_processes_together(lone):
    code = """
import os, time
def f(x):
    for _ in range(8):
        if os.fork() == 0:
            held = bytearray(40 << 20)
            time.sleep(30)
    time.sleep(2)
    return x
"""
    assert "cgroup" in lone.isolation.layers
    assert ask(lone, code, memory_mb=100, output_mb=1, wall_s=10).ending == Ending.MEMORY
    assert ask(lone, code, memory_mb=500, output_mb=1, wall_s=10).ending == Ending.DONE


@needs_groups
def test_the_cpu_time_of_children_counts(lone):
    code = """
import os
def f(x):
    for _ in range(3):
        if os.fork() == 0:
            while True: pass
    os.wait()
"""
    execution = ask(lone, code, cpu_s=0.5, wall_s=60)
    assert execution.ending == Ending.CPU


@needs_groups
def test_a_thread_may_have_a_large_stack(lone):
    code = """
import threading
def f(x):
    threading.stack_size(512 << 20)
    found = []
    thread = threading.Thread(target=lambda: found.append(x + 1))
    thread.start()
    thread.join()
    return found[0]
"""
    assert ask(lone, code, memory_mb=256).ending == Ending.DONE


@needs_groups
def test_nothing_is_left_of_a_group(lone):
    (worker,) = lone._live
    folders = list(worker.group._folders())
    assert all(folder.exists() for folder in folders)
    lone.close()
    assert not any(folder.exists() for folder in folders)


@needs_groups
def test_a_worker_survives_a_program_that_takes_all_memory(lone):
    (before,) = lone._live
    code = "def f(x):\n    held = []\n    while True: held.append(bytearray(1 << 20))\n"
    for _ in range(3):
        assert ask(lone, code, memory_mb=64).ending == Ending.MEMORY
    assert ask(lone, "def f(x): return x").ending == Ending.DONE
    (after,) = lone._live
    assert after is before


@needs_groups
def test_a_host_that_is_killed_leaves_groups_that_the_next_one_removes():
    code = (
        "import os\nfrom codegym.sandbox import make_sandbox\n"
        "box = make_sandbox('local', workers=1).start()\nprint('up', flush=True)\nos.kill(os.getpid(), 9)\n"
    )
    host = subprocess.Popen([sys.executable, "-W", "ignore", "-c", code], stdout=subprocess.PIPE, text=True)
    assert host.communicate()[0] == "up\n"
    parent = cgroups.find_parent()

    def left():
        return [
            found for folder in set(parent.folders.values()) for found in folder.glob(f"codegym-{host.pid}-*")
        ]

    assert left()
    for _ in range(500):
        cgroups.reap(parent)
        if not left():
            break
        time.sleep(0.01)
    assert not left()
