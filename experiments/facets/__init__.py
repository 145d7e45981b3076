"""Belahcene, Sokolovska, Chevaleyre & Zucker (2020): soft integrity constraints."""
