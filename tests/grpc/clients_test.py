"""gRPC as Python's client library sees it: health, reflection, limits, TLS, and the end of the server.

    python -m unittest clients_test      with SLUICE_PROGRAM
"""

import os
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time
import unittest

import grpc
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

from certificates import Certificates

PROGRAM = os.environ["SLUICE_PROGRAM"]
RATE_LIMIT = "envoy.service.ratelimit.v3.RateLimitService"
SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Served:
    """`sluice serve` with gRPC. Use as a context manager; leaving it ends the program."""

    def __init__(self, *flags, log=subprocess.DEVNULL, variables=None):
        self.port = free_port()
        environment = {name: value for name, value in os.environ.items() if not name.startswith("SLUICE_")}
        environment.update(variables or {})
        self.process = subprocess.Popen(
            [PROGRAM, "serve", "--listen", "127.0.0.1:0", "--grpc", f"127.0.0.1:{self.port}", *flags],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )

    def __enter__(self):
        # The greeting comes when the server is ready, which is after it listens.
        for line in self.process.stdout:
            if line.startswith("gRPC is at"):
                return self
        raise RuntimeError("the server did not start")

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(30)
        self.process.stdout.close()

    def channel(self, *options):
        return grpc.insecure_channel(f"127.0.0.1:{self.port}",
                                     options=[("grpc.use_local_subchannel_pool", 1), *options])


def raw(channel, path):
    """A unary method whose messages are bytes."""
    return channel.unary_unary(path, request_serializer=bytes, response_deserializer=bytes)


def failure(call):
    """The code and the details of a call that fails."""
    try:
        call()
    except grpc.RpcError as error:
        return error.code(), error.details()
    raise AssertionError("the call succeeded")


