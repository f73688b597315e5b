"""A mixed load over HTTP, on servers that share a Redis and on servers that don't."""

import contextlib
import os

from metrics import metric_of
from servers import SERVER_CORE
from wrk import CLIENT_CORE, Wrk

HERE = os.path.dirname(os.path.abspath(__file__))
KEYS = 100_000
USUAL_RATE = 80_000  # decisions per second at which the share of Redis is judged
ALL_CORES = f"{SERVER_CORE},{CLIENT_CORE}"
SCRIPTS = ("eval", "evalsha", "fcall")


class Counts:
    """What servers and Redis have done so far; differences of two are what a measurement cost."""

    def __init__(self, servers, redis):
        def total(name, label=""):
            return sum(metric_of(server, name, label) or 0 for server in servers)

        self.figures = {
            "decisions": total("sluice_decisions_total"),
            "denied": total("sluice_decisions_total", 'outcome="denied"'),
            "waited": total("sluice_decisions_total", 'source="origin"'),
            "fallbacks": total("sluice_origin_fallbacks_total"),
            "server_seconds": sum(server.processor_seconds() for server in servers),
            "redis_seconds": redis.processor_seconds(),
            "scripts": redis.calls(*SCRIPTS),
            "writes": redis.calls(*redis.commands_in("write")),
            "reads": redis.calls(*redis.commands_in("read")),
        }

    def since(self, before):
        return {name: value - before.figures[name] for name, value in self.figures.items()}


class MixedLoad:
    """One configuration: so many servers, with Redis or without."""

    def __init__(self, bench, nodes, origin):
        self.bench, self.nodes, self.origin = bench, nodes, origin
        # One server and its client have a core each. More than one share all cores with client and Redis.
        self.server_cores, self.client_cores = (SERVER_CORE, CLIENT_CORE) if nodes == 1 else (ALL_CORES, ALL_CORES)
        self.seed = 0

    def measure(self):
        """Begins with new servers and an empty Redis, so that all rounds find the windows as empty."""
        redis, sizes = self.bench.redis, self.bench.sizes
        redis.forget()
        redis.move_to(self.client_cores)
        with contextlib.ExitStack() as all_of_them:
            servers = [all_of_them.enter_context(self.start(number)) for number in range(self.nodes)]
            self.load(servers, sizes.mixed_warm_seconds)
            before = Counts(servers, redis)
            result = self.load(servers, sizes.mixed_seconds)
            spent = Counts(servers, redis).since(before)
        redis.move_to(SERVER_CORE)
        decisions = spent["decisions"]
        per_decision = ("denied", "waited", "fallbacks", "scripts", "writes", "reads")
        return {
            "rate": result["rate"],
            "p99": result["p99"],
            "per_cpu_second": decisions / spent["server_seconds"],
            "redis_share": spent["redis_seconds"] / sizes.mixed_seconds,
            "redis_us": spent["redis_seconds"] / decisions * 1e6,
            **{name: spent[name] / decisions for name in per_decision},
        }

    def start(self, number):
        flags = ("--origin", self.bench.redis.origin(), "--origin-timeout", "2s") if self.origin else ()
        return self.bench.start_server(f"mixed{number}", flags, self.server_cores)

    def load(self, servers, seconds):
        self.seed += 1
        words = [KEYS, self.seed, *(server.port for server in servers)]
        script = os.path.join(HERE, "mixed.lua")
        return Wrk(seconds, self.client_cores).run_script(script, servers[0].url(), words, threads=len(servers))


def measure_mixed(bench):
    for nodes in (1, 3):
        name = "mixed_load" + (f", {nodes} servers" if nodes > 1 else "")
        sides = {
            "with": MixedLoad(bench, nodes, origin=True).measure,
            "without": MixedLoad(bench, nodes, origin=False).measure,
        }
        got = bench.in_turn(name, sides)
        add_figures(bench.report, name, got["with"], got["without"], has_core=nodes == 1)


def add_figures(report, name, ours, alone, has_core):
    """Answer times and what Redis needs are judged only where the server has a core to itself."""

    def beside(label, figure, unit, at_least=None):
        report.add(f"{name}{label}", ours[figure], unit, alone[figure], ours[figure] / alone[figure], at_least)

    beside(", per cpu second", "per_cpu_second", "per cpu s", at_least=0.8)
    beside("", "rate", "per second")
    report.add(f"{name}, p99", ours["p99"], "us", alone["p99"], at_most=2_000 if has_core else None)
    report.add(f"{name}, denied", ours["denied"], "per decision", alone["denied"])
    report.add(f"{name}, decided by Redis", ours["waited"], "per decision")
    report.add(f"{name}, fallbacks", ours["fallbacks"], "per decision", at_most=0)
    at_usual_rate = ours["redis_us"] * USUAL_RATE / 1e6
    report.add(f"{name}, Redis at {USUAL_RATE:,}/s", at_usual_rate, "cores", at_most=0.25 if has_core else None)
    report.add(f"{name}, Redis", ours["redis_share"], "cores")
    report.add(f"{name}, Redis each", ours["redis_us"], "us")
    report.add(f"{name}, Redis scripts", ours["scripts"], "per decision")
    report.add(f"{name}, Redis write commands", ours["writes"], "per decision")
    report.add(f"{name}, Redis read commands", ours["reads"], "per decision")
