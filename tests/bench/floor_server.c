// SPDX-License-Identifier: Apache-2.0
/* The least that a web server could be: it answers whatever one client asks with the same bytes,
 * those of a file. For scripts/bench: what of a scrape's cost is the kernel's. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static char answer[1 << 22];

static void serve(int client, size_t size) {
  char request[4096];
  size_t got = 0;
  for (;;) {
    const ssize_t more = recv(client, request + got, sizeof request - 1 - got, 0);
    if (more <= 0) return;
    got += (size_t)more;
    request[got] = '\0';
    if (strstr(request, "\r\n\r\n") == NULL) continue;
    got = 0;
    for (size_t sent = 0; sent < size;) {
      const ssize_t n = send(client, answer + sent, size - sent, MSG_NOSIGNAL);
      if (n <= 0) return;
      sent += (size_t)n;
    }
  }
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  FILE* file = fopen(argv[2], "r");
  if (file == NULL) return 1;
  const size_t size = fread(answer, 1, sizeof answer, file);
  fclose(file);
  if (size == sizeof answer) return 1;  // cut: its client would wait for the rest
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  const int on = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_port = htons((unsigned short)atoi(argv[1])),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  if (bind(listener, (struct sockaddr*)&address, sizeof address) != 0) return 1;
  if (listen(listener, 8) != 0) return 1;
  for (;;) {
    const int client = accept(listener, NULL, NULL);
    if (client < 0) return 1;
    setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    serve(client, size);
    close(client);
  }
}
