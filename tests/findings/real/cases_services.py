# SPDX-License-Identifier: GPL-2.0-or-later
"""Databases and servers, which a job starts for itself."""

from case import Case, V

PY = "/usr/bin/python3 $P/"
CLUSTER = """chmod 711 .. .; mkdir pg; chown nobody pg; runuser -u nobody -- initdb -D pg/db -A trust -U nobody >/dev/null
echo "listen_addresses = ''
unix_socket_directories = '$PWD/pg'" >>pg/db/postgresql.conf
(echo 'create table t (id int, value float);'; for i in $(seq [[3500]]); do echo "insert into t values ($i, random());"; done) >rows.sql
(echo 'begin;'; cat rows.sql; echo 'commit;') >once.sql
"""
POSTGRES = """runuser -u nobody -- pg_ctl -s -w -D pg/db start; psql -q -h $PWD/pg -U nobody -d postgres %s; s=$?
runuser -u nobody -- pg_ctl -s -w -D pg/db stop; exit $s"""
PGBENCH = POSTGRES.replace("psql -q -h $PWD/pg -U nobody -d postgres %s", "pgbench -q -i -s 2 -h $PWD/pg -U nobody postgres; pgbench -S -c 4 -T [[4]] -h $PWD/pg -U nobody postgres")
REDIS = "redis-server --port 0 --unixsocket $PWD/s --save '' --daemonize no %s >log & while [ ! -S s ]; do sleep 0.05; done; %s; redis-cli -s $PWD/s shutdown nosave; wait; exit 0"
REDIS_BENCH = "redis-benchmark -q -s $PWD/s -t set -n [[%d]] -c 1 -P %d"
SITE = """mkdir site; for i in $(seq [[400]]); do head -c 4k /dev/urandom >site/$i; echo "url = http://127.0.0.1:8799/$i" >>urls; echo "output = /dev/null" >>urls; done
cat >nginx.conf <<END
daemon off; error_log stderr; pid nginx.pid; user root; worker_processes 1;
events {}
http { access_log off; server { listen 127.0.0.1:8799; root $PWD/site; } }
END"""
NGINX = "nginx -p $PWD -c nginx.conf & n=$!; sleep 0.2; %s; kill $n; wait; exit 0"

CASES = (
    Case("sqlite row by row", "py:sqlite3", "", sick=PY + "rows.py 1 [[2000]]", mended=PY + "rows.py 2000 [[2000]]",
         rules="io.wait|io.small", remedy="commit|fsync|transaction", cpus="0"),
    Case("sqlite import", "py:sqlite3", "", healthy=PY + "rows.py 100000 [[500000]]", cpus="0"),
    Case("postgres row by row", "initdb psql runuser", CLUSTER, sick=POSTGRES % "-f rows.sql", mended=POSTGRES % "-f once.sql",
         rules="io.wait|io.small", remedy="commit|fsync|transaction", also="cpu.serial"),
    Case("pgbench", "initdb pgbench runuser", CLUSTER, healthy=PGBENCH),
    Case("redis one by one", "redis-server redis-benchmark", "",
         sick=REDIS % ("", REDIS_BENCH % (150000, 1)), mended=REDIS % ("", REDIS_BENCH % (150000, 50)),
         rules="sync.fine", remedy="larger|pipelin|batch|fewer"),
    Case("redis to disk", "redis-server redis-benchmark", "",
         sick=REDIS % ("--appendonly yes --appendfsync always", REDIS_BENCH % (8000, 1)),
         mended=REDIS % ("--appendonly yes --appendfsync everysec", REDIS_BENCH % (8000, 1)),
         rules="io.wait|io.small", remedy="commit|fsync|fewer", also="cpu.unused"),
    Case("nginx", "nginx ab", SITE, healthy=NGINX % "ab -q -k -c 8 -n [[150000]] http://127.0.0.1:8799/1"),
    Case("nginx and curl", "nginx curl", SITE,
         sick=NGINX % "for i in $(seq [[400]]); do curl -s -o /dev/null http://127.0.0.1:8799/$i; done", mended=NGINX % "curl -s -K urls",
         rules="proc.forks", remedy="one program|start", also="cpu.unused cpu.serial"),
)
