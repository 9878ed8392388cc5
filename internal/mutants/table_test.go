package mutants

// The files that have mutants.
const (
	decide   = "engine/decide.go"
	keeps    = "engine/kept.go"
	opening  = "engine/session.go"
	proofs   = "prover/kzg/multiproof.go"
	sizes    = "internal/proofsystem/sizes.go"
	place    = "backend/cuda/place.go"
	units    = "internal/cuda/msmplan/units.go"
	digits   = "internal/eisenstein/eisenstein.go"
	server   = "plugin/serve/server.go"
	program  = "plugin/serve/program.go"
	arenas   = "plugin/serve/mapped.go"
	lane     = "plugin/serve/lane.go"
	limits   = "plugin/serve/limit.go"
	admit    = "plugin/serve/limit_linux.go"
	tenancy  = "plugin/internal/tenancy/tenancy.go"
	room     = "plugin/internal/tenancy/room.go"
	session  = "plugin/internal/tenancy/session.go"
	source   = "plugin/internal/tenancy/source.go"
	turns    = "plugin/internal/tenancy/turns.go"
	files    = "plugin/internal/tenancy/file_linux.go"
	feeding  = "plugin/feed.go"
	kept     = "internal/resident/resident.go"
	meter    = "internal/resident/meter.go"
	group    = "internal/resident/group.go"
	batches  = "prover/internal/resident/resident.go"
	vectors  = "prover/internal/resident/vectors.go"
	ahead    = "prover/internal/resident/ahead.go"
	assign   = "prover/internal/assignment/assignment.go"
	schedule = "prover/internal/assignment/schedule.go"
	circom   = "prover/circom/key.go"
	fitting  = "prover/circom/witness.go"
	jobs     = "cluster/circom.go"
	proves   = "prover/circom/prove.go"
	loads    = "prover/circom/load.go"
	sparse   = "prover/circom/sparse.go"
	verifies = "prover/circom/verify.go"
	sections = "prover/circom/internal/file/container.go"
	entries  = "prover/circom/internal/file/entries.go"
	reading  = "prover/circom/json_read.go"
	onGnark  = "prover/circom/gnark.go"
	rapid    = "prover/circom/rapidsnark/keys.go"
	answers  = "cmd/msm/internal/proofserver/server.go"
	wasm     = "circomwitness/circuit.go"
	inputs   = "circomwitness/input.go"
	gkr      = "prover/internal/assignment/gkr.go"
	door     = "prover/internal/solve/solve.go"
	calls    = "arith/calculator.go"
	batched  = "arith/session.go"
	adding   = "backend/cpu/sparse.go"
	sums     = "vector/sum.go"
	programs = "vector/program.go"
	lists    = "internal/files/list.go"
	trusted  = "internal/trust/trust_unix.go"
	listens  = "cluster/server/dispatch.go"
	manages  = "cluster/server/manage.go"
	identity = "cluster/server/identity.go"
	bases    = "prover/internal/resident/bases.go"
	divides  = "prover/plonk/quotient.go"
	states   = "prover/plonk/solve.go"
	shapes   = "prover/plonk/key.go"
	begins   = "prover/plonk/prove.go"
	columned = "prover/internal/assignment/columns.go"
	loans    = "prover/internal/resident/loan.go"
	lies     = "prover/plonk/plan.go"
	older    = "cmd/internal/weave/older.go"
	onCard   = "prover/groth16/vectors.go"
	regions  = "plugin/internal/shm/pool.go"
	running  = "prover/internal/resident/running.go"
	factors  = "prover/internal/matrices/matrices.go"
	closes   = "prover/internal/assignment/constraints.go"
	bySums   = "prover/internal/assignment/sums.go"
	products = "prover/internal/assignment/vectors.go"
	cells    = "prover/kzg/multiproof.go"
	timed    = "cmd/msm/internal/bench/msm.go"
)

