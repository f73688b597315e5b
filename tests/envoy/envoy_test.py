"""A real Envoy asks Sluice, by the configuration and the rules of examples/envoy.

    python -m unittest envoy_test      with SLUICE_PROGRAM and ENVOY_PROGRAM
"""

import threading
import time
import unittest

from processes import EDGE, FIRST_NODE, SECOND_NODE, Client, Stack, eventually

# The share of calls that a busy machine may let exceed Envoy's 20 ms.
LATE_CALLS = 0.01
ATTEMPTS = 10
DENY_SHARE = "ratelimit.failure_mode_deny_percent"


class LateAnswer(Exception):
    """Envoy let a request pass because the answer came after its timeout, or gave up a debit."""


def asked(client, path, **headers):
    """The status and the header fields of a request that Sluice has decided."""
    status, fields = client.get(path, **headers)
    if "x-ratelimit-limit" not in fields:
        raise LateAnswer(path)
    return status, fields


def statuses(client, count, path, **headers):
    return [asked(client, path, **headers)[0] for _ in range(count)]


def on_time(scenario):
    """Runs a scenario with a name of its own for what it counts; again, with another name, after a late answer."""
    for attempt in range(1, ATTEMPTS):
        try:
            return scenario(f"user-{attempt}")
        except LateAnswer:
            pass
    return scenario(f"user-{ATTEMPTS}")


def warm_up(client, nodes):
    """Has Envoy connect to its nodes, which takes longer than a call."""
    for _ in range(nodes):
        eventually(lambda: "x-ratelimit-limit" in client.get("/orders", x_user="warm-up")[1], "Envoy has connected")


