package proving

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/cli"
	"github.com/pippin-zk/pippin/cmd/msm/internal/forecast"
	"github.com/pippin-zk/pippin/cmd/msm/internal/inventory"
	"github.com/pippin-zk/pippin/cmd/msm/internal/planning"
	"github.com/pippin-zk/pippin/cmd/msm/internal/table"
	"github.com/pippin-zk/pippin/internal/cuda/msmplan"
	"github.com/pippin-zk/pippin/internal/proofsystem"
	"github.com/pippin-zk/pippin/internal/units"
	"github.com/pippin-zk/pippin/plugin"
)

// planFlags is the command line of msm plan.
type planFlags struct {
	size, curves, groups string
	key, constraints     string
	system               string
	cards, memory        string
	most                 int
	uniform              bool
	format               string
}

// newPlanCard finds what there is about a card. A table of its own counts where it is
// in use there; there are no times for its plans, for costs of two tables do not compare.
func (a app) newPlanCard(name string, memory int64, here bool) (planning.Card, error) {
	c := planning.Card{Name: name, Memory: memory, Measured: forecast.Find(name)}
	var own *msmplan.Table
	if path := a.TableFile(name); here && path != "" {
		var err error
		if own, err = msmplan.ReadTable(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			a.Note(cli.OneLine(err))
		}
	}
	var err error
	if c.Tuning, err = msmplan.TuningFor(name, "", 0, own); err != nil {
		a.Note(cli.OneLine(err))
		c.Tuning, err = msmplan.TuningFor(name, "", 0, nil)
	}
	if c.Tuning.Own() {
		c.Measured = nil
	}
	return c, err
}

func (a app) planCommand(c *cobra.Command) {
	var f planFlags
	c.Long = `Say how a card would compute MSMs: in how many windows, with how many buckets and
steps, what stays on the card, how much memory that takes there and on the host,
and how long. The plan is the backend's own and needs no card. Times are of uniform
scalars in shared memory, predicted from the records of cards that were measured,
with the largest error against those; a card without records has none.

With --key or --constraints the MSMs are those of a proof, one after the other, all
bases kept. What a prover merges is not taken off, and the time is without solving and
without what is done to vectors. The memory of PLONK's vectors is counted, that of
Groth16's, which is less than its bases', is not.`
	c.Args = cli.NoArguments
	c.RunE = func(c *cobra.Command, _ []string) error { return a.plan(c.Context(), f) }
	flags := c.Flags()
	flags.StringVar(&f.size, "size", "2^20", "points: 1000000, 2^20, 1Mi"+cli.Several)
	flags.StringVar(&f.curves, "curve", "bn254", cli.Names(backend.Curves()))
	flags.StringVar(&f.groups, "group", "g1", cli.Names(backend.Groups()))
	flags.StringVar(&f.key, "key", "", "file of a gnark proving key of --curve, instead of --size and --group")
	flags.StringVar(&f.constraints, "constraints", "",
		"file of a gnark constraint system of --curve, instead of --size and --group: at most so many points")
	flags.StringVar(&f.system, "system", string(proofsystem.Groth16), "of --key and --constraints: groth16, plonk")
	flags.StringVar(&f.cards, "card", "", "measured cards by name, such as h200"+cli.Several+
		" (default those of the backend cuda, without its plugin all that were measured)")
	flags.StringVar(&f.memory, "memory", "", "memory of the card that may be used, such as 24GiB; alone, a card without records")
	flags.IntVar(&f.most, "multiples", 0, "how many multiples of each base may be made beforehand, "+
		"itself included: 1 is none, 0 what the backend chooses")
	flags.BoolVar(&f.uniform, "uniform", false,
		"plan for bases with the hint that scalars look random; the bases of a proof have it where they do")
	cli.AddFormat(c, &f.format, cli.Formats)
	cli.Completes(c, "curve", backend.Curves(), "all")
	cli.Completes(c, "group", backend.Groups(), "all")
	cli.Completes(c, "system", proofsystem.Systems())
	cli.Completes(c, "card", forecast.Names())
	c.MarkFlagFilename("key")
	c.MarkFlagFilename("constraints")
}

