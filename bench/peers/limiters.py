"""Limiters as servers of one thread: how each is started, and the request or call that asks it for one decision."""

import http.client
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE.parent / folder) for folder in ("http", "grpc")]
from h2load import FIELDS, Call, H2load, field, framed, number_field, varint  # noqa: E402
from nginx import Nginx as NginxServer  # noqa: E402
from nginx import start_nginx  # noqa: E402
from servers import Server, free_port, start_sluice  # noqa: E402
from wrk import CLIENT_CORE, CONNECTIONS  # noqa: E402

FAR = 1_000_000_000  # a limit that no run reaches
LOADS = ((CONNECTIONS, 1), (8, 16))  # connections, and concurrent calls of each

NGINX = """
daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log crit;
events {{ worker_connections 1024; }}
http {{
    access_log off; client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
    uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e; keepalive_requests 100000000;
    limit_req_zone $arg_user zone=users:64m rate=60000000r/m; limit_req_status 429;
    server {{
        listen 127.0.0.1:{port};
        location / {{ limit_req zone=users burst=1000000 nodelay; return 200 "ok"; }}
    }}
}}
"""

ENVOY_TYPES = "type.googleapis.com/envoy.extensions.filters"
ENVOY = """
static_resources:
  listeners:
    - address: {{socket_address: {{address: 127.0.0.1, port_value: {port}}}}}
      filter_chains:
        - filters:
            - name: envoy.filters.network.http_connection_manager
              typed_config:
                "@type": {types}.network.http_connection_manager.v3.HttpConnectionManager
                stat_prefix: edge
                http_filters:
                  - name: envoy.filters.http.local_ratelimit
                    typed_config:
                      "@type": {types}.http.local_ratelimit.v3.LocalRateLimit
                      stat_prefix: limit
                      token_bucket: {{max_tokens: 1000000000, tokens_per_fill: 1000000000, fill_interval: 60s}}
                      filter_enabled: {{default_value: {{numerator: 100, denominator: HUNDRED}}}}
                      filter_enforced: {{default_value: {{numerator: 100, denominator: HUNDRED}}}}
                  - name: envoy.filters.http.router
                    typed_config:
                      "@type": {types}.http.router.v3.Router
                route_config:
                  virtual_hosts:
                    - name: all
                      domains: ["*"]
                      routes:
                        - match: {{prefix: /}}
                          direct_response: {{status: 200, body: {{inline_string: ok}}}}
"""

# Of Sluice's and envoyproxy/ratelimit's rate limit service, for the domain and the descriptor that h2load.py sends.
RULES = """
domain: envoy
descriptors:
  - key: remote_address
    rate_limit: {{unit: minute, requests_per_unit: {limit}}}
"""


class KilledServer(Server):
    """A server that is killed at the end, since it waits for a Redis that is gone before it stops."""

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


class Limiter:
    """A limiter as a server. `redis` is the one that it shares counts through, or None."""

    def __init__(self, programs, folder, redis=None, limit=FAR):
        self.programs, self.folder, self.redis, self.limit = programs, folder, redis, limit

    def start(self):
        """The running server, which ends with its context."""
        raise NotImplementedError

    def answers(self, server):
        """True once the server decides a request, or a call, by the limit."""
        raise NotImplementedError

    def load(self, server, seconds):
        """Rate, latencies and processor time per decision. One that fails or is denied raises."""
        raise NotImplementedError

    def target(self, server):
        """What the program `load` takes to request decisions: the protocol, its address, and a body or nothing."""
        raise NotImplementedError

    def decide(self, server, seconds, keys):
        """By `load`: how many decisions passed, were denied and failed, and the slowest answer."""
        protocol, address, *body = self.target(server)
        command = ["taskset", "-c", CLIENT_CORE, self.programs.load, protocol, address, seconds, keys, *body]
        run = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True)
        return json.loads(run.stdout)

    def run(self, command, port, kind=Server):
        return kind(type(self).__name__, [str(word) for word in command], port, str(self.folder / "log"))

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def redis_seconds(self):
        return self.redis.processor_seconds() if self.redis else 0.0


