"""Runs `rematlas serve` as a process, and tests which requests it refuses, its answers, and how it ends."""

import json
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "browser"))

from graphs import write_large, write_network
from serving import PATIENCE, PROGRAM, Serving

SECRET = b"root:"  # occurs in /etc/passwd


def run(*words: object) -> subprocess.CompletedProcess:
    return subprocess.run(
        [PROGRAM, *map(str, words)], capture_output=True, text=True, check=False, timeout=PATIENCE
    )


class ServeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.graph = cls.folder / "network.graph.json"
        write_network(cls.graph)
        cls.served = cls.enterClassContext(Serving(cls.graph))


class Refusals(ServeTest):
    def refused(self, status: int, path: str, *rest: object, **more: object) -> None:
        told, headers, body = self.served.ask(path, *rest, **more)
        self.assertEqual(told, status, (path, more, body))
        self.assertNotIn(SECRET, body)
        self.assertEqual([name for name in headers if name.startswith("access-control")], [])
        self.assertEqual(headers.get("connection"), "close")

    def test_without_the_token(self):
        self.refused(401, "/", Authorization=None)
        for path in ("/state", "/schedule?plan=0", "/etc/passwd"):
            self.refused(401, path, Authorization=None)
        for path in ("/solve", "/sweep", "/cancel"):
            self.refused(401, path, {"budget": "60%"}, Authorization=None)
        self.assertEqual(self.served.state()["jobs"], [])

    def test_with_a_wrong_token(self):
        token = self.served.token
        for wrong in ("0" * 64, token[:-1], token + "0", token[::-1], token.upper() + "A", ""):
            self.refused(401, f"/?token={wrong}", Authorization=None)
            self.refused(401, "/state", Authorization=f"Bearer {wrong}")
        self.refused(401, f"/state?token={token}", Authorization=None)
        self.refused(401, "/state", Authorization=None, Cookie=f"token={token}")

    def test_from_a_page_of_another_site(self):
        for origin in ("http://evil.example", "null", "http://127.0.0.1:1", "https://localhost"):
            self.refused(403, "/solve", {"budget": "60%"}, Origin=origin)
            self.refused(403, f"/?token={self.served.token}", Origin=origin)
        self.refused(403, "/solve", {"budget": "60%"}, Sec_Fetch_Site="cross-site")
        self.refused(415, "/solve", {"budget": "60%"}, Content_Type="text/plain")
        self.refused(
            405,
            "/solve",
            method="OPTIONS",
            Origin="http://evil.example",
            Access_Control_Request_Method="POST",
            Access_Control_Request_Headers="authorization",
        )
        self.assertEqual(self.served.state()["jobs"], [])

    def test_by_another_name(self):
        for host in ("evil.example", f"evil.example:{self.served.port}", "127.0.0.1.evil.example", "", None):
            self.assertIn(self.served.ask(f"/?token={self.served.token}", Host=host)[0], (400, 403), host)
            self.assertIn(self.served.ask("/state", Host=host)[0], (400, 403), host)
        for host in ("localhost:12345", "127.0.0.1:1", "[::1]:8000"):
            self.assertEqual(self.served.ask("/state", Host=host)[0], 200, host)

    def test_paths_to_files(self):
        paths = [
            "/../../etc/passwd",
            "/../../../../../../etc/passwd",
            "//etc/passwd",
            "/etc/passwd",
            "/%2e%2e/%2e%2e/etc/passwd",
            "/..%2f..%2f..%2fetc%2fpasswd",
            "/%252e%252e%252fetc%252fpasswd",
            "/state/../../../etc/passwd",
            "/..%5c..%5cetc%5cpasswd",
            "/%00/etc/passwd",
            "/network.graph.json",
            str(self.graph),
            f"/schedule/{self.graph}",
            "file:///etc/passwd",
        ]
        for path in paths:
            self.refused(404, path)
            self.refused(401, path, Authorization=None)
        for plan in ("../../etc/passwd", "/etc/passwd", "..%2f..%2fetc%2fpasswd", "0%00", "-1", "99"):
            status, _, body = self.served.ask(f"/schedule?plan={plan}")
            self.assertEqual(status, 404, plan)
            self.assertNotIn(SECRET, body)

    def test_what_no_client_library_would_send(self):
        token, port = self.served.token, self.served.port
        host = f"Host: 127.0.0.1:{port}\r\n"
        secret = f"Authorization: Bearer {token}\r\n"
        body = b'{"budget": "60%"}'
        json_type = "Content-Type: application/json\r\n"
        requests = [
            f"GET ../../etc/passwd HTTP/1.1\r\n{host}{secret}\r\n",
            f"GET /../../etc/passwd HTTP/1.1\r\n{host}{secret}\r\n",
            f"GET /\\..\\..\\etc\\passwd HTTP/1.1\r\n{host}{secret}\r\n",
            f"GET / /etc/passwd HTTP/1.1\r\n{host}{secret}\r\n",
            f"GET /state HTTP/1.1\r\n{host}{host}{secret}\r\n",
            f"GET /state HTTP/1.1\r\n{host}{secret}{secret}\r\n",
            f"GET /state HTTP/1.1\r\n{secret}\r\n",
            f"GET /state HTTP/1.0\r\n{secret}\r\n",
            "GET /state\r\n\r\n",
            f"TRACE / HTTP/1.1\r\n{host}{secret}\r\n",
            f"CONNECT evil.example:80 HTTP/1.1\r\n{host}{secret}\r\n",
            f"GET http://evil.example/state HTTP/1.1\r\n{host}{secret}\r\n",
            f"POST /solve HTTP/1.1\r\n{host}{secret}{json_type}Transfer-Encoding: chunked\r\n\r\n"
            "11\r\n" + body.decode() + "\r\n0\r\n\r\n",
            f"POST /solve HTTP/1.1\r\n{host}{secret}{json_type}Content-Length: 17\r\n"
            "Transfer-Encoding: chunked\r\n\r\n",
            f"POST /solve HTTP/1.1\r\n{host}{secret}{json_type}\r\n",
            f"GET /state HTTP/1.1\r\n{host}{secret}X: {'x' * 100_000}\r\n\r\n",
            f"GET /{'x' * 100_000} HTTP/1.1\r\n{host}{secret}\r\n",
            f"GET /state HTTP/1.1\r\n{host}{secret}" + "X: y\r\n" * 20_000 + "\r\n",
            "\x16\x03\x01\x02\x00\x01\x00",
            "\x00" * 1000,
        ]
        for request in requests:
            try:
                answer = self.served.raw(request.encode("latin-1"))
            except ConnectionError:
                answer = b""
            status = int(answer.split()[1]) if answer.startswith(b"HTTP/1.") else 0
            self.assertTrue(status == 0 or 400 <= status < 600, (request[:80], answer[:300]))
            self.assertNotIn(SECRET, answer)
            self.assertNotIn(b'"about"', answer)
        self.assertEqual(self.served.state()["jobs"], [])

    def test_bodies_that_are_too_long(self):
        self.refused(413, "/solve", b'{"budget": "60%"' + b" " * 20_000 + b"}")
        self.refused(413, "/solve", b"{}", Content_Length="1000000000000")
        self.assertEqual(self.served.ask("/solve", b"{}", Content_Length="-1")[0], 400)
        self.assertEqual(self.served.state()["jobs"], [])

    def test_methods_that_nobody_needs(self):
        for method in ("TRACE", "PUT", "DELETE", "PATCH", "HEAD", "PROPFIND", "TEAPOT"):
            status, _, body = self.served.ask("/state", method=method)
            self.assertEqual(status, 405, method)
            self.assertNotIn(self.served.token.encode(), body)


