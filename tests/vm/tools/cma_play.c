// SPDX-License-Identifier: Apache-2.0
// Cameras that start and stop: allocations and releases of CMA by five processes at a time, at random from a seed.
//
//   cma_play HEAP SEED
//
// For each line on its input, "STEPS MILLISECONDS", it makes so many steps at that pace. Then it prints who has how much: "camera-7 40960 3"
// (bytes, buffers), also of processes that ended and whose buffers a child has, and "end LINE FAILED": the number of that
// line, and how many allocations were refused. A step is an allocation of 4 KiB to 10 MiB, a release, a process that is killed, or one
// that ends and leaves half of its buffers to a child.
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/dma-heap.h>

enum { kCameras = 5, kMostBuffers = 256, kMostEnded = 8 };

struct camera {
  int number, channel;
  pid_t pid;
  uint64_t sizes[kMostBuffers];  // as its process has them
  int count;
};

static int heap, cameras;
static struct camera now[kCameras], ended[kMostEnded];
static int ended_count;

// What a camera's process does: "a SIZE" allocates, "f INDEX" frees, "h" hands each second buffer to a child, and ends.
struct order {
  char what;
  uint64_t number;
};

static void camera_process(int channel) {
  int buffers[kMostBuffers], count = 0;
  struct order order;
  while (read(channel, &order, sizeof order) == (ssize_t)sizeof order) {
    char done = 1;
    if (order.what == 'a') {
      struct dma_heap_allocation_data wanted = {.len = order.number, .fd_flags = O_RDWR | O_CLOEXEC};
      done = ioctl(heap, DMA_HEAP_IOCTL_ALLOC, &wanted) == 0;
      if (done) buffers[count++] = (int)wanted.fd;
    } else if (order.what == 'f') {
      close(buffers[order.number]);
      buffers[order.number] = buffers[--count];
    } else {
      const pid_t child = fork();
      if (child == 0) {
        prctl(PR_SET_NAME, "heir");
        for (int i = 0; i < count; i += 2) close(buffers[i]);
        close(channel);
        for (;;) pause();
      }
      write(channel, &child, sizeof child);
      _exit(0);
    }
    write(channel, &done, 1);
  }
  _exit(0);
}

static void start(struct camera *camera) {
  int channels[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, channels) < 0) exit(1);
  *camera = (struct camera){.number = cameras++, .channel = channels[0]};
  camera->pid = fork();
  if (camera->pid == 0) {
    char name[16];
    snprintf(name, sizeof name, "camera-%d", camera->number);
    prctl(PR_SET_NAME, name);
    close(channels[0]);
    camera_process(channels[1]);
  }
  close(channels[1]);
}

static void wait_for(struct camera *camera, pid_t pid) {
  waitpid(pid, NULL, 0);
  close(camera->channel);
}

static void end_of_heirs(void) {
  while (ended_count > 0) kill(ended[--ended_count].pid, SIGKILL);
}

// Whether an allocation was refused.
static int step(void) {
  struct camera *camera = &now[rand() % kCameras];
  const int what = rand() % 1000;
  struct order order = {.what = 'a', .number = (uint64_t)(1 + rand() % (rand() % 3 ? 300 : 2500)) << 12};
  if (what >= 997) {
    kill(camera->pid, SIGKILL);
    wait_for(camera, camera->pid);
    start(camera);
    return 0;
  }
  if (what >= 994) {
    if (ended_count == kMostEnded) end_of_heirs();
    struct camera left = *camera;
    pid_t heir;
    order.what = 'h';
    write(camera->channel, &order, sizeof order);
    if (read(camera->channel, &heir, sizeof heir) != (ssize_t)sizeof heir) exit(1);
    wait_for(camera, camera->pid);
    left.pid = heir;
    left.count = 0;
    for (int i = 1; i < camera->count; i += 2) left.sizes[left.count++] = camera->sizes[i];
    ended[ended_count++] = left;
    start(camera);
    return 0;
  }
  if (what >= 550 || camera->count == kMostBuffers) {
    if (camera->count == 0) return 0;
    order.what = 'f';
    order.number = (uint64_t)(rand() % camera->count);
  }
  char done;
  write(camera->channel, &order, sizeof order);
  if (read(camera->channel, &done, 1) != 1) exit(1);
  if (order.what == 'f') {
    camera->sizes[order.number] = camera->sizes[--camera->count];
  } else if (done) {
    camera->sizes[camera->count++] = order.number;
  }
  return !done;
}

static void print(const struct camera *camera) {
  uint64_t bytes = 0;
  for (int i = 0; i < camera->count; ++i) bytes += camera->sizes[i];
  if (bytes > 0) printf("camera-%d %llu %d\n", camera->number, (unsigned long long)bytes, camera->count);
}

int main(int argc, char **argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: cma_play HEAP SEED\n");
    return 2;
  }
  char path[128];
  snprintf(path, sizeof path, "/dev/dma_heap/%s", argv[1]);
  heap = open(path, O_RDWR | O_CLOEXEC);
  if (heap < 0) {
    perror(path);
    return 1;
  }
  srand((unsigned)strtoul(argv[2], NULL, 0));
  for (int i = 0; i < kCameras; ++i) start(&now[i]);
  char line[32];
  for (int number = 1; fgets(line, sizeof line, stdin); ++number) {
    int refused = 0;
    char *pace;
    long left = strtol(line, &pace, 10);
    const long milliseconds = strtol(pace, NULL, 10);
    for (; left > 0; --left) {
      refused += step();
      usleep((useconds_t)milliseconds * 1000);
    }
    for (int i = 0; i < kCameras; ++i) print(&now[i]);
    for (int i = 0; i < ended_count; ++i) print(&ended[i]);
    printf("end %d %d\n", number, refused);
    fflush(stdout);
  }
  end_of_heirs();
  for (int i = 0; i < kCameras; ++i) kill(now[i].pid, SIGKILL);
  return 0;
}
