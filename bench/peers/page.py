"""The section of docs/benchmarks.md about other limiters, and its plots, from the results of ./run."""

import os
import pathlib
import platform
import statistics
import subprocess
import textwrap

from limiters import CONNECTIONS, LOADS

# The lines around the section.
BEGIN, END = "<!-- measured by make bench-peers -->", "<!-- end -->"

LIBRARIES_DIFFER = """governor and throttlecrab are GCRA limiters and keep one time per key; x/time is a token bucket
without keys, here in a map with a lock; limitador keeps a fixed window per key, which begins with its first request.
Sluice keeps the exact counts of two windows per key, can be called from any number of threads at once, and shares
counts with other nodes. governor is used with its single-threaded map, and throttlecrab's limiter is single-threaded by
design; x/time's map, limitador and Sluice are safe for threads. limitador finds the limits of a request by itself: it
evaluates their conditions and variables as expressions in CEL, in a context that is made for each request, and that is
a large part of its time. Its counters are in a cache (moka) with a capacity, here the number of keys, above which it
would evict counts."""

LIBRARY_FIGURES = """Bytes per key leave out the test's list of keys. x/time's map shares the bytes of the keys with
that list, as strings of Go do, while the others hold copies; a copy would add 16 bytes per key. Nanoseconds per
decision are of the whole process. The worst decision is processor time of the deciding thread alone, on keys that are
held already: garbage collection of x/time on other threads is left out, and so is the thread of Sluice that prepares
large pages for a growing table."""

MEMORY_DIFFERS = """nginx's `limit_req` and Envoy's local rate limit answer a GET; Sluice, throttlecrab's server and
gubernator parse and answer JSON. Envoy has one bucket for all keys; the others count each of 1,000 keys. nginx's is a
leaky bucket in shared memory. throttlecrab's server has one worker thread of tokio; one task owns the limiter, and
requests are messages to it. gubernator's HTTP interface is a gateway to its gRPC service. It is one node here and
owns all keys; with more nodes, each request goes to the node that owns its key. Version 2.4.0 is the newest whose
checksum could be verified."""

REDIS_DIFFERS = """envoyproxy/ratelimit by its `/json` route: a fixed window that Redis increments on each request.
Sluice decides from memory while what is left is far from the limit, and writes to Redis in the background. Here all
limits are far, which is its best case: near a limit Redis decides, as in the [mixed
load](#server-with-redis-mixed-load) above. Redis shares a core with `wrk`."""

GRPC_DIFFERS = """h2load sends the same call over and over, so there is one key, far from its limit. Sluice and
envoyproxy/ratelimit get the same bytes, `ShouldRateLimit` with one descriptor, and have the same rule file. Redis
shares a core with h2load. envoyproxy/ratelimit has no way to count without Redis or Memcached. throttlecrab's server
has a service of its own, and so has gubernator: their calls carry the limit, and they count in memory only. nginx
answers with a constant and looks into no message: a reference for HTTP/2 itself, not a lower bound."""

OUTAGE = """50 keys with a limit of 1,000 a minute each, so 50,000 may pass. Redis is killed after 3 of 9 seconds and
does not come back. 32 connections have one request each at a time, from a client in Go that gives up a request after a
second and sends the next one. A failed request is one that has no decision by then, or an error as its answer. The
worst answer is of the requests that were decided."""

OUTAGE_DIFFERS = """envoyproxy/ratelimit waits up to 10 seconds for Redis (`REDIS_TIMEOUT`) and leaves it to its client
what a failure means; Envoy lets such requests pass unless `failure_mode_deny` is set. Sluice decides from memory. It is
one node here and has all counts; N nodes would each enforce the limit alone until Redis is back, so up to N times the
limit could pass ([consistency](consistency.md))."""

NOT_MEASURED = {
    "limitador's server": "it is not on crates.io; the library is, and is measured above",
}

STYLE = """
    text { fill: #1f2328; font: 12px system-ui, -apple-system, 'Segoe UI', sans-serif; }
    .title { font-weight: 600; }
    .y { text-anchor: end; }
    .sluice { fill: #0969da; }
    .peer { fill: #afb8c1; }
    .spread { stroke: #1f2328; stroke-width: 2; }
    @media (prefers-color-scheme: dark) {
      text { fill: #f0f6fc; }
      .sluice { fill: #1f6feb; }
      .peer { fill: #59636e; }
      .spread { stroke: #f0f6fc; }
    }
"""


class Page:
    """Lines of Markdown, and the plots that they refer to."""

    def __init__(self, images):
        self.images, self.lines = images, []

    def heading(self, text):
        self.lines += [f"### {text}", ""]

    def paragraph(self, text):
        self.lines += [*textwrap.wrap(text, 118, break_long_words=False, break_on_hyphens=False), ""]

    def table(self, columns, rows):
        self.lines += ["| " + " | ".join(columns) + " |", "|---" * len(columns) + "|"]
        self.lines += ["| " + " | ".join(row) + " |" for row in rows] + [""]

    def plot(self, name, title, unit, values):
        """A bar for each name; `values` are all figures of it."""
        (self.images / name).write_text(bars(title, unit, values), encoding="utf-8")
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


