from ._desk import Desk as Desk
from .questions import Price as Price
from .widget import studio as studio
