"""Local training of many clients at once, on flat float32 vectors."""
