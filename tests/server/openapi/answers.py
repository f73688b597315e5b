"""Validates docs/openapi.yaml, and what the server really answers against it."""

import json
import sys

import yaml
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from served import FULL, LIMITER, TOKENS, Served

LIMIT = "/v2/ratelimit.limit"
MULTI = "/v2/ratelimit.multiLimit"
LIMIT_V1 = "/v1/ratelimits.limit"
INSPECT = "/v2/ratelimit.inspect"
SET = "/v2/ratelimit.setOverride"
GET = "/v2/ratelimit.getOverride"
LIST = "/v2/ratelimit.listOverrides"
DELETE = "/v2/ratelimit.deleteOverride"
RATE_LIMIT = "/json"
TOP = "/v2/ratelimit.topKeys"
CALLER = "/v2/node.caller"
STATUS = "/v2/node.status"
TRAFFIC = "/v2/node.traffic"
EVENTS = "/v2/node.events"
FLEET = "/v2/node.fleet"
LOG = "/v2/ratelimit.overrideLog"

REQUEST = {"namespace": "n", "identifier": "i", "limit": 10, "duration": 60000}
DENIED = {**REQUEST, "limit": 0}
KEY = {"namespace": "n", "identifier": "i", "duration": 60000}
NAME = {"namespace": "n", "identifier": "vip_*"}
OVERRIDE = {**NAME, "limit": 5, "duration": 1000}
RULES = """
domain: shop
descriptors:
  - {key: user, rate_limit: {unit: hour, requests_per_unit: 2, name: orders}}
  - {key: vip, rate_limit: {unlimited: true}}
"""
DESCRIBED = {"domain": "shop", "descriptors": [{"entries": [{"key": "user", "value": "ann"}]}]}
SEVERAL = {
    "domain": "shop",
    "hitsAddend": 1,
    "descriptors": [
        {"entries": [{"key": "user", "value": "bob"}], "hitsAddend": "2"},
        {"entries": [{"key": "vip"}], "limit": {"requestsPerUnit": 5, "unit": "MINUTE"}},
        {"entries": [{"key": "none"}]},
    ],
}
PREFER = {"Prefer": "status=429"}
PROBLEM = {"Accept": "application/problem+json"}

