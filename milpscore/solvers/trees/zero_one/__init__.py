"""The tree search under the 0-1 loss."""
