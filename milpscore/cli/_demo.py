"""``milpscore demo``."""
def demo_command() -> None:
    """TBD."""