# path, body, header fields, expected status; asked one after the other of a server without tokens.
OPEN = [
    (LIMIT, REQUEST, {}, 200),
    (LIMIT, {**REQUEST, "cost": 100}, {}, 200),
    (LIMIT, DENIED, {}, 200),
    (LIMIT, DENIED, PREFER, 429),
    (LIMIT, {**REQUEST, "colour": 1, "limit": -1}, {}, 400),
    (LIMIT, {**REQUEST, "cost": 0.5}, PROBLEM, 400),
    (LIMIT, REQUEST, {"Content-Type": "text/plain"}, 415),
    (LIMIT, REQUEST, {"X-Big": "x" * 17000}, 431),
    (LIMIT, {**REQUEST, "identifier": "x" * 1100000}, {}, 413),
    (MULTI, [REQUEST, {**REQUEST, "identifier": "j"}], {}, 200),
    (MULTI, [REQUEST, DENIED], {}, 200),
    (MULTI, [REQUEST, DENIED], PREFER, 429),
    (MULTI, [], {}, 400),
    (MULTI, [REQUEST] * 101, {}, 400),
    (MULTI, [{**REQUEST, "duration": 1}], PROBLEM, 400),
    (MULTI, [REQUEST], {"Content-Type": "text/plain"}, 415),
    (LIMIT_V1, {**REQUEST, "async": True, "meta": {"a": 1}, "resources": []}, {}, 200),
    (LIMIT_V1, {"identifier": "i", "limit": 1, "duration": 1000}, {}, 200),
    (LIMIT_V1, DENIED, PREFER, 429),
    (LIMIT_V1, {**REQUEST, "limit": -1}, {}, 400),
    (LIMIT_V1, {**REQUEST, "limit": -1}, PROBLEM, 400),
    (LIMIT_V1, REQUEST, {"Content-Type": "text/plain"}, 415),
    (INSPECT, KEY, {}, 200),
    (INSPECT, {**KEY, "identifier": "never seen"}, {}, 200),
    (INSPECT, {**KEY, "limit": 1, "cost": 0}, {}, 200),
    (INSPECT, {**KEY, "limit": 20, "cost": 30}, {}, 200),
    (INSPECT, {**KEY, "limit": -1}, {}, 400),
    (INSPECT, {**KEY, "identifier": "vip_1"}, {}, 200),
    (TOP, {}, {}, 200),
    (TOP, {"namespace": "n", "window": 3600000, "by": "spend", "limit": 1}, {}, 200),
    (TOP, {"window": 61000}, {}, 400),
    (TOP, {"by": "luck"}, {}, 400),
    (TOP, {"limit": 501}, {}, 400),
    (TOP, {}, {"Content-Type": "text/plain"}, 415),
    (CALLER, None, {}, 200),
    (STATUS, None, {}, 200),
    (TRAFFIC, None, {}, 200),
    (TRAFFIC + "?seconds=3600&step=60", None, {}, 200),
    (TRAFFIC + "?seconds=3601", None, {}, 400),
    (FLEET, None, {}, 200),
    (INSPECT, KEY, {"Content-Type": "text/plain"}, 415),
    (SET, OVERRIDE, {}, 200),
    (SET, {**OVERRIDE, "identifier": "vip_1", "limit": 0}, {}, 200),
    (SET, {**OVERRIDE, "cost": 1}, {}, 400),
    (SET, OVERRIDE, {"Content-Type": "text/plain"}, 415),
    (LIMIT, {**REQUEST, "identifier": "vip_1"}, {}, 200),
    (LIMIT, {**REQUEST, "identifier": "vip_2"}, {}, 200),
    (MULTI, [{**REQUEST, "identifier": "vip_2"}], {}, 200),
    (GET, NAME, {}, 200),
    (GET, {**NAME, "identifier": "missing"}, {}, 404),
    (GET, {"namespace": ""}, {}, 400),
    (GET, NAME, {"Content-Type": "text/plain"}, 415),
    (LIST, {"namespace": "n", "limit": 1}, {}, 200),
    (LIST, {"namespace": "n"}, {}, 200),
    (LIST, {"namespace": "n", "cursor": ""}, {}, 200),
    (LIST, {"namespace": "unknown"}, {}, 404),
    (LIST, {"namespace": "n", "limit": 101}, {}, 400),
    (LIST, {"namespace": "n"}, {"Content-Type": "text/plain"}, 415),
    (DELETE, NAME, {}, 200),
    (DELETE, NAME, {}, 404),
    (DELETE, NAME, {**PROBLEM}, 404),
    (DELETE, {}, {}, 400),
    (LOG, {}, {}, 200),
    (LOG, {"namespace": "n", "limit": 1}, {}, 200),
    (LOG, {"limit": 101}, {}, 400),
    (LOG, {}, {"Content-Type": "text/plain"}, 415),
    (LOG, {}, {"Host": "example.com"}, 421),
    (DELETE, NAME, {"Content-Type": "text/plain"}, 415),
    (RATE_LIMIT, DESCRIBED, {}, 200),
    (RATE_LIMIT, {**DESCRIBED, "hitsAddend": 2}, {}, 429),
    (RATE_LIMIT, SEVERAL, {}, 200),
    (RATE_LIMIT, {**DESCRIBED, "domain": ""}, {}, 400),
    (RATE_LIMIT, {"domain": "shop"}, PROBLEM, 400),
    (RATE_LIMIT, {**DESCRIBED, "colour": 1}, {}, 400),
    (RATE_LIMIT, DESCRIBED, {"Content-Type": "text/plain", "Origin": "http://example.com"}, 415),
    ("/healthcheck", None, {}, 200),
    ("/healthz", None, {}, 200),
    ("/v2/liveness", None, {}, 200),
    ("/readyz", None, {}, 200),
    ("/metrics", None, {}, 200),
] + [
    (path, body, {"Host": "example.com"}, 421)
    for path, body in [(LIMIT, REQUEST), (LIMIT_V1, REQUEST), (MULTI, [REQUEST]), (INSPECT, KEY), (SET, OVERRIDE),
                       (RATE_LIMIT, DESCRIBED)]
    + [(path, NAME) for path in (GET, LIST, DELETE)]
]

# The same, of a server with tokens.
GUARDED = (
    [(path, body, {}, 401)
     for path, body in [(LIMIT, REQUEST), (LIMIT_V1, REQUEST), (MULTI, [REQUEST]), (INSPECT, KEY), (SET, OVERRIDE)]]
    + [(path, NAME, {"Authorization": "Bearer wrong"}, 401) for path in (GET, DELETE)]
    + [(LIST, {"namespace": "n"}, {"Authorization": "Bearer wrong"}, 401)]
    + [(path, NAME, {"Authorization": f"Bearer {LIMITER}"}, 403) for path in (SET, GET, LIST, DELETE)]
    + [(LIMIT, REQUEST, {"Authorization": f"Bearer {FULL}"}, 200)]
    # This one has no rules.
    + [(RATE_LIMIT, DESCRIBED, {}, 401), (RATE_LIMIT, DESCRIBED, {"Authorization": f"Bearer {FULL}"}, 404)]
    + [("/healthcheck", None, {}, 404)]
    + [(TOP, {}, {}, 401), (TOP, {}, {"Authorization": f"Bearer {LIMITER}"}, 403)]
    + [(path, None, {"Authorization": "Bearer wrong"}, 401) for path in (CALLER, STATUS, TRAFFIC, FLEET, EVENTS)]
    + [(path, None, {"Authorization": f"Bearer {LIMITER}"}, 403) for path in (STATUS, TRAFFIC, FLEET, EVENTS)]
    + [(LOG, {}, {}, 401), (LOG, {}, {"Authorization": f"Bearer {LIMITER}"}, 403)]
    + [(CALLER, None, {"Authorization": f"Bearer {LIMITER}"}, 200)]
)

