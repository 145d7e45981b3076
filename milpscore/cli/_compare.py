"""``milpscore compare``: exact beside relaxed beside rounded."""
def compare_command() -> None:
    """TBD."""