class Answers(ServeTest):
    def test_the_page_is_the_report_with_its_policy(self):
        status, headers, body = self.served.ask(f"/?token={self.served.token}", Authorization=None)
        self.assertEqual(status, 200)
        self.assertEqual(headers["content-type"], "text/html; charset=utf-8")
        self.assertIn("frame-ancestors 'none'", headers["content-security-policy"])
        for name, value in (
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cache-control", "no-store"),
            ("x-frame-options", "DENY"),
        ):
            self.assertEqual(headers[name], value)
        text = body.decode()
        policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text).group(1)
        self.assertIn("default-src 'none'", policy)
        self.assertIn("connect-src 'self'", policy)
        self.assertNotIn("unsafe", policy)
        self.assertNotIn(self.served.token, text)
        self.assertIn("class SolvePanel", text)

    def test_the_file_of_report_has_no_panel(self):
        page = self.folder / "r.html"
        self.assertEqual(run("report", self.graph, "-o", page).returncode, 0)
        text = page.read_text()
        for part in ("SolvePanel", "fetch(", "connect-src", "Bearer"):
            self.assertNotIn(part, text)

    def test_a_plan_is_solved_kept_and_checked(self):
        job = self.served.start("/solve", {"budget": "60%", "solver": "dtr"})
        done = self.served.wait_for(job, "done", "failed", "no schedule")
        self.assertEqual(done["phase"], "done", done)
        status, headers, body = self.served.ask(f"/schedule?plan={done['plan']}")
        self.assertEqual(status, 200)
        self.assertIn("attachment", headers["content-disposition"])
        kept = self.folder / "kept.schedule.json"
        kept.write_bytes(body)
        checked = run("check", self.graph, kept, "--json")
        self.assertEqual(checked.returncode, 0, checked.stderr)
        plan = next(plan for plan in self.served.state()["plans"] if plan["index"] == done["plan"])
        self.assertEqual(json.loads(checked.stdout)["peak_bytes"], plan["peak"])

    def test_a_sweep_is_told_point_by_point(self):
        job = self.served.start("/sweep", {"solvers": ["dtr", "chen-greedy"], "count": 4})
        done = self.served.wait_for(job, "done", "failed", "no schedule")
        self.assertEqual(done["phase"], "done", done)
        state = self.served.state()
        sweep = next(one for one in state["sweeps"] if one["job"] == job)
        self.assertEqual([curve["name"] for curve in sweep["curves"]], ["dtr", "chen-greedy"])
        known = {plan["index"] for plan in state["plans"]} | {0}
        for curve in sweep["curves"]:
            for point in curve["points"]:
                if point["peak"] is not None:
                    self.assertIn(point["plan"], known)

    def test_two_pages_see_the_same(self):
        self.served.wait_for(self.served.start("/solve", {"budget": "80%", "solver": "dtr"}), "done")
        first, second = self.served.state(), self.served.state()
        self.assertEqual(first["plans"], second["plans"])
        self.assertEqual(first["revision"], second["revision"])

    def test_a_budget_that_nothing_keeps_is_answered(self):
        job = self.served.start("/solve", {"budget": 1000, "solver": "dtr"})
        no = self.served.wait_for(job, "done", "failed", "no schedule")
        self.assertEqual(no["phase"], "no schedule")
        self.assertIn("every schedule needs at least", no["words"])
        self.assertIn("Ask for a larger budget.", no["words"])


