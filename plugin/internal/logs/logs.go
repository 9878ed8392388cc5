package logs

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/time/rate"

	"github.com/pippin-zk/pippin/plugin/internal/text"
)

// levelTrace is hclog's Trace among slog's levels.
const levelTrace = slog.LevelDebug - 4

var levels = []struct {
	h hclog.Level
	s slog.Level
}{
	{hclog.Trace, levelTrace}, {hclog.Debug, slog.LevelDebug}, {hclog.Info, slog.LevelInfo},
	{hclog.Warn, slog.LevelWarn}, {hclog.Error, slog.LevelError},
}

// HC makes the logger that go-plugin wants of one of slog.
func HC(log *slog.Logger) hclog.Logger { return &hclogger{log: log} }

// Lowest returns the lowest of the usual levels that a logger takes.
func Lowest(l *slog.Logger) slog.Level {
	for _, k := range levels {
		if l.Enabled(context.Background(), k.s) {
			return k.s
		}
	}
	return slog.LevelError + 4
}

// hclogger lets go-plugin log to slog.
type hclogger struct {
	log     *slog.Logger
	name    string
	implied []any
}

var _ hclog.Logger = (*hclogger)(nil)

func (h *hclogger) Log(level hclog.Level, msg string, args ...any) {
	for _, l := range levels {
		if l.h == level {
			args = slices.Clone(args)
			for i := range args {
				args[i] = cleanValue(args[i]) // it may be the plugin's
			}
			if h.name != "" {
				args = append([]any{"logger", h.name}, args...)
			}
			h.log.Log(context.Background(), l.s, msg, args...)
		}
	}
}

func (h *hclogger) Trace(msg string, args ...any) { h.Log(hclog.Trace, msg, args...) }
func (h *hclogger) Debug(msg string, args ...any) { h.Log(hclog.Debug, msg, args...) }
func (h *hclogger) Info(msg string, args ...any)  { h.Log(hclog.Info, msg, args...) }
func (h *hclogger) Warn(msg string, args ...any)  { h.Log(hclog.Warn, msg, args...) }
func (h *hclogger) Error(msg string, args ...any) { h.Log(hclog.Error, msg, args...) }

func (h *hclogger) enabled(l slog.Level) bool { return h.log.Enabled(context.Background(), l) }
func (h *hclogger) IsTrace() bool             { return h.enabled(levelTrace) }
func (h *hclogger) IsDebug() bool             { return h.enabled(slog.LevelDebug) }
func (h *hclogger) IsInfo() bool              { return h.enabled(slog.LevelInfo) }
func (h *hclogger) IsWarn() bool              { return h.enabled(slog.LevelWarn) }
func (h *hclogger) IsError() bool             { return h.enabled(slog.LevelError) }

func (h *hclogger) ImpliedArgs() []any { return h.implied }
func (h *hclogger) Name() string       { return h.name }

func (h *hclogger) With(args ...any) hclog.Logger {
	return &hclogger{log: h.log.With(args...), name: h.name, implied: slices.Concat(h.implied, args)}
}

func (h *hclogger) Named(name string) hclog.Logger {
	if h.name != "" {
		name = h.name + "." + name
	}
	return h.ResetNamed(name)
}

func (h *hclogger) ResetNamed(name string) hclog.Logger {
	return &hclogger{log: h.log, name: name, implied: h.implied}
}

// SetLevel does nothing: the level is the slog handler's.
func (h *hclogger) SetLevel(hclog.Level) {}

func (h *hclogger) GetLevel() hclog.Level {
	for _, l := range levels {
		if h.enabled(l.s) {
			return l.h
		}
	}
	return hclog.Off
}

func (h *hclogger) StandardLogger(o *hclog.StandardLoggerOptions) *log.Logger {
	return log.New(h.StandardWriter(o), "", 0)
}

func (h *hclogger) StandardWriter(*hclog.StandardLoggerOptions) io.Writer {
	return &lineWriter{line: func(s string) { h.Info(s) }}
}

// lineWriter cuts what is written into lines.
type lineWriter struct {
	mu   sync.Mutex
	rest []byte
	line func(string)
}

// maxLine bounds a line of a plugin's log; a longer one is cut.
const maxLine = 64 << 10

func (w *lineWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rest = append(w.rest, p...)
	for {
		i := slices.Index(w.rest, '\n')
		if i < 0 && len(w.rest) < maxLine {
			return len(p), nil
		}
		end, next := i, i+1
		if i < 0 || i > maxLine {
			end, next = maxLine, maxLine
		}
		w.line(string(w.rest[:end]))
		w.rest = append(w.rest[:0], w.rest[next:]...)
	}
}

func (w *lineWriter) flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.rest) > 0 {
		w.line(string(w.rest))
		w.rest = nil
	}
}

// Plugin takes what a plugin logs and prints: to the host's log, cleaned
// and no more than the host wants to read, and the last lines are kept for
// error messages.
type Plugin struct {
	log *slog.Logger

	mu       sync.Mutex
	allowed  *rate.Limiter // in bytes
	left     int           // lines left out
	last     []string
	crashing bool
}

