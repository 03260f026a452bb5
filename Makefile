# Every command a person types. The work is done by the scripts in tests/tools, each with its purpose on top.
#
# PG_CONFIG=/path/to/pg_config chooses the PostgreSQL to build for; without it, an installed one that the
# extension supports.

.DEFAULT_GOAL := help
.PHONY: help demo demo-stop test check install installcheck setup-check package package-check matrix bench bench-core mutants fuzz fuzz-sql soak designs clean

export PG_CONFIG DESTDIR
tools := tests/tools

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## see it work: a private server, 100,000 rows, ids decoded
	@$(tools)/demo.sh

demo-stop: ## stop the demo's server
	@$(tools)/demo-stop.sh

test: ## install what is missing and run every test (SUITES="core regress" for some of them)
	@$(tools)/test.sh $(SUITES)

check: ## formatting and lints
	@$(tools)/check.sh

install: ## build in release mode and install into the PostgreSQL of PG_CONFIG, or below DESTDIR
	@$(tools)/install.sh

installcheck: ## run the SQL cases on the running server of PGHOST and PGPORT
	@$(tools)/installcheck.sh

setup-check: ## see that setting up changes nothing that is installed, in a bare Debian 12 root (needs root)
	@$(tools)/matrix.sh bare -- tests/tools/setup-check.sh

package: ## make a Debian package for the PostgreSQL of PG_CONFIG
	@$(tools)/package.sh

package-check: ## make, install and test the Debian package in a fresh Debian 12 root (needs root)
	@$(tools)/matrix.sh 15 -- tests/tools/package-check.sh

matrix: ## build and test on further PostgreSQL majors, each in a Debian root (needs root; takes long)
	@$(tools)/matrix.sh

mutants: ## put in faults one by one and see a test fail (MUTANTS="core no-flush" for some; takes hours)
	@$(tools)/mutants.sh $(MUTANTS)

designs: ## compare the designs of unique ids, and write the tables of docs/designs.md
	@$(tools)/designs.sh

bench: ## measure what an id costs (ONLY="cost insert" for some experiments; leave the machine alone)
	@$(tools)/bench.sh $(ONLY)

bench-core: ## measure the core's functions one by one, with Criterion
	@cargo bench --package snowflake-bench

fuzz: ## fuzz the core, each target for SECONDS=60 (needs a nightly toolchain)
	@$(tools)/fuzz.sh $(SECONDS)

fuzz-sql: ## let sqlsmith call every function for MINUTES=5
	@$(tools)/fuzz-sql.sh $(MINUTES)

soak: ## check ids for MINUTES=60 on a server in every kind of trouble
	@$(tools)/soak.sh $(MINUTES)

clean: ## stop the demo and remove everything that was built
	@$(tools)/clean.sh