class OneNode(unittest.TestCase):
    """The tests share a node and count different users and tenants."""

    @classmethod
    def setUpClass(cls):
        cls.stack = cls.enterClassContext(Stack())
        cls.envoy = cls.stack.envoy()
        cls.node = cls.stack.node(cls.envoy.ports[FIRST_NODE])
        cls.envoy.await_nodes(1)

    def setUp(self):
        self.client = self.envoy.client()
        self.addCleanup(self.client.close)
        warm_up(self.client, 1)

    def test_requests_pass_up_to_the_limit_and_responses_show_what_is_left(self):
        def order(user):
            for left in (4, 3, 2, 1, 0):
                status, fields = asked(self.client, "/orders", x_user=user)
                self.assertEqual(status, 200)
                self.assertEqual(fields["x-ratelimit-limit"], "5, 5;w=3600")
                self.assertEqual(fields["x-ratelimit-remaining"], str(left))
                self.assertTrue(0 < int(fields["x-ratelimit-reset"]) <= 3600, fields["x-ratelimit-reset"])
                self.assertNotIn("x-envoy-ratelimited", fields)
            status, fields = asked(self.client, "/orders", x_user=user)
            self.assertEqual(status, 429)
            self.assertEqual(fields["x-envoy-ratelimited"], "true")
            self.assertEqual((fields["x-ratelimit-limit"], fields["x-ratelimit-remaining"]), ("5, 5;w=3600", "0"))
            self.assertEqual(statuses(self.client, 1, "/orders", x_user=user + "-other"), [200])

        on_time(order)

    def test_two_descriptors_are_both_enforced(self):
        def search(tenant):
            def by(user, count, tenant=tenant):
                return statuses(self.client, count, "/search", x_tenant=tenant, x_user=user)

            self.assertEqual(by("ann", 5), [200] * 4 + [429], "the user's limit is 4")
            self.assertEqual(by("bob", 2), [200, 429], "the tenant's limit is 6, of which ann's requests took 5")
            self.assertEqual(by("ann", 1, tenant + "-other"), [200])

        on_time(search)

    def test_routes_without_descriptors_are_not_limited(self):
        self.assertEqual({self.client.get("/")[0] for _ in range(20)}, {200})
        status, fields = self.client.get("/orders")  # without the header that makes the descriptor
        self.assertEqual((status, fields.get("x-ratelimit-limit")), (200, None))

    def test_costs_are_debited_when_the_response_ends(self):
        def spent():
            return self.node.metric('ratelimit_service_rate_limit_total_hits{domain="shop",key1="chat_user"}')

        def chat(user):
            before = spent()
            # Each response costs 60 of 100 tokens. The second exceeds the limit, and is counted all the same.
            for total in (60, 120):
                self.assertEqual(asked(self.client, "/chat", x_user=user)[0], 200)
                try:
                    eventually(lambda wanted=total: spent() - before >= wanted, f"{total} tokens are spent", timeout=5)
                except AssertionError as missing:
                    raise LateAnswer("/chat") from missing
            status, fields = asked(self.client, "/chat", x_user=user)
            self.assertEqual((status, fields["x-envoy-ratelimited"]), (429, "true"))

        on_time(chat)

    def test_a_moderate_load_is_answered_within_20_milliseconds(self):
        # Tests that run beside it may take the processors for a while: the best attempt counts.
        share = 1.0
        for _ in range(ATTEMPTS):
            share = min(share, self.late_share())
            if share <= LATE_CALLS:
                return
        self.fail(f"{share:.2%} of the calls took longer than Envoy's timeout; allowed: {LATE_CALLS:.0%}")

    def late_share(self):
        """The share of 600 requests, in 3 seconds on 4 connections, that Envoy let pass without an answer."""
        names = [f"cluster.service.ratelimit.shop.{name}" for name in ("error", "failure_mode_allowed", "ok")]
        before = [self.envoy.stat(name) for name in names]
        threads = [threading.Thread(target=self.send_paced) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        errors, allowed, answered = (self.envoy.stat(name) - old for name, old in zip(names, before))
        self.assertEqual(errors, allowed)
        self.assertEqual(answered + errors, 600)
        return errors / 600

    def send_paced(self):
        client = Client(self.envoy.ports[EDGE])
        begins = time.monotonic()
        for number in range(150):
            time.sleep(max(0.0, begins + number * 0.02 - time.monotonic()))
            client.get("/search", x_tenant="bulk", x_user=f"user-{number % 10}")
        client.close()


class Outages(unittest.TestCase):
    def test_a_killed_node_leaves_the_failure_mode_until_it_is_back(self):
        with Stack() as stack:
            envoy = stack.envoy()
            node = stack.node(envoy.ports[FIRST_NODE])
            envoy.await_nodes(1)
            client = envoy.client()
            self.addCleanup(client.close)
            warm_up(client, 1)
            on_time(lambda user: self.assertEqual(statuses(client, 6, "/orders", x_user=user), [200] * 5 + [429]))

            node.kill()
            for _ in range(10):  # also before the health check has noticed
                status, fields = client.get("/orders", x_user="ann")
                self.assertEqual((status, fields.get("x-ratelimit-limit")), (200, None))
            envoy.admin("POST", f"/runtime_modify?{DENY_SHARE}=100")
            self.assertEqual([client.get("/orders", x_user="ann")[0] for _ in range(3)], [500] * 3)

            stack.node(envoy.ports[FIRST_NODE])
            envoy.await_nodes(1)
            eventually(lambda: client.get("/orders", x_user="ann")[0] == 200, "Envoy asks again")
            eventually(lambda: client.get("/orders", x_user="ann")[0] == 429, "the limit is enforced again")


class TwoNodes(unittest.TestCase):
    LIMIT = 300  # of the user `partner`

    def test_nodes_behind_one_envoy_share_a_limit_through_redis(self):
        with Stack() as stack:
            redis = stack.redis()
            envoy = stack.envoy()
            flags = ["--origin", redis.url, "--region", "test"]
            first = stack.node(envoy.ports[FIRST_NODE], *flags)
            stack.node(envoy.ports[SECOND_NODE], *flags)
            envoy.await_nodes(2)
            client = envoy.client()
            self.addCleanup(client.close)
            warm_up(client, 2)

            answers = [client.get("/orders", x_user="partner") for _ in range(2 * self.LIMIT)]
            late = sum("x-ratelimit-limit" not in fields for _, fields in answers)
            admitted = sum(status == 200 for status, _ in answers) - late
            # Nine of ten calls show how the limit is shared; the timeout has a test of its own. The hits of a late call
            # may be counted, although its answer was discarded.
            self.assertLess(late, len(answers) / 10)
            one_percent = self.LIMIT // 100
            self.assertLessEqual(admitted, self.LIMIT + one_percent)
            self.assertGreaterEqual(admitted, self.LIMIT - one_percent - late)
            for port, calls in envoy.calls_by_port().items():
                self.assertGreaterEqual(calls, self.LIMIT - 5, f"round robin: the node at {port}")

            # The other one knows what the first has admitted.
            first.kill()
            envoy.await_nodes(1)
            on_time(lambda _: self.assertEqual(statuses(client, 3, "/orders", x_user="partner"), [429] * 3))


if __name__ == "__main__":
    unittest.main()
