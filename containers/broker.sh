#!/bin/sh
# Starts Valkey in its container. The rules of its users hold digests of passwords only; node keys stay among them.
set -eu
umask 077
rules=/data/users.acl
digest=$(tr -d '\r\n' < /run/secrets/broker_password | sha256sum | cut -c 1-64)
{
  echo "user default on #$digest ~* &* +@all"
  echo "user health on nopass -@all +ping"
  if [ -f "$rules" ]; then grep '^user node\.' "$rules" || true; fi
} > "$rules.new"
mv "$rules.new" "$rules"
# The image's own start gives /data to its user, and goes on as that user.
exec docker-entrypoint.sh valkey-server --dir /data --appendonly yes --maxmemory-policy noeviction --aclfile "$rules"
