"""The contestants: Sluice, nginx with one worker and a constant answer, and servers on Boost.Asio."""

import os
import socket
import ssl
import subprocess
import time

SERVER_CORE = "0"

# What Sluice's answer to a decision looks like, in 150 bytes.
ANSWER = (
    '{"meta":{"requestId":"req_00000000000000000000"},"data":{"success":true,"limit":9007199254740991,'
    '"remaining":9007199254740990,"reset":1700000000000}}'
)
ANSWER = ANSWER[:150].ljust(150)

NGINX = """
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log error;
worker_rlimit_nofile 65536;
events {{ worker_connections 32768; }}
http {{
    access_log off;
    default_type application/json;
    keepalive_requests 1000000000;
    keepalive_timeout 600s;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port} backlog=16384;
        listen 127.0.0.1:{tls_port} ssl;
        ssl_certificate {cert};
        ssl_certificate_key {key};
        ssl_protocols TLSv1.3;
        location / {{ return 200 '{answer}'; }}
    }}
}}
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def make_certificate(folder):
    cert, key = os.path.join(folder, "bench.crt"), os.path.join(folder, "bench.key")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        + ["-days", "2", "-subj", "/CN=127.0.0.1", "-out", cert, "-keyout", key],
        check=True,
        stderr=subprocess.DEVNULL,
    )
    return cert, key


class Server:
    """A process on the servers' core by default. Ends with the context."""

    def __init__(self, name, command, port, log, cores=SERVER_CORE):
        self.name = name
        self.port = port
        with open(log, "w", encoding="utf-8") as file:
            self.process = subprocess.Popen(["taskset", "-c", cores, *command], stdout=file, stderr=file)
        self.await_port(log)

    def await_port(self, log):
        for _ in range(500):
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except OSError:
                if self.process.poll() is not None:
                    break
                time.sleep(0.02)
        with open(log, encoding="utf-8") as file:
            raise RuntimeError(f"{self.name} did not start:\n{file.read()}")

    def url(self, scheme="http", port=None):
        return f"{scheme}://127.0.0.1:{port or self.port}"

    def resident_kib(self):
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))

    def processor_seconds(self):
        """The processor time of all its threads, to a hundredth of a second."""
        with open(f"/proc/{self.process.pid}/stat", encoding="utf-8") as file:
            fields = file.read().rpartition(")")[2].split()
        user, system = fields[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(30)


def start_sluice(program, folder, flags=(), cores=SERVER_CORE):
    config = os.path.join(folder, "sluice.toml")
    with open(config, "w", encoding="utf-8") as file:
        file.write('[http]\nidle_timeout = "10m"\n')
    port, admin_port = free_port(), free_port()
    addresses = ["--listen", f"127.0.0.1:{port}", "--admin-listen", f"127.0.0.1:{admin_port}"]
    command = [program, "serve", "--config", config, "--threads", "1", *addresses, *flags]
    server = Server("sluice", command, port, os.path.join(folder, "sluice.log"), cores)
    server.admin_port = admin_port
    return server


def start_beast(program, folder, kind):
    """beast_server.cc; `kind` is one of the servers that it describes."""
    port = free_port()
    return Server(kind, [program, str(port), kind], port, os.path.join(folder, f"{kind}.log"))


def start_nginx(folder, cert, key):
    port, tls_port = free_port(), free_port()
    path = os.path.join(folder, "nginx.conf")
    with open(path, "w", encoding="utf-8") as file:
        file.write(NGINX.format(folder=folder, port=port, tls_port=tls_port, cert=cert, key=key, answer=ANSWER))
    command = ["nginx", "-p", folder, "-c", path]
    server = Server("nginx", command, port, os.path.join(folder, "nginx.out"))
    server.tls_port = tls_port
    return server


def agreed_cipher(port):
    """The version and cipher that a TLS server on this port picks."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with socket.create_connection(("127.0.0.1", port)) as plain:
        with context.wrap_socket(plain) as secure:
            return f"{secure.version()} {secure.cipher()[0]}"
