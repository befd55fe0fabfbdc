"""The contract between devices and collectors: one document that says what is asked, how, and what it costs."""

from __future__ import annotations

import json

from sottovoce.core.canonical import JsonObject
from sottovoce.survey.document import Survey
from sottovoce.survey.question import Covariate, Question

__all__ = ["Covariate", "Question", "Survey", "schema"]


def schema() -> JsonObject:
    """The JSON Schema of a survey document, drafts and published ones alike.

    >>> schema()["required"]
    ['sottovoce', 'id', 'title', 'questions']
    """
    from importlib import resources  # It takes as long to import as all the rest.

    text = resources.files("sottovoce.survey").joinpath("schemas", "survey-1.json").read_text("utf-8")
    return dict(json.loads(text))
