"""The chart, the manifests made of it, the compose file and the workflows, by the tools that tests/chart/run builds."""

import contextlib
import hashlib
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import tempfile
import tomllib
import unittest
import urllib.error
import urllib.request

import jsonschema
import yaml

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
CHART = REPOSITORY / "deploy/helm/sluice"
MANIFESTS = REPOSITORY / "deploy/kubernetes/sluice.yaml"
COMPOSE = REPOSITORY / "deploy/compose"
KUBERNETES = "1.30.0"
CASES = sorted(path.name.removesuffix("-values.yaml") for path in (CHART / "ci").glob("*-values.yaml"))


def run(*command, check=True, stdin=None):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, input=stdin, cwd=REPOSITORY)
    if check and done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}:\n{done.stdout}\n{done.stderr}")
    return done


def rendered(case, *options):
    run_helm = run("helm", "template", "limits", CHART, "--namespace", "limits", "--kube-version", KUBERNETES,
                   "--values", CHART / "ci" / f"{case}-values.yaml", *options)
    return run_helm.stdout


def objects(text):
    return {(each["kind"], each["metadata"]["name"]): each for each in yaml.safe_load_all(text) if each}


def kubernetes_schemas(folder):
    """The schemas of Kubernetes as kubeconform takes them, and those of Prometheus' operator."""
    package = pathlib.Path(importlib.util.find_spec("kubernetes_validate").origin).parent
    source = package / f"kubernetes-json-schema/v{KUBERNETES}-local-strict"
    for path in source.glob("*.json"):
        text = path.read_text().replace('"/api/_definitions.json', f'"file://{folder}/_definitions.json')
        (folder / path.name).write_text(text)
    for kind in ("servicemonitors", "prometheusrules"):
        path = pathlib.Path(os.environ["SLUICE_MONITORING"]) / f"monitoring.coreos.com_{kind}.yaml"
        definition = yaml.safe_load(path.read_text())
        for version in definition["spec"]["versions"]:
            name = f"{definition['spec']['names']['singular']}-monitoring-{version['name']}.json"
            (folder / name).write_text(json.dumps(closed(version["schema"]["openAPIV3Schema"])))


