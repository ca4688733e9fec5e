"""A run's models for others: files of tensors, a card that says what they are, and settings."""

from flexcfl.record.export.card import ExportedGroup, ExportedRun, card, config

__all__ = ["ExportedGroup", "ExportedRun", "card", "config"]
