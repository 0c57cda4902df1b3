-- SPDX-License-Identifier: GPL-2.0-or-later
-- The built-in rules of jobprof report. jobprof-rules(5) says how a rule is written and how a site
-- changes one in a file of its own; a change here has an effect only when the program is built.
--
-- A rule goes on only while only_if() is true, and what is not known makes every comparison false:
-- conditions are written so that true speaks for the finding. Where that would hide a finding for
-- want of a fact that only excludes something, the condition is "not (fact > limit)".
-- Of each rule a comment says which core-seconds are its cost; without one it costs none. A cost is what the job would
-- not have held without the cause: held() counts the cores that wait beside it, and the saving is the same as a share of
-- the wall time. at_least: a part of it cannot be known from outside of the program.

---------------------------------------------------------------------- what several rules use

local function known(a, otherwise) return a == a and a or otherwise end

-- Core-seconds in which cores were idle, and no thread waited for them or for a disk: threads slept, or there were
-- none. "asleep" and "idle" of the page's account of time.
local function idle_s() return known(job.idle_asleep_s, 0) + job.idle_s end

-- Waits for a CPU of which it is not known what had it are for others in the part that these have of what the node's
-- CPUs did; NaN: of that nothing is known.
local function unknown_foreign_s()
	local others = known(job.others_s, job.taken_s) + known(job.stolen_s, 0)
	return job.waited_unknown_s * ratio(others, others + job.cpu_s)
end

-- Waits for a CPU that the job itself had, that others had, and all (series Culprits).
local function waited_own_s()
	return job.waited_own_task_s + job.waited_own_step_s + job.waited_own_job_s +
		known(job.waited_unknown_s - unknown_foreign_s(), 0)
end

local function waited_foreign_s() return job.waited_other_jobs_s + job.waited_system_s + known(unknown_foreign_s(), 0) end

local function waited_s()
	return job.waited_own_task_s + job.waited_own_step_s + job.waited_own_job_s + job.waited_other_jobs_s +
		job.waited_system_s + job.waited_idle_s + known(job.waited_quota_s, 0) + job.waited_unknown_s
end

-- Whether samples tell the ranks' useful time, which is CPU time outside of MPI, from time in which MPI spins.
local function by_samples() return job.load_balance >= 0 and job.pop_samples >= 0 end

-- Yields per CPU second, which count as forced switches. A thread that wakes may take the CPU of the one that woke it,
-- and goes to sleep again: of the forced switches as many as the sleeps can be that.
local function yield_rate()
	return ratio(higher(0, job.invol_switches - known(job.vol_switches, 0)), job.cpu_s)
end

-- What ranks did: their useful time where it is known, else their CPU time; and what that is called.
local function work_of_ranks()
	if by_samples() then return task.useful_s, "CPU time outside of MPI" end
	return task.cpu_s, "CPU time"
end

