"""The images that tests/image/run has built: what they hold, and how they run.

    python3 -m unittest image_test      with SLUICE_IMAGES, the folder of the store, SLUICE_VERSION, that of the build,
                                        and tests/deploy in PYTHONPATH
"""

import contextlib
import json
import os
import pathlib
import re
import resource
import subprocess
import tarfile
import tempfile
import time
import unittest
import urllib.error
import urllib.request

from servers import free_port, until

STORE = pathlib.Path(os.environ["SLUICE_IMAGES"])
REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
AMD64, ARM64 = "localhost/sluice-test:amd64", "localhost/sluice-test:arm64"
LARGEST = 40 * 1000 * 1000


def podman(*arguments, check=True):
    # crun refuses some machines' control groups; runc runs everywhere.
    command = ["podman", "--root", STORE / "store", "--runroot", STORE / "run", "--cgroup-manager", "cgroupfs",
               "--runtime", "runc", *arguments]
    run = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if check and run.returncode != 0:
        raise AssertionError(f"podman {' '.join(map(str, arguments))}: {run.stderr}")
    return run


def inspected(image):
    return json.loads(podman("image", "inspect", image).stdout)[0]


@contextlib.contextmanager
def extracted(image):
    """The files of an image, in a folder."""
    container = podman("create", image).stdout.strip()
    with tempfile.TemporaryDirectory() as folder:
        try:
            podman("export", "--output", f"{folder}/files.tar", container)
            with tarfile.open(f"{folder}/files.tar") as files:
                files.extractall(f"{folder}/root")
            yield pathlib.Path(folder, "root")
        finally:
            podman("rm", container)


def first_bytes(path, count):
    with path.open("rb") as file:
        return file.read(count)


def children(pid):
    return [int(child) for task in pathlib.Path(f"/proc/{pid}/task").glob("*/children")
            for child in task.read_text().split()]


