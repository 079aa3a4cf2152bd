#!/bin/sh
# As the official image does: makes the cluster, the role and the database at the first start, then serves.
set -eu
data=/var/lib/postgresql/data
as_postgres() { setpriv --reuid postgres --regid postgres --clear-groups "$@"; }
chown postgres /var/lib/postgresql
if [ ! -f $data/PG_VERSION ]; then
  as_postgres initdb -D $data -U "$POSTGRES_USER" --pwfile="$POSTGRES_PASSWORD_FILE" --auth-local=trust \
    --auth-host=scram-sha-256 --encoding=UTF8 --locale=C.UTF-8
  echo "host all all all scram-sha-256" >> $data/pg_hba.conf
  as_postgres pg_ctl -D $data -w -o "-c listen_addresses='' -k /tmp" start
  as_postgres createdb -h /tmp -U "$POSTGRES_USER" "$POSTGRES_DB"
  as_postgres pg_ctl -D $data -w stop
fi
exec setpriv --reuid postgres --regid postgres --clear-groups postgres -D $data -c listen_addresses='*' -k /tmp
