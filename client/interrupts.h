#pragma once

#include <functional>
#include <string>
#include <thread>

namespace scyper::client {

// Ctrl-C in the interactive shell: at the prompt it gives up the line, while a statement runs it ends that one.
// Threads: made and used by the shell's thread; a thread of its own calls `cancel`, which no signal handler could.
// Fork: children that get the terminal's signal too (snapshots of an ephemeral node) ignore it.
class Interrupts {
 public:
  explicit Interrupts(std::function<void()> cancel);  // one at a time
  ~Interrupts();

  enum class Input { kLine, kEnd, kInterrupted };
  // A line from the terminal, without its line break.
  Input read_line(const std::string& prompt, std::string* line);

 private:
  const std::function<void()> cancel_;
  std::thread thread_;
};

}  // namespace scyper::client
