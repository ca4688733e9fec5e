"""Messages without anything in them, to see what Flower takes for one."""
