"""What an answer may be: a value of a list, a number, a set, a number for each key, several attributes, text."""

from sottovoce.domain.attributes import Attributes
from sottovoce.domain.columns import to_list
from sottovoce.domain.keyed import Keyed
from sottovoce.domain.options import Options
from sottovoce.domain.scale import Scale
from sottovoce.domain.text import Text
from sottovoce.domain.values import Domain, Label, is_missing

__all__ = ["Attributes", "Domain", "Keyed", "Label", "Options", "Scale", "Text", "is_missing", "to_list"]
