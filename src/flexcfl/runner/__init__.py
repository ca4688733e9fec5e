"""From an experiment to its results: settings, loop, run folder."""
