"""nginx with one worker, which answers each gRPC call with a constant: the floor of a server over HTTP/2."""

import os
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "http"))
from servers import Server, free_port  # noqa: E402

NGINX = """
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log error;
worker_rlimit_nofile 65536;
events {{ worker_connections 16384; }}
http {{
    access_log off;
    default_type application/grpc;
    keepalive_requests 1000000000;
    keepalive_timeout 600s;
    http2_max_concurrent_streams 1000;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port} http2 backlog=4096;
        location / {{ return 200 '{answer}'; }}
    }}
}}
"""


class Nginx(Server):
    def processor_seconds(self):
        """That of its worker."""
        worker = subprocess.run(["pgrep", "-P", str(self.process.pid)], check=True, capture_output=True, text=True)
        with open(f"/proc/{worker.stdout.split()[0]}/stat", encoding="utf-8") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def start_nginx(folder):
    port, path = free_port(), os.path.join(folder, "nginx.conf")
    with open(path, "w", encoding="utf-8") as file:
        file.write(NGINX.format(folder=folder, port=port, answer="x" * 30))
    return Nginx("nginx", ["nginx", "-p", folder, "-c", path], port, os.path.join(folder, "nginx.out"))
