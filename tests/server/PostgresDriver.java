// What programs do by JDBC, against a node. Run by postgres_clients.py: java -cp postgresql.jar PostgresDriver.java PORT
import java.math.BigDecimal;
import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Timestamp;
import java.sql.Types;

public class PostgresDriver {
  static int failures = 0;

  static void expect(String what, boolean condition, Object found) {
    failures += condition ? 0 : 1;
    System.out.println((condition ? "ok    JDBC: " : "FAIL  JDBC: ") + what + (condition ? "" : ": " + found));
  }

  static void check(String url) throws Exception {
    try (Connection db = DriverManager.getConnection(url)) {
      try (Statement statement = db.createStatement()) {
        statement.execute("CREATE TABLE j (id bigint PRIMARY KEY, name varchar(20), price numeric(10,2), made timestamp, ok boolean)");
        statement.execute("CREATE PROCEDURE twice(p_in integer, INOUT p_out integer) LANGUAGE plpgsql AS $$ BEGIN p_out := 2 * p_in; END $$");
      }
      try (PreparedStatement insert = db.prepareStatement("INSERT INTO j VALUES (?, ?, ?, ?, ?)")) {
        for (int i = 0; i < 100; ++i) {
          insert.setLong(1, i);
          insert.setString(2, i % 2 == 0 ? "even" : null);
          insert.setBigDecimal(3, new BigDecimal("1.25").multiply(BigDecimal.valueOf(i)));
          insert.setTimestamp(4, Timestamp.valueOf("2024-02-29 12:00:00.5"));
          insert.setBoolean(5, i % 3 == 0);
          insert.addBatch();
        }
        int sum = 0;
        for (int count : insert.executeBatch()) sum += count;
        expect("batches", sum == 100, sum);
      }
      // by name from the sixth run on, and in binary
      try (PreparedStatement select = db.prepareStatement("SELECT name, price, made, ok FROM j WHERE id = ?")) {
        boolean right = true;
        for (int i = 0; i < 20; ++i) {
          select.setLong(1, 4);
          try (ResultSet rows = select.executeQuery()) {
            right &= rows.next() && rows.getString(1).equals("even") && rows.getBigDecimal(2).equals(new BigDecimal("5.00"))
                && rows.getTimestamp(3).equals(Timestamp.valueOf("2024-02-29 12:00:00.5")) && !rows.getBoolean(4);
          }
        }
        expect("prepared statements", right, "");
      }
      db.setReadOnly(true);
      db.setAutoCommit(false);
      try (Statement statement = db.createStatement()) {
        statement.setFetchSize(7);
        int count = 0;
        try (ResultSet rows = statement.executeQuery("SELECT id FROM j ORDER BY id")) {
          while (rows.next()) ++count;
        }
        expect("rows by portions", count == 100, count);
      }
      db.commit();
      db.setAutoCommit(true);
      db.setReadOnly(false);
      try (CallableStatement call = db.prepareCall("CALL twice(?, ?)")) {
        call.setInt(1, 21);
        call.setInt(2, 0);
        call.registerOutParameter(2, Types.INTEGER);
        call.execute();
        expect("CALL", call.getInt(2) == 42, call.getInt(2));
      }
      try (Statement statement = db.createStatement()) {
        statement.execute("INSERT INTO j (id) VALUES (1)");
        expect("errors have their SQLSTATE", false, "no error");
      } catch (SQLException error) {
        expect("errors have their SQLSTATE", error.getSQLState().equals("23505"), error.getSQLState());
      }
    }
  }

  static void checkSimpleQueries(String url) throws Exception {
    try (Connection db = DriverManager.getConnection(url); Statement statement = db.createStatement();
         ResultSet rows = statement.executeQuery("SELECT count(*) FROM j")) {
      expect("simple queries", rows.next() && rows.getInt(1) == 100, "");
    }
  }

  public static void main(String[] arguments) throws Exception {
    String url = "jdbc:postgresql://127.0.0.1:" + arguments[0] + "/scyper?user=alice&loginTimeout=30&escapeSyntaxCallMode=callIfNoReturn";
    check(url);
    checkSimpleQueries(url + "&preferQueryMode=simple");
    System.exit(failures);
  }
}
