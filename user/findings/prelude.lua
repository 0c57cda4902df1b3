-- SPDX-License-Identifier: GPL-2.0-or-later
-- What rules are written with: jobprof-rules(5) describes it. This file is trusted and a part of
-- the program; it hands rules only what is safe, and keeps their table.

local native = native
local NAN = 0 / 0
-- The methods of texts are those that rules may use; these are more.
local find, gsub, match, printf = string.find, string.gsub, string.match, string.format
local M = {}

---------------------------------------------------------------------- texts

-- As string.format, but %d takes any number, and one that is not known is written "unknown".
local function format(fmt, ...)
	local text = printf((gsub(fmt, "%%(%d*)d", "%%%1.0f")), ...)
	return (gsub(text, "%-?%f[%w_]nan%f[^%w_]", "unknown"))
end

-- "3.2", "31": two digits that say something; no ".0".
local function short(x)
	local text = format(math.abs(x) < 9.95 and "%.1f" or "%.0f", x)
	return (gsub(text, "%.0$", ""))
end

-- 210000 is "210,000"; above a million "4.1 million".
local function number(x)
	if x >= 1e9 then return short(x / 1e9) .. " billion" end
	if x >= 1e6 then return short(x / 1e6) .. " million" end
	if not (x >= 1000) then return short(x) end
	local backwards = gsub(format("%d", x):reverse(), "(%d%d%d)", "%1,")
	return (gsub(backwards:reverse(), "^,", ""))
end

local function percent(x)
	if x > 0 and x < 0.000995 then return printf("%.1g %%", 100 * math.max(x, 0.00001)) end
	return short(100 * x) .. " %"
end

-- plural(3, "rank") is "3 ranks"; the third argument is a plural that is not regular.
local function plural(n, one, many)
	local text = number(n)
	return text .. " " .. (text == "1" and one or many or one .. "s")
end

