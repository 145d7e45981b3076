from ._desk import Desk as Desk
from .questions import Price as Price