class HttpLimiter(Limiter):
    """Decides HTTP requests; KEY stands for a key in the path and in the body. Without a body it is a GET."""

    path = "/?user=KEY"

    def body(self):
        return None

    def answers(self, server):
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=2)
        body = (self.body() or "").replace("KEY", "warm")
        try:
            connection.request("POST" if body else "GET", self.path.replace("KEY", "warm"), body or None,
                               {"Content-Type": "application/json"})
            return connection.getresponse().status == 200
        finally:
            connection.close()

    def target(self, server):
        return "http", server.url() + self.path, self.body()

    def wrk(self, server, seconds):
        command = ["taskset", "-c", CLIENT_CORE, "wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "--timeout", "20s"]
        command += ["-s", str(HERE / "status.lua"), "-H", "Content-Type: application/json", "-H", "Prefer: status=429"]
        command += [server.url(), "--", self.path]
        command += [self.body()] if self.body() else []
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        return json.loads(run.stdout.split("RESULT ")[1])

    def load(self, server, seconds):
        self.wrk(server, 1)
        server_before, redis_before = server.processor_seconds(), self.redis_seconds()
        got = self.wrk(server, seconds)
        if got["failed"]:
            raise RuntimeError(f"requests to {type(self).__name__} failed or were denied: {got}")
        got["processor_us"] = (server.processor_seconds() - server_before) / got["passed"] * 1e6
        got["redis_us"] = (self.redis_seconds() - redis_before) / got["passed"] * 1e6 if self.redis else None
        return got


class GrpcLimiter(Limiter):
    """Decides gRPC calls; under load all of them are the same one, of Envoy's rate limit service by default."""

    call = Call()

    def answers(self, server):
        """By nghttp: a good status, and an answer that holds the limit, so that there was a rule for it."""
        command = ["nghttp", "-v", "-d", str(self.folder / "message")]
        for name, value in FIELDS.items():
            command += ["-H", f"{name}: {value}"]
        (self.folder / "message").write_bytes(self.call.message)
        output = subprocess.run([*command, server.url() + self.call.path], capture_output=True).stdout
        return all(part in output for part in self.proof())

    def proof(self):
        return b"grpc-status: 0", varint(self.limit)

    def target(self, server):
        return "grpc", f"127.0.0.1:{server.port}"

    def load(self, server, seconds):
        """As above, by connections and concurrent calls."""
        results = {}
        for connections, streams in LOADS:
            H2load(1, connections, streams).run(server, self.call)
            redis_before = self.redis_seconds()
            got = H2load(seconds, connections, streams).run(server, self.call)
            redis = (self.redis_seconds() - redis_before) / (got["rate"] * seconds) * 1e6 if self.redis else None
            results[f"{connections} of {streams}"] = {
                "rate": got["rate"], "p99_ms": got["p99"] / 1000, "worst_ms": got["worst"] / 1000,
                "processor_us": got["processor"], "redis_us": redis}
        if not self.answers(server):
            raise RuntimeError(f"{type(self).__name__} does not answer with the limit any more")
        return results


class Nginx(HttpLimiter):
    def start(self):
        port = free_port()
        config = self.write("nginx.conf", NGINX.format(folder=self.folder, port=port))
        return self.run(["nginx", "-c", config, "-p", self.folder], port, NginxServer)


class NginxConstant(GrpcLimiter):
    def start(self):
        return start_nginx(str(self.folder))

    def proof(self):
        return (b":status: 200",)


class Envoy(HttpLimiter):
    def start(self):
        port = free_port()
        config = self.write("envoy.yaml", ENVOY.format(port=port, types=ENVOY_TYPES))
        return self.run([self.programs.envoy, "-c", config, "--concurrency", "1", "--log-level", "off",
                         "--disable-hot-restart"], port)


class Sluice(HttpLimiter):
    path = "/v2/ratelimit.limit"

    def body(self):
        return json.dumps({"namespace": "peers", "identifier": "KEY", "limit": self.limit, "duration": 60000})

    def start(self):
        return run_sluice(self)


class Ratelimit(HttpLimiter):
    path = "/json"

    def body(self):
        entry = {"key": "remote_address", "value": "KEY"}
        return json.dumps({"domain": "envoy", "descriptors": [{"entries": [entry]}]})

    def start(self):
        return run_ratelimit(self, free_port())


class Throttlecrab(HttpLimiter):
    path = "/throttle"

    def body(self):
        return json.dumps({"key": "KEY", "max_burst": self.limit, "count_per_period": self.limit, "period": 60})

    def start(self):
        return run_throttlecrab(self, "http")


class Gubernator(HttpLimiter):
    path = "/v1/GetRateLimits"

    def body(self):
        return json.dumps({"requests": [{"name": "peers", "unique_key": "KEY", "hits": 1, "limit": self.limit,
                                         "duration": 60000}]})

    def start(self):
        return run_gubernator(self, free_port(), free_port())


class SluiceGrpc(GrpcLimiter):
    def start(self):
        port = free_port()
        rules = self.write("rules.yaml", RULES.format(limit=self.limit))
        server = run_sluice(self, "--grpc-listen", f"127.0.0.1:{port}", "--rules", str(rules))
        server.port = port
        return server


class RatelimitGrpc(GrpcLimiter):
    def start(self):
        port = free_port()
        server = run_ratelimit(self, port)
        server.port = port
        return server


class ThrottlecrabGrpc(GrpcLimiter):
    # Key, burst, count and period of the limit, and quantity.
    call = Call("/throttlecrab.RateLimiter/Throttle",
                framed(field(1, b"203.0.113.0") + number_field(2, FAR) + number_field(3, FAR) + number_field(4, 60)
                       + number_field(5, 1)))

    def start(self):
        return run_throttlecrab(self, "grpc")


class GubernatorGrpc(GrpcLimiter):
    # Name, key, hits, limit and duration of the limit.
    call = Call("/pb.gubernator.V1/GetRateLimits",
                framed(field(1, field(1, b"peers") + field(2, b"203.0.113.0") + number_field(3, 1)
                             + number_field(4, FAR) + number_field(5, 60_000))))

    def start(self):
        port = free_port()
        server = run_gubernator(self, free_port(), port)
        server.port = port
        return server


def run_sluice(limiter, *flags):
    origin = ("--origin", limiter.redis.origin()) if limiter.redis else ()
    return start_sluice(str(limiter.programs.sluice), str(limiter.folder), (*origin, *flags))


def run_ratelimit(limiter, grpc_port):
    port = free_port()
    limiter.write("runtime/ratelimit/config/rules.yaml", RULES.format(limit=limiter.limit))
    settings = {"RUNTIME_ROOT": limiter.folder / "runtime", "RUNTIME_SUBDIRECTORY": "ratelimit",
                "RUNTIME_WATCH_ROOT": "false", "LOG_LEVEL": "error", "USE_STATSD": "false", "REDIS_SOCKET_TYPE": "tcp",
                "REDIS_URL": f"127.0.0.1:{limiter.redis.port}", "PORT": port, "GRPC_PORT": grpc_port,
                "DEBUG_PORT": free_port(), "GOMAXPROCS": 1, "PATH": os.environ["PATH"]}
    words = [f"{name}={value}" for name, value in settings.items()]
    return limiter.run(["env", "-i", *words, limiter.programs.ratelimit], port, KilledServer)


def run_throttlecrab(limiter, transport):
    port = free_port()
    return limiter.run(["env", "TOKIO_WORKER_THREADS=1", limiter.programs.throttlecrab, f"--{transport}",
                        f"--{transport}-host", "127.0.0.1", f"--{transport}-port", port, "--log-level", "error"], port)


def run_gubernator(limiter, port, grpc_port):
    """A cluster of one node. Its list of members takes port 7946 of all addresses, for which there is no setting."""
    settings = {"GUBER_HTTP_ADDRESS": f"127.0.0.1:{port}", "GUBER_GRPC_ADDRESS": f"127.0.0.1:{grpc_port}",
                "GUBER_ADVERTISE_ADDRESS": f"127.0.0.1:{grpc_port}", "GUBER_PEER_DISCOVERY_TYPE": "member-list",
                "GUBER_LOG_LEVEL": "error", "OTEL_SDK_DISABLED": "true", "OTEL_TRACES_EXPORTER": "none",
                "GOMAXPROCS": 1, "PATH": os.environ["PATH"]}
    words = [f"{name}={value}" for name, value in settings.items()]
    config = limiter.write("gubernator.conf", "")
    return limiter.run(["env", "-i", *words, limiter.programs.gubernator, "-config", config], port)
