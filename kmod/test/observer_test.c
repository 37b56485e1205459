// SPDX-License-Identifier: MIT
/*
 * The module's test: the first and only process of a virtual machine (run_vm says how). Loads the
 * module, asks it about memory whose accesses are known exactly, unloads it, and powers the machine
 * off. The last line says whether all was well.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "kmod/scyper_observer.h"

#define PAGE   4096UL
#define HUGE   (2UL << 20)
#define BOTH   (SCYPER_CLEAR_YOUNG | SCYPER_CLEAR_DIRTY)
#define READ   (SCYPER_PAGE_PRESENT | SCYPER_PAGE_YOUNG)
#define WROTE  (READ | SCYPER_PAGE_DIRTY)
#define MODULE "/scyper_observer.ko"

static int device = -1;

#define REQUIRE(condition)                                                                         \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			printf("FAILED line %d: %s (errno %d, %s)\n", __LINE__, #condition, errno, \
			       strerror(errno));                                                   \
			end("FAILED");                                                             \
		}                                                                                  \
	} while (0)

static void end(const char *result)
{
	if (getpid() != 1)
		_exit(1);
	printf("scyper_observer test: %s\n", result);
	fflush(stdout);
	tcdrain(1);
	sync();
	reboot(RB_POWER_OFF);
	pause();
}

/* 0 or the error; counts into *request when it is given. */
static int collect_pid(pid_t pid, void *start, size_t bytes, unsigned int flags, void *pages,
		       struct scyper_observer_collect *out)
{
	struct scyper_observer_collect request = {
		.flags = flags,
		.pid = pid,
		.start = (uintptr_t)start,
		.bytes = bytes,
		.pages = (uintptr_t)pages,
	};
	int error = ioctl(device, SCYPER_OBSERVER_COLLECT, &request) ? errno : 0;

	if (out)
		*out = request;
	return error;
}

static int collect(void *start, size_t bytes, unsigned int flags, void *pages)
{
	return collect_pid(0, start, bytes, flags, pages, NULL);
}

static void load_module(void)
{
	int file = open(MODULE, O_RDONLY | O_CLOEXEC);

	REQUIRE(file >= 0);
	REQUIRE(syscall(SYS_finit_module, file, "", 0) == 0);
	close(file);
	device = open(SCYPER_OBSERVER_DEVICE, O_RDWR | O_CLOEXEC);
	REQUIRE(device >= 0);
}

static char *map(size_t bytes, int flags, int file)
{
	char *hint = (char *)(4UL << 40);
	static size_t offset;
	char *memory =
		mmap(hint + offset, bytes, PROT_READ | PROT_WRITE, flags | MAP_FIXED, file, 0);

	offset +=
		(bytes + (1UL << 30) - 1) >> 30 << 30; /* so all are aligned for every page size */
	REQUIRE(memory != MAP_FAILED);
	return memory;
}

static unsigned long seed = 88172645463325252UL;

static unsigned long next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static void touch(char *unit, unsigned char state)
{
	volatile char *byte = unit + next_random() % PAGE;

	if (state & SCYPER_PAGE_DIRTY)
		*byte = (char)next_random();
	else if (state & SCYPER_PAGE_YOUNG)
		(void)*byte;
}

/*
 * Rounds of random accesses to memory of pages of page_bytes: what is reported is exactly what was
 * done, for each way to clear, and what is in memory stays.
 */
