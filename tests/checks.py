"""What tests in Python share: checks that say what they found and count their failures, programs that are run, conditions that come true."""

import subprocess
import time

PATIENCE_S = 120


class Checks:
    """Each says what it found."""

    def __init__(self):
        self.failures = 0

    def expect(self, what, condition, found=""):
        self.failures += 0 if condition else 1
        print(("ok    " if condition else "FAIL  ") + what + (f": {found}" if not condition else ""), flush=True)

    def finish(self):
        """The exit code."""
        print(f"{self.failures} failures", flush=True)
        return min(self.failures, 100)


CHECKS = Checks()
expect = CHECKS.expect


def run(*command, timeout=PATIENCE_S, **options):
    """Exit code, and output with errors, of a program."""
    done = subprocess.run(list(map(str, command)), text=True, capture_output=True, timeout=timeout, check=False, **options)
    return done.returncode, done.stdout + done.stderr


def wait_for(what, condition, patience_s=PATIENCE_S):
    """What the condition gives when it gives something; TimeoutError otherwise."""
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.1)
    raise TimeoutError(what)


def comes_true(what, condition, patience_s=PATIENCE_S):
    try:
        wait_for(what, condition, patience_s)
    except TimeoutError:
        return False
    return True
