"""A page in headless Chromium, driven by the DevTools protocol over pipes. Debian: chromium-headless-shell.

  page = Page(url); page.texts("h1"); page.picture("file.png"); page.close()
"""
import base64
import fcntl
import json
import os
import subprocess
import tempfile

PROGRAM = "chromium-headless-shell"
TEXTS = """[...document.querySelectorAll(%s)].filter((one) => !one.closest("[hidden]")).map((one) => one.textContent)"""


class Page:
    """A page that is open in a browser of its own. complaints: errors of its scripts and of what it could not load, so far."""

    def __init__(self, url, width=1280, height=1000):
        self.complaints, self.last = [], 0
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        their_in, self.to = os.pipe()
        self.back, their_out = os.pipe()
        self.messages = open(os.path.join(self.profile.name, "messages"), "w+", encoding="utf-8")
        reads, writes = (fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (their_in, their_out))  # not 3 or 4, which the shell opens
        for end in (their_in, their_out):
            os.close(end)
        # within containers it has no sandbox and little shared memory
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec 3<&{reads} 4>&{writes} "$@"', "browser", PROGRAM, "--remote-debugging-pipe", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu",
             f"--user-data-dir={self.profile.name}/profile", f"--window-size={width},{height}", "about:blank"],
            pass_fds=(reads, writes), stdin=subprocess.DEVNULL, stdout=self.messages, stderr=self.messages)
        for end in (reads, writes):
            os.close(end)
        self.reader = os.fdopen(self.back, "rb")
        self.rest, self.session = b"", None
        target = self.command("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.command("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Runtime", "Log", "Page"):
            self.command(f"{domain}.enable")
        self.command("Page.navigate", url=url)

    def receive(self):
        while b"\0" not in self.rest:
            more = os.read(self.reader.fileno(), 1 << 16)
            if not more:
                self.messages.seek(0)
                raise RuntimeError(f"{PROGRAM} has ended (tools/install-packages installs it): {self.messages.read()}")
            self.rest += more
        one, self.rest = self.rest.split(b"\0", 1)
        message = json.loads(one)
        parameters = message.get("params", {})
        if message.get("method") == "Runtime.exceptionThrown":
            self.complaints.append(str(parameters["exceptionDetails"]))
        elif message.get("method") == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            self.complaints.append(str(parameters["entry"]))
        return message

    def command(self, method, **parameters):
        self.last += 1
        message = {"id": self.last, "method": method, "params": parameters}
        if self.session is not None:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") != self.last:
                continue
            if "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']}")
            return answer["result"]

    def evaluate(self, expression):
        result = self.command("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def texts(self, selector):
        """Of all elements that it finds and that are not hidden."""
        return self.evaluate(TEXTS % json.dumps(selector))

    def picture(self, path):
        """Of the whole page, as PNG."""
        picture = self.command("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        with open(path, "wb") as file:
            file.write(base64.b64decode(picture["data"]))

    def close(self):
        os.close(self.to)  # ends it
        try:
            self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.reader.close()
        self.messages.close()
        self.profile.cleanup()
