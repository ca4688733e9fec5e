"""Reports of runs: on a terminal, as charts, and as an HTML page."""
