"""Deadlines of calls: the server answers them itself, also where a decision waits for Redis.

    python -m unittest deadline_test      with SLUICE_PROGRAM
"""

import signal
import subprocess
import tempfile
import time
import unittest

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from clients_test import RATE_LIMIT, SERVING, Served, failure, free_port, raw

# As a field of its own, so that only the server knows the deadline.
DEADLINE = (("grpc-timeout", "200m"),)
EXPIRED = (grpc.StatusCode.DEADLINE_EXCEEDED, "The deadline has passed.")
RULES = "domain: shop\ndescriptors:\n  - key: user\n    rate_limit: {unit: hour, requests_per_unit: 1000}\n"


class Deadlines(unittest.TestCase):
    def assert_on_time(self, began):
        self.assertTrue(0.2 <= time.monotonic() - began < 1, time.monotonic() - began)

    def test_a_streaming_call_ends_at_its_deadline(self):
        with Served() as served, served.channel() as channel:
            began = time.monotonic()
            stub = health_pb2_grpc.HealthStub(channel)
            changes = stub.Watch(health_pb2.HealthCheckRequest(), metadata=DEADLINE)
            self.assertEqual(next(changes).status, SERVING)
            self.assertEqual(failure(lambda: next(changes)), EXPIRED)
            self.assert_on_time(began)

    def test_a_decision_that_waits_for_redis_ends_at_its_deadline(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(f"{folder}/rules.yaml", "w", encoding="utf-8") as file:
                file.write(RULES)
            port = free_port()
            redis = subprocess.Popen(
                ["redis-server", "--port", str(port), "--save", "", "--dir", folder, "--bind", "127.0.0.1"],
                stdout=subprocess.DEVNULL,
            )
            try:
                self.ask_with(redis, port, f"{folder}/rules.yaml")
            finally:
                redis.send_signal(signal.SIGCONT)
                redis.terminate()
                redis.wait(10)

    def ask_with(self, redis, port, rules):
        flags = ["--rules", rules, "--origin", f"redis://127.0.0.1:{port}", "--origin-timeout", "3s"]
        with Served(*flags) as served, served.channel() as channel:
            ask = raw(channel, f"/{RATE_LIMIT}/ShouldRateLimit")
            self.assertTrue(ask(self.request("warm"), timeout=20))
            redis.send_signal(signal.SIGSTOP)
            began = time.monotonic()
            # The first request for a key is decided by Redis.
            calls = [ask.future(self.request(f"cold {i}"), metadata=DEADLINE) for i in range(50)]
            unlimited = ask.future(self.request("patient"))
            self.assertEqual({failure(call.result) for call in calls}, {EXPIRED})
            self.assert_on_time(began)
            self.assertFalse(unlimited.done())
            redis.send_signal(signal.SIGCONT)
            self.assertTrue(unlimited.result(timeout=10))
            # The connection goes on, and the results that came too late have gone nowhere.
            for i in range(50):
                self.assertTrue(ask(self.request(f"cold {i}"), timeout=10, metadata=()))

    @staticmethod
    def request(user):
        entry = b"\x0a\x04user\x12" + bytes([len(user)]) + user.encode()
        descriptor = b"\x0a" + bytes([len(entry)]) + entry
        return b"\x0a\x04shop\x12" + bytes([len(descriptor)]) + descriptor


if __name__ == "__main__":
    unittest.main()
