"""The server as process 1, as in a container: signals end and reload it, and orphans leave no zombies."""

import os
import pathlib
import signal
import subprocess
import time
import unittest
import urllib.request

from servers import Process, free_port, until

PROGRAM = os.environ["SLUICE_PROGRAM"]
UNSHARE = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]


def children(pid):
    return [int(child) for task in pathlib.Path(f"/proc/{pid}/task").glob("*/children")
            for child in task.read_text().split()]


class FirstProcess(unittest.TestCase):
    def setUp(self):
        if subprocess.run([*UNSHARE, "true"], capture_output=True).returncode != 0:
            self.skipTest("this system allows no namespaces")
        self.port = free_port()
        self.outside = Process(*UNSHARE, PROGRAM, "serve", "--listen", f"127.0.0.1:{self.port}").__enter__()
        self.addCleanup(self.outside.__exit__)
        until(self.is_healthy, "the server answers")
        self.pid = children(self.outside.process.pid)[0]
        self.addCleanup(self.end)

    def end(self):
        try:
            os.kill(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def is_healthy(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/healthz", timeout=5) as answer:
            return answer.status == 200

    def test_it_ends_at_sigterm_and_reloads_at_sighup(self):
        status = pathlib.Path(f"/proc/{self.pid}/status").read_text()
        self.assertRegex(status, r"NSpid:\s+\d+\s+1\n")
        os.kill(self.pid, signal.SIGHUP)
        until(lambda: "reloaded" in self.outside.output(), "the settings are read again")
        os.kill(self.pid, signal.SIGTERM)
        self.assertEqual(self.outside.process.wait(20), 0)
        self.assertIn("stopped", self.outside.output())

    def test_orphans_leave_no_zombies(self):
        inside = ["nsenter", "--target", self.pid, "--user", "--pid", "--mount", "--preserve-credentials", "--"]
        # The parent of sleep ends at once.
        subprocess.run([str(word) for word in inside] + ["sh", "-c", "sleep 0.5 & sleep 0.5 &"], check=True)
        until(lambda: len(children(self.pid)) == 2, "the server inherits two processes")
        end = time.monotonic() + 10
        while children(self.pid) and time.monotonic() < end:
            time.sleep(0.05)
        self.assertEqual(children(self.pid), [], "zombies stay")
        self.assertTrue(self.is_healthy())


if __name__ == "__main__":
    unittest.main()
