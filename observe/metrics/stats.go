package metrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
)

// descs is every metric that is read off a state when it is collected.
var descs []*prometheus.Desc

func desc(name, help string, labels ...string) *prometheus.Desc {
	d := prometheus.NewDesc("pippin_"+name, help, labels, nil)
	descs = append(descs, d)
	return d
}

var (
	buildInfo = desc("build_info", "What this program was built from; the value is 1.", "version", "commit", "goversion")

	calls     = desc("calls_total", "Calls of the engine by how they ended: answered, failed, or canceled by the caller.", "outcome")
	inFlight  = desc("calls_in_flight", "Calls that have begun and not ended.")
	waiting   = desc("calls_waiting", "Calls that wait for a backend.")
	fallBacks = desc("fallback_calls_total", "Calls that another backend answered than the preferred one, by why it did not.", "reason")
	degraded  = desc("degraded", "Whether the preferred backend does not answer: 1 while it refuses calls, is dead, broken or retired.")
	checked   = desc("answers_checked_total", "Answers that were checked.")
	compared  = desc("answers_compared_total", "Answers that were computed again on another backend and compared.")
	knownOnes = desc("known_answers_total", "Computations with known answers that backends did rightly.")
	refused   = desc("answers_refused_total", "Answers that a check, a comparison or a known answer refused.")
	bases     = desc("bases_loaded", "Sets of bases that are loaded.")
	sessions  = desc("sessions_open", "Sessions of vectors that are open.")
	shared    = desc("shared_bytes", "Bytes of scalar buffers in memory that a backend reads.")

	ofCalls = desc("backend_calls_total", "Calls that went to a backend: answered, or failed there, whatever became of them.",
		"backend", "outcome")
	ofInFlight = desc("backend_calls_in_flight", "Calls on a backend.", "backend")
	preferred  = desc("backend_preferred", "Whether a backend is the preferred one.", "backend")
	state      = desc("backend_state", "1 for the state that a backend is in.", "backend", "state")
	resident   = desc("backend_resident_bytes", "Bytes of bases that are loaded into a backend.", "backend")
	spaces     = desc("backend_spaces_bytes", "Bytes of vectors in a backend.", "backend")
	programs   = desc("backend_programs_total", "Programs over vectors that a backend ran: answered or failed.", "backend", "outcome")
	deaths     = desc("backend_deaths_total", "How often a backend died or was given up.", "backend")
	restarts   = desc("backend_restarts_total", "How often a backend was open again after a death.", "backend")
	missed     = desc("backend_missed_pings_total", "Pings that a backend did not answer.", "backend")

	busy   = desc("device_busy_seconds_total", "Time that a device belonged to calls, since its backend was opened.", "backend", "device")
	waited = desc("device_wait_seconds_total", "Time that calls waited for a device, added up, since its backend was opened.",
		"backend", "device")
	had       = desc("device_calls_total", "Calls that have had a device, since its backend was opened.", "backend", "device")
	outOfUse  = desc("device_retired", "Whether a backend does not use a device any more, which computes wrongly.", "backend", "device")
	multiples = desc("device_multiples_bytes", "Bytes of multiples of bases that are on a device.", "backend", "device")
	stageTime = desc("stage_seconds_total",
		"Time on devices by stage of the computation, where a backend measures it, since it was opened.", "backend", "stage")
)

// What the sessions of a daemon have together.
var (
	ofSessions   = desc("daemon_sessions", "Sessions that a daemon has open.", "backend")
	ofResident   = desc("daemon_resident_bytes", "Bytes of bases that a daemon has loaded.", "backend")
	ofUnheld     = desc("daemon_unheld_bytes", "Bytes of those that no session holds.", "backend")
	ofTurns      = desc("daemon_calls_waiting", "Calls of all sessions that wait for their turn.", "backend")
	ofRecognised = desc("daemon_loads_recognised_total", "Loads that found their bases there.", "backend")
)

// states is every state of a slot.
var states = []engine.State{
	engine.StateIdle, engine.StateOpening, engine.StateReady, engine.StateRefusing, engine.StateSuspect,
	engine.StateBroken, engine.StateRetired,
}

func gauge(to chan<- prometheus.Metric, d *prometheus.Desc, v float64, labels ...string) {
	to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

func counter(to chan<- prometheus.Metric, d *prometheus.Desc, v float64, labels ...string) {
	to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
}

func one(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// collectStats sends the state of an engine.
func collectStats(to chan<- prometheus.Metric, st engine.Stats) {
	counter(to, calls, float64(st.Answered), "answered")
	counter(to, calls, float64(st.Failed-st.Canceled), "failed")
	counter(to, calls, float64(st.Canceled), "canceled")
	gauge(to, inFlight, float64(st.InFlight))
	gauge(to, waiting, float64(st.Waiting))
	for _, r := range engine.Reasons() {
		counter(to, fallBacks, float64(st.Reasons[r]), string(r))
	}
	gauge(to, degraded, one(st.Degraded()))
	counter(to, checked, float64(st.Checked))
	counter(to, compared, float64(st.Compared))
	counter(to, knownOnes, float64(st.Known))
	counter(to, refused, float64(st.Refused))
	gauge(to, bases, float64(st.Bases))
	gauge(to, sessions, float64(st.Sessions))
	gauge(to, shared, float64(st.Shared))
	for i, b := range st.Backends {
		name := label(b.Name)
		counter(to, ofCalls, float64(b.Answered), name, "answered")
		counter(to, ofCalls, float64(b.Failed), name, "failed")
		gauge(to, ofInFlight, float64(b.InFlight), name)
		gauge(to, preferred, one(i == 0), name)
		for _, s := range states {
			gauge(to, state, one(b.State == s), name, string(s))
		}
		gauge(to, resident, float64(b.Resident), name)
		gauge(to, spaces, float64(b.Spaces), name)
		counter(to, programs, float64(b.Programs), name, "answered")
		counter(to, programs, float64(b.Broken), name, "failed")
		counter(to, deaths, float64(b.Deaths), name)
		counter(to, restarts, float64(b.Restarts), name)
		counter(to, missed, float64(b.Missed), name)
		collectUsage(to, name, b.Usage)
	}
}

// collectUsage sends what a backend counts itself. A plugin may name a stage twice.
func collectUsage(to chan<- prometheus.Metric, name string, u backend.Usage) {
	for i, d := range u.Devices {
		at := strconv.Itoa(i)
		counter(to, busy, d.Busy.Seconds(), name, at)
		counter(to, waited, d.Waited.Seconds(), name, at)
		counter(to, had, float64(d.Calls), name, at)
		gauge(to, multiples, float64(d.Multiples), name, at)
		gauge(to, outOfUse, one(d.Retired != ""), name, at)
	}
	stages := map[string]float64{}
	for _, s := range u.Stages {
		stages[label(s.Name)] += s.Busy.Seconds()
	}
	for stage, seconds := range stages {
		counter(to, stageTime, seconds, name, stage)
	}
	if d := u.Daemon; d != nil {
		gauge(to, ofSessions, float64(d.Sessions), name)
		gauge(to, ofResident, float64(d.Resident), name)
		gauge(to, ofUnheld, float64(d.Unheld), name)
		gauge(to, ofTurns, float64(d.Waiting), name)
		counter(to, ofRecognised, float64(d.Recognised), name)
	}
}
