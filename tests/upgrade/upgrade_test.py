"""A region of three nodes on one Redis and one MariaDB is upgraded node by node under load, and back.

Every pass that a client saw is counted, and no limit is exceeded by more than docs/accuracy.md says for one region.
"""

import contextlib
import http.client
import json
import os
import pathlib
import random
import subprocess
import tempfile
import threading
import time
import unittest

from servers import Process, fetch, free_port, redis, until

NEW, OLD = os.environ["SLUICE_PROGRAM"], os.environ["SLUICE_PREVIOUS"]
NODES = 3
# What passes beyond a limit in a burst, of the limit.
OVERSHOOT = 1 / 8
COUNTED = ["counted0", "counted1", "counted2"]
LIMITED = {"limited0": 300, "limited1": 1000}
# Makes the tables those of the version before, as docs/operations.md says.
BACK = "UPDATE ratelimit_schema SET version = 2; DROP TABLE ratelimit_override_log;"


def duration():
    """A window that does not end during the test, in milliseconds."""
    for hours in (2, 3, 5, 7):
        length = hours * 3_600_000
        if length - time.time_ns() // 1_000_000 % length > 900_000:
            return length
    raise AssertionError("unreachable: these windows never end together")


def database(folder, port):
    """MariaDB with a user and a database for Sluice."""
    data, socket = f"{folder}/data", f"{folder}/socket"
    subprocess.run(["mariadb-install-db", "--no-defaults", "--user=root", "--skip-test-db", f"--datadir={data}",
                    "--auth-root-authentication-method=normal"], check=True, capture_output=True)
    server = Process("mariadbd", "--no-defaults", "--user=root", f"--datadir={data}", f"--socket={socket}",
                     f"--port={port}", "--bind-address=127.0.0.1", "--skip-log-bin", "--innodb-use-native-aio=0",
                     f"--pid-file={folder}/pid", f"--tmpdir={folder}")
    sql = ("CREATE DATABASE sluice; CREATE USER sluice@'127.0.0.1' IDENTIFIED BY 'secret';"
           "CREATE USER sluice@localhost IDENTIFIED BY 'secret';"
           "GRANT ALL ON sluice.* TO sluice@'127.0.0.1'; GRANT ALL ON sluice.* TO sluice@localhost;")

    def prepare():
        return subprocess.run(["mariadb", "--no-defaults", f"--socket={socket}", "--user=root", "-e", sql],
                              capture_output=True).returncode == 0

    def run(statements):
        subprocess.run(["mariadb", "--no-defaults", f"--socket={socket}", "--user=root", "-e", statements, "sluice"],
                       check=True, capture_output=True)
    return server, prepare, run


