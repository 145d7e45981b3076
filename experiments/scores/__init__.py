"""Sokolovska, Chevaleyre & Zucker: score learning, and the DiaRem card."""
