// SPDX-License-Identifier: Apache-2.0
// Many scrapers at once, for scripts/bench: each keeps a connection and asks for a page once a period,
// at a moment of its own; how long each answer took, from the first byte sent to the last one read.
//
//   bench_scrapers PORT SECONDS SCRAPERS PERIOD_MS SILENT [PATH@PERIOD_MS...]
//
// SILENT clients connect and say nothing, and come again when they are cut for it. Each PATH is asked for by
// one more client, over a new connection, as an open page does; its times are not counted. Prints "count p50 p99 most", in microseconds.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#define BUFFER (1 << 20)

struct client {
  const char* path;
  long period_us;
  long first_us;
  double* times;  // NULL: not counted
  size_t count, room;
};

static int port;
static double end_us;

static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void sleep_until(double us) {
  const struct timespec t = {.tv_sec = (time_t)(us / 1e6), .tv_nsec = (long)((us - 1e6 * (long)(us / 1e6)) * 1e3)};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

static _Noreturn void fail(const char* what) {
  perror(what);
  exit(1);
}

// Each from a loopback address of its own: one client alone may not have so many connections.
static int connected(void) {
  static atomic_uint clients = 0;
  const int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  struct sockaddr_in from = {.sin_family = AF_INET};
  from.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1 + atomic_fetch_add(&clients, 1) % 250);
  if (bind(s, (struct sockaddr*)&from, sizeof from) != 0) fail("bind");
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int on = 1;
  if (s < 0 || connect(s, (struct sockaddr*)&to, sizeof to) != 0) fail("connect");
  setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return s;
}

// Reads one answer whole: by its length, or to its last chunk.
static void take_answer(int s, char* buffer, int is_scrape) {
  size_t have = 0;
  for (;;) {
    const ssize_t n = recv(s, buffer + have, BUFFER - 1 - have, 0);
    if (n <= 0) fail("recv");
    have += (size_t)n;
    buffer[have] = 0;
    const char* body = memmem(buffer, have, "\r\n\r\n", 4);
    if (body == NULL) continue;
    // A busy device may say "later" to a question about the past; a scrape is always answered.
    if (memcmp(buffer + 9, "200", 3) != 0 && (is_scrape || memcmp(buffer + 9, "429", 3) != 0)) {
      fprintf(stderr, "%.60s\n", buffer);
      exit(1);
    }
    body += 4;
    const char* length = strcasestr(buffer, "content-length:");
    if (length != NULL && length < body) {
      if (have - (size_t)(body - buffer) >= strtoul(length + 15, NULL, 10)) return;
    } else if (have >= 5 && memcmp(buffer + have - 5, "0\r\n\r\n", 5) == 0) {
      return;
    }
  }
}

static void* run(void* given) {
  struct client* me = given;
  char* buffer = malloc(BUFFER);
  char request[300];
  const int length = snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", me->path);
  int s = connected();
  for (double due = now_us() + (double)me->first_us; due < end_us; due += (double)me->period_us) {
    sleep_until(due);
    if (me->times == NULL) {
      close(s);
      s = connected();
    }
    const double begin = now_us();
    if (send(s, request, (size_t)length, MSG_NOSIGNAL) != length) fail("send");
    take_answer(s, buffer, me->times != NULL);
    if (me->times != NULL && me->count < me->room) me->times[me->count++] = now_us() - begin;
  }
  close(s);
  free(buffer);
  return NULL;
}

static void* be_silent(void* unused) {
  (void)unused;
  for (;;) {
    const int s = connected();
    sleep_until(now_us() + 3e6);
    close(s);
  }
}

static int by_size(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

int main(int argc, char** argv) {
  if (argc < 6) return 2;
  port = atoi(argv[1]);
  const double seconds = atof(argv[2]);
  const int scrapers = atoi(argv[3]);
  const long period_us = atol(argv[4]) * 1000;
  const int silent = atoi(argv[5]), others = argc - 6;
  struct client* all = calloc((size_t)(scrapers + others), sizeof *all);
  pthread_t* threads = calloc((size_t)(scrapers + others), sizeof *threads);
  end_us = now_us() + seconds * 1e6;
  for (int i = 0; i < silent; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, be_silent, NULL) != 0) fail("pthread_create");
  }
  unsigned random = 7;
  for (int i = 0; i < scrapers + others; ++i) {
    struct client* c = &all[i];
    *c = (struct client){.path = "/metrics", .period_us = period_us};
    if (i < scrapers) {
      c->room = (size_t)(seconds * 1e6 / (double)period_us) + 2;
      c->times = calloc(c->room, sizeof *c->times);
    } else {
      char* path = argv[6 + i - scrapers];
      char* at = strrchr(path, '@');
      if (at == NULL) return 2;
      *at = 0;
      c->path = path;
      c->period_us = atol(at + 1) * 1000;
    }
    c->first_us = (long)((double)c->period_us * (rand_r(&random) / (RAND_MAX + 1.0)));
    if (pthread_create(&threads[i], NULL, run, c) != 0) fail("pthread_create");
  }
  size_t count = 0;
  for (int i = 0; i < scrapers + others; ++i) {
    pthread_join(threads[i], NULL);
    count += all[i].count;
  }
  double* times = calloc(count + 1, sizeof *times);
  size_t at = 0;
  for (int i = 0; i < scrapers; ++i) {
    for (size_t j = 0; j < all[i].count; ++j) times[at++] = all[i].times[j];
  }
  if (count == 0) return 1;
  qsort(times, count, sizeof *times, by_size);
  printf("%zu %.0f %.0f %.0f\n", count, times[count / 2], times[count * 99 / 100], times[count - 1]);
  return 0;
}
