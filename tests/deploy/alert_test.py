"""A real Prometheus with the rules of deploy/prometheus sees a node, and reports that Redis is gone."""

import contextlib
import os
import re
import tempfile
import unittest
from pathlib import Path
from urllib.parse import quote

from servers import REPOSITORY, Process, dashboards, fetch, free_port, queries, redis, until

PROGRAM = os.environ["SLUICE_PROGRAM"]


def shortened(rules):
    """The rules with one substitution: every `for: 5m` and the like is 1 second."""
    text, count = re.subn(r"^(\s+for:) \w+$", r"\1 1s", rules, flags=re.MULTILINE)
    assert count > 10
    return text


class Alerts(unittest.TestCase):
    def setUp(self):
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)
        self.redis_port, self.admin_port, self.port = free_port(), free_port(), free_port()
        self.redis = self.stack.enter_context(redis(self.redis_port))
        self.node = self.stack.enter_context(Process(
            PROGRAM, "serve", "--listen", f"127.0.0.1:{self.port}", "--admin-listen", self.admin_port,
            "--origin", f"redis://127.0.0.1:{self.redis_port}"))
        until(lambda: fetch(f"http://127.0.0.1:{self.port}/readyz")["data"]["status"] == "ready", "the node is ready")
        self.api = f"http://127.0.0.1:{free_port()}"
        self.prometheus = self.stack.enter_context(Process(
            "prometheus", f"--web.listen-address={self.api.removeprefix('http://')}",
            f"--config.file={self.write_config()}", f"--storage.tsdb.path={self.folder}/data"))

    def write_config(self):
        self.folder = self.stack.enter_context(tempfile.TemporaryDirectory())
        rules = (REPOSITORY / "deploy/prometheus/rules.yaml").read_text()
        Path(self.folder, "rules.yaml").write_text(shortened(rules))
        config = Path(self.folder, "prometheus.yaml")
        config.write_text(f"""
global: {{scrape_interval: 500ms, evaluation_interval: 500ms}}
rule_files: [rules.yaml]
scrape_configs:
  - job_name: sluice
    static_configs: [{{targets: ["127.0.0.1:{self.admin_port}"]}}]
""")
        return config

    def query(self, expression):
        return fetch(f"{self.api}/api/v1/query?query={quote(expression)}")["data"]["result"]

    def firing(self):
        alerts = fetch(f"{self.api}/api/v1/alerts")["data"]["alerts"]
        return {alert["labels"]["alertname"] for alert in alerts if alert["state"] == "firing"}

    def test_an_outage_of_redis_is_reported_until_it_ends(self):
        until(lambda: self.query("sluice_ready == 1"), "Prometheus scrapes the node")
        until(lambda: self.query("sluice_origin_nodes == 1"), "the node shares through Redis")
        until(lambda: self.query("rate(sluice_decisions_total[1m])"), "a second scrape")
        self.assertEqual(self.firing(), set())
        for name, dashboard in dashboards().items():
            answered = sum(1 for query in queries(dashboard) if self.query(query))
            self.assertGreater(answered, len(queries(dashboard)) / 3, f"{name}: most queries find nothing")
        self.redis.kill()
        until(lambda: "SluiceOriginUnavailable" in self.firing(), "the alert fires")
        self.stack.enter_context(redis(self.redis_port))
        until(lambda: "SluiceOriginUnavailable" not in self.firing(), "the alert ends")
        # All other alerts need causes of their own. The node has written its counts again.
        self.assertLessEqual(self.firing(), {"SluiceOriginLostData"})


if __name__ == "__main__":
    unittest.main()
