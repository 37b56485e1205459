CREATE TABLE seller (id integer PRIMARY KEY, name varchar(20), rating numeric(3,1));
CREATE TABLE item (id integer PRIMARY KEY, seller_id integer NOT NULL, title text NOT NULL, start_price numeric(10,2) NOT NULL, reserve numeric(10,2), ends timestamp NOT NULL, state char(1) NOT NULL DEFAULT 'o', winner integer, price numeric(10,2));
CREATE TABLE bid (item_id integer, no integer, bidder integer NOT NULL, amount numeric(10,2) NOT NULL, max_amount numeric(10,2) NOT NULL, at timestamp NOT NULL, PRIMARY KEY (item_id, no));
CREATE INDEX item_by_end ON item (state, ends);
INSERT INTO seller VALUES (1, 'Zoe', 4.5), (2, 'Yan', NULL);
INSERT INTO item (id, seller_id, title, start_price, reserve, ends) VALUES (1, 1, 'Clock', 10, 50, '2024-03-01 12:00:00'), (2, 1, 'Chair', 5, NULL, '2024-03-02 00:00:00'), (3, 2, 'Vase', 100, 90, '2024-02-29 23:59:59.5');
CREATE FUNCTION increment_of(price numeric) RETURNS numeric LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN CASE WHEN price < 20 THEN 0.5 WHEN price BETWEEN 20 AND 100 THEN 1 ELSE round(price * 0.02, 2) END;
END $$;
CREATE PROCEDURE place_bid(p_item integer, p_bidder integer, p_max numeric, p_at timestamp, INOUT p_status text DEFAULT NULL, INOUT p_price numeric DEFAULT NULL) LANGUAGE plpgsql AS $$
DECLARE
  i item;
  top bid;
  next_no integer;
BEGIN
  SELECT * INTO i FROM item WHERE id = p_item;
  IF NOT FOUND THEN RAISE EXCEPTION 'no item %', p_item USING ERRCODE = 'A0001'; END IF;
  IF i.state <> 'o' OR p_at >= i.ends THEN p_status := 'closed'; RETURN; END IF;
  SELECT * INTO top FROM bid WHERE item_id = p_item ORDER BY max_amount DESC, no LIMIT 1;
  SELECT count(*) + 1 INTO next_no FROM bid WHERE item_id = p_item;
  IF top.item_id IS NULL THEN
    IF p_max < i.start_price THEN p_status := 'too low'; RETURN; END IF;
    p_price := i.start_price;
    p_status := 'leading';
  ELSIF p_max <= top.max_amount THEN
    IF p_max < coalesce(i.price, 0) + increment_of(i.price) THEN p_status := 'too low'; RETURN; END IF;
    p_price := least(top.max_amount, p_max + increment_of(p_max));
    p_status := 'outbid';
  ELSE
    p_price := greatest(i.price, least(p_max, top.max_amount + increment_of(top.max_amount)));
    p_status := 'leading';
  END IF;
  INSERT INTO bid VALUES (p_item, next_no, p_bidder, p_price, p_max, p_at);
  UPDATE item SET price = p_price WHERE id = p_item;
END $$;
CREATE FUNCTION close_auctions(p_now timestamp) RETURNS TABLE (title text, outcome text, price numeric) LANGUAGE plpgsql AS $$
DECLARE
  i record;
  w record;
BEGIN
  FOR i IN SELECT * FROM item WHERE state = 'o' AND ends <= p_now ORDER BY ends, id LOOP
    SELECT b.bidder, b.max_amount INTO w FROM bid b WHERE b.item_id = i.id ORDER BY b.max_amount DESC, b.no LIMIT 1;
    title := i.title;
    price := i.price;
    IF NOT FOUND THEN
      outcome := 'no bids';
      UPDATE item SET state = 'x' WHERE id = i.id;
    ELSIF i.reserve IS NOT NULL AND w.max_amount < i.reserve THEN
      outcome := 'reserve not met';
      UPDATE item SET state = 'r' WHERE id = i.id;
    ELSE
      outcome := 'sold to ' || w.bidder;
      UPDATE item SET state = 's', winner = w.bidder WHERE id = i.id;
    END IF;
    RETURN NEXT;
  END LOOP;
END $$;
CALL place_bid(1, 7, 9, '2024-02-28 10:00');
CALL place_bid(1, 7, 30, '2024-02-28 10:00');
CALL place_bid(1, 8, 10.2, '2024-02-28 10:01');
CALL place_bid(1, 8, 25, '2024-02-28 10:02');
CALL place_bid(1, 9, 60, '2024-02-28 10:03');
CALL place_bid(1, 7, 200.55, '2024-02-28 10:04');
CALL place_bid(1, 9, 300, '2024-03-01 12:00');
CALL place_bid(4, 9, 300, '2024-03-01 12:00');
CALL place_bid(2, 9, 123456789, '2024-03-01 12:00');
CALL place_bid(2, 9, NULL, '2024-03-01 12:00');
CALL place_bid(3, 9, 100, '2024-02-29 23:59:59.4');
CALL place_bid(2, 9, 6, 'yesterdayish');
SELECT * FROM close_auctions('2024-03-01 12:00:00');
SELECT * FROM close_auctions('2024-03-01 12:00:00');
SELECT * FROM close_auctions(timestamp '2024-03-02');
SELECT item_id, no, bidder, amount, max_amount, at FROM bid ORDER BY 1, 2;
SELECT id, state, winner, price, ends - timestamp '2024-02-29' FROM item ORDER BY id;
SELECT s.name, count(i.id), coalesce(sum(i.price) FILTER (WHERE i.state = 's'), 0) AS sold, rank() OVER (ORDER BY sum(i.price) DESC NULLS LAST) FROM seller s LEFT JOIN item i ON i.seller_id = s.id GROUP BY s.id, s.name ORDER BY 1;
