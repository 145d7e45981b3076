from ._desk import Desk as Desk
from ._studio import studio as studio
from .questions import Price as Price
