"""A run's models for others: files of tensors, a card that says what they are, and settings."""

from flexcfl.export.card import card
from flexcfl.export.facts import Facts, Group
from flexcfl.export.settings import config

__all__ = ["Facts", "Group", "card", "config"]
