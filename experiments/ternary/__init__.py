"""Chevaleyre, Koriche & Zucker (2013): ternary weights from metagenomic data."""
