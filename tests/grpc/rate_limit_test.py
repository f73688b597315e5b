"""Envoy's rate-limit service end to end: rules from a file, calls by Python's client library.

    python -m unittest rate_limit_test      with SLUICE_PROGRAM
"""

import os
import tempfile
import time
import unittest

import grpc
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

from grpc_health.v1 import health_pb2, health_pb2_grpc

from clients_test import NOT_SERVING, RATE_LIMIT, SERVING, Served, failure

OK, OVER_LIMIT = 1, 2

RULES = """
domain: shop
descriptors:
  - key: user
    rate_limit: {unit: hour, requests_per_unit: %d}
  - key: user
    value: vip
    rate_limit: {unlimited: true}
  - key: path
    descriptors:
      - key: method
        value: POST
        rate_limit: {unit: minute, requests_per_unit: 2}
"""


class RateLimit(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.write_rules(3)
        self.served = Served("--rules", self.folder.name).__enter__()
        self.channel = self.served.channel()
        pool = DescriptorPool(ProtoReflectionDescriptorDatabase(self.channel))
        method = pool.FindServiceByName(RATE_LIMIT).FindMethodByName("ShouldRateLimit")
        self.request_class = GetMessageClass(method.input_type)
        self.response_class = GetMessageClass(method.output_type)

    def tearDown(self):
        self.channel.close()
        self.served.__exit__()
        self.folder.cleanup()

    def write_rules(self, limit):
        self.write(RULES % limit)

    def write(self, rules):
        path = os.path.join(self.folder.name, "rules.yaml")
        with open(path + ".new", "w", encoding="utf-8") as file:
            file.write(rules)
        os.rename(path + ".new", path)

    def call(self, *descriptors, domain="shop", service=RATE_LIMIT, method="ShouldRateLimit"):
        request = self.request_class(domain=domain)
        for entries in descriptors:
            descriptor = request.descriptors.add()
            for key, value in entries:
                descriptor.entries.add(key=key, value=value)
        send = self.channel.unary_unary(
            f"/{service}/{method}",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=self.response_class.FromString,
        )
        return send(request, timeout=10)

    def test_a_limit_is_enforced_and_reported(self):
        codes = [self.call([("user", "ann")]).overall_code for _ in range(4)]
        self.assertEqual(codes, [OK, OK, OK, OVER_LIMIT])
        status = self.call([("user", "bob")]).statuses[0]
        self.assertEqual((status.current_limit.requests_per_unit, status.limit_remaining), (3, 2))
        self.assertGreater(status.duration_until_reset.seconds, 0)

    def test_descriptors_are_matched_by_value_and_depth(self):
        self.assertEqual({self.call([("user", "vip")]).overall_code for _ in range(6)}, {OK})
        nested = [("path", "/buy"), ("method", "POST")]
        codes = [self.call([("user", "eve")], nested).overall_code for _ in range(3)]
        self.assertEqual(codes, [OK, OK, OVER_LIMIT])
        self.assertEqual(self.call([("path", "/buy"), ("method", "GET")]).overall_code, OK)

    def test_errors_are_those_of_the_original(self):
        unknown = grpc.StatusCode.UNKNOWN
        self.assertEqual(
            failure(lambda: self.call([("user", "x")], domain="")), (unknown, "rate limit domain must not be empty")
        )
        self.assertEqual(failure(self.call), (unknown, "rate limit descriptor list must not be empty"))

    def test_kuadrant_checks_without_spending_and_reports_without_limit(self):
        kuadrant = "kuadrant.service.ratelimit.v1.RateLimitService"
        for _ in range(5):
            checked = self.call([("user", "kim")], service=kuadrant, method="CheckRateLimit")
            self.assertEqual(checked.overall_code, OK)
        for _ in range(4):
            self.call([("user", "kim")], service=kuadrant, method="Report")
        checked = self.call([("user", "kim")], service=kuadrant, method="CheckRateLimit")
        self.assertEqual(checked.overall_code, OVER_LIMIT)

    def test_changed_rules_apply_and_counts_stay(self):
        for _ in range(3):
            self.call([("user", "zoe")])
        self.write_rules(5)
        deadline = time.monotonic() + 30
        while self.call([("user", "probe")]).statuses[0].current_limit.requests_per_unit != 5:
            self.assertLess(time.monotonic(), deadline, "the new rules are not in force")
            time.sleep(0.1)
        codes = [self.call([("user", "zoe")]).overall_code for _ in range(3)]
        self.assertEqual(codes, [OK, OK, OVER_LIMIT])

    def test_a_watched_health_follows_the_rules_where_they_are_needed(self):
        self.write("domain: [")
        with Served("--rules", self.folder.name, "--rls-needs-rules") as served, served.channel() as channel:
            health = health_pb2_grpc.HealthStub(channel)
            watch = health.Watch(health_pb2.HealthCheckRequest(service="ratelimit"), timeout=30)
            self.assertEqual(next(watch).status, NOT_SERVING)
            self.write_rules(3)
            self.assertEqual(next(watch).status, SERVING)


if __name__ == "__main__":
    unittest.main()
