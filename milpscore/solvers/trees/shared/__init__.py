"""What both tree searches are made of."""
