"""A run's models for others: files of tensors, a card that says what they are, and settings."""

from flexcfl.record.export.card import card
from flexcfl.record.export.facts import Facts, Group
from flexcfl.record.export.settings import config

__all__ = ["Facts", "Group", "card", "config"]
