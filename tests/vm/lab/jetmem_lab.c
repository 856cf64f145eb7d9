// SPDX-License-Identifier: GPL-2.0
// What a board has and QEMU's "virt" machine has not, for real, in Debian's kernels since 5.10 or a custom one:
//
//   thermal zones    insmod jetmem_lab.ko zones=cpu-thermal,tj-thermal
//                    echo 97000 > /sys/module/jetmem_lab/parameters/temp       millidegrees, of all
//   CMA taken        echo 8192 > /sys/module/jetmem_lab/parameters/cma_kb      one piece more, kB
//                    echo -1 > ...                                             gives all back
//                    echo -2 > ...                                             gives each second one back
//   a driver hangs   echo 1 > /sys/module/jetmem_lab/parameters/hang           whoever reads a temperature
//                    then waits where no signal reaches it, as for firmware that does not answer; 0 ends it
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/slab.h>
#include <linux/thermal.h>
#include <linux/version.h>
#include <linux/wait.h>

#define MOST_ZONES 8

static char *zones[MOST_ZONES] = {"cpu-thermal", "gpu-thermal", "soc0-thermal", "tj-thermal"};
static int zone_count = 4;
module_param_array(zones, charp, &zone_count, 0444);
static int temp = 45000;
module_param(temp, int, 0644);
static bool hang;
static DECLARE_WAIT_QUEUE_HEAD(hung);

static struct thermal_zone_device *registered[MOST_ZONES];
static struct platform_device *device;

struct piece {
	struct list_head list;
	size_t size;
	void *memory;
	dma_addr_t address;
};
static LIST_HEAD(pieces);
static DEFINE_MUTEX(lock);

static void give_back(struct piece *p)
{
	dma_free_attrs(&device->dev, p->size, p->memory, p->address, DMA_ATTR_FORCE_CONTIGUOUS);
	list_del(&p->list);
	kfree(p);
}

static void give_back_all(void)
{
	struct piece *p, *next;

	list_for_each_entry_safe(p, next, &pieces, list)
		give_back(p);
}

static void give_back_each_second(void)
{
	struct piece *p, *next;
	bool odd = false;

	list_for_each_entry_safe(p, next, &pieces, list) {
		if (odd)
			give_back(p);
		odd = !odd;
	}
}

static int take(size_t size)
{
	struct piece *p = kzalloc(sizeof(*p), GFP_KERNEL);

	if (!p)
		return -ENOMEM;
	p->size = size;
	p->memory = dma_alloc_attrs(&device->dev, size, &p->address, GFP_KERNEL, DMA_ATTR_FORCE_CONTIGUOUS);
	if (!p->memory) {
		kfree(p);
		return -ENOMEM;
	}
	list_add(&p->list, &pieces);
	return 0;
}

static int cma_set(const char *text, const struct kernel_param *kp)
{
	long kb;
	int error = kstrtol(text, 0, &kb);

	if (error || !device)
		return error;
	mutex_lock(&lock);
	if (kb == -1)
		give_back_all();
	else if (kb == -2)
		give_back_each_second();
	else if (kb > 0)
		error = take((size_t)kb << 10);
	else
		error = -EINVAL;
	mutex_unlock(&lock);
	return error;
}

static int cma_get(char *text, const struct kernel_param *kp)
{
	struct piece *p;
	size_t sum = 0;

	mutex_lock(&lock);
	list_for_each_entry(p, &pieces, list)
		sum += p->size;
	mutex_unlock(&lock);
	return sprintf(text, "%zu\n", sum >> 10);
}

static const struct kernel_param_ops cma_ops = {.set = cma_set, .get = cma_get};
module_param_cb(cma_kb, &cma_ops, NULL, 0644);

static int hang_set(const char *text, const struct kernel_param *kp)
{
	int error = param_set_bool(text, kp);

	wake_up_all(&hung);
	return error;
}

static const struct kernel_param_ops hang_ops = {.set = hang_set, .get = param_get_bool};
module_param_cb(hang, &hang_ops, &hang, 0644);

static int get_temp(struct thermal_zone_device *zone, int *out)
{
	wait_event(hung, !READ_ONCE(hang));
	*out = temp;
	return 0;
}

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 9, 0)
static const struct thermal_zone_device_ops zone_ops = {.get_temp = get_temp};
#else
static struct thermal_zone_device_ops zone_ops = {.get_temp = get_temp};
#define thermal_tripless_zone_device_register(type, data, ops, parameters) \
	thermal_zone_device_register(type, 0, 0, data, ops, parameters, 0, 0)
#endif

static int __init lab_init(void)
{
	int i;

	device = platform_device_register_simple("jetmem-lab", -1, NULL, 0);
	if (IS_ERR(device))
		return PTR_ERR(device);
	device->dev.coherent_dma_mask = DMA_BIT_MASK(64);
	device->dev.dma_mask = &device->dev.coherent_dma_mask;
	for (i = 0; i < zone_count; i++) {
		registered[i] = thermal_tripless_zone_device_register(zones[i], NULL, &zone_ops, NULL);
		if (IS_ERR(registered[i])) {
			pr_err("jetmem_lab: zone %s: %ld\n", zones[i], PTR_ERR(registered[i]));
			registered[i] = NULL;
			continue;
		}
		thermal_zone_device_enable(registered[i]);
	}
	return 0;
}

static void __exit lab_exit(void)
{
	int i;

	give_back_all();
	for (i = 0; i < zone_count; i++)
		if (registered[i])
			thermal_zone_device_unregister(registered[i]);
	platform_device_unregister(device);
}

module_init(lab_init);
module_exit(lab_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("What jetmem's tests in a virtual machine need of a board");
