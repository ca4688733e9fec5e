"""The record of a run: its folder, its tables and its summary, written and read."""
