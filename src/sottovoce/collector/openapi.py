"""The description of the service, by OpenAPI 3.1. Clients and tests can be generated from it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources

from sottovoce import __version__
from sottovoce.core.canonical import JsonObject
from sottovoce.web.http import HTML, Request, Response
from sottovoce.web.routing import Table

ID = {"type": "string", "pattern": "^[0-9a-f]{32}$"}
COUNT = {"type": "integer", "minimum": 0}
TEXT = {"type": "string"}
NUMBER = {"type": "number"}
DIGEST = {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"}


def _object(**properties: JsonObject) -> JsonObject:
    return {"type": "object", "required": list(properties), "properties": properties}


def _list(items: JsonObject) -> JsonObject:
    return {"type": "array", "items": items}


PLACE: dict[str, JsonObject] = {
    "question": TEXT,
    "wave": COUNT,
    "group": {"type": "object", "additionalProperties": TEXT},
}
SCHEMAS: dict[str, JsonObject] = {
    "Error": _object(error=_object(code=TEXT, message=TEXT)),
    "Submission": {
        **_object(
            covariates={"type": "object", "additionalProperties": TEXT},
            id=ID,
            reports={"type": "object", "additionalProperties": {"type": ["integer", "string", "null"]}},
            survey=DIGEST,
            wave=COUNT,
        ),
        "additionalProperties": False,
    },
    "Batch": {**_object(reports={**_list({"$ref": "#/components/schemas/Submission"}), "minItems": 1}),
              "additionalProperties": False},
    "Batched": _object(reports=COUNT),
    "Taken": _object(accepted=COUNT, duplicates=COUNT),
    "Survey": _object(sottovoce={"const": 1}, id={"type": "string", "pattern": "^[a-z0-9-]{1,64}$"}, title=TEXT,
                      questions=_list({"type": "object"})),
    "Published": _object(id=TEXT, digest=DIGEST),
    "Surveys": _object(surveys=_list(_object(id=TEXT, digest=DIGEST, state={"enum": ["open", "closed"]},
                                             invited={"type": "boolean"}))),
    "Closed": _object(id=TEXT, state={"const": "closed"}),
    "Estimates": _object(
        survey=TEXT,
        digest=DIGEST,
        results=_list(_object(**PLACE, n=COUNT, epsilon={"type": "number"}, level={"type": "number"},
                              estimates=_list({"type": "object"}))),
        withheld=_list(_object(**PLACE, reason=TEXT)),
    ),
    "Guarantee": _object(local=_object(epsilon=NUMBER), central={"type": ["object", "null"]}),
    "Differences": _object(
        survey=TEXT, question=TEXT, by=TEXT, wave=COUNT, level=NUMBER, withheld=_list(TEXT),
        groups=_list(_object(group=TEXT, n=COUNT, rows={"type": "object"})), test={"type": ["object", "null"]},
        differences=_list(_object(label=TEXT, group=TEXT, other=TEXT, estimate=NUMBER, low=NUMBER, high=NUMBER,
                                  p_value=NUMBER, adjusted=NUMBER)),
        reason={"type": ["string", "null"]},
    ),
    "Plan": _object(chosen={"type": "object"}, mechanisms=_list({"type": "object"}), open={"type": ["object", "null"]},
                    curve={"type": "object"}, needs=_list({"type": "object"}), posterior={"type": "object"},
                    findings=_list(TEXT)),
    "Health": _object(status={"const": "ok"}),
}  # fmt: skip

ERRORS = {
    400: "Malformed, for another survey, or a bad query.",
    401: "No valid token.",
    403: "A token of another role, an invitation that is not valid, or not the way of this survey's reports.",
    404: "No such survey.",
    405: "Another method is needed.",
    408: "The body did not come in time.",
    409: "Contradicts what is there: a known id with another report, a known survey with another document.",
    410: "The survey is closed or has expired.",
    411: "The length of the body must be told.",
    413: "Too large.",
    415: "Another content type is needed.",
    429: "Too many requests from one address.",
    503: "The storage cannot be used now. Nothing was acknowledged: send the same again.",
    507: "The disk is full.",
}


def _ref(name: str) -> JsonObject:
    return {"$ref": f"#/components/schemas/{name}"}


def _json(name: str) -> JsonObject:
    return {"application/json": {"schema": _ref(name)}}


def _operation(
    summary: str, done: dict[int, tuple[str, JsonObject]], errors: tuple[int, ...], **more: object
) -> JsonObject:
    responses = {str(status): {"description": text, "content": content} for status, (text, content) in done.items()}
    for status in (*errors, 429, 503):
        responses[str(status)] = {"description": ERRORS[status], "content": _json("Error")}
    return {"summary": summary, "responses": responses, **more}


def _parameter(name: str, schema: JsonObject, text: str) -> JsonObject:
    return {"name": name, "in": "query", "required": False, "schema": schema, "description": text}


SURVEY = {"name": "id", "in": "path", "required": True, "description": "The id of a survey.",
          "schema": {"type": "string", "pattern": "^[a-z0-9-]{1,64}$"}}  # fmt: skip
NEEDS_TOKEN: list[dict[str, list[str]]] = [{"token": []}]
BINARY = {"schema": {"type": "string", "format": "binary"}}
INVITED = _parameter("invited", {"type": "boolean"}, "Whether each report needs an invitation.")
INVITATION = {"name": "sottovoce-invitation", "in": "header", "required": False, "schema": TEXT,
              "description": "For surveys by invitation: good for one report."}  # fmt: skip
BATCH_HEADER = {"name": "sottovoce-batch", "in": "header", "required": True, "schema": TEXT,
        "description": "A code by which the shuffler is known before the body is read."}  # fmt: skip
QUERY = [
    _parameter("question", _list(TEXT), "Only these questions."),
    _parameter("wave", COUNT, "Only this wave."),
    _parameter("by", _list(TEXT), "Separately for each value of these covariates."),
    _parameter("level", {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, "Coverage of the intervals."),
    _parameter("population", {"type": "boolean"}, "Errors about the population sampled, not the respondents alone."),
    _parameter("value", _list(TEXT), "Values to estimate, for questions whose values are not listed."),
    _parameter("format", {"enum": ["json", "csv", "parquet", "arrow"]}, "The form of the answer."),
]

ESTIMATED = (
    "Each with its error. If the survey is by invitation, the header Sottovoce-Waiting has the number of reports that"
    " wait for their group, and are not counted yet."
)
EVENT = _object(event={"enum": ["survey", "state", "trouble"]}, data=TEXT)
EVENTS = _parameter(
    "events", {"type": "integer", "minimum": 1, "maximum": 1000}, "End after so many; never by default."
)
PLAN = [
    _parameter(
        "kind", {"enum": ["yes_no", "choice", "multiple", "ordered", "number", "text"]}, "The kind of question."
    ),
    _parameter("values", {"type": "integer", "minimum": 2, "maximum": 1000}, "How many there are to choose from."),
    _parameter("low", NUMBER, "The least number that may be answered."),
    _parameter("high", NUMBER, "The largest."),
    _parameter("estimate", {"enum": ["mean", "distribution"]}, "What is wanted of numbers."),
    _parameter("mechanism", TEXT, "One for this kind, or auto."),
    _parameter("epsilon", {"type": "number", "minimum": 0.01, "maximum": 16}, "What a report may cost."),
    _parameter("n", {"type": "integer", "minimum": 1, "maximum": 1_000_000_000}, "How many people answer."),
    _parameter("margin", {"type": "number", "exclusiveMinimum": 0}, "Half the width of the interval that is wanted."),
    _parameter("level", {"type": "number", "minimum": 0.5, "maximum": 0.9999}, "Coverage of the intervals."),
    _parameter("prior", {"type": "number", "minimum": 0.001, "maximum": 0.999}, "What an attacker believes before."),
]


def _paths() -> JsonObject:
    publish = _operation(
        "Publish a survey", {200: ("Known already.", _json("Published")), 201: ("New.", _json("Published"))},
        (400, 401, 403, 408, 409, 413), security=NEEDS_TOKEN, parameters=[INVITED],
        requestBody={"required": True, "content": _json("Survey")},
    )  # fmt: skip
    bodies = {
        "application/json": {"schema": {"oneOf": [_ref("Submission"), _ref("Batch")]}},
        "application/x-ndjson": {"schema": TEXT},
        "application/vnd.apache.arrow.stream": BINARY,
    }
    tables = {"application/json": {"schema": _ref("Estimates")}, "text/csv": {"schema": TEXT},
              "application/vnd.apache.parquet": BINARY, "application/vnd.apache.arrow.stream": BINARY}  # fmt: skip
    return {
        "/v1/surveys": {
            "get": _operation(
                "All surveys", {200: ("Their ids.", _json("Surveys"))}, (401, 403), security=NEEDS_TOKEN),
            "post": publish,
            "put": publish,
        },
        "/v1/surveys/{id}": {
            "parameters": [SURVEY],
            "get": _operation("A published survey, byte for byte", {200: ("The survey.", _json("Survey")),
                              304: ("As you have it.", {})}, (404,)),
        },
        "/v1/surveys/{id}/guarantee": {
            "parameters": [SURVEY],
            "get": _operation("What a survey costs a person, and what a shuffler makes of that",
                              {200: ("The guarantees.", _json("Guarantee"))}, (404,)),
        },
        "/v1/surveys/{id}/close": {
            "parameters": [SURVEY],
            "post": _operation("Take no more reports", {200: ("Closed.", _json("Closed"))}, (401, 403, 404),
                               security=NEEDS_TOKEN),
        },
        "/v1/surveys/{id}/reports": {
            "parameters": [SURVEY],
            "post": _operation("Send reports", {200: ("All of them are durable.", _json("Taken"))},
                               (400, 403, 404, 408, 409, 410, 413, 415, 507), parameters=[INVITATION],
                               requestBody={"required": True, "content": bodies}),
        },
        "/v1/surveys/{id}/batches": {
            "parameters": [SURVEY],
            "post": _operation("Send a batch of sealed reports: for the survey's shuffler alone",
                               {200: ("The batch is durable.", _json("Batched"))},
                               (400, 403, 404, 408, 410, 411, 413, 415, 507), parameters=[BATCH_HEADER],
                               requestBody={"required": True, "content": {"application/octet-stream": BINARY}}),
        },
        "/v1/surveys/{id}/estimates": {
            "parameters": [SURVEY],
            "get": _operation("Estimates", {200: (ESTIMATED, tables)}, (400, 401, 403, 404),
                              security=NEEDS_TOKEN, parameters=QUERY),
        },
        "/v1/surveys/{id}/live": {
            "parameters": [SURVEY],
            "get": _operation("Results that come by themselves, as server-sent events: survey, state, trouble",
                              {200: ("A stream.", {"text/event-stream": {"schema": EVENT}})}, (400, 401, 403, 404),
                              security=NEEDS_TOKEN, parameters=[QUERY[1], EVENTS]),
        },
        "/v1/surveys/{id}/differences": {
            "parameters": [SURVEY],
            "get": _operation("How groups differ in one question", {200: ("With tests.", _json("Differences"))},
                              (400, 401, 403, 404), security=NEEDS_TOKEN,
                              parameters=[QUERY[1], QUERY[3], *(_parameter(name, TEXT, text) for name, text in (
                                  ("question", "The question."), ("by", "The covariate that tells groups apart.")))]),
        },
        "/v1/plan": {"get": _operation("What a question tells and gives away, before it is asked",
                                       {200: ("Numbers.", _json("Plan"))}, (400,), parameters=PLAN)},
        "/healthz": {"get": _operation("Whether the service works", {200: ("It does.", _json("Health"))}, ())},
        "/metrics": {"get": _operation("Counters", {200: ("For Prometheus.", {"text/plain": {"schema": TEXT}})}, ())},
    }  # fmt: skip


def document() -> JsonObject:
    """The whole description."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "sottovoce collector", "version": __version__,
                 "description": "Takes randomized reports in and shows estimates. Errors have one shape."},
        "paths": _paths(),
        "components": {"schemas": SCHEMAS, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }  # fmt: skip


PAGE_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'self' 'unsafe-inline'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
PAGE_HEADERS = {"content-security-policy": PAGE_POLICY, "referrer-policy": "no-referrer"}


def routes(origins: Mapping[str, str]) -> Table:
    """The description for programs, and a page that shows it to people."""
    description = Response(200, document(), headers=origins)  # Made once: it takes longer than a report does.

    async def describe(request: Request) -> Response:
        return description

    async def reference(request: Request) -> Response:
        page = resources.files("sottovoce.collector").joinpath("reference.html").read_bytes()
        return Response(200, page, HTML, PAGE_HEADERS)

    return {"/openapi.json": {"GET": describe}, "/docs": {"GET": reference}}