-- "8 us", "84 ms", "2.4 s", "412 s", "40 min", "3 h 50 min", "2 d 3 h"
local function duration(s)
	if not (s >= 0) then return "unknown" end
	if s > 0 and s < 0.0009995 then return short(s * 1e6) .. " us" end
	if s < 0.9995 then return short(s * 1e3) .. " ms" end
	if s < 600 then return short(s) .. " s" end
	local minutes = math.floor(s / 60 + 0.5)
	if minutes < 120 then return format("%d min", minutes) end
	local hours = math.floor(minutes / 60)
	if hours >= 48 then
		hours = math.floor(minutes / 60 + 0.5)
		return format("%d d", hours // 24) .. (hours % 24 > 0 and format(" %d h", hours % 24) or "")
	end
	return format("%d h", hours) .. (minutes % 60 > 0 and format(" %d min", minutes % 60) or "")
end

-- Core-seconds: "812 core-seconds", "21.4 core-hours"
local function core_time(s)
	if not (s >= 3600) then return plural(s, "core-second") end
	if s < 3600 * 99.95 then
		return gsub(format("%.1f", s / 3600), "%.0$", "") .. (s < 3780 and " core-hour" or " core-hours")
	end
	return number(s / 3600) .. " core-hours"
end

-- MiB: "512 bytes", "300 MiB", "31.2 GiB", "1.4 TiB"
local function size(mb)
	local units = {"TiB", "GiB", "MiB", "KiB"}
	local scale = {1048576, 1024, 1, 1 / 1024}
	if mb == 0 then return "0 MiB" end
	if mb < 1 / 1024 then return plural(math.floor(mb * 1048576 + 0.5), "byte") end
	for i, unit in ipairs(units) do
		local v = mb / scale[i]
		if v >= 1 or i == #units or not (mb == mb) then
			return gsub(format(v < 99.95 and "%.1f" or "%.0f", v), "%.0$", "") .. " " .. unit
		end
	end
end

-- For --mem: a whole number of G, or of 16 M below one.
local function mem_option(mb)
	if mb > 1024 then return format("%dG", math.ceil(mb / 1024)) end
	return format("%dM", math.max(64, math.ceil(mb / 16) * 16))
end

-- For --time: D-HH:MM:SS, a whole number of five minutes; and its seconds.
local function time_option(s)
	local minutes = math.max(5, math.ceil(s / 300) * 5)
	local seconds = 60 * minutes
	local days, hours = minutes // 1440, minutes % 1440 // 60
	if days >= 1 then return format("%d-%02.0f:%02.0f:00", days, hours, minutes % 60), seconds end
	return format("%d:%02.0f:00", hours, minutes % 60), seconds
end

-- Runs of numbers in a table in ascending order: "0-15,17"; more than five runs are cut.
local function ranges(list)
	local runs, i = {}, 1
	while i <= #list do
		local last = i
		while list[last + 1] == list[last] + 1 do last = last + 1 end
		if #runs == 5 then
			return format("%s and %s more", table.concat(runs, ","), number(#list - i + 1))
		end
		runs[#runs + 1] = list[i] == list[last] and format("%d", list[i])
			or format("%d-%d", list[i], list[last])
		i = last + 1
	end
	return table.concat(runs, ",")
end

-- Names that differ in the number at their end: "n1-n4,x7"; more than three groups are cut.
local function group_names(names)
	local groups, i = {}, 1
	while i <= #names do
		local head, digits = match(names[i], "^(.-)(%d*)$")
		local last = i
		while #digits > 0 and #digits < 10 and names[last + 1] ==
			head .. format("%0" .. #digits .. ".0f", tonumber(digits) + last + 1 - i) do
			last = last + 1
		end
		if #groups == 3 then
			return format("%s and %s more", table.concat(groups, ","), number(#names - i + 1))
		end
		groups[#groups + 1] = last > i and names[i] .. "-" .. names[last] or names[i]
		i = last + 1
	end
	return table.concat(groups, ",")
end

-- nodes({1, 2}) is "n1-n2": the nodes at these places.
local function nodes(list)
	local names = {}
	for i, k in ipairs(list) do
		names[i] = (native.node.name[k] or format("node %d", k)):sub(1, 256)
	end
	return group_names(names)
end

-- " on n1" where all these items are on one node, else ""; nothing where the job has only one.
local function on_node(scope, list)
	local at = #list > 0 and scope.node[list[1]] or NAN
	for _, k in ipairs(list) do
		if scope.node[k] ~= at then return "" end
	end
	return at == at and #native.node > 1 and " on " .. nodes({math.floor(at)}) or ""
end

-- ranks({1, 2, 3}) is "ranks 0-2 on n1": the tasks at these places.
local function ranks(list)
	local numbers = {}
	for i, k in ipairs(list) do
		local number_known = native.task.number[k]
		numbers[i] = number_known == number_known and number_known or k - 1
	end
	local word = native.job.has_mpi == 1 and "rank" or "task"
	return word .. (#list == 1 and " " or "s ") .. ranges(numbers) .. on_node(native.task, list)
end

-- gpus({3, 4}) is "GPUs 2-3 on n1"
local function gpus(list)
	local numbers = {}
	for i, k in ipairs(list) do
		numbers[i] = tonumber(native.gpu.name[k] or "") or k - 1
	end
	local node = on_node(native.gpu, list)
	if node == "" and #native.node > 1 then return plural(#list, "GPU") end
	return (#list == 1 and "GPU " or "GPUs ") .. ranges(numbers) .. node
end

---------------------------------------------------------------------- how a rule ends early

local function stop(judged, reason) error({judged = judged, reason = reason}, 0) end

-- The rule goes on only if this is true; what is not known is not.
local function only_if(cond, fmt, ...)
	if not cond then stop(true, format(fmt, ...)) end
end

-- "needs job.a and bin.b: why; needs job.c: why" of facts that are not known, after other reasons.
local function add_missing(reasons, facts)
	local why_of, order_of = {}, {}
	for _, fact in ipairs(facts) do
		local why = native.missing(fact)
		if why and not why_of[why] then order_of[#order_of + 1], why_of[why] = why, {} end
		if why then table.insert(why_of[why], fact) end
	end
	for _, why in ipairs(order_of) do
		local list = why_of[why]
		local last = table.remove(list)
		reasons[#reasons + 1] = format("needs %s%s: %s",
			#list > 0 and table.concat(list, ", ") .. " and " or "", last, why)
	end
	return reasons
end

-- The rule is judged only if the fact, "bin.cpu_s", is known.
local function need(fact)
	local why = native.missing(fact)
	if why then stop(false, format("needs %s: %s", fact, why)) end
end

---------------------------------------------------------------------- times of a finding

local NEARLY_ALL, MOST = 0.9, 0.5

local function by_begin(a, b) return a[1] < b[1] end

-- The runs of 1 in a mask over bins, {from, to, length, loss}; the losses of all bins; the length of all runs.
local function runs_of(mask, loss)
	local start, span = native.bin.start_s, native.bin.span_s
	local runs, all, length, last = {}, 0, 0, nil
	for i = 1, #mask do
		local lost = loss and loss[i] or mask[i] == 1 and span[i] or 0
		if not (lost > 0) then lost = 0 end
		all = all + lost
		if mask[i] == 1 and start[i] + span[i] > 0 then
			if not last then
				last = {start[i], 0, 0, 0}
				runs[#runs + 1] = last
			end
			last[2], last[3], last[4] = start[i] + span[i], last[3] + span[i], last[4] + lost
			length = length + span[i]
		else
			last = nil
		end
	end
	return runs, all, length
end

-- When the mask is 1: {{from, to}, ...}, of bins that follow each other one; of too many the longest. nil: these have less
-- than half of the loss (of each bin; without it, of the masked time), or the mask is 1 nearly all the time.
local function when(mask, loss)
	if #mask ~= #native.bin or loss and #loss ~= #mask then error("when() takes arrays over bins", 2) end
	local runs, all, length = runs_of(mask, loss)
	local times, held = {}, 0
	if not (length < NEARLY_ALL * native.sum(native.bin.span_s)) then return nil end
	table.sort(runs, function(a, b) return a[3] > b[3] end)
	for i = 1, math.min(#runs, native.times_max) do
		times[i] = {runs[i][1], runs[i][2]}
		held = held + runs[i][4]
	end
	table.sort(times, by_begin)
	return #times > 0 and held >= MOST * all and times or nil
end

---------------------------------------------------------------------- what each file sees

local function copy(from, names)
	local to = {}
	for _, name in ipairs(names) do to[name] = from[name] end
	return to
end

-- Each element counts as a step: sorting is done in C, where the limit of steps does not see it.
local function sort(list, before)
	native.charge(20 * #list)
	table.sort(list, before)
end

local function join(list, between, ...)
	native.charge(#list)
	return table.concat(list, between, ...)
end

local STRING = {"byte", "char", "len", "lower", "reverse", "sub", "upper"}
local MATH = {"abs", "ceil", "exp", "floor", "fmod", "huge", "log", "max", "maxinteger", "min", "mininteger",
	"modf", "pi", "sqrt", "tointeger", "type"}
local TOOLS = {"sum", "mean", "quantile", "max", "min", "mask", "longest", "tail", "indexes", "only", "slice",
	"diff", "lower", "higher", "ratio", "array", "at_least", "job", "node", "task", "gpu", "bin"}

-- Searching with patterns can take for ever, so there is none: this finds plain text.
local function contains(text, part) return find(text, part, 1, true) ~= nil end

local strings = copy(string, STRING)
strings.format = format
strings.contains = contains
getmetatable("").__index = copy(strings, {"byte", "char", "len", "lower", "reverse", "sub", "upper", "format",
	"contains"})

---------------------------------------------------------------------- the table of rules

local RULES_MAX = 1000
local DEFAULTS = {coverage = 0.9}
local KEYS = {needs = "table", limits = "table", suppressed_by = "table", source = "string",
	judge = "function", off = "boolean", kind = "string", many = "table"}
local KIND = {sentence = 0, line = 1, command = 2}
local MANY = {safe = "string", unit = "string", column = "string"}
local order, by_id = {}, {}
-- Of a rule that does not say what its remedies are; nil: it must.
local usual_kind

local function is_number(x) return type(x) == "number" and x == x and math.abs(x) < math.huge end

local function each_text(list)
	for k, v in pairs(list) do
		if math.type(k) ~= "integer" or type(v) ~= "string" then return false end
	end
	return true
end

-- What is wrong with what a rule says of its remedies; nil: nothing.
local function remedy_fault(rule)
	if not KIND[rule.kind or usual_kind] then return "its kind is not \"command\", \"line\" or \"sentence\"" end
	if not rule.many then return nil end
	for k, v in pairs(rule.many) do
		if type(v) ~= MANY[k] then return format("many has no %s, or it is no text", tostring(k)) end
	end
	if rule.many.safe ~= "highest" and rule.many.safe ~= "lowest" then return "many.safe is not \"highest\" or \"lowest\"" end
	if not rule.many.unit then return "many has no unit" end
end

-- What is wrong with a rule; nil: nothing.
local function fault(id, rule)
	if type(id) ~= "string" or not find(id, "^[%w_]+%.[%w_.]+$") or #id > 64 then
		return "the id of a rule is a text as \"cpu.unused\""
	end
	if type(rule) ~= "table" then return format("rule %s is no table", id) end
	for k, v in pairs(rule) do
		if not KEYS[k] then return format("rule %s: there is no key %s", id, tostring(k)) end
		if type(v) ~= KEYS[k] then return format("rule %s: %s is no %s", id, k, KEYS[k]) end
	end
	if not rule.judge then return format("rule %s has no function judge", id) end
	for _, k in ipairs({"needs", "suppressed_by"}) do
		if rule[k] and not each_text(rule[k]) then
			return format("rule %s: %s is no list of texts", id, k)
		end
	end
	for k, v in pairs(rule.limits or {}) do
		if type(k) ~= "string" or not is_number(v) then
			return format("rule %s: limit %s is no number", id, tostring(k))
		end
	end
	local why = remedy_fault(rule)
	return why and format("rule %s: %s", id, why)
end

local function add(id, rule)
	local why = fault(id, rule)
	if why then return native.complain(why) end
	local entry = {id = id, judge = rule.judge, needs = {}, limits = {}, suppressed_by = {},
		source = rule.source or "", off = rule.off or false, place = native.place(rule.judge),
		kind = rule.kind or usual_kind, many = copy(rule.many or {}, {"safe", "unit", "column"})}
	for k, v in pairs(DEFAULTS) do entry.limits[k] = v end
	for k, v in pairs(rule.limits or {}) do entry.limits[k] = v end
	for k, v in ipairs(rule.needs or {}) do entry.needs[k] = v end
	for k, v in ipairs(rule.suppressed_by or {}) do entry.suppressed_by[k] = v end
	if #order >= RULES_MAX then return native.complain(format("there are more than %d rules", RULES_MAX)) end
	if by_id[id] then
		order[by_id[id].at] = entry
		entry.at = by_id[id].at
	else
		entry.at = #order + 1
		order[entry.at] = entry
	end
	by_id[id] = entry
end

-- rules["cpu.unused"].limits.bad = 0.5
local function set_limit(entry, name, value)
	if entry.limits[name] == nil then
		native.complain(format("rule %s has no limit %s", entry.id, tostring(name)))
	elseif not is_number(value) then
		native.complain(format("rule %s: limit %s is no number", entry.id, name))
	else
		entry.limits[name] = value
	end
end

local function set_key(entry, key, value)
	if key == "off" and type(value) == "boolean" then
		entry.off = value
	elseif key == "limits" and type(value) == "table" then
		for k, v in pairs(value) do set_limit(entry, k, v) end
	else
		native.complain(format("rule %s: only limits and off (true, false) can be set; " ..
			"rules[\"%s\"] = {...} replaces it", entry.id, entry.id))
	end
end

-- A rule as a file sees it once it is in the table.
local function rule_view(entry)
	local limits = setmetatable({}, {__metatable = false, __index = entry.limits,
		__newindex = function(_, name, value) set_limit(entry, name, value) end})
	return setmetatable({}, {__metatable = false,
		__index = function(_, key)
			if key == "limits" then return limits end
			return key == "off" and entry.off or nil
		end,
		__newindex = function(_, key, value) set_key(entry, key, value) end})
end

local nothing = setmetatable({}, {__metatable = false, __newindex = function() end})
local no_rule = setmetatable({}, {__metatable = false, __newindex = function() end,
	__index = function(_, key) return key == "limits" and nothing or nil end})

local rules = setmetatable({}, {__metatable = false,
	__index = function(_, id)
		if by_id[id] then return rule_view(by_id[id]) end
		native.complain(format("there is no rule %s", tostring(id)))
		return no_rule
	end,
	__newindex = function(_, id, rule)
		if rule ~= nil then return add(id, rule) end
		if by_id[id] then
			by_id[id].off = true
		else
			native.complain(format("there is no rule %s", tostring(id)))
		end
	end})

-- The globals of a file: of its own, so that no file can spoil another. A site's rules need not say their kind.
function M.environment(builtin)
	usual_kind = not builtin and "sentence" or nil
	local env = copy(native, TOOLS)
	for k, v in pairs(copy(_G, {"ipairs", "next", "pairs", "select", "tonumber", "tostring", "type"})) do
		env[k] = v
	end
	env.string = copy(strings, {"byte", "char", "len", "lower", "reverse", "sub", "upper", "format",
		"contains"})
	env.math = copy(math, MATH)
	env.table = {concat = join, unpack = table.unpack, sort = sort}
	env.format, env.contains, env.NAN = format, contains, NAN
	env.median = function(a) return native.quantile(a, 0.5) end
	env.number, env.percent, env.plural, env.duration = number, percent, plural, duration
	env.core_time, env.size, env.mem_option, env.time_option = core_time, size, mem_option, time_option
	env.ranges, env.nodes, env.ranks, env.gpus = ranges, nodes, ranks, gpus
	env.only_if, env.need, env.rules, env.when = only_if, need, rules, when
	return env
end

---------------------------------------------------------------------- judging

local SEVERITY = {note = 0, warn = 1, bad = 2}
local FINDING = {severity = "string", cost = "number", saving = "number", text = "string", remedy = "string",
	where = "string", times = "table",
	at_least = "boolean", code = "string", sets = "table"}
local SETS = {needs = true, used = true, asked = true}
local TEXT_MAX, CODE_MAX = 2000, 200

-- All that is missing is said at once: who mends one thing does not find the next.
local function check_requirements(entry)
	local coverage, least = entry.limits.coverage, entry.limits.least_s
	local reasons = {}
	if coverage > 0 then
		need("job.coverage")
		if not (native.job.coverage >= coverage) then
			reasons[1] = format("there are rows for %s of the time, not for %s",
				percent(native.job.coverage), percent(coverage))
		end
	end
	if least then
		need("job.wall_s")
		if not (native.job.wall_s >= native.at_least(least)) then
			reasons[#reasons + 1] = format("%s are too short: it needs %s", duration(native.job.wall_s),
				duration(native.at_least(least)))
		end
	end
	add_missing(reasons, entry.needs)
	if #reasons > 0 then stop(false, table.concat(reasons, "; ")) end
end

-- What is wrong with the times of a finding; nil: nothing.
local function check_times(times)
	if #times > native.times_max then return format("there are more than %d times", native.times_max) end
	for _, time in ipairs(times) do
		for i = 1, 2 do
			local t = type(time) == "table" and time[i]
			if type(t) ~= "number" or math.abs(t) == math.huge then return "a time is no {from, to} of numbers" end
		end
	end
end

-- What is copied goes into scripts and shells, and parts of it may be names of anybody's: with other characters than
-- those which are only words there it is words of the remedy.
local function can_be_copied(code) return #code <= CODE_MAX and not find(code, "[^%w %%+,./:=@_#-]") end

-- What is wrong with what is copied; nil: nothing.
local function check_code(code, kind)
	if kind == "sentence" then return "the rule's kind is \"sentence\": it has no code" end
	local is_line = find(code, "^#SBATCH %-%-%l") or find(code, "^export [%a_][%w_]*=") or find(code, "^srun %-%-%l")
	if kind == "line" and not is_line then return "the code is no line of a job script: #SBATCH, export or srun" end
	if kind == "command" and not find(code .. " ", "^%l[%w_./-]* ") then return "the code is no command" end
end

-- nil: nothing is wrong.
local function check_sets(sets)
	for k, v in pairs(sets) do
		if not SETS[k] or type(v) ~= "number" or math.abs(v) == math.huge then
			return format("what it sets has no %s, or that is no number", tostring(k))
		end
	end
end

local function check_finding(found, kind)
	for k, v in pairs(found) do
		if not FINDING[k] then return format("a finding has no %s", tostring(k)) end
		if type(v) ~= FINDING[k] then return format("the %s of the finding is no %s", k, FINDING[k]) end
		if type(v) == "string" and #v > TEXT_MAX then return format("the %s is too long", k) end
		if v == math.huge or v == -math.huge then return format("the %s is not finite", k) end
	end
	if not SEVERITY[found.severity] then return "the severity is not \"note\", \"warn\" or \"bad\"" end
	if not found.text or found.text == "" then return "the finding has no text" end
	if found.cost and found.cost < 0 then return "the cost is below 0" end
	return found.code and check_code(found.code, kind) or found.sets and check_sets(found.sets) or
		found.times and check_times(found.times)
end

-- In their order; those that are not known are left out.
local function known_times(times)
	local list = {}
	for _, time in ipairs(times) do
		if time[1] <= time[2] then list[#list + 1] = {time[1], time[2]} end
	end
	table.sort(list, by_begin)
	return list
end

-- What judge() gave, as C takes it; the rule's own error has the place where it was defined.
local function result(entry, found, reason)
	local why
	if found == nil then
		if type(reason) == "string" then stop(true, reason:sub(1, TEXT_MAX)) end
		why = "it gave neither a finding nor a reason"
	else
		why = type(found) == "table" and check_finding(found, entry.kind) or
			type(found) ~= "table" and "what it gave is no finding" or nil
	end
	if why then
		stop(nil, format("%srule %s: %s", entry.place, entry.id, why))
	end
	local saving, remedy, is_code = found.saving or NAN, found.remedy or "", found.code and can_be_copied(found.code)
	local sets = is_code and found.sets or {}
	return {severity = SEVERITY[found.severity], cost = found.cost or NAN,
		saving = math.max(0, math.min(1, saving)) == saving and saving or saving > 1 and 1 or NAN,
		text = found.text, where = found.where or "",
		remedy = remedy .. (remedy ~= "" and found.code and " " or "") .. (found.code or ""),
		code = is_code and found.code or "", kind = KIND[is_code and entry.kind or "sentence"],
		needs = sets.needs or NAN, used = sets.used or NAN, asked = sets.asked or NAN,
		times = known_times(found.times or {}), at_least = found.at_least or false, source = entry.source}
end

-- How findings of the nth rule in many jobs are one: its id, and of its table many what there is; nil: there is no such rule.
function M.many(n)
	local entry = order[n]
	if entry then
		local many = entry.many
		return entry.id, KIND[entry.kind], many.safe == "highest", many.unit, many.column
	end
end

-- The nth rule: its id, the place of its definition, which rules explain it.
function M.rule(n)
	local entry = order[n]
	if entry then return entry.id, entry.place, table.concat(entry.suppressed_by, ","), entry end
end

function M.judge(entry)
	if entry.off then stop(false, "a file of rules switched it off") end
	local limits = {}
	for k, v in pairs(entry.limits) do limits[k] = v end
	check_requirements(entry)
	return result(entry, entry.judge(limits))
end

return M
