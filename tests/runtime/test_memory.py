"""The memory that is free: of the machine, of every control group around the process."""

import pytest

from maxmargin.runtime.memory import free_memory

GB = 2**30


@pytest.fixture
def machine(tmp_path):
    """Return a function that writes the files and asks."""

    def ask(available=8 * GB, member="0::/job", groups=None):
        proc = tmp_path / "proc"
        (proc / "self").mkdir(parents=True)
        (proc / "self" / "cgroup").write_text(f"3:cpu,cpuacct:/job\n{member}\n")
        (proc / "meminfo").write_text(f"MemFree: 1 kB\nMemAvailable: {available // 1024} kB\n")
        for folder, files in (groups or {}).items():
            (tmp_path / "groups" / folder).mkdir(parents=True, exist_ok=True)
            for name, text in files.items():
                (tmp_path / "groups" / folder / name).write_text(str(text))
        return free_memory(proc, tmp_path / "groups")

    return ask


def group(limit, use, cached=0):
    """Return the files of a group of version 2."""
    return {"memory.max": limit, "memory.current": use, "memory.stat": f"inactive_file {cached}\n"}


def old_group(limit, use, cached=0):
    """Return the files of a group of version 1."""
    return {
        "memory.limit_in_bytes": limit,
        "memory.usage_in_bytes": use,
        "memory.stat": f"inactive_file 1\ntotal_inactive_file {cached}\n",
    }


def test_pages_of_cached_files_count_as_free(machine):
    assert machine(available=5 * GB) == 5 * GB


def test_a_container_limits(machine):
    assert machine(groups={"job": group(2 * GB, GB // 2)}) == 1.5 * GB


def test_a_container_limits_in_version_1(machine):
    groups = {"memory/job": old_group(2 * GB, GB // 2)}
    assert machine(member="4:memory:/job", groups=groups) == 1.5 * GB


def test_cached_files_of_a_container_can_be_given_back(machine):
    assert machine(groups={"job": group(2 * GB, 2 * GB, cached=GB)}) == GB


def test_cached_files_in_version_1(machine):
    groups = {"memory/job": old_group(2 * GB, 2 * GB, cached=GB)}
    assert machine(member="4:memory:/job", groups=groups) == GB


def test_the_groups_around_it_limit_too(machine):
    groups = {"a/b": group("max", GB), "a": group(3 * GB, GB)}
    assert machine(member="0::/a/b", groups=groups) == 2 * GB


def test_a_container_that_sees_its_group_as_the_root(machine):
    assert machine(member="0::/host/only", groups={".": group(GB, 0)}) == GB


def test_no_limit_is_no_limit(machine):
    assert machine(groups={"job": group("max", GB)}) == 8 * GB


def test_the_huge_number_of_version_1_is_no_limit(machine):
    groups = {"memory/job": old_group(2**63 - 4096, GB)}
    assert machine(member="4:memory:/job", groups=groups) == 8 * GB


def test_a_group_beyond_its_limit_has_nothing_left(machine):
    assert machine(groups={"job": group(GB, 2 * GB)}) == 0.0


def test_odd_files_are_passed_over(machine):
    groups = {"job": {"memory.max": "", "memory.current": "what?"}}
    assert machine(groups=groups) == 8 * GB


def test_without_such_files_there_is_an_answer(tmp_path):
    assert free_memory(tmp_path, tmp_path) > 0.0


def test_this_machine_has_memory():
    assert 2**20 < free_memory() < 2**50
