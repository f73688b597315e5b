"""wrk, the client that puts load on a server, on a core of its own."""

import json
import os
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
CLIENT_CORE = "1"
CONNECTIONS = 32
MINUTE = 60_000


class Wrk:
    def __init__(self, seconds):
        self.seconds = seconds

    def run(self, url, keys=1, batch=0, duration=MINUTE):
        """Requests per second and p99 in microseconds; any failed request ends the measurement."""
        command = ["taskset", "-c", CLIENT_CORE, "wrk", "-t1", f"-c{CONNECTIONS}", f"-d{self.seconds}s", "--latency"]
        command += ["-s", os.path.join(HERE, "load.lua"), url, "--", str(keys), str(batch), str(duration)]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        result = json.loads(next(line for line in output.splitlines() if line.startswith("RESULT"))[7:])
        if result["failed"] or not result["requests"]:
            raise RuntimeError(f"requests failed: {output}")
        rate = result["requests"] / result["microseconds"] * 1e6
        return {"rate": rate, "p99": result["p99"], "requests": result["requests"]}
