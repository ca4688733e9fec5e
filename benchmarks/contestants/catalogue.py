"""Who takes part: the name in the table, the script, and what its environment is made of."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import torch

__all__ = ["CATALOGUE", "OURS", "PLAIN", "Entry"]

# Everybody's torch is the one that runs us.
_TORCH = f"torch=={torch.__version__.partition('+')[0]}"


@dataclass(frozen=True)
class Entry:
    """A contestant.

    In ``title``, ``{torch}`` stands for the version of that package. ``installs`` are the arguments
    of one ``pip install`` after the other; without any it runs in the current environment.
    ``threads`` bounds what torch and BLAS use; None leaves it to them. ``note`` is what a reader of
    the table should know.
    """

    title: str
    script: str
    installs: tuple[tuple[str, ...], ...] = ()
    threads: int | None = None
    note: str = ""

    def label(self, versions: Mapping[str, str]) -> str:
        """Return the title with versions, or without those that are not known."""
        return re.sub(
            r" ?\{(\w+)\}",
            lambda found: (
                f" {versions[found[1]].partition('+')[0]}" if found[1] in versions else ""
            ),
            self.title,
        )


PLAIN, OURS = "plain", "flexcfl"

CATALOGUE: Mapping[str, Entry] = {
    PLAIN: Entry("plain PyTorch {torch} loop over clients, 1 thread", "plain", threads=1),
    "fedjax": Entry(
        "FedJAX {fedjax}",
        "fedjax",
        (
            (
                *("fedjax==0.0.17", "jax==0.4.30", "jaxlib==0.4.30"),
                *("dm-haiku==0.0.12", "optax==0.2.3", "chex<0.1.90"),
            ),
        ),
        note="all cores; one stream of full batches for each client, so a few steps less",
    ),
    "pfl": Entry(
        "pfl-research {pfl}",
        "pfl",
        (("pfl[pytorch]==0.6.0", _TORCH),),
        threads=1,
        note="1 thread; the same order of examples in every epoch",
    ),
    "blazefl": Entry(
        "BlazeFL {blazefl}, serial",
        "blazefl",
        (
            (_TORCH, "numpy", "tqdm"),
            # It asks for Python 3.12 and runs with what older ones have.
            ("--no-deps", "--ignore-requires-python", "blazefl==2.0.3"),
        ),
        threads=1,
        note="1 thread; installed whatever Python it asks for",
    ),
    "fedlab": Entry(
        "FedLab {fedlab}, serial",
        "fedlab",
        (
            (_TORCH, "numpy", "pandas", "scikit-learn", "pynvml", "tqdm", "munch", "pillow"),
            ("--no-deps", "fedlab==1.3.0"),
        ),
        threads=1,
        note="1 thread; averages unweighted; installed without torchvision",
    ),
    "flower": Entry(
        "Flower {flwr} simulation (Ray)",
        "flower",
        (("flwr[simulation]==1.41.0", _TORCH),),
        threads=1,
        note="a client app of 1 thread on each core (of low priority, as Ray has it); one start of "
        "the strategy for each round",
    ),
    OURS: Entry("flexcfl {flexcfl}, all cores", "ours"),
    "flexcfl-one": Entry("flexcfl {flexcfl}, 1 thread", "ours", threads=1),
}
