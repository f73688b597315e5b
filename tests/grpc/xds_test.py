"""`sluice serve` with rules from an ADS server, as Envoy Gateway drives the rate-limit service.

    python -m unittest xds_test      with SLUICE_PROGRAM and SLUICE_ADS_SUBSCRIBER
"""

import os
import re
import signal
import socket
import subprocess
import tempfile
import time
import unittest
import urllib.request

import grpc

from ads_test import Ads, field, fields, response, varint
from certificates import Certificates
from clients_test import PROGRAM, RATE_LIMIT, Served, failure, free_port, raw

TYPE = "type.googleapis.com/ratelimit.config.ratelimit.v3.RateLimitConfig"
SHOULD_RATE_LIMIT = f"/{RATE_LIMIT}/ShouldRateLimit"
OK, OVER_LIMIT = 1, 2
HOUR, UNKNOWN_UNIT = 3, 99


def number(tag, value):
    return varint(tag << 3) + varint(value)


def config(domain, limit, unit=HOUR, key="user", name=None):
    """A RateLimitConfig with one descriptor."""
    rate_limit = number(1, unit) + number(2, limit)
    return field(1, name or domain) + field(2, domain) + field(3, field(1, key) + field(3, rate_limit))


def update(version, *configs):
    return response(version, "nonce-" + version, configs, kind=TYPE)


def request(domain, user):
    entry = field(1, "user") + field(2, user)
    return field(1, domain) + field(2, field(1, entry))


class XdsCase(unittest.TestCase):
    def start(self, credentials=None):
        self.ads = Ads(0, credentials)
        self.addCleanup(lambda: self.ads.stop())
        self.log = tempfile.NamedTemporaryFile("r", prefix="sluice-xds-")
        self.addCleanup(self.log.close)

    def serve(self, rules=None, flags=(), variables=None):
        self.admin = free_port()
        with open(self.log.name, "w", encoding="utf-8") as log:
            served = Served(
                *(("--rules", rules) if rules else ()),
                "--admin-listen", f"127.0.0.1:{self.admin}", *flags,
                log=log,
                variables=variables,
            )
        self.addCleanup(served.__exit__)
        served.__enter__()
        self.served = served
        self.channel = served.channel()
        self.addCleanup(self.channel.close)
        self.send = raw(self.channel, SHOULD_RATE_LIMIT)

    def serve_from_ads(self, *configs):
        self.ads.responses.put(update("1", *configs))
        self.serve(f"xds://127.0.0.1:{self.ads.port}?node=node-7&cluster=east")
        self.assertNotIn(5, self.ads.request())
        self.assertEqual(self.ads.request()[1], b"1")

    def ask(self, user="ann", domain="web"):
        """The code of a request, and the limit that applied."""
        answer = fields(self.send(request(domain, user), timeout=10))
        status = fields(answer[2])
        return answer[1], fields(status[2])[1] if 2 in status else None

    def becomes(self, expected, **what):
        deadline = time.monotonic() + 20
        while self.ask("probe", **what)[1] != expected:
            self.assertLess(time.monotonic(), deadline, "the new rules are not in force")
            time.sleep(0.02)

    def logged(self, event, count=1):
        """The lines of an event, once there are so many."""
        deadline = time.monotonic() + 20
        while True:
            self.log.seek(0)
            lines = [line for line in self.log if f" {event} " in line]
            if len(lines) >= count:
                return lines
            self.assertLess(time.monotonic(), deadline, f"{event} is not in the log {count} times")
            time.sleep(0.05)

    def metric(self, name):
        page = urllib.request.urlopen(f"http://127.0.0.1:{self.admin}/metrics", timeout=10).read().decode()
        return int(re.search(f"^ratelimit_service_{name} (.*)$", page, re.M).group(1))


    def metric_becomes(self, name, expected):
        deadline = time.monotonic() + 20
        while (value := self.metric(name)) != expected:
            self.assertLess(time.monotonic(), deadline, f"{name} is {value}, not {expected}")
            time.sleep(0.02)


