"""Sessions that run steps beside each other and may wait for each other."""

import queue
import threading
import time

import psycopg

PATIENCE_S = 60


def cell(value):
    return "" if value is None else value.decode() if isinstance(value, bytes) else str(value)


class Player:
    """One session: a connection with a thread. A step's outcome is a list of results: rows, a tag, or an SQLSTATE."""

    def __init__(self, dsn):
        self.connection = psycopg.connect(dsn, autocommit=True)
        self.pid = self.connection.info.backend_pid
        self.work, self.done = queue.Queue(), queue.Queue()
        self.is_busy = False
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while (sql := self.work.get()) is not None:
            self.done.put(self.execute(sql))

    def execute(self, sql):
        results = []
        try:
            pgconn = self.connection.pgconn
            pgconn.send_query(sql.encode())
            while (result := pgconn.get_result()) is not None:
                results.append(self.outcome(result))
        except psycopg.Error as error:
            results.append(f"lost: {type(error).__name__}")
        return results

    @staticmethod
    def outcome(result):
        if result.status == psycopg.pq.ExecStatus.TUPLES_OK:
            return [[cell(result.get_value(row, column)) for column in range(result.nfields)] for row in range(result.ntuples)]
        if result.status in (psycopg.pq.ExecStatus.FATAL_ERROR, psycopg.pq.ExecStatus.BAD_RESPONSE):
            return (result.error_field(psycopg.pq.DiagnosticField.SQLSTATE) or b"lost").decode()
        return (result.command_status or b"").decode()

    def start(self, sql):
        self.is_busy = True
        self.work.put(sql)

    def poll(self, seconds):
        """The outcome of the step under way; None while it waits."""
        try:
            outcome = self.done.get(timeout=seconds) if seconds else self.done.get_nowait()
        except queue.Empty:
            return None
        self.is_busy = False
        return outcome

    def close(self):
        self.work.put(None)
        try:
            self.connection.cancel()
        except psycopg.Error:
            pass
        self.connection.close()


class Stage:
    """Plays one order of a specification's steps. wait_s: how long a step may take before it counts as waiting."""

    def __init__(self, specification, dsn, wait_s):
        self.specification, self.dsn, self.wait_s = specification, dsn, wait_s
        self.players, self.log, self.under_way = {}, [], {}

    def play(self, order):
        admin = Player(self.dsn)
        for sql in self.specification.setups:
            admin.start(sql)
            if admin.poll(PATIENCE_S) is None:
                raise TimeoutError("the setup does not end")
        try:
            for session in self.specification.sessions:
                self.players[session.name] = Player(self.dsn)
                if session.setup:
                    self.log.append((f"setup of {session.name}", self.finish(self.players[session.name], session.setup)))
            for step in order:
                self.take(step)
            self.settle()
            self.end_sessions()
            return self.log
        finally:
            for player in self.players.values():
                player.close()
            if self.specification.teardown:
                admin.start(self.specification.teardown)
                admin.poll(PATIENCE_S)
            admin.close()

    def finish(self, player, sql):
        player.start(sql)
        outcome = player.poll(PATIENCE_S)
        return ["does not end"] if outcome is None else outcome

    def take(self, step):
        session = self.specification.owner(step)
        player = self.players[session.name]
        if player.is_busy:  # its step before has to end first
            self.collect(player, PATIENCE_S)
        if player.is_busy:
            self.log.append((step, ["cannot be reached: the session waits"]))
            return
        player.start(session.steps[step])
        self.under_way[player] = step
        if not self.collect(player, self.wait_s):
            self.log.append((step, ["waits"]))
        for other in list(self.under_way):  # what it has set free
            self.collect(other, 0.05)

    def collect(self, player, seconds):
        if not player.is_busy:
            return True
        outcome = player.poll(seconds)
        if outcome is None:
            return False
        self.log.append((self.under_way.pop(player), outcome))
        return True

    def settle(self):
        """Steps that still wait get time: each may wait for another."""
        end = time.monotonic() + 4 * self.wait_s
        while self.under_way and time.monotonic() < end:
            for player in list(self.under_way):
                self.collect(player, 0.05)

    def end_sessions(self):
        for session in self.specification.sessions:
            player = self.players[session.name]
            if session.teardown and not player.is_busy:
                self.log.append((f"teardown of {session.name}", self.finish(player, session.teardown)))
