"""The checks find what they are for: each is shown a small tree that breaks its rule."""

import os
import sys
import tempfile
import textwrap
import unittest

import format
import includes
import lengths
import precompiled
import protos
import readmes
import shell
import tree

ROOT = sys.argv.pop() if len(sys.argv) > 1 and os.path.isdir(sys.argv[-1]) else "."


class Tree(unittest.TestCase):
    def setUp(self):
        self.holder = tempfile.TemporaryDirectory()
        self.root = self.holder.name
        self.write("tools/checks/layers.txt", tree.read(ROOT, "tools/checks/layers.txt"))
        self.write("tools/checks/function_length_allowed.txt", "# none\n")
        self.write(".clang-format", tree.read(ROOT, ".clang-format"))

    def tearDown(self):
        self.holder.cleanup()

    def write(self, path, text):
        path = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


class Shell(Tree):
    def test_finds_what_shellcheck_finds(self):
        self.write("tools/good", "#!/bin/sh\necho \"$1\"\n")
        self.write("tools/bad", "#!/usr/bin/env bash\nrm $1\n")
        self.write("tools/python", "#!/usr/bin/env python3\nrm $1\n")
        self.assertEqual([line.split(":")[0] for line in shell.problems_of(self.root)], ["tools/bad"])


class Format(Tree):
    def test_finds_and_mends(self):
        self.write("base/x.cc", "int  f( );\n")
        self.write("base/y.cc", "int f();\n")
        self.assertEqual([line.split(":")[0] for line in format.unformatted(self.root)], ["base/x.cc"])
        format.unformatted(self.root, fix=True)
        self.assertEqual(format.unformatted(self.root), [])


class Precompiled(Tree):
    def test_names_without_their_headers(self):
        self.write("cmake/Scyper.cmake", "set(SCYPER_PCH <string> <vector>\n               <iostream>)\n")
        self.write("base/include/base/text.h", "#pragma once\n#include <string>\nstd::string f();  // std::vector\n")
        self.write("storage/good.h", '#pragma once\n#include <vector>\n#include "base/text.h"\nstd::vector<std::string> f();\n')
        self.write("storage/bad.h", '#pragma once\n#include "base/text.h"\nstd::vector<std::string> f();\n')
        self.assertEqual(list(precompiled.Headers(self.root).problems()),
                         ["cmake/Scyper.cmake: nothing is known of <iostream> here",
                          "storage/bad.h: std::vector without <vector>"])


class Readmes(Tree):
    def test_missing_and_too_long(self):
        for folder in tree.FOLDERS:
            self.write(folder + "/README.md", "x\n" * 40)
        self.assertEqual(list(readmes.problems_of(self.root)), [])
        self.write("base/README.md", "x\n" * 41)
        os.remove(os.path.join(self.root, "kmod/README.md"))
        self.assertEqual(len(list(readmes.problems_of(self.root))), 2)


class Includes(Tree):
    def problems(self):
        return list(includes.Includes(self.root).problems())

    def setUp(self):
        super().setUp()
        self.write("base/include/base/a.h", "#pragma once\n")
        self.write("storage/include/storage/s.h", '#pragma once\n#include "base/a.h"\n')
        self.write("storage/hidden.h", '#pragma once\n#include "storage/s.h"\n')

    def test_right_ones_pass(self):
        self.write("storage/s.cc", '#include "storage/s.h"\n#include <vector>\n#include "base/a.h"\n#include "hidden.h"\n')
        self.write("query/plan/p.h", "#pragma once\n")
        self.write("query/plan/p.cc", '#include "plan/p.h"\n\n#include <llvm/IR/Module.h>\n#include "storage/s.h"\n')
        self.assertEqual(self.problems(), [])

    def test_wrong_direction(self):
        self.write("base/a.cc", '#include "base/a.h"\n#include "storage/s.h"\n')
        self.write("replication/r.cc", '#include "storage/s.h"\n')
        self.assertEqual(len(self.problems()), 2)

    def test_private_header_of_another_folder(self):
        self.write("query/q.cc", '#include "storage/hidden.h"\n')
        self.assertIn("not a public header", self.problems()[0])

    def test_tests_may_use_the_oracle(self):
        self.write("tests/include/tests/postgres_server.h", "#pragma once\n")
        self.write("query/testing/x.cc", '#include <libpq-fe.h>\n#include "tests/postgres_server.h"\n')
        self.assertEqual(self.problems(), [])
        self.write("query/x.cc", '#include <libpq-fe.h>\n#include "tests/postgres_server.h"\n')
        self.assertEqual(len(self.problems()), 2)

    def test_own_header_first(self):
        self.write("storage/s.cc", '#include "base/a.h"\n#include "storage/s.h"\n')
        self.write("storage/hidden_test.cc", '#include <gtest/gtest.h>\n#include "hidden.h"\n')
        self.assertEqual(len(self.problems()), 2)

    def test_pragma_once(self):
        self.write("base/include/base/b.h", "struct B {};\n")
        self.assertIn("pragma once", self.problems()[0])

    def test_foreign_headers(self):
        self.write("storage/x.cc", '#include "llvm/IR/Module.h"\n')
        self.write("query/jit.h", "#pragma once\n#include <llvm/IR/Module.h>\n")
        self.write("query/net.cc", "#include <grpcpp/grpcpp.h>\n")
        self.write("query/wire.cc", '#include "proto/wire.pb.h"\n')
        self.assertEqual(len([p for p in self.problems() if "belongs into" in p]), 4)
        self.write(includes.ALLOWED, "query/jit.h\nquery/gone.h\n")
        problems = self.problems()
        self.assertEqual(len([p for p in problems if "belongs into" in p]), 3)
        self.assertIn("is gone", problems[-1])


