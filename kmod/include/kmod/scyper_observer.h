/* SPDX-License-Identifier: MIT */
/*
 * The access observer's interface, for the module and for programs: ioctls on the device that read,
 * and clear, the bits which the processor sets in page table entries: young (read or written) and
 * dirty (written).
 *
 * Compatible changes: new ioctls, new flags (a module refuses those it does not know). Everything
 * else raises the version.
 */
#pragma once

#include <linux/ioctl.h>
#include <linux/types.h>

#define SCYPER_OBSERVER_VERSION 1
#define SCYPER_OBSERVER_DEVICE	"/dev/scyper_observer"
/* The unit of what is reported, whatever the size of the page. */
#define SCYPER_OBSERVER_PAGE_SHIFT 12

/* What is known of a unit, one byte each. */
#define SCYPER_PAGE_YOUNG   (1 << 0)
#define SCYPER_PAGE_DIRTY   (1 << 1)
#define SCYPER_PAGE_PRESENT (1 << 2)
/* One entry for 2 MB: its bits are repeated for each unit of it that lies in the range. */
#define SCYPER_PAGE_HUGE (1 << 3)

/* scyper_observer_collect.flags */
#define SCYPER_CLEAR_YOUNG (1 << 0)
#define SCYPER_CLEAR_DIRTY (1 << 1)
/* What is not mapped, or not of a kind that can be observed, is reported as 0 and is no error. */
#define SCYPER_SKIP_HOLES (1 << 2)

struct scyper_observer_info {
	__u32 version;
	__u32 page_shift;
};

/*
 * Reads, and as flags say clears, the bits of [start, start + bytes). Clearing covers whole
 * entries: a range with clearing flags must begin and end at the borders of huge pages where there
 * are some. An access that runs beside the call is in this collection, in the next, or, if it hits
 * a translation which the processor still holds and which is flushed before the call ends, in
 * neither. Accesses before the call are never lost.
 */
struct scyper_observer_collect {
	__u32 flags;
	__s32 pid;   /* of any thread of the process; 0: the calling process */
	__u64 start; /* multiples of 4096 */
	__u64 bytes;
	__u64 pages; /* address of bytes / 4096 bytes, which are written; 0: counts only */
	/* answered: how many units are so */
	__u64 present_count;
	__u64 young_count;
	__u64 dirty_count;
};

#define SCYPER_OBSERVER_INFO	_IOR('y', 0x60, struct scyper_observer_info)
#define SCYPER_OBSERVER_COLLECT _IOWR('y', 0x61, struct scyper_observer_collect)

/*
 * Errors of SCYPER_OBSERVER_COLLECT. What lies before the place of the error may have been read and
 * cleared. EINVAL      unknown flags; start or bytes unaligned or not in the address space; huge
 * page cut by a clearing range EPERM       another process, without CAP_SYS_PTRACE ESRCH       no
 * such process, or it has no memory any more ENOMEM      part of the range is not mapped; no memory
 * for the call EOPNOTSUPP  memory of devices and of files (tmpfs aside), huge pages of other sizes
 * than 2 MB EFAULT      pages or the structure cannot be written EINTR       the caller is being
 * killed
 */
