// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The access observer of ScyPer: tells a process which of its pages were read or written since it
 * last asked. The processor notes both in page table entries at no cost for who reads and writes;
 * here they are read and cleared. Source: Funke, Kemper and Neumann, Compacting Transactional Data
 * in Hybrid OLTP & OLAP Databases, VLDB 2012, 4.1.
 *
 * Locks: mmap_lock for reading around a batch, within it i_mmap_rwsem for shared hugetlb, within it
 * one page table lock. Nothing is copied to the caller under a lock: its page fault may need the
 * same mmap_lock.
 */
#include <linux/capability.h>
#include <linux/hugetlb.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/shmem_fs.h>
#include <linux/smp.h>
#include <linux/uaccess.h>
#include <linux/version.h>

#include <asm/tlbflush.h>

#include "kmod/scyper_observer.h"

/*
 * What keeps page tables from being freed under a reader changes between kernels (6.5, 6.7 and
 * later: without mmap_lock), so it is looked at for each kernel before the module may be built for
 * it.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0) || LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
#error "scyper_observer is made for Linux 6.1"
#endif

/* Between two flushes: short enough for writers that wait for mmap_lock, long enough that the flush
 * does not show. */
#define BATCH_PAGES (16UL << 10)
#define CLEAR_FLAGS (SCYPER_CLEAR_YOUNG | SCYPER_CLEAR_DIRTY)
#define ALL_FLAGS   (CLEAR_FLAGS | SCYPER_SKIP_HOLES)

struct collection {
	struct mm_struct *mm;
	struct scyper_observer_collect *request;
	u8 *states; /* of the units from batch_start on */
	unsigned long batch_start;
	bool has_cleared; /* since the last flush */
};

static void note(struct collection *c, unsigned long start, unsigned long end, u8 state)
{
	unsigned long count = (end - start) >> PAGE_SHIFT;

	memset(c->states + ((start - c->batch_start) >> PAGE_SHIFT), state, count);
	if (state & SCYPER_PAGE_PRESENT)
		c->request->present_count += count;
	if (state & SCYPER_PAGE_YOUNG)
		c->request->young_count += count;
	if (state & SCYPER_PAGE_DIRTY)
		c->request->dirty_count += count;
}

/*
 * The processor sets bits beside us, so each is taken atomically. What the kernel learns from the
 * dirty bit (that the page must be kept) moves to the page first, under the lock that keeps the
 * page there.
 */
static u8 take_bits(struct collection *c, unsigned long *entry, unsigned long value,
		    struct page *page)
{
	u8 state = SCYPER_PAGE_PRESENT;

	if (value & _PAGE_ACCESSED)
		state |= SCYPER_PAGE_YOUNG;
	if (value & _PAGE_DIRTY)
		state |= SCYPER_PAGE_DIRTY;
	if ((c->request->flags & SCYPER_CLEAR_DIRTY) && (value & _PAGE_DIRTY)) {
		set_page_dirty(page);
		clear_bit(_PAGE_BIT_DIRTY, entry);
		c->has_cleared = true;
	}
	if ((c->request->flags & SCYPER_CLEAR_YOUNG) && (value & _PAGE_ACCESSED)) {
		clear_bit(_PAGE_BIT_ACCESSED, entry);
		c->has_cleared = true;
	}
	return state;
}

/* An entry for 2 MB, under its lock. */
static int collect_huge(struct collection *c, pmd_t *pmd, unsigned long start, unsigned long end)
{
	u8 state;

	if ((c->request->flags & CLEAR_FLAGS) && end - start != PMD_SIZE)
		return -EINVAL;
	state = take_bits(c, (unsigned long *)pmd, pmd_val(*pmd), pmd_page(*pmd));
	note(c, start, end, state | SCYPER_PAGE_HUGE);
	return 0;
}

static void collect_small(struct collection *c, pmd_t *pmd, unsigned long start, unsigned long end)
{
	unsigned long address = start;
	spinlock_t *lock;
	pte_t *first;
	pte_t *entry;

	first = pte_offset_map_lock(c->mm, pmd, start, &lock);
	for (entry = first; address < end; ++entry, address += PAGE_SIZE) {
		pte_t value = READ_ONCE(*entry);

		if (!pte_present(value))
			continue;
		note(c, address, address + PAGE_SIZE,
		     take_bits(c, (unsigned long *)entry, pte_val(value), pte_page(value)));
	}
	pte_unmap_unlock(first, lock);
}

