"""h2load, the client that puts load on a server, on a core of its own; and the bytes of a call."""

import dataclasses
import os
import subprocess
import tempfile

CLIENT_CORE = "1"
PATH = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"
FIELDS = {"content-type": "application/grpc", "te": "trailers"}


def field(number, content):
    """A length-delimited protobuf field of less than 128 bytes."""
    return bytes([number << 3 | 2, len(content)]) + content


def varint(number):
    """A number as protobuf encodes it, in seven bits per byte."""
    low, rest = number & 0x7F, number >> 7
    return bytes([low | 0x80]) + varint(rest) if rest else bytes([low])


def number_field(number, value):
    """A protobuf field with a number that is not negative."""
    return bytes([number << 3]) + varint(value)


def framed(request):
    """A message as gRPC sends it, uncompressed."""
    return b"\0" + len(request).to_bytes(4, "big") + request


def message():
    """A framed RateLimitRequest with one descriptor of one entry."""
    entry = field(1, b"remote_address") + field(2, b"203.0.113.0")
    return framed(field(1, b"envoy") + field(2, field(1, entry)))


@dataclasses.dataclass(frozen=True)
class Call:
    """A unary call: the method, and the framed request."""

    path: str = PATH
    message: bytes = message()


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
    return preface + frame(1, 4, 1, block) + frame(0, 1, 1, message())


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

    def run(self, server, call=Call()):
        """Rate, p99 and worst in microseconds and the server's processor time per call; a failed call ends it."""
        with tempfile.TemporaryDirectory(prefix="sluice-h2load-") as folder:
            body, log = os.path.join(folder, "body"), os.path.join(folder, "log")
            with open(body, "wb") as file:
                file.write(call.message)
            command = ["taskset", "-c", CLIENT_CORE, "h2load", "-t1", f"-c{self.connections}", f"-m{self.streams}"]
            command += [f"-D{self.seconds}", "--warm-up-time=0", f"--log-file={log}", "-d", body]
            for name, value in FIELDS.items():
                command += ["-H", f"{name}: {value}"]
            command.append(server.url() + call.path)
            before = server.processor_seconds()
            output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            processor = server.processor_seconds() - before
            with open(log, encoding="ascii") as file:
                calls = [line.split() for line in file]
        times = sorted(int(took) for _, status, took in calls if status == "200")
        if not times or len(times) != len(calls):
            raise RuntimeError(f"calls failed: {output}")
        return {
            "rate": len(times) / self.seconds,
            "p99": times[len(times) * 99 // 100],
            "worst": times[-1],
            "processor": processor / len(times) * 1e6,
        }
