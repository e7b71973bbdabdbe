#!/bin/busybox sh
# The first and only process of the virtual machine: the selftest, then every scenario on the kernel datapath at every hook, then
# the kernel's log. Lines that begin with "vm:" are for `cargo xtask vm`, the others for people.
export PATH=/bin
/bin/busybox mount -t proc proc /proc
/bin/busybox --install -s /bin
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /tmp

echo "vm: kernel $(uname -r)"
while read -r module; do
    insmod "/modules/$module"
done </modules/order
xoff doctor
echo "vm: doctor $?"
[ ! -f /programs ] || xoff doctor --programs | sed 's/^/vm: program /'
# Here the processor is emulated.
xoff selftest --format tap13 --time-limit 300s >/tmp/tap 2>&1
code=$?
sed 's/^/vm: tap /' /tmp/tap
echo "vm: selftest $code"
for file in /scenarios/*.toml; do
    while read -r hook; do
        name=$(basename "$file" .toml)/$hook
        mkdir -p "/tmp/$name"
        xoff run "$file" --datapath kernel --set "datapath.hook=$hook" --out "/tmp/$name" >/tmp/report 2>&1
        code=$?
        [ "$code" = 0 ] || tail -n 20 /tmp/report
        [ ! -f "/tmp/$name/summary.json" ] || sh /digest.sh "/tmp/$name" | sed "s|^|vm: result $name |"
        echo "vm: run $name $code"
    done </hooks
done
dmesg | sed 's/^/vm: log /'
echo "vm: done"
poweroff -f