class Load:
    """Clients that send requests to nodes at random, and what they saw."""

    def __init__(self, ports):
        self.ports, self.lock, self.ending = ports, threading.Lock(), False
        self.duration = duration()
        keys = [*COUNTED, *LIMITED]
        self.passed = dict.fromkeys(keys, 0)
        self.denied = dict.fromkeys(keys, 0)
        self.unknown = dict.fromkeys(keys, 0)  # requests that were sent and not answered
        self.refused = 0  # connections
        self.threads = [threading.Thread(target=self.run, args=(seed,)) for seed in range(4)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.ending = True
        for thread in self.threads:
            thread.join()

    def run(self, seed):
        choice = random.Random(seed)
        while not self.ending:
            self.ask(choice.choice(self.ports), choice.choice(list(self.passed)))

    def ask(self, port, key):
        body = {"namespace": "upgrade", "identifier": key, "limit": LIMITED.get(key, 10**9), "duration": self.duration}
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        try:
            connection.connect()
        except OSError:
            with self.lock:
                self.refused += 1
            return
        try:
            connection.request("POST", "/v2/ratelimit.limit", json.dumps(body), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            data = json.load(answer)["data"]
        except (OSError, http.client.HTTPException, ValueError, KeyError):
            with self.lock:
                self.unknown[key] += 1
            return
        finally:
            connection.close()
        with self.lock:
            (self.passed if data["success"] else self.denied)[key] += 1


class Upgrade(unittest.TestCase):
    def setUp(self):
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)
        folder = self.stack.enter_context(tempfile.TemporaryDirectory())
        self.redis_port, database_port = free_port(), free_port()
        self.stack.enter_context(redis(self.redis_port))
        server, prepare, self.run_sql = database(folder, database_port)
        self.stack.enter_context(server)
        until(prepare, "MariaDB is ready", 60)
        self.url = f"mysql://sluice:secret@127.0.0.1:{database_port}/sluice"
        self.ports = [free_port() for _ in range(NODES)]
        self.nodes = {}

    def start(self, program, port):
        self.nodes[port] = self.stack.enter_context(Process(
            program, "serve", "--listen", f"127.0.0.1:{port}", "--region", "eu", "--threads", "1",
            "--origin", f"redis://127.0.0.1:{self.redis_port}", "--global", self.url))
        until(lambda: self.data(port, "/readyz")["status"] == "ready", "the node is ready")

    def data(self, port, path, body=None):
        return fetch(f"http://127.0.0.1:{port}{path}", body)["data"]

    def replace_all(self, program):
        for port in self.ports:
            self.assertEqual(self.nodes[port].stop(), 0)
            self.start(program, port)
            time.sleep(3.5)  # the others count it, and it is no longer new

    def counts(self, key, length):
        """What Redis and MariaDB hold."""
        body = {"namespace": "upgrade", "identifier": key, "duration": length}
        found = self.data(self.ports[0], "/v2/ratelimit.inspect", body)["current"]
        region = sum(each["count"] for each in found["regions"] if each["region"] == "eu")
        return found["origin"]["total"], region

    def migrate(self, program):
        subprocess.run([program, "migrate", "--global", self.url], check=True, capture_output=True)

    def check(self, before, after, change_schema):
        """Replaces the nodes of `before` by those of `after`, under load, after a change of the tables."""
        self.migrate(before)
        for port in self.ports:
            self.start(before, port)
        for port in self.ports:
            until(lambda: not self.data(port, "/readyz")["degraded"], "no store is unavailable")
        with Load(self.ports) as load:
            time.sleep(4)
            change_schema()
            self.replace_all(after)
            time.sleep(2)
        total = sum(load.passed.values())
        print(f"{total} passes, {sum(load.denied.values())} denials, {sum(load.unknown.values())} requests without an "
              f"answer, {load.refused} refused connections; " +
              ", ".join(f"{key}: {load.passed[key]} of {limit}" for key, limit in LIMITED.items()))
        self.assertGreater(total, 1000)
        for key in load.passed:
            with self.subTest(key):
                least, most = load.passed[key], load.passed[key] + load.unknown[key]
                until(lambda: least <= self.counts(key, load.duration)[0] <= most,
                      f"Redis counts {least} to {most} of {key}; it has {self.counts(key, load.duration)}")
                # What is far from its limit is of no use to other regions, and not published.
                until(lambda: key in COUNTED or least <= self.counts(key, load.duration)[1] <= most,
                      f"MariaDB counts {least} to {most} of {key}; it has {self.counts(key, load.duration)}", 40)
        for key, limit in LIMITED.items():
            self.assertGreater(load.denied[key], 0, f"{key}: the load is too small")
            self.assertLessEqual(load.passed[key], limit * (1 + OVERSHOOT), key)
            self.assertGreaterEqual(load.passed[key] + load.unknown[key], limit, key)

    def test_an_upgrade_node_by_node_loses_no_count(self):
        self.check(OLD, NEW, lambda: self.migrate(NEW))

    def test_going_back_node_by_node_loses_no_count(self):
        page = pathlib.Path(__file__).parents[2] / "docs/operations.md"
        self.assertIn(f"`{BACK}`", page.read_text(encoding="utf-8"))
        self.check(NEW, OLD, lambda: self.run_sql(BACK))


if __name__ == "__main__":
    unittest.main()
