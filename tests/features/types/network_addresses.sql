-- Texts of inet and cidr
SELECT '192.168.1.226/24'::inet, '192.168.1.226'::inet, '192.168.1'::cidr, '10'::cidr, '224'::cidr, '0x0a01'::cidr, '10.1/16'::inet;
SELECT '10:23::f1/64'::inet, '::ffff:1.2.3.4'::cidr, '::4.3.2.1/24'::inet, '::'::inet, '::1'::inet, '1::'::cidr, '2001:db8:0:1::/64'::cidr, '1:0:0:2:0:0:0:3'::inet;
SELECT '192.168.1.2/30'::cidr;
SELECT '1234::1234::1234'::inet;
SELECT '10'::inet;
SELECT ' 10.0.0.1'::inet;
SELECT '10.0.0.256'::inet;
SELECT '10.0.0.1/33'::inet;
SELECT '::1/129'::inet;
SELECT '10.0.0.1/'::inet;
SELECT cidr('ffff:ffff:ffff:ffff::/24');
SELECT 1::inet;
-- Casts
SELECT '192.168.1.5'::inet::text, '192.168.1.5/24'::inet::text, '192.168.1.5'::inet::varchar(5), text(inet '10.0.0.1'), inet(text(inet '10.0.0.1')), '192.168.1.5/24'::inet::cidr, '10/8'::cidr::inet, 'x' || inet '10.0.0.1';
SELECT concat(inet '10.0.0.1', '|', cidr '10/8'), format('%s %s', inet '10.0.0.1', cidr '10.0.0.1'), to_json(inet '10.0.0.1'), jsonb_build_object('a', cidr '10/8');
-- Functions
SELECT host(i), text(i), family(i), masklen(i), broadcast(i), network(i), netmask(i), hostmask(i), abbrev(i) FROM (VALUES ('192.168.1.226/24'::inet), ('10.1.2.3'), ('10:23::f1/64'), ('::4.3.2.1/24')) v (i) ORDER BY 1;
SELECT abbrev(c) FROM (VALUES ('192.168.1.0/24'::cidr), ('10.0.0.0/8'), ('0.0.0.0/0'), ('10:23::8000/113'), ('::ffff:1.2.3.4'), ('::/0'), ('::/64'), ('ffff::/16'), ('10.128/9')) v (c) ORDER BY c;
SELECT set_masklen('192.168.1.5/24'::inet, 16), set_masklen('192.168.1.0/24'::cidr, 16), set_masklen('192.168.1.5/24'::inet, -1);
SELECT set_masklen('192.168.1.5/24'::inet, 33);
SELECT inet_same_family('10.0.0.1', '::1'), inet_same_family('10.0.0.1', '11.0.0.1'), inet_merge('192.168.1.5/24', '192.168.2.5/24');
SELECT inet_merge('10.0.0.1', '::1');
SELECT pg_typeof(network('10.0.0.1/8'::inet)), pg_typeof(inet_merge('10.0.0.1', '10.0.0.2')), pg_typeof(inet '10.0.0.1' - inet '10.0.0.0'), pg_typeof(COALESCE(cidr '10/8', inet '10.0.0.1'));
-- Operators
SELECT i, c, i < c AS lt, i <= c AS le, i = c AS eq, i >= c AS ge, i > c AS gt, i <> c AS ne, i << c AS sb, i <<= c AS sbe, i >> c AS sup, i >>= c AS spe, i && c AS ovr FROM (VALUES ('192.168.1.226/24'::inet, '192.168.1.0/24'::cidr), ('192.168.1.226', '192.168.1.0/26'), ('10.1.2.3/8', '10.0.0.0/32'), ('10:23::f1/64', '10:23::f1/128'), ('10.0.0.0/8', '10.0.0.0/8'), ('::1', '10.0.0.0/8')) v (i, c) ORDER BY 1, 2;
SELECT ~ inet '192.168.1.6', inet '192.168.1.6' & '0.0.0.255', inet '192.168.1.6/16' | inet '0.0.0.255/8', ~ inet '::1';
SELECT inet '192.168.1.6' & '::1';
SELECT inet '192.168.1.6' | '::1';
SELECT inet '127.0.0.1' + 257, 257 + inet '127.0.0.1', (inet '127.0.0.1' + 257) - 257, inet '127::1' + 10000000000, inet '127.0.0.2' - (inet '127.0.0.2' + 500), inet '127::2' - (inet '127::2' + 500), inet '10.0.0.9' - '10.0.0.1';
SELECT inet '127.0.0.1' + 10000000000;
SELECT inet '127.0.0.1' - 10000000000;
SELECT inet '126::1' - inet '127::2';
SELECT inet '126::1' - inet '10.0.0.1';
SELECT inet '10.0.0.1' * 2;
SELECT inet '10.0.0.1' + '1', '1' + inet '10.0.0.1', cidr '10/8' + '1', inet '10.0.0.1' << '10/8', cidr '10/8' >>= '10.0.0.1';
SELECT inet '10.0.0.1' - '1';
SELECT inet '10.0.0.1' * '1';
SELECT inet '10.0.0.1' + 1.5;
SELECT inet '10.0.0.1' || inet '10.0.0.1';
SELECT 'a' < inet '10.0.0.1';
-- Order
SELECT i FROM (VALUES ('0.0.0.0/0'::inet), ('0.0.0.0/32'), ('0.0.0.1/0'), ('192.168.1.0/24'), ('192.168.1.0/25'), ('192.168.1.1/23'), ('192.168.1.1/25'), ('192.168.1.2/25'), ('192.168.1.255/5'), ('255.255.255.255/0'), ('::/0'), ('::/128'), ('10:23::f1/64'), ('10:23::f1/65'), ('ffff:ffff::/16')) v (i) ORDER BY i;
