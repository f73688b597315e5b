"""The ADS client against a server of Python's gRPC library.

    python -m unittest ads_test      with SLUICE_ADS_SUBSCRIBER
"""

import concurrent.futures
import os
import queue
import socket
import subprocess
import threading
import time
import unittest

import grpc

SUBSCRIBER = os.environ["SLUICE_ADS_SUBSCRIBER"]
TYPE = "type.googleapis.com/test.Rules"
SERVICE = "envoy.service.discovery.v3.AggregatedDiscoveryService"


def varint(number):
    parts = []
    while number > 127:
        parts.append(number & 127 | 128)
        number >>= 7
    return bytes([*parts, number])


def field(number, content):
    content = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(content)) + content


def fields(message):
    """The length-delimited and numeric fields of an encoded message; the last of each number."""

    def read(at):
        number = shift = 0
        while True:
            byte = message[at]
            number |= (byte & 127) << shift
            at, shift = at + 1, shift + 7
            if byte < 128:
                return number, at

    found, at = {}, 0
    while at < len(message):
        tag, at = read(at)
        size, at = read(at)
        if tag & 7 == 2:
            found[tag >> 3] = message[at : at + size]
            at += size
        else:
            found[tag >> 3] = size
    return found


def response(version, nonce, values, kind=TYPE):
    resources = b"".join(field(2, field(1, kind) + field(2, value)) for value in values)
    return field(1, version) + resources + field(4, kind) + field(5, nonce)


class Ads:
    """An ADS server that sends what the test puts into `responses`, and keeps what clients send in `requests`.

    None ends the stream with a message, "" without one. Only the newest stream sends: one that the client has left may
    not know that yet.
    """

    def __init__(self, port=0, credentials=None):
        self.requests, self.responses = queue.Queue(), queue.Queue()
        self.newest = None
        self.streams = 0
        self.server = grpc.server(concurrent.futures.ThreadPoolExecutor(4))
        handler = grpc.stream_stream_rpc_method_handler(self.stream)
        methods = {"StreamAggregatedResources": handler}
        self.server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, methods),))
        address = f"127.0.0.1:{port}"
        self.port = (
            self.server.add_secure_port(address, credentials) if credentials else self.server.add_insecure_port(address)
        )
        self.server.start()

    def stream(self, requests, context):
        self.newest = context
        self.streams += 1
        reader = threading.Thread(target=self.read, args=(requests,), daemon=True)
        reader.start()
        while context.is_active() and self.newest is context:
            try:
                message = self.responses.get(timeout=0.05)
            except queue.Empty:
                continue
            if self.newest is not context:
                self.responses.put(message)
                return
            if message is None:
                context.abort(grpc.StatusCode.UNAVAILABLE, "the server ends the stream")
            if message == "":
                return
            yield message

    def read(self, requests):
        try:
            for request in requests:
                self.requests.put(fields(request))
        except grpc.RpcError:
            pass

    def request(self):
        return self.requests.get(timeout=20)

    def stop(self):
        self.server.stop(None).wait(10)


