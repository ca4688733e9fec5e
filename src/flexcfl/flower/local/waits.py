"""Flower's waits, shortened where a whole federation is on one machine.

A SuperNode looks for messages every 3 seconds, and who asks for a part of one that is still being
written tries again after a second. Between machines that spares the network; here, where a look
costs a millisecond, a round of a small federation would be almost nothing else.
"""

import time
from types import SimpleNamespace
from typing import Any

from flwr.supercore.inflatable import inflatable_utils
from flwr.supernode import start_client_internal

__all__ = ["LONGEST", "PULLS", "SUPERNODE", "shorten"]

LONGEST = 0.2  # seconds between two looks
SUPERNODE: Any = start_client_internal  # which takes nothing but ``sleep`` from the module ``time``
PULLS: Any = (inflatable_utils.pull_objects, inflatable_utils.pull_and_inflate_object_from_tree)


def shorten() -> None:
    """Shorten what Flower's programs wait for each other, in this process and its forks."""
    SUPERNODE.time = SimpleNamespace(sleep=lambda seconds: time.sleep(min(seconds, LONGEST)))
    for pull in PULLS:
        pull.__kwdefaults__["initial_backoff"] = LONGEST
