"""What an answer may be: a value of a list, a number, a set, a number for each key, several attributes, text."""

from sottovoce.core.domain.answer_domain import AnswerDomain
from sottovoce.core.domain.attributes import Attributes
from sottovoce.core.domain.columns import to_list
from sottovoce.core.domain.keyed import Keyed
from sottovoce.core.domain.options import Options
from sottovoce.core.domain.scale import Scale
from sottovoce.core.domain.text import Text
from sottovoce.core.domain.values import Domain, Label, is_missing

__all__ = [
    "AnswerDomain",
    "Attributes",
    "Domain",
    "Keyed",
    "Label",
    "Options",
    "Scale",
    "Text",
    "is_missing",
    "to_list",
]
