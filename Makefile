# tlbreplay: build, check, demo, install. "make V=1" shows the commands.
#
#   make                  everything, into build/
#   make deps             install what is missing from Debian (needs root)
#   make demo             replay a shipped recording and show its overview
#   make check            all tests
#   make fuzz             fuzz every parser for FUZZ_TIME seconds each (make fuzz-deps installs what for)
#   make lab              record in emulated arm64 and x86 machines and compare the counts
#   make truth            predictions against kernels that really did it (45 minutes the first time)
#   make SAN=address,undefined check    the same under sanitizers, in its own build folder

PREFIX  ?= /usr/local
BINDIR  ?= $(PREFIX)/bin
LIBDIR  ?= $(PREFIX)/lib
COMPDIR ?= $(PREFIX)/share/bash-completion/completions
MANDIR  ?= $(PREFIX)/share/man
DOCDIR  ?= $(PREFIX)/share/doc/tlbreplay
LIBEXECDIR ?= $(PREFIX)/libexec/tlbreplay
UNITDIR ?= $(PREFIX)/lib/systemd/system
INCDIR  ?= $(PREFIX)/include/tlbreplay
VERSION := 0.1.0

CC      ?= gcc
CFLAGS  ?= -O3 -g
SAN     ?=
PKGS_COMMON  :=
PKGS_CAPTURE := libtracefs libtraceevent
PKGS_REPLAY  := libtraceevent libzstd sqlite3
PKGS_ANALYSIS := sqlite3
PKGS_TESTS   := libtracecmd libtracefs $(PKGS_REPLAY)

comma := ,
B := build$(if $(SAN),-$(subst $(comma),-,$(SAN)))
Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-8s %s\n' '$(1)' '$(2)')

WARN := -Wall -Wextra -Wshadow
# Recordings come from strangers and tlbcapture runs as root. docs/threat-model.md says what this costs.
HARDEN := -fstack-protector-strong -fPIE \
	$(if $(SAN),,$(if $(filter -O1 -O2 -O3 -Os -Ofast,$(CFLAGS)),-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2))
HARDEN_LD := -Wl,-z,relro,-z,now
ALL_CFLAGS = -std=gnu11 -pthread $(WARN) $(HARDEN) -I. -I$(B)/gen -D_GNU_SOURCE -DTLBREPLAY_VERSION='"$(VERSION)"' \
	$(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all) $(CFLAGS)
ALL_LDFLAGS = $(HARDEN_LD) $(if $(SAN),-fsanitize=$(SAN)) $(LDFLAGS)
pkg_cflags = $(if $(1),$(shell pkg-config --cflags $(1)))
pkg_libs   = $(if $(1),$(shell pkg-config --libs $(1)))

