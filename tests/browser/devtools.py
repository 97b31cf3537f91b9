"""Controls a browser without a window through the two pipes of its DevTools protocol.

with Browser() as browser:
    page = browser.open(path)
    page.press("ArrowRight")
    assert page.evaluate("rematlas.chosen.step") == 7
"""

import base64
import contextlib
import fcntl
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "chrome")
PATIENCE = 120  # seconds; a browser that sends no message for so long counts as dead

KEYS = {
    "Enter": ("Enter", 13, "\r"),
    "Escape": ("Escape", 27, ""),
    "Tab": ("Tab", 9, ""),
    "Backspace": ("Backspace", 8, ""),
    " ": ("Space", 32, " "),
    "PageUp": ("PageUp", 33, ""),
    "PageDown": ("PageDown", 34, ""),
    "End": ("End", 35, ""),
    "Home": ("Home", 36, ""),
    "ArrowLeft": ("ArrowLeft", 37, ""),
    "ArrowUp": ("ArrowUp", 38, ""),
    "ArrowRight": ("ArrowRight", 39, ""),
    "ArrowDown": ("ArrowDown", 40, ""),
}


def find_browser() -> str | None:
    """Returns the program that $REMATLAS_BROWSER names, or else the first of PROGRAMS that is installed."""
    wanted = os.environ.get("REMATLAS_BROWSER")
    return wanted or next((found for name in PROGRAMS if (found := shutil.which(name))), None)


class BrowserError(Exception):
    """The browser answered with an error, or did not answer."""