func (a app) plan(ctx context.Context, f planFlags) error {
	if err := cli.OneOf("format", f.format, cli.Formats...); err != nil {
		return err
	}
	todo, err := f.work()
	if err != nil {
		return err
	}
	cards, err := a.planCards(ctx, f)
	if err != nil {
		return err
	}
	var all []planning.Plan
	for _, card := range cards {
		on, err := card.Plan(todo, f.most)
		if err != nil {
			return err
		}
		all = append(all, on...)
	}
	if f.format == "json" {
		return cli.WriteJSON(a.Stdout, all)
	}
	return writePlans(a.Stdout, all, todo.Proof)
}

// work returns what is to be planned.
func (f *planFlags) work() (*planning.Work, error) {
	system, err := proofsystem.Parse(f.system)
	if err != nil {
		return nil, cli.Usage(err)
	}
	curves, err := cli.ParseCurves(f.curves)
	if err != nil {
		return nil, err
	}
	if f.key != "" && f.constraints != "" {
		return nil, cli.Usage(errors.New("--key and --constraints exclude each other"))
	}
	if path := f.key + f.constraints; path != "" {
		if len(curves) != 1 {
			return nil, cli.Usage(errors.New("--curve must name the one curve of the file"))
		}
		file, err := os.Open(path)
		if err != nil {
			return nil, cli.Usage(err)
		}
		defer file.Close()
		proof, err := planning.Proof(bufio.NewReaderSize(file, 1<<20), f.key != "", system, curves[0])
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w: is it of --curve %v and --system %s, and written by gnark's WriteTo or WriteRawTo?",
				backend.ErrInvalidInput, path, err, curves[0], system)
		}
		return proof, nil
	}
	groups, err := cli.ParseGroups(f.groups)
	if err != nil {
		return nil, err
	}
	sizes, err := cli.ParseSizes(f.size)
	if err != nil {
		return nil, err
	}
	all := &planning.Work{}
	for _, c := range curves {
		for _, g := range groups {
			for _, n := range sizes {
				m := planning.NewMSM("", c, g, n)
				m.Uniform = f.uniform
				all.MSMs = append(all.MSMs, m)
			}
		}
	}
	return all, nil
}

// planCards returns the cards that were named, or those that are there.
func (a app) planCards(ctx context.Context, f planFlags) (cards []planning.Card, err error) {
	var memory int64
	if f.memory != "" {
		if memory, err = units.ParseBytes(f.memory); err != nil {
			return nil, cli.Usage(fmt.Errorf("--memory: %w", err))
		}
	}
	var known []string
	for _, c := range forecast.Cards() {
		known = append(known, c.Name)
	}
	if f.cards == "" && memory > 0 {
		c, err := a.newPlanCard("a card", memory, false)
		return []planning.Card{c}, err
	}
	if f.cards == "" {
		open, cancel := context.WithTimeout(ctx, inventory.OpenTimeout)
		defer cancel()
		b, err := a.Opener()(open, "cuda")
		var none *plugin.NotFoundError
		if errors.As(err, &none) && len(none.Unusable) == 0 {
			a.Note("there is no plugin for cards; planned for those with records")
			for _, c := range forecast.Cards() {
				card, err := a.newPlanCard(c.Name, int64(c.Memory), false)
				if err != nil {
					return nil, err
				}
				cards = append(cards, card)
			}
			return cards, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%w; name a card with --card (measured: %s), or give --memory", err, strings.Join(known, ", "))
		}
		for _, d := range b.Info().Devices {
			c, err := a.newPlanCard(d.Name, int64(d.Memory), true)
			if err != nil {
				return nil, errors.Join(err, b.Close())
			}
			cards = append(cards, c)
		}
		return cards, b.Close()
	}
	for name := range strings.SplitSeq(f.cards, ",") {
		used := memory
		if c := forecast.Find(name); c != nil {
			name = c.Name
			if used == 0 {
				used = int64(c.Memory)
			}
		}
		if used == 0 {
			return nil, cli.Usage(fmt.Errorf("--card: unknown card %q: there are no records of it (of %s there are); with --memory "+
				"it is planned for, without times", name, strings.Join(known, ", ")))
		}
		c, err := a.newPlanCard(name, used, false)
		if err != nil {
			return nil, err
		}
		cards = append(cards, c)
	}
	return cards, nil
}