PROGRAMS := tlbreplay tlbcapture tlbreport tlbexport tlbcalibrate
SCRIPTS  := tlbfleet
COMMON   := $(wildcard common/*.c schema/*.c)
REPLAY   := $(wildcard replay/*.c replay/policies/*.c)
CALIBRATE := $(wildcard capture/calibrate*.c)
CAPTURE  := $(filter-out $(CALIBRATE),$(wildcard capture/*.c))
# analysis/ is three things: tlbreport, and what looks at raw events: an SQLite extension, an export.
VTAB     := analysis/vtab.c analysis/rawtrace.c
EXPORT   := analysis/export.c
ANALYSIS := $(filter-out $(VTAB) $(EXPORT) analysis/json.c,$(wildcard analysis/*.c))
UNIT     := $(wildcard tests/unit/*.c)
TOOLS    := $(wildcard tests/tools/*.c)
HARNESSES := $(filter-out tests/fuzz/main.c,$(wildcard tests/fuzz/*.c))
SOURCES  := $(COMMON) $(REPLAY) $(CAPTURE) $(CALIBRATE) $(ANALYSIS) $(VTAB) $(EXPORT) analysis/json.c $(UNIT) $(TOOLS) \
	$(HARNESSES) tests/fuzz/main.c $(wildcard examples/headline/*.c)
objects   = $(patsubst %.c,$(B)/%.o,$(1))
REPLAY_LIB := $(filter-out replay/main.c,$(REPLAY))

all: $(addprefix $(B)/,$(PROGRAMS) $(SCRIPTS)) $(B)/tlbtrace.so compile_commands.json

$(B)/tlbreplay: $(call objects,$(REPLAY) $(COMMON))
# What the installed headers declare, for policies from shared objects. Nothing else: a name that we
# export would take the place of theirs.
EXPORTS := arm64_* x86_* policy_* policies param_* number_* point_name level_name scope_name staleness_name
$(B)/tlbreplay: LIBS = $(call pkg_libs,$(PKGS_REPLAY)) -lm -ldl \
	$(patsubst %,'-Wl$(comma)--export-dynamic-symbol=%',$(EXPORTS))
$(B)/tlbcapture: $(call objects,$(CAPTURE) $(COMMON))
$(B)/tlbcapture: LIBS = $(call pkg_libs,$(PKGS_CAPTURE)) -lm
$(B)/tlbcalibrate: $(call objects,$(CALIBRATE) $(COMMON))
$(B)/tlbcalibrate: LIBS = -pthread -lm
$(B)/tlbreport: $(call objects,$(ANALYSIS) $(COMMON))
$(B)/tlbreport: LIBS = $(call pkg_libs,$(PKGS_ANALYSIS)) -lm
$(B)/tlbexport: $(call objects,$(EXPORT) analysis/json.c $(REPLAY_LIB) $(COMMON))
$(B)/tlbexport: LIBS = $(call pkg_libs,$(PKGS_REPLAY)) -lm
$(addprefix $(B)/,$(PROGRAMS)):
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) $(LIBS)

$(addprefix $(B)/,$(SCRIPTS)): $(B)/%: analysis/%
	$(Q)mkdir -p $(@D)
	$(Q)sed 's/@VERSION@/$(VERSION)/' $< > $@ && chmod +x $@

# The extension: what it needs of the reader, as position-independent code; it shows one symbol.
EXTENSION := $(VTAB) analysis/json.c schema/catalogue.c schema/format.c schema/snapshot.c schema/terms.c \
	$(addprefix replay/,container.c formats.c map.c page.c source.c stream.c)
$(B)/tlbtrace.so: $(patsubst %.c,$(B)/pic/%.o,$(EXTENSION))
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -shared -o $@ $^ $(call pkg_libs,libtraceevent libzstd) -lm
$(B)/pic/%.o: %.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -fPIC -fvisibility=hidden $(call pkg_cflags,$(PKGS_REPLAY)) -MMD -MP -c -o $@ $<

# One program per file in tests/unit (a test) and tests/tools (what tests and the bench use).
UNIT_BIN  := $(patsubst tests/unit/%.c,$(B)/tests/unit/%,$(UNIT))
TOOLS_BIN := $(patsubst tests/tools/%.c,$(B)/tests/tools/%,$(TOOLS))
$(UNIT_BIN) $(TOOLS_BIN): $(B)/tests/%: $(B)/tests/%.o $(call objects,$(REPLAY_LIB) $(COMMON))
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) $(call pkg_libs,$(PKGS_TESTS)) -lm -ldl

# One harness per file in tests/fuzz. With main.c a program that runs files, else a fuzzer's.
FUZZ_MAIN := $(call objects,tests/fuzz/main.c)
FUZZ_LINK :=
FUZZ_BIN  := $(patsubst tests/fuzz/%.c,$(B)/tests/fuzz/%,$(HARNESSES))
FUZZ_OBJECTS := $(call objects,$(REPLAY_LIB) $(COMMON) analysis/rawtrace.c analysis/json.c \
	$(filter-out analysis/main.c,$(ANALYSIS)) $(filter-out capture/main.c,$(CAPTURE)))
$(FUZZ_BIN): $(B)/tests/fuzz/%: $(B)/tests/fuzz/%.o $(FUZZ_MAIN) $(B)/tests/fuzz/.objects.a
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $(FUZZ_LINK) -o $@ $(filter %.o %.a,$^) \
	  $(call pkg_libs,$(PKGS_TESTS)) -lm -ldl
$(B)/tests/fuzz/.objects.a: $(FUZZ_OBJECTS)
	$(Q)mkdir -p $(@D) && rm -f $@ && ar rcs $@ $^
fuzzers: $(FUZZ_BIN)

# Preloaded by tests/faults: allocations, reads and writes that fail.
test-programs: $(B)/tests/faults/shim.so
$(B)/tests/faults/shim.so: tests/faults/shim.c
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 $(WARN) -D_GNU_SOURCE -O2 -fPIC -shared -o $@ $< -ldl

# The example workloads: plain C that needs nothing of the rest.
HEADLINE := $(addprefix $(B)/examples/headline/,usemem servers loopers)
$(HEADLINE): $(B)/%: $(B)/%.o $(B)/examples/headline/recording.o
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $^
# The seeds' two headlines from recordings at their true size: some minutes, 8 GiB. HEADLINE_OPTIONS=--small
headline: $(HEADLINE) $(B)/tlbreplay
	$(Q)BUILD=$(B) examples/headline/headline $(HEADLINE_OPTIONS)
.PHONY: headline

test-programs: $(HEADLINE) $(B)/examples/forkwp $(B)/examples/workload
$(B)/examples/forkwp $(B)/examples/workload: $(B)/examples/%: examples/%.c
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -pthread -o $@ $<

$(B)/%.o: %.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(call pkg_cflags,$(PKGS_TESTS)) -MMD -MP -c -o $@ $<

# A folder, not what the built-in rules would make of schema/costs.c.
schema/costs: ;
# The presets there are; a folder is newer once a file came or went.
$(B)/gen/costs.inc: schema/costs $(wildcard schema/costs/*.cost)
	$(Q)mkdir -p $(@D)
	$(Q)for f in $(sort $(wildcard schema/costs/*.cost)); do \
	  n=$${f##*/}; printf '{"%s",\n#include "%s.h"\n},\n' "$${n%.cost}" "$$f"; done > $@
