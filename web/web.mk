# SPDX-License-Identifier: GPL-2.0-or-later
# The pages of `--html`: web/ as one template, where node and npm are. Without them all else is built.
NODE := $(shell command -v node 2>/dev/null)
NPM  := $(shell command -v npm 2>/dev/null)
ESBUILD := $(shell command -v esbuild 2>/dev/null)
PAGE := $(B)/web/report.html

# What npm installs is what web/package-lock.json says, by its checksums.
web/node_modules/.package-lock.json: web/package-lock.json
	$(call msg,NPM,web/node_modules)
	$(Q)cd web && npm ci --silent --ignore-scripts --no-audit --no-fund \
		--fetch-retries=1 --fetch-retry-mintimeout=1000

# esbuild makes it smaller.
$(PAGE): web/build.js web/join.js web/page.css web/template.html web/site.html $(wildcard web/src/*.js) web/node_modules/.package-lock.json
	$(call msg,PAGE,$@)
	$(Q)node web/build.js $@ $(ESBUILD)

.PHONY: page
page: $(PAGE)
	@:
ifneq ($(and $(NODE),$(NPM)),)
# Without the network npm cannot install: then there is no page, and the rest goes on.
.PHONY: try-page
try-page:
	$(Q)$(MAKE) --no-print-directory page || echo 'web: no template was made: --html will not work'
all: try-page
else
.PHONY: no-page
no-page:
	$(Q)echo 'web: no page for --html: there is no $(strip $(if $(NODE),,node) $(if $(NPM),,npm)): scripts/install-deps page'
all: no-page
endif
