"""Compilers, build tools and what they build: C, C++, Java, Perl, make, cmake, sanitizers."""

import pytest

from tests.wall.ordinary.conftest import Desk, needs

pytestmark = pytest.mark.django_db

C_PROGRAM = r"""
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static void *twice(void *n) { *(int *)n *= 2; return n; }

int main(void) {
    pthread_t thread;
    int n = 21, status;
    pthread_create(&thread, NULL, twice, &n);
    pthread_join(thread, NULL);
    if (fork() == 0) _exit(n);
    wait(&status);
    printf("%d\n", WEXITSTATUS(status));
    return 0;
}
"""


@needs("gcc")
def test_a_c_program_is_compiled_and_run(desk: Desk) -> None:
    desk.write("main.c", C_PROGRAM)
    assert desk.runs("gcc -O2 -Wall -Werror -pthread -o main main.c && ./main") == "42"


@needs("g++")
def test_a_cpp_program_is_compiled_and_run(desk: Desk) -> None:
    source = (
        "#include <future>\n#include <iostream>\nint main() { std::cout << std::async([] { return 42; }).get(); }\n"
    )
    desk.write("main.cpp", source)
    assert desk.runs("g++ -std=c++17 -pthread -o main main.cpp && ./main") == "42"


@needs("gcc")
@pytest.mark.parametrize(
    ("sanitizer", "body", "found"),
    [
        ("leak", "char *volatile p = malloc(8); p = 0; return p != 0;", "detected memory leaks"),
        ("undefined", "int n = 2147483647; n += argc; return n == 0;", "signed integer overflow"),
    ],
)
def test_a_sanitizer_finds_the_fault(desk: Desk, sanitizer: str, body: str, found: str) -> None:
    desk.write("fault.c", f"#include <stdlib.h>\nint main(int argc, char **argv) {{ {body} }}\n")
    desk.runs(f"gcc -fsanitize={sanitizer} -fno-sanitize-recover=all -g -w -o fault fault.c")
    assert found in desk.fails("./fault")


@needs("gcc")
@pytest.mark.parametrize(
    ("sanitizer", "body", "found"),
    [
        ("address", "char *volatile p = malloc(8); free((char *)p); return p[0];", "heap-use-after-free"),
        ("thread", "pthread_create(&t, 0, add, 0); add(0); pthread_join(t, 0); return 0;", "data race"),
    ],
)
def test_a_sanitizer_that_reserves_terabytes_says_how_it_can_run(
    desk: Desk, sanitizer: str, body: str, found: str
) -> None:
    shared = "int n; pthread_t t; void *add(void *p) { n++; return p; }\n"
    desk.write("fault.c", f"#include <stdlib.h>\n#include <pthread.h>\n{shared}int main(void) {{ {body} }}\n")
    desk.runs(f"gcc -fsanitize={sanitizer} -g -w -pthread -o fault fault.c")
    assert "ulimit -d unlimited" in desk.fails("./fault")
    assert found in desk.fails("ulimit -d unlimited && ./fault")


MAKEFILE = """
objects := $(patsubst %.c,%.o,$(wildcard parts/*.c))
all: main
	./main
main: main.c $(objects)
	$(CC) -o $@ $^
%.o: %.c
	$(CC) -O1 -c -o $@ $<
"""


@needs("make", "gcc")
def test_make_builds_many_files_at_once(desk: Desk) -> None:
    count = 60
    declared = "".join(f"int part{n}(void);\n" for n in range(count))
    summed = " + ".join(f"part{n}()" for n in range(count))
    desk.write("Makefile", MAKEFILE)
    desk.write("main.c", f'#include <stdio.h>\n{declared}int main(void) {{ printf("%d\\n", {summed}); return 0; }}\n')
    for n in range(count):
        desk.write(f"parts/part{n}.c", f"int part{n}(void) {{ return {n}; }}\n")
    assert desk.runs("make -j4 --silent") == str(sum(range(count)))


@needs("cmake", "make", "gcc")
def test_cmake_configures_builds_and_tests(desk: Desk) -> None:
    desk.write("main.c", C_PROGRAM)
    desk.write(
        "CMakeLists.txt",
        "cmake_minimum_required(VERSION 3.10)\nproject(demo C)\nfind_package(Threads REQUIRED)\nadd_executable(demo "
        "main.c)\ntarget_link_libraries(demo Threads::Threads)\nenable_testing()\nadd_test(NAME runs COMMAND demo)\n",
    )
    printed = desk.runs("cmake -S . -B build && cmake --build build -j2 && ctest --test-dir build --output-on-failure")
    assert "100% tests passed" in printed


@needs("java", "javac")
def test_java_is_compiled_and_run(desk: Desk) -> None:
    desk.write(
        "Main.java",
        "import java.util.stream.*;\npublic class Main { public static void main(String[] a) throws Exception {\n"
        "  int sum = IntStream.range(0, 1000).parallel().sum();\n"
        '  var child = new ProcessBuilder("echo", "child").inheritIO().start();\n'
        '  child.waitFor();\n  System.out.println(sum + " " + System.getProperty("user.home"));\n} }\n',
    )
    printed = desk.runs("java -version 2>&1 | grep -c -i version; javac Main.java && java Main")
    assert printed == "1\nchild\n499500 /home/agent"


@needs("perl")
def test_perl_runs(desk: Desk) -> None:
    script = r"""perl -MPOSIX -MFile::Temp=tempfile -e '
        my ($handle, $name) = tempfile(); print $handle "a b c"; close $handle;
        open my $in, "<", $name; my @words = split / /, <$in>;
        my $pid = fork; exit 3 unless $pid; waitpid $pid, 0;
        print scalar(@words), " ", $? >> 8, "\n";'"""
    assert desk.runs(script) == "3 3"


@needs("gdb", "gcc")
def test_a_debugger_stops_at_a_line(desk: Desk) -> None:
    desk.write("main.c", "int twice(int n) { return 2 * n; }\nint main(void) { return twice(21) != 42; }\n")
    printed = desk.runs("gcc -g -o main main.c && gdb -batch -ex 'break twice' -ex run -ex 'print n' ./main 2>&1")
    assert "$1 = 21" in printed
