"""Clustered federated learning that keeps working when clients differ and change."""

__version__ = "0.1.0"
