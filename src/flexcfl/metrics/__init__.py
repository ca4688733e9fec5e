"""What is measured: accuracy, loss, discrepancy and traffic."""
