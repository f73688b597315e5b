"""h2load, the client that puts load on a server, on a core of its own; and the bytes of a call."""

import os
import subprocess
import tempfile

CLIENT_CORE = "1"
PATH = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"
FIELDS = {"content-type": "application/grpc", "te": "trailers"}


def field(number, content):
    """A length-delimited protobuf field of less than 128 bytes."""
    return bytes([number << 3 | 2, len(content)]) + content


def message(descriptors):
    """A framed RateLimitRequest with descriptors of one entry."""
    request = field(1, b"envoy")
    for i in range(descriptors):
        entry = field(1, b"remote_address") + field(2, b"203.0.113.%d" % i)
        request += field(2, field(1, entry))
    return b"\0" + len(request).to_bytes(4, "big") + request


def frame(kind, flags, stream, payload):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def header(name, value):
    """A literal field that the receiver adds to its table."""
    return b"\x40" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()


def first_call():
    """What a client sends for its first call: preface, SETTINGS, HEADERS and DATA."""
    fields = {":method": "POST", ":scheme": "http", ":path": PATH, ":authority": "localhost", **FIELDS}
    block = b"".join(header(name, value) for name, value in fields.items())
    preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, b"")
    return preface + frame(1, 4, 1, block) + frame(0, 1, 1, message(1))


def await_answer(connection):
    """Reads frames up to the one that ends the first call."""
    data = b""
    while True:
        while len(data) >= 9 and len(data) >= 9 + int.from_bytes(data[:3], "big"):
            if data[3] == 1 and data[4] & 1:
                return
            data = data[9 + int.from_bytes(data[:3], "big") :]
        received = connection.recv(4096)
        if not received:
            raise RuntimeError("the server closed the connection")
        data += received


class H2load:
    """Runs h2load for some seconds. `streams` is the number of concurrent calls of each connection."""

    def __init__(self, seconds, connections=8, streams=16):
        self.seconds, self.connections, self.streams = seconds, connections, streams

    def run(self, server, descriptors=1):
        """Rate, p99 in microseconds and the server's processor time per call; a failed call ends the measurement."""
        with tempfile.TemporaryDirectory(prefix="sluice-h2load-") as folder:
            body, log = os.path.join(folder, "body"), os.path.join(folder, "log")
            with open(body, "wb") as file:
                file.write(message(descriptors))
            command = ["taskset", "-c", CLIENT_CORE, "h2load", "-t1", f"-c{self.connections}", f"-m{self.streams}"]
            command += [f"-D{self.seconds}", "--warm-up-time=0", f"--log-file={log}", "-d", body]
            for name, value in FIELDS.items():
                command += ["-H", f"{name}: {value}"]
            before = server.processor_seconds()
            output = subprocess.run([*command, server.url() + PATH], check=True, capture_output=True, text=True).stdout
            processor = server.processor_seconds() - before
            with open(log, encoding="ascii") as file:
                calls = [line.split() for line in file]
        times = sorted(int(took) for _, status, took in calls if status == "200")
        if not times or len(times) != len(calls):
            raise RuntimeError(f"calls failed: {output}")
        return {
            "rate": len(times) / self.seconds,
            "p99": times[len(times) * 99 // 100],
            "processor": processor / len(times) * 1e6,
        }