class Calls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.served = Served().__enter__()
        cls.channel = cls.served.channel(("grpc.max_metadata_size", 1 << 20))

    @classmethod
    def tearDownClass(cls):
        cls.channel.close()
        cls.served.__exit__()

    def check(self, name, **options):
        stub = health_pb2_grpc.HealthStub(self.channel)
        return stub.Check(health_pb2.HealthCheckRequest(service=name), timeout=10, **options).status

    def test_health_of_known_services(self):
        for name in ("", "ratelimit", RATE_LIMIT):
            self.assertEqual(self.check(name), SERVING)

    def test_health_of_an_unknown_service(self):
        self.assertEqual(failure(lambda: self.check("other"))[0], grpc.StatusCode.NOT_FOUND)

    def test_reflection_describes_the_rate_limit_service(self):
        pool = DescriptorPool(ProtoReflectionDescriptorDatabase(self.channel))
        method = pool.FindServiceByName(RATE_LIMIT).FindMethodByName("ShouldRateLimit")
        request = GetMessageClass(method.input_type)(domain="d", hits_addend=2)
        request.descriptors.add().entries.add(key="k", value="v")
        self.assertEqual(method.input_type.full_name, "envoy.service.ratelimit.v3.RateLimitRequest")
        fields = {field.name: field.number for field in method.output_type.fields}
        self.assertEqual(fields["response_headers_to_add"], 3)
        self.assertTrue(pool.FindServiceByName("kuadrant.service.ratelimit.v1.RateLimitService"))

    def test_reflection_lists_services(self):
        services = ProtoReflectionDescriptorDatabase(self.channel).get_services()
        self.assertIn("grpc.health.v1.Health", services)
        self.assertIn("grpc.reflection.v1.ServerReflection", services)

    def test_an_unknown_method(self):
        code, details = failure(lambda: raw(self.channel, "/a.B/C")(b"x", timeout=10))
        self.assertEqual(code, grpc.StatusCode.UNIMPLEMENTED)
        self.assertEqual(details, "There is no method /a.B/C.")

    def test_a_malformed_message(self):
        call = raw(self.channel, "/grpc.health.v1.Health/Check")
        self.assertEqual(failure(lambda: call(b"\x0a\xff", timeout=10))[0], grpc.StatusCode.INVALID_ARGUMENT)

    def test_a_message_above_the_limit(self):
        call = raw(self.channel, "/grpc.health.v1.Health/Check")
        large = health_pb2.HealthCheckRequest(service="x" * (1 << 20)).SerializeToString()
        self.assertEqual(failure(lambda: call(large, timeout=10))[0], grpc.StatusCode.RESOURCE_EXHAUSTED)
        self.assertEqual(self.check(""), SERVING)

    def test_a_large_message_within_the_limit(self):
        self.assertEqual(failure(lambda: self.check("x" * 1_000_000))[0], grpc.StatusCode.NOT_FOUND)

    def test_a_compressed_message(self):
        stub = health_pb2_grpc.HealthStub(self.channel)
        request = health_pb2.HealthCheckRequest(service="x" * 1000)
        call = lambda: stub.Check(request, timeout=10, compression=grpc.Compression.Gzip)
        self.assertEqual(failure(call)[0], grpc.StatusCode.UNIMPLEMENTED)

    def test_a_flood_of_metadata(self):
        metadata = [(f"name-{i}", "x" * 100) for i in range(50)]
        self.assertEqual(self.check("", metadata=metadata), SERVING)
        flood = [(f"name-{i}", "x" * 1000) for i in range(500)]
        with self.served.channel() as channel:
            stub = health_pb2_grpc.HealthStub(channel)
            call = lambda: stub.Check(health_pb2.HealthCheckRequest(), timeout=10, metadata=flood)
            self.assertIn(
                failure(call)[0],
                (grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.INTERNAL),
            )
        self.assertEqual(self.check(""), SERVING)

    def test_deadlines(self):
        stub = health_pb2_grpc.HealthStub(self.channel)
        watch = stub.Watch(health_pb2.HealthCheckRequest(), timeout=0.3)
        self.assertEqual(next(watch).status, SERVING)
        self.assertEqual(failure(lambda: next(watch))[0], grpc.StatusCode.DEADLINE_EXCEEDED)
        self.assertEqual(self.check(""), SERVING)

    def test_cancellation(self):
        stub = health_pb2_grpc.HealthStub(self.channel)
        for _ in range(200):
            watch = stub.Watch(health_pb2.HealthCheckRequest(service="ratelimit"), timeout=10)
            self.assertEqual(next(watch).status, SERVING)
            watch.cancel()
        self.assertEqual(self.check(""), SERVING)

    def test_many_threads_share_a_connection(self):
        answers = []
        work = lambda: answers.extend(self.check("ratelimit") for _ in range(50))
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(answers, [SERVING] * 400)


