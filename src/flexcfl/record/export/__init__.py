"""Exported models: the model card and ``config.json`` that go with their files."""

from flexcfl.record.export.card import ExportedGroup, ExportedRun, card, config

__all__ = ["ExportedGroup", "ExportedRun", "card", "config"]
