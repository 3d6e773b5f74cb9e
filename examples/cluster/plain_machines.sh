#!/bin/sh
# A cluster on a few plain machines with a shared folder (/shared). Every machine has: pip install "gossamer[ray,onnx]".
#
#   HEAD=10.0.0.1 sh plain_machines.sh head      on the first machine
#   HEAD=10.0.0.1 sh plain_machines.sh worker    on each of the others
#   HEAD=10.0.0.1 sh plain_machines.sh fill news.jsonl
#
# Ray trusts everybody who reaches its ports: keep them inside a network of your own.
set -eu
export RAY_USAGE_STATS_ENABLED=0
CLUSTER=${CLUSTER:-/shared/news.cluster}
case ${1:-} in
    head) ray start --head --node-ip-address "$HEAD" --port 6379 --include-dashboard false ;;
    worker) ray start --address "$HEAD:6379" ;;
    fill)
        gossamer cluster index "$2" --to "$CLUSTER" --shards "${SHARDS:-8}" --address "$HEAD:6379"
        gossamer cluster up "$CLUSTER" --address "$HEAD:6379"
        gossamer cluster status "$CLUSTER" --address "$HEAD:6379"
        ;;
    *) sed -n '2,8s/^# \{0,1\}//p' "$0" ;;
esac