class Contents(unittest.TestCase):
    def test_each_is_small_and_runs_without_rights(self):
        for image, architecture in ((AMD64, "amd64"), (ARM64, "arm64")):
            with self.subTest(image=image):
                found = inspected(image)
                print(f"{image}: {found['Size'] / 1e6:.1f} MB")
                self.assertLess(found["Size"], LARGEST)
                self.assertEqual(found["Architecture"], architecture)
                self.assertEqual(found["Config"]["User"], "65532:65532")
                self.assertEqual(found["Config"]["Entrypoint"], ["/usr/bin/sluice"])
                self.assertEqual(found["Config"]["Cmd"], ["serve"])
                self.assertEqual(found["Healthcheck"]["Test"],
                                 ["CMD", "/usr/bin/sluice", "health"])

    def test_each_has_one_program_no_shell_and_the_libraries_of_its_machine(self):
        for image, machine in ((AMD64, "X86-64"), (ARM64, "AArch64")):
            with self.subTest(image=image), extracted(image) as root:
                programs = [str(path.relative_to(root)) for path in root.rglob("*")
                            if path.is_file() and not path.is_symlink() and path.stat().st_mode & 0o111
                            and ".so" not in path.name]
                self.assertEqual(programs, ["usr/bin/sluice"])
                files = [path for path in root.rglob("*") if path.is_file() and not path.is_symlink()]
                self.assertEqual([path for path in files if path.stat().st_mode & 0o6022], [], "setuid, or writable")
                for path in files:
                    if first_bytes(path, 4) == b"\x7fELF":
                        header = subprocess.run(["readelf", "-h", path], capture_output=True, text=True).stdout
                        self.assertIn(machine, header, path)
                for needed in ("etc/ssl/certs/ca-certificates.crt", "usr/share/zoneinfo/Europe/Berlin", "etc/passwd"):
                    self.assertTrue((root / needed).is_file(), needed)

    def test_each_has_the_licences_of_what_it_holds(self):
        for image in (AMD64, ARM64):
            with self.subTest(image=image), extracted(image) as root:
                found = {path.parent.name for path in root.glob("usr/share/doc/*/copyright")}
                self.assertLessEqual({"ca-certificates", "libc6", "libgcc-s1", "libssl3", "libstdc++6", "sluice",
                                      "tzdata", "zlib1g"}, found)

    def test_links_lead_to_files_of_the_image(self):
        for image in (AMD64, ARM64):
            with self.subTest(image=image), extracted(image) as root:
                links = {str(path.relative_to(root)): path.resolve() for path in root.rglob("*") if path.is_symlink()}
                self.assertIn("lib", links)
                self.assertEqual([name for name, target in links.items()
                                  if not target.is_relative_to(root.resolve()) or not target.exists()], [])

    def test_the_program_says_the_version_that_the_build_was_given(self):
        output = podman("run", "--rm", *limits(), AMD64, "--version").stdout
        self.assertEqual(output.splitlines()[0], f"sluice {os.environ['SLUICE_VERSION']}")

    def test_the_program_for_arm64_serves_under_an_emulator(self):
        with extracted(ARM64) as root:
            emulated = ["qemu-aarch64-static", "-L", str(root), str(root / "usr/bin/sluice")]
            version = subprocess.run([*emulated, "--version"], capture_output=True, text=True)
            own = podman("run", "--rm", *limits(), AMD64, "--version")
            self.assertEqual((version.returncode, version.stdout), (0, own.stdout), version.stderr)
            port = free_port()
            server = subprocess.Popen([*emulated, "serve", "--listen", f"127.0.0.1:{port}", "--threads", "1"],
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                until(lambda: limit(port)["success"], "a decision")
            finally:
                server.terminate()
                self.assertEqual(server.wait(20), 0)


def limits():
    """Options of `podman run` where the defaults would exceed what this machine allows."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return ["--ulimit", f"nofile={files}:{files}", "--ulimit", "nproc=1000:1000", "--network", "host"]


def fetch(url, token=None, body=None):
    headers = {"Content-Type": "application/json"} if body else {}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    with urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=5) as answer:
        return answer.read().decode()


def limit(port, token=None):
    body = json.dumps({"namespace": "login", "identifier": "alice", "limit": 1000, "duration": 60000}).encode()
    return json.loads(fetch(f"http://127.0.0.1:{port}/v2/ratelimit.limit", token, body))["data"]


def documented_variables():
    """Those of the command `podman run` in docs/deploy.md."""
    page = (REPOSITORY / "docs/deploy.md").read_text(encoding="utf-8")
    command = re.search(r"^podman run --detach(?:.*\\\n)*.*$", page, re.MULTILINE)[0]
    return {name: value.strip('"') for name, value in re.findall(r"-e (\w+)=(\S+)", command)}


class Running(unittest.TestCase):
    def setUp(self):
        self.port = free_port()

    def start(self, *arguments, options=(), variables=None, token=None):
        variables = {"SLUICE_LISTEN": f"127.0.0.1:{self.port}", "SLUICE_URL": f"http://127.0.0.1:{self.port}",
                     **(variables or {})}
        environment = [word for name, value in variables.items() for word in ("--env", f"{name}={value}")]
        self.container = podman(
            "run", "--detach", *limits(), "--read-only", "--cap-drop", "all", "--security-opt", "no-new-privileges",
            *environment, *options, AMD64, *arguments).stdout.strip()
        self.addCleanup(podman, "rm", "--force", "--time", "0", self.container)
        until(lambda: limit(self.port, token)["success"], "a decision")
        return int(self.state("Pid"))

    def state(self, field):
        return podman("inspect", "--format", "{{.State." + field + "}}", self.container).stdout.strip()

    def log(self):
        run = podman("logs", self.container)
        return run.stdout + run.stderr

    def test_it_serves_as_the_first_process_without_rights(self):
        pid = self.start()
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
        self.assertRegex(status, r"NSpid:.*\s1\n")
        self.assertRegex(status, r"Uid:\s+65532\s+65532\s+65532\s+65532\n")
        self.assertRegex(status, r"CapEff:\s+0+\n")
        self.assertRegex(status, r"NoNewPrivs:\s+1\n")
        root = next(line.split() for line in pathlib.Path(f"/proc/{pid}/mounts").read_text().splitlines()
                    if line.split()[1] == "/")
        self.assertIn("ro", root[3].split(","))

    def test_the_documented_settings_serve_the_page_and_the_metrics(self):
        variables, token, admin = documented_variables(), "a-token-for-the-documented-command", free_port()
        changed = {"SLUICE_LISTEN": ("0.0.0.0:8080", f"0.0.0.0:{self.port}"),
                   "SLUICE_ADMIN_LISTEN": ("0.0.0.0:9090", f"0.0.0.0:{admin}"),
                   "SLUICE_SERVER_TOKENS": ("$SLUICE_TOKEN", token)}
        for name, (documented, here) in changed.items():
            self.assertEqual(variables[name], documented)
            variables[name] = here
        self.start(variables=variables, token=token)
        self.assertIn("<title>Sluice</title>", fetch(f"http://127.0.0.1:{admin}/"))
        self.assertRegex(fetch(f"http://127.0.0.1:{admin}/metrics", token), r"(?m)^sluice_ready 1$")
        with self.assertRaises(urllib.error.HTTPError) as refused:
            fetch(f"http://127.0.0.1:{admin}/metrics")
        refused.exception.close()
        self.assertEqual(refused.exception.code, 401)

    def test_its_health_check_follows_the_server(self):
        self.start()
        self.assertEqual(podman("exec", self.container, "/usr/bin/sluice", "health").stdout.strip(), "ok")
        self.assertEqual(podman("healthcheck", "run", self.container, check=False).returncode, 0)
        wrong = podman("exec", "--env", "SLUICE_URL=http://127.0.0.1:1", self.container, "/usr/bin/sluice", "health",
                       check=False)
        self.assertEqual(wrong.returncode, 1)

    def test_sigterm_ends_it_and_sighup_reloads_it(self):
        self.start()
        podman("kill", "--signal", "HUP", self.container)
        until(lambda: "reloaded" in self.log(), "the settings are read again")
        began = time.monotonic()
        podman("stop", "--time", "20", self.container)
        self.assertLess(time.monotonic() - began, 10)
        self.assertEqual(self.state("ExitCode"), "0")
        self.assertIn("stopped", self.log())

    def test_orphans_leave_no_zombies(self):
        pid = self.start()
        subprocess.run(["nsenter", "--target", str(pid), "--pid", "sh", "-c", "sleep 0.5 & sleep 0.5 &"], check=True)
        until(lambda: len(children(pid)) == 2, "the server inherits two processes")
        until(lambda: children(pid) == [], "they are gone")

    def test_a_volume_keeps_counts_over_a_restart(self):
        with tempfile.TemporaryDirectory() as folder:
            os.chown(folder, 65532, 65532)
            self.start("serve", "--data-dir", "/var/lib/sluice", options=("--volume", f"{folder}:/var/lib/sluice"))
            before = limit(self.port)["remaining"]
            podman("restart", "--time", "20", self.container)
            until(lambda: limit(self.port)["remaining"] < before, "counts of before the restart")

    def test_it_says_so_where_it_can_not_write(self):
        run = podman("run", "--rm", *limits(), "--read-only", AMD64, "serve", "--data-dir", "/data", check=False)
        self.assertEqual(run.returncode, 2)
        self.assertIn("data_dir", run.stderr)


if __name__ == "__main__":
    unittest.main()