-- "other jobs had it for 30 % of that, programs that are not profiled for 40 %": those of 1 % and more.
local function waited_for_text()
	local parts = {}
	for _, class in ipairs({{"other jobs", job.waited_other_jobs_s}, {"programs that are not profiled", job.waited_system_s}}) do
		local part = ratio(class[2], waited_s())
		if part >= 0.01 then
			parts[#parts + 1] = format(#parts == 0 and "%s had it for %s of that" or "%s for %s", class[1], percent(part))
		end
	end
	return #parts > 0 and table.concat(parts, ", ") or "other programs had the cores meanwhile"
end

-- Share of the cores that each bin used.
local function load() return bin.cpu_s / bin.cores_s end

-- The share of the cores that is few, and the first bin of the end in which few are used; nil: it uses more to the last.
local function quiet_end(limits)
	-- Of few cores one is much.
	local few = job.cores <= 4 and limits.one / job.cores or limits.load
	return few, tail(mask(load(), "<", few))
end

-- The share of the cores in use before an end that begins in a bin, and the share from which this end is a tail.
local function before_end(limits, few, first)
	return mean(slice(load(), 1, first - 1)), math.max(limits.before, limits.rise * few)
end

-- Why few cores are used from a bin on, where that is no tail; nil: it is one.
local function busy_end(limits, first)
	local length = sum(slice(bin.span_s, first))
	local io = sum(slice(bin.read_mb, first)) + sum(slice(bin.write_mb, first))
	if io / length >= limits.io_mb_s then return format("the end is input or output of %s a second", size(io / length)) end
	if sum(slice(bin.disk_wait_s, first)) / length >= limits.disk then return "tasks waited for a disk at the end" end
	if sum(slice(bin.wait_s, first)) / length >= limits.wait then return "threads waited for a core at the end" end
	if mean(slice(bin.gpu, first)) >= limits.gpu then return "GPUs worked at the end" end
end

-- Share of the core-seconds, which is the share of the wall time where all cores wait together.
local function share(cost) return ratio(cost, job.core_s) end

-- How many threads did something at the same time, at the times when they did: of seconds in each bin.
local function at_once(s) return ratio(sum(s * s / bin.span_s), sum(s)) end

-- How many threads ran, or waited for a CPU, a disk or something else that takes them seconds, at the same time, in
-- each bin: from one to all cores. So many have to be quicker for the job to be.
local function paths(other)
	local s = other and bin.cpu_s + other or bin.cpu_s
	if job.wait_s >= 0 then s = s + bin.wait_s end
	if job.disk_wait_s >= 0 then s = s + bin.disk_wait_s end
	return lower(higher(s / bin.span_s, 1), bin.cores_s / bin.span_s)
end

-- The core-seconds that a job holds for so many of its core-seconds in each bin: where fewer threads than cores are at
-- work, the other cores wait for them.
local function held(s, other)
	return lower(known(sum(s * bin.cores_s / bin.span_s / paths(other)), sum(s)), job.core_s)
end

-- Core-seconds of all the time, where in time that is not known: as the weight is.
local function over_time(s, weight)
	local all = known(sum(weight), 0)
	return all > 0 and weight * (s / all) or bin.span_s * (s / job.wall_s)
end

-- CPU time of the kernel beyond what any program needs, and what copying of data takes.
local USUAL_KERNEL, COPY_S_MB = 0.02, 0.0008
local function kernel_s(copied_mb)
	return higher(0, job.system_s - USUAL_KERNEL * job.cpu_s - COPY_S_MB * known(copied_mb or job.read_mb + job.write_mb, 0))
end

local function no_shell()
	only_if(not (job.is_interactive == 1), "it is an interactive shell")
end

-- Where a rule knows first that it does not concern the job.
local function long_enough(limits)
	only_if(job.wall_s >= at_least(limits.run_s), "it ran for %s, not for %s", duration(job.wall_s),
		duration(at_least(limits.run_s)))
end

local function has_cores()
	only_if(job.cores > 1, "there is only one core")
end

-- Cores that came with memory the job needs are not wasted.
local function not_for_memory(limits)
	local used = ratio(job.own_peak_mb, job.limit_mb)
	only_if(not (used >= limits.memory), "%s of the memory that came with the cores were used", percent(used))
end

local function no_gpus()
	only_if(not (job.gpus > 0), "a job with GPUs is judged by those")
end

-- Outside of a job nothing was asked for, so nothing was given in vain.
local function asked(severity) return job.is_slurm == 0 and "note" or severity end

-- What to change in a job, and where there is none: there options of Slurm say nothing.
local function advice(inside, outside) return job.is_slurm == 0 and outside or inside end

-- A line of a job script, or none where there is no job.
local function in_job(code)
	if not (job.is_slurm == 0) then return code end
end

-- Ranks with a share of waiting in their runnable time.
local function waiting_ranks(limit)
	local list = indexes(mask(task.wait_s / (task.wait_s + task.cpu_s), ">=", limit))
	return #list > 0 and ranks(list) or ""
end

-- "2.4 times"
local function short_factor(x) return number(math.floor(x * 10 + 0.5) / 10) .. " times" end

-- The elements at these places.
local function array_of(a, list)
	local values = {}
	for i, k in ipairs(list) do values[i] = a[k] end
	return array(values)
end

local function energy(j)
	return j >= 3.6e5 and number(j / 3.6e6) .. " kWh" or number(j / 1000) .. " kJ"
end

-- What blocks threads, by the facts of TimeBudget: what it is, said as what they wait for, and what to look at.
local BLOCKED = {
	blocked_disk_s = {"a disk", "Look at its reads, writes and fsync()."},
	blocked_fault_s = {"a disk in page faults", "Look at mapped files, and whether memory is short."},
	blocked_net_fs_s = {"a network file system", "Use the node's own disk ($TMPDIR) for files that only this node needs."},
	blocked_kernel_s = {"locks of the kernel or a driver", "Look for threads that map and unmap memory all the time."},
	blocked_futex_s = {"other threads or processes (locks, conditions, barriers)",
		"They have no work, or meet at a lock or a barrier: the family stack says where (jobprof flame --off-cpu)."},
	blocked_pipe_s = {"another process (a pipe or a message queue)", "Look at the slower side of it, or use more of it."},
	blocked_socket_s = {"messages (a socket)", "Look which peer or server answers late, and ask it for more at once."},
	blocked_poll_s = {"events (poll, select, epoll)", "Look whose messages or events it waits for: strace -f -e trace=poll,epoll_wait"},
	blocked_sleep_s = {"the time (sleep)", "Look for sleep() and usleep() in the program and its scripts: wait for the event itself."},
	blocked_signal_s = {"a signal", "Look who sends the signal, or who stopped it."},
}

-- Blocked time of a task without that of threads that are blocked all their life, as helpers of a library are: these
-- are whole threads of it. One of them may be the program's own.
local function of_workers(s, wall_s)
	local whole = math.floor(s / wall_s + 0.5)
	return whole >= 2 and math.abs(s - whole * wall_s) < 0.02 * whole * wall_s and 0.5 * wall_s or s
end

-- Time of the threads that did something, of all tasks of the main step or of those in the list, and of what blocked them
-- by the facts of BLOCKED. Who waits for a child does not count: the child's own waiting says why.
local function blocked_times(list)
	local time, blocked = 0, {}
	if #task == 0 or not (sum(task.thread_s) > 0) then return 0, blocked end
	local function all(key, count)
		local s = 0
		for i = 1, list and #list or #task do
			local k = list and list[i] or i
			s = s + known(count(task[key][k], task.wall_s[k]), 0)
		end
		time = time + s
		return s
	end
	for _, key in ipairs({"thread_run_s", "thread_wait_s", "blocked_other_s"}) do all(key, function(s) return s end) end
	for key in pairs(BLOCKED) do blocked[key] = all(key, of_workers) end
	return time, blocked
end

-- What threads are blocked by for most of that time: an entry of BLOCKED, and its share. nil: it is not known, or nothing
-- is clear.
local function blocked_by(list, least)
	local time, blocked = blocked_times(list)
	local most, name = 0, nil
	for key, s in pairs(blocked) do
		if s > most then most, name = s, key end
	end
	if not (time > 0 and most / time >= least) then return nil end
	return BLOCKED[name], most / time
end

-- Whether threads wait for each other seldom and for long, as those without work do, and not for a lock that others hold
-- now and then.
local LONG_S = 0.02
local function waits_long()
	local _, blocked = blocked_times()
	return known(blocked.blocked_futex_s, 0) + known(blocked.blocked_pipe_s, 0) >= LONG_S * job.vol_switches
end

-- Whether threads wait for messages of sockets rather than for each other's locks and pipes: clients and servers.
local function waits_for_messages()
	local _, blocked = blocked_times()
	local messages = known(blocked.blocked_poll_s, 0) + known(blocked.blocked_socket_s, 0)
	return job.has_mpi == 0 and messages > known(blocked.blocked_futex_s, 0) + known(blocked.blocked_pipe_s, 0), messages
end

-- Messages that are sent or received: those through IP sockets are counted, those through others are reads and writes.
local function messages()
	if not (job.has_mpi == 0) then return 0 end
	local calls = waits_for_messages() and 2 * math.min(known(job.read_calls, 0), known(job.write_calls, 0)) or 0
	return math.max(known(job.net_ops, 0), calls)
end

local function capital(text) return text:sub(1, 1):upper() .. text:sub(2) end

local function per_second(a) return a / bin.span_s end

---------------------------------------------------------------------- processors

-- Whether cores had nothing to do beside more than one that worked for want of equal work: threads wait for each other
-- for long, or processes are left when others have ended.
local function is_unequal(limits, cause)
	if not (job.cpu_share * job.cores >= limits.parallel and job.tasks == 1) then return false end
	if cause then return (cause == BLOCKED.blocked_futex_s or cause == BLOCKED.blocked_pipe_s) and waits_long() end
	return job.blocked_child_s > 0 and not (job.blocked_sleep_s > LONG_S)
end

-- Cost: idle core-seconds.
rules["cpu.unused"] = {
	kind = "line",
	many = {safe = "highest", unit = "core"},
	needs = {"job.cpu_share", "job.core_s", "job.cpu_s", "job.cores", "job.idle_s"},
	limits = {least_s = 300, warn = 0.80, bad = 0.65, memory = 0.85, asleep = 0.5, blocked = 0.3, parallel = 1.15},
	suppressed_by = {"cpu.nodes_unused", "cpu.serial", "cpu.stacked", "cpu.throttled", "cpu.neighbour", "cpu.tail",
		"job.stopped", "mpi.imbalance", "mpi.straggler", "io.wait", "io.one_rank", "io.periodic", "sync.fine",
		"mem.thrash", "proc.forks"},
	source = "jobstats 0.65 and 0.80",
	judge = function(limits)
		no_shell()
		has_cores()
		no_gpus()
		only_if(job.cpu_share < limits.warn, "%.2f of the core time was used, not below %.2f", job.cpu_share,
			limits.warn)
		only_if(share(idle_s()) > 1 - limits.warn, "threads waited for a CPU or a disk, or others' programs used the other cores")
		not_for_memory(limits)
		local used = job.cpu_share * job.cores
		local remedy, code = "Ask for fewer cores (#SBATCH --ntasks or --cpus-per-task).", nil
		if job.tasks == 1 and job.nodes == 1 and used > 0.5 and not (job.is_slurm == 0) then
			remedy, code = "Ask for fewer cores:", format("#SBATCH --cpus-per-task=%d", math.ceil(used))
		end
		remedy = advice(remedy, "More threads or processes could use them, where the program has work for more.")
		local asleep = ratio(job.idle_asleep_s, idle_s())
		if asleep >= limits.asleep then
			remedy, code = "Look what its threads wait for: a sleep, a lock, another process, the network.", nil
		end
		-- Threads of a program that uses a whole core may wait for the one that does the work.
		local cause, part = blocked_by(nil, limits.blocked)
		if cause and asleep >= limits.asleep then remedy = cause[2] end
		if asleep >= limits.asleep and is_unequal(limits, cause) then
			remedy = "Share the work evenly: smaller pieces, the longest first, schedule(dynamic) or chunksize=1 instead of equal numbers."
		end
		return {
			severity = asked(job.cpu_share < limits.bad and "bad" or "warn"),
			cost = idle_s(),
			text = format("%s of %s were in use on average; %s were not used%s.",
				used < 0.05 and "Almost none" or number(used), plural(job.cores, "core"), core_time(idle_s()),
				cause and format(": its threads waited for %s in %s of their time", cause[1], percent(part)) or
				asleep >= limits.asleep and format(", in %s of which its threads slept or waited for something other " ..
				"than a CPU or a disk", percent(asleep)) or ""),
			remedy = remedy,
			code = code,
			sets = code and {needs = math.ceil(used), used = used, asked = job.cores} or nil,
		}
	end,
}

-- What does on several cores what these programs do on one.
local PARALLEL = {gzip = "pigz", bzip2 = "lbzip2", xz = "xz -T0", zstd = "zstd -T0", cc1 = "make -j", cc1plus = "make -j"}

-- Threads that take turns: an interpreter's, which only one of them may use at a time, or any lock's. Those that wait for
-- long may have nothing to do, or be behind one that holds a lock for long. Returns what to say of them, and the remedy, or
-- what to look at besides; nil: they do not.
local function take_turns(limits)
	local cause, part = blocked_by(nil, limits.lock)
	if cause ~= BLOCKED.blocked_futex_s or not (max(task.threads) > 1) then return nil end
	if waits_long() then
		return format(" Its threads waited for %s in %s of their time.", cause[1], percent(part)), nil, " " .. cause[2]
	end
	local text = format(" Its threads take turns: they waited for each other (locks) in %s of their time.", percent(part))
	local is_python = job.program and contains(job.program, "python")
	return text, is_python and "Python runs one thread at a time: use processes (multiprocessing, joblib), or a library that computes without the interpreter's lock." or
		"Hold the lock that they meet at for less (the families sample and stack say where), or give each thread its own data."
end

-- Whether the time is an interpreter's own, not that of libraries that it calls.
local function interpreted() return ratio(job.sampled_interpreter, job.samples) >= 0.5 end

-- Cost: idle core-seconds.
rules["cpu.serial"] = {
	kind = "line",
	many = {safe = "highest", unit = "core"},
	needs = {"bin.cpu_s", "bin.span_s", "job.cores", "job.nodes", "job.core_s", "job.cpu_s", "job.wait_share", "job.idle_s"},
	limits = {least_s = 300, low = 0.85, high = 1.05, bins = 0.75, wait = 0.10, memory = 0.85, idle = 0.05, lock = 0.3},
	suppressed_by = {"cpu.stacked", "cpu.throttled", "mpi.imbalance", "mpi.straggler", "proc.forks"},
	source = "jobstats 0.85 to 1.01, job_defense_shield 0.85",
	judge = function(limits)
		no_shell()
		has_cores()
		no_gpus()
		only_if(job.nodes == 1, "it has %s", plural(job.nodes, "node"))
		-- What others kept from it is its work, too.
		local foreign = known(ratio(waited_foreign_s(), waited_s()), 0)
		local function serial_part(used)
			return known(mean(mask(used, ">=", limits.low) * mask(used, "<=", limits.high)), 0)
		end
		local serial = math.max(serial_part(per_second(bin.cpu_s)), serial_part(per_second(bin.cpu_s + foreign * bin.idle_wait_s)))
		only_if(serial >= limits.bins, "one core was in use for %s of the time, not for %s", percent(serial),
			percent(limits.bins))
		local turns, remedy, besides = take_turns(limits)
		only_if(turns or job.wait_share < limits.wait, "threads waited for a core")
		only_if(not (share(idle_s()) < limits.idle), "programs outside of the job used the other cores")
		not_for_memory(limits)
		local one = not remedy and not (job.is_slurm == 0)
		return {
			severity = asked("bad"),
			cost = idle_s(),
			saving = share(idle_s()),
			text = format("One core of %d was in use throughout; %s were not used.%s", job.cores,
				core_time(idle_s()), turns or ""),
			remedy = remedy or (interpreted() and "Let libraries or compiled code do its loops (operations on whole arrays), or several " ..
				"processes share the work." or format("Start the parallel version, where there is one (%s).", PARALLEL[job.program] or
				advice("OMP_NUM_THREADS, srun --ntasks", "OMP_NUM_THREADS, mpirun -n"))) .. (besides or "") ..
				(one and " Or ask for one core:" or ""),
			code = one and "#SBATCH --cpus-per-task=1" or nil,
			sets = one and {needs = 1, used = 1, asked = job.cores} or nil,
		}
	end,
}

-- Cost: core-seconds of the unused nodes.
rules["cpu.nodes_unused"] = {
	kind = "line",
	many = {safe = "highest", unit = "node"},
	needs = {"node.active_bins", "node.cores", "node.wall_s", "node.cpu_s", "node.coverage", "job.dt_s"},
	limits = {least_s = 300, bins = 1, node_coverage = 0.9},
	source = "PIKA unused: busy in at most one bin",
	judge = function(limits)
		no_shell()
		only_if(#node > 1, "there is only one node")
		local judged = mask(node.coverage, ">=", limits.node_coverage) * mask(node.wall_s, ">=",
			math.max(at_least(limits.least_s), 3 * job.dt_s))
		local list, cost, longest_s = {}, 0, 0
		for _, i in ipairs(indexes(judged * mask(node.active_bins, "<=", limits.bins))) do
			if not (node.gpus[i] > 0) then
				list[#list + 1] = i
				cost = cost + known(node.cores[i] * node.wall_s[i] - node.cpu_s[i], 0)
				longest_s = math.max(longest_s, node.wall_s[i])
			end
		end
		only_if(#list > 0, "every node worked in more than %d of its bins", limits.bins)
		only_if(#list < #node and max(node.active_bins) > limits.bins, "no node worked")
		local names = nodes(list)
		return {
			severity = "bad",
			cost = math.max(0, cost),
			where = names,
			text = format("%d of %s did nothing: %s had no work for %s, which is %s.", #list,
				plural(#node, "node"), names, duration(longest_s), core_time(cost)),
			remedy = advice("Start the tasks with srun (mpirun needs the list of hosts), or ask for fewer:",
				format("Give mpirun the list of hosts, or use %s.", plural(#node - #list, "node"))),
			code = in_job(format("#SBATCH --nodes=%d", #node - #list)),
			sets = {needs = #node - #list, used = #node - #list, asked = #node},
		}
	end,
}

-- When threads waited for a CPU for this share of the time they could run.
local function times_of_waiting(limit)
	return when(mask(bin.wait_s / (bin.wait_s + bin.cpu_s), ">=", limit), bin.wait_s)
end

-- Whether short processes come and go: they wait for each other now and then, as those of a build do.
local function starts_many() return job.forks >= 10 * math.max(job.demand, job.tasks) end

-- What a task with so many cores is to start no more of, the line that says so, and how many.
local function no_more_than(cores)
	if not (cores >= 1) then
		return format("Start no more ranks than cores (%smpirun -n), of one thread each:", advice("srun --ntasks, ", "")),
			"export OMP_NUM_THREADS=1", 1
	end
	local n = math.floor(cores)
	local others = {}
	if starts_many() then others[1] = format("make -j%d, xargs -P%d", n, n) end
	if not (job.is_slurm == 0) then others[#others + 1] = format("#SBATCH --cpus-per-task=%d", n) end
	return format("Start no more threads than cores, of all processes together%s:", #others > 0 and
		" (" .. table.concat(others, ", ") .. ")" or ""), format("export OMP_NUM_THREADS=%d OPENBLAS_NUM_THREADS=%d", n, n), n
end

-- Switches between threads per CPU second.
local function switch_rate() return ratio(known(job.vol_switches, 0) + known(job.invol_switches, 0), job.cpu_s) end

-- What so many switches between threads take of the kernel at most.
local function switching_s(switch_s)
	return lower(kernel_s(), (known(job.vol_switches, 0) + known(job.invol_switches, 0)) * switch_s)
end

-- Cost: what the switches between threads take, in the kernel and of caches at least, and, where they meet at barriers, core-seconds
-- idle while threads waited.
rules["cpu.oversubscribed"] = {
	kind = "line",
	many = {safe = "lowest", unit = "thread"},
	needs = {"job.wait_share", "job.demand", "job.cores", "job.cpu_share", "job.core_s"},
	limits = {least_s = 120, warn = 0.10, bad = 0.25, lost = 0.05, demand = 1.1, busy = 0.8, busy_meeting = 0.6, burst_s = 0.001, switch_s = 5e-6,
		kernel_s = 1e-5, yields = 10000, own = 0.5, meet = 4000},
	suppressed_by = {"cpu.spin_yield", "cpu.stacked", "cpu.throttled", "sync.fine"},
	source = "ClusterCockpit: load above 1.2 of the cores",
	judge = function(limits)
		no_shell()
		local cpus = math.max(job.cores, known(job.cpus, 0))
		only_if(job.wait_share >= limits.warn, "%s of the runnable time was waiting, not %s",
			percent(job.wait_share), percent(limits.warn))
		only_if(job.demand > limits.demand * cpus, "%s CPUs were in demand, not more than %s",
			number(job.demand), number(limits.demand * cpus))
		local own = ratio(waited_own_s(), waited_s())
		local busy = job.cpu_share + known(share(job.idle_wait_s), 0)
		-- Where threads wait for each other there are too many of them, whoever has the rest of the cores.
		if own >= limits.own then busy = busy + known(share(job.others_s), 0) end
		-- Where threads meet often all wait for one that has no CPU; what they do meanwhile may look like work. The parts of a
		-- pipeline do not: each goes on until a pipe is full.
		local _, blocked = blocked_times()
		local meet = switch_rate() >= limits.meet and not (known(blocked.blocked_pipe_s, 0) > known(blocked.blocked_futex_s, 0))
		only_if(busy >= (meet and limits.busy_meeting or limits.busy), "the cores were busy or waited for in %s of the time only",
			percent(busy))
		only_if(not (meet and job.vol_switches >= job.invol_switches and waits_for_messages()),
			"its threads wait for messages: clients and servers take turns")
		-- Threads that meet at barriers wait often and shortly, too, and there the waits of each hold up all.
		only_if(not (job.run_p50_s < limits.burst_s) or not starts_many() and meet,
			"half of the waits were shorter than %s: bursts of work", duration(limits.burst_s))
		only_if(not (own < limits.own), "%s of the waits only were for the job itself", percent(known(own, 0)))
		local yields = ratio(job.invol_switches, job.cpu_s)
		only_if(job.has_mpi == 0 or not (yields >= limits.yields), "threads gave their CPU away %s times per CPU second: they yield",
			number(known(yields, 0)))
		local remedy, code, threads = no_more_than(ratio(job.cores, job.tasks))
		local cost = lower((meet and known(job.avoidable_s, 0) or 0) + known(job.invol_switches, 0) * limits.switch_s +
			known(switching_s(limits.kernel_s), 0), job.core_s)
		return {
			severity = share(cost) < limits.lost and "note" or job.wait_share >= limits.bad and "bad" or "warn",
			cost = cost,
			saving = share(cost),
			at_least = true,
			times = times_of_waiting(limits.warn),
			text = format("Threads waited for a CPU in %s of the time they could run: they had work for %s " ..
				"on %s.%s", percent(job.wait_share), plural(job.demand, "CPU"), number(cpus), own >= limits.own and
				format(" The job itself had the CPU for %s of these waits.", percent(own)) or ""),
			remedy = remedy,
			code = code,
			sets = {needs = threads},
		}
	end,
}

-- Whether threads look bound, though their tasks are not: they waited for long at a time, had no more work than there
-- are cores, and yet cores were idle; where both were seen at the same instants, more threads show the same. A kernel leaves
-- no core idle for long while a thread may run there.
local function look_bound(limits)
	return (job.queued > 0 or job.demand <= limits.demand * job.cores) and share(job.avoidable_s) >= limits.bad and
		ratio(job.wait_s, job.cpu_s) >= limits.long_s * switch_rate() and
		not (job.tasks > 1 and min(task.cpus_allowed) < min(node.cores))
end

-- Cost: waiting while own cores were idle.
rules["cpu.stacked"] = {
	kind = "line",
	needs = {"job.avoidable_s", "job.core_s", "job.cpu_share", "job.wait_share", "job.cores", "bin.avoidable_s",
		"bin.cores_s"},
	limits = {least_s = 60, share = 0.05, bad = 0.20, bins = 0.5, demand = 1.1, others = 0.05, own = 0.5, long_s = 0.001,
		inside = 0.05},
	suppressed_by = {"cpu.throttled"},
	source = "work conservation: no core is idle while a thread waits",
	judge = function(limits)
		has_cores()
		-- Tasks that are bound to some cores, too few for them, could not have used the others, whoever did.
		local crowded = indexes(mask(task.cpus_demand, ">", limits.demand) *
			mask(task.cpus_allowed, "<", (min(node.cores))))
		only_if(#crowded > 0 or look_bound(limits), "no task needs more than the CPUs that it may run on, or these are all")
		local avoidable = bin.avoidable_s
		if #crowded > 0 and #node == 1 then
			need("bin.wait_s")
			need("bin.cpu_s")
			local free = bin.cores_s - bin.cpu_s
			local less = mask(bin.wait_s, "<", free)
			avoidable = (bin.wait_s * less + free * (1 - less)) * mask(free, ">", 0)
		end
		local lost = share(#crowded > 0 and #node == 1 and sum(avoidable) or job.avoidable_s)
		only_if(lost >= limits.share, "threads waited beside idle cores for %s of the core time, not %s",
			percent(lost), percent(limits.share))
		local often = mean(mask(avoidable / bin.cores_s, ">=", limits.share))
		only_if(often >= limits.bins, "that was so in %s of the time, not in %s", percent(often),
			percent(limits.bins))
		local own = ratio(waited_own_s(), waited_s())
		only_if(not (own < limits.own), "%s of the waits only were for the job itself", percent(known(own, 0)))
		-- Outside of a job others may have used the idle cores; only bound threads and known waits show that they did not.
		only_if(own >= limits.own or job.is_slurm == 1 or job.is_exclusive == 1 or #crowded > 0 or
			share(job.others_s) < limits.others, "outside of a job other programs may use the same cores")
		local who, cost = #crowded > 0 and #task > 1 and ranks(crowded) or "", held(avoidable)
		return {
			severity = lost >= limits.bad and "bad" or "warn",
			cost = cost,
			saving = share(cost),
			-- Ranks and threads that wait for each other may spin meanwhile.
			at_least = job.has_mpi == 1 or ratio(job.sampled_openmp, job.samples) >= limits.inside,
			where = who,
			times = when(mask(avoidable / bin.cores_s, ">=", limits.share), avoidable),
			text = format("%s%s waited for a core in %s of the time they could run, while %.1f of %s did nothing for it.",
				who == "" and "Threads" or capital(who), #crowded > 0 and format(" may run on %s and",
				plural(max(array_of(task.cpus_allowed, crowded)), "CPU")) or "", percent(job.wait_share),
				math.max(0, (1 - job.cpu_share) * job.cores), plural(job.cores, "core")),
			remedy = #crowded == 0 and "Let threads use all cores: the program, its runtime or a launcher in it binds them (taskset, OMP_PLACES, mpirun --bind-to none)." or
				advice("Give each task its cores (srun does not take their number from sbatch since 22.05; mpirun --bind-to none):",
				"Let threads use all cores: look for taskset, OMP_PLACES, mpirun --bind-to none."),
			code = #crowded > 0 and in_job(format("srun --cpus-per-task=%d --cpu-bind=cores",
				math.max(1, math.floor(known(ratio(job.cores, job.tasks), 1))))) or nil,
		}
	end,
}

-- Cost: the stopped time, as far as cores were idle.
rules["cpu.throttled"] = {
	kind = "sentence",
	needs = {"job.cpu_s", "job.core_s"},
	limits = {least_s = 60, warn = 0.02, bad = 0.10},
	source = "cgroup cpu.stat",
	judge = function(limits)
		only_if(job.throttled_s >= 0 or job.thread_held_s >= 0, "neither the cgroup nor the threads tell of a quota")
		-- What the kernel says of threads counts quotas of containers and of cgroups below the step's, too.
		local of_step = known(job.throttled_s, 0)
		local held_s = higher(of_step, known(job.thread_held_s, 0))
		-- Stopped threads are runnable, so the kernel may count the same time as waiting.
		local runnable = job.cpu_s + math.max(held_s, known(job.wait_s, 0))
		local lost = ratio(held_s, runnable)
		only_if(lost >= limits.warn, "a CPU quota stopped it for %s of the time it could run, not for %s",
			percent(lost), percent(limits.warn))
		local bins = of_step < held_s and bin.held_s or bin.throttled_s
		local cost = lower(held(over_time(held_s, bins)), higher(0, job.core_s - job.cpu_s))
		local held = indexes(mask(task.thread_held_s / (task.thread_held_s + task.thread_run_s), ">=", limits.warn))
		local where = #held > 0 and #held < #task and ranks(held) or ""
		return {
			severity = lost >= limits.bad and "bad" or "warn",
			cost = cost,
			saving = share(cost),
			where = where,
			times = when(mask(bins / (bins + bin.cpu_s), ">=", limits.warn), bins),
			text = format("A CPU quota stopped it for %s of the time it could run (%s in all).", percent(lost),
				duration(held_s)),
			remedy = "Raise the quota (cpu.max) of the container (--cpus), of the service (CPUQuota) or of its cgroup, or start " ..
				"fewer threads.",
		}
	end,
}

-- Cost: waiting while own cores did not work, as far as others used them where that is known. What others take besides,
-- of caches and of the other hardware thread of a core, is not known.
rules["cpu.neighbour"] = {
	kind = "line",
	needs = {"job.wait_share", "job.demand", "job.cores", "job.core_s", "job.wait_s"},
	limits = {least_s = 120, warn = 0.05, bad = 0.3, least = 0.02, seen = 0.1, demand = 1.0,
		burst_s = 0.001, foreign = 0.5, fits = 1.1, full = 0.9, kept = 0.2},
	suppressed_by = {"cpu.stacked", "cpu.throttled"},
	source = "bcc #2973; its threshold is jobprof's own",
	judge = function(limits)
		no_shell()
		only_if(job.wait_share >= limits.warn, "%s of the runnable time was waiting, not %s",
			percent(job.wait_share), percent(limits.warn))
		local all = held(over_time(job.idle_wait_s, bin.idle_wait_s))
		only_if(not (share(all) < limits.least), "its threads could run so rarely that waiting took %s of the time",
			percent(known(share(all), 0)))
		local foreign = ratio(waited_foreign_s(), waited_s())
		local others = known(job.others_s, 0)
		-- They took cores that the job had work for: then it waits for itself on those that are left.
		local crowded = others > 0 and share(others) >= limits.seen and
			(at_once(bin.cpu_s + bin.wait_s) <= limits.fits * job.cores or
			share(lower(others, job.idle_wait_s)) >= limits.kept) and
			known(job.cpu_share, 0) + share(others) >= limits.full
		only_if(crowded or not (foreign < limits.foreign), "%s of the waits only were for others' programs",
			percent(known(foreign, 0)))
		local list = indexes(mask(node.wait_s / (node.wait_s + node.cpu_s), ">=", limits.warn))
		local where = #node > 1 and #list > 0 and nodes(list) or ""
		if foreign >= limits.foreign then
			-- Own threads that wait for each other leave no core to others. Of threads that are blocked by a lock for most of
			-- their time one at a time could have used it.
			local at_locks = known(job.blocked_futex_s, 0) > job.cpu_s + job.wait_s
			local taken = not at_locks and known(lower(1, ratio(others, job.idle_wait_s)), 0) or 0
			local cost = math.max(foreign, taken) * all
			return {
				severity = share(cost) >= limits.bad and "bad" or "warn",
				cost = cost,
				saving = share(cost),
				at_least = true,
				where = where,
				times = times_of_waiting(limits.warn),
				text = format("Threads waited for a CPU in %s of the time they could run; %s.", percent(job.wait_share),
					waited_for_text()),
				remedy = advice("Look what else runs there, and ask for whole nodes:",
					"Look what else runs there (top), and measure again when the machine is idle."),
				code = in_job("#SBATCH --exclusive"),
			}
		end
		if others > 0 and share(others) >= limits.seen then
			local cost = lower(1, ratio(others, job.idle_wait_s)) * all
			-- Its own threads had the cores meanwhile: whether more of these would have helped is not known.
			return {
				severity = "note",
				cost = cost,
				saving = share(cost),
				at_least = true,
				where = where,
				times = times_of_waiting(limits.warn),
				text = format("Programs outside of the job used %s of its cores' time, and its threads waited " ..
					"for a CPU in %s of the time they could run.", percent(share(others)),
					percent(job.wait_share)),
				remedy = advice("Look what else runs there, and ask for whole nodes:",
					"Look what else runs there (top), and measure again when the machine is idle."),
				code = in_job("#SBATCH --exclusive"),
			}
		end
		only_if(job.demand <= limits.demand * job.cores, "more CPUs were in demand than there were")
		only_if(not (job.run_p50_s < limits.burst_s), "half of the waits were shorter than %s",
			duration(limits.burst_s))
		only_if(not (job.is_exclusive == 1), "no other job may use the nodes")
		return {
			severity = asked("warn"),
			cost = all,
			saving = share(all),
			where = where,
			times = times_of_waiting(limits.warn),
			text = format("Threads waited for a CPU in %s of the time they could run, though there was one for " ..
				"each (%s in demand, %s). The cause is unknown: other programs, or a narrow binding.",
				percent(job.wait_share), number(job.demand), plural(job.cores, "core")),
			remedy = advice("Bind tasks to cores (srun --cpu-bind=cores), or ask for whole nodes:",
				"Look what else runs there (top), and whether taskset or a container binds it to few CPUs."),
			code = in_job("#SBATCH --exclusive"),
		}
	end,
}

-- What no other rule explains is said nevertheless. Nobody knows what of it could be avoided, so it costs none.
rules["cpu.waiting"] = {
	kind = "command",
	needs = {"job.wait_share", "job.core_s", "job.idle_wait_s"},
	limits = {least_s = 60, share = 0.25, lost = 0.25},
	suppressed_by = {"cpu.oversubscribed", "cpu.stacked", "cpu.throttled", "cpu.neighbour", "cpu.spin_yield", "sync.fine",
		"proc.forks", "mpi.imbalance", "mpi.straggler"},
	source = "jobprof's own",
	judge = function(limits)
		no_shell()
		only_if(job.wait_share >= limits.share, "%s of the runnable time was waiting, not %s", percent(job.wait_share),
			percent(limits.share))
		local lost = share(held(over_time(job.idle_wait_s, bin.idle_wait_s)))
		only_if(lost >= limits.lost, "waiting took %s of the core time, not %s", percent(known(lost, 0)), percent(limits.lost))
		local own, foreign = known(ratio(waited_own_s(), waited_s()), 0), known(ratio(waited_foreign_s(), waited_s()), 0)
		return {
			severity = "note",
			times = times_of_waiting(limits.share),
			text = format("Threads waited for a CPU in %s of the time they could run%s, and no rule says why.", percent(job.wait_share),
				own + foreign > 0 and format(": the job itself had it for %s of these waits, other programs for %s", percent(own),
				percent(foreign)) or ""),
			remedy = "See what speaks against each cause (--why cpu.neighbour, --why cpu.stacked):",
			code = "jobprof report --why cpu.oversubscribed",
		}
	end,
}

-- Cost: what the slow clock took from the node's own work.
rules["cpu.slow_clock"] = {
	kind = "sentence",
	needs = {"node.clock_slow", "node.clock_mhz", "node.cpu_s", "node.wall_s"},
	limits = {least_s = 300, bins = 0.5, throttled = 0.02, hot_c = 95},
	source = "half of the busy time below 0.9 of like nodes' clock; PCP's thermal rule",
	judge = function(limits)
		only_if(#node > 1, "there is no other node to compare with")
		local list = indexes(mask(node.clock_slow, ">=", limits.bins))
		only_if(#list > 0, "no node's clock was low for %s of its busy time", percent(limits.bins))
		only_if(#list < #node, "all nodes are alike")
		local usual, cost, is_hot, slowest = quantile(node.clock_mhz, 0.9), 0, false, list[1]
		for _, i in ipairs(list) do
			cost = cost + known((1 - ratio(node.clock_mhz[i], usual)) * node.cpu_s[i], 0)
			is_hot = is_hot or ratio(node.pkg_throttle_s[i], node.wall_s[i]) >= limits.throttled or
				node.temperature_max[i] >= limits.hot_c
			slowest = node.clock_mhz[i] < node.clock_mhz[slowest] and i or slowest
		end
		return {
			severity = is_hot and "warn" or "note",
			cost = math.max(0, cost),
			where = nodes(list),
			text = format("%s ran at %.1f GHz while busy, like nodes at %.1f GHz: %s.", nodes({slowest}),
				node.clock_mhz[slowest] / 1000, usual / 1000,
				is_hot and "its processors were slowed by heat or power" or "its clock is limited"),
			remedy = is_hot and "Nothing in the job: tell the administrator." or "",
		}
	end,
}

-- The option that leaves out these nodes; nil: they are many.
local function exclude(list)
	local names = {}
	for i, k in ipairs(list) do
		names[i] = node.name[k] or ""
		if i > 4 then return nil end
	end
	return "#SBATCH --exclude=" .. table.concat(names, ",")
end

-- Cost: what the slow node lost of its own work.
rules["node.slow"] = {
	kind = "line",
	needs = {"node.speed", "node.speed_slow", "node.speed_z", "node.tasks", "node.cpu_s", "node.model"},
	limits = {least_s = 300, speed = 0.9, bins = 0.8, z = -5, work = 0.2, nodes = 3},
	suppressed_by = {"cpu.slow_clock"},
	source = "omnistat: deviation above 0.05; robust z of 5",
	judge = function(limits)
		only_if(#node >= limits.nodes, "there are fewer than %d nodes", limits.nodes)
		only_if(not (job.programs > 1), "tasks run different programs")
		local list = indexes(mask(node.speed, "<", limits.speed) * mask(node.speed_slow, ">=", limits.bins) *
			mask(node.speed_z, "<", limits.z))
		only_if(#list > 0, "no node was below %.2f of the others' speed for %s of the time", limits.speed,
			percent(limits.bins))
		local tasks, work = median(node.tasks), median(node.cpu_s)
		local slow, cost, slowest = {}, 0, nil
		for _, i in ipairs(list) do
			local like = sum(mask(node.model, "==", node.model[i])) >= limits.nodes
			local same_work = math.abs(ratio(node.cpu_s[i], work) - 1) <= limits.work
			if like and same_work and node.tasks[i] == tasks then
				slow[#slow + 1] = i
				cost = cost + (1 - node.speed[i]) * node.cpu_s[i]
				slowest = slowest and node.speed[slowest] <= node.speed[i] and slowest or i
			end
		end
		only_if(#slow > 0, "slow nodes are of another model or do other work")
		only_if(#slow <= #node / 2, "more than half of the nodes are slow")
		local names = exclude(slow)
		return {
			severity = "warn",
			cost = cost,
			saving = 1 - node.speed[slowest],
			where = nodes(slow),
			text = format("%s did %s less per CPU second than the %s, nearly all the time.", nodes({slowest}),
				percent(1 - node.speed[slowest]), plural(#node - #slow, "other node")),
			remedy = advice(names and "Tell the administrator, and leave it out next time:" or
				format("Leave it out next time (#SBATCH --exclude=%s), and tell the administrator.", nodes(slow)),
				"Leave it out next time, and tell the administrator."),
			code = in_job(names),
		}
	end,
}

---------------------------------------------------------------------- tasks

-- The smaller part of the ranks, those with more than their share of the work or those with less.
local function unequal_ranks(work)
	local usual = mean(work)
	local above, below = mask(work, ">", 1.1 * usual), mask(work, "<", 0.9 * usual)
	local few = sum(above) <= sum(below) and above or below
	local rest = mean(only(work, mask(few, "==", 0)))
	return indexes(few), ratio(mean(only(work, few)), rest)
end

-- Share of the CPU time of these ranks that was inside MPI.
local function in_mpi(list)
	return 1 - ratio(sum(array_of(task.useful_s, list)), sum(array_of(task.cpu_s, list)))
end

-- Whether these tasks neither ran nor waited for a CPU for such a part of the time: in one that always works a helper
-- thread may sleep.
local function were_blocked(list, least)
	local wall_s = sum(array_of(task.wall_s, list))
	local runnable_s = sum(array_of(task.cpu_s, list)) + known(sum(array_of(task.wait_s, list)), 0)
	return ratio(wall_s - runnable_s, wall_s) >= least
end

-- What ranks with less work did meanwhile, as far as it is known.
local function waited_text(list, least)
	if by_samples() and in_mpi(list) >= least then
		return format(" Ranks with less were inside MPI for %s of their CPU time.", percent(in_mpi(list)))
	end
	local cause, part = blocked_by(list, least)
	return cause and were_blocked(list, least) and format(" Ranks with less waited for %s in %s of their time.", cause[1], percent(part)) or ""
end

-- The part of what tasks differ by that is before an end that cpu.tail finds.
local function unequal_before_end()
	local limits = rules["cpu.tail"].limits
	local few, first = quiet_end(limits)
	local unequal = bin.task_max_s - bin.task_mean_s
	if not first or first == 1 or rules["cpu.tail"].off or job.is_interactive == 1 then return 1 end
	local length = sum(slice(bin.span_s, first))
	if length < at_least(limits.least_s) or length < limits.share * job.wall_s then return 1 end
	local before, wanted = before_end(limits, few, first)
	if not (before >= wanted) or busy_end(limits, first) then return 1 end
	return known(ratio(sum(slice(unequal, 1, first - 1)), sum(unequal)), 1)
end

-- When the ranks' work was far below that of the one with most of it, as far as one rank can work at all.
local function times_of_imbalance(balance)
	local most, usual = per_second(bin.task_max_s), per_second(bin.task_mean_s)
	if by_samples() then most, usual = bin.communication_efficiency * bin.with_cpu, bin.parallel_efficiency end
	return when(mask(most - usual, ">", (1 - balance) * max(most)), (most - usual) * bin.span_s)
end

-- Share of the wall time that ranks with equal work would save, where samples tell their work: as long as the one with
-- most of it needs, with waits for a CPU in proportion, less what each needs then; the cores need their time for all of it.
local function saved_by_equal_work(work)
	local with_cpu = known(job.with_cpu, 1)
	local now, balanced = max(work) / with_cpu, mean(work) / with_cpu
	balanced = math.max(balanced, known(sum(work) / job.cores, 0))
	return higher(0, now - balanced) / math.max(job.wall_s, (max(task.cpu_s)))
end

-- Cost: core-seconds that equal work would save.
rules["mpi.imbalance"] = {
	kind = "sentence",
	needs = {"job.task_balance", "job.balance_saving", "job.core_s", "task.cpu_s"},
	limits = {least_s = 60, balance = 0.85, saving = 0.05, bad = 0.20, rest = 0.95, blocked = 0.15, yields = 5000, with_cpu = 0.6, speeds = 1.8},
	suppressed_by = {"mpi.straggler", "cpu.stacked", "cpu.nodes_unused", "io.one_rank", "job.stopped"},
	source = "POP: load balance below 0.85; Scalasca",
	judge = function(limits)
		only_if(#task > 1, "there is only one task")
		local work, what = work_of_ranks()
		local balance, saving = job.task_balance, job.balance_saving
		if by_samples() then
			balance = job.load_balance
			saving = saved_by_equal_work(work)
		else
			saving = saving * unequal_before_end()
		end
		only_if(balance < limits.balance, "the load balance is %.2f, not below %.2f%s", balance, limits.balance,
			(by_samples() or job.has_mpi == 0) and "" or "; ranks that spin inside MPI look busy without the family sample")
		only_if(saving >= limits.saving, "equal work would save %s, not %s", percent(saving), percent(limits.saving))
		-- Where ranks take turns on a core, equal work leaves as much of it to each core.
		only_if(not (job.with_cpu < limits.with_cpu), "ranks had a CPU in %s of the time only in which they had work",
			percent(job.with_cpu))
		only_if(not (job.programs > 1), "tasks run different programs")
		only_if(by_samples() or not (yield_rate() > limits.yields), "ranks yield while they wait, which looks like work")
		local severity = saving >= limits.bad and "bad" or "warn"
		local list, factor = unequal_ranks(work)
		only_if(#list > 0, "no rank differs by a tenth")
		local who = ranks(list)
		local low = select(2, min(work))
		local others = only(work, mask(work, "~=", work[low]))
		-- One rank that hands out work is a choice; it is one of n cores.
		if #task > 2 and #list == 1 and factor < 1 and ratio(mean(others), (max(others))) >= limits.rest then
			severity = "note"
		end
		-- The CPUs of a virtual machine are not equally fast: without counts of instructions that looks like more work.
		local by_speed = by_samples() and not (job.instructions > 0) and ratio((max(work)), (min(work))) < limits.speeds
		if by_speed then severity = "note" end
		local rest = #task - #list == 1 and "the other" or "the " .. plural(#task - #list, "other")
		local text = format("%s used %s the %s of %s.", capital(who), short_factor(factor), what, rest)
		if factor < 0.05 then
			text = format("%s did almost nothing: %s did the work.", capital(who), rest)
		elseif not (factor <= 20) then
			text = format("%s did the work: %s did almost nothing.", capital(who), rest)
		elseif factor < 1 then
			text = format("%s used %s of the %s that %s used.", capital(who), percent(factor), what, rest)
		end
		text = text .. waited_text(indexes(mask(work, "<", mean(work))), limits.blocked) ..
			(by_speed and " Or their CPUs are not equally fast, which counts of instructions (family perf) would tell." or "")
		return {
			severity = severity,
			cost = saving * job.core_s,
			saving = saving,
			where = who,
			times = times_of_imbalance(limits.balance),
			text = format("%s With equal work%s it would take %s less.", text, by_samples() and "" or " in every moment", percent(saving)),
			remedy = (factor < 0.05 or not (factor <= 20)) and
				"Look whether the program was started in parallel and has work for each rank, or start fewer (" ..
				advice("srun --ntasks", "mpirun -n") .. ")." or
				"Share the work by cost, or let the program balance it while it runs (decomposition, dynamic scheduling).",
		}
	end,
}

-- Cost: core-seconds that the others waited for one rank.
rules["mpi.straggler"] = {
	kind = "sentence",
	needs = {"task.cpu_s", "job.core_s", "job.cpu_s", "job.wall_s"},
	limits = {least_s = 120, factor = 1.3, rest = 0.1, tasks = 4, busy = 0.95, wait = 0.1, blocked = 0.15},
	suppressed_by = {"io.one_rank", "cpu.tail", "cpu.stacked"},
	source = "Darshan's slowest rank",
	judge = function(limits)
		only_if(#task >= limits.tasks, "there are fewer than %d tasks", limits.tasks)
		only_if(not (job.programs > 1), "tasks run different programs")
		local work, what = work_of_ranks()
		local usual, most, at = median(work), max(work)
		only_if(usual > 0, "most ranks used no %s", what)
		only_if(most >= limits.factor * usual, "the highest rank used %.2f of the median %s, not %.2f",
			most / usual, what, limits.factor)
		local near = sum(mask(work, ">=", (1 - limits.rest) * usual) * mask(work, "<=", (1 + limits.rest) * usual))
		only_if(near >= #task - 1, "%s differ from the median too", plural(#task - 1 - near, "other rank"))
		only_if(not (job.wait_share >= limits.wait), "threads waited for a core")
		local others_busy = ratio(sum(work) - most, (#task - 1) * job.wall_s)
		only_if(not (others_busy >= limits.busy), "the other ranks were busy all the time")
		local cause = blocked_by(indexes(mask(work, "<", most)), limits.blocked)
		local cost = lower((most - usual) * (math.min(#task, known(job.cores, #task)) - 1), idle_s())
		-- Ranks that spin while they wait leave no core idle.
		if by_samples() then cost = saved_by_equal_work(work) * job.core_s end
		local who = ranks({at})
		return {
			severity = "warn",
			cost = cost,
			saving = share(cost),
			where = who,
			text = format("%s used %s of %s, %s the median of the %s, which waited%s.", capital(who),
				duration(most), what, short_factor(most / usual), plural(#task - 1, "other"), by_samples() and " inside MPI" or
				cause and format(" for %s", cause[1]) or ""),
			remedy = "Look at what this rank does more than others (its data, output, or its node), and share that.",
		}
	end,
}

-- Cost: idle core-seconds in the tail.
rules["cpu.tail"] = {
	kind = "command",
	needs = {"bin.cpu_s", "bin.cores_s", "bin.start_s", "bin.span_s", "job.cores", "job.wall_s"},
	limits = {load = 0.25, one = 1.05, before = 0.5, rise = 1.5, least_s = 300, share = 0.10, io_mb_s = 10, disk = 0.5,
		wait = 0.3, gpu = 0.05, none = 0.05},
	suppressed_by = {"job.stopped"},
	source = "XDMoD homogeneity; its threshold is jobprof's own",
	judge = function(limits)
		no_shell()
		has_cores()
		local used = load()
		local few, first = quiet_end(limits)
		only_if(first, "the last bin used more than %s of the cores", percent(few))
		only_if(first > 1, "it never used more than %s of the cores", percent(few))
		local length = sum(slice(bin.span_s, first))
		only_if(length >= at_least(limits.least_s), "the end with few cores in use took %s, not %s",
			duration(length), duration(at_least(limits.least_s)))
		only_if(length >= limits.share * job.wall_s, "the end with few cores in use took %s of the time, not %s",
			percent(length / job.wall_s), percent(limits.share))
		local before, wanted = before_end(limits, few, first)
		only_if(before >= wanted, "before that %s of the cores were used, not %s", percent(before), percent(wanted))
		local why = busy_end(limits, first)
		only_if(not why, "%s", why)
		local cost = higher(0, sum(slice(bin.cores_s, first)) - sum(slice(bin.cpu_s, first)))
		local cores = sum(slice(bin.cpu_s, first)) / length
		only_if(not (by_samples() and job.load_balance < rules["mpi.imbalance"].limits.balance and cores >= limits.none),
			"ranks that had done their work waited for others: the end is a part of that")
		return {
			severity = "bad",
			cost = cost,
			times = {{bin.start_s[first], bin.start_s[#bin] + bin.span_s[#bin]}},
			text = format("The last %s used %s of %s; %s were not used.", duration(length), number(cores),
				plural(job.cores, "core"), core_time(cost)),
			remedy = cores < limits.none and "Look what it waits for at its end, or end the job before." or
				advice("Do this part in a small job of its own:",
				"Hand out its work in smaller pieces, so that all cores have a part, or do it in a run of its own, on fewer cores."),
			code = cores >= limits.none and in_job("sbatch --dependency=afterok:JOBID --ntasks=1") or nil,
		}
	end,
}

-- Cost: idle core-seconds since it stopped.
rules["job.stopped"] = {
	kind = "sentence",
	needs = {"bin.cpu_s", "bin.cores_s", "bin.span_s", "bin.start_s", "bin.read_mb", "bin.write_mb"},
	limits = {load = 0.005, busy = 0.05, bins = 10, least_s = 300, io_mb_s = 0.01},
	source = "XDMoD catastrophe, job_defense_shield: no CPU use",
	judge = function(limits)
		no_shell()
		local used, io = load(), per_second(bin.read_mb + bin.write_mb)
		local first = tail(mask(used, "<", limits.load) * mask(io, "<", limits.io_mb_s))
		only_if(first, "it was active at the end")
		only_if(#bin - first + 1 >= limits.bins, "it was idle in the last %s, not in %d",
			plural(#bin - first + 1, "bin"), limits.bins)
		local length = sum(slice(bin.span_s, first))
		only_if(length >= at_least(limits.least_s), "it was idle for the last %s, not %s", duration(length),
			duration(at_least(limits.least_s)))
		only_if(first > 1 and sum(mask(slice(used, 1, first - 1), ">=", limits.busy)) >= limits.bins,
			"it was never busy for %d bins", limits.bins)
		only_if(not (sum(slice(bin.net_mb, first)) / length >= limits.io_mb_s), "it used the network at the end")
		only_if(not (sum(slice(bin.port_mb, first)) / length >= 1), "its nodes used the fabric at the end")
		if not (job.gpus == 0) then
			need("bin.gpu")
			only_if(max(slice(bin.gpu, first)) == 0, "GPUs worked at the end")
		end
		local cost = higher(0, sum(slice(bin.cores_s, first)) - sum(slice(bin.cpu_s, first)))
		return {
			severity = job.is_completed == 1 and "note" or "bad",
			cost = cost,
			times = {{bin.start_s[first], bin.start_s[#bin] + bin.span_s[#bin]}},
			text = format("No CPU, no input, no output%s for the last %s; %s held meanwhile: %s.",
				job.gpus > 0 and ", no GPU" or "", duration(length), job.is_running == 1 and
				plural(#node, "node is", "nodes are") or plural(#node, "node was", "nodes were"),
				core_time(cost)),
			remedy = job.is_running == 1 and advice("Look at its output; scancel it if it hangs.", "Look at its output; end it if it hangs.") or
				"Look at the end of its output: it may have waited for another process or a service.",
		}
	end,
}

---------------------------------------------------------------------- memory

rules["mem.over"] = {
	kind = "line",
	many = {safe = "highest", unit = "MiB", column = "own_peak_mb"},
	needs = {"job.own_peak_mb", "job.ask_mb", "job.request_mb", "job.nodes", "job.cores", "job.cores_per_node",
		"job.wall_s", "job.is_request_default", "job.is_completed"},
	limits = {used = 0.2, gb_h = 100, cores = 0.85},
	source = "job_defense_shield 0.35, jobstats 0.7",
	judge = function(limits)
		only_if(job.is_completed == 1, "it did not complete")
		only_if(job.is_request_default == 0, "it did not ask for memory")
		only_if(not (job.is_exclusive == 1), "whole nodes come with their memory")
		local cores = ratio(job.cores, job.nodes * job.cores_per_node)
		only_if(cores < limits.cores, "%s of the cores come with the memory", percent(cores))
		local used = ratio(job.own_peak_mb, job.request_mb)
		only_if(used < limits.used, "%s of the memory was used, not below %s", percent(used), percent(limits.used))
		local gb_h = (job.request_mb - job.own_peak_mb) / 1024 * job.nodes * job.wall_s / 3600
		only_if(gb_h > limits.gb_h, "%s GiB-hours were not used, not more than %s", number(gb_h),
			number(limits.gb_h))
		return {
			severity = "note",
			text = format("%s of %s were used%s; %s GiB-hours were not.", size(job.own_peak_mb),
				size(job.request_mb), job.nodes > 1 and " on the fullest node" or "", number(gb_h)),
			remedy = "A smaller request starts earlier:",
			code = format("#SBATCH --mem=%s", mem_option(job.ask_mb)),
			sets = {needs = job.ask_mb, used = job.own_peak_mb, asked = job.request_mb},
		}
	end,
}

rules["mem.near_limit"] = {
	kind = "line",
	many = {safe = "highest", unit = "MiB", column = "own_peak_mb"},
	needs = {"node.own_peak_mb", "node.limit_mb", "job.ask_mb"},
	limits = {used = 0.9},
	suppressed_by = {"mem.oom"},
	source = "ClusterCockpit 0.9",
	judge = function(limits)
		local used, at = max(node.own_peak_mb / node.limit_mb)
		only_if(used > limits.used, "%s of the limit were used, not above %s", percent(used), percent(limits.used))
		local list = indexes(mask(node.own_peak_mb / node.limit_mb, ">", limits.used))
		return {
			severity = "warn",
			where = #node > 1 and nodes(list) or "",
			times = #node == 1 and when(mask(bin.own_mb / node.limit_mb[1], ">", limits.used)) or nil,
			text = format("%s of %s%s were used by the job's own data, without page cache: little more and it is killed.",
				size(node.own_peak_mb[at]), size(node.limit_mb[at]),
				#node > 1 and " on " .. nodes({at}) or ""),
			remedy = advice("", format("Give it %s of memory.", mem_option(job.ask_mb))),
			code = in_job(format("#SBATCH --mem=%s", mem_option(job.ask_mb))),
			sets = {needs = job.ask_mb, used = node.own_peak_mb[at], asked = node.limit_mb[at]},
		}
	end,
}

rules["mem.leak"] = {
	kind = "sentence",
	needs = {"job.own_peak_mb"},
	limits = {least_s = 3600, growth = 0.1, part = 0.2, grown_mb = 64, fills_s = 60, filled = 0.25},
	source = "PIKA: memory lies within a tenth of a rising line",
	judge = function(limits)
		only_if(job.leak_mb_s > 0 and job.leak_low_mb_s > 0, "memory does not rise steadily")
		only_if(job.wall_s >= limits.fills_s or job.leak_now_mb >= limits.filled * job.leak_limit_mb,
			"it ran for %s: programs fill their buffers for a while", duration(job.wall_s))
		only_if(job.leak_m >= limits.growth, "memory grew by %s of its peak, not by %s", percent(job.leak_m),
			percent(limits.growth))
		-- The least that is worth a word, but for a limit that is as small.
		local grown = job.leak_m * job.own_peak_mb
		only_if(grown >= math.min(limits.grown_mb, known(limits.growth * job.leak_limit_mb, limits.grown_mb)),
			"memory grew by %s in all", size(grown))
		local room = job.leak_limit_mb - job.leak_now_mb
		local left, eta = job.limit_s - job.job_elapsed_s, ratio(room, job.leak_mb_s)
		local rate = job.wall_s < 600 and size(job.leak_mb_s) .. " a second" or size(job.leak_mb_s * 3600) .. " an hour"
		if job.is_running == 1 then
			-- Many programs grow at first; but memory that will be full before as much time has passed again is no matter of a begin.
			only_if(not (job.job_elapsed_s < limits.part * job.limit_s and not (eta < job.job_elapsed_s)),
				"it has run for less than %s of its limit", percent(limits.part))
			if eta < left then
				return {
					severity = "bad",
					text = format("Memory grows by %s: at the limit of %s in %s (%s to %s), before the time limit.",
						rate, size(job.leak_limit_mb), duration(eta),
						duration(room / job.leak_high_mb_s), duration(room / job.leak_low_mb_s)),
					remedy = advice("Write a checkpoint now. Then look which data grows, or ask for more: #SBATCH --mem",
						"Look which data grows, before memory is full."),
				}
			end
		end
		return {
			severity = "note",
			text = format("Memory grew by %s all the time, to %s: growing data, or memory that is never freed.%s",
				rate, size(job.leak_now_mb), eta > 0 and format(" At this rate it is at the limit of %s %s later.",
				size(job.leak_limit_mb), duration(eta)) or ""),
			remedy = "A longer run needs more memory" .. advice(" (#SBATCH --mem)", "") .. ", unless the program frees what it no longer needs.",
		}
	end,
}

rules["mem.oom"] = {
	kind = "line",
	needs = {"job.oom_kills"},
	limits = {coverage = 0},
	source = "the kernel's count",
	judge = function(limits)
		only_if(job.oom_kills >= 1, "no process was killed for want of memory")
		local list = indexes(mask(node.oom_kills, ">", 0))
		local at = list[1]
		local more = job.ask_mb > 0 and mem_option(job.ask_mb)
		local limit = at and known(node.oom_limit_mb[at], node.limit_mb[at])
		local of_step = at and node.oom_limit_mb[at] < node.limit_mb[at]
		local full = limit and limit == limit and
			format(" at %s of %s", of_step and "its step's limit" or "a limit", size(limit)) or ""
		return {
			times = when(mask(bin.oom_kills, ">", 0)),
			severity = job.is_completed == 1 and "note" or "bad",
			where = #node > 1 and #list > 0 and nodes(list) or "",
			text = format("The kernel killed %s for want of memory%s%s.", plural(job.oom_kills, "process", "processes"),
				#list > 0 and " on " .. nodes(list) or "", full),
			remedy = of_step and "Give that step more of the job's memory (srun --mem)." or
				advice(more and "Start fewer tasks on each node (#SBATCH --ntasks-per-node), or ask for so much memory or more:" or
				"Ask for more memory (#SBATCH --mem), or fewer tasks on each node (#SBATCH --ntasks-per-node).",
				format("Give it %s memory, or fewer processes at the same time.", more and more .. " or more" or "more")),
			code = more and not of_step and in_job("#SBATCH --mem=" .. more) or nil,
		}
	end,
}

-- Cost: waiting for disks in these bins.
rules["mem.thrash"] = {
	kind = "sentence",
	needs = {"bin.major_faults", "bin.charged_share", "bin.span_s", "bin.start_s"},
	limits = {least_s = 120, start_s = 60, faults = 100, pages = 3200, full = 0.95, stall = 0.05, disk = 0.1, refaults = 0.5,
		share = 0.1},
	source = "USE method: saturation of memory",
	judge = function(limits)
		-- A fault brings the pages that follow, too, and what read() takes comes back without any.
		local many = mask(per_second(bin.major_faults), ">=", limits.faults)
		if sum(bin.refaults) >= 0 then many = many + mask(per_second(bin.refaults), ">=", limits.pages) end
		local full = mask(bin.charged_share, ">=", limits.full) * mask(bin.start_s, ">=", at_least(limits.start_s)) *
			mask(many, ">", 0)
		local length = sum(only(bin.span_s, full))
		only_if(length >= limits.share * job.wall_s, "pages were read again at full memory for %s of the time, not %s",
			percent(known(length, 0) / job.wall_s), percent(limits.share))
		local disk = sum(only(bin.disk_wait_s, full))
		local stalled = sum(only(bin.psi_mem_s, full)) / length
		local waited = disk / (disk + sum(only(bin.cpu_s, full)) + sum(only(bin.wait_s, full)))
		only_if(stalled >= limits.stall or waited >= limits.disk, "tasks waited little for these pages")
		local faults, again = sum(only(bin.major_faults, full)), sum(only(bin.refaults, full))
		only_if(not (again < limits.refaults * faults), "most pages had not been there before: a large input")
		local cost = held(bin.idle_disk_s * full)
		return {
			severity = "bad",
			cost = cost,
			saving = share(cost),
			times = when(full),
			text = format("It read the same pages of files from disk again, %s a second for %s, since memory was full.",
				plural(higher(faults, known(again, 0)) / length, "page"), duration(length)),
			remedy = advice("Ask for more memory (#SBATCH --mem), or read the file in parts instead of mapping it.",
				"It needs more memory; or read the file in parts instead of mapping it."),
		}
	end,
}

rules["mem.swap"] = {
	kind = "sentence",
	needs = {"job.swap_peak_mb", "bin.swap_mb"},
	limits = {least_s = 60, bins = 0.3, mb = 100},
	source = "PCP: swaps out in 0.3 of the samples",
	judge = function(limits)
		only_if(job.swap_peak_mb >= limits.mb, "%s were in swap, not %s", size(job.swap_peak_mb), size(limits.mb))
		local growing, more = mean(mask(diff(bin.swap_mb), ">", 0)), {0}
		for i = 2, #bin do more[i] = bin.swap_mb[i] - bin.swap_mb[i - 1] end
		only_if(growing >= limits.bins, "swapped memory grew in %s of the time, not in %s", percent(growing),
			percent(limits.bins))
		return {
			severity = "warn",
			times = when(mask(array(more), ">", 0)),
			text = format("Up to %s were in swap, and more was swapped in %s of the time: memory is too small.",
				size(job.swap_peak_mb), percent(growing)),
			remedy = advice("Ask for more memory (#SBATCH --mem), or fewer tasks on each node (#SBATCH --ntasks-per-node).",
				"It needs more memory, or fewer processes at the same time."),
		}
	end,
}

-- Cost: kernel time beyond what many programs need, and what the calls take outside of the kernel; the rest of the
-- waiting looks like work.
rules["cpu.spin_yield"] = {
	kind = "line",
	needs = {"job.invol_switches", "job.cpu_s", "job.system_s"},
	limits = {least_s = 60, cpu_s = 60, per_s = 5000, slice_s = 0.0001, call_s = 2e-7, samples = 100,
		inside = 0.1, demand = 1.1},
	source = "measured: yielding counts as an involuntary switch",
	judge = function(limits)
		only_if(job.cpu_s >= at_least(limits.cpu_s), "it used %s of CPU time, not %s", duration(job.cpu_s),
			duration(at_least(limits.cpu_s)))
		only_if(not (job.has_mpi == 0 and job.demand > limits.demand * job.cores), "it has more threads than cores, which yield to each other")
		local rate = yield_rate()
		local yields, slice_s = rate * job.cpu_s, 1 / rate
		only_if(yields > 0.5 * job.invol_switches, "threads slept about as often as they were switched: they wake each other")
		only_if(rate > limits.per_s and slice_s < limits.slice_s,
			"threads ran for %s at a time, not for less than %s", duration(slice_s), duration(limits.slice_s))
		local cost = held(over_time(lower(kernel_s() + yields * limits.call_s, job.cpu_s), bin.cpu_s))
		-- Samples say which runtime yields.
		local enough = job.samples >= limits.samples
		local mpi, openmp = ratio(job.sampled_for_mpi, job.samples), ratio(job.sampled_openmp, job.samples)
		local where = ""
		if enough and mpi >= limits.inside then where = format("; %s of their CPU time is inside MPI", percent(mpi)) end
		if enough and openmp >= limits.inside and not (openmp < mpi) then
			where = format("; %s of their CPU time is inside the runtime of OpenMP", percent(openmp))
		end
		local of_threads = job.has_mpi == 0 or enough and openmp >= limits.inside and not (openmp < mpi)
		return {
			severity = "warn",
			cost = cost,
			saving = share(cost),
			at_least = true,
			text = format("Threads gave their CPU away %s times per CPU second, after %s each: they wait by " ..
				"yielding (sched_yield), on cores that they share%s.", number(rate), duration(slice_s), where),
			remedy = of_threads and
				"Start no more threads than cores (OMP_NUM_THREADS, OPENBLAS_NUM_THREADS), or let them sleep while they wait:" or
				advice("Start one rank per core: srun --ntasks, --cpu-bind=cores", "Start one rank per core: mpirun -n, --bind-to core"),
			code = of_threads and "export OMP_WAIT_POLICY=passive" or nil,
		}
	end,
}

---------------------------------------------------------------------- input and output

-- What the kernel takes for requests to a disk, at most.
local REQUEST_S = 1e-4
local function requests_s() return known(lower(kernel_s(), job.blk_ops * REQUEST_S), 0) end

-- What threads are blocked by on disks that the kernel does not count as waiting for them: asynchronous requests.
local function disk_besides_s()
	return higher(0, known(job.blocked_disk_s, 0) + known(job.blocked_fault_s, 0) - known(job.disk_wait_s, 0))
end

-- Whether most writes ask a disk, each for itself: commits, fsync() and O_SYNC.
local function writes_ask() return job.disk_write_mb > job.disk_read_mb and ratio(job.blk_ops, job.write_calls) >= 0.5 end

-- Cost: waiting for disks or network files, and what the requests take of the kernel. What it takes for the data is not
-- known to be avoidable.
rules["io.wait"] = {
	kind = "sentence",
	needs = {"job.disk_wait_s", "job.wall_s", "job.tasks", "job.core_s", "job.cpu_s", "job.cpu_share"},
	limits = {least_s = 120, warn = 0.10, bad = 0.30, busy = 0.95, mostly = 0.5, request_mb = 0.25, data = 0.1},
	suppressed_by = {"mem.thrash", "io.periodic", "io.small", "io.metadata"},
	source = "jobprof's own",
	judge = function(limits)
		-- Several threads of a task may wait at the same time; and a task that sleeps does not wait.
		local besides_s, net_s = disk_besides_s(), known(job.blocked_net_fs_s, 0)
		local disk_s = job.disk_wait_s + besides_s
		local wait_s = disk_s + net_s
		local waited = lower(ratio(wait_s, job.wall_s * job.tasks),
			ratio(wait_s, wait_s + job.cpu_s + known(job.wait_s, 0)))
		only_if(waited >= limits.warn, "tasks waited for a disk for %s of the time, not %s", percent(waited),
			percent(limits.warn))
		only_if(job.cpu_share <= limits.busy, "the cores were busy meanwhile")
		local is_net = net_s > disk_s
		local net = over_time(lower(net_s, known(job.idle_asleep_s, job.idle_s)), bin.cores_s - bin.cpu_s)
		local idle = net
		if job.disk_wait_s > 0 then idle = idle + over_time(job.idle_disk_s + requests_s(), bin.idle_disk_s) end
		if besides_s > 0 then idle = idle + over_time(lower(besides_s, known(job.idle_asleep_s, job.idle_s)), bin.cores_s - bin.cpu_s) end
		local cost = held(idle, net)
		local by_faults = not is_net and ratio(job.blocked_fault_s, job.blocked_fault_s + job.blocked_disk_s) >= limits.mostly
		-- What moves much with few requests is as fast as the disk is.
		local is_large = not is_net and not by_faults and ratio(sum(bin.blk_mb), job.blk_ops) >= limits.request_mb
		local what = is_net and "a network file system" or net_s > limits.warn * wait_s and "a disk or a network file system" or "a disk"
		return {
			severity = is_large and "note" or waited >= limits.bad and "bad" or "warn",
			cost = cost,
			saving = share(cost),
			-- Other ranks may wait in MPI for the one that waits for the disk.
			at_least = by_faults or not (kernel_s() - requests_s() < limits.data * cost) or job.has_mpi == 1 and job.tasks > 1,
			times = not is_net and when(mask(bin.disk_wait_s / (bin.disk_wait_s + bin.cpu_s + bin.wait_s), ">=", limits.mostly),
				bin.disk_wait_s) or nil,
			text = format("%s waited for %s for %s of the time, %s in all%s%s.",
				job.tasks == 1 and "The task" or "Tasks", what, percent(waited), duration(wait_s),
				by_faults and ", mostly in page faults: mapped files and programs" or "",
				not is_net and job.blk_p99_s >= 0 and format("; 99 of 100 requests took less than %s",
				duration(job.blk_p99_s)) or ""),
			remedy = by_faults and "Read files that are mapped once, in order and ahead (madvise, MAP_POPULATE), keep programs and libraries on " ..
				"the node's own disk, and look whether memory is short." or is_large and
				"Requests are large: it waits for as long as the disk needs for so much. Move less, read it once and keep it in " ..
				"memory, or use a faster file system." or not is_net and writes_ask() and
				"Let each write to the disk have more: fewer commits, fsync() or O_SYNC (one transaction for many rows), larger records." or
				not is_net and job.disk_read_mb > job.disk_write_mb and
				"Read in the order of the file and more at once (sort what is looked up, read ahead), keep what is read again in " ..
				"memory, or use the node's own disk ($TMPDIR)." or
				"Use the node's own disk ($TMPDIR) for scratch files, larger reads and writes, fewer ranks that " ..
				"read, fewer and larger files, fewer fsync() or commits.",
		}
	end,
}

-- Calls of one direction that went to files: what is in the cache is not read from storage, and what is written again is
-- not stored each time; but who uses a pipe waits for it now and then.
local function small_calls(calls, mb, storage_mb, limits, is_write)
	local kb = ratio(mb * 1024, calls)
	local limit = job.mount_requests > 0 and job.is_exclusive == 1 and limits.mount_kb or
		is_write and ratio(job.blk_ops, calls) >= limits.asked and limits.asked_kb or limits.kb
	local talks = known(job.blocked_pipe_s, math.huge) + known(job.blocked_socket_s, 0) + known(job.blocked_poll_s, 0)
	-- Files of programs that are loaded come from storage, too.
	if messages() >= limits.messages * calls and talks > known(job.disk_wait_s, 0) then return 0, kb end
	if calls >= limits.calls and kb < limit and mb > 0 and
		(storage_mb >= limits.storage * mb or talks < limits.talks * job.cpu_s) then
		return calls, kb
	end
	return 0, kb
end

-- Cost: kernel time of the calls without that of copying, at most call_s each, and waiting for disks as far as each call
-- asks one; where that is the most it is a matter of io.wait. What the program itself does for each call is not known.
rules["io.small"] = {
	kind = "sentence",
	needs = {"job.read_calls", "job.write_calls", "job.read_mb", "job.write_mb", "job.disk_read_mb",
		"job.disk_write_mb", "job.net_ops", "job.system_s", "job.cpu_s", "bin.calls", "bin.span_s"},
	limits = {least_s = 60, kb = 3.5, asked = 0.5, asked_kb = 16, mount_kb = 64, calls = 1000, per_s = 100, share = 0.05,
		storage = 0.3, talks = 0.02, messages = 0.5, call_s = 5e-6, other = 0.1, copy_write_s = 0.0004, copy_read_s = 0.0001, usual = 0.01, cost = 0.01, least = 0.05},
	-- Each new program reads the heads of its libraries.
	suppressed_by = {"proc.forks"},
	source = "Drishti: small requests, more than 1000",
	judge = function(limits)
		local net = job.net_ops / 2
		local writes, write_kb = small_calls(higher(0, job.write_calls - net), job.write_mb, job.disk_write_mb, limits, true)
		local reads, read_kb = small_calls(higher(0, job.read_calls - net), job.read_mb, job.disk_read_mb, limits)
		local calls = writes + reads
		only_if(calls > 0, "no %d calls to storage are small on average (reads %s KiB, writes %s KiB)", limits.calls,
			number(read_kb), number(write_kb))
		local active = mask(bin.calls, ">", 0)
		local rate = sum(only(bin.calls, active)) / sum(only(bin.span_s, active))
		only_if(rate >= limits.per_s, "%s calls a second, not %s", number(rate), number(limits.per_s))
		local disk = known(job.disk_wait_s, 0)
		local spent = ratio(job.system_s + disk, job.cpu_s + disk)
		only_if(spent >= limits.share, "the kernel and the disks took %s of the tasks' time, not %s", percent(spent),
			percent(limits.share))
		-- Large calls copy the same bytes, and a disk that is asked once for many calls is as fast for large ones.
		local written, read = writes > 0 and job.write_mb or 0, reads > 0 and job.read_mb or 0
		local copying = limits.copy_write_s * written + limits.copy_read_s * read
		local kernel = math.max(0, job.system_s - limits.usual * job.cpu_s - copying)
		local asked_each = lower(1, known(ratio(job.blk_ops, calls), 1))
		local requests = asked_each >= limits.asked and requests_s() or 0
		-- Calls in one direction do not ask for what the disk moves in the other, as by asynchronous requests.
		local part = known(ratio((writes > 0 and job.disk_write_mb or 0) + (reads > 0 and job.disk_read_mb or 0),
			job.disk_write_mb + job.disk_read_mb), 1)
		local other = disk * (1 - part)
		only_if(not (other > disk * part + lower(kernel, calls * limits.call_s + requests * part) and
			other >= limits.other * (job.cpu_s + disk + known(job.wait_s, 0))),
			"it waits for a disk longer for what other calls ask for")
		local most = calls * limits.call_s + requests
		local by_kernel = lower(kernel, most)
		only_if(not (asked_each * disk > by_kernel), "it waits for the disk that these calls ask for longer than the kernel works on them")
		local s = over_time(by_kernel, bin.calls)
		if disk > 0 then s = s + over_time(asked_each * job.idle_disk_s, bin.idle_disk_s) end
		local cost = held(s)
		only_if(not (cost < limits.cost * job.cpu_s), "these calls took %s of the CPU time at most",
			percent(ratio(cost, job.cpu_s)))
		return {
			-- Where the kernel works longer on each, it does something else: it opens a file for each of them.
			severity = share(cost) >= limits.least and kernel <= most and "warn" or "note",
			cost = cost,
			saving = share(cost),
			at_least = true,
			text = format("%s moved %s each on average; kernel and disks took %s of the CPU and disk time.",
				plural(calls, writes == 0 and "read call" or reads == 0 and "write call" or "read and write call"),
				size((written + read) / calls), percent(spent)),
			remedy = "Buffer: setvbuf, the chunk cache of HDF5, collective MPI-IO, " .. (writes > 0 and
				"one transaction of a database for many rows, " or "") .. "or fewer and larger records in one file.",
		}
	end,
}

-- Cost: requests about metadata; of a local disk what opens take of the kernel, at most open_s each, and waiting for
-- disks meanwhile. What the program itself does for each file is not known.
rules["io.metadata"] = {
	kind = "sentence",
	limits = {least_s = 60, start_s = 120, note = 40, warn = 1000, bins = 3, meta = 0.5, time = 0.1, open_s = 1e-4},
	source = "PIKA 40/s; opendatacube #241",
	judge = function(limits)
		local meta = ratio(job.mount_meta_requests, job.mount_requests)
		local mounts = job.is_exclusive == 1 and meta >= limits.meta and
			ratio(job.mount_request_s, job.wall_s) >= limits.time
		local busy, rate, length
		if not mounts then
			need("bin.opens")
			need("bin.span_s")
			local rates = per_second(bin.opens)
			busy = mask(rates, ">=", limits.note) * mask(bin.start_s, ">=", at_least(limits.start_s))
			only_if(sum(busy) >= limits.bins, "files were opened and closed %s times a second at most, not %d for %d bins",
				number(known(max(rates), 0)), limits.note, limits.bins)
			length = sum(only(bin.span_s, busy))
			rate = sum(only(bin.opens, busy)) / length
		end
		local s
		if mounts then
			s = over_time(lower(job.mount_request_s * meta, job.core_s - job.cpu_s), bin.cores_s - bin.cpu_s)
		else
			local opens = bin.opens * busy
			s = over_time(known(lower(kernel_s(), sum(opens) / 2 * limits.open_s), 0), opens)
			if job.disk_wait_s > 0 then s = s + bin.idle_disk_s * busy end
		end
		local cost = held(s, mounts and s)
		return {
			severity = (mounts or rate >= limits.warn) and "warn" or "note",
			cost = cost,
			saving = share(cost),
			at_least = not mounts,
			times = busy and when(busy),
			text = mounts and format("%s of the requests to file servers were about metadata (opens, stats); requests " ..
				"took %s in all.", percent(meta),
				duration(job.mount_request_s)) or format("Files were opened and closed %s times a second for %s.",
				number(rate), duration(length)),
			remedy = "Keep files open, pack many into one (tar, HDF5), or copy them to the node's own disk first.",
		}
	end,
}

-- Cost: idle core-seconds while the one rank read or wrote.
rules["io.one_rank"] = {
	kind = "sentence",
	needs = {"task.io_mb", "bin.read_mb", "bin.write_mb", "bin.cpu_s", "bin.cores_s", "bin.span_s", "job.core_s"},
	limits = {least_s = 60, share = 0.9, tasks = 4, mb = 1024, active = 0.1, load = 0.5, own = 1.2, cost = 0.05},
	source = "Drishti 0.3; El Sayed 0.2",
	judge = function(limits)
		only_if(#task >= limits.tasks, "there are fewer than %d tasks", limits.tasks)
		local all, most, at = sum(task.io_mb), max(task.io_mb)
		local least = at_least(limits.mb)
		only_if(all >= least, "%s were read and written, not %s", size(all), size(least))
		only_if(most >= limits.share * all, "one rank read and wrote %s, not %s", percent(most / all),
			percent(limits.share))
		local rate = per_second(bin.read_mb + bin.write_mb)
		-- Of few cores the writer's own is much.
		local waiting = mask(rate, ">=", limits.active * max(rate)) *
			mask(load(), "<", math.max(limits.load, ratio(limits.own, job.cores)))
		local cost = higher(0, sum(only(bin.cores_s, waiting)) - sum(only(bin.cpu_s, waiting)))
		only_if(cost >= limits.cost * job.core_s, "cores were idle meanwhile for %s of the core time, not %s",
			percent(known(share(cost), 0)), percent(limits.cost))
		local who = ranks({at})
		return {
			severity = "warn",
			cost = cost,
			saving = share(cost),
			where = who,
			times = when(waiting),
			text = format("%s read and wrote %s alone while the %s waited: %s of the time.", capital(who), size(most),
				plural(#task - 1, "other"), percent(sum(only(bin.span_s, waiting)) / sum(bin.span_s))),
			remedy = "Let all ranks write (parallel HDF5, MPI-IO), or write while the others compute on.",
		}
	end,
}

-- Cost: core-seconds that cores were idle in these stops.
rules["io.periodic"] = {
	kind = "sentence",
	needs = {"job.io_periods", "job.core_s", "job.cores"},
	limits = {least_s = 3600, periods = 10, cost = 0.02},
	source = "PIKA: I/O blocking",
	judge = function(limits)
		only_if(job.io_periods >= limits.periods, "it stopped for input or output %s in a period, not %d",
			plural(job.io_periods, "time"), limits.periods)
		need("job.io_period_s")
		need("job.io_period_idle_s")
		local io = per_second(bin.read_mb + bin.write_mb)
		local cost = lower(job.io_period_idle_s, job.core_s)
		local lost = share(cost)
		return {
			severity = lost >= limits.cost and "warn" or "note",
			cost = cost,
			saving = lost,
			times = when(mask(io, ">=", mean(io)) * mask(load(), "<", mean(load()))),
			text = format("It stopped for input or output %s, every %s, for %s each: %s of the core time.",
				plural(job.io_periods, "time"), duration(job.io_period_s),
				duration(cost / job.cores / job.io_periods), percent(lost)),
			remedy = "Write checkpoints while it computes on (asynchronous output), or less often.",
		}
	end,
}

---------------------------------------------------------------------- networks

rules["net.errors"] = {
	kind = "sentence",
	limits = {least_s = 60, retrans = 100, per_s = 10, per_mb = 0.5, errors = 10, rate = 0.9},
	source = "PCP; retransmissions above 0.05 % of segments",
	judge = function(limits)
		local slow = indexes(mask(node.port_rate, "<", limits.rate * median(node.port_rate)))
		if #slow > 0 and #slow <= #node / 2 then
			return {
				severity = "warn",
				where = nodes(slow),
				text = format("%s: a fabric port runs at %s Gb/s, those of other nodes at %s.", nodes(slow),
					number(node.port_rate[slow[1]]), number(median(node.port_rate))),
				remedy = "Nothing in the job: tell the administrator.",
			}
		end
		local down = indexes(mask(node.links_down, ">=", 1))
		if #down > 0 then
			return {
				severity = "warn",
				where = nodes(down),
				text = format("%s: the link of a fabric port went down %s while it ran.", nodes(down),
					plural(max(node.links_down), "time")),
				remedy = "Nothing in the job: tell the administrator.",
			}
		end
		local bad = indexes(mask(node.port_errors, ">=", limits.errors))
		if #bad > 0 then
			return {
				severity = "note",
				where = nodes(bad),
				text = format("%s: fabric ports counted %s while it ran.", nodes(bad),
					plural(max(node.port_errors), "error")),
				remedy = "Nothing in the job: tell the administrator.",
			}
		end
		need("job.tcp_retrans")
		need("bin.tcp_retrans")
		need("bin.net_mb")
		need("bin.span_s")
		only_if(job.tcp_retrans >= limits.retrans, "%s were sent again, not %d",
			plural(job.tcp_retrans, "TCP segment"), limits.retrans)
		local active = mask(bin.net_mb, ">", 0)
		local again = sum(only(bin.tcp_retrans, active))
		local rate, per_mb = again / sum(only(bin.span_s, active)), again / sum(only(bin.net_mb, active))
		only_if(rate >= limits.per_s and per_mb >= limits.per_mb,
			"%s TCP segments a second were sent again, %s of each MiB", number(rate), number(per_mb))
		local list = indexes(mask(node.tcp_retrans, ">=", limits.retrans))
		return {
			severity = "warn",
			where = #list > 0 and nodes(list) or "",
			text = format("%s were sent again, %s a second while the network was in use.",
				plural(job.tcp_retrans, "TCP segment"), number(rate)),
			remedy = "Nothing in the job: tell the administrator.",
		}
	end,
}

rules["numa.remote"] = {
	kind = "line",
	needs = {"job.remote_loads", "job.cpu_s", "task.numa_nodes"},
	limits = {least_s = 60, remote = 0.3, loads = 1e5},
	source = "HPCPerfStats numa_remote",
	judge = function(limits)
		local rate = ratio(job.node_loads, job.cpu_s)
		only_if(not (rate < limits.loads), "%s loads per CPU second went to memory, not %s: caches have the data",
			number(known(rate, 0)), number(limits.loads))
		only_if(job.remote_loads > limits.remote, "%s of the loads went to another NUMA node, not more than %s",
			percent(job.remote_loads), percent(limits.remote))
		local wide = indexes(mask(task.numa_nodes, ">", 1))
		only_if(#wide > 0, "each task is bound to one NUMA node")
		only_if(#task > #node, "one task on each node uses all of it")
		return {
			severity = "warn",
			where = ranks(wide),
			text = format("%s of the loads from memory went to another NUMA node; %s may run on several of them.",
				percent(job.remote_loads), plural(#wide, "task")),
			remedy = advice("Let each thread write its data first, and bind tasks:",
				"Bind tasks: numactl --cpunodebind --membind; let each thread write its data first."),
			code = in_job("srun --cpu-bind=ldoms --mem-bind=local"),
		}
	end,
}

rules["net.not_fabric"] = {
	kind = "sentence",
	needs = {"job.nodes", "job.net_tx_mb", "job.net_rx_mb", "job.port_tx_mb", "job.ports_up", "job.wall_s",
		"node.net_tx_mb"},
	limits = {least_s = 60, mb_s = 50, fabric = 0.01, ipoib = 0.1, even = 0.2, ways = 0.5},
	source = "ompi #10734, ucx #10049",
	judge = function(limits)
		only_if(job.nodes >= 2, "there is only one node")
		only_if(job.ports_up >= 1, "no fabric port is up")
		local rate = ratio(job.net_tx_mb, job.nodes * job.wall_s)
		only_if(rate > limits.mb_s, "%s a second and node went through sockets, not more than %s", size(rate),
			size(limits.mb_s))
		only_if(job.port_tx_mb < limits.fabric * job.net_tx_mb, "the fabric sent %s", size(job.port_tx_mb))
		only_if(not (job.ipoib_mb >= limits.ipoib * job.net_tx_mb), "it went over IP on the fabric")
		only_if(not (job.has_mpi == 0), "it does not use MPI")
		only_if(min(node.net_tx_mb) >= limits.even * mean(node.net_tx_mb) and
			job.net_rx_mb >= limits.ways * job.net_tx_mb and job.net_tx_mb >= limits.ways * job.net_rx_mb,
			"it goes one way: data to or from a server")
		return {
			severity = "warn",
			text = format("Tasks sent %s through IP sockets, the fabric's ports sent %s: MPI may not use the fabric.",
				size(job.net_tx_mb), size(job.port_tx_mb)),
			remedy = "Load the MPI module of this cluster, or name the device: UCX_NET_DEVICES, OMPI_MCA_pml=ucx.",
		}
	end,
}

---------------------------------------------------------------------- GPUs

-- Cost: idle core-seconds of the cores that come with the GPUs, each with an equal part, while these were idle.
rules["gpu.idle"] = {
	kind = "line",
	many = {safe = "highest", unit = "GPU"},
	needs = {"job.gpus"},
	limits = {run_s = 1800, live_s = 900, bad = 0.15, warn = 0.25, start_s = 1800, pause_s = 3600, held_mb = 1024},
	source = "jobstats 0.15 and 0.25; job_defense_shield 60 minutes",
	judge = function(limits)
		no_shell()
		only_if(job.gpus > 0, "it has no GPU")
		long_enough({run_s = job.is_running == 1 and limits.live_s or limits.run_s})
		need("gpu.util")
		local list, severity, lowest, pause, held = {}, "warn", 1, 0, 0
		for i = 1, #gpu do
			local long = gpu.idle_from_start_s[i] >= at_least(limits.start_s) or
				gpu.idle_longest_s[i] >= at_least(limits.pause_s)
			if not (gpu.is_split[i] == 1) and (gpu.util[i] < limits.warn or long) then
				list[#list + 1] = i
				lowest = math.min(lowest, known(gpu.util[i], 1))
				pause = math.max(pause, known(gpu.idle_longest_s[i], 0))
				held = math.max(held, known(gpu.mem_peak_mb[i], 0))
			end
		end
		only_if(#list > 0, "every GPU was used for %s of the time or more", percent(limits.warn))
		-- A server holds its model in memory and waits for requests.
		if lowest < limits.bad and held < limits.held_mb then severity = "bad" end
		local part = lower(1, ratio(sum(1 - array_of(gpu.util, list)), job.gpus))
		local cost, used = part * idle_s(), mean(array_of(gpu.util, list))
		local busy = #gpu - #list
		return {
			severity = severity,
			cost = cost,
			where = gpus(list),
			times = busy == 0 and when(mask(bin.gpu, "<", limits.warn), (1 - bin.gpu) * bin.span_s) or nil,
			text = format("%s %s used for %s of the time%s%s.", capital(gpus(list)), #list == 1 and "was" or "were",
				percent(used), pause >= 60 and format(", and idle for up to %s at once", duration(pause)) or "",
				held >= limits.held_mb and format("; up to %s of memory were in use", size(held)) or ""),
			remedy = busy > 0 and advice("Look whether each process gets its own (CUDA_VISIBLE_DEVICES), or ask for fewer GPUs:",
				format("Use fewer GPUs (%d), or look whether each process gets its own (CUDA_VISIBLE_DEVICES).", busy)) or
				"Look whether the program was built for GPUs and finds them; the data may come too slowly.",
			code = busy > 0 and in_job(format("#SBATCH --gpus=%d", busy)) or nil,
			sets = busy > 0 and {needs = busy, used = busy, asked = #gpu} or nil,
		}
	end,
}

-- Cost: core-seconds of the time that overlap would save at best.
rules["gpu.offload"] = {
	kind = "sentence",
	needs = {"job.gpus"},
	limits = {run_s = 3600, periods = 10},
	source = "PIKA: synchronous offloading",
	judge = function(limits)
		only_if(job.gpus > 0, "it has no GPU")
		long_enough(limits)
		for _, fact in ipairs({"job.gpu_periods", "job.gpu_period_s", "bin.gpu", "job.core_s"}) do need(fact) end
		only_if(job.gpu_periods >= limits.periods, "CPU and GPU took turns %s, not %d",
			plural(job.gpu_periods, "time"), limits.periods)
		local busy = mean(bin.gpu)
		local saving = lower(busy, 1 - busy)
		return {
			severity = "warn",
			cost = saving * job.core_s,
			saving = saving,
			text = format("CPU and GPU took turns %s, every %s; if they worked at the same time it would take up to " ..
				"%s less.", plural(job.gpu_periods, "time"), duration(job.gpu_period_s), percent(saving)),
			remedy = "Start kernels asynchronously (streams), and prepare the next data meanwhile (more workers).",
		}
	end,
}

rules["gpu.throttled"] = {
	kind = "sentence",
	needs = {"job.gpus"},
	limits = {run_s = 300, share = 0.05},
	source = "LLview, HPCPerfStats",
	judge = function(limits)
		only_if(job.gpus > 0, "it has no GPU")
		long_enough(limits)
		need("gpu.throttled")
		local list = indexes(mask(gpu.throttled, ">=", limits.share))
		only_if(#list > 0, "no GPU was held back for %s of its busy time", percent(limits.share))
		local most = max(array_of(gpu.throttled, list))
		return {
			severity = "warn",
			where = gpus(list),
			text = format("%s %s slowed by heat or hardware for up to %s of the busy time.", capital(gpus(list)),
				#list == 1 and "was" or "were", percent(most)),
			remedy = "Nothing in the job: tell the administrator.",
		}
	end,
}

---------------------------------------------------------------------- the request

rules["time.over"] = {
	kind = "line",
	many = {safe = "highest", unit = "s", column = "elapsed_s"},
	needs = {"job.job_elapsed_s", "job.limit_s", "job.is_completed"},
	limits = {coverage = 0, warn = 0.10, note = 0.60, limit_s = 3600},
	source = "jobstats 0.1 and 0.6",
	judge = function(limits)
		only_if(job.is_completed == 1, "it did not complete")
		only_if(not (job.is_interactive == 1), "it is an interactive shell")
		local used = ratio(job.job_elapsed_s, job.limit_s)
		only_if(used < limits.note, "%s of the time limit were used, not below %s", percent(used),
			percent(limits.note))
		local wanted, wanted_s = time_option(1.2 * job.job_elapsed_s)
		only_if(wanted_s < job.limit_s, "a limit in steps of five minutes could not be shorter")
		return {
			severity = used < limits.warn and job.limit_s >= limits.limit_s and "warn" or "note",
			text = format("It used %s of its time limit of %s.", percent(used), duration(job.limit_s)),
			remedy = "A shorter limit may start earlier:",
			code = format("#SBATCH --time=%s", wanted),
			sets = {needs = wanted_s, used = job.job_elapsed_s, asked = job.limit_s},
		}
	end,
}

-- The tasks of a job array are jobs like it that the file tells of; of others an index would.
rules["time.short"] = {
	kind = "sentence",
	needs = {"job.wall_s"},
	limits = {coverage = 0, per_day = 100, short_s = 30},
	source = "XDMoD",
	judge = function(limits)
		local tasks, runs = known(job.array_tasks, 0), known(job.runs_per_day, 0)
		if tasks == 0 then need("job.runs_per_day") end
		only_if(math.max(tasks, runs) >= limits.per_day, "there are %s like it, not %d",
			plural(math.max(tasks, runs), "job"), limits.per_day)
		only_if(job.wall_s < limits.short_s, "it took %s, not less than %s", duration(job.wall_s),
			duration(limits.short_s))
		only_if(not (job.is_running == 1), "it has not ended")
		local text = runs > tasks and format("%s like this one ran in a day; it took", plural(runs, "job")) or
			format("It is one of the %s of a job array, and took", plural(tasks, "task"))
		return {
			severity = "warn",
			text = format("%s %s. Starting a job takes about as long.", text, duration(job.wall_s)),
			remedy = "Pack many into one job: a loop of srun, xargs -P, HyperQueue" ..
				(runs > tasks and "." or "; with fewer, longer tasks: #SBATCH --array."),
		}
	end,
}

rules["job.fragmented"] = {
	kind = "line",
	many = {safe = "highest", unit = "node"},
	needs = {"job.nodes", "job.cores", "job.cores_per_node", "job.own_sum_peak_mb", "job.node_mb"},
	limits = {least_s = 60, memory = 0.8},
	source = "job_defense_shield",
	judge = function(limits)
		no_gpus()
		local enough = math.ceil(ratio(job.cores, job.cores_per_node))
		only_if(enough >= 1 and job.nodes > enough, "its cores need %s", plural(enough, "node"))
		only_if(job.own_sum_peak_mb <= limits.memory * enough * job.node_mb, "its memory needs more nodes")
		return {
			severity = "note",
			text = format("%s were spread over %s; %s %s as many. Fewer nodes often start earlier and talk less; a " ..
				"program that lives of memory bandwidth may want to be spread.", plural(job.cores, "core"),
				plural(job.nodes, "node"), plural(enough, "node"), enough == 1 and "has" or "have"),
			code = in_job(job.tasks >= enough and format("#SBATCH --nodes=%d --ntasks-per-node=%d", enough,
				math.ceil(job.tasks / enough)) or format("#SBATCH --nodes=%d", enough)),
			sets = {needs = enough, used = enough, asked = job.nodes},
		}
	end,
}

---------------------------------------------------------------------- the kernel

local PAGES_MB, FAULT_S = 256, 2e-5

-- Cost: kernel time beyond what many programs need and what copying takes, as far as what comes with it explains it: what
-- the work itself needs of the kernel is no loss. What the program itself does for each call is not known.
rules["cpu.system"] = {
	kind = "sentence",
	needs = {"job.system_s", "job.user_s", "job.cpu_s"},
	limits = {least_s = 60, cpu_s = 100, warn = 0.2, of_cpu = 0.1, part = 0.3, mostly = 0.5, least = 0.05, bad = 0.3},
	suppressed_by = {"cpu.spin_yield", "proc.forks", "io.small", "io.wait", "io.metadata", "mem.thrash", "sync.fine",
		"cpu.oversubscribed"},
	source = "PCP: system time",
	judge = function(limits)
		only_if(job.cpu_s >= at_least(limits.cpu_s), "it used %s of CPU time, not %s", duration(job.cpu_s),
			duration(at_least(limits.cpu_s)))
		local part = ratio(job.system_s, job.user_s + job.system_s)
		-- Bytes that are read and written are copied, which is work.
		local copying = ratio(COPY_S_MB * known(job.read_mb + job.write_mb, 0), job.user_s + job.system_s)
		only_if(part - copying >= limits.warn and job.system_s >= limits.of_cpu * job.cpu_s,
			"%s of the CPU time was the kernel's without copying of data, not %s", percent(higher(0, part - copying)),
			percent(limits.warn))
		-- Pages that are touched for the first time, in each process: memory that is kept has these faults, too.
		local again = known(higher(0, job.minor_faults - PAGES_MB * job.peak_mb * (1 + known(job.forks, 0))), job.minor_faults)
		-- What each of them takes of the kernel at most, by which it may be a cause.
		local companions = {
			{job.major_faults, 3e-5, "page read in a fault", "pages read in faults",
				"Read files that are mapped once and in order (madvise, MAP_POPULATE)."},
			{again, FAULT_S, "page fault", "page faults", "Keep memory: MALLOC_MMAP_THRESHOLD_ and MALLOC_TRIM_THRESHOLD_ (both), huge pages."},
			{job.read_calls + job.write_calls, 5e-6, "read or write call", "read or write calls", "Buffer what is read and written."},
			{job.forks, 2e-3, "new process", "new processes", "Start fewer processes."},
			{job.vol_switches, 1e-5, "sleep", "sleeps", "Wait less often: larger pieces of work, larger messages."},
			{job.net_ops, 2e-5, "socket call", "socket calls", "Send larger messages."},
		}
		local most, explained, first = limits.part, FAULT_S * known(job.minor_faults - again, 0), nil
		for _, c in ipairs(companions) do
			local part_of = known(ratio(c[1] * c[2], job.system_s), 0)
			explained = explained + part_of * job.system_s
			if part_of > most then most, first = part_of, c end
		end
		only_if(first, "nothing that is counted explains it: it is what the work needs of the kernel (strace -cf)")
		-- A client or a server sleeps for each message, in sockets that are not IP's, too.
		local answers = known(job.blocked_socket_s, 0) + known(job.blocked_poll_s, 0) + known(job.blocked_pipe_s, 0)
		local talks = first[3] == "socket call" or first[3] == "sleep" and (job.net_ops >= limits.part * job.vol_switches or
			answers >= limits.mostly * job.cpu_s)
		only_if(not (first[3] == "sleep" and job.blk_ops >= limits.part * job.vol_switches), "it sleeps for requests to a disk")
		local cost = held(over_time(lower(kernel_s(), explained), bin.cpu_s))
		only_if(share(cost) >= limits.least, "less could save %s at most", percent(known(share(cost), 0)))
		return {
			severity = talks and "note" or share(cost) >= limits.bad and "bad" or "warn",
			cost = cost,
			saving = share(cost),
			at_least = not contains(first[3], "fault"),
			text = format("%s of the CPU time was the kernel's; it comes with %s per CPU second.", percent(part),
				plural(ratio(first[1], job.cpu_s), first[3], first[4])),
			remedy = first[5],
		}
	end,
}

-- Cost: what processes took that did little but start and end, and the cores that waited meanwhile; of a program that is
-- started again and again what the kernel took to load it; of others as much as a process has that does nothing. What they
-- did is not known.
rules["proc.forks"] = {
	kind = "sentence",
	needs = {"bin.forks", "bin.span_s", "job.forks", "job.cpu_s", "job.nodes"},
	limits = {per_s = 20, least = 100, loop_per_s = 2, least_s = 300, process_s = 0.0009, fault_s = 1e-5, loading = 0.15, bins = 2, mostly = 0.8, all = 0.95},
	source = "jobprof's own",
	judge = function(limits)
		local builds = {"make", "ninja", "cmake", "ctest", "configure", "cargo", "bazel", "scons", "pytest", "cc1",
			"clang", "rustc"}
		for _, name in ipairs(builds) do
			only_if(not (job.program and contains(job.program, name)), "%s starts many processes by design", name)
		end
		only_if(job.forks >= 1, "no process was started")
		-- A program that is loaded again and again maps its pages each time.
		local repeated = known(job.repeated_processes, 0)
		local part = known(ratio(job.repeated_cpu_s, job.cpu_s), 0)
		local loading = known(lower(part * kernel_s(), part * job.minor_faults * limits.fault_s + repeated * limits.process_s), 0)
		local is_loop = repeated > 0 and loading >= limits.loading * job.cpu_s
		local least = is_loop and limits.loop_per_s or limits.per_s
		local busy = mask(per_second(bin.forks) / job.nodes, ">=", least)
		local length = sum(only(bin.span_s, busy))
		only_if(length >= at_least(limits.least_s), "it started %d processes a second and node, or more, during %s of its time, not during %s",
			least, duration(known(length, 0)), duration(at_least(limits.least_s)))
		-- Of a short run one bin is as long as the start of a program, which may be a script that calls others.
		only_if(sum(busy) >= math.min(limits.bins, #bin), "that was so in %s, not in %d", plural(sum(busy), "bin"),
			limits.bins)
		-- Without the series Commands all may do work.
		local little, little_s = known(job.short_processes, 0), known(job.short_cpu_s, 0)
		local started = little_s + loading + higher(0, job.forks - little - repeated) * limits.process_s
		local waste = lower(1, ratio(started, job.cpu_s))
		-- Who starts them waits for them, but for others' programs, and for sleeps between few of them.
		local few = not (sum(only(bin.forks, busy)) / length / job.nodes >= limits.per_s)
		local awake = few and 1 - lower(1, ratio(known(job.blocked_sleep_s, 0), length)) or 1
		local foreign = known(ratio(waited_foreign_s(), waited_s()), 0)
		local cost = waste * awake * higher(0, sum(only(bin.cores_s, busy)) - known(foreign * sum(only(bin.idle_wait_s, busy)), 0))
		local each = is_loop and {repeated, job.repeated_cpu_s} or little > 0 and {little, little_s}
		return {
			-- A start of some programs is no loop.
			severity = (few or job.forks < limits.least) and "note" or "warn",
			cost = cost,
			saving = share(cost),
			at_least = waste < limits.all or little < limits.mostly * job.forks,
			times = when(busy),
			text = format("%s were started%s%s.", plural(job.forks, "process", "processes"),
				each and format("; %s of them took %s of CPU time each", number(lower(each[1], job.forks)), duration(each[2] / each[1])) or "",
				is_loop and format(", %s of it in the kernel to load the program", percent(ratio(loading, job.repeated_cpu_s))) or ""),
			remedy = "Do the loop inside of one program (one python or awk, not one per line" ..
				(is_loop and "; many files, frames or records for each start)." or ")."),
		}
	end,
}

-- Cost: idle core-seconds, those in which threads waited for a CPU, and what the switches take of the kernel. What the
-- program itself does for each piece of work is not known.
rules["sync.fine"] = {
	kind = "sentence",
	needs = {"job.vol_switches", "job.cpu_s", "job.cpu_share", "job.core_s", "job.cores", "job.disk_wait_s",
		"job.read_calls", "job.write_calls", "job.net_ops"},
	limits = {least_s = 60, per_s = 4000, used = 0.8, disk = 0.05, calls = 0.3, cpu_s = 30, blocked = 0.3, message_kb = 4,
		ask_kb = 1, used_asking = 0.75, kernel_s = 1e-5, demand = 1.1},
	suppressed_by = {"io.wait", "io.small", "cpu.stacked", "cpu.throttled"},
	source = "PCP: 4000 switches a second and CPU",
	judge = function(limits)
		no_shell()
		has_cores()
		only_if(job.cpu_s >= at_least(limits.cpu_s), "it used %s of CPU time, not %s", duration(job.cpu_s),
			duration(at_least(limits.cpu_s)))
		only_if(not (job.gpus > 0), "CPUs wait for GPUs")
		-- Who asks a server, and waits for its answer each time, sleeps or is about to.
		local asks = messages() >= limits.calls * job.vol_switches and
			ratio(1024 * (job.read_mb + job.write_mb), messages()) <= limits.ask_kb
		local rate = ratio(asks and math.max(messages(), job.vol_switches) or job.vol_switches, job.cpu_s)
		only_if(rate > limits.per_s, "threads slept %s times per CPU second, not more than %s", number(rate),
			number(limits.per_s))
		only_if(job.disk_wait_s < limits.disk * job.core_s, "tasks waited for a disk")
		local cause, part = blocked_by(nil, limits.blocked)
		-- Threads and processes hand each other their work through small messages in pipes, too. Waits for a CPU say nothing
		-- of what they wait for otherwise.
		local calls = job.read_calls + job.write_calls
		local time, blocked = blocked_times()
		local each_other = ratio(known(blocked.blocked_pipe_s, 0) + known(blocked.blocked_futex_s, 0),
			time - known(sum(task.thread_wait_s), 0))
		local hands_on = each_other >= limits.blocked and not waits_for_messages() and
			job.net_ops < limits.calls * job.vol_switches and ratio(1024 * (job.read_mb + job.write_mb), calls) <= limits.message_kb
		only_if(hands_on or asks or calls + job.net_ops < limits.calls * job.vol_switches,
			"it reads, writes or talks about as often as it sleeps")
		local in_pieces = hands_on and calls >= limits.calls * job.vol_switches
		-- Work in pieces keeps cores busy with handing it on.
		local switching = known(switching_s(limits.kernel_s), 0)
		local used = job.cpu_share - (in_pieces and share(switching) or 0)
		only_if(used < (asks and limits.used_asking or limits.used), "%s of the core time was used", percent(used))
		only_if(in_pieces or not (job.demand > limits.demand * job.cores), "more threads than cores take turns")
		local cost = lower(job.core_s, idle_s() + known(job.idle_wait_s, 0) * known(ratio(waited_own_s(), waited_s()), 1) +
			switching)
		return {
			severity = "warn",
			cost = cost,
			saving = share(cost),
			at_least = true,
			text = asks and format("Threads sent or received %s small messages per CPU second and %s of the core time was not used: " ..
				"each waits for the other's answer.", number(rate), percent(math.max(0, 1 - job.cpu_share))) or
				format("Threads slept %s times per CPU second and %s of the core time was not used%s: they wait for %s.",
				number(rate), percent(math.max(0, 1 - used)), in_pieces and " or went to these switches" or "", cause and format("%s in %s of their time", cause[1],
				percent(part)) or "locks or for each other"),
			remedy = asks and "Ask for more at once: larger messages, batches or chunks of work, pipelining, several clients." or in_pieces and
				"Give threads and processes larger pieces of work (chunksize, batches of tasks), so that they meet less often." or
				cause and cause ~= BLOCKED.blocked_futex_s and cause[2] or "Give threads larger pieces of work, or let them wait a little before they sleep (OMP_WAIT_POLICY=active).",
		}
	end,
}

-- Cost: the time in the runtime of OpenMP, where threads that have no work spin; those that sleep are not in it.
rules["sync.spin"] = {
	kind = "sentence",
	needs = {"job.samples", "job.sampled_openmp", "job.cpu_s"},
	limits = {least_s = 60, samples = 100, inside = 0.25},
	suppressed_by = {"cpu.neighbour", "cpu.oversubscribed", "cpu.stacked", "cpu.throttled", "cpu.spin_yield"},
	source = "jobprof's own",
	judge = function(limits)
		only_if(job.samples >= limits.samples, "there are %s samples, not %d", number(job.samples), limits.samples)
		local part = ratio(job.sampled_openmp, job.samples)
		only_if(part >= limits.inside, "%s of the samples are in the runtime of OpenMP, not %s", percent(known(part, 0)),
			percent(limits.inside))
		local cost = held(over_time(part * job.cpu_s, bin.cpu_s))
		return {
			severity = "warn",
			cost = cost,
			saving = share(cost),
			at_least = true,
			text = format("%s of the CPU time is inside the runtime of OpenMP: threads spin while they wait for work or for each other.",
				percent(part)),
			remedy = "Make parallel loops larger (the outer one), share them evenly (schedule(dynamic)), or use fewer threads for what is so " ..
				"short: OMP_NUM_THREADS",
		}
	end,
}

rules["cpu.migrates"] = {
	kind = "line",
	needs = {"job.migrations", "job.cpu_s", "job.demand", "job.cores", "job.tasks", "job.vol_switches"},
	limits = {least_s = 60, per_s = 10, sleeps = 4, demand = 1.1, cpu_s = 30},
	suppressed_by = {"cpu.oversubscribed", "cpu.stacked", "cpu.spin_yield", "cpu.neighbour", "sync.fine", "proc.forks"},
	source = "jobprof's own",
	judge = function(limits)
		only_if(job.cpu_s >= at_least(limits.cpu_s), "it used %s of CPU time, not %s", duration(job.cpu_s),
			duration(at_least(limits.cpu_s)))
		local rate = ratio(job.migrations, job.cpu_s)
		only_if(rate > limits.per_s, "threads moved %s per CPU second, not more than %d",
			plural(rate, "time"), limits.per_s)
		only_if(job.tasks <= job.cores and job.demand <= limits.demand * math.max(job.cores, known(job.cpus, 0)),
			"there were more threads than cores")
		local sleeps = ratio(job.vol_switches, job.migrations)
		only_if(sleeps <= limits.sleeps, "threads slept %s times for each move: they wake where a core is free", number(sleeps))
		return {
			severity = "note",
			text = format("Threads moved %s per CPU second from one core to another, and lost their caches.",
				plural(rate, "time")),
			remedy = format("Bind tasks (%s), and their threads:", advice("srun --cpu-bind=cores", "taskset, mpirun --bind-to core")),
			code = "export OMP_PROC_BIND=close OMP_PLACES=cores",
		}
	end,
}

rules["energy.idle"] = {
	kind = "sentence",
	needs = {"job.energy_j", "job.energy_low_j", "job.energy_high_j", "job.energy_static_j", "job.cpu_share"},
	limits = {least_s = 300, static = 0.6, width = 0.3, used = 0.8},
	source = "jobprof's own",
	judge = function(limits)
		local static = ratio(job.energy_static_j, job.energy_j)
		only_if(static >= limits.static, "%s of the energy went to idle cores' needs, not %s", percent(static),
			percent(limits.static))
		local width = ratio(job.energy_high_j - job.energy_low_j, job.energy_j)
		only_if(width < limits.width, "the energy is known within %s only", percent(width))
		only_if(job.cpu_share < limits.used, "%s of the core time was used", percent(job.cpu_share))
		return {
			severity = "note",
			text = format("%s of %s is what the cores take when they are idle; %s of the core time was used.",
				percent(static), energy(job.energy_j), percent(job.cpu_share)),
			remedy = "Fewer cores" .. advice(" (#SBATCH --ntasks, --cpus-per-task)", "") .. " take less.",
		}
	end,
}

-- Cost: CPU time of jobprof's own programs.
rules["self.cost"] = {
	kind = "sentence",
	needs = {"job.probe_s", "job.cpu_s"},
	limits = {share = 0.005, cpu_s = 10, warn = 0.05},
	source = "jobprof's own",
	judge = function(limits)
		only_if(job.cpu_s >= at_least(limits.cpu_s), "it used %s of CPU time, not %s", duration(job.cpu_s),
			duration(at_least(limits.cpu_s)))
		local part = ratio(job.probe_s, job.cpu_s)
		only_if(part > limits.share, "the profile took %s of the CPU time, not more than %s", percent(part),
			percent(limits.share))
		local cost = held(over_time(job.probe_s, bin.cpu_s))
		return {
			severity = part > limits.warn and "warn" or "note",
			cost = cost,
			saving = share(cost),
			text = format("The profile itself took %s of the CPU time.", percent(part)),
			remedy = advice("Nothing in the job: tell the administrator.", "Record fewer families: jobprof run --series"),
		}
	end,
}
