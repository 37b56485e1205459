// The first process of a virtual machine that tries something (tools/vm/functions): mounts, loads /modules in the order
// of /modules/order, runs /program with the lines of /arguments, says how it ended and switches the machine off.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kLineBytes = 256, kArgumentsMax = 16 };

static int read_line(FILE* file, char* line) {
  if (file == NULL || fgets(line, kLineBytes, file) == NULL) return 0;
  line[strcspn(line, "\n")] = 0;
  return 1;
}

static void load_modules(void) {
  char name[kLineBytes], path[kLineBytes + 16];
  FILE* order = fopen("/modules/order", "r");
  while (read_line(order, name)) {
    snprintf(path, sizeof(path), "/modules/%s.ko", name);
    const int file = open(path, O_RDONLY);
    if (syscall(SYS_finit_module, file, "", 0) != 0) perror(path);
    close(file);
  }
}

static void mount_at(const char* path, const char* type) {
  mkdir(path, 0755);
  if (mount(type, path, type, 0, NULL) != 0) perror(path);
}

int main(void) {
  static char lines[kArgumentsMax][kLineBytes];
  char* arguments[kArgumentsMax + 2] = {"/program"};
  mount_at("/proc", "proc");
  mount_at("/sys", "sysfs");
  mount_at("/dev", "devtmpfs");
  mount_at("/tmp", "tmpfs");
  mount_at("/run", "tmpfs");
  load_modules();
  FILE* given = fopen("/arguments", "r");
  for (int i = 0; i < kArgumentsMax && read_line(given, lines[i]); ++i) arguments[i + 1] = lines[i];
  setenv("PATH", "/bin", 1);
  setenv("HOME", "/tmp", 1);
  int status = 0;
  const pid_t child = fork();
  if (child == 0) {
    execv(arguments[0], arguments);
    perror(arguments[0]);
    _exit(127);
  }
  for (int other; (other = wait(&status)) != child;) {
    if (other < 0) break;
  }
  printf("vm: exit %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  fflush(stdout);
  sync();
  reboot(RB_POWER_OFF);
  return 1;
}