class Connections(unittest.TestCase):
    def test_a_watch_ends_with_the_server(self):
        with Served("--drain-timeout", "20s") as served, served.channel() as channel:
            stub = health_pb2_grpc.HealthStub(channel)
            watch = stub.Watch(health_pb2.HealthCheckRequest(), timeout=30)
            self.assertEqual(next(watch).status, SERVING)
            served.process.send_signal(signal.SIGTERM)
            self.assertEqual(next(watch).status, NOT_SERVING)
            watch.cancel()
            channel.close()
            self.assertEqual(served.process.wait(10), 0)

    def test_connections_end_at_their_age_without_failed_calls(self):
        with Served("--grpc-max-connection-age", "400ms") as served, served.channel() as channel:
            stub = health_pb2_grpc.HealthStub(channel)
            deadline = time.monotonic() + 3
            while time.monotonic() < deadline:
                self.assertEqual(stub.Check(health_pb2.HealthCheckRequest(), timeout=10).status, SERVING)

    def test_calls_above_the_limit_of_a_connection_wait_for_their_turn(self):
        with Served("--grpc-max-streams", "3") as served, served.channel() as channel:
            stub = health_pb2_grpc.HealthStub(channel)
            # The client knows the limit once it has had an answer.
            self.assertEqual(stub.Check(health_pb2.HealthCheckRequest(), timeout=10).status, SERVING)
            watches = [stub.Watch(health_pb2.HealthCheckRequest(), timeout=20) for _ in range(3)]
            self.assertEqual({next(watch).status for watch in watches}, {SERVING})
            late = stub.Check.future(health_pb2.HealthCheckRequest(), timeout=20)
            with self.assertRaises(grpc.FutureTimeoutError):
                late.result(timeout=0.3)
            watches[0].cancel()
            self.assertEqual(late.result(timeout=10).status, SERVING)

    def test_keepalive_pings_of_clients(self):
        options = [("grpc.keepalive_time_ms", 100), ("grpc.http2.max_pings_without_data", 0),
                   ("grpc.keepalive_permit_without_calls", 1)]
        with Served() as served, served.channel(*options) as channel:
            stub = health_pb2_grpc.HealthStub(channel)
            self.assertEqual(stub.Check(health_pb2.HealthCheckRequest(), timeout=10).status, SERVING)
            time.sleep(1)
            self.assertEqual(stub.Check(health_pb2.HealthCheckRequest(), timeout=10).status, SERVING)

    def test_other_machines_need_a_certificate(self):
        command = [PROGRAM, "serve", "--listen", "127.0.0.1:0", "--grpc", "0.0.0.0:0"]
        run = subprocess.run(command, capture_output=True, text=True, timeout=30)
        self.assertEqual(run.returncode, 2)
        self.assertIn("--grpc-insecure", run.stderr)

    def test_an_address_that_is_taken(self):
        with Served() as served:
            command = [PROGRAM, "serve", "--listen", "127.0.0.1:0", "--grpc", f"127.0.0.1:{served.port}"]
            run = subprocess.run(command, capture_output=True, text=True, timeout=30)
        self.assertEqual(run.returncode, 2)
        self.assertIn("grpc.listen", run.stderr)