static void check_exact(char *memory, size_t bytes, size_t page_bytes, unsigned char extra,
			int rounds)
{
	size_t units = bytes / PAGE, per_page = page_bytes / PAGE;
	unsigned char *expected = malloc(units), *seen = malloc(units);
	struct scyper_observer_collect counts;

	REQUIRE(expected && seen);
	memset(memory, 1, bytes);
	memset(seen, 0, units);
	REQUIRE(collect(memory, bytes, BOTH, seen) == 0);
	for (size_t i = 0; i < units; ++i)
		REQUIRE(seen[i] == (WROTE | extra));
	memset(expected, SCYPER_PAGE_PRESENT | extra, units);
	for (int round = 0; round < rounds; ++round) {
		unsigned int flags = round % 4;
		size_t young = 0, dirty = 0;

		for (size_t page = 0; page < units; page += per_page) {
			unsigned long kind = next_random() % 4;
			unsigned char state = kind == 0 ? WROTE : kind == 1 ? READ : 0;

			touch(memory + (page + next_random() % per_page) * PAGE, state);
			for (size_t i = 0; i < per_page; ++i)
				expected[page + i] |= state;
		}
		for (size_t i = 0; i < units; ++i) {
			young += (expected[i] & SCYPER_PAGE_YOUNG) != 0;
			dirty += (expected[i] & SCYPER_PAGE_DIRTY) != 0;
		}
		REQUIRE(collect_pid(0, memory, bytes, flags, seen, &counts) == 0);
		REQUIRE(memcmp(expected, seen, units) == 0);
		REQUIRE(counts.present_count == units && counts.young_count == young &&
			counts.dirty_count == dirty);
		for (size_t i = 0; i < units; ++i) {
			if (flags & SCYPER_CLEAR_YOUNG)
				expected[i] &= ~SCYPER_PAGE_YOUNG;
			if (flags & SCYPER_CLEAR_DIRTY)
				expected[i] &= ~SCYPER_PAGE_DIRTY;
		}
	}
	free(expected);
	free(seen);
}

