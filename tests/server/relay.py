"""A way to a node on which its answers can be lost."""
import contextlib
import select
import socket
import threading


class Relay:
    """Passes bytes between clients and a node, but swallows the node's answers when it is told to."""

    def __init__(self, target):
        host, port = target.split(":")
        self.to = (host, int(port))
        self.swallows = False
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.target = f"127.0.0.1:{self.listener.getsockname()[1]}"
        self.pairs = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(self.to)
            except OSError:
                client.close()
                continue
            self.pairs.append((client, server))
            threading.Thread(target=self.serve, args=(client, server), daemon=True).start()

    def serve(self, client, server):
        with contextlib.suppress(OSError, ValueError):
            while True:
                for ready in select.select([client, server], [], [])[0]:
                    data = ready.recv(1 << 16)
                    if not data:
                        return self.cut_pair(client, server)
                    if ready is client:
                        server.sendall(data)
                    elif not self.swallows:
                        client.sendall(data)

    @staticmethod
    def cut_pair(*sockets):
        for each in sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def cut(self):
        """Ends all connections: what was swallowed is lost."""
        for pair in self.pairs:
            self.cut_pair(*pair)
        self.pairs.clear()
        self.swallows = False