// prepared returns the multiples for people.
func prepared(p *planning.Plan) string {
	if p.Rows == 0 {
		return "none"
	}
	return fmt.Sprintf("%d, %s", p.Rows, units.FormatBytes(uint64(p.Multiples)))
}

// planTime returns the forecast for people.
func planTime(p *planning.Plan) string {
	switch {
	case p.Millis == nil && (!p.Resident || p.Tuned):
		return "not measured"
	case p.Millis == nil:
		return "unknown card"
	case p.Outside:
		return fmt.Sprintf("%s ms, beyond records", cli.Digits(*p.Millis))
	}
	return fmt.Sprintf("%s ms ± %.0f %%", cli.Digits(*p.Millis), 100*p.Within)
}

func writePlans(w io.Writer, all []planning.Plan, proof bool) error {
	columns := []table.Column{
		{Head: "card", Keep: 4}, {Head: "of", Keep: table.Never}, {Head: "points", Keep: table.Never},
		{Head: "windows", Keep: 1}, {Head: "buckets", Keep: 0},
		{Head: "steps", Keep: 0}, {Head: "bases", Keep: 3}, {Head: "multiples", Keep: 3}, {Head: "work", Keep: 3},
		{Head: "host", Keep: 2}, {Head: "time", Keep: table.Never},
	}
	size := func(n int64) string { return units.FormatBytes(uint64(n)) }
	var rows [][]string
	for _, p := range all {
		of := p.Curve + " " + p.Group
		if p.What != "" {
			of = p.What
		}
		bases := size(p.Bases)
		if !p.Resident {
			bases += ", streamed"
		}
		rows = append(rows, []string{p.Card, of, units.FormatSize(p.Points),
			fmt.Sprintf("%d of %d bits", p.Windows, p.Window), fmt.Sprint(p.Buckets),
			fmt.Sprint(p.Steps), bases, prepared(&p), size(p.Work), size(p.Host), planTime(&p)})
	}
	if err := table.Write(w, table.Fit(w), false, columns, rows); err != nil {
		return err
	}
	if err := writeTunings(w, all); err != nil || !proof {
		return err
	}
	return writeSums(w, all)
}

// writeTunings says where the plans of each card come from.
func writeTunings(w io.Writer, all []planning.Plan) error {
	said := map[string]bool{}
	for _, p := range all {
		if said[p.Card] {
			continue
		}
		said[p.Card] = true
		if _, err := fmt.Fprintf(w, "\n%s: %s\n", p.Card, p.Tuning); err != nil {
			return err
		}
	}
	return nil
}

// writeSums says what all MSMs of a proof take together, for each card.
func writeSums(w io.Writer, all []planning.Plan) error {
	size := func(n int64) string { return units.FormatBytes(uint64(n)) }
	for _, s := range planning.Sums(all) {
		time := "no time for all of them"
		if s.Known {
			time = fmt.Sprintf("%s ms ± %.0f %% for the MSMs one after the other", cli.Digits(s.Millis), 100*s.Within)
		}
		if _, err := fmt.Fprintf(w, "\n%s: %s of bases, %s of multiples and %s of work on the card, %s on the host, %s\n", s.Card,
			size(s.Bases), size(s.Multiples), size(s.Work), size(s.Host), time); err != nil {
			return err
		}
		if s.KeyVectors > 0 {
			if _, err := fmt.Fprintf(w, "vectors on the card: %s that stay with the key, %s for each proof in flight\n",
				size(s.KeyVectors), size(s.ProofVectors)); err != nil {
				return err
			}
		}
	}
	return nil
}
