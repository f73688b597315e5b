"""docs/benchmarks-peers.md and its plots, from the results of ./run."""

import statistics
import subprocess
import textwrap

from limiters import CONNECTIONS, LOADS

LIBRARIES_DIFFER = """What differs: governor and throttlecrab are GCRA limiters and keep one time per key; x/time is a token
bucket without keys, here in a map with a lock; limitador keeps a fixed window per key, which begins with its first request.
Sluice keeps the exact counts of two windows per key, can be called from any number of threads at once, and shares counts
with other nodes. governor is used with its single-threaded map, and throttlecrab's limiter is single-threaded by design;
x/time's map, limitador and Sluice are safe for threads. limitador finds the limits of a request by itself: it evaluates
their conditions and variables as expressions in CEL, in a context that is made for each request, and that is a large part of
its time. Its counters are in a cache (moka) with a capacity, here the number of keys, above which it would evict counts."""

MEMORY_DIFFERS = """nginx's `limit_req` and Envoy's local rate limit answer a GET; Sluice and throttlecrab's server parse
and answer JSON. Envoy has one bucket for all keys; the others count each of 1,000 keys. nginx's is a leaky bucket in shared
memory. throttlecrab's server has one worker thread of tokio; one task owns the limiter, and requests are messages to it.
gubernator's HTTP interface is a gateway to its gRPC service. It is one node here and owns all keys; with more nodes, each
request goes to the node that owns its key. Version 2.4.0 is the newest whose checksum could be verified."""

REDIS_DIFFERS = """envoyproxy/ratelimit by its `/json` route: a fixed window that Redis increments on each request. Sluice
decides from memory while what is left is far from the limit, and writes to Redis in the background. Here all limits are far,
which is its best case: near a limit Redis decides, as in the mixed load of [benchmarks](benchmarks.md). Redis shares a core
with `wrk`."""

GRPC_DIFFERS = """h2load sends the same call over and over, so there is one key, far from its limit. Sluice and
envoyproxy/ratelimit get the same bytes, `ShouldRateLimit` with one descriptor, and have the same rule file. Redis shares a
core with h2load. envoyproxy/ratelimit has no way to count without Redis or Memcached. throttlecrab's server has a service
of its own, and so has gubernator: their calls carry the limit, and they count in memory only. nginx answers with a constant
and looks into no message: a reference for HTTP/2 itself, not a lower bound."""

OUTAGE = """50 keys with a limit of 1,000 a minute each, so 50,000 may pass. Redis is killed after 3 of 9 seconds and does not
come back. 32 connections have one request each at a time, from a client in Go that gives up a request after a second and
sends the next one. A failed request is one that has no decision by then, or an error as its answer. The worst answer is of
the requests that were decided."""

OUTAGE_DIFFERS = """envoyproxy/ratelimit waits up to 10 seconds for Redis (`REDIS_TIMEOUT`) and leaves it to its client what
a failure means; Envoy lets such requests pass unless `failure_mode_deny` is set. Sluice decides from memory. It is one node
here and has all counts; N nodes would each enforce the limit alone until Redis is back, so up to N times the limit could pass
([consistency](consistency.md))."""

NOT_MEASURED = {
    "limitador's server": "it is not on crates.io; the library is, and is measured above",
}


class Page:
    """Lines of Markdown, and the plots that they refer to."""

    def __init__(self, images):
        self.images, self.lines = images, []

    def heading(self, text):
        self.lines += [f"## {text}", ""]

    def paragraph(self, text):
        self.lines += [*textwrap.wrap(text, 118, break_long_words=False, break_on_hyphens=False), ""]

    def table(self, columns, rows):
        self.lines += ["| " + " | ".join(columns) + " |", "|---" * len(columns) + "|"]
        self.lines += ["| " + " | ".join(row) + " |" for row in rows] + [""]

    def plot(self, name, title, unit, values):
        """A bar for each name; `values` are all figures of it."""
        draw(self.images / name, title, unit, values)
        self.lines += [f"![{title}](images/{name})", ""]

    def text(self):
        return "\n".join(self.lines)


def spread(values, digits=0):
    """Median, and the least and most in brackets; nothing where nothing was measured."""
    if None in values:
        return ""

    def shown(value):
        return f"{value:,.{digits}f}"
    return f"{shown(statistics.median(values))} ({shown(min(values))} to {shown(max(values))})"


def draw(path, title, unit, values):
    height, left, width = 34, 230, 430
    scale = width / max(max(each) for each in values.values())
    rows = []
    for i, (name, each) in enumerate(values.items()):
        y, median, least, most = 44 + i * height, statistics.median(each), min(each) * scale, max(each) * scale
        color = "#2b6cb0" if name.startswith("Sluice") else "#a0aec0"
        rows.append(f'<text x="{left - 8}" y="{y + 15}" text-anchor="end">{name}</text>'
                    f'<rect x="{left}" y="{y}" width="{median * scale:.1f}" height="22" fill="{color}"/>'
                    f'<path d="M{left + least:.1f} {y + 11}H{left + most:.1f}" stroke="#1a202c" stroke-width="2"/>'
                    f'<text x="{left + most + 6:.1f}" y="{y + 15}">{median:,.0f} {unit}</text>')
    size = f'width="{left + width + 130}" height="{56 + len(values) * height}"'
    path.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="13">'
                    f'<rect width="100%" height="100%" fill="white"/>'
                    f'<text x="12" y="24" font-size="15" font-weight="bold">{title}</text>{"".join(rows)}</svg>\n')


