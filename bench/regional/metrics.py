"""What a server exports on /metrics."""

import urllib.request


def metric_of(server, name, label=""):
    """The sum of the samples of this name whose labels contain `label`; None where there is none."""
    with urllib.request.urlopen(f"http://127.0.0.1:{server.admin_port}/metrics") as answer:
        lines = answer.read().decode().splitlines()
    found = [line.rsplit(" ", 1) for line in lines if line.partition(" ")[0].partition("{")[0] == name]
    values = [float(value) for series, value in found if label in series]
    return sum(values) if values else None