# These need a failing disk or a broken connection, and other tests bring them about.
UNTESTED = {
    "403 limit", "403 limitV1", "403 multiLimit", "403 inspect", "401 metrics", "403 metrics", "403 rateLimit",
    "500 healthcheck", "200 events", "503 events"
} | {
    f"{status} {operation}"
    for operation in ("limit", "limitV1", "multiLimit", "inspect", "setOverride", "getOverride", "listOverrides",
                      "deleteOverride", "overrideLog", "readiness", "rateLimit")
    for status in ("408", "413", "431", "500", "503")
}


class Contract:
    """What the specification says about each answer."""

    def __init__(self, specification):
        self.specification = specification
        resource = Resource(specification, DRAFT202012)
        self.registry = Registry().with_resource("urn:sluice", resource)
        self.seen = set()

    def resolved(self, node):
        while "$ref" in node:
            target = self.specification
            for part in node["$ref"].removeprefix("#/").split("/"):
                target = target[part]
            node = target
        return node

    def problems(self, schema, value):
        # The schema refers to its neighbours, so it is looked at from within the specification.
        anchored = json.loads(json.dumps(schema).replace('"#/components', '"urn:sluice#/components'))
        validator = Draft202012Validator(
            anchored, registry=self.registry, format_checker=Draft202012Validator.FORMAT_CHECKER
        )
        return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(value)]

    def operation(self, path, method):
        return self.specification["paths"][path][method]

    def request_problems(self, path, body):
        content = self.operation(path, "post")["requestBody"]["content"]
        return self.problems(content["application/json"]["schema"], body)

    def answer_problems(self, path, method, status, fields, text):
        operation = self.operation(path, method)
        if str(status) not in operation["responses"]:
            return [f"status {status} is not documented"]
        self.seen.add(f"{status} {operation['operationId']}")
        response = self.resolved(operation["responses"][str(status)])
        return self.header_problems(response, fields) + self.body_problems(response, fields, text)

    def header_problems(self, response, fields):
        found = []
        for name, header in response.get("headers", {}).items():
            header = self.resolved(header)
            value = fields.get(name.lower())
            if value is None and header.get("required"):
                found.append(f"{name} is missing")
            elif value is not None:
                found += self.problems(header["schema"], value)
        return found

    def body_problems(self, response, fields, text):
        media = fields["content-type"].split(";")[0]
        if media not in response["content"]:
            return [f"the content type {media} is not documented"]
        value = text if media.startswith("text/") else json.loads(text)
        return self.problems(response["content"][media]["schema"], value)

    def documented(self):
        return {
            f"{status} {operation['operationId']}"
            for methods in self.specification["paths"].values()
            for operation in methods.values()
            for status in operation["responses"]
        }


def check(contract, server, path, body, fields, expected):
    method = "GET" if body is None else "POST"
    text = None if body is None else json.dumps(body)
    status, found, answer = server.ask(method, path, text, fields)
    path = path.split("?")[0]
    problems = contract.answer_problems(path, method.lower(), status, found, answer)
    if status != expected:
        problems.append(f"the status is {status}, not {expected}")
    if body is not None and expected in (200, 400) and bool(contract.request_problems(path, body)) == (expected == 200):
        problems.append("the schema of the request judges it otherwise than the server")
    for problem in problems:
        print(f"{method} {path} {str(text)[:200]} {fields}: {problem}\n    {answer[:500]}", file=sys.stderr)
    return not problems


def main(program, path):
    with open(path, encoding="utf-8") as file:
        specification = yaml.safe_load(file)
    OpenAPIV31SpecValidator(specification).validate()
    contract = Contract(specification)
    good = []
    with Served(program, rules=RULES) as server:
        good += [check(contract, server, *request) for request in OPEN]
    with Served(program, config=TOKENS) as server:
        good += [check(contract, server, *request) for request in GUARDED]
    forgotten = contract.documented() - contract.seen - UNTESTED
    if forgotten:
        print("documented, but never asked for:", ", ".join(sorted(forgotten)), file=sys.stderr)
    print(f"{sum(good)} of {len(good)} answers are as documented")
    return 0 if all(good) and not forgotten else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
