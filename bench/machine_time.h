#pragma once

#include <unistd.h>

#include <fstream>
#include <string>

namespace scyper::bench {

// Seconds that all cores of the machine have worked: what the kernel does for packets counts to no process.
inline double machine_busy_s() {
  std::ifstream file("/proc/stat");
  std::string name;
  double user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, soft_irq = 0;
  file >> name >> user >> nice >> system >> idle >> wait >> irq >> soft_irq;
  return (user + nice + system + irq + soft_irq) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

}  // namespace scyper::bench