static void test_small_pages(void)
{
	size_t bytes = 80UL << 20; /* more than a batch */
	char *memory = map(bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	unsigned char states[4];

	REQUIRE(madvise(memory, bytes, MADV_NOHUGEPAGE) == 0);
	check_exact(memory, bytes, PAGE, 0, 12);
	REQUIRE(madvise(memory, 2 * PAGE, MADV_DONTNEED) == 0);
	(void)*(volatile char *)memory; /* the zero page */
	REQUIRE(collect(memory, 4 * PAGE, BOTH, states) == 0);
	REQUIRE((states[0] & ~SCYPER_PAGE_DIRTY) == READ && states[1] == 0);
	REQUIRE(munmap(memory, bytes) == 0);
}

static void test_shared_pages(void)
{
	size_t bytes = 4UL << 20;
	int file = memfd_create("shared", MFD_CLOEXEC);
	char *memory;

	REQUIRE(file >= 0 && ftruncate(file, bytes) == 0);
	memory = map(bytes, MAP_SHARED, file);
	check_exact(memory, bytes, PAGE, 0, 12);
	REQUIRE(munmap(memory, bytes) == 0);
	close(file);
}

static void test_transparent_huge_pages(void)
{
	size_t bytes = 8 * HUGE;
	char *memory = map(bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	unsigned char states[512];

	REQUIRE(madvise(memory, bytes, MADV_HUGEPAGE) == 0);
	check_exact(memory, bytes, HUGE, SCYPER_PAGE_HUGE, 200);
	/* part of a huge page: may be read, not cleared */
	REQUIRE(collect(memory + PAGE, 8 * PAGE, 0, states) == 0);
	REQUIRE(collect(memory + PAGE, 8 * PAGE, BOTH, states) == EINVAL);
	REQUIRE(collect(memory, HUGE + PAGE, SCYPER_CLEAR_YOUNG, NULL) == EINVAL);
	/* split: the entries of small pages again */
	REQUIRE(madvise(memory + PAGE, PAGE, MADV_DONTNEED) == 0);
	REQUIRE(collect(memory, HUGE, BOTH, states) == 0);
	REQUIRE(!(states[0] & SCYPER_PAGE_HUGE) && states[1] == 0);
	memory[5 * PAGE] = 7;
	REQUIRE(collect(memory, HUGE, BOTH, states) == 0);
	REQUIRE(states[5] == WROTE && states[4] == SCYPER_PAGE_PRESENT);
	REQUIRE(munmap(memory, bytes) == 0);
}

static void test_reserved_huge_pages(void)
{
	size_t bytes = 6 * HUGE;
	int flags[] = {MAP_PRIVATE, MAP_SHARED};
	FILE *pool = fopen("/proc/sys/vm/nr_hugepages", "w");

	REQUIRE(pool && fprintf(pool, "12") > 0 && fclose(pool) == 0);
	for (int i = 0; i < 2; ++i) {
		char *memory = map(bytes, flags[i] | MAP_ANONYMOUS | MAP_HUGETLB, -1);

		check_exact(memory, bytes, HUGE, SCYPER_PAGE_HUGE, 200);
		REQUIRE(collect(memory, PAGE, BOTH, NULL) == EINVAL);
		REQUIRE(munmap(memory, bytes) == 0);
	}
}

static int wait_for(pid_t child)
{
	int status = -1;

	REQUIRE(waitpid(child, &status, 0) == child);
	return status;
}

/* 1 GB of shared reserved pages: processes have one page table, which each may give up while
 * another is asked about it. */
static void test_shared_page_table(void)
{
	size_t bytes = 1UL << 30;
	char *memory = map(bytes, MAP_SHARED | MAP_ANONYMOUS | MAP_HUGETLB | MAP_NORESERVE, -1);
	unsigned char states[512];

	memory[0] = 1;
	memory[HUGE] = 1;
	for (int i = 0; i < 40; ++i) {
		pid_t child = fork();

		REQUIRE(child >= 0);
		if (child == 0) {
			(void)*(volatile char *)memory;
			munmap(memory, bytes);
			_exit(0);
		}
		for (int k = 0; k < 20; ++k)
			REQUIRE(collect(memory, 4 * HUGE, BOTH, NULL) == 0);
		REQUIRE(wait_for(child) == 0);
		memory[HUGE] = (char)i;
		REQUIRE(collect(memory + HUGE, HUGE, BOTH, states) == 0);
		REQUIRE(states[0] == (WROTE | SCYPER_PAGE_HUGE));
	}
	REQUIRE(munmap(memory, bytes) == 0);
}

/* Another process: by root; not by others, who may ask about themselves. */
static void test_other_process(void)
{
	char *memory = map(16 * PAGE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	unsigned char states[16];
	int go[2], done[2];
	char byte = 0;
	pid_t child;

	memset(memory, 1, 16 * PAGE);
	REQUIRE(pipe(go) == 0 && pipe(done) == 0);
	child = fork();
	REQUIRE(child >= 0);
	if (child == 0) {
		while (read(go[0], &byte, 1) == 1) {
			memory[3 * PAGE] = byte;
			(void)*(volatile char *)(memory + 5 * PAGE);
			REQUIRE(write(done[1], &byte, 1) == 1);
		}
		_exit(0);
	}
	for (byte = 1; byte < 20; ++byte) {
		REQUIRE(collect_pid(child, memory, 16 * PAGE, BOTH, states, NULL) == 0);
		REQUIRE(collect(memory, 16 * PAGE, BOTH, NULL) == 0);
		REQUIRE(write(go[1], &byte, 1) == 1 && read(done[0], &byte, 1) == 1);
		REQUIRE(collect_pid(child, memory, 16 * PAGE, 0, states, NULL) == 0);
		for (int i = 0; i < 16; ++i)
			REQUIRE(states[i] == (i == 3   ? WROTE
					      : i == 5 ? READ
						       : SCYPER_PAGE_PRESENT));
		REQUIRE(collect(memory, 16 * PAGE, 0, states) == 0);
		for (int i = 0; i < 16; ++i)
			REQUIRE(states[i] ==
				SCYPER_PAGE_PRESENT); /* the child's bits are its own */
	}
	if (fork() == 0) {
		REQUIRE(setuid(65534) == 0);
		REQUIRE(collect_pid(child, memory, PAGE, 0, states, NULL) == EPERM);
		REQUIRE(collect_pid(30000, memory, PAGE, 0, states, NULL) == EPERM);
		REQUIRE(collect(memory, PAGE, BOTH, states) == 0);
		REQUIRE(collect_pid(getpid(), memory, PAGE, BOTH, states, NULL) == 0);
		REQUIRE(open(SCYPER_OBSERVER_DEVICE, O_RDWR) < 0 && errno == EACCES);
		_exit(0);
	}
	close(go[1]);
	close(go[0]);
	REQUIRE(kill(child, SIGKILL) == 0);
	while (collect_pid(child, memory, PAGE, 0, states, NULL) == 0) /* until it is a zombie */
		;
	REQUIRE(errno == ESRCH);
	for (int i = 0; i < 2; ++i) {
		int status = -1;

		REQUIRE(wait(&status) > 0);
		REQUIRE(status == 0 || status == SIGKILL);
	}
	REQUIRE(collect_pid(child, memory, PAGE, 0, states, NULL) == ESRCH);
}

static void test_wrong_arguments(void)
{
	struct scyper_observer_info info;
	char *memory = map(4 * PAGE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	void *vdso = (void *)getauxval(AT_SYSINFO_EHDR); /* neither anonymous nor of tmpfs */
	unsigned char states[4];

	REQUIRE(ioctl(device, SCYPER_OBSERVER_INFO, &info) == 0);
	REQUIRE(info.version == SCYPER_OBSERVER_VERSION && info.page_shift == 12);
	REQUIRE(ioctl(device, SCYPER_OBSERVER_INFO, 1) < 0 && errno == EFAULT);
	REQUIRE(ioctl(device, SCYPER_OBSERVER_COLLECT, 1) < 0 && errno == EFAULT);
	REQUIRE(ioctl(device, _IO('y', 0x62), 0) < 0 && errno == ENOTTY);
	memset(memory, 1, 4 * PAGE);
	REQUIRE(collect(memory, 4 * PAGE, 8, states) == EINVAL);
	REQUIRE(collect(memory + 1, PAGE, 0, states) == EINVAL);
	REQUIRE(collect(memory, PAGE + 1, 0, states) == EINVAL);
	REQUIRE(collect(memory, 0, 0, states) == EINVAL);
	REQUIRE(collect(memory, -PAGE, 0, states) == EINVAL);
	REQUIRE(collect((void *)-PAGE, PAGE, 0, states) == EINVAL);
	REQUIRE(collect((void *)(1UL << 63), PAGE, 0, states) == EINVAL);
	REQUIRE(collect_pid(-1, memory, PAGE, 0, states, NULL) == EINVAL);
	REQUIRE(collect(memory, 4 * PAGE, 0, (void *)8) == EFAULT);
	REQUIRE(collect(memory, 4 * PAGE, 0, (void *)-4096L) == EFAULT);
	REQUIRE(vdso && collect(vdso, PAGE, 0, states) == EOPNOTSUPP);
	REQUIRE(munmap(memory + PAGE, PAGE) == 0);
	REQUIRE(collect(memory, 2 * PAGE, 0, states) == ENOMEM);
	REQUIRE(collect(memory + PAGE, 2 * PAGE, 0, states) == ENOMEM);
	memset(states, 9, 4);
	REQUIRE(collect(memory, 4 * PAGE, SCYPER_SKIP_HOLES, states) == 0);
	REQUIRE(states[0] == WROTE && states[1] == 0 && states[2] == WROTE && states[3] == WROTE);
	REQUIRE(collect(vdso, PAGE, SCYPER_SKIP_HOLES, states) == 0 && states[0] == 0);
	REQUIRE(collect((char *)((1UL << 47) - HUGE), HUGE - PAGE, BOTH | SCYPER_SKIP_HOLES,
			NULL) == 0);
	REQUIRE(collect(memory, PAGE, 0, states) == 0 && states[0] == WROTE);
	REQUIRE(mprotect(memory, PAGE, PROT_NONE) == 0);
	REQUIRE(collect(memory, PAGE, BOTH, states) == 0);
}

/* Every page is written once, by a thread, while another collects: it is dirty in exactly one
 * collection. */
static size_t once_bytes = 24UL << 20;

static void *write_once(void *memory)
{
	for (size_t i = 0; i < once_bytes; i += PAGE)
		((volatile char *)memory)[i] = 2;
	return NULL;
}

static void test_concurrent_writes(void)
{
	char *memory = map(once_bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	unsigned char *states = malloc(once_bytes / PAGE), *times = calloc(1, once_bytes / PAGE);

	REQUIRE(madvise(memory, once_bytes, MADV_NOHUGEPAGE) == 0);
	for (int round = 0; round < 3; ++round) {
		size_t found = 0;
		pthread_t writer;
		int collections = 0;

		if (round > 0) /* the first round is of page faults */
			REQUIRE(collect(memory, once_bytes, BOTH, NULL) == 0);
		memset(times, 0, once_bytes / PAGE);
		REQUIRE(pthread_create(&writer, NULL, write_once, memory) == 0);
		while (found < once_bytes / PAGE) {
			REQUIRE(collect(memory, once_bytes, BOTH, states) == 0);
			++collections;
			for (size_t i = 0; i < once_bytes / PAGE; ++i) {
				if (!(states[i] & SCYPER_PAGE_DIRTY))
					continue;
				REQUIRE(states[i] == WROTE);
				/* a page fault sets the bits itself, then the write comes again */
				REQUIRE(times[i] == 0 || round == 0);
				found += times[i] == 0;
				times[i] = 1;
			}
		}
		REQUIRE(pthread_join(writer, NULL) == 0);
		REQUIRE(collect(memory, once_bytes, BOTH, states) == 0);
		for (size_t i = 0; i < once_bytes / PAGE; ++i)
			REQUIRE(states[i] == SCYPER_PAGE_PRESENT || round == 0);
		printf("  round %d: %d collections\n", round, collections);
	}
}

/* A process that maps, splits, moves and gives back memory, forks, and ends in the middle of it. */
static void live(char *memory, size_t bytes, unsigned long number)
{
	seed += number * 7919;
	for (int i = 0; i < 60; ++i) {
		size_t at = next_random() % (bytes / PAGE) * PAGE;

		switch (next_random() % 6) {
		case 0:
			madvise(memory + at, PAGE, MADV_DONTNEED);
			break;
		case 1:
			mmap(memory, bytes, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
			madvise(memory, bytes, next_random() % 2 ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
			break;
		case 2:
			mprotect(memory + at, PAGE, PROT_READ);
			mprotect(memory + at, PAGE, PROT_READ | PROT_WRITE);
			break;
		case 3:
			if (fork() == 0)
				_exit(0);
			break;
		case 4:
			munmap(memory + at, PAGE);
			mmap(memory + at, PAGE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
			break;
		case 5:
			memset(memory, i, bytes);
		}
	}
	kill(getpid(), SIGKILL);
}

static void test_faults_and_exits(void)
{
	size_t bytes = 4 * HUGE;
	char *memory = map(bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	unsigned char *states = malloc(bytes / PAGE);
	int collections = 0;

	for (unsigned long i = 0; i < 12; ++i) {
		pid_t child = fork();
		int error;

		REQUIRE(child >= 0);
		if (child == 0)
			live(memory, bytes, i);
		do {
			error = collect_pid(child, memory, bytes, BOTH, states, NULL);
			REQUIRE(error == 0 || error == ESRCH || error == ENOMEM || error == EINVAL);
			collections += error == 0;
		} while (error != ESRCH);
		REQUIRE(wait_for(child) == SIGKILL);
	}
	printf("  %d collections\n", collections);
}

static void test_unloading(void)
{
	struct stat status;

	REQUIRE(syscall(SYS_delete_module, "scyper_observer", O_NONBLOCK) < 0);
	REQUIRE(errno == EAGAIN);
	test_wrong_arguments(); /* still there */
	close(device);
	REQUIRE(syscall(SYS_delete_module, "scyper_observer", O_NONBLOCK) == 0);
	REQUIRE(stat(SCYPER_OBSERVER_DEVICE, &status) < 0 && errno == ENOENT);
	load_module();
	test_wrong_arguments();
	close(device);
	REQUIRE(syscall(SYS_delete_module, "scyper_observer", O_NONBLOCK) == 0);
}

/* 5.3 of the paper under emulation: shows that the observer costs writers little; its time says
 * nothing about real machines. */
static double update_ms(unsigned long *entries, size_t count)
{
	struct timespec from, to;

	clock_gettime(CLOCK_MONOTONIC, &from);
	for (int i = 0; i < 100000; ++i)
		++entries[next_random() % count];
	clock_gettime(CLOCK_MONOTONIC, &to);
	return (double)(to.tv_sec - from.tv_sec) * 1e3 + (double)(to.tv_nsec - from.tv_nsec) / 1e6;
}

static void show_cost(void)
{
	size_t count = 10 * 1000 * 1000, bytes = (count * 8 + PAGE - 1) / PAGE * PAGE;
	unsigned long *entries = (unsigned long *)map(bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	struct scyper_observer_collect counts;
	double plain, observed;

	memset(entries, 1, bytes);
	update_ms(entries, count);
	plain = update_ms(entries, count);
	REQUIRE(collect((void *)entries, bytes, BOTH, NULL) == 0);
	observed = update_ms(entries, count);
	REQUIRE(collect_pid(0, entries, bytes, BOTH, NULL, &counts) == 0);
	printf("  emulated: 100,000 updates %.1f ms, after a collection %.1f ms; %llu of %llu "
	       "pages dirty\n",
	       plain, observed, (unsigned long long)counts.dirty_count,
	       (unsigned long long)counts.present_count);
}

/* The observer of nodes on the module, where run_vm was given its test. */
static void test_program(void)
{
	pid_t child;

	if (access("/program", X_OK) != 0)
		return;
	child = fork();
	REQUIRE(child >= 0);
	if (child == 0) {
		execl("/program", "/program", "--gtest_filter=*/module", "--gtest_brief=1", NULL);
		_exit(127);
	}
	REQUIRE(wait_for(child) == 0);
}

static void prepare(void)
{
	int console;

	mkdir("/dev", 0755);
	mkdir("/proc", 0755);
	mount("devtmpfs", "/dev", "devtmpfs", 0, NULL);
	mount("proc", "/proc", "proc", 0, NULL);
	console = open("/dev/ttyS0", O_RDWR);
	dup2(console, 0);
	dup2(console, 1);
	dup2(console, 2);
	setvbuf(stdout, NULL, _IOLBF, 0);
}

int main(void)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} tests[] = {
		{"4 KB pages", test_small_pages},
		{"shared 4 KB pages", test_shared_pages},
		{"transparent huge pages", test_transparent_huge_pages},
		{"reserved huge pages", test_reserved_huge_pages},
		{"shared page tables", test_shared_page_table},
		{"another process", test_other_process},
		{"wrong arguments", test_wrong_arguments},
		{"concurrent writes", test_concurrent_writes},
		{"concurrent faults and exits", test_faults_and_exits},
		{"a program", test_program},
		{"cost", show_cost},
		{"unloading", test_unloading},
	};

	if (getpid() != 1) {
		fprintf(stderr, "runs as the first process of a virtual machine only (run_vm)\n");
		return 1;
	}
	prepare();
	load_module();
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); ++i) {
		printf("%s\n", tests[i].name);
		tests[i].run();
		while (waitpid(-1, NULL, WNOHANG) > 0) /* orphans */
			;
	}
	end("passed");
}