class Tls(unittest.TestCase):
    def setUp(self):
        certificates = Certificates()
        self.addCleanup(certificates.cleanup)
        self.path, self.read = certificates.path, certificates.read
        self.certificates = certificates
        self.flags = ["--tls-cert", self.path("server.pem"), "--tls-key", self.path("server.key")]

    def check(self, served, **keys):
        credentials = grpc.ssl_channel_credentials(root_certificates=self.read("ca.pem"), **keys)
        with grpc.secure_channel(f"localhost:{served.port}", credentials) as channel:
            stub = health_pb2_grpc.HealthStub(channel)
            return stub.Check(health_pb2.HealthCheckRequest(), timeout=10).status

    def test_tls(self):
        with Served(*self.flags) as served:
            self.assertEqual(self.check(served), SERVING)

    def test_client_certificates(self):
        with Served(*self.flags, "--tls-client-ca", self.path("ca.pem")) as served:
            keys = {"private_key": self.read("client.key"), "certificate_chain": self.read("client.pem")}
            self.assertEqual(self.check(served, **keys), SERVING)
            self.assertEqual(failure(lambda: self.check(served))[0], grpc.StatusCode.UNAVAILABLE)

    def common_name(self, served):
        """The name in the certificate that a new connection sees."""
        context = ssl.create_default_context(cafile=self.path("ca.pem"))
        context.load_cert_chain(self.path("client.pem"), self.path("client.key"))
        context.set_alpn_protocols(["h2"])
        with socket.create_connection(("127.0.0.1", served.port), 10) as plain:
            with context.wrap_socket(plain, server_hostname="localhost") as tls:
                self.assertEqual(tls.selected_alpn_protocol(), "h2")
                subject = dict(pair for (pair,) in tls.getpeercert()["subject"])
        return subject["commonName"]

    def reload(self, served, name):
        served.process.send_signal(signal.SIGHUP)
        deadline = time.monotonic() + 10
        while self.common_name(served) != name:
            self.assertLess(time.monotonic(), deadline, "the certificate is not in use")
            time.sleep(0.05)

    def test_a_reload_changes_the_certificate_of_new_connections(self):
        with tempfile.NamedTemporaryFile("r", prefix="sluice-tls-") as log, \
                open(log.name, "w", encoding="utf-8") as written, Served(*self.flags, log=written) as served:
            credentials = grpc.ssl_channel_credentials(root_certificates=self.read("ca.pem"))
            with grpc.secure_channel(f"localhost:{served.port}", credentials) as channel:
                watch = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest(), timeout=30)
                self.assertEqual(next(watch).status, SERVING)
                self.assertEqual(self.common_name(served), "server")
                self.certificates.sign("server", "renewed")
                self.reload(served, "renewed")
                self.assertEqual(self.check(served), SERVING)
                # A certificate that is not the key's changes nothing.
                self.certificates.sign("other", "other")
                os.replace(self.path("other.pem"), self.path("server.pem"))
                served.process.send_signal(signal.SIGHUP)
                deadline = time.monotonic() + 20
                while not any(" reload_refused " in line for line in log):
                    self.assertLess(time.monotonic(), deadline, "the reload was not refused")
                    time.sleep(0.05)
                self.assertEqual(self.common_name(served), "renewed")
                self.assertTrue(watch.is_active(), "the connection from before goes on")

    def test_client_certificates_are_needed_after_a_reload_and_by_the_new_authority(self):
        keys = {"private_key": self.read("client.key"), "certificate_chain": self.read("client.pem")}
        with Served(*self.flags, "--tls-client-ca", self.path("ca.pem")) as served:
            self.certificates.sign("server", "renewed")
            self.reload(served, "renewed")
            self.assertEqual(self.check(served, **keys), SERVING)
            self.assertEqual(failure(lambda: self.check(served))[0], grpc.StatusCode.UNAVAILABLE)
            other = Certificates()
            self.addCleanup(other.cleanup)
            stranger = {"private_key": other.read("client.key"), "certificate_chain": other.read("client.pem")}
            self.assertEqual(failure(lambda: self.check(served, **stranger))[0], grpc.StatusCode.UNAVAILABLE)
            # Those who connect from now on need a certificate of the other authority.
            trusted = self.read("ca.pem")
            shutil.copy(other.path("ca.pem"), self.path("ca.pem"))
            served.process.send_signal(signal.SIGHUP)
            credentials = grpc.ssl_channel_credentials(root_certificates=trusted, **stranger)
            deadline = time.monotonic() + 20
            while True:
                with grpc.secure_channel(f"localhost:{served.port}", credentials) as channel:
                    stub = health_pb2_grpc.HealthStub(channel)
                    try:
                        answer = stub.Check(health_pb2.HealthCheckRequest(), timeout=10)
                        break
                    except grpc.RpcError as refused:
                        self.assertEqual(refused.code(), grpc.StatusCode.UNAVAILABLE)
                self.assertLess(time.monotonic(), deadline, "the new authority is not in use")
                time.sleep(0.05)
            self.assertEqual(answer.status, SERVING)
            credentials = grpc.ssl_channel_credentials(root_certificates=trusted, **keys)
            with grpc.secure_channel(f"localhost:{served.port}", credentials) as channel:
                stub = health_pb2_grpc.HealthStub(channel)
                call = lambda: stub.Check(health_pb2.HealthCheckRequest(), timeout=10)
                self.assertEqual(failure(call)[0], grpc.StatusCode.UNAVAILABLE)

    def test_http_1_is_refused_by_alpn(self):
        with Served(*self.flags) as served:
            run = subprocess.run(
                ["openssl", "s_client", "-connect", f"127.0.0.1:{served.port}", "-alpn", "http/1.1"],
                stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30)
        self.assertIn("no application protocol", run.stderr)


if __name__ == "__main__":
    unittest.main()