// mutants are the faults, by file: the text that is replaced, what it becomes, and the test
// that must fail, of the same folder.
var mutants = []mutant{
	// engine/decide.go: what follows from a failure.
	{decide, "return verdict{f.elsewhere(), refused}", "return verdict{f.elsewhere(), broken}", "TestDecide"},
	{decide, "errors.Is(f.err, ErrBasesLost):\n\t\treturn verdict{giveUp, stays}",
		"errors.Is(f.err, ErrBasesLost):\n\t\treturn verdict{f.elsewhere(), stays}", "TestDecide"},
	{decide, "case backend.FaultGone:\n\t\treturn verdict{f.again(), broken}",
		"case backend.FaultGone:\n\t\treturn verdict{f.again(), stays}", "TestDecide"},
	{decide, "case backend.FaultGone:\n\t\treturn verdict{f.again(), broken}",
		"case backend.FaultGone:\n\t\treturn verdict{f.elsewhere(), broken}", "TestDecide"},
	{decide, "if errors.Is(f.err, backend.ErrClosed) {", "if false {", "TestDecide"},
	{decide, "}\n\t\treturn verdict{giveUp, stays}\n\tcase", "}\n\t\treturn verdict{f.elsewhere(), stays}\n\tcase", "TestDecide"},
	{decide, "if f.ended {", "if true {", "TestDecide"},
	{decide, "return verdict{giveUp, suspect}", "return verdict{giveUp, stays}", "TestDecide"},
	{decide, "return verdict{f.elsewhere(), stays}\n}", "return verdict{f.elsewhere(), broken}\n}", "TestDecide"},
	{decide, "if f.ended || !f.more {", "if !f.more {", "TestDecide"},
	{decide, "if f.ended || !f.more {", "if f.ended {", "TestDecide"},
	{decide, "!f.ended && f.deaths", "f.deaths", "TestDecide"},
	{decide, "f.deaths <= f.allowed", "f.deaths < f.allowed", "TestDecide"},
	{decide, "return backend.FaultOf(err) == backend.FaultGone || errors.Is(err, backend.ErrClosed)",
		"return backend.FaultOf(err) == backend.FaultGone", "TestRestartsAreCounted"},
	{decide, "return backend.FaultOf(err) == backend.FaultGone || errors.Is(err, backend.ErrClosed)",
		"return errors.Is(err, backend.ErrClosed)", "TestRestartsAreCounted"},
	{decide, "f.ended = ctx.Err() != nil", "f.ended = false", "TestDeadlineOnAHungBackend"},
	{decide, "g.urge()", "break", "TestDeadlineOnAHungBackend"},
	{decide, "g.fail(f.err)", "break", "TestRestartsAreCounted"},
	{decide, "e.refuse(g, f.err)", "break", "TestRepeat"},

	// Digits modulo six units: where they are planned, and their numbers.
	{units, "w == 0 && in.Count < leastUnits", "false", "TestUnitPlans"},
	{units, "|| !in.Uniform ||", "||", "TestUnitPlans"},
	{units, "|| in.Params.Units == 0 ||", "||", "TestUnitPlans"},
	{units, "units = p.Multiples.Units && p.Skip > 0", "units = p.Multiples.Units", "TestUnitPlans"},
	{units, "Distance: in.Count, Units: true", "Distance: in.Count / 2, Units: true", "TestUnitPlans"},
	{digits, "x, y = -y, x-y //", "x, y = y, x-y //", "TestDigits"},
	{digits, "Lsh(big.NewInt(1), 256), one)", "Lsh(big.NewInt(1), 255), one)", "TestDigits"},
	{digits, "of(new(big.Int).Add(s.A, s.B))", "of(s.A)", "TestDigits"},

	// backend/cuda/place.go: which card computes what.
	{place, "backend.BN254:    {2.7, 9.1},", "backend.BN254:    {9.1, 2.7},", "TestPlace"},
	{place, "s.from <= other.from && other.to <= s.to", "other.to <= s.to", "TestPlace"},
	{place, "s.from <= other.from && other.to <= s.to", "s.from <= other.from", "TestPlace"},
	{place, "perPoint[t.curve][t.group-backend.G1]", "perPoint[t.curve][0]", "TestPlace"},
	{place, "if n == 0 {\n\t\treturn 0\n\t}\n", "", "TestCost"},
	{place, "float64(n+r.fixed)", "float64(n)", "TestPlace"},
	{place, "left += c.cost(&waiting[i], waiting[i].bases.count())", "left = c.cost(&waiting[i], waiting[i].bases.count())", "TestPlace"},
	{place, "return cmp.Compare(c.cost(&waiting[b], waiting[b].bases.count()), c.cost(&waiting[a], waiting[a].bases.count()))",
		"return cmp.Compare(c.cost(&waiting[a], waiting[a].bases.count()), c.cost(&waiting[b], waiting[b].bases.count()))", "TestPlace"},
	{place, "if !ok {\n\t\t\t\tmissing", "if ok {\n\t\t\t\tmissing", "TestPlace"},
	{place, "left -= c.cost(t, t.bases.count())", "left -= 0", "TestPlace"},
	{place, "if h.covers(t.bases) {", "if h.count() > 0 {", "TestPlace"},
	{place, "cmp.Compare(c.queued[a]+all/c.speed[a], c.queued[b]+all/c.speed[b])",
		"cmp.Compare(all/c.speed[a], all/c.speed[b])", "TestPlace"},
	{place, "cmp.Compare(c.queued[a]+all/c.speed[a], c.queued[b]+all/c.speed[b])",
		"cmp.Compare(c.queued[a]+all, c.queued[b]+all)", "TestPlace"},
	{place, "c.cost(t, s.count()) / c.speed[card]}", "c.cost(t, s.count())}", "TestCost"},
	{place, "c.queued[card] += p.cost", "c.queued[card] = p.cost", "TestPlace"},
	{place, "if h.from <= at && at < h.to && (", "if at < h.to && (", "TestPlaceIsWhole"},
	{place, "c.queued[k] < c.queued[best]", "c.queued[k] > c.queued[best]", "TestPlace"},
	{place, "best, to = k, min(h.to, t.bases.to)", "best, to = k, h.to", "TestPlace"},
	{place, "before += c.queued[k] * c.speed[k]", "before += c.queued[k]", "TestPlace"},
	{place, "limit := slack * (before + left) / speed", "limit := (before + left) / speed", "TestPlace"},
	{place, "limit := slack * (before + left) / speed", "limit := slack * (before + left)", "TestPlace"},
	{place, "limit := slack * (before + left) / speed", "limit := slack * left / speed", "TestPlace"},
	{place, "if c.busy {", "if false {", "TestPlace"},
	{place, "1+int(busyShare*float64(n)/float64(c.fixed))", "1", "TestPlace"},
	{place, "1+int(busyShare*float64(n)/float64(c.fixed))", "1+int(float64(n)/float64(c.fixed))", "TestPlace"},
	{place, "k <= most && end > limit", "k < most && end > limit", "TestPlace"},
	{place, "k <= most && end > limit", "k <= most && limit > 0", "TestPlace"},
	{place, "ok && e < gain*end", "(ok || k > 0) && e < gain*end", "TestPlace"},
	{place, "ok && e < gain*end", "ok && e < end", "TestPlace"},
	{place, "to := at + int(", "to := at + 1 + int(", "TestPlace"},
	{place, "int((end-c.queued[card])*c.speed[card]/each) - c.fixed", "int((end-c.queued[card])*c.speed[card]/each)", "TestPlace"},
	{place, "int((end-c.queued[card])*c.speed[card]/each) - c.fixed", "int((end-c.queued[card])/each) - c.fixed", "TestPlace"},
	{place, "int((end-c.queued[card])*c.speed[card]/each) - c.fixed", "int(end*c.speed[card]/each) - c.fixed", "TestPlace"},
	{place, "c.speed[card]/each) - c.fixed", "c.speed[card]/each) + c.fixed", "TestPlace"},
	{place, "if j == best-1 {", "if j == best {", "TestPlace"},
	{place, "points += float64(c.fixed) + c.queued[k]*c.speed[k]/each", "points += c.queued[k]*c.speed[k]/each", "TestPlace"},
	{place, "points += float64(c.fixed) + c.queued[k]*c.speed[k]/each", "points += float64(c.fixed)", "TestPlace"},
	{place, "end < c.queued[k]+each*float64(c.fixed+c.least)/c.speed[k]",
		"end < c.queued[k]+each*float64(c.fixed)/c.speed[k]", "TestEven"},
	{place, "end < c.queued[k]+each*float64(c.fixed+c.least)/c.speed[k]", "end < c.queued[k]+each*float64(c.fixed+c.least)", "TestEven"},
	{place, "end < c.queued[k]+each*float64(c.fixed+c.least)/c.speed[k]", "end < each*float64(c.fixed+c.least)/c.speed[k]", "TestEven"},
	{place, "sum += float64(m)", "sum = float64(m)", "TestSplitByMemory"},
	{place, "if k < len(memory)-1 {", "if k < len(memory) {", "TestSplitByMemory"},
	{place, "to = max(at, int(float64(n)*sum/total))", "to = max(at, n*(k+1)/len(memory))", "TestSplitByMemory"},

	// plugin/serve/server.go: one session of a plugin: a host is not believed.
	{server, "case s.broken != nil:", "case s.broken != nil && false:", "TestPanickedBackendIsLeftAlone"},
	{server, "case s.closed:\n\t\terr", "case false:\n\t\terr", "TestServerCloses"},
	{server, "case b == nil:", "case false:", "TestServerRefuses"},
	{server, `%w: the backend panicked: %v", backend.ErrGone, p)`,
		`%w: the backend panicked: %v", backend.ErrInternal, p)`, "TestPanickedBackendIsLeftAlone"},
	{server, "s.broken = err", "_ = s.broken", "TestPanickedBackendIsLeftAlone"},
	{server, "if s.session != nil {\n\t\t\t\ts.exit(exitGone)", "if false {\n\t\t\t\ts.exit(exitGone)", "TestExitsWithItsBackend"},
	{server, "if s.session != nil {\n\t\t\t\ts.exit(exitGone)", "if true {\n\t\t\t\ts.exit(exitGone)", "TestExitsWithItsBackend"},
	{server, "s.opening = true", "s.opening = false", "TestServerRefuses"},
	{server, "if late {", "if late && false {", "TestClosedWhileItOpens"},
	{server, "if !closed {", "if closed {", "TestExitsWithItsBackend"},
	{server, "if !closed {", "if true || closed {", "TestExitsWithItsBackend"},
	{server, "return b.Ping(ctx)", "return nil", "TestServerCloses"},
	{server, "if b == nil || again {", "if b == nil || again && false {", "TestServerCloses"},
	{server, "for _, m := range all {\n\t\t\tm.release()\n\t\t}", "_ = all", "TestServerCloses"},
	{server, "defer context.AfterFunc(s.ctx, cancel)()\n\treturn s.guarded(", "return s.guarded(", "TestCallsEndWithTheHost"},
	{server, "defer s.leave(call)\n", "", "TestServerCloses"},
	{server, "defer h.release()\n\t\treturn f(ctx, b, h)", "return f(ctx, b, h)", "TestServerRefuses"},
	{server, "if _, double := s.calls[call]; double {", "if false {", "TestDetachWaits"},
	{server, "if ok {\n\t\tcancel()\n\t}", "_ = cancel", "TestDetachWaits"},
	{server, "return &proto.CancelReply{Running: ok}, nil", "return &proto.CancelReply{Running: true}, nil", "TestDetachWaits"},
	{program, "if n < 0 || n > total/size {", "if n < 0 {", "TestInputsAndAnswers"},
	{program, "if n < 0 || n > total/size {", "if n > total/size {", "TestInputsAndAnswers"},
	{program, "counter, n*size, total)", "counter, 0, total)", "TestDetachWaits"},
	{program, "counter, n*size, total)", "counter, n, total)", "TestInputsAndAnswers"},
	{server, "> maxHalfOpen {", "> 1<<20 {", "TestHalfOpenLoads"},
	{server, "s.loading.Add(-1)\n\t\t\treturn wire.Refused(\"more than", `return wire.Refused("more than`, "TestHalfOpenLoads"},
	{server, "defer s.loading.Add(-1)\n", "", "TestHalfOpenLoads"},
	{server, "h.Curve > math.MaxUint8 || ", "", "TestServerRefuses"},
	{server, "h.Group > math.MaxUint8 || ", "", "TestServerRefuses"},
	{server, " || h.Multiples > math.MaxInt32", "", "TestServerRefuses"},
	{server, "if len(h.Digest) != len(backend.Digest{}) {", "if false {", "TestServerRefuses"},
	{server, "if err := s.inbox.counted(1); err != nil {", "if err := error(nil); err != nil {", "TestFilesOfBasesCount"},
	{server, "defer s.inbox.close(f)", "defer f.Close()", "TestFilesOfBasesCount"},
	{server, "defer s.inbox.close(f)", "defer s.inbox.counted(-1)", "TestFilesOfBasesCount"},
	{server, "if !regular {", "if !regular && false {", "TestServerRefuses"},
	{server, "if answers {", "if answers || true {", "TestFileElsewhere"},
	{server, "if err := bases.Validate(); err != nil {", "if err := bases.Validate(); err != nil && false {", "TestServerRefuses"},
	{server, "err == nil && (len(mem) == 0 || int64(len(mem)) > in.left)",
		"err == nil && int64(len(mem)) > in.left", "TestServerRefuses"},
	{server, "err == nil && (len(mem) == 0 || int64(len(mem)) > in.left)", "err == nil && len(mem) == 0", "TestServerRefuses"},
	{server, "in.left -= int64(len(mem))", "in.left -= 64", "TestServerRefuses"},

	// plugin/serve/program.go: spaces and answers.
	{program, "if r.GetCount() > wire.MaxNumber {", "if false {", "TestServerRefusesPrograms"},
	{program, "if s.spaces.Add(1) > maxSpaces {", "if s.spaces.Add(1) > 1<<20 {", "TestServerRefusesPrograms"},
	{program, "if err != nil {\n\t\t\ts.spaces.Add(-1)", "if err != nil {", "TestServerRefusesPrograms"},
	{program, "if !errors.Is(err, backend.ErrInvalidInput) {",
		"if !errors.Is(err, backend.ErrInvalidInput) && false {", "TestServerRefusesPrograms"},
	{program, "if !errors.Is(err, backend.ErrInvalidInput) {",
		"if !errors.Is(err, backend.ErrInvalidInput) || true {", "TestServerRefusesPrograms"},
	{program, "defer release()\n\tanswers, err", "_ = release\n\tanswers, err", "TestRepliesCount"},
	{program, "&& len(answers[i]) == len(place) {", "{", "TestInputsAndAnswers"},
	{program, "shm.Copy(place, answers[i])\n", "", "TestInputsAndAnswers"},
	{program, "\t\t\t\tshm.Wipe(answers[i])\n", "", "TestInputsAndAnswers"},
	{program, "\t\t\t\tanswers[i] = nil\n", "", "TestServerRefusesPrograms"},
	{program, "inline = math.MaxInt", "inline = math.MinInt", "TestRepliesCount"},
	{program, "if inline > wire.MaxReply {", "if false {", "TestRepliesCount"},

	// plugin/serve/mapped.go: shared memory and descriptors.
	{arenas, "m.refs++", "m.refs += 0", "TestDetachWaits"},
	{arenas, "if m.refs--; m.refs > 0 {", "if m.refs--; m.refs >= 0 {", "TestServerRefuses"},
	{arenas, "\tif m.detach != nil {\n\t\tm.detach()\n\t}\n", "", "TestServerRefuses"},
	{arenas, "\tm.gone()\n", "", "TestAnswersQuota"},
	{arenas, "if size != r.Size {", "if false {", "TestServerRefuses"},
	{arenas, "attach = shm.AttachAnswers", "attach = shm.Attach", "TestServerRefusesPrograms"},
	{arenas, "ok && !r.Answers {\n\t\t\tif m.detach", "ok {\n\t\t\tif m.detach", "TestServerRefusesPrograms"},
	{arenas, "if len(s.arenas) >= maxArenas {", "if false {", "TestArenasAreBounded"},
	{arenas, "if len(s.arenas) >= maxArenas {", "if len(s.arenas) > maxArenas {", "TestArenasAreBounded"},
	{arenas, "size > math.MaxInt64 || ", "size > math.MaxUint64 || ", "TestArenasAreBounded"},
	{arenas, "int64(size) > s.session.shared-s.mapped", "int64(size) > s.session.shared", "TestArenasAreBounded"},
	{arenas, "\ts.mapped += int64(size)\n", "", "TestArenasAreBounded"},
	{arenas, "\t\ts.session.answers.give(s.account.user, int64(size))\n", "", "TestArenasAreBounded"},
	{arenas, "\ts.mapped -= int64(size)\n", "", "TestArenasAreBounded"},
	{arenas, "if m.answers != answers {", "if false {", "TestServerRefusesPrograms"},
	{arenas, "r.Offset > size || r.Length > size-r.Offset || r.Offset%8 != 0",
		"r.Length > size-r.Offset || r.Offset%8 != 0", "TestServerRefuses"},
	{arenas, "r.Offset > size || r.Length > size-r.Offset || r.Offset%8 != 0",
		"r.Offset > size || r.Offset+r.Length > size || r.Offset%8 != 0", "TestServerRefuses"},
	{arenas, " || r.Offset%8 != 0", "", "TestServerRefuses"},
	{arenas, "m.retain()\n\treturn", "return", "TestServerRefuses"},
	{arenas, ": r.Offset+r.Length : r.Offset+r.Length]", ": r.Offset+r.Length]", "TestInputsAndAnswers"},
	{arenas, "in.close(l.file)", "l.file.Close()", "TestFilesCount"},
	{arenas, "files == wire.MaxDescriptors", "files == wire.MaxDescriptors+1", "TestInboxRefusesByName"},
	{arenas, "len(in.letters)-files == maxRefused", "len(in.letters)-files == maxRefused+1", "TestInboxRefusesByName"},
	{arenas, "if l.Kind == kind && l.ID == id {", "if l.ID == id {", "TestInboxRefusesByName"},
	{arenas, "\t\t\t\tif l.file != nil {\n\t\t\t\t\t_ = in.counted(-1)\n\t\t\t\t}\n", "", "TestFilesCount"},

	// plugin/serve/lane.go: small calls.
	{lane, "if !idle() || !a.looking.CompareAndSwap(false, true) {", "if !a.looking.CompareAndSwap(false, true) {", "TestLooksForCalls"},
	{lane, "if !idle() || !a.looking.CompareAndSwap(false, true) {", "if !idle() {", "TestLooksForCalls"},
	{lane, "defer a.looking.Store(false)", "", "TestLooksForCalls"},
	{lane, "if s.lanes.Add(1) > wire.MaxLanes {", "if s.lanes.Add(1) > 1<<20 {", "TestLaneRefuses"},
	{lane, "len(calls) != wire.LaneBytes || len(answers) != wire.LaneBytes", "len(answers) != wire.LaneBytes", "TestLaneRefuses"},
	{lane, "len(calls) != wire.LaneBytes || len(answers) != wire.LaneBytes", "len(calls) != wire.LaneBytes", "TestLaneRefuses"},

	// plugin/serve/limit.go: what each user may have.
	{limits, "if a.all > 0 && (", "if (", "TestBudget"},
	{limits, "size > a.all-a.used || size > a.user-a.of[user]", "size > a.all-a.used", "TestBudget"},
	{limits, "size > a.all-a.used || size > a.user-a.of[user]", "size > a.user-a.of[user]", "TestBudget"},
	{limits, "\ta.used += size\n", "", "TestBudget"},
	{limits, "\ta.of[user] += size\n", "", "TestBudget"},
	{limits, "\ta.used -= size\n", "", "TestBudget"},
	{limits, "if a.of[user] -= size; a.of[user] == 0 {", "if a.of[user] == 0 {", "TestBudget"},
	{limits, "delete(a.of, user)", "_ = user", "TestBudget"},
	{limits, "grpc.MaxRecvMsgSize(wire.MaxMessage)", "grpc.MaxRecvMsgSize(2*wire.MaxMessage)", "TestSmallMessagesLargeMemory"},
	{limits, "if size <= smallReply {\n\t\treturn resp, nil", "if size <= 1<<30 {\n\t\treturn resp, nil", "TestRepliesCount"},
	{limits, "\t\tdelete(s.replies.sizes, r)\n", "", "TestRepliesCount"},
	{limits, "s.replies.mu.Unlock()\n\t\ts.session.calls.give(s.account.user, size)",
		"s.replies.mu.Unlock()\n\t\ts.session.calls.give(s.account.user, 0*size)", "TestRepliesCount"},
	{limits, "return func() { s.session.calls.give(s.account.user, size) }, nil", "return func() {}, nil", "TestRepliesCount"},
	{limits, "\tfor _, size := range s.replies.sizes {\n\t\ts.session.calls.give(s.account.user, size)\n\t}\n", "", "TestRepliesCount"},
	{limits, "> wire.MaxCalls {", "> 1<<20 {", "TestCallsAtOnce"},
	{limits, "shm.SleepUntil(ctx, refusalPause)\n\t\t\t\t\treturn", "return", "TestCallsAtOnce"},
	{limits, "defer s.computing.Add(-1)\n", "", "TestCallsAtOnce"},
	{limits, "defer s.account.reading.Release(1)\n", "", "TestSmallMessagesLargeMemory"},
	{limits, "\tshm.SleepUntil(ctx, time.Duration(len(b))*refusalPerByte)\n", "", "TestSmallMessagesLargeMemory"},
	{limits, "return func() { s.account.decoded.Release(weight) }, nil", "return func() {}, nil", "TestSmallMessagesLargeMemory"},

	// plugin/serve/limit_linux.go: how often a user may call.
	{admit, "if d.users.Load() > 1 {", "if false {", "TestFloods"},
	{admit, "if d.users.Load() > 1 {", "if true {", "TestFloods"},
	{admit, "d.slow(s.ctx, of.calls, 1)", "d.slow(ctx, of.calls, 1)", "TestFloods"},
	{admit, "\t\t\td.slow(s.ctx, of.calls, refusedCalls)\n", "", "TestRefusedCalls"},
	{admit, "size += wire.MaxMessage", "size += 0", "TestCallsCount"},
	{admit, "context.AfterFunc(ctx, func() { d.calls.give(of.user, size) })", "_ = size", "TestCallsCount"},

	// plugin/internal/tenancy/tenancy.go: bases that sessions share.
	{tenancy, "d.Sessions, d.Resident, d.Recognised = s.sessions, s.resident-entryBytes*int64(len(s.kept)), s.hits",
		"d.Sessions, d.Resident, d.Recognised = s.sessions, s.resident, s.hits", "TestCrumbs"},
	{tenancy, "d.Unheld += e.Value.(*entry).size", "d.Unheld = e.Value.(*entry).size", "TestCrumbs"},
	{tenancy, "k := key{hints: b.Hints}", "k := key{}", "TestRoom"},
	{tenancy, "if e := s.kept[k]; e != nil && e.readers[user] {", "if e := s.kept[k]; e != nil {", "TestDigestIsNoKey"},
	{tenancy, "other := s.loading[offer{k, user}]", "other := s.loading[offer{k, 0}]", "TestStalledLoad"},
	{tenancy, "\t\t\t\tdelete(s.loading, offer{k, user})\n", "", "TestOneCopy"},
	{tenancy, "if still > s.stalled || now.After(deadline) {", "if still < 0 || now.After(deadline) {", "TestStalledLoad"},
	{tenancy, "if still > s.stalled || now.After(deadline) {", "if still > s.stalled {", "TestSlowLoad"},
	{tenancy, "l.moved = time.Now()", "_ = l.moved", "TestSlowLoad"},
	{tenancy, "if err := s.reserve(user, size); err != nil {\n\t\treturn nil, err",
		"if err := s.reserve(user, 0); err != nil {\n\t\treturn nil, err", "TestRoom"},
	{tenancy, "if err != nil {\n\t\t\ts.unreserve(user, size)\n\t\t}", "_ = err", "TestLies"},
	{tenancy, "defer s.giveCopy(user, room)", "_ = room", "TestCopies"},
	{tenancy, "\ts.evict(footprint(size))\n", "", "TestMakesPlaceBeforeItLoads"},
	{tenancy, "defer own.leave()", "_ = own", "TestLoadsTakeTurns"},
	{tenancy, "return !own.begun || b.Pieces == nil", "return false", "TestRoomIsMadeOnce"},
	{tenancy, "return !own.begun || b.Pieces == nil", "return true", "TestRoomIsMadeOnce"},
	{tenancy, "k := key{digest: own.hash.Digest(), hints: b.Hints}", "k := key{digest: own.hash.Digest()}", "TestRoom"},
	{tenancy, "if said != nil && *said != k.digest {", "if false {", "TestLies"},
	{tenancy, "*said != k.digest {\n\t\ts.free(id)", "*said != k.digest {", "TestLies"},
	{tenancy, "\t\ts.resident += footprint(size)\n", "", "TestRoom"},
	{tenancy, "s.room.apart -= footprint(size)\n\tif", "if", "TestRoom"},
	{tenancy, "if e.holders[user] > 0 {\n\t\ts.unchargeLocked", "if false {\n\t\ts.unchargeLocked", "TestHoldersAreCharged"},
	{tenancy, "e.holders[user]++\n\ts.busyLocked(e)\n\tanother", "s.busyLocked(e)\n\tanother", "TestRoom"},
	{tenancy, "another := double && !e.readers[user]", "another := false", "TestNobodyLearnsThatBasesAreThere"},
	{tenancy, "\te.readers[user] = true\n", "", "TestRoom"},
	{tenancy, "s.freeing.Go(func() { s.free(id) })", "_ = id", "TestLies"},
	{tenancy, "case double:\n\t\ts.free(id)", "case double:", "TestOneCopy"},
	{tenancy, "&& s.evict(1<<62) && again()", "&& again()", "TestRoomIsMadeOnce"},
	{tenancy, "&& s.evict(1<<62) && again()", "&& s.evict(1<<62)", "TestRoomIsMadeOnce"},
	{tenancy, "if e.holders[user] == 0 {", "if false {", "TestHoldersAreCharged"},
	{tenancy, "\t\ts.room.users[user] += footprint(e.size)\n", "", "TestHoldersAreCharged"},
	{tenancy, "\ts.hits++\n", "", "TestOneCopy"},
	{tenancy, "\t\ts.idle.Remove(e.idle)\n", "", "TestLeastRecentlyUsed"},
	{tenancy, "return size + entryBytes", "return size", "TestCrumbs"},
	{tenancy, "\ts.unchargeLocked(user, footprint(e.size))\n\t}\n\tif len", "}\n\tif len", "TestRoom"},
	{tenancy, "e.idle = s.idle.PushBack(e)", "e.idle = s.idle.PushFront(e)", "TestLeastRecentlyUsed"},
	{tenancy, "s.mu.Unlock()\n\ts.evict(0)", "s.mu.Unlock()", "TestApart"},
	{tenancy, "return s.resident > s.o.Keep-room", "return s.resident >= s.o.Keep-room", "TestCrumbs"},
	{tenancy, "\tdelete(s.kept, oldest.key)\n", "", "TestCrumbs"},
	{tenancy, "\ts.resident -= footprint(oldest.size)\n", "", "TestRoom"},
	{tenancy, "\ts.free(oldest.id)\n", "", "TestCrumbs"},

	// plugin/internal/tenancy/room.go: memory, by user.
	{room, "size = footprint(size)\n", "", "TestRoom"},
	{room, "err == nil && s.o.Room > 0 && size > s.o.Room-used", "err == nil && s.o.Room > 0 && size > s.o.Room", "TestRoom"},
	{room, "\t\t\ts.room.apart += size\n", "", "TestRoom"},
	{room, "\t\t\ts.room.users[user] += size\n", "", "TestRoom"},
	{room, "if !full || !s.evictOne(always) {", "if !full || true {", "TestRoom"},
	{room, "size > s.o.UserRoom-held", "size > s.o.UserRoom", "TestRoom"},
	{room, "\ts.room.apart -= footprint(size)\n", "", "TestRoom"},
	{room, "\ts.unchargeLocked(user, footprint(size))\n", "", "TestRoom"},
	{room, "min(s.o.Copies-s.room.copying, s.o.UserCopies-s.room.copyingOf[user])", "s.o.Copies-s.room.copying", "TestCopies"},
	{room, "min(s.o.Copies-s.room.copying, s.o.UserCopies-s.room.copyingOf[user])",
		"s.o.UserCopies-s.room.copyingOf[user]", "TestCopies"},
	{room, "max(leastCopy, left/4/leastCopy*leastCopy)", "max(leastCopy, left/leastCopy*leastCopy)", "TestCopies"},
	{room, "if n > left {", "if false {", "TestCopies"},
	{room, "\ts.room.copying -= size\n", "", "TestCopies"},

	// engine/kept.go, prover/kzg/multiproof.go: memory that calls leave to those after them.
	{keeps, "k == nil || k.closed || s.unsure", "k == nil || s.unsure", "TestKeptGivesWay"},
	{keeps, "|| k.closed || s.unsure ||", "|| k.closed ||", "TestKeptAfterFailure"},
	{keeps, "g.kept.count == mostKept || ", "", "TestKeptGivesWay"},
	{keeps, " || g.kept.bytes+size > mostKeptBytes", "", "TestKeptGivesWay"},
	{keeps, "key := keptKey{space.Keep, space.Elements}", "key := keptKey{Elements: space.Elements}", "TestKept"},
	{keeps, "if by == nil || key.by == by {", "if by == nil {", "TestKeptGivesWay"},
	{keeps, "\tg.kept.bytes -= space.bytes()\n", "", "TestKept"},
	{keeps, "errors.Is(err, backend.ErrOutOfMemory) && g.freeKept() {", "false {", "TestKeptGivesWay"},
	{opening, "\t\ts.g.distrust()\n", "", "TestKeptAfterFailure"},
	{proofs, "Dst: span(scalars, 0, scalars.Len())", "Dst: span(scalars, 0, 1)", "TestBlobsAreWiped"},
	{proofs, "Keep: m.memory}", "}", "TestOpeningsElsewhere"},

	// internal/eisenstein, internal/cuda/msmplan/units.go: digits modulo six units of two curves.
	{digits, "return new(big.Int).Lsh(big.NewInt(1), 127)", "return new(big.Int).Lsh(big.NewInt(1), 126)", "TestDigits"},
	{digits, "{1728, 12, 10, 255}", "{1536, 12, 10, 255}", "TestRadices"},
	{units, "can && (in.Params.Affine > 0 || !in.affineUnits())", "can", "TestUnitPlans"},
	{units, "\t\tp.Levels, p.Affine = in.Params.AffineLevels, true\n", "", "TestUnitPlans"},

	// internal/proofsystem/sizes.go: what a plan says of a prover.
	{sizes, "Points: p.z, Uniform: true}", "Points: p.z}", "TestUniform"},
	{sizes, "Uniform: bases == canonical", "Uniform: true", "TestUniform"},
	{sizes, "Uniform: bases == canonical", "Uniform: bases == lagrange", "TestUniform"},

	// plugin/internal/tenancy/session.go: one session among several.
	{session, "if s.quota > 0 && size > s.quota-s.held {", "if false {", "TestQuota"},
	{session, "if s.quota > 0 && size > s.quota-s.held {", "if s.quota > 0 && size > s.quota {", "TestQuota"},
	{session, "\ts.held -= size\n", "", "TestQuota"},
	{session, "if s.user == s.s.o.Owner {", "if true {", "TestCountersAreOnesOwn"},
	{session, "if s.user == s.s.o.Owner {", "if false {", "TestCountersAreOnesOwn"},
	{session, "\ts.bases -= e.size\n", "", "TestCountersAreOnesOwn"},
	{turns, "if !u.load {\n\t\tu.queue.calls.Waited", "if true {\n\t\tu.queue.calls.Waited", "TestLoadsAreNoCalls"},
	{turns, "\t\t\tu.queue.calls.Busy += d\n", "", "TestCountersAreOnesOwn"},
	{tenancy, "\t\t\t\to.hits++\n", "", "TestCountersAreOnesOwn"},
	{session, "if err != nil {\n\t\ts.give(b.Size())", "if err != nil {", "TestQuota"},
	{session, "s.give(e.size)\n\ts.mu.Lock", "s.mu.Lock", "TestQuota"},
	{session, "\ts.s.release(e, s.user)\n", "", "TestRoom"},
	{session, "if err := s.s.reserve(s.user, size); err != nil {\n\t\ts.give(size)",
		"if err := s.s.reserve(s.user, size); err != nil {", "TestRoom"},
	{session, "defer s.s.unreserve(s.user, p.size)\n", "", "TestRoom"},
	{session, "\ts.give(p.size)\n", "", "TestQuota"},
	{session, "used.Bases[id].Kept.id", "id", "TestOneCopy"},
	{session, "again = again && !writes(step)", "again = false", "TestWhatWritesBeginsOnce"},
	{session, "again = again && !writes(step)", "again = true", "TestWhatWritesBeginsOnce"},
	{session, "if err := s.s.reserve(s.user, size); err != nil {\n\t\tif wrong",
		"if err := s.s.reserve(s.user, 0); err != nil {\n\t\tif wrong", "TestAnswersHaveRoom"},
	{session, "if wrong := backend.Check(steps, used.Memory()); wrong != nil {",
		"if wrong := error(nil); wrong != nil {", "TestAnswersHaveRoom"},
	{session, "return func() { s.s.unreserve(s.user, size) }, nil", "return func() {}, nil", "TestAnswersHaveRoom"},
	{session, "failed = errors.Join(failed, s.freeSpace(p))", "failed = errors.Join(failed, nil)\n\t\t_ = p", "TestApart"},
	{session, "_ = s.letGo(e)", "_ = e", "TestRoom"},
	{session, "\ts.s.sessions--\n", "", "TestOneCopy"},
	{session, "if !stalled {", "if !stalled || true {", "TestStalledScalars"},
	{session, "in.of.Wait(ctx, in.count)", "in.of.Wait(ctx, 0)", "TestStalledScalars"},
	{session, "func() { cancel(errStalled) }", "func() {}", "TestStalledScalars"},
	{session, "err != nil && context.Cause(during) == errStalled", "context.Cause(during) == errStalled", "TestLateAnswer"},

	// plugin/internal/tenancy/source.go: bases that are hashed on their way.
	{source, "\t\tp.hash = backend.NewHasher(p.b)\n", "", "TestRoomIsMadeOnce"},
	{source, "p.progress.move()", "_ = p.progress", "TestSlowLoad"},
	{source, "shm.Copy(buf[filled:], piece[:n])", "shm.Copy(buf, piece[:n])", "TestCopies"},
	{source, "p.hash.Write(buf[:filled])", "p.hash.Write(buf)", "TestCopies"},
	{source, "\t\t\tif left > 0 {\n\t\t\t\tp.leave()\n\t\t\t}\n", "", "TestLoadsTakeTurns"},

	// plugin/internal/tenancy/turns.go: who computes, and when.
	{turns, "if len(t.users) > 0 {\n\t\t\tleast", "if false {\n\t\t\tleast", "TestTurns"},
	{turns, "min(max(l.user.used, least), least+slice)", "max(l.user.used, least)", "TestWhoseTurn"},
	{turns, "min(max(l.user.used, least), least+slice)", "min(l.user.used, least+slice)", "TestWhoseTurn"},
	{turns, "if others := l.user.sessions; len(others) > 0 {", "if others := l.user.sessions; len(others) < 0 {", "TestWhoseTurn"},
	{turns, "if of.running > 0 || of.more != nil", "if of.more != nil", "TestPatience"},
	{turns, "\tt.unhopeLocked(u.queue.user)\n", "", "TestPatienceBeginsAnew"},
	{turns, "\t\tt.unhopeLocked(l.user)\n", "", "TestPatience"},
	{turns, "\tt.nextLocked()\n\tt.hopeLocked(u.queue.user)\n", "\tt.nextLocked()\n", "TestPatienceBeginsAnew"},
	{turns, "if u.waits != nil {\n\t\t\tt.dropLocked(u)\n\t\t} else {\n\t\t\tt.endLocked(u)\n\t\t}",
		"if u.waits != nil {\n\t\t\tt.dropLocked(u)\n\t\t}", "TestTurnThatComesTooLate"},
	{turns, "t.waiting > 0 || len(t.users) > 1", "t.waiting > 0", "TestOnesCallsSlowAnothers"},
	{turns, "yields && t.cpu ||", "", "TestNoneBeginsBesideLess"},
	{turns, "yields && t.cpu ||", "yields ||", "TestNoneBeginsBesideLess"},
	{turns, "t.nextOfLocked(of, yields)", "t.nextOfLocked(of, false)", "TestHeavyWaits"},
	{turns, "if first == nil || onlyNew {", "if onlyNew {", "TestTurns"},
	{turns, "if first == nil || onlyNew {", "if next := l.fresh.Front(); next != nil {", "TestBegunCallsGoFirst"},
	{turns, "next == nil || l.used < next.queue.used", "next == nil", "TestWhoseTurn"},
	{turns, "t.leastRunningLocked() < u.queue.user.used", "false", "TestOnesCallsSlowAnothers"},
	{turns, "a.user.used < b.user.used || a.user == b.user && a.used < b.used", "a.user.used < b.user.used", "TestSessionsShare"},
	{turns, "\t\tu.since = now\n", "", "TestTimeIsCountedOnce"},
	{turns, "\t\tu.queue.used += d\n", "", "TestTimeIsCountedOnce"},
	{turns, "\t\tu.queue.user.used += d\n", "", "TestTurns"},
	{turns, "t.users = slices.DeleteFunc(t.users, func(u *user) bool { return u == l.user })", "_ = l", "TestTurns"},
	{turns, "l.user.sessions = slices.DeleteFunc(l.user.sessions, func(q *queue) bool { return q == l })", "_ = l", "TestSessionsShare"},
	{turns, "\tu.over = true\n", "", "TestCallThatEndsWhileItIsAway"},
	{turns, "\tt.forgetLocked(u.queue)\n}\n\n// pause", "}\n\n// pause", "TestCallThatEndsWhileItIsAway"},
	{turns, "if int64(time.Since(t.made)) < u.keeps.Load() {", "if false {", "TestSlice"},
	{turns, "if err == nil && u.over {", "if false {", "TestCallThatEndsWhileItIsAway"},

	// plugin/internal/tenancy/file_linux.go: bases known by their file.
	{files, "time.Since(time.Unix(sys.Ctim.Unix())) < settled", "time.Since(time.Unix(sys.Ctim.Unix())) < 0", "TestTimeThatNobodySets"},
	{files, "user: user, device", "device", "TestFiles"},
	{files, "mtime: sys.Mtim, ctime: sys.Ctim,", "mtime: sys.Mtim,", "TestTimeThatNobodySets"},

	// internal/files/list.go, internal/trust/trust_unix.go: what others may do with a file.
	{lists, "r.Rest |= named & mask", "r.Rest |= named", "TestRights"},
	{lists, "r.Rest |= named & mask", "r.Rest |= 0", "TestRights"},
	{lists, "\tr.Group &= mask\n", "", "TestRights"},
	{lists, "number != 0 && int64", "int64", "TestLists"},
	{lists, "number != 0 && int64(number) != int64(user)", "number != 0", "TestLists"},
	{trusted, "rights.Rest&files.MayWrite == 0 && priv", "priv", "TestAccessLists"},
	{trusted, "rights, err := files.RightsOfOpen(f, st)", "rights, err := files.Rights{}, error(nil)", "TestRead"},

	// plugin/feed.go: scalars that come while the plugin computes.
	{feeding, "chunkBytes / f.scalar * f.scalar", "chunkBytes", "TestFeed"},
	{feeding, "(len(f.src) + chunk - 1) / chunk", "len(f.src) / chunk", "TestFeed"},
	{feeding, "if err := backend.Ended(ctx); err != nil {",
		"if err := backend.Ended(context.Background()); err != nil {", "TestFeedEnds"},
	{feeding, "err := f.ready(ctx, min((next+1)*chunk, len(f.src))/f.scalar); err != nil {\n\t\t\t\treturn",
		"err := f.ready(ctx, min((next+1)*chunk, len(f.src))/f.scalar); false {\n\t\t\t\treturn", "TestFeedEnds"},
	{feeding, "min((next+1)*chunk, len(f.src))/f.scalar", "min((next+1)*chunk, len(f.src))", "TestFeed"},
	{feeding, "min((next+1)*chunk, len(f.src))/f.scalar", "min(next*chunk, len(f.src))/f.scalar", "TestFeed"},
	{feeding, "to := min((i+1)*chunk, len(f.src))", "to := min(i*chunk+1, len(f.src))", "TestFeed"},
	{feeding, "f.counter.Set(min(through*chunk, len(f.src)))", "f.counter.Set(len(f.src))", "TestFeed"},
	{feeding, "f.counter.Set(min(through*chunk, len(f.src)))", "f.counter.Set(through * chunk)", "TestFeed"},
	{feeding, "\t\t\tif feeds[i].dst == nil {\n\t\t\t\tcontinue\n\t\t\t}\n", "", "TestFeeds"},
	{feeding, "if err := feeds[i].run(ctx); err != nil {", "if err := feeds[i].run(ctx); false {", "TestFeeds"},
	{feeding, "if feeds[i].dst == nil {\n\t\t\tgroup.Go", "if feeds[i].dst != nil {\n\t\t\tgroup.Go", "TestFeeds"},

	// internal/resident/resident.go: who uses what a backend keeps.
	{kept, "if s.closed {", "if false {", "TestPing"},
	{kept, "h.last++", "h.last = 1", "TestUses"},
	{kept, "if _, taken := h.kept[id]; taken {", "if false {", "TestUses"},
	{kept, "return r, ok && r.freed == nil", "return r, ok", "TestUses"},
	{kept, "; err != nil {\n\t\treturn nil, err\n\t}\n\tu.countLocked(1)", "; err != nil {\n\t\treturn nil, err\n\t}", "TestUses"},
	{kept, "if !u.noteLocked(s, a) {", "if false {", "TestUses"},
	{kept, "}\n\t}\n\tu.countLocked(1)", "}\n\t}", "TestUses"},
	{kept, "if a.Bases != 0 {", "if true {", "TestUses"},
	{kept, "if r, ok := h.findLocked(id); ok {\n\t\t\tused[id] = r\n\t\t}",
		"if r, ok := h.kept[id]; ok {\n\t\t\tused[id] = r\n\t\t}", "TestUses"},
	{kept, "\tu.countLocked(-1)\n", "", "TestUses"},
	{kept, "\tfor _, r := range u.Bases {\n\t\tr.releaseLocked(-uses)\n\t}\n", "", "TestUses"},
	{kept, "\tfor _, r := range u.Spaces {\n\t\tr.releaseLocked(-uses)\n\t}\n", "", "TestUses"},
	{kept, "if r.uses == 0 && r.freed != nil {", "if r.freed != nil {", "TestFreeGivenUpGoesOn"},
	{kept, "\tr.releaseLocked(0)\n", "", "TestUses"},
	{kept, "s.calls.Go(func() {\n\t\t<-r.freed", "s.calls.Go(func() {", "TestUses"},
	{kept, "\t\tdelete(h.kept, id)\n", "", "TestFreeGivenUpGoesOn"},
	{kept, "done <- free(r.Kept)", "done <- error(nil)", "TestUses"},
	{kept, "\ts.closed = true\n", "", "TestPing"},
	{kept, "\ts.calls.Wait()\n", "", "TestFreeGivenUpGoesOn"},
	{kept, "if !first {", "if false {", "TestUses"},
	{kept, "\tclose(s.done)\n", "", "TestUses"},
	{kept, "\tclear(h.kept)\n", "", "TestUses"},

	// internal/resident/meter.go: how much a device was used.
	{meter, "\tm.sum.Waited += waited\n", "", "TestMeter"},
	{meter, "m.calls++; m.calls == 1", "m.calls++; true", "TestMeter"},
	{meter, "m.calls--; m.calls == 0", "m.calls--; true", "TestMeter"},
	{meter, "if m.calls > 0 {", "if false {", "TestMeter"},

	// internal/resident/group.go: functions at the same time.
	{group, "g.others.Go(g.last)", "g.last()", "TestGroup"},
	{group, "\tg.last = nil\n", "", "TestGroup"},
	{group, `%w: panic: %v", backend.ErrInternal, p)`, `%w: panic: %v", backend.ErrGone, p)`, "TestCaught"},

	// prover/internal/resident/resident.go: MSMs of a proof, and what they leave.
	{batches, "\tif e != nil {\n\t\treturn e, func() error { return nil }, nil\n\t}\n", "", "TestEngineOfOnesOwn"},
	{batches, "return e, func() error { return nil }, nil", "return e, e.Close, nil", "TestEngineOfOnesOwn"},
	{batches, "return e, e.Close, nil\n}\n\n// Open", "return e, func() error { return nil }, nil\n}\n\n// Open", "TestEngineOfOnesOwn"},
	{batches, "t.bases.Slice(0, len(scalars))", "t.bases.Slice(0, len(t.points))", "TestBatch"},
	{batches, "if m == Never || ", "if ", "TestClasses"},
	{batches, "m == Auto && n < least {", "m == Auto && n <= least {", "TestClasses"},
	{batches, "m == Auto && n < least {", "n < least {", "TestClasses"},
	{batches, "\tdefer e.Wipe()\n", "", "TestMergedScalarsLeaveNothing"},
	{batches, "m == Auto && e.Redundancy() < worthwhile", "false", "TestClasses"},
	{batches, "|| c.Len() == n {", "{", "TestClasses"},
	{batches, "if m == Auto && !e.Info().InProcess {", "if !e.Info().InProcess {", "TestBatch"},
	{batches, "if m == Auto && !e.Info().InProcess {", "if false {", "TestBatch"},
	{batches, "if len(scalars) != len(t.points) {", "if false {", "TestBatch"},
	{batches, "b.end = append(b.end, func() { clear(sums) })\n", "", "TestMergedScalarsLeaveNothing"},
	{batches, "b.end = append(b.end, func() { t.Close() })\n", "", "TestBatch"},
	{batches, "func (b *Batch) Fail(err error) {\n\tif b.err == nil {", "func (b *Batch) Fail(err error) {\n\tif true {", "TestBatch"},
	{batches, "\tb.merged[key] = s\n", "", "TestBatch"},
	{batches, "s.classes.Members(i)[0]]", "s.classes.Members(0)[0]]", "TestMergedScalarsLeaveNothing"},
	{batches, "\t\tclear(s.scalars)\n", "", "TestMergedScalarsLeaveNothing"},
	{batches, "\t\ts.classes.Wipe()\n", "", "TestMergedScalarsLeaveNothing"},
	{batches, "range slices.Backward(b.end) {", "range slices.All(b.end) {", "TestBatch"},
	{batches, "if b.err != nil {\n\t\treturn b.err\n\t}\n\tif err := b.batch", "if err := b.batch", "TestBatch"},
	{batches, "\tfor _, f := range b.deliver {\n\t\tf()\n\t}\n", "", "TestMergedScalarsLeaveNothing"},
	{batches, "\t\tm.Add(s.Free)\n", "", "TestMemoryIsFreed"},
	{batches, "m.Add(func() { clear(s) })", "m.Add(func() {})", "TestMemoryIsFreed"},
	{batches, "\tm.free = nil\n", "", "TestMemoryIsFreed"},

	// prover/internal/resident/vectors.go: a key's vectors, in one backend at a time.
	{vectors, "case <-ctx.Done():\n\t\treturn none", "case <-context.Background().Done():\n\t\treturn none", "TestVectorsMove"},
	{vectors, "r == nil || r.session.Err() != nil || ", "r == nil || ", "TestVectorsMove"},
	{vectors, "|| !s.Together(r.session) {", "{", "TestVectorsMove"},
	{vectors, "p.count(r, 1)\n\treturn", "return", "TestVectorsMove"},
	{vectors, "return r.vectors, func() error { return p.count(r, -1) }, nil",
		"return r.vectors, func() error { return nil }, nil", "TestVectorsMove"},
	{vectors, "if p.now = r; r != nil {", "if p.now = r; false {", "TestVectorsMove"},
	{vectors, "return p.count(was, -1)", "return nil", "TestVectorsMove"},
	{vectors, "if left > 0 {", "if left > 1 {", "TestVectorsMove"},
	{vectors, "return p.set(nil)", "return nil", "TestVectorsMove"},

	// prover/internal/resident/ahead.go: sessions that are opened ahead.
	{ahead, "elements*f.Curve().ScalarBytes() <= mostAhead(e)", "true", "TestAhead"},
	{ahead, "i.InProcess || len(i.Devices) == 0", "len(i.Devices) == 0", "TestMostAhead"},
	{ahead, "max(MostAhead, int(least.Memory/partAhead))", "int(least.Memory/partAhead)", "TestMostAhead"},
	{ahead, "if a.opening.Wait(); a.session != nil {\n\t\treturn a", "if a.opening.Wait(); false {\n\t\treturn a", "TestAhead"},
	{ahead, "\tif a == nil {\n\t\treturn\n\t}\n", "", "TestAhead"},
	{ahead, "_ = a.session.Close()", "_ = a.session", "TestAhead"},

	// prover/internal/assignment/assignment.go: solving a circuit.
	{assign, "for s.size += s.of * cap(v); len(s.room) > 0 && s.size > s.most; {",
		"for s.size += s.of * cap(v); false; {", "TestRoomIsBounded"},
	{assign, "s.size > s.most; {\n\t\ts.drop(0)", "s.size > s.most; {\n\t\ts.drop(len(s.room) - 1)", "TestRoomIsBounded"},
	{assign, "\t\tif i := slices.Index(s.room, k); i >= 0 {\n\t\t\ts.drop(i)\n\t\t}\n", "", "TestRoomIsBounded"},
	{assign, "\ts.size -= s.of * cap(k.memory)\n", "", "TestRoomIsBounded"},
	{assign, "case *constraint.BlueprintGenericR1C:\n\t\treturn kindR1C, !sparse",
		"case *constraint.BlueprintGenericR1C:\n\t\treturn kindR1C, true", "TestKinds"},
	{assign, "\tmerge.Wipe(v)", "\tmerge.Wipe(v[:0:0])", "TestLentMemory"},
	{assign, "|| len(inputs) != given {", "|| false {", "TestRefused"},
	{assign, "if i := firstNotBelow(inputs, r.q); i >= 0 {",
		"if i := firstNotBelow(inputs[:0], r.q); i >= 0 {", "TestInputsNotCanonical"},
	{assign, "if !ok {\n\t\t\treturn nil, fmt.Errorf(\"%w: blueprint",
		"if !ok && i < 0 {\n\t\t\treturn nil, fmt.Errorf(\"%w: blueprint", "TestRefused"},
	{assign, "if !ok {\n\t\t\treturn nil, fmt.Errorf(\"%w: hint",
		"if !ok && len(name) == 0 {\n\t\t\treturn nil, fmt.Errorf(\"%w: hint", "TestRefused"},
	{assign, "if e[i] != modulus[i] {\n\t\t\t\treturn e[i] > modulus[i]",
		"if e[i] != modulus[i] {\n\t\t\t\treturn e[i] == none", "TestInputsNotCanonical"},
	{assign, "return e[i] > modulus[i]\n\t\t\t}\n\t\t}\n\t\treturn true",
		"return e[i] > modulus[i]\n\t\t\t}\n\t\t}\n\t\treturn false", "TestInputsNotCanonical"},
	{assign, "if !r.sparse {\n\t\tr.values[0] = r.small[1]",
		"if r.sparse {\n\t\tr.values[0] = r.small[1]", "TestLateHintsOfUsersComeInTurn"},
	{assign, "forget(&part[k])", "_ = part[k]", "TestRows"},
	{assign, "\tr.Dismiss()\n", "", "TestHelpersLeave"},
	{assign, "\t\tif p := recover(); p != nil {\n\t\t\terr = &crew.Panic{Value: p}\n\t\t}\n", "", "TestDefects"},
	{assign, `err = fmt.Errorf("%w: %v", ErrDefect, err)`, `err = fmt.Errorf("%v", err)`, "TestDefects"},
	{assign, "\t\t\t\tif err := ctx.Err(); err != nil {\n\t\t\t\t\treturn err\n\t\t\t\t}\n", "", "TestHintsThatFail"},
	{assign, "if err := r.complete(); err != nil {", "if err := error(nil); err != nil {", "TestDefects"},
	{assign, "\t\t\tr.retract()\n", "", "TestSettled"},
	{assign, "copy(wires[lo:hi], r.values[lo:hi])", "", "TestSettled"},
	{assign, "if !v.Lent || v.OwnWires {", "if !v.Lent {", "TestLentMemory"},
	{assign, "if !v.Lent || v.OwnWires {", "if true {", "TestLentMemory"},
	{assign, "case wires*s.of <= mostInPlace:", "case true:", "TestLentMemory"},
	{assign, "if l.alone {", "if false {", "TestLateHintsOfUsersComeInTurn"},
	{assign, "return w.divide()", "return nil", "TestRows"},
	{assign, "if !unknown(to) {", "if false {", "TestDefects"},
	{assign, "if coefficient == constraint.CoeffIdZero {", "if false {", "TestWiresWithoutValues"},
	{assign, "if unknown(v) {\n\t\treturn errEarly\n\t}\n\tw.times", "w.times", "TestWiresWithoutValues"},
	{assign, "PS(sum).Sub(sum, v)", "PS(sum).Add(sum, v)", "TestRows"},
	{assign, "case constraint.CoeffIdTwo:\n\t\tPS(sum).Add(sum, v)", "case constraint.CoeffIdTwo:", "TestWiresWithoutValues"},
	{assign, "if unknown(to) {\n\t\t\treturn n, errEarly", "if false {\n\t\t\treturn n, errEarly", "TestWiresWithoutValues"},
	{assign, "if missing.Load() {", "if false {", "TestDefects"},
	{assign, "if len(out) != 1 {", "if false {", "TestCommitAsHint"},
	{assign, "PS(&v).BigInt(out[0])", "_ = v", "TestCommitAsHint"},

	{assign, "\tif r.own != nil {\n\t\tr.own.Wipe()\n\t}\n", "", "TestGKRKeepsNothing"},

	// prover/internal/assignment/gkr.go: blueprints that keep values of a witness.
	{gkr, "own.keep(i, exported(b))", "own.List[i] = b", "TestGKRKeepsNothing"},
	{gkr, "layout.WipeElements(v.Field(i))", "layout.WipeElements(v)", "TestGKRKeepsNothing"},

	// prover/internal/solve/solve.go: the door to gnark's solver.
	{door, "assignment.Guarded(s.System.System, &exit), ", "", "TestNoWitnessEndsTheProcess"},
	{door, ", solver.WithNbTasks(1))", ")", "TestGnarksSolverIsGuarded"},
	{door, "panicked: %v\", backend.ErrInvalidInput, p), true", "panicked: %v\", backend.ErrInvalidInput, p), true\n\t\t\tpanic(p)",
		"TestGnarksSolverIsGuarded"},
	{door, "\tif !returned {", "\tif !returned && false {", "TestGnarksSolverIsLeft"},
	{door, "if own.Shared {", "if false {", "TestTurns"},

	// arith/calculator.go, arith/session.go, vector/sum.go, vector/program.go: wrong uses that would give
	// wrong numbers.
	{calls, "o.n.overlaps(x.c.into)", "o.n == x.c.into", "TestIntoOverlaps"},
	{batched, "if err := p.freed(); err != nil {", "if err := p.freed(); false {", "TestFreedBeforeRun"},
	{batched, "\tp.batches = append(p.batches, b)\n", "", "TestFreedBeforeRun"},
	{batched, "\tp.numbers = append(p.numbers, n)\n", "", "TestFreedBeforeRun"},
	{adding, "if now < row || int64(now) >= int64(len(to)) {", "if int64(now) >= int64(len(to)) {", "TestConformanceInChunks"},
	{adding, "lo > 0 && row < w.rows[lo-1]", "false", "TestConformanceInChunks"},
	{adding, "if int64(row) >= int64(len(to)) || ", "if ", "TestConformanceInChunks"},
	{adding, "int64(column) >= int64(len(from)) || ", "", "TestConformanceInChunks"},
	{adding, "PE(&w.to[r.row]).Add(&w.to[r.row], &r.sum)", "w.to[r.row] = r.sum", "TestConformanceInChunks"},
	{sums, "t.Vector.offset != dst.offset && dst.overlaps(t.Vector)", "false", "TestSumOverlaps"},
	{programs, "all[T](b, 1)[0]\n\t\tclear(b)\n", "all[T](b, 1)[0]\n", "TestAnswers"},
	{programs, "layout.Bytes(v), b)\n\tclear(b)\n", "layout.Bytes(v), b)\n", "TestAnswers"},
	{programs, "\tif p.err == nil {\n\t\tp.used = append(p.used, vs...)\n\t}\n", "", "TestFreedBeforeRun"},

	// prover/internal/assignment/schedule.go: in which order.
	{schedule, "list[share*n/shares : (share+1)*n/shares]", "list[share*n/shares : share*n/shares+n/shares]", "TestSchedules"},
	{schedule, "len(foreign) > 0 && len(l) <= inTurn {", "false {", "TestSchedules"},
	{schedule, "ok && f.of == id {", "ok {", "TestFactsOfAnotherSystem"},
	{schedule, "delete(known.of, key)", "_ = key", "TestFactsOfAnotherSystem"},
	{schedule, "p.set[i], p.needed[i], p.part[i] = -1, p.end, -1", "p.set[i], p.needed[i], p.part[i] = -1, 0, -1", "TestSchedules"},
	{schedule, "p.entries[wire] = append(in, i)", "p.entries[wire] = in", "TestSchedules"},
	{schedule, "wire != constant && wire >= p.inputs", "wire != constant && wire > p.inputs", "TestSchedules"},
	{schedule, "lists(c.data, c.n)", "lists(c.data, 0)", "TestSchedules"},
	{schedule, "lists(data[3:], int(data[2]))", "lists(data[3:], 0)", "TestSchedules"},
	{schedule, "lists(data[2:], int(data[1]))", "lists(data[2:], 0)", "TestSchedules"},
	{schedule, "terms := int(data[1] + data[2] + data[3])", "terms := int(data[1] + data[2])", "TestSchedules"},
	{schedule, "roles[i] = checks\n\t\t\tif", "roles[i] = inLevel\n\t\t\tif", "TestSchedules"},
	{schedule, "if p.set[wire] < 0 {", "if true {", "TestSchedules"},
	{schedule, "id == commitment || p.foreign[id] ||", "id == commitment ||", "TestSchedules"},
	{schedule, "id == commitment || p.foreign[id] || p.known[id].list", "id == commitment || p.foreign[id]", "TestSchedules"},
	{schedule, "id == commitment || p.foreign[id] || p.known[id].list", "p.foreign[id] || p.known[id].list", "TestSchedules"},
	{schedule, "return data[1] > batch", "return false", "TestSchedules"},
	{schedule, "return data[0] > giant", "return false", "TestSchedules"},
	{schedule, "return\n\t\t\t\t}\n\t\t\t\tfirst = min(first, p.due(wire))",
		"return\n\t\t\t\t}\n\t\t\t\tfirst = p.due(wire)", "TestSchedules"},
	{schedule, "first = min(first, p.of[t].needed)", "_ = t", "TestSchedules"},
	{schedule, "int(first) >= l+slack && !p.stays(in)", "int(first) >= l+slack", "TestSchedules"},
	{schedule, "t.needed = min(t.needed, last)", "t.needed = p.end", "TestSchedules"},
	{schedule, "if len(own) > 0 {", "if len(own) > 1 {", "TestSchedules"},
	{schedule, "o.reads = slices.Compact(o.reads)", "_ = o.reads", "TestSchedules"},
	{schedule, "before = len(p.parts)", "before = 0", "TestSchedules"},
	{schedule, "p.parts[r].needed = min(p.parts[r].needed, o.needed)", "_ = r", "TestSchedules"},
	{schedule, "max(min(o.worth/size, len(o.list)), 1)", "max(o.worth/size, 1)", "TestSchedules"},
	{schedule, "read.Then = append(read.Then, o.number)", "_ = read", "TestSchedules"},
	{schedule, "all[needs].needed <= i", "all[needs].needed < i", "TestSchedules"},
	{schedule, "if of <= inTurn && p.kinds", "if of < inTurn && p.kinds", "TestSchedules"},
	{schedule, "if of <= inTurn && p.kinds", "if p.kinds", "TestSchedules"},
	{schedule, "if !l.alone && len(list) > 2", "if len(list) > 2", "TestSchedules"},
	{schedule, "\t\tdepth = max(depth, t.depth)\n", "", "TestSchedules"},
	{schedule, "p.part[wire] = number\n", "", "TestSchedules"},
	{schedule, "t.parts = append(t.parts, number)", "_ = t", "TestSchedules"},
	{schedule, "t.depth = max(t.depth, depth+1)", "t.depth = max(t.depth, depth)", "TestSchedules"},
	{schedule, "t.parts[o.asked[table]:]", "t.parts[len(t.parts):]", "TestSchedules"},
	{schedule, "if o.depth == depth && ", "if ", "TestSchedules"},
	{schedule, "o.needed = min(o.needed, needed)\n", "", "TestSchedules"},

	// prover/circom: proofs of circom's circuits.
	{circom, "wrong := k.scheme.verify(p)", "var wrong error", "TestWrongWitness"},
	{circom, "if here && k.engine.Backend() == on {", "if here || true {", "TestMadeAgain"},
	{fitting, "case w.Len() != wires:", "case false:", "TestDamagedFiles"},
	{fitting, "case w.Curve() != on:", "case false:", "TestOtherCurve"},
	{jobs, "err = p.key.VerifyingKey.Verify(proof)", "", "TestCircomIsVerified"},
	{proves, "if wrong < len(wires) {", "if false {", "TestDamagedFiles"},
	{proves, "if littleEndian(to[:valueBytes]).Cmp(big.NewInt(1)) != 0 {", "if false {", "TestDamagedFiles"},
	{proves, "*total, *blind = blinding.Sums[P1, P2]{}, blinding.Blinding[P1, P2, S]{}", "", "TestSecretsAreWiped"},
	{proves, "program.Scale(w, w, p.r())", "", "TestProofs"},
	{loads, "if e == nil {", "if true {", "TestDamagedFiles"},
	{loads, "out[i*step&(len(h)-1)] = h[i]", "out[i] = h[i]", "TestProofs"},
	{sparse, "to := y.Start[row*step&(n-1)]", "to := y.Start[row]", "TestProofs"},
	{sparse, "terms[2*k] += constants", "terms[2*k] += constants - 1", "TestProofs"},
	{verifies, "if len(p.Public) != len(v.ic)-1 {", "if len(p.Public) > len(v.ic)-1 {", "TestVerifyRefuses"},
	{verifies, "value.Cmp(r) >= 0 {", "value.Cmp(r) > 1 {", "TestVerifyRefuses"},
	{verifies, "err = inGroup(c, part.group, b)", "err = nil", "TestSubgroup"},

	// What stands on it: files, go-rapidsnark's calls, the server, witnesses.
	{reading, "case seen[name]:", "case false:", "TestFilesRefused"},
	{reading, "if v.Cmp(modulus) >= 0 {", "if v.Cmp(modulus) > 0 {", "TestFilesRefused"},
	{reading, "groupBytes(r.curve, backend.G1, p.coordinates())", "pointBytes(r.curve, p.coordinates())", "TestOutsideOfTheSubgroup"},
	{reading, "if f.need == needed && !seen[f.name] {", "if false {", "TestFilesRefused"},
	{reading, "if r.err == nil && public.String() != fmt.Sprint(len(vk.IC)-1) {", "if false {", "TestFilesRefused"},
	{onGnark, "case *gnark254.VerifyingKey:\n\t\tif len(vk.CommitmentKeys) > 0 {",
		"case *gnark254.VerifyingKey:\n\t\tif false {", "TestGnarkRefused"},
	{onGnark, "case *gnark254.Proof:\n\t\tif len(p.Commitments) > 0 {", "case *gnark254.Proof:\n\t\tif false {", "TestGnarkRefused"},
	{rapid, "if e.users == 0 {\n\t\te.close()", "if true {\n\t\te.close()", "TestKeyInUseStays"},
	{rapid, "if e.users == 0 && e.dropped {", "if false {", "TestKeyInUseStays"},
	{rapid, "for len(k.all) > 1 && sum > k.opts.limit {", "for len(k.all) > 1 && sum > k.opts.limit && false {", "TestLimit"},
	{rapid, "for len(k.all) > 1 && sum", "for len(k.all) > 0 && sum", "TestLimit"},
	{rapid, "return place{at, len(b), h.Sum64()}", "return place{at, len(b), 0}", "TestKeyIsFound"},
	{rapid, "d := sha256.Sum256(p)", "d := sha256.Sum256(p[:1024])", "TestKeyIsFound"},
	{answers, "|| s.taken >= s.cfg.Jobs+s.cfg.Queue", "", "TestQueueIsBounded"},
	{answers, "http.MaxBytesReader(w, r.Body, s.cfg.Body)", "r.Body", "TestRefused"},
	{answers, "\tclear(body)\n\ts.mu.Lock()", "\ts.mu.Lock()", "TestRapidsnarkClient"},
	{answers, "s.take(r.Context(), w, r)", "s.take(s.ctx, w, r)", "TestCallerGoes"},
	{answers, "if s.closing ||", "if", "TestClose"},
	{wasm, "clear(b)\n\t\t}\n\t}\n\t_ = k.module", "_ = b\n\t\t}\n\t}\n\t_ = k.module", "TestMemoryIsWiped"},
	{wasm, "uint64(got) < want", "false", "TestCalculateRefuses"},
	{inputs, "v = exact // which f may have rounded", "_ = exact", "TestCalculateRefuses"},
	{verifies, "if !ok {\n\t\treturn ErrNotVerified", "if !ok {\n\t\treturn nil", "TestVerifyRefuses"},
	{sections, "if c.sections[kind].Offset != 0 {", "if false {", "TestRefusals"},
	{entries, "row >= k.Domain", "row > k.Domain", "TestRefusals"},
	{entries, "wire >= k.Wires", "wire > k.Wires", "TestRefusals"},
	{entries, "case matrix > 1 ||", "case matrix > 2 ||", "TestRefusals"},

	// cluster/server: streams that fall silent.
	{listens, "return now.Sub(e.since) >= deafFor", "return false", "TestEar"},
	{listens, "if e.missed > max(e.heard, e.old) {", "if e.missed > e.heard {", "TestEar"},
	{listens, "if seq <= e.heard {", "if seq < e.heard {", "TestEar"},
	{manages, "d.listenAnew(ctx, v.streams, v.at)\n", "\n", "TestDeafDispatcher"},

	// cluster/server: an identity that others read.
	{identity, "wire.ReadSecret(path)", "os.ReadFile(path)", "TestIdentityOfOthers"},

	// prover/internal/resident: room for a proof while its key is loaded.
	{batches, "!i.InProcess && i.Can", "i.Can", "TestLoadBeside"},
	{ahead, "defer s.Close() // its error", "_ = s.Close() // its error", "TestLoadBeside"},
	{bases, "errors.Join(err, CloseBases(in1, in2))", "err", "TestLoadBases"},

	// prover/plonk: the quotient from three cosets and its highest coefficients.
	{divides, "r.addTo(p, v.quotient.Slice(k*n, (k+1)*n).View(), more)", "r.addTo(p, v.quotient.Slice(k*0, n).View(), more)", "TestCombine"},
	{divides, "m.weights[k][i] = fr.Product(q, by)", "m.weights[k][i] = fr.Product(q, by, by)", "TestCombine"},
	{divides, "{3, 1, 2, 0}", "{3, 2, 1, 0}", "TestOverhang"},
	{divides, "power := fr.Product(r.root, r.root)", "power := r.root", "TestOverhang"},
	{divides, "r.fr.Mul(&a[i], &a[i], &b[0])", "", "TestOverhang"},
	{lies, "if n < 2*topsEach {", "if n < topsEach {", "TestCombine"},
	// prover/plonk: what a circuit commits to, and columns in the backend's memory.
	{shapes, "last != c.CommitmentIndex", "true", "TestCommittedRows"},
	{shapes, "if seen[row] {", "if false {", "TestCommittedRows"},
	{shapes, "places[row] = uint32(k)", "places[row-s.public] = uint32(k)", "TestProofEqualsStock"},
	{states, "[...]int{len(committed), rows - 1}", "[...]int{len(committed)}", "TestProofEqualsStock"},
	{states, "\tst.mem.Add(func() { sys.Solver.Free(sol) })\n", "", "TestSolutionIsWiped"},
	{states, "\t\t\t\tst.wires = nil\n", "", "TestProofBeginsEarly"},
	{states, "\t\t\treturn func() {\n\t\t\t\tend()\n", "\t\t\tdefer end()\n\t\t\treturn func() {\n", "TestProofBeginsEarly"},
	{lies, "3*(s.n+2), s.solved)", "3*(s.n+2))", "TestProofEqualsStock"},
	{lies, "(3 + commitments) * (n + 7) / 8", "commitments * (n + 7) / 8", "TestElements"},
	{columned, "wires[0][i] = uint32(i)", "wires[0][i] = 0", "TestColumns"},
	{columned, "\t\tclear(columns[i][:cap(columns[i])])\n", "", "TestColumns"},
	{loans, "\t\tLentNow.Add(-bytes)\n", "", "TestLoan"},
	{loans, "bytes > MostLent/4", "bytes > MostLent", "TestLoan"},
	// cmd/internal/weave/older.go: what an older gnark lacks.
	{older, "m.Replace != nil || m.Version == \"\"", "m.Version == \"\"", "TestLacking"},
	{older, "has = has || len(f.named(name)) > 0", "has = true", "TestLacking"},
	{older, "f.rename(id, \"GSigma\")", "f.rename(id, \"G\")", "TestWeaveOlder"},
	{older, "Sub(&a[i], &b[i])", "Sub(&b[i], &a[i])", "TestVectorMethods"},
	{older, "Mul(&a[i], b)", "Add(&a[i], b)", "TestVectorMethods"},

	// plugin/internal/shm/pool.go: memory that is kept.
	{regions, "kept+int64(sizes[0]) > most", "false", "TestKeepLeaves"},
	{regions, "return r.kept && r.refs > 0", "return r.kept", "TestKeepLeaves"},

	// prover/groth16/vectors.go: proofs that share a request, and backends that change beside a proof.
	{onCard, "program.Gather(v, wires[i], x)", "program.Gather(v, wires[i/2], x)", "TestStreamSharesRequests"},
	{onCard, "v.Slice(i*each, (i+1)*each)", "v.Slice(0, each)", "TestStreamSharesRequests"},
	{onCard, "h[i] = h[i].Slice(0, n-1)", "h[i] = h[0].Slice(0, n-1)", "TestStreamSharesRequests"},
	{onCard, "on.matrices[side], w[i]", "on.matrices[side], w[i/2]", "TestStreamSharesRequests"},
	{onCard, "if p.chosen() {", "if _, here := p.onBackend(); here {", "TestSwapWhileSolving"},

	// prover/internal/resident/running.go: programs of a proof that begin before the solver ends.
	{running, "r.thrown = recover()", "_ = recover()", "TestRunning"},
	{running, "\tr.ready, r.done, r.thrown = nil, nil, nil\n", "", "TestRunning"},
	{running, "\tr.session.Close()\n", "", "TestRunning"},
	{running, "r.by = s.Backend()", "", "TestRunning"},

	// prover/internal/matrices/matrices.go: A and B of a system.
	{factors, "numbers[i] = backend.FactorMinusOne", "numbers[i] = backend.FactorOne", "TestProducts"},
	{factors, "clear(v[max(lo, min(hi, rows)):hi])", "_ = v", "TestProducts"},
	{factors, "all[minus2] = minusOne, fr.Minus(minusOne, one)", "all[minus2] = minusOne, minusOne", "TestConstants"},
	{factors, "t.WireID() >= wires ||", "", "TestWrongSystems"},
	{factors, "|| t.CoeffID() >= len(sys.Coefficients)", "", "TestWrongSystems"},
	{factors, "n != sys.NbConstraints", "n > sys.NbConstraints", "TestWrongSystems"},
	{factors, "uint32(row), m.Terms[2*i+1]", "uint32(lo), m.Terms[2*i+1]", "TestProducts"},

	// prover/internal/assignment: the sides of rank-1 constraints.
	{closes, "PS(&w.sides[1-where]).IsZero()", "PS(&w.sides[where]).IsZero()", "TestLongConstraints"},
	{closes, "*to = w.open[d.open][1-d.side]", "*to = w.open[d.open][d.side]", "TestLongConstraints"},
	{closes, "\tclear(w.open[:cap(w.open)])\n", "", "TestWorkersAreWiped"},
	{closes, "\tfirst.sides = *sides\n", "", "TestLongConstraints"},
	{bySums, "\tif first {\n\t\tvar zero S\n\t\t*sum = zero\n\t}\n", "", "TestHelpersLeave"},
	{products, "f.rest[i] != f.c[i]", "false", "TestSettled"},
	{products, "PS(&w.difference).Sub(&f.c[i], &f.rest[i])", "w.difference = f.c[i]", "TestHelpersLeave"},

	// prover/kzg/multiproof.go: a matrix with each row once for each polynomial, and values that are not computed.
	{cells, "table = append(table, uint32(row+i))", "table = append(table, uint32(i))", "TestOpenings"},
	{cells, "matrix = t.repeated", "matrix = t.matrix", "TestOpenings"},
	{cells, "m.root(uint64(m.Domain))", "m.root(uint64(m.Coefficients))", "TestComputeEqualsRecover"},
	{timed, "held(c) < 0.9*held(o)", "held(c) < 0.5*held(o)", "TestSharedCards"},
}
