"""Read the share of the processor that Linux grants to this process (cgroup v1 and v2)."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

ENDLESS = 1e6  # cores, where there is no limit


def cpu_quota(root: Path = Path("/")) -> float:
    """Return the least quota of the control groups that this process is in, in cores; ENDLESS
    without one. `root`: of the file system."""
    quotas = [ENDLESS]
    for folder in _folders(root):
        quotas.append(_quota(folder))
    return min(quotas)


def _folders(root: Path) -> Iterator[Path]:
    """Yield the folders of the groups that limit the processor, and of those around them.

    In a container, the path of a group may be that of the host; then only the root is there.
    """
    mount = root / "sys/fs/cgroup"
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, controllers, group = [*line.split(":", 2), "", ""][:3]
        if controllers and "cpu" not in controllers.split(","):
            continue
        top = mount / controllers  # of v2 the mount itself
        place = PurePosixPath(group.lstrip("/"))
        for part in (place, *place.parents):
            yield top / part


def _quota(folder: Path) -> float:
    """Return the quota of one group, in cores."""
    text = _text(folder / "cpu.max")
    if not text:
        text = f"{_text(folder / 'cpu.cfs_quota_us')} {_text(folder / 'cpu.cfs_period_us')}"
    quota, period = [*text.split(), "", ""][:2]
    if not (quota.isdecimal() and period.isdecimal() and int(quota) and int(period)):
        return ENDLESS  # "max" in v2, -1 in v1, no such group
    return int(quota) / int(period)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""
