"""What others add: algorithms, models and more, found by name in packages and files of theirs.

An installed package announces its own by an entry point of the group ``flexcfl.algorithms``,
``flexcfl.detectors`` and so on; anything that can be imported is named ``package.module:name``.
Nothing of others is imported before somebody names it.
"""

from flexcfl.extensions.importing import RAISED, importable_from_here, imported, is_path
from flexcfl.extensions.registry import Registry, summary_of, understood_as
from flexcfl.extensions.wording import in_short

__all__ = [
    "RAISED",
    "Registry",
    "importable_from_here",
    "imported",
    "in_short",
    "is_path",
    "summary_of",
    "understood_as",
]
