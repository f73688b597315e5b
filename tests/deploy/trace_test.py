"""Traces: a small collector gets the spans of decisions that waited, and none of its faults delays a decision."""

import contextlib
import http.server
import json
import os
import socket
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.request

from servers import Process, free_port, redis, until

PROGRAM = os.environ["SLUICE_PROGRAM"]
TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


class Collector:
    """Keeps the spans of each request, with their resources, and answers with `status`."""

    def __init__(self, status=200):
        self.bodies = bodies = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                assert self.path == "/v1/traces" and self.headers["Content-Type"] == "application/json"
                bodies.append(body)
                self.send_response(status)
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def spans(self):
        return [span for body in self.bodies for spans in body["resourceSpans"][0]["scopeSpans"]
                for span in spans["spans"]]

    def resource(self):
        return attributes(self.bodies[0]["resourceSpans"][0]["resource"])


def attributes(owner):
    return {each["key"]: next(iter(each["value"].values())) for each in owner["attributes"]}


def protobuf(field, content):
    assert len(content) < 128
    return bytes([field << 3 | 2, len(content)]) + content


class Traces(unittest.TestCase):
    def setUp(self):
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)
        self.redis_port = free_port()
        self.stack.enter_context(redis(self.redis_port))

    def serve(self, collector_port, *more):
        self.port, self.admin = free_port(), free_port()
        node = self.stack.enter_context(Process(
            PROGRAM, "serve", "--listen", f"127.0.0.1:{self.port}", "--admin-listen", self.admin,
            "--origin", f"redis://127.0.0.1:{self.redis_port}",
            "--trace-endpoint", f"http://127.0.0.1:{collector_port}", *more))
        until(lambda: self.get("/readyz"), "the node is ready")
        return node

    def get(self, path):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5) as answer:
            return answer.read().decode()

    def metric(self, name):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.admin}/metrics", timeout=5) as answer:
            lines = answer.read().decode().splitlines()
        return next(float(line.split()[1]) for line in lines if line.startswith(name + " "))

    def limit(self, identifier, traceparent=None, route="limit", items=1):
        item = {"namespace": "shop", "identifier": identifier, "limit": 10, "duration": 60000}
        body = item if route == "limit" else [dict(item, identifier=f"{identifier}{i}") for i in range(items)]
        headers = {"Content-Type": "application/json"}
        if traceparent:
            headers["traceparent"] = traceparent
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/v2/ratelimit.{route}", json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=5) as answer:
            return json.load(answer)["data"]

    def test_a_trace_is_continued_and_holds_no_identifiers(self):
        with Collector() as collector:
            self.serve(collector.port, "--trace-one-in", 1000000000, "--region", "eu")
            # Until the nodes of the region are known, everything waits for Redis.
            until(lambda: self.metric("sluice_origin_nodes") == 1, "the node is known to be alone")
            began = time.time_ns()
            self.limit("alice", f"00-{TRACE}-{PARENT}-01")
            self.limit("alice", f"00-{TRACE}-{PARENT}-01")  # from memory: does not wait
            self.limit("bob", f"00-{TRACE}-{PARENT}-00")  # its caller does not want it
            self.limit("carol")  # not chosen
            self.limit("dave", f"00-{TRACE}-{PARENT}-01", "multiLimit", 3)
            until(lambda: len(collector.spans()) == 2, "two spans")
            single, batch = sorted(collector.spans(), key=lambda span: span["name"])
            self.assertEqual((single["traceId"], single["parentSpanId"]), (TRACE, PARENT))
            self.assertRegex(single["spanId"], "^[0-9a-f]{16}$")
            self.assertNotEqual(single["spanId"], batch["spanId"])
            self.assertEqual((single["name"], single["kind"]), ("ratelimit.limit", 2))
            start, end = int(single["startTimeUnixNano"]), int(single["endTimeUnixNano"])
            self.assertLessEqual(began - 1_000_000, start)
            self.assertLess(start, end)
            self.assertLessEqual(end, time.time_ns())
            self.assertEqual(attributes(single), {
                "sluice.requests": "1", "sluice.limit": "10", "sluice.cost": "1", "sluice.duration_ms": "60000",
                "sluice.passed": True, "sluice.remaining": "9"})
            self.assertEqual(batch["name"], "ratelimit.multiLimit")
            self.assertEqual(attributes(batch), {"sluice.requests": "3", "sluice.passed": True})
            resource = collector.resource()
            self.assertEqual((resource["service.name"], resource["sluice.region"]), ("sluice", "eu"))
            self.assertRegex(resource["service.version"], r"^\d+\.\d+\.\d+")
            until(lambda: self.metric("sluice_trace_spans_sent_total") == 2, "both are counted")
            self.assertEqual(self.metric("sluice_trace_spans_dropped_total"), 0)

    def test_identifiers_are_sent_only_if_a_setting_says_so(self):
        with Collector() as collector:
            self.serve(collector.port, "--trace-one-in", 1, "--trace-identifiers")
            self.limit("alice")
            until(collector.spans, "a span")
            span = collector.spans()[0]
            self.assertNotIn("parentSpanId", span)
            found = attributes(span)
            self.assertEqual((found["sluice.workspace"], found["sluice.namespace"], found["sluice.identifier"]),
                             ("default", "shop", "alice"))

    def test_a_call_of_the_rate_limit_service_continues_its_trace(self):
        with Collector() as collector, tempfile.TemporaryDirectory() as folder:
            rules = os.path.join(folder, "rules.yaml")
            with open(rules, "w", encoding="utf-8") as file:
                file.write("domain: shop\n"
                           "descriptors: [{key: user, rate_limit: {unit: hour, requests_per_unit: 5}}]\n")
            port = free_port()
            self.serve(collector.port, "--rules", rules, "--grpc-listen", f"127.0.0.1:{port}")
            entry = protobuf(1, b"user") + protobuf(2, b"ann")
            message = protobuf(1, b"shop") + protobuf(2, protobuf(1, entry))
            call = os.path.join(folder, "call")
            with open(call, "wb") as file:
                file.write(b"\0" + len(message).to_bytes(4, "big") + message)
            method = "envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"

            def send():
                return subprocess.run(
                    ["curl", "--silent", "--fail", "--http2-prior-knowledge", "--data-binary", f"@{call}",
                     "-H", "Content-Type: application/grpc", "-H", "TE: trailers",
                     "-H", f"traceparent: 00-{TRACE}-{PARENT}-01", f"http://127.0.0.1:{port}/{method}"],
                    capture_output=True, check=False).stdout
            until(send, "an answer")
            until(collector.spans, "a span")
            span = collector.spans()[0]
            self.assertEqual((span["traceId"], span["parentSpanId"], span["name"]), (TRACE, PARENT, "ratelimit.rls"))
            self.assertEqual(attributes(span), {"sluice.requests": "1", "sluice.passed": True})

            entries = [{"key": "user", "value": "bob"}]
            body = json.dumps({"domain": "shop", "descriptors": [{"entries": entries}]}).encode()
            headers = {"Content-Type": "application/json", "traceparent": f"00-{PARENT * 2}-{PARENT}-01"}
            with urllib.request.urlopen(
                    urllib.request.Request(f"http://127.0.0.1:{self.port}/json", body, headers), timeout=5):
                until(lambda: collector.spans()[-1]["traceId"] == PARENT * 2, "the span of a call over HTTP")
            span = collector.spans()[-1]
            self.assertEqual((span["parentSpanId"], span["name"]), (PARENT, "ratelimit.rls"))

    def decide_many(self, count=300):
        """The longest of `count` decisions, each of which waits for Redis."""
        longest = 0
        for i in range(count):
            began = time.monotonic()
            self.assertTrue(self.limit(f"user{i}")["success"])
            longest = max(longest, time.monotonic() - began)
        return longest

    def test_a_collector_that_is_gone_or_refuses_is_reported_and_delays_nothing(self):
        with Collector(status=503) as refusing:
            for port in (refusing.port, free_port()):
                with self.subTest(port=port):
                    node = self.serve(port, "--trace-one-in", 1)
                    self.assertLess(self.decide_many(50), 2)
                    until(lambda: self.metric("sluice_trace_spans_dropped_total") == 50, "all are counted as dropped")
                    self.assertEqual(self.metric("sluice_trace_unavailable"), 1)
                    self.assertEqual(node.output().count("trace_unavailable"), 1)

    def test_a_silent_collector_delays_neither_decisions_nor_the_end(self):
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen()
            node = self.serve(silent.getsockname()[1], "--trace-one-in", 1)
            self.assertLess(self.decide_many(), 2)
            began = time.monotonic()
            self.assertEqual(node.stop(), 0)
            self.assertLess(time.monotonic() - began, 8)

    def test_an_endpoint_that_is_no_url_stops_the_program(self):
        run = subprocess.run([PROGRAM, "serve", "--trace-endpoint", "https://collector"],
                             capture_output=True, text=True)
        self.assertEqual(run.returncode, 2)
        self.assertIn("allowed is http://HOST[:PORT][/PATH]", run.stderr)


if __name__ == "__main__":
    unittest.main()
