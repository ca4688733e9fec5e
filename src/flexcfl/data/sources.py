"""The public files behind the datasets: their names, checksums and well-known mirrors."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

__all__ = ["SOURCES", "Source"]


# As sha256sum prints them.
MNIST_SHA256 = """
ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db  train-images-idx3-ubyte
65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5  train-labels-idx1-ubyte
0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7  t10k-images-idx3-ubyte
ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2  t10k-labels-idx1-ubyte
"""
FASHION_MNIST_SHA256 = """
c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888  train-images-idx3-ubyte
bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9  train-labels-idx1-ubyte
5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b  t10k-images-idx3-ubyte
0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34  t10k-labels-idx1-ubyte
"""


@dataclass(frozen=True)
class Source:
    """The files of one dataset.

    ``folder`` is their folder inside a data folder, ``sha256`` maps each name (without ``.gz``) to
    the SHA-256 of its decompressed content, ``mirrors`` are addresses to try in order, each of a
    folder with ``NAME.gz`` or, where ``archive`` is true, of a zip with such members.
    ``installed`` are complete folders where a system's own package may have put the files.
    """

    folder: str
    sha256: Mapping[str, str]
    mirrors: tuple[str, ...]
    archive: bool = False
    installed: tuple[Path, ...] = ()


def _listed(text: str) -> Mapping[str, str]:
    """Return checksums by the names of their files."""
    return {name: sha256 for sha256, name in map(str.split, text.split("\n")[1:-1])}


MNIST = Source(
    folder="mnist",
    sha256=_listed(MNIST_SHA256),
    mirrors=(
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
        "https://storage.googleapis.com/cvdf-datasets/mnist/",
    ),
)

EMNIST = Source(
    folder="emnist",
    sha256={
        "emnist-byclass-test-images-idx3-ubyte": (
            "385559d7d5c96f49cd6b55b3e9e76d7ecbf568897b6067e8cac8f1ffc2f50f81"
        ),
        "emnist-byclass-test-labels-idx1-ubyte": (
            "842d01413932b3ce7afbc9990376a16f8880a212bb42d66fa2922b4218cf300a"
        ),
    },
    mirrors=(
        "https://biometrics.nist.gov/cs_links/EMNIST/gzip.zip",
        "https://www.itl.nist.gov/iaui/vip/cs_links/EMNIST/gzip.zip",
    ),
    archive=True,
)

FASHION_MNIST = Source(
    folder="fashion-mnist",
    sha256=_listed(FASHION_MNIST_SHA256),
    mirrors=(
        "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
        "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
    ),
    # Debian's package dataset-fashion-mnist.
    installed=(Path("/usr/share/datasets/fashion-mnist"),),
)

SOURCES: Mapping[str, Source] = MappingProxyType(
    {"mnist": MNIST, "femnist": EMNIST, "fashion-mnist": FASHION_MNIST}
)
