"""wrk, the client that puts load on a server, on a core of its own."""

import json
import os
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
CLIENT_CORE = "1"
CONNECTIONS = 32
MINUTE = 60_000


class Wrk:
    """Runs wrk for some seconds, by default on the clients' core."""

    def __init__(self, seconds, cores=CLIENT_CORE):
        self.seconds, self.cores = seconds, cores

    def run(self, url, keys=1, batch=0, duration=MINUTE):
        """Requests per second and p99 in microseconds; any failed request ends the measurement."""
        return self.run_script(os.path.join(HERE, "load.lua"), url, [keys, batch, duration])

    def run_script(self, script, url, words, threads=1):
        """The same with another script, which ends with a line of RESULT as load.lua does."""
        command = ["taskset", "-c", self.cores, "wrk", f"-t{threads}", f"-c{threads * CONNECTIONS}"]
        command += [f"-d{self.seconds}s", "--latency", "-s", script, url, "--", *map(str, words)]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        result = json.loads(next(line for line in output.splitlines() if line.startswith("RESULT"))[7:])
        if result["failed"] or not result["requests"]:
            raise RuntimeError(f"requests failed: {output}")
        rate = result["requests"] / result["microseconds"] * 1e6
        return {"rate": rate, "p99": result["p99"], "requests": result["requests"]}