/*
 * [start, end) lies below one pmd. mmap_lock, and i_mmap_rwsem where hugetlb page tables are shared
 * between processes, keep the tables; only the pmd itself may change, from nothing to anything and
 * from a huge page to a table.
 */
static int collect_pmd(struct collection *c, struct vm_area_struct *vma, pmd_t *pmd,
		       unsigned long start, unsigned long end)
{
	pmd_t value = pmd_read_atomic(pmd);
	spinlock_t *lock;
	int error = 0;

	barrier();
	if (pmd_none(value))
		return 0;
	if (is_vm_hugetlb_page(vma) || pmd_trans_huge(value) || is_swap_pmd(value)) {
		lock = pmd_lock(c->mm, pmd);
		value = *pmd;
		if (pmd_present(value) && pmd_large(value)) {
			error = collect_huge(c, pmd, start, end);
			spin_unlock(lock);
			return error;
		}
		spin_unlock(lock);
		if (is_vm_hugetlb_page(vma) || pmd_none(value) || !pmd_present(value))
			return 0;
	}
	if (pmd_bad(value) || pmd_devmap(value))
		return -EOPNOTSUPP;
	collect_small(c, pmd, start, end);
	return 0;
}

static int collect_tables(struct collection *c, struct vm_area_struct *vma, unsigned long start,
			  unsigned long end)
{
	while (start < end) {
		unsigned long next = pmd_addr_end(start, end);
		pgd_t *pgd = pgd_offset(c->mm, start);
		p4d_t *p4d;
		pud_t *pud;
		int error;

		if (!pgd_none(*pgd) && !pgd_bad(*pgd)) {
			p4d = p4d_offset(pgd, start);
			if (!p4d_none(*p4d) && !p4d_bad(*p4d)) {
				pud = pud_offset(p4d, start);
				if (!pud_none(*pud) && !pud_bad(*pud)) {
					error = collect_pmd(c, vma, pmd_offset(pud, start), start,
							    next);
					if (error)
						return error;
				}
			}
		}
		start = next;
	}
	return 0;
}

static bool is_observable(struct vm_area_struct *vma)
{
	if (vma->vm_flags & (VM_IO | VM_PFNMAP | VM_MIXEDMAP))
		return false;
	if (is_vm_hugetlb_page(vma))
		return vma_kernel_pagesize(vma) == PMD_SIZE;
	return vma_is_anonymous(vma) || (vma->vm_file && shmem_mapping(vma->vm_file->f_mapping));
}

static int collect_mapping(struct collection *c, struct vm_area_struct *vma, unsigned long start,
			   unsigned long end)
{
	struct address_space *shared = NULL;
	int error;

	if (!is_observable(vma))
		return c->request->flags & SCYPER_SKIP_HOLES ? 0 : -EOPNOTSUPP;
	/* whoever takes a shared table away holds it for writing */
	if (is_vm_hugetlb_page(vma) && (vma->vm_flags & VM_MAYSHARE))
		shared = vma->vm_file->f_mapping;
	if (shared)
		i_mmap_lock_read(shared);
	error = collect_tables(c, vma, start, end);
	if (shared)
		i_mmap_unlock_read(shared);
	return error;
}

static void flush_here(void *unused)
{
	__flush_tlb_all();
}

/*
 * The kernel's own flush of a process is not exported. The new generation makes a processor that
 * has switched away from the process, and kept translations, flush when it comes back; those that
 * have it loaded are flushed here.
 */
static void flush(struct collection *c)
{
	atomic64_inc(&c->mm->context.tlb_gen); /* a full barrier, as inc_mm_tlb_gen() */
	on_each_cpu_mask(mm_cpumask(c->mm), flush_here, NULL, true);
	c->has_cleared = false;
}

static int collect_batch(struct collection *c, unsigned long end)
{
	unsigned long address = c->batch_start;
	int error;

	memset(c->states, 0, (end - address) >> PAGE_SHIFT);
	error = mmap_read_lock_killable(c->mm);
	if (error)
		return error;
	inc_tlb_flush_pending(c->mm);
	while (!error && address < end) {
		struct vm_area_struct *vma = find_vma(c->mm, address);
		unsigned long next;

		if (!vma || vma->vm_start > address) {
			if (!(c->request->flags & SCYPER_SKIP_HOLES))
				error = -ENOMEM;
			address = vma ? min(end, vma->vm_start) : end;
			continue;
		}
		next = min(end, vma->vm_end);
		error = collect_mapping(c, vma, address, next);
		address = next;
	}
	if (c->has_cleared)
		flush(c);
	dec_tlb_flush_pending(c->mm);
	mmap_read_unlock(c->mm);
	return error;
}

