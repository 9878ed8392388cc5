package assignment

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/consensys/gnark/constraint"
	"github.com/pippin-zk/pippin/internal/curves"
	"github.com/rs/zerolog"
)

// prints prints what a circuit prints (api.Println), in the words of gnark's solver.
func prints[S limbs, PS curves.Scalar[S]](sys System[S], wires []S, log zerolog.Logger) {
	if log.GetLevel() == zerolog.Disabled {
		return
	}
	w := &worker[S, PS]{run: &run[S, PS]{sys: sys.System, coefficients: sys.Coefficients, values: wires}}
	defer w.wipe()
	for i := range sys.Logs {
		l := &sys.Logs[i]
		log.Debug().Str(zerolog.CallerFieldName, l.Caller).Msg(w.line(l))
	}
}

// line fills the values into a format. All wires have values.
func (w *worker[S, PS]) line(l *constraint.LogEntry) string {
	var values []any
	for _, sum := range l.ToResolve {
		var zero S
		w.shown = zero
		for _, t := range sum {
			if t.IsConstant() {
				PS(&w.shown).Add(&w.shown, &w.coefficients[t.CoeffID()])
			} else {
				w.times(&w.shown, uint32(t.CoeffID()), &w.values[t.WireID()])
			}
		}
		values = append(values, PS(&w.shown).String())
	}
	if len(l.Stack) > 0 {
		var b strings.Builder
		for _, id := range l.Stack {
			at := w.sys.SymbolTable.Locations[id]
			f := w.sys.SymbolTable.Functions[at.FunctionID]
			b.WriteString(f.Name + "\n\t" + f.Filename + ":" + strconv.Itoa(int(at.Line)) + "\n")
		}
		values = append(values, b.String())
	}
	return fmt.Sprintf(l.Format, values...)
}
