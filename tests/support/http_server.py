"""A small HTTP server on a port of its own, for as long as a block lasts."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class QuietHandler(BaseHTTPRequestHandler):
    """Connections stay open, answers leave at once, nothing is printed."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def send(
        self, status: int, body: bytes, kind: str = "application/json", **headers: str
    ) -> None:
        """`headers` by their names in Python: `retry_after="1"`."""
        self.send_response(status)
        self.send_header("Content-Type", kind)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


class QuietServer(ThreadingHTTPServer):
    """A client that was killed or timed out is gone before its answer: that is no error."""

    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request: object, client_address: object) -> None:
        pass


@contextmanager
def listening(
    handler: type[BaseHTTPRequestHandler], server: type[QuietServer] = QuietServer
) -> Iterator[str]:
    """Its address, without a slash at the end."""
    httpd = server(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{httpd.server_address[1]}"
    finally:
        httpd.shutdown()
        thread.join()
        httpd.server_close()
