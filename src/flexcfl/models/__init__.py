"""The networks of the paper as plain torch modules (Section 5.1, Table 2)."""
