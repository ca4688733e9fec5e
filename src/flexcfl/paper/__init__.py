"""The paper's own experiments: its tables, figures and bound, behind ``flexcfl reproduce``."""
