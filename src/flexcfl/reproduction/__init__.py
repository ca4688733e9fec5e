"""The paper's evidence, made again: every table and figure by one command."""
