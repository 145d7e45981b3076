"""Search for wrong claims: random tiny instances, a meaning of their own, a minimiser.

``python -m fuzz --seconds 600 --seed 0`` solves instances of every formulation with every engine,
enumerates all their cards by arithmetic that shares nothing with the package (:mod:`fuzz.meaning`),
and prints each claim that does not hold as a script that shows it (:mod:`fuzz.shrinking`).
"""
