// SPDX-License-Identifier: GPL-2.0
// Asks the kernel for memory as a driver does, and gives it back at once: debugfs/alloc_probe/order,
// debugfs/alloc_probe/pages. A write of a number returns ENOMEM if it was refused.
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/init.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>

static int one_block(void *data, u64 order)
{
	struct page *page = alloc_pages(GFP_KERNEL | __GFP_NOWARN, order);

	if (!page)
		return -ENOMEM;
	__free_pages(page, order);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(order_fops, NULL, one_block, "%llu\n");

static int many_pages(void *data, u64 count)
{
	LIST_HEAD(pages);
	struct page *page, *next;
	int ret = 0;

	while (count--) {
		page = alloc_page(GFP_KERNEL | __GFP_HIGHMEM | __GFP_NOWARN);
		if (!page || fatal_signal_pending(current)) {
			if (page)
				__free_page(page);
			ret = -ENOMEM;
			break;
		}
		list_add(&page->lru, &pages);
	}
	list_for_each_entry_safe(page, next, &pages, lru) {
		list_del(&page->lru);
		__free_page(page);
	}
	return ret;
}
DEFINE_DEBUGFS_ATTRIBUTE(pages_fops, NULL, many_pages, "%llu\n");

static int __init alloc_probe_init(void)
{
	struct dentry *dir = debugfs_create_dir("alloc_probe", NULL);

	debugfs_create_file_unsafe("order", 0200, dir, NULL, &order_fops);
	debugfs_create_file_unsafe("pages", 0200, dir, NULL, &pages_fops);
	return 0;
}
late_initcall(alloc_probe_init);
