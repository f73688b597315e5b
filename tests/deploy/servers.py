"""Servers that the tests of deploy/ start on free ports of the loopback, and stop."""

import contextlib
import json
import os
import pathlib
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def fetch(url, body=None, timeout=5):
    """The JSON that a URL answers with; a body makes it a POST."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"} if data else {})
    with urllib.request.urlopen(request, timeout=timeout) as answer:
        return json.load(answer)


def until(condition, what, seconds=20):
    """The first true value of condition(); errors of connections count as false."""
    end = time.monotonic() + seconds
    while True:
        with contextlib.suppress(OSError, ValueError):
            value = condition()
            if value:
                return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} seconds: {what}")
        time.sleep(0.1)


class Process:
    """A process with a folder of its own; both are gone when the `with` ends."""

    def __init__(self, *command):
        self.command = [str(word) for word in command]

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.log = open(os.path.join(self.folder.name, "log"), "w+b")
        environment = {name: value for name, value in os.environ.items() if not name.startswith("SLUICE_")}
        self.process = subprocess.Popen(
            self.command, cwd=self.folder.name, env=environment, stdout=self.log, stderr=self.log)
        return self

    def __exit__(self, *_):
        self.stop()
        self.log.close()
        self.folder.cleanup()

    def stop(self):
        self.process.terminate()
        try:
            return self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise

    def kill(self):
        self.process.kill()
        self.process.wait()

    def output(self):
        self.log.seek(0)
        return self.log.read().decode()


def redis(port):
    return Process("redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no")


def dashboards():
    """The dashboards of deploy/grafana by name."""
    folder = REPOSITORY / "deploy/grafana"
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))}


def queries(dashboard):
    """The queries of all panels, with values for Grafana's variables."""
    values = {"$__rate_interval": "1m", "$job": ".*", "$instance": ".*", "$region": ".*"}
    expressions = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", [])]
    for variable, value in values.items():
        expressions = [expression.replace(variable, value) for expression in expressions]
    return expressions