def add_conditions(page, programs, rounds, loads):
    first, commit = subprocess.run([programs.sluice, "--version"], capture_output=True, text=True,
                                   check=True).stdout.splitlines()[:2]
    machine = subprocess.run(["sh", "-c", "nproc; grep -m1 'model name' /proc/cpuinfo | cut -d: -f2"],
                             capture_output=True, text=True, check=True).stdout.splitlines()
    page.lines += ["# Benchmarks beside other limiters", ""]
    page.paragraph(
        f"Written by `make bench-peers`; `bench/peers/README.md` says what is measured and how. Each cell is a median of "
        f"{rounds} interleaved rounds, with the least and the most. {machine[0]} cores,{machine[1]}; load average "
        f"{loads['start']:.2f} at the start and {loads['end']:.2f} at the end; the benchmark itself keeps both cores busy. "
        f"Compare within a table only. {first}, {commit}; "
        + ", ".join(f"{name} {version}" for name, version in programs.versions().items() if version) + ".")
    if loads["start"] > 1:
        page.paragraph("**The machine was busy with other work when this was measured:** rates and latencies are worse than "
                       "on a quiet one, and not for all alike. Processor times suffer less.")


def add_libraries(page, results):
    sizes = list(next(iter(results.values())))
    page.heading("In-process, one thread")
    page.paragraph("Nanoseconds of processor time per decision, of 500,000 decisions on keys at random.")
    page.table(
        ["limiter", *[f"{int(size):,} key{'s' if int(size) > 1 else ''}" for size in sizes],
         "worst decision of 1,000,000 keys, µs", "bytes per key, of 1,000,000"],
        [[name, *[spread([each["ns"] for each in by_size[size]]) for size in sizes],
          *[spread([each[field] for each in by_size[sizes[-1]]]) for field in ("worst_us", "bytes_per_key")]]
         for name, by_size in results.items()])
    for size in sizes[1:]:
        page.plot(f"peers-library-{size}.svg", f"Nanoseconds per decision, {int(size):,} keys", "ns",
                  {name: [each["ns"] for each in by_size[size]] for name, by_size in results.items()})
    page.paragraph(LIBRARIES_DIFFER)


def add_servers(page, key, title, differs, results):
    page.heading(title)
    page.paragraph(f"One serving thread on one core, {CONNECTIONS} connections of `wrk` on the other. Processor time is "
                   f"per request, of the server{' and of Redis' if key == 'redis' else ''}.")
    columns = {"requests/s": ("rate", 0), "p99, ms": ("p99_ms", 2), "worst, ms": ("worst_ms", 1),
               "processor time, µs": ("processor_us", 1)}
    if key == "redis":
        columns["of Redis, µs"] = ("redis_us", 1)
    page.table(["server", *columns],
               [[name, *[spread([each[field] for each in rounds], digits) for field, digits in columns.values()]]
                for name, rounds in results.items()])
    page.plot(f"peers-{key}.svg", f"{title}: requests per second", "/s",
              {name: [each["rate"] for each in rounds] for name, rounds in results.items()})
    page.paragraph("What differs: " + differs)


def add_grpc(page, results):
    page.heading("gRPC")
    page.paragraph("One serving thread on one core, h2load on the other. Processor time is per call, of the server and of "
                   "Redis.")
    columns = {"calls/s": ("rate", 0), "p99, ms": ("p99_ms", 2), "worst, ms": ("worst_ms", 1),
               "processor time, µs": ("processor_us", 1), "of Redis, µs": ("redis_us", 1)}
    for connections, streams in LOADS:
        load = f"{connections} of {streams}"
        page.lines += [f"{connections} connections, {streams} call{'s' if streams > 1 else ''} of each at a time:", ""]
        page.table(["server", *columns],
                   [[name, *[spread([each[load][field] for each in rounds], digits) for field, digits in columns.values()]]
                    for name, rounds in results.items()])
    load = f"{LOADS[-1][0]} of {LOADS[-1][1]}"
    page.plot("peers-grpc.svg", f"gRPC: calls per second, {LOADS[-1][0]} connections of {LOADS[-1][1]} calls", "/s",
              {name: [each[load]["rate"] for each in rounds] for name, rounds in results.items()})
    page.paragraph("What differs: " + GRPC_DIFFERS)


def add_outage(page, results):
    if not results:
        return
    rounds = len(next(iter(results.values())))
    page.heading("Redis is killed under load")
    page.paragraph(f"{OUTAGE} {rounds} round{'s' if rounds > 1 else ''}.")
    page.table(["server", "passed, of 50,000", "denied", "failed", "worst answer, ms"],
               [[name, *[spread([each[field] for each in runs]) for field in ("passed", "denied", "failed", "worst_ms")]]
                for name, runs in results.items()])
    page.paragraph("What differs: " + OUTAGE_DIFFERS)


def text(results, images, programs, rounds):
    page = Page(images)
    add_conditions(page, programs, rounds, results["load average"])
    add_libraries(page, results["libraries"])
    add_servers(page, "memory", "Servers without Redis", MEMORY_DIFFERS, results["memory"])
    add_servers(page, "redis", "Servers with Redis", REDIS_DIFFERS, results["redis"])
    add_grpc(page, results["grpc"])
    add_outage(page, results["outage"])
    page.heading("Not measured")
    page.lines += [f"- {name}: {why}." for name, why in {**NOT_MEASURED, **programs.missing}.items()]
    return page.text() + "\n"