class Subscriber:
    def __init__(self, port):
        self.process = subprocess.Popen(
            [SUBSCRIBER, str(port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.lines = queue.Queue()
        threading.Thread(
            target=lambda: [self.lines.put(line.strip()) for line in self.process.stdout], daemon=True
        ).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.status = self.process.wait(10)
        self.process.stdout.close()

    def next(self, event):
        """The next line of this event."""
        while True:
            line = self.lines.get(timeout=20)
            if line.split(" ")[0] == event:
                return line


class Discovery(unittest.TestCase):
    def setUp(self):
        self.ads = Ads()
        self.addCleanup(self.ads.stop)

    def test_resources_are_accepted_and_refused(self):
        with Subscriber(self.ads.port) as subscriber:
            first = self.ads.request()
            self.assertEqual(first[4], TYPE.encode())
            self.assertEqual(fields(first[2])[1], b"node-1")
            self.assertNotIn(5, first)
            self.ads.responses.put(response("v1", "n1", ["a", "b"]))
            self.assertEqual(subscriber.next("applied"), "applied a,b,")
            accepted = self.ads.request()
            self.assertEqual((accepted[1], accepted[5]), (b"v1", b"n1"))
            self.assertNotIn(6, accepted)
            self.ads.responses.put(response("v2", "n2", ["bad"]))
            refused = self.ads.request()
            self.assertEqual((refused[1], refused[5]), (b"v1", b"n2"))
            self.assertEqual(fields(refused[6])[2], b"a resource is bad")
            self.ads.responses.put(response("v3", "n3", []))
            self.assertEqual(subscriber.next("applied"), "applied")
            self.assertEqual(self.ads.request()[1], b"v3")
        self.assertEqual(subscriber.status, 0)

    def test_a_large_response_arrives_and_a_larger_one_ends_the_stream(self):
        with Subscriber(self.ads.port) as subscriber:
            self.ads.responses.put(response("v1", "n1", ["x" * 1_000_000]))
            self.assertEqual(subscriber.next("applied"), "applied 1000000 bytes,")
            self.ads.request(), self.ads.request()
            self.ads.responses.put(response("v2", "n2", ["x" * 2_000_000]))
            self.assertIn("larger than 1048576 bytes", subscriber.next("disconnected"))
            self.assertEqual(self.ads.request()[1], b"v1")  # of the new stream
            self.ads.responses.put(response("v3", "n3", ["c"]))
            self.assertEqual(subscriber.next("applied"), "applied c,")

    def test_a_stream_that_ends_is_opened_again_with_the_version_in_force(self):
        with Subscriber(self.ads.port) as subscriber:
            self.ads.responses.put(response("v1", "n1", ["a"]))
            subscriber.next("applied")
            self.ads.request(), self.ads.request()
            self.ads.responses.put(None)
            self.assertEqual(
                subscriber.next("disconnected"),
                "disconnected the stream ended with status 14: the server ends the stream",
            )
            again = self.ads.request()
            self.assertEqual(again[1], b"v1")
            self.assertNotIn(5, again)

    def test_a_stream_that_ends_without_a_message_has_a_reason(self):
        with Subscriber(self.ads.port) as subscriber:
            self.ads.request()
            self.ads.responses.put("")
            self.assertEqual(subscriber.next("disconnected"), "disconnected the stream ended with status 0")

    def test_a_server_that_restarts_is_found_again(self):
        with Subscriber(self.ads.port) as subscriber:
            self.ads.responses.put(response("v1", "n1", ["a"]))
            subscriber.next("applied")
            port = self.ads.port
            self.ads.stop()
            subscriber.next("disconnected")
            self.assertIn("Connection refused", subscriber.next("disconnected"))
            self.ads = Ads(port)
            self.ads.responses.put(response("v2", "n1", ["b"]))
            self.assertEqual(subscriber.next("applied"), "applied b,")

    def test_a_malformed_response_ends_the_stream(self):
        with Subscriber(self.ads.port) as subscriber:
            self.ads.responses.put(b"\x0a\x7f")
            self.assertEqual(subscriber.next("disconnected"), "disconnected the server sent a malformed response")


class Silence(unittest.TestCase):
    def test_a_server_that_does_not_answer_is_left(self):
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen()
            began = time.monotonic()
            with Subscriber(silent.getsockname()[1]) as subscriber:
                self.assertEqual(subscriber.next("disconnected"), "disconnected the server does not answer")
            self.assertLess(time.monotonic() - began, 10)

    def test_the_client_ends_while_it_waits(self):
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen()
            with Subscriber(silent.getsockname()[1]) as subscriber:
                pass
            self.assertEqual(subscriber.status, 0)


if __name__ == "__main__":
    unittest.main()