class Browser:
    def __enter__(self) -> "Browser":
        self._folder = tempfile.TemporaryDirectory(prefix="rematlas_browser_")
        to_browser, from_browser = os.pipe(), os.pipe()
        theirs = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in (to_browser[0], from_browser[1])]

        def hand_over() -> None:
            os.dup2(theirs[0], 3)
            os.dup2(theirs[1], 4)

        self._process = subprocess.Popen(
            [
                find_browser() or "chromium",
                "--headless=new",
                "--remote-debugging-pipe",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-extensions",
                f"--user-data-dir={self._folder.name}",
            ],
            pass_fds=(3, 4),
            preexec_fn=hand_over,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for fd in (to_browser[0], from_browser[1], *theirs):
            os.close(fd)
        self._to, self._from = to_browser[1], from_browser[0]
        self._unread = b""
        self._number = 0
        self.events: list[dict] = []
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(BrowserError, OSError):
            self.send("Browser.close")
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._to)
        os.close(self._from)
        with contextlib.suppress(OSError):
            self._folder.cleanup()

    def send(self, method: str, parameters: dict | None = None, session: str | None = None) -> dict:
        """Sends a command. Returns the answer. Events that arrive earlier are appended to `events`."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters or {}}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._to, data) :]
        while True:
            told = self._read()
            if told.get("id") != self._number:
                self.events.append(told)
            elif "error" in told:
                raise BrowserError(f"{method}: {told['error']['message']}")
            else:
                return told["result"]

    def _read(self) -> dict:
        while b"\0" not in self._unread:
            if not select.select([self._from], [], [], PATIENCE)[0]:
                raise BrowserError("the browser does not answer")
            more = os.read(self._from, 1 << 20)
            if not more:
                raise BrowserError("the browser has ended")
            self._unread += more
        told, _, self._unread = self._unread.partition(b"\0")
        return json.loads(told)

    def open(self, place: str | pathlib.Path, width: int = 1280, height: int = 800) -> "Page":
        """Opens a file, or an address that begins with http."""
        page = Page(self)
        page.resize(width, height)
        is_address = str(place).startswith("http://")
        page.go(str(place) if is_address else pathlib.Path(place).resolve().as_uri())
        return page


class Page:
    """One tab of the browser."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        target = browser.send("Target.createTarget", {"url": "about:blank"})["targetId"]
        attached = browser.send("Target.attachToTarget", {"targetId": target, "flatten": True})
        self._session = attached["sessionId"]
        self._target = target
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def send(self, method: str, parameters: dict | None = None) -> dict:
        return self._browser.send(method, parameters, self._session)

    def close(self) -> None:
        self._browser.send("Target.closeTarget", {"targetId": self._target})

    def go(self, address: str) -> None:
        """Goes to the address. Waits until the page is loaded and painted once."""
        self.send("Page.navigate", {"url": address})
        self.evaluate(
            "new Promise(done => { const is = () => document.readyState === 'complete' && location.href !== "
            "'about:blank'; const wait = () => is() ? done() : setTimeout(wait, 10); wait(); })"
        )
        self.settle()

    def evaluate(self, expression: str) -> object:
        asked = {"expression": expression, "returnByValue": True, "awaitPromise": True}
        answer = self.send("Runtime.evaluate", asked)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise BrowserError(details.get("exception", {}).get("description", details["text"]))
        return answer["result"].get("value")

    def settle(self) -> None:
        """Waits for two frames; by then all earlier changes are painted."""
        self.evaluate(
            "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))"
        )

    def resize(self, width: int, height: int) -> None:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.send("Emulation.setDeviceMetricsOverride", size)

    def darken(self, dark: bool) -> None:
        value = "dark" if dark else "light"
        features = [{"name": "prefers-color-scheme", "value": value}]
        self.send("Emulation.setEmulatedMedia", {"features": features})

    def press(self, key: str, shift: bool = False) -> None:
        name, code, text = KEYS.get(key, ("", ord(key.upper()[0]), key))
        told = {"key": key, "code": name, "windowsVirtualKeyCode": code, "modifiers": 8 if shift else 0}
        down = {"type": "keyDown" if text else "rawKeyDown", **told}
        if text:
            down["text"] = text
        self.send("Input.dispatchKeyEvent", down)
        self.send("Input.dispatchKeyEvent", {"type": "keyUp", **told})
        self.settle()

    def type(self, text: str) -> None:
        self.send("Input.insertText", {"text": text})
        self.settle()

    def mouse(self, what: str, x: float, y: float, **more: object) -> None:
        self.send("Input.dispatchMouseEvent", {"type": what, "x": x, "y": y, **more})

    def click(self, x: float, y: float, count: int = 1) -> None:
        self.mouse("mouseMoved", x, y)
        for nth in range(1, count + 1):
            for what in ("mousePressed", "mouseReleased"):
                self.mouse(what, x, y, button="left", clickCount=nth)
        self.settle()

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        self.mouse("mouseMoved", *start)
        self.mouse("mousePressed", *start, button="left", clickCount=1)
        for part in (0.25, 0.5, 0.75, 1):
            at = [a + (b - a) * part for a, b in zip(start, end, strict=True)]
            self.mouse("mouseMoved", *at, button="left", buttons=1)
        self.mouse("mouseReleased", *end, button="left", clickCount=1)
        self.settle()

    def wheel(self, x: float, y: float, down: float) -> None:
        self.mouse("mouseWheel", x, y, deltaX=0, deltaY=down)
        self.settle()

    def middle_of(self, selector: str) -> tuple[float, float]:
        box = self.evaluate(
            f"(() => {{ const b = document.querySelector({json.dumps(selector)}).getBoundingClientRect();"
            " return [b.left + b.width / 2, b.top + b.height / 2]; })()"
        )
        return box[0], box[1]

    def click_on(self, selector: str, count: int = 1) -> None:
        self.click(*self.middle_of(selector), count)

    def text_of(self, selector: str) -> str:
        return str(self.evaluate(f"document.querySelector({json.dumps(selector)}).textContent"))

    def picture(self, path: str | pathlib.Path) -> None:
        data = self.send("Page.captureScreenshot", {"format": "png"})["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))

    def faults(self) -> list[str]:
        """Returns the complaints, and the requests except the first one, which is for the page itself."""
        return self.complaints() + self.requests()[1:]

    def complaints(self) -> list[str]:
        """Returns the errors and warnings of the console, and the exceptions that no code has caught."""
        self.send("Runtime.evaluate", {"expression": "0"})  # before its answer, all earlier events arrive
        found = []
        for event in self._browser.events:
            if event.get("sessionId") != self._session:
                continue
            method, told = event["method"], event["params"]
            if method == "Runtime.exceptionThrown":
                details = told["exceptionDetails"]
                found.append(details.get("exception", {}).get("description", details["text"]))
            elif method == "Runtime.consoleAPICalled" and told["type"] in ("error", "warning", "assert"):
                found.append(str(told["args"]))
            elif method == "Log.entryAdded" and told["entry"]["level"] in ("error", "warning"):
                found.append(told["entry"]["text"])
        return found

    def requests(self) -> list[str]:
        """Returns the requested addresses. The first one is the address of the page itself."""
        return [address for address, _ in self.timed_requests()]

    def timed_requests(self) -> list[tuple[str, float]]:
        """Returns each requested address with the time of the request in seconds, by a monotonic
        clock."""
        return [
            (event["params"]["request"]["url"], event["params"]["timestamp"])
            for event in self._browser.events
            if event.get("sessionId") == self._session and event["method"] == "Network.requestWillBeSent"
        ]

    def wait_for(self, condition: str) -> None:
        """Waits until the expression is true."""
        self.evaluate(
            f"new Promise(done => {{ const look = () => ({condition}) ? done(0) : setTimeout(look, 20);"
            " look(); })"
        )