class Lengths(Tree):
    SOURCE = textwrap.dedent("""\
        #include <x>
        #define MACRO(a) { \\
          a {
        namespace scyper {
        namespace {
        constexpr int kTable[] = {1, 2, 3};
        const char* kText = "{{{"; // {{{
        const auto kRaw = R"(} } {)";
        int one() { return 1'000; }
        }  // namespace
        enum class Kind : uint8_t { kA, kB };
        template <typename T, typename U = std::vector<T>>
        class ABSL_LOCKABLE Box final : public Base<T> {
         public:
          Box() : a_{1}, b_{2} {
            go();
          }
          int get() const noexcept override {
            if (a_) {
              return '{';
            }
            return 0;
          }
          int fast(std::function<int()> f = [] { return 1; }) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

         private:
          int a_ = {};
          int b_{0};
        };
        template <typename T>
        auto Box<T>::operator()(
            int a,
            int b) -> int {
          auto f = [&](int x) {
            return x;
          };
          return f(a);
        }
        extern "C" {
        void c_function(void) {
        }
        }
        __attribute__((hot, optnone)) struct Plain make(int (*callback)(int)) {
          return {};
        }
        }  // namespace scyper
        """)

    def test_sees_every_function(self):
        self.assertEqual(list(lengths.functions(self.SOURCE)),
                         [("one", 1), ("Box", 3), ("get", 6), ("Box<T>::operator()", 9), ("c_function", 2), ("make", 3)])

    def test_limits_and_ratchet(self):
        body = "int f() {\n" + "  g();\n" * 70 + "}\n"  # 72 lines
        self.write("base/x.cc", body)
        self.write("base/x_test.cc", body)
        self.write("base/y.cc", "int g();\n" * 601)
        problems = list(lengths.problems_of(self.root))
        self.assertEqual(len(problems), 2, problems)
        self.write(lengths.ALLOWED, "base/x.cc f 72\nbase/y.cc file 601\n")
        self.assertEqual(list(lengths.problems_of(self.root)), [])
        self.write(lengths.ALLOWED, "base/x.cc f 80\nbase/y.cc file 601\nbase/z.cc h 90\n")
        problems = list(lengths.problems_of(self.root))
        self.assertIn("shrank", problems[0])
        self.assertIn("remove it", problems[1])


class Protos(Tree):
    GOOD = """
        syntax = "proto3"; // a comment with ; and }
        package scyper.v1;
        service Greeter { rpc Greet(GreetRequest) returns (stream GreetResponse); }
        message GreetRequest { string first_name = 1; oneof wish { uint32 wait_ms = 3; bool now = 4; } enum Tone { NONE = 0; LOUD = 1; } }
        message GreetResponse { repeated bytes words = 1; map<string, string> more = 2; optional Inner inner = 5; message Inner { bool a = 1; } }
        """

    def found(self, text, record=None):
        self.write("proto/x.proto", textwrap.dedent(text))
        lines = protos.recorded_lines(self.root) if record is None else record
        self.write(protos.RECORD, "".join(line + "\n" for line in lines))
        return list(protos.problems_of(self.root))

    def test_style(self):
        self.assertEqual(self.found(self.GOOD), [])
        self.assertEqual(len(protos.recorded_lines(self.root)), 10)
        for right, wrong, what in [("first_name", "firstName", "is not named"), ("LOUD = 1", "Loud = 1", "is not named"), ("NONE = 0", "NONE = 2", "is not 0"),
                                   ("wait_ms = 3", "wait_ms = 1", "has the number of first_name"), ("now = 4", "now = 19001", "protobuf's"),
                                   ("scyper.v1", "scyper", "no version"), ("message GreetRequest", "message greet_request", "is not named"),
                                   ("proto3", "proto2", "not proto3"), ("bool a = 1;", "group A = 1 {}", "not understood")]:
            problems = self.found(self.GOOD.replace(right, wrong))
            self.assertTrue(problems and what in problems[0], (wrong, problems))

    def test_what_clients_know_stays(self):
        self.found(self.GOOD)
        known = protos.recorded_lines(self.root)
        for right, wrong in [("wait_ms = 3", "wait_ms = 7"), ("uint32 wait_ms", "uint64 wait_ms"), ("bool now = 4;", ""), ("repeated bytes", "bytes"),
                             ("returns (stream GreetResponse)", "returns (GreetResponse)"), ("LOUD = 1", "LOUD = 2")]:
            problems = self.found(self.GOOD.replace(right, wrong), known)
            self.assertTrue(any("gone or changed" in problem for problem in problems), (wrong, problems))
        problems = self.found(self.GOOD.replace("bool now = 4;", "bool now = 4; bool later = 8;"), known)
        self.assertEqual(len(problems), 1)
        self.assertIn("not recorded", problems[0])


if __name__ == "__main__":
    unittest.main()
