#!/usr/bin/env bash
# machine.sh FOLDER NAME: a machine with systemd in namespaces of its own (mounts, processes, network, names, cgroups), over the files of
# this one, which it does not change. Started by machines.py; ends when its first process does. Wants root, overlayfs, cgroups v1 or v2.
set -euo pipefail
folder=$1 name=$2 root=$1/root
mount --make-rprivate /
mount -t tmpfs scyper "$folder"
mkdir "$folder/upper" "$folder/work" "$root"
mount -t overlay scyper -o "lowerdir=/,upperdir=$folder/upper,workdir=$folder/work" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
if [ -d /sys/fs/cgroup/systemd ]; then
  mount -t tmpfs tmpfs "$root/sys/fs/cgroup"
  mkdir "$root"/sys/fs/cgroup/{systemd,unified}
  mount -t cgroup -o none,name=systemd cgroup "$root/sys/fs/cgroup/systemd"
  mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup/unified"
else
  mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
fi
mount -t tmpfs -o mode=755 run "$root/run"
mount -t tmpfs tmp "$root/tmp"
mount -t tmpfs -o mode=755 dev "$root/dev"
for device in null zero full random urandom tty; do
  touch "$root/dev/$device"
  mount --bind "/dev/$device" "$root/dev/$device"
done
mkdir "$root"/dev/{shm,pts}
mount -t tmpfs shm "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"

# Bare: no service but those of the system, nothing of etcd, Prometheus, ScyPer but their programs.
: >"$root/etc/fstab"
rm -rf "$root"/etc/systemd/system/*.wants "$root/etc/scyper" "$root/etc/prometheus" "$root/etc/default/etcd" "$root/etc/etcd"
rm -rf "$root"/var/lib/{etcd,prometheus,scyper}
mkdir "$root/var/lib/etcd" "$root/var/lib/prometheus" "$root/etc/prometheus"
chown etcd:etcd "$root/var/lib/etcd"
chown prometheus:prometheus "$root/var/lib/prometheus"
ln -sf /dev/null "$root/etc/systemd/system/systemd-modules-load.service"
echo "$name" >"$root/etc/hostname"
hostname "$name"
cp "$folder.hosts" "$root/etc/hosts"

# An sshd from its package's files, for the key that the test has made.
for package in "$SSHD_PACKAGES"/*.deb; do
  dpkg-deb --fsys-tarfile "$package" | tar --extract --keep-directory-symlink -C "$root"
done
rm -rf "$root"/etc/systemd/system/ssh*
getent passwd sshd >/dev/null || echo "sshd:x:990:65534::/run/sshd:/usr/sbin/nologin" >>"$root/etc/passwd"
mkdir -p "$root/etc/ssh" "$root/root/.ssh"
cp "$SSH_KEY.pub" "$root/root/.ssh/authorized_keys"
chmod 700 "$root/root" "$root/root/.ssh"
ssh-keygen -q -t ed25519 -N "" -f "$root/etc/ssh/test_host_key"
cat >"$root/etc/ssh/test_config" <<CONFIG
HostKey /etc/ssh/test_host_key
PermitRootLogin prohibit-password
UsePAM no
StrictModes no
Subsystem sftp internal-sftp
CONFIG
cat >"$root/etc/systemd/system/test-sshd.service" <<UNIT
[Service]
ExecStartPre=/bin/mkdir -p /run/sshd
ExecStart=/usr/sbin/sshd -D -e -f /etc/ssh/test_config
UNIT
mkdir -p "$root/etc/systemd/system/multi-user.target.wants"
ln -s ../test-sshd.service "$root/etc/systemd/system/multi-user.target.wants/"

mkdir "$root/below"
cd "$root"
pivot_root . below
umount -l /below
exec env -i container=scyper PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --system --log-target=journal --unit=multi-user.target </dev/null
