"""Alaya, "Binarsity: a penalization for one-hot encoded features" (seminar, 2018)."""
