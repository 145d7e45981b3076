"""What a card's errors say of new rows: bounds that no program of the package needs."""