static int collect_range(struct collection *c)
{
	struct scyper_observer_collect *request = c->request;
	unsigned long end = request->start + request->bytes;
	u8 __user *pages = u64_to_user_ptr(request->pages);
	unsigned long next;
	int error;

	/* Batches end at the borders of huge pages. */
	for (c->batch_start = request->start; c->batch_start < end; c->batch_start = next) {
		unsigned long count;

		next = min(end, (c->batch_start & PMD_MASK) + (BATCH_PAGES << PAGE_SHIFT));
		error = collect_batch(c, next);
		if (error)
			return error;
		count = (next - c->batch_start) >> PAGE_SHIFT;
		if (pages && copy_to_user(pages, c->states, count))
			return -EFAULT;
		if (pages)
			pages += count;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}

static int check_request(const struct scyper_observer_collect *request)
{
	if (request->flags & ~ALL_FLAGS || request->pid < 0)
		return -EINVAL;
	if (request->start & ~PAGE_MASK || request->bytes & ~PAGE_MASK || !request->bytes)
		return -EINVAL;
	if (request->start >= TASK_SIZE_MAX || request->bytes > TASK_SIZE_MAX - request->start)
		return -EINVAL;
	return 0;
}

/* The process's memory with a reference, or an error. */
static struct mm_struct *find_mm(pid_t number)
{
	struct task_struct *task = NULL;
	struct mm_struct *mm = NULL;
	struct pid *pid;

	if (!number || number == task_tgid_vnr(current)) {
		mm = get_task_mm(current);
		return mm ? mm : ERR_PTR(-ESRCH);
	}
	/* before it is looked for: who may not look does not learn who is there */
	if (!capable(CAP_SYS_PTRACE))
		return ERR_PTR(-EPERM);
	pid = find_get_pid(number);
	if (pid)
		task = get_pid_task(pid, PIDTYPE_PID);
	put_pid(pid);
	if (!task)
		return ERR_PTR(-ESRCH);
	mm = get_task_mm(task);
	put_task_struct(task);
	return mm ? mm : ERR_PTR(-ESRCH);
}

static long collect(struct scyper_observer_collect __user *argument)
{
	struct scyper_observer_collect request;
	struct collection c = {.request = &request};
	long error;

	if (copy_from_user(&request, argument, sizeof(request)))
		return -EFAULT;
	error = check_request(&request);
	if (error)
		return error;
	request.present_count = 0;
	request.young_count = 0;
	request.dirty_count = 0;
	c.states = kvmalloc(BATCH_PAGES, GFP_KERNEL);
	if (!c.states)
		return -ENOMEM;
	c.mm = find_mm(request.pid);
	if (IS_ERR(c.mm)) {
		error = PTR_ERR(c.mm);
	} else {
		error = collect_range(&c);
		mmput(c.mm);
	}
	kvfree(c.states);
	if (!error && copy_to_user(argument, &request, sizeof(request)))
		error = -EFAULT;
	return error;
}

static long observer_ioctl(struct file *file, unsigned int command, unsigned long argument)
{
	const struct scyper_observer_info info = {
		.version = SCYPER_OBSERVER_VERSION,
		.page_shift = SCYPER_OBSERVER_PAGE_SHIFT,
	};

	switch (command) {
	case SCYPER_OBSERVER_INFO:
		if (copy_to_user((void __user *)argument, &info, sizeof(info)))
			return -EFAULT;
		return 0;
	case SCYPER_OBSERVER_COLLECT:
		return collect((struct scyper_observer_collect __user *)argument);
	}
	return -ENOTTY;
}

static const struct file_operations observer_operations = {
	.owner = THIS_MODULE, /* an open file keeps the module */
	.open = nonseekable_open,
	.unlocked_ioctl = observer_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.llseek = no_llseek,
};

static struct miscdevice observer_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "scyper_observer",
	.fops = &observer_operations,
	.mode = 0600, /* udev gives it to the group that nodes run as */
};

static_assert(PAGE_SHIFT == SCYPER_OBSERVER_PAGE_SHIFT);
static_assert((BATCH_PAGES << PAGE_SHIFT) % PMD_SIZE == 0);

module_misc_device(observer_device);

MODULE_DESCRIPTION("Which pages of a process were read or written (ScyPer)");
MODULE_AUTHOR("The ScyPer authors");
MODULE_LICENSE("Dual MIT/GPL");
MODULE_VERSION("0.1.0");
