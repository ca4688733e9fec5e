"""The settings, progress and results of a run, on a terminal or in a notebook."""
