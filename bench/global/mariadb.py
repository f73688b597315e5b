"""The MariaDB that the global layer is measured against, and the client that comes with it."""

import os
import subprocess
import sys
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "http"))
from servers import Server, free_port  # noqa: E402


class Mariadb(Server):
    """A server of our own on the servers' core, with a database "bench" that `sluice migrate` has filled."""

    def __init__(self, folder, sluice):
        data, port = os.path.join(folder, "data"), free_port()
        self.socket = os.path.join(folder, "s")
        subprocess.run(["rm", "-rf", data], check=True)
        install = ["mariadb-install-db", "--no-defaults", f"--datadir={data}"]
        install += ["--auth-root-authentication-method=normal", "--skip-test-db", "--user=root"]
        subprocess.run(install, check=True, stdout=subprocess.DEVNULL)
        command = ["mariadbd", "--no-defaults", f"--datadir={data}", f"--tmpdir={data}", f"--socket={self.socket}"]
        command += [f"--port={port}", "--bind-address=127.0.0.1", "--user=root", "--innodb-flush-log-at-trx-commit=2"]
        command += ["--innodb-buffer-pool-size=256M"]
        super().__init__("mariadb", command, port, os.path.join(folder, "mariadb.log"))
        self.run("CREATE DATABASE bench; CREATE USER b@'%' IDENTIFIED BY 'b'; GRANT ALL ON bench.* TO b@'%'", "mysql")
        subprocess.run([sluice, "migrate", "--global", self.url()], check=True, stdout=subprocess.DEVNULL)

    def url(self):
        return f"mysql://b:b@127.0.0.1:{self.port}/bench"

    def client(self, database):
        return ["mariadb", "--no-defaults", f"--socket={self.socket}", "--user=root", database]

    def run(self, sql, database="bench"):
        subprocess.run([*self.client(database), "-e", sql], check=True)

    def forget(self):
        self.run("TRUNCATE TABLE ratelimit_window_counts")

    def run_file(self, path):
        """The seconds that the client takes to run all statements of a file on one connection, less those of none."""
        begin = time.monotonic()
        subprocess.run(self.client("bench"), stdin=subprocess.DEVNULL, check=True)
        start = time.monotonic() - begin
        with open(path, "rb") as file:
            begin = time.monotonic()
            subprocess.run(self.client("bench"), stdin=file, check=True)
        return time.monotonic() - begin - start