def cells(rounds, columns):
    """A cell for each column, which has the name of a figure and its digits."""
    return [spread([each[field] for each in rounds], digits) for field, digits in columns.values()]


def bars(title, unit, values):
    """A bar of the median for each name, with a line from the least to the most, in SVG."""
    step, left, width = 34, 200, 420
    scale = width / max(max(each) for each in values.values())
    parts = [f'<text class="title" x="10" y="16">{title}</text>']
    for i, (name, each) in enumerate(values.items()):
        y, median = 32 + i * step, statistics.median(each)
        least, most = left + min(each) * scale, left + max(each) * scale
        kind = "sluice" if name.startswith("Sluice") else "peer"
        parts += [
            f'<text class="y" x="{left - 8}" y="{y + 15}">{name}</text>',
            f'<rect class="{kind}" x="{left}" y="{y}" width="{median * scale:.1f}" height="22"/>',
            f'<path class="spread" d="M{least:.1f} {y + 11}H{most:.1f}"/>',
            f'<text x="{most + 6:.1f}" y="{y + 15}">{median:,.0f} {unit}</text>',
        ]
    size, body = f"{left + width + 110} {32 + len(values) * step}", "\n  ".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" role="img" aria-label="{title}">\n'
        f"  <style>{STYLE}  </style>\n  {body}\n</svg>\n"
    )


def processor():
    """The model of the processor, or its architecture where the kernel does not name a model."""
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.machine()


def add_conditions(page, programs, rounds, loads):
    output = subprocess.run([programs.sluice, "--version"], capture_output=True, text=True, check=True).stdout
    first, commit = output.splitlines()[:2]
    peers = ", ".join(f"{name} {version}" for name, version in programs.versions().items() if version)
    page.paragraph(
        f"Written by `make bench-peers`; [bench/peers](../bench/peers/README.md) says what is measured and how. Each "
        f"cell is a median of {rounds} interleaved rounds, with the least and the most. {len(os.sched_getaffinity(0))} "
        f"cores, {processor()}; load average {loads['start']:.2f} at the start and {loads['end']:.2f} at the end; the "
        f"benchmark itself keeps both cores busy. Compare within a table only. {first}, {commit}; {peers}.")
    if loads["start"] > 1:
        page.paragraph("**The machine was busy with other work when this was measured:** rates and latencies are "
                       "worse than on a quiet one, and not for all alike. Processor times suffer less.")


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
    page.paragraph("What differs: " + LIBRARIES_DIFFER)
    page.paragraph(LIBRARY_FIGURES)


def add_servers(page, key, title, differs, results):
    page.heading(title)
    page.paragraph(f"One serving thread on one core, {CONNECTIONS} connections of `wrk` on the other. Processor time "
                   f"is per request, of the server{' and of Redis' if key == 'redis' else ''}.")
    columns = {"requests/s": ("rate", 0), "p99, ms": ("p99_ms", 2), "worst, ms": ("worst_ms", 1),
               "processor time, µs": ("processor_us", 1)}
    if key == "redis":
        columns["of Redis, µs"] = ("redis_us", 1)
    page.table(["server", *columns], [[name, *cells(rounds, columns)] for name, rounds in results.items()])
    page.plot(f"peers-{key}.svg", f"{title}: requests per second", "/s",
              {name: [each["rate"] for each in rounds] for name, rounds in results.items()})
    page.paragraph("What differs: " + differs)


def add_grpc(page, results):
    page.heading("gRPC servers")
    page.paragraph("One serving thread on one core, h2load on the other. Processor time is per call, of the server and "
                   "of Redis.")
    columns = {"calls/s": ("rate", 0), "p99, ms": ("p99_ms", 2), "worst, ms": ("worst_ms", 1),
               "processor time, µs": ("processor_us", 1), "of Redis, µs": ("redis_us", 1)}
    for connections, streams in LOADS:
        load = f"{connections} of {streams}"
        page.paragraph(f"{connections} connections, {streams} call{'s' if streams > 1 else ''} of each at a time:")
        page.table(["server", *columns],
                   [[name, *cells([each[load] for each in rounds], columns)] for name, rounds in results.items()])
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
    columns = {"passed, of 50,000": ("passed", 0), "denied": ("denied", 0), "failed": ("failed", 0),
               "worst answer, ms": ("worst_ms", 0)}
    page.table(["server", *columns], [[name, *cells(runs, columns)] for name, runs in results.items()])
    page.paragraph("What differs: " + OUTAGE_DIFFERS)


def section(results, images, programs, rounds):
    page = Page(images)
    add_conditions(page, programs, rounds, results["load average"])
    add_libraries(page, results["libraries"])
    add_servers(page, "memory", "Servers without Redis", MEMORY_DIFFERS, results["memory"])
    add_servers(page, "redis", "Servers with Redis", REDIS_DIFFERS, results["redis"])
    add_grpc(page, results["grpc"])
    add_outage(page, results["outage"])
    page.heading("Not measured")
    page.lines += [f"- {name}: {why}." for name, why in {**NOT_MEASURED, **programs.missing}.items()]
    return page.text()


def with_section(text, new):
    """The text of docs/benchmarks.md with another section between its two markers."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise ValueError(f"the page has no lines {BEGIN} and {END}")
    return f"{before}{begin}\n\n{new}\n\n{end}{after}"
