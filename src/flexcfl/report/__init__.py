"""What runs show: in a terminal, as charts, and on a page."""
