"""What shows a card to people: the report, figures, and the studio, with their commands."""
