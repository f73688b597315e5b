"""Dashboards and alert rules: they name metrics that exist, and the rules are those that docs/operations.md lists."""

import re
import subprocess
import tempfile
import unittest
from pathlib import Path

import yaml

from servers import REPOSITORY, dashboards, queries

RULES = REPOSITORY / "deploy/prometheus/rules.yaml"
DASHBOARDS = REPOSITORY / "deploy/grafana"


def read(path):
    return (REPOSITORY / path).read_text(encoding="utf-8")


def metrics_of(expression):
    """The metrics of Sluice that a query names, histograms without the suffixes of their parts."""
    names = re.findall(r"\b(?:sluice|ratelimit_service)_\w+", expression)
    return {re.sub("(_bucket|_count|_sum)$", "", name) for name in names}


def documented_metrics():
    """Those that docs/metrics.md lists and does not call deprecated."""
    page = read("docs/metrics.md").split("## Deprecated")[0]
    return set(re.findall(r"^\| `((?:sluice|ratelimit_service)_\w+)` \|", page, re.MULTILINE))


def rules():
    return [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


def promtool(*arguments):
    run = subprocess.run(["promtool", *map(str, arguments)], capture_output=True, text=True)
    return run.returncode, run.stdout + run.stderr


class Rules(unittest.TestCase):
    def test_promtool_accepts_them_and_their_tests_pass(self):
        for command in (["check", "rules", RULES], ["test", "rules", Path(__file__).with_name("rules_test.yaml")]):
            code, output = promtool(*command)
            self.assertEqual(code, 0, output)

    def test_they_name_metrics_that_exist(self):
        self.assertGreater(len(documented_metrics()), 60)
        for rule in rules():
            self.assertLessEqual(metrics_of(rule["expr"]), documented_metrics(), rule["alert"])

    def test_they_are_the_table_of_the_operations_page(self):
        section = read("docs/operations.md").split("## Alerts")[1].split("\n## ")[0]
        listed = re.findall(r"^\| `(\w+)` \| `(.*?)` \| (\w+) \| .* \| \[.*\]\((#[\w-]+)\) \|$", section, re.MULTILINE)
        expected = {
            (rule["alert"], rule["expr"], rule["for"], rule["annotations"]["runbook_url"].removeprefix(
                "docs/operations.md")) for rule in rules()}
        self.assertEqual(set(listed), expected)
        self.assertEqual(len(listed), len(rules()))

    def test_each_has_severity_texts_and_a_runbook_and_is_tested(self):
        tested = set(re.findall(r'alertname="(\w+)"', read("tests/deploy/rules_test.yaml")))
        for rule in rules():
            self.assertIn(rule["labels"]["severity"], ("warning", "critical"))
            self.assertEqual(set(rule["annotations"]), {"summary", "description", "runbook_url"})
            self.assertIn(rule["alert"], tested, "has no test in rules_test.yaml")


class Dashboards(unittest.TestCase):
    def setUp(self):
        self.dashboards = dashboards()
        self.assertEqual(set(self.dashboards), {"node", "region", "fleet"})

    def test_they_are_what_the_script_writes(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([REPOSITORY / "scripts/dashboards", folder], check=True)
            for name in self.dashboards:
                file = f"{name}.json"
                self.assertEqual((DASHBOARDS / file).read_text(), (Path(folder) / file).read_text(),
                                 "run scripts/dashboards")

    def test_they_name_metrics_that_exist(self):
        for name, dashboard in self.dashboards.items():
            variables = [v["query"] for v in dashboard["templating"]["list"]]
            for expression in queries(dashboard) + variables:
                self.assertLessEqual(metrics_of(expression), documented_metrics(), name)

    def test_prometheus_parses_their_queries(self):
        every = [query for dashboard in self.dashboards.values() for query in queries(dashboard)]
        self.assertGreater(len(every), 60)
        recorded = [{"record": f"query:{i}", "expr": query} for i, query in enumerate(every)]
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            yaml.safe_dump({"groups": [{"name": "queries", "rules": recorded}]}, file)
            file.flush()
            code, output = promtool("check", "rules", "--lint=none", file.name)
        self.assertEqual(code, 0, output)

    def test_a_value_that_may_be_negative_has_no_lower_bound(self):
        panels = [panel for panel in self.dashboards["region"]["panels"] if panel["title"] == "Clock offset"]
        self.assertEqual(["min" in panel["fieldConfig"]["defaults"] for panel in panels], [False])

    def test_panels_do_not_overlap(self):
        for name, dashboard in self.dashboards.items():
            taken = set()
            for panel in dashboard["panels"]:
                place = panel["gridPos"]
                cells = {(x, y) for x in range(place["x"], place["x"] + place["w"])
                         for y in range(place["y"], place["y"] + place["h"])}
                self.assertFalse(cells & taken, f"{name}: {panel['title']}")
                self.assertLessEqual(place["x"] + place["w"], 24, f"{name}: {panel['title']}")
                taken |= cells


if __name__ == "__main__":
    unittest.main()
