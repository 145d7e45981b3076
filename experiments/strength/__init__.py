"""Ustun & Rudin (2016): the 0-1 program from its weakest to its strongest form."""