class Xds(XdsCase):
    def setUp(self):
        self.start()

    def test_rules_are_in_force_when_the_server_is_ready_and_updates_keep_counts(self):
        self.serve_from_ads(config("web", 3))
        self.assertEqual([self.ask()[0] for _ in range(4)], [OK, OK, OK, OVER_LIMIT])
        self.ads.responses.put(update("2", config("web", 6)))
        accepted = self.ads.request()
        self.assertEqual((accepted[1], accepted[5]), (b"2", b"nonce-2"))
        self.assertNotIn(6, accepted)
        self.becomes(6)
        # Four were counted before: denied ones count as well.
        self.assertEqual([self.ask()[0] for _ in range(3)], [OK, OK, OVER_LIMIT])
        self.assertEqual((self.metric("config_load_success"), self.metric("config_load_error")), (2, 0))
        self.metric_becomes("xds_connected", 1)
        self.assertIn("rules=1", self.logged("rules_loaded")[0])

    def test_the_server_sees_type_node_and_cluster(self):
        self.ads.responses.put(update("1"))
        self.serve(f"xds://localhost:{self.ads.port}?node=node%207&cluster=east")
        first = self.ads.request()
        self.assertEqual(first[4], TYPE.encode())
        node = fields(first[2])
        self.assertEqual((node[1], node[2]), (b"node 7", b"east"))

    def test_resources_are_domains_and_missing_ones_are_gone(self):
        self.serve_from_ads(config("web", 3), config("mail", 4), config("chat", 5))
        self.assertEqual([self.ask(domain=name)[1] for name in ("web", "mail", "chat")], [3, 4, 5])
        self.ads.responses.put(update("2", config("mail", 7)))
        self.becomes(7, domain="mail")
        self.assertEqual(self.ask(domain="web"), (OK, None))
        self.ads.responses.put(update("3"))
        self.becomes(None, domain="mail")

    def test_invalid_updates_are_refused_and_the_rules_stay(self):
        self.serve_from_ads(config("web", 3))
        for count, (bad, why) in enumerate(
            [
                (update("2", config("web", 9, unit=UNKNOWN_UNIT)), "xds resource 'web': invalid rate limit unit '99'"),
                (update("2", config("web", 9), config("web", 8, name="b")), "duplicate domain 'web'"),
                (update("2", config("", 9)), "cannot have empty domain"),
                (update("2", b"\xff\xff"), "is not a ratelimit.config.ratelimit.v3.RateLimitConfig"),
                (response("2", "nonce-2", [config("web", 9)], kind="type.googleapis.com/other"), "the type"),
            ]
        ):
            self.ads.responses.put(bad)
            refused = self.ads.request()
            self.assertEqual((refused[1], refused[5]), (b"1", b"nonce-2"))
            self.assertIn(why, fields(refused[6])[2].decode())
            self.assertEqual(self.ask("probe")[1], 3)
            self.assertIn(why, self.logged("rules_invalid", count + 1)[-1])
            self.assertEqual(self.metric("config_load_error"), count + 1)
        self.ads.responses.put(update("2", config("web", 9)))
        self.becomes(9)

    def test_an_invalid_first_answer_does_not_delay_the_start(self):
        self.ads.responses.put(response("1", "nonce-1", [config("web", 9)], kind="type.googleapis.com/other"))
        began = time.monotonic()
        self.serve(f"xds://127.0.0.1:{self.ads.port}?node=n")
        self.assertLess(time.monotonic() - began, 2.8)
        self.assertIn("the type", self.logged("rules_invalid")[0])

    def test_malformed_bytes_end_the_stream_and_the_rules_stay(self):
        self.serve_from_ads(config("web", 3))
        self.ads.responses.put(b"\x0a\x7f")
        self.assertIn("the response is malformed", self.logged("rules_invalid")[0])
        self.assertIn("the server sent a malformed response", self.logged("xds_unavailable")[0])
        again = self.ads.request()
        self.assertEqual(again[1], b"1")
        self.assertEqual(self.ask("probe")[1], 3)
        self.ads.responses.put(update("2", config("web", 4)))
        self.becomes(4)

    def test_a_server_that_is_killed_and_restarted(self):
        self.serve_from_ads(config("web", 3))
        self.ask(), self.ask()
        port = self.ads.port
        self.ads.stop()
        self.assertIn("Connection refused", self.logged("xds_unavailable", 2)[-1])
        self.metric_becomes("xds_connected", 0)
        self.assertGreaterEqual(self.metric("xds_disconnects"), 2)
        self.assertEqual([self.ask()[0] for _ in range(2)], [OK, OVER_LIMIT])
        self.ads = Ads(port)
        self.ads.responses.put(update("2", config("web", 6)))
        self.assertEqual(self.ads.request()[1], b"1")
        self.becomes(6)
        self.assertEqual([self.ask()[0] for _ in range(3)], [OK, OK, OVER_LIMIT])
        # The rules are in force before the stream counts as connected.
        self.metric_becomes("xds_connected", 1)
        self.logged("xds_connected", 2)

    def test_a_server_that_is_not_there_at_the_start(self):
        port = free_port()
        self.serve(f"xds://127.0.0.1:{port}?node=n")
        self.assertIn("Connection refused", self.logged("xds_unavailable")[0])
        code, details = failure(self.ask)
        self.assertEqual((code, details), (grpc.StatusCode.UNKNOWN, "no rate limit configuration loaded"))
        late = Ads(port)
        self.addCleanup(late.stop)
        late.responses.put(update("1", config("web", 2)))
        self.metric_becomes("config_load_success", 1)
        self.assertEqual(self.ask()[1], 2)

    def test_a_server_that_ends_its_streams_without_a_message(self):
        self.ads.responses.put("")
        self.serve(f"xds://127.0.0.1:{self.ads.port}?node=n")
        self.assertIn("the stream ended with status 0", self.logged("xds_unavailable")[0])

    def test_a_server_that_accepts_and_never_answers(self):
        """Neither one without HTTP/2 nor one that has no rules for this node stops the program."""
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen()
            began = time.monotonic()
            self.serve(f"xds://127.0.0.1:{silent.getsockname()[1]}?node=n")
            self.assertLess(time.monotonic() - began, 10)
            self.assertEqual(failure(self.ask)[1], "no rate limit configuration loaded")
            self.assertIn("the server does not answer", self.logged("xds_unavailable")[0])
        self.serve(f"xds://127.0.0.1:{self.ads.port}?node=n")
        self.assertEqual(failure(self.ask)[1], "no rate limit configuration loaded")
        self.logged("xds_connected")
        self.metric_becomes("xds_connected", 1)
        self.ads.responses.put(update("1", config("web", 2)))
        self.metric_becomes("config_load_success", 1)
        self.assertEqual(self.ask()[1], 2)

    def test_a_flood_of_updates_is_read_slowly_and_ends_with_the_newest(self):
        self.serve_from_ads(config("web", 3))
        began = time.monotonic()
        for version in range(2, 3002):
            self.ads.responses.put(update(str(version), config("web", version)))
        self.becomes(3001)
        seconds = time.monotonic() - began
        loads = self.metric("config_load_success")
        self.assertLess(loads, 2 + 25 * seconds, "about 20 a second are applied")
        self.assertLess(loads, 3000)
        deadline = time.monotonic() + 20
        while self.ads.request()[1] != b"3001":
            self.assertLess(time.monotonic(), deadline)

    def test_a_huge_message_is_refused_and_the_memory_is_bounded(self):
        self.serve_from_ads(config("web", 3))
        with open(f"/proc/{self.served.process.pid}/statm", encoding="ascii") as file:
            before = int(file.read().split()[1]) * 4096
        self.ads.responses.put(update("2", b"\x00" * (40 << 20)))
        self.assertIn("larger than 16777216 bytes", self.logged("xds_unavailable")[0])
        with open(f"/proc/{self.served.process.pid}/statm", encoding="ascii") as file:
            after = int(file.read().split()[1]) * 4096
        self.assertLess(after - before, 64 << 20)
        self.assertEqual(self.ask("probe")[1], 3)
        # Many small resources are bounded by their number.
        self.ads.responses.put(update("3", *[config(f"d{i}", 1) for i in range(10_001)]))
        while (refused := self.ads.request()).get(6) is None:
            pass
        self.assertIn("allowed are 10000", fields(refused[6])[2].decode())
        self.ads.responses.put(update("4", *[config(f"d{i}", 1) for i in range(2_000)]))
        self.becomes(1, domain="d1999")

    def test_variables_of_the_original(self):
        self.ads.responses.put(update("1", config("web", 3)))
        self.serve(variables={"CONFIG_TYPE": "GRPC_XDS_SOTW",
                              "CONFIG_GRPC_XDS_NODE_ID": "ratelimit",
                              "CONFIG_GRPC_XDS_SERVER_URL": f"localhost:{self.ads.port}"})
        self.assertEqual(fields(self.ads.request()[2])[1], b"ratelimit")
        self.assertEqual(self.ask()[1], 3)

    def test_a_drain_does_not_wait_for_the_server(self):
        self.serve_from_ads(config("web", 3))
        began = time.monotonic()
        self.served.process.send_signal(signal.SIGTERM)
        self.served.process.wait(20)
        self.assertLess(time.monotonic() - began, 8)

    def test_urls_that_are_refused(self):
        for url in ("xds://127.0.0.1:1", "xds://127.0.0.1?node=n", "xds://127.0.0.1:1?node=n&color=red", "grpc://h:1"):
            run = subprocess.run([PROGRAM, "serve", "--listen", "127.0.0.1:0", "--rules", url],
                                 capture_output=True, text=True, timeout=30)
            self.assertEqual(run.returncode, 2)
            self.assertIn(f'--rules: rules is "{url}"; allowed is the path of a file or folder, '
                          'or xds://HOST:PORT?node=ID', run.stderr)

    def test_the_command_lists_the_rules_of_a_server(self):
        url = f"xds://127.0.0.1:{self.ads.port}?node=n"
        self.ads.responses.put(update("1", config("web", 3), config("mail", 4)))
        run = subprocess.run([PROGRAM, "rules", "list", "--rules", url], capture_output=True, text=True, timeout=30)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertEqual(run.stdout.splitlines(),
                         ["web.user   3 per hour  # xds resource 'web'",
                          "mail.user  4 per hour  # xds resource 'mail'"])


