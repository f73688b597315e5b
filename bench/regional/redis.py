"""The Redis that the region is measured against, and redis-benchmark, which sends it what Sluice would send."""

import contextlib
import os
import signal
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "http"))
from servers import SERVER_CORE, Server, free_port  # noqa: E402
from wrk import CLIENT_CORE  # noqa: E402

# Random numbers from so many that hardly any comes twice.
ANY_KEY = "1000000000"


def words_of(command):
    """The words of a command as Redis reads it: *2 $4 PING ..., each on a line; a word may hold line ends."""
    words, rest = [], command.partition("\r\n")[2]
    while rest:
        size, rest = rest[1:].split("\r\n", 1)
        words.append(rest[: int(size)])
        rest = rest[int(size) + 2 :]
    return words


class Redis(Server):
    """A redis-server of our own on the servers' core, which keeps nothing."""

    def __init__(self, folder):
        port = free_port()
        command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        super().__init__("redis", [*command, "--dir", folder], port, os.path.join(folder, "redis.log"))

    def origin(self):
        return f"redis://127.0.0.1:{self.port}"

    def command(self, *words):
        words = ["redis-cli", "-p", str(self.port), *words]
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout

    def forget(self):
        self.command("FLUSHALL")
        self.command("CONFIG", "RESETSTAT")

    def calls(self, *names):
        """How often these commands were called since the last forget(), by clients and scripts."""
        calls = 0
        for line in self.command("INFO", "commandstats").splitlines():
            name, _, figures = line.removeprefix("cmdstat_").partition(":")
            if name.partition("|")[0] in names:
                calls += int(figures.split(",")[0].removeprefix("calls="))
        return calls

    def commands_in(self, category):
        """The names of the commands of an ACL category, such as read or write."""
        return self.command("COMMAND", "LIST", "FILTERBY", "ACLCAT", category).split()

    def processor_seconds(self):
        """The processor time that Redis reports of itself, which is finer than the system's."""
        figures = dict(line.split(":") for line in self.command("INFO", "cpu").splitlines() if ":" in line)
        return float(figures["used_cpu_user"]) + float(figures["used_cpu_sys"])

    @contextlib.contextmanager
    def stopped(self):
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    @contextlib.contextmanager
    def on_clients_core(self):
        self.move_to(CLIENT_CORE)
        try:
            yield
        finally:
            self.move_to(SERVER_CORE)

    def move_to(self, cores):
        subprocess.run(["taskset", "-apc", cores, str(self.process.pid)], check=True, stdout=subprocess.DEVNULL)

    def benchmark(self, words, requests, clients, pipeline):
        """Requests per second and p99 in microseconds of redis-benchmark with this command, on the clients' core."""
        command = ["taskset", "-c", CLIENT_CORE, "redis-benchmark", "-p", str(self.port), "--csv", "-r", ANY_KEY]
        command += ["-n", str(requests), "-c", str(clients), "-P", str(pipeline), *words]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        names, figures = [
            [field.strip('"') for field in line.rsplit(",", 7)] for line in output.splitlines() if line.strip()
        ]
        found = dict(zip(names, figures))
        return {"rate": float(found["rps"]), "p99": float(found["p99_latency_ms"]) * 1000}
