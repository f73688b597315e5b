"""How long a spend at one node takes until Redis holds it, while many keys are active at that node."""

import contextlib
import http.client
import json
import math
import threading
import time

from metrics import metric_of
from wrk import CLIENT_CORE, Wrk

DAY = 86_400_000
OLDEST = "sluice_origin_oldest_unsynced_seconds"
LIMIT = 9_007_199_254_740_991
PROBES = 200  # keys; each has at most one spend that is waited for
PROBES_PER_SECOND = 10


class Client:
    """One connection to a server."""

    def __init__(self, server):
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)

    def call(self, operation, body):
        headers = {"Content-Type": "application/json"}
        self.connection.request("POST", f"/v2/ratelimit.{operation}", json.dumps(body), headers)
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{operation} was answered with {answer.status}: {text}")
        return json.loads(text)["data"]


class Probe:
    """A key of which one is spent at `node` from time to time, until `observer` finds that in Redis."""

    def __init__(self, number, node, observer):
        self.key = {"namespace": "bench", "identifier": f"probe_{number:06}", "duration": DAY}
        self.node, self.observer = node, observer
        self.spent, self.spent_at, self.next_look = 0, None, 0

    def spend(self):
        self.spent_at = time.monotonic()
        if not self.node.call("limit", {**self.key, "limit": LIMIT, "cost": 1})["success"]:
            raise RuntimeError("a probe was denied")
        self.spent += 1
        self.next_look = self.spent_at

    def look(self):
        """The age of the spend if Redis holds it, else none. An older one is looked at less often."""
        data = self.observer.call("inspect", self.key)
        age = time.monotonic() - self.spent_at
        held = sum((data[window]["origin"] or {"total": 0})["total"] for window in ("current", "previous"))
        if held < self.spent:
            self.next_look = time.monotonic() + max(0.02, age / 20)
            return None
        self.spent_at = None
        return age


class Probing:
    """Spends and looks on a thread of its own while the context lasts; `ages` are of the spends that were found."""

    def __init__(self, node, observer):
        asking, looking = Client(node), Client(observer)
        self.node = node
        self.probes = [Probe(number, asking, looking) for number in range(PROBES)]
        for probe in self.probes:
            probe.spend()  # the first one of a key is decided by Redis
        self.await_all()
        self.ages, self.gauges = [], []
        self.stopped, self.failure = threading.Event(), None
        self.thread = threading.Thread(target=self.run)

    def await_all(self):
        for probe in self.probes:
            while probe.look() is None:
                time.sleep(0.01)

    def run(self):
        try:
            self.work()
        except Exception as wrong:  # the thread's end; __exit__ raises it
            self.failure = wrong

    def work(self):
        turn, next_spend = 0, time.monotonic()
        while not self.stopped.is_set():
            now = time.monotonic()
            if now >= next_spend:
                probe = self.probes[turn % PROBES]
                if probe.spent_at is None:
                    probe.spend()
                turn, next_spend = turn + 1, next_spend + 1 / PROBES_PER_SECOND
                self.gauges.append(metric_of(self.node, OLDEST))
            self.look(now)
            time.sleep(0.005)

    def look(self, now):
        for probe in self.probes:
            if probe.spent_at is not None and probe.next_look <= now:
                age = probe.look()
                if age is not None:
                    self.ages.append(age)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        self.thread.join()
        if self.failure:
            raise self.failure
        # What was not found yet is at least this old.
        now = time.monotonic()
        self.ages += [now - probe.spent_at for probe in self.probes if probe.spent_at is not None]


def p99(values):
    return sorted(values)[math.ceil(len(values) * 0.99) - 1]


def lag_at(bench, keys):
    """Puts full load on one server, over `keys` keys that are far from their limits; a second one observes."""
    flags = ("--origin", bench.redis.origin(), "--origin-timeout", "2s")
    with contextlib.ExitStack() as all_of_them:
        start = all_of_them.enter_context
        start(bench.redis.on_clients_core())
        node = start(bench.start_server("lag", flags))
        observer = start(bench.start_server("observer", flags, CLIENT_CORE))
        Wrk(bench.sizes.lag_warm_seconds).run(node.url(), keys, duration=DAY)
        with Probing(node, observer) as probing:
            rate = Wrk(bench.sizes.lag_seconds).run(node.url(), keys, duration=DAY)["rate"]
    ages, gauges = probing.ages, [value for value in probing.gauges if value is not None]
    result = {"p99": p99(ages), "max": max(ages), "rate": rate, "probes": len(ages)}
    if gauges:
        result |= {"gauge_p99": p99(gauges), "gauge_max": max(gauges)}
    return result


def measure_flush_lag(bench):
    for keys, wanted in ((20_000, 1), (200_000, 5)):
        name = f"flush_lag, {keys:,} keys"
        got = bench.in_turn(name, {"lag": lambda keys=keys: lag_at(bench, keys)})["lag"]
        bench.report.add(f"{name}, p99", got["p99"], "s", at_most=wanted)
        bench.report.add(f"{name}, longest", got["max"], "s")
        if "gauge_max" in got:
            bench.report.add(f"{name}, gauge, p99", got["gauge_p99"], "s", at_most=wanted)
            bench.report.add(f"{name}, gauge, longest", got["gauge_max"], "s")
        bench.report.add(f"{name}, load", got["rate"], "per second")
