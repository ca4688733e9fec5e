"""Every method, one paper to a file, all driven through the same conversation."""
