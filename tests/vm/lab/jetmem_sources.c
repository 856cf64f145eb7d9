// SPDX-License-Identifier: GPL-2.0
// What QEMU's "virt" machine has no device for, by the kernel's own code, on the custom kernel (6.12):
//
//   a memory controller (EDAC) with ECC and two modules, DIMM_A and DIMM_B:
//                    echo 3 > /sys/module/jetmem_sources/parameters/corrected        errors of DIMM_B
//                    echo 1 > /sys/module/jetmem_sources/parameters/uncorrected      of DIMM_A
//                    echo 2 > /sys/module/jetmem_sources/parameters/unlocated        corrected, of no known module
//   a GPU            /dev/dri/cardN of driver "jetmem-gpu": dumb buffers, whose owners drm_show_memory_stats() prints
//   kernel memory    echo 24576 > /sys/module/jetmem_sources/parameters/kernel_kb    holds so much, for allocinfo
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem_shmem_helper.h>
#include <linux/dma-mapping.h>
#include <linux/edac.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/vmalloc.h>

#include "../drivers/edac/edac_mc.h"

static struct platform_device *device;
static struct mem_ctl_info *controller;
static struct drm_device *gpu;
static void *held;
static unsigned long held_kb;

static int count_errors(const char *text, enum hw_event_mc_err_type type, int module)
{
	unsigned int count;
	int error = kstrtouint(text, 0, &count);

	if (error || !controller)
		return error;
	edac_mc_handle_error(type, controller, count, 0, 0, 0, module, -1, -1, "test", "");
	return 0;
}

static int corrected_set(const char *text, const struct kernel_param *kp)
{
	return count_errors(text, HW_EVENT_ERR_CORRECTED, 1);
}

static int uncorrected_set(const char *text, const struct kernel_param *kp)
{
	return count_errors(text, HW_EVENT_ERR_UNCORRECTED, 0);
}

static int unlocated_set(const char *text, const struct kernel_param *kp)
{
	return count_errors(text, HW_EVENT_ERR_CORRECTED, -1);
}

static int kernel_set(const char *text, const struct kernel_param *kp)
{
	int error = kstrtoul(text, 0, &held_kb);

	if (error)
		return error;
	vfree(held);
	held = held_kb ? vmalloc(held_kb << 10) : NULL;
	return held_kb && !held ? -ENOMEM : 0;
}

static const struct kernel_param_ops corrected_ops = {.set = corrected_set};
static const struct kernel_param_ops uncorrected_ops = {.set = uncorrected_set};
static const struct kernel_param_ops unlocated_ops = {.set = unlocated_set};
static const struct kernel_param_ops kernel_ops = {.set = kernel_set, .get = param_get_ulong};
module_param_cb(corrected, &corrected_ops, NULL, 0200);
module_param_cb(uncorrected, &uncorrected_ops, NULL, 0200);
module_param_cb(unlocated, &unlocated_ops, NULL, 0200);
module_param_cb(kernel_kb, &kernel_ops, &held_kb, 0644);

static int add_controller(void)
{
	static const char *const labels[] = {"DIMM_A", "DIMM_B"};
	struct edac_mc_layer layer = {.type = EDAC_MC_LAYER_SLOT, .size = ARRAY_SIZE(labels), .is_virt_csrow = true};
	struct dimm_info *dimm;
	int error;

	controller = edac_mc_alloc(0, 1, &layer, 0);
	if (!controller)
		return -ENOMEM;
	controller->pdev = &device->dev;
	controller->mod_name = controller->ctl_name = controller->dev_name = "jetmem_sources";
	controller->mtype_cap = MEM_FLAG_LRDDR4;
	controller->edac_ctl_cap = controller->edac_cap = EDAC_FLAG_SECDED;
	mci_for_each_dimm(controller, dimm) {
		dimm->nr_pages = 1 << 18;
		dimm->grain = 8;
		dimm->mtype = MEM_LRDDR4;
		dimm->edac_mode = EDAC_SECDED;
		strscpy(dimm->label, labels[dimm->idx], sizeof(dimm->label));
	}
	error = edac_mc_add_mc(controller);
	if (error) {
		edac_mc_free(controller);
		controller = NULL;
	}
	return error;
}

static enum drm_gem_object_status buffer_status(struct drm_gem_object *buffer)
{
	return to_drm_gem_shmem_obj(buffer)->pages ? DRM_GEM_OBJECT_RESIDENT : 0;
}

static const struct drm_gem_object_funcs buffer_funcs = {
	.free = drm_gem_shmem_object_free,
	.print_info = drm_gem_shmem_object_print_info,
	.pin = drm_gem_shmem_object_pin,
	.unpin = drm_gem_shmem_object_unpin,
	.get_sg_table = drm_gem_shmem_object_get_sg_table,
	.vmap = drm_gem_shmem_object_vmap,
	.vunmap = drm_gem_shmem_object_vunmap,
	.mmap = drm_gem_shmem_object_mmap,
	.status = buffer_status,
	.vm_ops = &drm_gem_shmem_vm_ops,
};

static struct drm_gem_object *create_buffer(struct drm_device *dev, size_t size)
{
	struct drm_gem_shmem_object *buffer = kzalloc(sizeof(*buffer), GFP_KERNEL);

	if (!buffer)
		return ERR_PTR(-ENOMEM);
	buffer->base.funcs = &buffer_funcs;
	return &buffer->base;
}

static const struct file_operations gpu_files = {
	.owner = THIS_MODULE,
	DRM_GEM_FOPS,
	.show_fdinfo = drm_show_fdinfo,
};

static const struct drm_driver gpu_driver = {
	.driver_features = DRIVER_GEM,
	.gem_create_object = create_buffer,
	.show_fdinfo = drm_show_memory_stats,
	DRM_GEM_SHMEM_DRIVER_OPS,
	.fops = &gpu_files,
	.name = "jetmem-gpu",
	.desc = "a GPU of jetmem's tests",
	.date = "20260101",
	.major = 1,
};

static int add_gpu(void)
{
	int error;

	gpu = drm_dev_alloc(&gpu_driver, &device->dev);
	if (IS_ERR(gpu))
		return PTR_ERR(gpu);
	error = drm_dev_register(gpu, 0);
	if (error)
		drm_dev_put(gpu);
	return error;
}

static int __init sources_init(void)
{
	int error;

	device = platform_device_register_simple("jetmem-sources", -1, NULL, 0);
	if (IS_ERR(device))
		return PTR_ERR(device);
	error = add_controller();
	if (error)
		pr_err("jetmem_sources: no memory controller: %d\n", error);
	error = dma_coerce_mask_and_coherent(&device->dev, DMA_BIT_MASK(64)) ?: add_gpu();
	if (error) {
		pr_err("jetmem_sources: no GPU: %d\n", error);
		gpu = NULL;
	}
	return 0;
}

static void __exit sources_exit(void)
{
	vfree(held);
	if (gpu) {
		drm_dev_unregister(gpu);
		drm_dev_put(gpu);
	}
	if (controller) {
		edac_mc_del_mc(&device->dev);
		edac_mc_free(controller);
	}
	platform_device_unregister(device);
}

module_init(sources_init);
module_exit(sources_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Sources of jetmem's tests in a virtual machine that it has no device for");