class XdsOverTls(XdsCase):
    """The subscription of Envoy Gateway: TLS in both directions."""

    def setUp(self):
        self.certificates = Certificates()
        self.addCleanup(self.certificates.cleanup)
        credentials = grpc.ssl_server_credentials(
            [(self.certificates.read("server.key"), self.certificates.read("server.pem"))],
            self.certificates.read("ca.pem"),
            require_client_auth=True,
        )
        self.start(credentials)

    def variables(self, **changes):
        path = self.certificates.path
        return {"CONFIG_TYPE": "GRPC_XDS_SOTW",
                "CONFIG_GRPC_XDS_SERVER_URL": f"localhost:{self.ads.port}",
                "CONFIG_GRPC_XDS_SERVER_USE_TLS": "true",
                "CONFIG_GRPC_XDS_SERVER_TLS_CACERT": path("ca.pem"),
                "CONFIG_GRPC_XDS_CLIENT_TLS_CERT": path("client.pem"),
                "CONFIG_GRPC_XDS_CLIENT_TLS_KEY": path("client.key"), **changes}

    def test_rules_over_tls(self):
        self.ads.responses.put(update("1", config("web", 3)))
        self.serve(variables=self.variables())
        self.assertEqual(self.ask()[1], 3)
        # More than a record of TLS holds.
        self.ads.responses.put(update("2", *[config(f"d{i}", 1) for i in range(3_000)]))
        self.becomes(1, domain="d2999")

    def test_another_name_is_refused_and_may_be_given(self):
        self.ads.responses.put(update("1", config("web", 3)))
        address = f"127.0.0.1:{self.ads.port}"
        self.serve(variables=self.variables(CONFIG_GRPC_XDS_SERVER_URL=address))
        self.assertIn("certificate is not accepted: IP address mismatch", self.logged("xds_unavailable")[0])
        self.serve(variables=self.variables(CONFIG_GRPC_XDS_SERVER_URL=address,
                                            CONFIG_GRPC_XDS_SERVER_TLS_SAN="localhost"))
        self.assertEqual(self.ask()[1], 3)

    def test_an_unknown_authority_is_refused(self):
        other = Certificates()
        self.addCleanup(other.cleanup)
        self.serve(variables=self.variables(CONFIG_GRPC_XDS_SERVER_TLS_CACERT=other.path("ca.pem")))
        self.assertIn("certificate is not accepted", self.logged("xds_unavailable")[0])

    def test_a_client_without_a_certificate_is_refused_by_the_server(self):
        variables = self.variables()
        del variables["CONFIG_GRPC_XDS_CLIENT_TLS_CERT"], variables["CONFIG_GRPC_XDS_CLIENT_TLS_KEY"]
        self.serve(variables=variables)
        self.logged("xds_unavailable")
        self.assertEqual(self.metric("xds_connected"), 0)

    def test_files_that_can_not_be_read(self):
        environment = {**os.environ, **self.variables(CONFIG_GRPC_XDS_SERVER_TLS_CACERT="/missing.pem")}
        run = subprocess.run([PROGRAM, "serve", "--listen", "127.0.0.1:0"],
                             env=environment, capture_output=True, text=True, timeout=30)
        self.assertEqual(run.returncode, 2)
        self.assertIn("the CA certificate /missing.pem can't be used: it can't be read", run.stderr)


if __name__ == "__main__":
    unittest.main()
