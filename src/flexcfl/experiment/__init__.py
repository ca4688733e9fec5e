"""What is to be run: every setting, from defaults, files and options to one experiment."""
