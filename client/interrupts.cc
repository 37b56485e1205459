#include "interrupts.h"

#include <editline/readline.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace scyper::client {

namespace {

// Signal handlers have no owner; there is one terminal.
pid_t process;
pthread_t reader;
sigjmp_buf prompt_jump;
volatile sig_atomic_t is_reading = 0;
sem_t pressed;
std::atomic<bool> is_ending{false};

void on_interrupt(int) {
  if (getpid() != process) return;
  if (pthread_equal(pthread_self(), reader) == 0) {
    pthread_kill(reader, SIGINT);
  } else if (is_reading != 0) {
    is_reading = 0;
    siglongjmp(prompt_jump, 1);
  } else {
    sem_post(&pressed);
  }
}

void set_handler(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
}

// As psql does it. Nothing here needs a destructor.
char* read_or_jump(const char* prompt, bool* was_interrupted) {
  if (sigsetjmp(prompt_jump, 1) != 0) {
    *was_interrupted = true;
    return nullptr;
  }
  is_reading = 1;
  char* line = readline(prompt);
  is_reading = 0;
  return line;
}

}  // namespace

Interrupts::Interrupts(std::function<void()> cancel) : cancel_(std::move(cancel)) {
  process = getpid();
  reader = pthread_self();
  is_ending = false;
  sem_init(&pressed, 0, 0);
  set_handler(on_interrupt);
  thread_ = std::thread([this] {
    while (true) {
      if (sem_wait(&pressed) != 0) continue;
      if (is_ending) return;
      cancel_();
    }
  });
}

Interrupts::~Interrupts() {
  set_handler(SIG_DFL);
  is_ending = true;
  sem_post(&pressed);
  thread_.join();
  sem_destroy(&pressed);
}

Interrupts::Input Interrupts::read_line(const std::string& prompt, std::string* line) {
  bool was_interrupted = false;
  char* text = read_or_jump(prompt.c_str(), &was_interrupted);
  if (was_interrupted) return Input::kInterrupted;
  if (text == nullptr) return Input::kEnd;
  *line = text;
  std::free(text);
  return Input::kLine;
}

}  // namespace scyper::client