def closed(schema):
    """The schema with `additionalProperties: false` where it lists properties and says nothing else of others."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    result = {key: closed(value) for key, value in schema.items()}
    if result.get("type") == "object" and "properties" in result and "additionalProperties" not in result \
            and not result.get("x-kubernetes-preserve-unknown-fields") and "metadata" not in result["properties"]:
        result["additionalProperties"] = False
    return result


def differences(values, schema, path=""):
    """Paths of the values that the schema does not list, and of those that it lists and the file lacks."""
    listed = set(schema.get("properties", {}))
    if not isinstance(values, dict) or schema.get("additionalProperties", True) is not False:
        return []
    found = [f"{path}{name}" for name in set(values) ^ listed]
    for name in set(values) & listed:
        found += differences(values[name], schema["properties"][name], f"{path}{name}.")
    return found


def workload(found):
    return next(each for (kind, _), each in found.items() if kind in ("Deployment", "StatefulSet"))


def volume(found, name):
    """A volume of the pods."""
    return next(each for each in workload(found)["spec"]["template"]["spec"]["volumes"] if each["name"] == name)


def make_certificate(folder):
    run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=sluice", "-keyout",
        f"{folder}/tls.key", "-out", f"{folder}/tls.crt")


@contextlib.contextmanager
def served(config):
    """A server with the settings of a file, on free ports of its addresses; the URL of its admin listener."""
    text, count = re.subn(r'"0\.0\.0\.0:\d+"', '"0.0.0.0:0"', config.read_text())
    assert count == 3, "listen, admin_listen and grpc.listen"
    config.write_text(text)
    with tempfile.TemporaryFile("w+") as log:
        server = subprocess.Popen([os.environ["SLUICE_PROGRAM"], "serve", "--config", config], env={}, text=True,
                                  stdout=subprocess.PIPE, stderr=log)
        try:
            greeting = ""
            while not (page := re.search(r"page is at http://[^:]+:(\d+)/", greeting)):
                line = server.stdout.readline()
                if not line:
                    log.seek(0)
                    raise AssertionError(f"the server has ended: {log.read()}")
                greeting += line
            yield f"http://127.0.0.1:{page[1]}"
        finally:
            server.terminate()
            server.stdout.close()
            server.wait(20)


def fetch(url, token=None):
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=5) as answer:
        return answer.read().decode()


class Chart(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.schemas = pathlib.Path(cls.temporary.name)
        kubernetes_schemas(cls.schemas)

    def conforms(self, text):
        return run("kubeconform", "-strict", "-summary", "-kubernetes-version", KUBERNETES, "-schema-location",
                   f"{self.schemas}/{{{{.ResourceKind}}}}{{{{.KindSuffix}}}}.json", "-", stdin=text, check=False)

    def test_helm_finds_no_fault(self):
        for case in CASES:
            with self.subTest(case):
                run("helm", "lint", "--strict", "--kube-version", KUBERNETES, CHART,
                    "--values", CHART / "ci" / f"{case}-values.yaml")

    def test_objects_conform_to_the_schemas_of_kubernetes(self):
        for case in CASES:
            with self.subTest(case):
                done = self.conforms(rendered(case))
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertIn("Skipped: 0", done.stdout)

    def test_the_check_finds_a_misspelt_field(self):
        for field, wrong in (("readOnlyRootFilesystem", "readOnlyRootFileSystem"), ("maxUnavailable", "maxUnavailible"),
                             ("credentials:", "credential:")):
            text = rendered("all")
            self.assertIn(field, text)
            self.assertNotEqual(self.conforms(text.replace(field, wrong)).returncode, 0, wrong)

    def test_all_kinds_are_there(self):
        kinds = {kind for kind, _ in objects(rendered("all"))}
        self.assertLessEqual({"Deployment", "Service", "ConfigMap", "Secret", "PodDisruptionBudget",
                              "HorizontalPodAutoscaler", "ServiceMonitor", "NetworkPolicy", "PrometheusRule",
                              "ServiceAccount"}, kinds)
        self.assertIn("StatefulSet", {kind for kind, _ in objects(rendered("stateful"))})

    def test_settings_are_toml_that_the_program_reads(self):
        config = objects(rendered("all"))["ConfigMap", "limits-sluice"]["data"]["sluice.toml"]
        self.assertIn("max_keys = 5000000\n", config)
        self.assertIn('[trace]\nendpoint = "http://localhost:4318"\none_in = 1000\n', config)
        self.assertIn('permissions = ["read_metrics"]', config)
        self.assertNotIn("secret", config)
        for case in CASES:
            with self.subTest(case), tempfile.TemporaryDirectory() as folder:
                self.check_with_program(objects(rendered(case)), pathlib.Path(folder))

    def write_config(self, found, folder):
        """Writes sluice.toml and the files that it names to a folder, as they are in the container."""
        os.mkdir(folder / "tls")
        make_certificate(folder / "tls")
        (folder / "tls/ca.crt").write_bytes((folder / "tls/tls.crt").read_bytes())
        os.mkdir(folder / "rules")
        for name, text in found.get(("ConfigMap", "limits-sluice-rules"), {"data": {}})["data"].items():
            (folder / "rules" / name).write_text(text)
        config = folder / "sluice.toml"
        config.touch()
        config.chmod(volume(found, "config")["configMap"].get("defaultMode", 0o644))
        text = found["ConfigMap", "limits-sluice"]["data"]["sluice.toml"]
        config.write_text(text.replace("/etc/sluice", str(folder)))
        return config

    def check_with_program(self, found, folder):
        """Has the program check the file, with the environment of the container."""
        config = self.write_config(found, folder)
        secrets = found.get(("Secret", "limits-sluice"), {"stringData": {}})["stringData"]
        environment = {f"SLUICE_{name.upper()}": value for name, value in secrets.items() if name != "metrics-token"}
        done = subprocess.run([os.environ["SLUICE_PROGRAM"], "check-config", config], env=environment,
                              capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_node_with_the_rendered_settings_serves_the_page_and_its_metrics(self):
        # Without the stores of the Secret, and with little memory.
        found = objects(rendered("all", "--set", "settings.global_cleanup=false,settings.max_keys=100000"))
        token = found["Secret", "limits-sluice"]["stringData"]["metrics-token"]
        with tempfile.TemporaryDirectory() as folder, served(self.write_config(found, pathlib.Path(folder))) as admin:
            self.assertIn("<title>Sluice</title>", fetch(f"{admin}/"))
            self.assertRegex(fetch(f"{admin}/metrics", token), r"(?m)^sluice_ready 1$")
            for wrong in (None, "another-token-for-prometheus"):
                with self.assertRaises(urllib.error.HTTPError) as refused:
                    fetch(f"{admin}/metrics", wrong)
                refused.exception.close()
                self.assertEqual(refused.exception.code, 401)

    def test_probes_present_a_certificate_where_the_server_asks_for_one(self):
        def probes(*options):
            container = workload(objects(rendered("stateful", *options)))["spec"]["template"]["spec"]["containers"][0]
            mounts = [mount["mountPath"] for mount in container["volumeMounts"]]
            return container["livenessProbe"], container["readinessProbe"], "/etc/sluice/probe-tls" in mounts
        live, ready, mounted = probes()
        self.assertTrue(mounted)
        self.assertEqual(live["exec"]["command"], [*ready["exec"]["command"], "--live"])
        # The program takes these options; nothing listens on the port.
        command = [word.replace("127.0.0.1:8080", "127.0.0.1:1") for word in ready["exec"]["command"][1:]]
        with tempfile.TemporaryDirectory() as folder:
            make_certificate(folder)
            command = [word.replace("/etc/sluice/probe-tls", folder) for word in command]
            done = subprocess.run([os.environ["SLUICE_PROGRAM"], *command], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1, done.stderr)
        live, ready, mounted = probes("--set", "tls.probeSecret=")
        self.assertFalse(mounted)
        self.assertEqual((live["tcpSocket"], ready["tcpSocket"]), ({"port": "http"}, {"port": "http"}))

    def test_secrets_are_in_no_config_map(self):
        found = objects(rendered("all"))
        self.assertEqual(found["Secret", "limits-sluice"]["stringData"],
                         {"origin": "redis://:secret@redis.example:6379/0", "bus": "nats://nats.example",
                          "global": "mysql://sluice:secret@mysql.example/sluice",
                          "metrics-token": "a-token-for-prometheus"})
        container = found["Deployment", "limits-sluice"]["spec"]["template"]["spec"]["containers"][0]
        sources = {each["name"]: each["valueFrom"]["secretKeyRef"] for each in container["env"] if "valueFrom" in each}
        self.assertEqual(sources["SLUICE_ORIGIN"], {"name": "limits-sluice", "key": "origin"})

    def test_rules_are_those_of_the_repository_with_their_runbooks(self):
        rules = yaml.safe_load((REPOSITORY / "deploy/prometheus/rules.yaml").read_text())
        found = objects(rendered("all"))["PrometheusRule", "limits-sluice"]["spec"]
        self.assertEqual([rule["expr"] for group in found["groups"] for rule in group["rules"]],
                         [rule["expr"] for group in rules["groups"] for rule in group["rules"]])
        runbook = found["groups"][0]["rules"][0]["annotations"]["runbook_url"]
        self.assertTrue(runbook.startswith("https://wiki.example/sluice/docs/operations.md#"), runbook)
        dashboard = objects(rendered("all"))["ConfigMap", "limits-sluice-dashboard-node"]["data"]["sluice-node.json"]
        self.assertEqual(json.loads(dashboard), json.loads((REPOSITORY / "deploy/grafana/node.json").read_text()))

    def test_bad_values_are_refused_by_name(self):
        for option, message in {
            "replicas=-1": "replicas",
            "workload=DaemonSet": "workload",
            "secrets.origin=http://redis": "secrets.origin",
            "imagee.tag=1": "imagee",
            "settings.listen=1": "settings",
            "metrics.token=short": "metrics.token",
            "persistence.enabled=true": "StatefulSet",
            "metrics.serviceMonitor.enabled=true": "metrics.token",
            "rules.shop\\.yaml=x": "grpc.enabled",
            "tokens=null": "tokens: at least one is needed",
            "migrate=true": "secrets.global",
            "tls.clientCertificates=true": "tls.clientCertificates: needs tls.existingSecret",
            "tls.existingSecret=x,tls.probeSecret=y": "tls.probeSecret: needs tls.clientCertificates",
            "tls.existingSecret=x,tls.clientCertificates=true,metrics.token=0123456789abcdef,"
            "metrics.serviceMonitor.enabled=true": "metrics.serviceMonitor.tlsConfig",
        }.items():
            with self.subTest(option):
                done = run("helm", "template", "limits", CHART, "--kube-version", KUBERNETES,
                           "--values", CHART / "ci/small-values.yaml", "--set", option, check=False)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(message, done.stderr)

    def test_empty_lists_do_not_widen_a_token(self):
        for field in ("namespaces", "permissions"):
            token = {"name": "web", "sha256": "0" * 64, field: []}
            done = run("helm", "template", "limits", CHART, "--kube-version", KUBERNETES, "--set-json",
                       f"tokens={json.dumps([token])}", check=False)
            self.assertNotEqual(done.returncode, 0, field)
            self.assertIn(f"tokens.0.{field}", done.stderr)

    def test_permissions_are_those_of_the_program(self):
        source = (REPOSITORY / "src/config/file.cc").read_text()
        known = re.findall(r'PermissionName\{"(\w+)"', source)
        self.assertIn("limit", known)
        schema = json.loads((CHART / "values.schema.json").read_text())
        token = schema["properties"]["tokens"]["items"]["properties"]
        self.assertEqual(token["permissions"]["items"]["enum"], known)

    def test_other_users_of_a_machine_see_neither_hashes_nor_data(self):
        found = objects(rendered("stateful"))
        self.assertEqual(volume(found, "config")["configMap"]["defaultMode"], 0o440)
        # The group of a volume may write to its root, so the server makes a folder of its own, once.
        self.assertIn('data_dir = "/var/lib/sluice/data"',
                      found["ConfigMap", "limits-sluice"]["data"]["sluice.toml"])
        pod = workload(found)["spec"]["template"]["spec"]
        self.assertEqual(pod["securityContext"]["fsGroupChangePolicy"], "OnRootMismatch")

    def test_the_port_of_grpc_has_the_protocol_that_it_speaks(self):
        def protocol(case):
            service = objects(rendered(case))["Service", "limits-sluice"]
            return next(port for port in service["spec"]["ports"] if port["name"] == "grpc").get("appProtocol")
        self.assertEqual((protocol("all"), protocol("stateful")), ("kubernetes.io/h2c", None))

    def test_prometheus_connects_as_the_values_say(self):
        def tls(case, *options):
            monitor = objects(rendered(case, *options))["ServiceMonitor", "limits-sluice"]
            return monitor["spec"]["endpoints"][0].get("tlsConfig")
        self.assertIsNone(tls("all"))
        self.assertEqual(tls("all", "--set", "tls.existingSecret=x"), {"insecureSkipVerify": True})
        self.assertEqual(tls("stateful")["keySecret"], {"name": "prometheus-tls", "key": "tls.key"})

    def test_older_kubernetes_is_refused(self):
        done = run("helm", "template", "limits", CHART, "--kube-version", "1.29.9", "--values",
                   CHART / "ci/small-values.yaml", check=False)
        self.assertIn("1.30.0", done.stderr)

    def test_every_value_is_documented_and_in_the_schema(self):
        text = (CHART / "values.yaml").read_text()
        schema = json.loads((CHART / "values.schema.json").read_text())
        # Helm's own, for charts that contain this one.
        del schema["properties"]["global"]
        self.assertEqual(differences(yaml.safe_load(text), schema), [])
        lines = text.splitlines()
        for above, line in zip([""] + lines, lines):
            if re.match(r"\w+:", line):
                self.assertTrue(above.startswith("# "), f"no comment above: {line}")

    def test_the_comparison_with_the_schema_finds_nested_differences(self):
        schema = {"additionalProperties": False, "properties": {
            "a": {"additionalProperties": False, "properties": {"b": {}, "c": {}}}, "free": {}}}
        self.assertEqual(differences({"a": {"b": 1, "c": 2}, "free": {"x": 1}}, schema), [])
        self.assertEqual(sorted(differences({"a": {"b": 1, "d": 2}, "free": {}}, schema)), ["a.c", "a.d"])

    def test_versions_are_the_last_release(self):
        version = re.search(r"^## (\d+\.\d+\.\d+)", (REPOSITORY / "CHANGELOG.md").read_text(), re.MULTILINE)[1]
        chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
        self.assertEqual((chart["version"], chart["appVersion"]), (version, version))

    def test_plain_manifests_are_those_of_the_chart(self):
        with tempfile.NamedTemporaryFile("r", suffix=".yaml") as file:
            run(REPOSITORY / "scripts/manifests", file.name)
            self.assertEqual(MANIFESTS.read_text(), file.read(), "run scripts/manifests")
        done = self.conforms(MANIFESTS.read_text())
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class Compose(unittest.TestCase):
    def setUp(self):
        self.file = yaml.safe_load((COMPOSE / "compose.yaml").read_text())

    def test_it_has_the_form_of_the_specification(self):
        schema = json.loads(pathlib.Path(os.environ["SLUICE_COMPOSE_SCHEMA"]).read_text())
        jsonschema.validate(self.file, schema)
        self.file["services"]["redis"]["imagee"] = "x"
        with self.assertRaises(jsonschema.ValidationError):
            jsonschema.validate(self.file, schema)

    def test_files_that_it_mounts_exist(self):
        mounted = [volume.split(":")[0] for service in self.file["services"].values()
                   for volume in service.get("volumes", []) if volume.startswith(".")]
        self.assertGreater(len(mounted), 5)
        for path in mounted:
            self.assertTrue((COMPOSE / path).exists(), path)

    def test_all_parts_are_there_and_none_is_open_to_other_machines(self):
        self.assertLessEqual({"envoy", "sluice-1", "sluice-2", "redis", "mariadb", "prometheus", "grafana"},
                             set(self.file["services"]))
        for service in self.file["services"].values():
            for port in service.get("ports", []):
                self.assertTrue(port.startswith("127.0.0.1:"), port)

    def test_the_program_takes_the_settings(self):
        with tempfile.TemporaryDirectory() as folder:
            run("env", "SLUICE_TOKEN=one", "METRICS_TOKEN=two", "sh", COMPOSE / "tokens.sh", folder)
            settings = self.file["services"]["sluice-1"]["environment"]
            settings = {name: re.sub(r"\$\{.*?\}", "secret", value) for name, value in settings.items()}
            settings["SLUICE_CONFIG"] = f"{folder}/sluice.toml"
            tokens = tomllib.loads(pathlib.Path(settings["SLUICE_CONFIG"]).read_text())["tokens"]
            done = subprocess.run([os.environ["SLUICE_PROGRAM"], "config", "show", "--effective"],
                                  env=settings, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn('permissions = ["read_metrics"]', done.stdout)
        hashes = [hashlib.sha256(token).hexdigest() for token in (b"one", b"two")]
        self.assertEqual([token["sha256"] for token in tokens], hashes)
        self.assertEqual(tokens[1]["permissions"], ["read_metrics"])

    def test_each_part_has_a_secret_of_its_own(self):
        def variables(part):
            return set(re.findall(r"\$\{(\w+)", json.dumps(part)))
        services = self.file["services"]
        self.assertEqual(variables(services["grafana"]), {"GRAFANA_PASSWORD"})
        self.assertEqual(self.file["secrets"][services["prometheus"]["secrets"][0]], {"environment": "METRICS_TOKEN"})
        self.assertNotIn("SLUICE_TOKEN", variables(services["sluice-1"]))


class Workflows(unittest.TestCase):
    def test_actionlint_finds_no_fault(self):
        workflows = sorted((REPOSITORY / ".github/workflows").glob("*.yaml"))
        self.assertEqual([path.stem for path in workflows], ["ci", "nightly"])
        run("actionlint", "-shellcheck=", "-pyflakes=", *workflows)


if __name__ == "__main__":
    unittest.main()
