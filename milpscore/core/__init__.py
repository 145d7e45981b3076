"""Small frozen things every other room may name."""
