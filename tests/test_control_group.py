"""Quotas of control groups, in files as Linux writes them; the cores that follow from them."""

import os

import pytest

from qse import machine
from qse.control_group import ENDLESS, cpu_quota

V1 = "5:memory:/docker/1f\n4:cpu,cpuacct:/docker/1f\n1:cpuset:/docker/1f\n0::/docker/1f\n"


def system(root, groups: str, **files: str):
    """Make a file system: `groups` is that of the process, a key "a__b" the file a/b."""
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text(groups)
    for name, text in files.items():
        path = root / "sys/fs/cgroup" / name.replace("__", "/").replace("_DOT_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.mark.parametrize(
    "groups, files, expected",
    [
        ("0::/\n", {"cpu_DOT_max": "150000 100000\n"}, 1.5),
        ("0::/\n", {"cpu_DOT_max": "max 100000\n"}, ENDLESS),
        ("0::/a/b\n", {"a__b__cpu_DOT_max": "max 100000\n"}, ENDLESS),
        ("0::/a/b\n", {"a__b__cpu_DOT_max": "max 100000\n", "a__cpu_DOT_max": "50000 10000"}, 5),
        ("0::/a/b\n", {"a__b__cpu_DOT_max": "300000 100000", "a__cpu_DOT_max": "90000 10000"}, 3),
        ("0::/a:b\n", {"a:b__cpu_DOT_max": "300000 100000\n"}, 3),
        ("0::/\n", {}, ENDLESS),
        ("0::/\n", {"cpu_DOT_max": "\n"}, ENDLESS),
        ("0::/\n", {"cpu_DOT_max": "0 0\n"}, ENDLESS),
        ("", {"cpu_DOT_max": "100000 100000\n"}, ENDLESS),
    ],
)
def test_quota_of_version_2(tmp_path, groups, files, expected):
    assert cpu_quota(system(tmp_path, groups, **files)) == expected


@pytest.mark.parametrize("place", ["cpu,cpuacct__docker__1f", "cpu,cpuacct__docker", "cpu,cpuacct"])
@pytest.mark.parametrize("quota, expected", [("250000\n", 2.5), ("-1\n", ENDLESS)])
def test_quota_of_version_1(tmp_path, place, quota, expected):
    """In the group itself, around it, and where a container sees its own group as the root."""
    files = {
        f"{place}__cpu_DOT_cfs_quota_us": quota,
        f"{place}__cpu_DOT_cfs_period_us": "100000\n",
        "memory__cpu_DOT_max": "10000 100000\n",
    }
    assert cpu_quota(system(tmp_path, V1, **files)) == expected


def test_no_control_groups(tmp_path):
    assert cpu_quota(tmp_path) == ENDLESS


@pytest.mark.parametrize(
    "quota, expected", [(0.1, 1), (1, 1), (1.5, 2), (3, 3), (8, 4), (ENDLESS, 4)]
)
def test_cores_are_those_of_the_quota(monkeypatch, quota, expected):
    monkeypatch.setattr(machine, "cpu_quota", lambda: quota)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1, 2, 3}, raising=False)
    assert machine.cores() == expected
