"""In a terminal or a notebook: the settings, the progress and the results of a run."""
