"""The files that deploy/compose mounts, by the programs that read them. tests/chart checks compose.yaml itself."""

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

from servers import REPOSITORY

COMPOSE = REPOSITORY / "deploy/compose"


def output_of(*command):
    """What a command prints, on either stream, and its exit code."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SLUICE_")}
    run = subprocess.run([str(word) for word in command], env=environment, capture_output=True, text=True, timeout=120)
    return run.returncode, run.stdout + run.stderr


class MountedFiles(unittest.TestCase):
    def test_envoy_accepts_its_configuration(self):
        def validated(path):
            return output_of(os.environ["ENVOY_PROGRAM"], "--mode", "validate", "--use-dynamic-base-id", "-c", path)
        code, output = validated(COMPOSE / "envoy.yaml")
        self.assertEqual(code, 0, output)
        # It looks for no names of hosts, but for misspelt fields.
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write((COMPOSE / "envoy.yaml").read_text().replace("rate_limits:", "rate_limit:"))
            file.flush()
            code, output = validated(file.name)
        self.assertNotEqual(code, 0)
        self.assertIn("rate_limit", output)

    def test_prometheus_accepts_its_configuration(self):
        code, output = output_of("promtool", "check", "config", "--syntax-only", COMPOSE / "prometheus/prometheus.yaml")
        self.assertEqual(code, 0, output)

    def test_the_program_reads_the_rules_that_envoy_asks_for(self):
        code, output = output_of(os.environ["SLUICE_PROGRAM"], "rules", "list", "--rules", COMPOSE / "rules")
        self.assertEqual(code, 0, output)
        envoy = (COMPOSE / "envoy.yaml").read_text()
        domain = re.search(r"^ +domain: (\w+)$", envoy, re.MULTILINE)[1]
        key = re.search(r"descriptor_key: (\w+)", envoy)[1]
        self.assertRegex(output, rf"(?m)^{domain}\.{key}\s+\d+ per ")


if __name__ == "__main__":
    unittest.main()
