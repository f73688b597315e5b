"""`sluice serve`, started for a test."""

import hashlib
import http.client
import os
import socket
import subprocess
import tempfile
import time

FULL = "a-token-with-every-permission"
LIMITER = "a-token-that-may-only-limit"


ON_ADMIN = {"/v2/ratelimit.topKeys"}


def token_lines(name, token, permissions):
    digest = hashlib.sha256(token.encode()).hexdigest()
    return f'[[tokens]]\nname = "{name}"\nsha256 = "{digest}"\npermissions = {permissions}\n'


TOKENS = token_lines(
    "full", FULL, ["limit", "read_override", "set_override", "delete_override", "read_metrics", "read_keys"]
) + token_lines("limiter", LIMITER, ["limit"])


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Served:
    """Use as a context manager; leaving it ends the program."""

    def __init__(self, program, flags=(), config="", rules=""):
        self.folder = tempfile.TemporaryDirectory(prefix="sluice-openapi-")
        path = os.path.join(self.folder.name, "sluice.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(config)
        if rules:
            rules_path = os.path.join(self.folder.name, "rules.yaml")
            with open(rules_path, "w", encoding="utf-8") as file:
                file.write(rules)
            flags = [*flags, "--rules", rules_path]
        self.port = free_port()
        self.admin_port = free_port()
        addresses = ["--listen", f"127.0.0.1:{self.port}", "--admin-listen", f"127.0.0.1:{self.admin_port}"]
        command = [program, "serve", *addresses, "--config", path, *flags]
        # The program takes variables that begin with SLUICE_ for its settings.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("SLUICE_")}
        self.process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)

    def __enter__(self):
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                if self.ask("GET", "/readyz")[0] == 200:
                    return self
            except OSError:
                time.sleep(0.02)
        raise RuntimeError("the server did not become ready")

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(30)
        self.folder.cleanup()

    def ask(self, method, path, body=None, headers=None):
        """Returns the status, the header fields by name in lower case, and the body as text."""
        is_admin = path == "/metrics" or path.startswith("/v2/node.") or path in ON_ADMIN
        port = self.admin_port if is_admin else self.port
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        fields = {"Content-Type": "application/json"} if body is not None else {}
        connection.request(method, path, body, {**fields, **(headers or {})})
        answer = connection.getresponse()
        found = {name.lower(): value for name, value in answer.getheaders()}
        text = answer.read().decode()
        connection.close()
        return answer.status, found, text
