"""Lines about what the run does, with the minutes and seconds since it began."""

import time

BEGAN = time.monotonic()


def report(text):
    minutes, seconds = divmod(int(time.monotonic() - BEGAN), 60)
    print(f"peers: {minutes:2}:{seconds:02} {text}", flush=True)
