"""The machine of a measurement: processor, cores, memory, and versions of packages."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version

from flexcfl.runner.origin import processor

PACKAGES = ("flexcfl", "torch", "numpy", "numba")


def machine() -> str:
    """Return one line on the machine and the versions."""
    found = [f"{name} {_version(name)}" for name in PACKAGES]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    system = f"{platform.system()}, Python {platform.python_version()}"
    return ", ".join([f"{processor()}, {cores} cores", *_memory(), system, *found])


def peak_memory() -> int:
    """Return the peak memory of this process so far, in bytes."""
    import resource

    unit = 1 if platform.system() == "Darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _memory() -> list[str]:
    if "SC_PHYS_PAGES" not in getattr(os, "sysconf_names", {}):
        return []
    size = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    return [f"{size:.0f} GiB of memory"]


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
