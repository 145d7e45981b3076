"""Wang, Oh, Wang & Wiens, "Learning credible models" (2018)."""
