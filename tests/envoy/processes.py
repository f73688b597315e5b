"""Envoy, nodes of Sluice and a Redis server as processes, by the files of examples/envoy."""

import http.client
import json
import os
import pathlib
import re
import socket
import subprocess
import tempfile
import time

SLUICE = os.environ["SLUICE_PROGRAM"]
ENVOY = os.environ["ENVOY_PROGRAM"]
EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "envoy"
TIMEOUT = 30  # seconds

# The ports of envoy.yaml, in the order of the parts that they belong to.
EDGE, SERVICE, ADMIN, FIRST_NODE, SECOND_NODE = 10000, 10001, 9901, 8081, 8082


def free_ports(count):
    """Different ports on which nothing listens."""
    probes = [socket.socket() for _ in range(count)]
    for probe in probes:
        probe.bind(("127.0.0.1", 0))
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ports


def eventually(condition, what, timeout=TIMEOUT):
    """Waits until the condition holds, and returns its value."""
    deadline = time.monotonic() + timeout
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: not within {timeout} seconds")
        time.sleep(0.02)
    return value


class Client:
    """A client of one HTTP server, with one connection. Use it on one thread."""

    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)

    def close(self):
        self.connection.close()

    def send(self, method, path, headers=None, body=None):
        """The status, the header fields with names in lower case, and the text of a response."""
        self.connection.request(method, path, body=body, headers=headers or {})
        response = self.connection.getresponse()
        fields = {name.lower(): value for name, value in response.getheaders()}
        return response.status, fields, response.read().decode()

    def get(self, path, **headers):
        """The status and the header fields. The header x_user is sent as x-user."""
        return self.send("GET", path, {name.replace("_", "-"): value for name, value in headers.items()})[:2]


class Program:
    """A process that ends with its user."""

    def __init__(self, command, log, environment=None):
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True
        )

    def kill(self):
        self.process.kill()
        self.stop()

    def stop(self):
        self.process.terminate()
        self.process.wait(TIMEOUT)
        self.process.stdout.close()


class Node(Program):
    """`sluice serve` with the rules of the example."""

    def __init__(self, grpc_port, log, *flags):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("SLUICE_")}
        listeners = ["--listen", "127.0.0.1:0", "--admin-listen", "0", "--grpc", f"127.0.0.1:{grpc_port}"]
        command = [SLUICE, "serve", *listeners, "--rules", str(EXAMPLE / "rules"), *flags]
        super().__init__(command, log, environment)
        greeting = ""
        while "gRPC is at" not in greeting:
            line = self.process.stdout.readline()
            if not line:
                raise RuntimeError("sluice did not start")
            greeting += line
        self.port = int(re.search(r"listens on http://127.0.0.1:(\d+)", greeting)[1])
        self.admin_port = int(re.search(r"page is at http://127.0.0.1:(\d+)", greeting)[1])

    def metric(self, name):
        """The value of a metric, which is named with its labels."""
        admin = Client(self.admin_port)
        text = admin.send("GET", "/metrics")[2]
        admin.close()
        found = re.search(rf"^{re.escape(name)} (\d+)$", text, re.MULTILINE)
        return int(found[1]) if found else 0


class Redis(Program):
    def __init__(self, log):
        self.port = free_ports(1)[0]
        super().__init__(["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", ""], log)
        self.url = f"redis://127.0.0.1:{self.port}/0"
        eventually(self.is_listening, "redis-server listens")

    def is_listening(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


class Envoy(Program):
    """Envoy with envoy.yaml, whose ports are replaced by free ones. `ports` has them by their number in the file."""

    def __init__(self, folder, log):
        names = [EDGE, SERVICE, ADMIN, FIRST_NODE, SECOND_NODE]
        self.ports = dict(zip(names, free_ports(len(names))))
        text = (EXAMPLE / "envoy.yaml").read_text(encoding="utf-8")
        text = re.sub(r"port_value: (\d+)", lambda found: f"port_value: {self.ports[int(found[1])]}", text)
        path = os.path.join(folder, "envoy.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        flags = ["--use-dynamic-base-id", "--concurrency", "1", "--log-level", "warning"]
        super().__init__([ENVOY, "--config-path", path, *flags], log)
        eventually(self.is_ready, "Envoy is ready")

    def is_ready(self):
        if self.process.poll() is not None:
            raise RuntimeError(f"Envoy ended with status {self.process.returncode}")
        try:
            return self.admin("GET", "/ready")[0] == 200
        except OSError:
            return False

    def client(self):
        return Client(self.ports[EDGE])

    def admin(self, method, path):
        admin = Client(self.ports[ADMIN])
        try:
            return admin.send(method, path)
        finally:
            admin.close()

    def stat(self, name):
        """The value of a counter or gauge; 0 before its first change."""
        text = self.admin("GET", f"/stats?format=json&filter=^{re.escape(name)}$")[2]
        return sum(stat["value"] for stat in json.loads(text)["stats"] if "value" in stat)

    def calls_by_port(self):
        """The calls that each node was sent, by its port in envoy.yaml."""
        clusters = json.loads(self.admin("GET", "/clusters?format=json")[2])["cluster_statuses"]
        hosts = next(cluster for cluster in clusters if cluster["name"] == "sluice")["host_statuses"]
        calls = {}
        for host in hosts:
            port = host["address"]["socket_address"]["port_value"]
            stats = {stat["name"]: int(stat.get("value", 0)) for stat in host["stats"]}
            calls[next(name for name, actual in self.ports.items() if actual == port)] = stats["rq_total"]
        return calls

    def await_nodes(self, count):
        eventually(lambda: self.stat("cluster.sluice.membership_healthy") == count, f"{count} healthy nodes")


class Stack:
    """Programs of one test, with their logs. Use as a context manager; a failure prints the logs."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.programs = []
        self.logs = []

    def __enter__(self):
        return self

    def __exit__(self, failure, *_):
        for program in reversed(self.programs):
            program.stop()
        for log in self.logs:
            log.seek(0)
            if failure:
                print(f"--- {log.name}\n{log.read()[-4000:]}")
            log.close()
        self.folder.cleanup()

    def log(self, name):
        path = os.path.join(self.folder.name, f"{name}-{len(self.logs)}.log")
        self.logs.append(open(path, "w+", encoding="utf-8", errors="replace"))
        return self.logs[-1]

    def add(self, program):
        self.programs.append(program)
        return program

    def envoy(self):
        return self.add(Envoy(self.folder.name, self.log("envoy")))

    def node(self, grpc_port, *flags):
        return self.add(Node(grpc_port, self.log("sluice"), *flags))

    def redis(self):
        return self.add(Redis(self.log("redis")))
