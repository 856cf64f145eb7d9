// SPDX-License-Identifier: Apache-2.0
// Where a process belongs: /proc/<pid>/cgroup.
//
// Format (kernel/cgroup/cgroup.c, proc_cgroup_show()): "hierarchy:controllers:path" a line.
//
//   0::/system.slice/camera.service              version 2 (Ubuntu 22.04; 4.5)
//   12:memory:/docker/<64 hex digits>            version 1, a line for each hierarchy
//   1:name=systemd:/system.slice/camera.service
//   0::/system.slice/camera.service              both at once, "hybrid" (Ubuntu 18.04, 20.04)
//
// " (deleted)" stands behind the path of a group that was removed. No name in it has a newline: the
// kernel refuses such.
#pragma once

#include <string>
#include <string_view>

namespace jetmem {

struct Cgroup {
  // The last component that systemd manages: "camera.service", "user@1000.service". Empty: none.
  std::string_view unit;
  // The first 12 digits of the container's id, as `docker ps` shows it; of LXC its name. Empty: in
  // none. Of Docker, Podman, containerd, CRI-O and LXC.
  std::string_view container;
};

// By the first line with the id of a container: in a hybrid Docker is often in systemd's and
// memory's only. Without one by the line of version 2, unless that says nothing ("/"), else
// systemd's, else memory's. Both point into `text`.
Cgroup parse_cgroup(std::string_view text);

// The same of one path: "/system.slice/docker-<64 hex digits>.scope".
Cgroup cgroup_of_path(std::string_view path);

// Those lines of the file that parse_cgroup() looks at: a fraction of it in version 1.
void append_cgroup_lines(std::string& out, std::string_view text);

// The unit's kind, so that one of a kind is one of a name: what a container's id, a UUID or a
// number stands for becomes '*' ("docker-*.scope", "vte-spawn-*.scope", "session-c2.scope",
// "run-u*.service"), as does what is beyond 64 bytes.
void assign_unit_kind(std::string& out, std::string_view unit);

}  // namespace jetmem
