"""The record of a run: what its folder holds, one declaration of each table, written and read."""