// What a plugin may log, in bytes: so much a second, and so much at once.
const (
	Rate  = 128 << 10
	Burst = 1 << 20
)

// keptLines and keptText bound the last words of a plugin.
const (
	keptLines = 12
	keptText  = 2 << 10
)

// NewPlugin makes the log of a plugin that forwards to log.
func NewPlugin(log *slog.Logger) *Plugin {
	return &Plugin{log: log, allowed: rate.NewLimiter(Rate, Burst)}
}

// Read forwards r until it ends.
func (p *Plugin) Read(r io.Reader) {
	w := &lineWriter{line: p.line}
	_, _ = io.Copy(w, bufio.NewReader(r))
	w.flush()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reportLeftLocked()
}

// Stream makes a writer for what a plugin prints to its stdout or stderr.
func (p *Plugin) Stream(name string) io.Writer {
	return &lineWriter{line: func(s string) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.emitLocked(len(s), slog.LevelInfo, text.Line(s, maxLine), slog.String("stream", name))
	}}
}

func (p *Plugin) line(s string) {
	if strings.TrimSpace(s) == "" {
		return
	}
	level, msg, attrs := parseLine(strings.TrimRight(s, "\r"))
	p.mu.Lock()
	defer p.mu.Unlock()
	if strings.HasPrefix(s, "panic: ") || strings.HasPrefix(s, "fatal error: ") {
		// The first lines say why, the goroutines that follow do not.
		p.crashing, p.last = true, nil
	}
	if p.crashing {
		level = slog.LevelError
	}
	switch kept := msg; {
	case p.crashing && len(p.last) >= keptLines, level < slog.LevelInfo:
	default:
		for _, a := range attrs {
			kept += " " + a.String()
		}
		if p.last = append(p.last, kept); len(p.last) > keptLines {
			p.last = p.last[1:]
		}
	}
	p.emitLocked(len(s), level, msg, attrs...)
}

// emitLocked logs a line of size bytes, or leaves it out.
func (p *Plugin) emitLocked(size int, level slog.Level, msg string, attrs ...slog.Attr) {
	if !p.log.Enabled(context.Background(), level) {
		return
	}
	if !p.allowed.AllowN(time.Now(), size) {
		p.left++
		return
	}
	p.reportLeftLocked()
	p.log.LogAttrs(context.Background(), level, msg, attrs...)
}

// reportLeftLocked says how many lines were left out.
func (p *Plugin) reportLeftLocked() {
	if p.left > 0 {
		p.log.Warn("the plugin logs too much; lines were left out", "lines", p.left)
		p.left = 0
	}
}

// Words returns the last lines, or "".
func (p *Plugin) Words() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := strings.Join(p.last, "\n")
	if len(s) > keptText {
		if p.crashing {
			s = s[:keptText]
		} else {
			s = s[len(s)-keptText:]
		}
	}
	return strings.ToValidUTF8(s, "")
}

// cleanValue applies text.Line to whatever a line of a log has.
func cleanValue(v any) any {
	switch v := v.(type) {
	case string:
		return text.Line(v, maxLine)
	case error:
		return text.Line(v.Error(), maxLine)
	case []any:
		for i := range v {
			v[i] = cleanValue(v[i])
		}
	case map[string]any:
		clean := make(map[string]any, len(v))
		for k, x := range v {
			clean[text.Line(k, maxLine)] = cleanValue(x)
		}
		return clean
	}
	return v
}

// parseLine reads a line of hclog's JSON, which Handler writes too, or
// takes the line as it is; both cleaned.
func parseLine(s string) (slog.Level, string, []slog.Attr) {
	var fields map[string]any
	if !strings.HasPrefix(s, "{") || json.Unmarshal([]byte(s), &fields) != nil {
		return slog.LevelInfo, text.Line(s, maxLine), nil
	}
	msg, ok := fields["@message"].(string)
	if !ok {
		return slog.LevelInfo, text.Line(s, maxLine), nil
	}
	level := slog.LevelInfo
	if name, ok := fields["@level"].(string); ok {
		for _, l := range levels {
			if l.h == hclog.LevelFromString(name) {
				level = l.s
			}
		}
	}
	var keys []string
	for k := range fields {
		if !strings.HasPrefix(k, "@") && k != "timestamp" {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	attrs := make([]slog.Attr, 0, len(keys))
	for _, k := range keys {
		attrs = append(attrs, slog.Any(text.Line(k, maxLine), cleanValue(fields[k])))
	}
	return level, text.Line(msg, maxLine), attrs
}

// Handler writes slog's records as the JSON lines that parseLine reads.
func Handler(w io.Writer, level slog.Leveler) slog.Handler {
	return slog.NewJSONHandler(w, &slog.HandlerOptions{
		Level: level,
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) > 0 {
				return a
			}
			switch a.Key {
			case slog.TimeKey:
				a.Key = "@timestamp"
			case slog.MessageKey:
				a.Key = "@message"
			case slog.LevelKey:
				l, _ := a.Value.Any().(slog.Level)
				name := hclog.Trace
				for _, known := range levels {
					if l >= known.s {
						name = known.h
					}
				}
				a = slog.String("@level", fmt.Sprint(name))
			}
			return a
		},
	})
}
