"""Federations: real data sets, partitions, and where their files come from."""