class LongJobs(unittest.TestCase):
    """Jobs on a step that is so large that no solver finishes during a test."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.graph = cls.folder / "large.graph.json"
        write_large(cls.graph, ops=1500)

    def test_a_job_is_cancelled_and_its_best_is_kept(self):
        with Serving(self.graph) as served:
            job = served.start("/solve", {"budget": "50%", "time_limit": "1h"})
            served.wait_for(job, "running")
            revision = 0
            while not next(one for one in served.state(revision)["jobs"] if one["id"] == job)["best"]:
                revision = served.state()["revision"]
            status, _, _ = served.ask("/cancel", {"job": job})
            self.assertEqual(status, 202)
            ended = served.wait_for(job, "cancelled", "done", "failed")
            self.assertEqual(ended["phase"], "cancelled", ended)
            self.assertIsNotNone(ended["plan"])
            self.assertEqual(served.ask("/cancel", {"job": job})[0], 409)
            self.assertEqual(served.end(), 0)

    def test_as_many_jobs_run_as_there_are_processors_and_not_all_may_wait(self):
        with Serving(self.graph) as served:
            processors = served.state()["about"]["processors"]
            asked = {"budget": "50%", "time_limit": "1h"}
            jobs = [served.start("/solve", asked) for _ in range(processors)]
            for job in jobs:
                served.wait_for(job, "running")
            statuses = [served.ask("/solve", asked)[0] for _ in range(20)]
            self.assertEqual(statuses, [202] * 16 + [409] * 4)
            phases = [one["phase"] for one in served.state()["jobs"]]
            self.assertEqual(phases, ["running"] * processors + ["waiting"] * 16)
            self.assertEqual(served.ask("/cancel", {"job": jobs[-1] + 1})[0], 202)
            self.assertEqual(served.wait_for(jobs[-1] + 1, "cancelled")["words"], "It had not begun.")
            self.assertEqual(served.end(signal.SIGINT), 0)


class Process(ServeTest):
    def test_it_tells_its_address_and_how_to_reach_it(self):
        self.assertRegex(self.served.told, r"^http://127\.0\.0\.1:\d+/\?token=[0-9a-f]{64}\n$")
        port = self.served.port
        self.assertIn(f"ssh -N -L {port}:127.0.0.1:{port} ", self.served.ssh)
        with Serving(self.graph, options=("--json",)) as other:
            told = json.loads(other.told)
            self.assertEqual(sorted(told), ["address", "port"])
            self.assertEqual(told["port"], other.port)
            self.assertNotEqual(other.token, self.served.token)
            self.assertEqual(other.end(), 0)
            self.assertEqual(other.process.stdout.read(), "")
            self.assertEqual(other.process.stderr.read(), "")

    def test_only_this_machine_reaches_it(self):
        ends = []
        for table in ("/proc/net/tcp", "/proc/net/tcp6"):
            for line in pathlib.Path(table).read_text().splitlines()[1:]:
                local, state = line.split()[1], line.split()[3]
                if state == "0A" and int(local.split(":")[1], 16) == self.served.port:
                    ends.append(local.split(":")[0])
        self.assertEqual(ends, ["0100007F"])

    def test_signals_end_it_and_nothing_is_left(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with Serving(self.graph) as served:
                served.wait_for(served.start("/solve", {"budget": "60%", "solver": "dtr"}), "done")
                children = pathlib.Path(f"/proc/{served.process.pid}/task/{served.process.pid}/children")
                self.assertEqual(children.read_text(), "")
                self.assertEqual(served.end(number), 0)
                with self.assertRaises(ConnectionRefusedError):
                    served.connect()

    def test_who_is_slow_or_silent_keeps_nobody_waiting(self):
        with Serving(self.graph) as served:
            open_ones = [served.connect() for _ in range(600)]
            for number, connection in enumerate(open_ones):
                connection.sendall(b"GET /state HTTP/1.1\r\nX: "[: number % 25])
            host = f"Host: 127.0.0.1:{served.port}\r\nAuthorization: Bearer {served.token}\r\n"
            half = "Content-Type: application/json\r\nContent-Length: 99\r\n\r\n{"
            open_ones.append(served.connect())
            open_ones[-1].sendall(f"POST /solve HTTP/1.1\r\n{host}{half}".encode())
            waiting = served.connect()
            revision = served.state()["revision"]
            waiting.sendall(f"GET /state?since={revision} HTTP/1.1\r\n{host}\r\n".encode())
            self.assertEqual(served.ask("/state")[0], 200)
            self.assertEqual(served.end(), 0)
            for connection in (*open_ones, waiting):
                connection.close()

    def test_who_never_ends_a_request_is_dropped(self):
        with Serving(self.graph) as served, served.connect() as silent:
            silent.sendall(b"GET /state HTTP/1.1\r\n")
            self.assertEqual(silent.recv(100), b"")

    def test_a_port_that_is_taken_and_files_that_are_none_are_told(self):
        with socket.create_server(("127.0.0.1", 0)) as other:
            port = other.getsockname()[1]
            taken = run("serve", self.graph, "--port", port)
        self.assertEqual(taken.returncode, 2)
        self.assertIn(f"--port: {port} is taken; --port 0 takes a free one", taken.stderr)
        missing = run("serve", self.folder / "none.graph.json")
        self.assertEqual(missing.returncode, 2)
        self.assertIn("cannot open", missing.stderr)
        self.assertEqual(run("serve", self.graph, "--port", 65536).returncode, 2)
        self.assertEqual(run("serve", self.graph, "--host", "0.0.0.0").returncode, 2)


if __name__ == "__main__":
    unittest.main()
