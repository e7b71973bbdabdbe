# Prints what must be the same on every kernel and datapath of the results in folder $1: a digest for each
# file, and the packet-hops. Runs under busybox, on this machine and in the virtual one.
cd "$1" || exit 1
# Times, threads and what names the datapath differ by right.
sed -e '/"threads"/d' -e '/_seconds"/d' summary.json | sha256sum | sed 's/-$/summary.json/'
for file in *; do
    case "$file" in
    summary.json | manifest.json | scenario.resolved.toml) ;;
    *) sha256sum "$file" ;;
    esac
done
sed -n 's/^ *"packet_hops": \([0-9]*\).*/packet-hops \1/p' summary.json