$(call objects,schema/costs.c): $(B)/gen/costs.inc $(patsubst %,$(B)/gen/%.h,$(wildcard schema/costs/*.cost))

# Text that programs carry inside them, as C string literals: SQL and gnuplot files.
GEN := $(patsubst %,$(B)/gen/%.h,$(wildcard schema/*.sql analysis/reports/*.sql analysis/reports/*.gp \
	schema/costs/*.cost))
gen: $(GEN)
$(GEN): $(B)/gen/%.h: %
	$(Q)mkdir -p $(@D)
	$(Q)sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/"/' -e 's/$$/\\n"/' $< > $@
$(call objects,$(SOURCES)): | $(GEN)

# The list of reports, from the files there are; a folder is newer once a file came or went.
$(B)/gen/reports.inc: analysis/reports
	$(Q)mkdir -p $(@D)
	$(Q)for f in $(patsubst %.sql,%,$(sort $(wildcard analysis/reports/*.sql))); do \
	  printf '{.name = "%s", .sql =\n#include "%s.sql.h"\n' "$${f##*/}" "$$f"; \
	  test ! -e $$f.gp || printf ', .gp =\n#include "%s.gp.h"\n' "$$f"; \
	  echo '},'; done > $@
$(call objects,analysis/report.c): | $(B)/gen/reports.inc

compile_commands.json: Makefile $(SOURCES)
	$(Q){ echo '['; sep=; for f in $(SOURCES); do \
	  printf '%s{"directory":"%s","file":"%s","command":"$(CC) %s -c %s"}\n' "$$sep" "$(CURDIR)" \
	    "$$f" '$(subst ",\",$(ALL_CFLAGS))' "$$f"; sep=,; done; echo ']'; } > $@

DEPS := gcc libc6-dev pkg-config libtraceevent-dev libtracefs-dev libtracecmd-dev libzstd-dev \
	libsqlite3-dev sqlite3 trace-cmd gnuplot-nox python3 valgrind systemtap-sdt-dev
deps:
	$(Q)mkdir -p $(B); missing=; for p in $(DEPS); do \
	  dpkg-query -W -f '$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || missing="$$missing $$p"; \
	done; if [ -n "$$missing" ]; then echo "installing:$$missing"; \
	  export DEBIAN_FRONTEND=noninteractive; \
	  apt-get install -y -q --no-install-recommends $$missing >$(B)/deps.log 2>&1 || \
	  { apt-get update -q && apt-get install -y -q --no-install-recommends $$missing; } \
	    >$(B)/deps.log 2>&1 || { cat $(B)/deps.log; exit 1; }; \
	else echo 'nothing is missing'; fi

# For make fuzz, fuzz-afl and lint.
FUZZ_DEPS := clang libclang-rt-dev llvm afl++ cppcheck clang-tidy
fuzz-deps:
	$(Q)$(MAKE) --no-print-directory deps DEPS='$(FUZZ_DEPS)'

demo: $(B)/tlbreplay $(B)/tlbreport
	$(Q)$(B)/tlbreplay -o $(B)/demo.db examples/arm64-broadcast.dat
	$(Q)$(B)/tlbreport $(B)/demo.db

test-programs: all $(UNIT_BIN) $(TOOLS_BIN) $(FUZZ_BIN)
check: test-programs
	$(Q)BUILD=$(B) tests/run $(TESTS)

# Its options: make bench BENCH="--large --write docs/performance.md"; BENCH=--help lists them.
bench: $(addprefix $(B)/tests/tools/,gentrace measure bytesum trace-count trace-fields tracecmd-count \
	sqlite-share open-time) $(B)/tlbreplay
	$(Q)BUILD=$(B) tests/bench.py $(BENCH)

# Instructions per event, against tests/guard.tsv; make guard UPDATE=1 writes that anew.
guard: $(addprefix $(B)/tests/tools/,gentrace trace-count) $(B)/tlbreplay
	$(Q)BUILD=$(B) CC='$(CC)' CFLAGS='$(CFLAGS)' tests/guard.sh $(if $(UPDATE),--update); status=$$?; \
	  test $$status -eq 77 || exit $$status

install: $(addprefix $(B)/,$(PROGRAMS) $(SCRIPTS)) $(B)/tlbtrace.so install-headers
	$(call say,INSTALL,$(DESTDIR)$(PREFIX))
	$(Q)install -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(MANDIR)/man1 $(DESTDIR)$(DOCDIR)/examples
	$(Q)install -m 755 $(addprefix $(B)/,$(PROGRAMS) $(SCRIPTS)) $(DESTDIR)$(BINDIR)
	$(Q)install -m 644 docs/*.1 $(DESTDIR)$(MANDIR)/man1
	$(Q)install -d $(DESTDIR)$(MANDIR)/man3 $(DESTDIR)$(MANDIR)/man5 $(DESTDIR)$(LIBDIR)/tlbreplay \
	  $(DESTDIR)$(COMPDIR) $(DESTDIR)$(DOCDIR)/pictures
	$(Q)install -m 644 docs/*.3 $(DESTDIR)$(MANDIR)/man3
	$(Q)install -m 644 docs/*.5 $(DESTDIR)$(MANDIR)/man5
	$(Q)install -m 755 $(B)/tlbtrace.so $(DESTDIR)$(LIBDIR)/tlbreplay
	$(Q)install -m 644 docs/completion.bash $(DESTDIR)$(COMPDIR)/tlbreplay
	$(Q)for p in $(filter-out tlbreplay,$(PROGRAMS) $(SCRIPTS)); do ln -sf tlbreplay $(DESTDIR)$(COMPDIR)/$$p; done
	$(Q)install -m 644 docs/pictures/* $(DESTDIR)$(DOCDIR)/pictures
	$(Q)install -m 644 README.md LICENSE CHANGELOG.md docs/*.md schema/results.sql $(DESTDIR)$(DOCDIR)
	$(Q)install -m 644 examples/policy-template.c $(DESTDIR)$(DOCDIR)/examples

# Recordings by a timer (docs/fleet.md); not enabled by being installed.
UNITS := tlbcapture-sample.service tlbcapture-sample.timer
install: install-units
install-units:
	$(Q)install -d $(DESTDIR)$(UNITDIR) $(DESTDIR)$(LIBEXECDIR)
	$(Q)install -m 755 capture/systemd/tlbcapture-sample $(DESTDIR)$(LIBEXECDIR)
	$(Q)for u in $(UNITS); do sed -e 's|@LIBEXECDIR@|$(LIBEXECDIR)|' -e 's|@BINDIR@|$(BINDIR)|' \
	  capture/systemd/$$u > $(DESTDIR)$(UNITDIR)/$$u && chmod 644 $(DESTDIR)$(UNITDIR)/$$u; done

# What a policy from outside is built with: examples/policy-template.c.
install-headers:
	$(Q)install -d $(DESTDIR)$(INCDIR)/replay/policies $(DESTDIR)$(INCDIR)/schema $(DESTDIR)$(INCDIR)/common
	$(Q)install -m 644 replay/policy.h $(DESTDIR)$(INCDIR)/replay
	$(Q)install -m 644 replay/policies/*.h $(DESTDIR)$(INCDIR)/replay/policies
	$(Q)install -m 644 schema/event.h schema/terms.h $(DESTDIR)$(INCDIR)/schema
	$(Q)install -m 644 common/param.h $(DESTDIR)$(INCDIR)/common

# Emulated machines with Debian's kernels: examples/lab/README.md.
lab: $(B)/tlbreplay
	$(Q)BUILD=$(B) examples/lab/lab
# A browser, with which a test looks at the HTML page.
browser-deps:
	$(Q)$(MAKE) --no-print-directory deps DEPS=chromium
lab-deps:
	$(Q)examples/lab/deps
# What tests of tlbfleet need beside: a Slurm, which they start and stop themselves.
FLEET_DEPS := slurm-wlm munge parallel
fleet-deps:
	$(Q)$(MAKE) -s deps DEPS='$(FLEET_DEPS)'
# Predictions against kernels and an emulator that are built for it: examples/lab/truth/README.md.
truth: $(B)/tlbreplay
	$(Q)BUILD=$(B) examples/lab/truth/truth
truth-deps:
	$(Q)examples/lab/deps truth
.PHONY: truth-deps
# Makes those recordings in examples/ anew that the lab can make.
examples: $(B)/tlbreplay
	$(Q)BUILD=$(B) examples/lab/lab --ship

# Coverage-guided, each harness for FUZZ_TIME seconds: docs/robustness.md. FUZZ="pages events": only those.
FUZZ_TIME ?= 60
fuzz: $(B)/tests/tools/gentrace
	$(Q)$(MAKE) --no-print-directory B=build-fuzz CC=clang SAN=address,undefined \
	  CFLAGS='-O1 -g -fsanitize=fuzzer-no-link' FUZZ_MAIN= FUZZ_LINK=-fsanitize=fuzzer fuzzers
	$(Q)BUILD=$(B) tests/fuzz/run build-fuzz $(FUZZ_TIME) $(FUZZ)
# Lines that the tests run, by file: docs/robustness.md. COVERAGE=--uncovered names the others.
coverage:
	$(Q)$(MAKE) --no-print-directory B=build-coverage \
	  CFLAGS='-O1 -g --coverage -fprofile-update=atomic' LDFLAGS=--coverage check || \
	  echo 'some failed: out of memory, what counts lines does not know how to go on'
	$(Q)tests/coverage.py $(COVERAGE) build-coverage common schema replay analysis capture
# The tests with valgrind in front of the programs, and what the reader's tests notice: hours, both of them.
valgrind: test-programs
	$(Q)BUILD=$(B) tests/valgrind $(TESTS)
mutants:
	$(Q)tests/mutants.py $(MUTANTS)
# cppcheck and gcc -fanalyzer: tests/lint/run.
lint: $(GEN) $(B)/gen/reports.inc
	$(Q)BUILD=$(B) tests/lint/run $(LINT_TOOLS)
# The same code under AFL++.
fuzz-afl: $(B)/tests/tools/gentrace
	$(Q)AFL_QUIET=1 $(MAKE) --no-print-directory B=build-afl CC=afl-clang-fast CFLAGS='-O2 -g' FUZZ_MAIN= \
	  FUZZ_LINK=-fsanitize=fuzzer fuzzers
	$(Q)BUILD=$(B) tests/fuzz/run --afl build-afl $(FUZZ_TIME) $(FUZZ)

clean:
	$(Q)rm -rf build build-* compile_commands.json

-include $(patsubst %.c,$(B)/%.d,$(SOURCES)) $(patsubst %.c,$(B)/pic/%.d,$(EXTENSION))
.PHONY: all browser-deps coverage valgrind mutants deps demo test-programs check bench guard fuzz fuzz-afl fuzz-deps fuzzers lint lab lab-deps fleet-deps examples truth install install-headers install-units clean gen
