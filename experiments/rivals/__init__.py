"""Other packages' learners of risk scores, each in a process of its own."""
