package proving

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/bench"
	"github.com/pippin-zk/pippin/cmd/msm/internal/cli"
	"github.com/pippin-zk/pippin/cmd/msm/internal/keys"
	"github.com/pippin-zk/pippin/cmd/msm/internal/outfile"
	"github.com/pippin-zk/pippin/cmd/msm/internal/table"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/units"
)

// keyFlags is the command line of msm key's commands.
type keyFlags struct {
	kind, curve, backend string
	form, out            string
	format               string
}

// checkedKey is what msm key check writes as JSON.
type checkedKey struct {
	File    string `json:"file"`
	Valid   bool   `json:"valid"`
	Problem string `json:"problem,omitempty"`
	*keys.Description
}

// errBadKey ends msm key check when a point is wrong.
var errBadKey = errors.New("not a valid key")

func (a app) keyCommand(c *cobra.Command) {
	var f keyFlags
	c.Long = `Look into files of gnark's keys: Groth16's and PLONK's proving and verifying keys and
KZG's, on every curve. What a file is, and its form, is told from its bytes: compressed
(WriteTo), raw (WriteRawTo) or a dump (WriteDump).`
	c.Example = `  msm key info proving.key
  msm key check proving.key --backend cuda
  msm key convert proving.key --to dump --out proving.dump`
	c.Args = cli.OfTheCommands
	c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	flags := c.PersistentFlags()
	flags.StringVar(&f.kind, "kind", "", "where the bytes do not tell: "+strings.Join(cli.Texts(keys.Kinds()), ", "))
	flags.StringVar(&f.curve, "curve", "", "where the bytes do not tell: "+strings.Join(cli.Texts(backend.Curves()), ", "))
	info := &cobra.Command{
		Use:   "info FILE",
		Short: "Tell what a key file is: kind, curve, form, parts, digest",
		Long: `Tell what a key file is: its kind, curve and form, how many points each part has, and the
SHA-256 of the file. Lengths must fit each other. Points are neither decoded nor checked;
msm key check does that.`,
		Args: oneFile,
		RunE: func(c *cobra.Command, args []string) error { return a.keyInfo(c.Context(), f, args[0]) },
	}
	check := &cobra.Command{
		Use:   "check FILE",
		Short: "Check every point of a key file, on a backend",
		Long: `Check that every point of a key file is on its curve and in the subgroup of order r, on a
backend, and that its parts fit each other. The first point that is not is named with its
part and its index. A key that is valid need not be the one that was made: compare the
SHA-256 too.`,
		Args: oneFile,
		RunE: func(c *cobra.Command, args []string) error { return a.keyCheck(c.Context(), f, args[0]) },
	}
	convert := &cobra.Command{
		Use:   "convert FILE --to FORM --out FILE",
		Short: "Write a key in another form",
		Long: `Read a key file, check it as msm key check does, and write it in another form. A dump is
read the fastest and is for machines of the same kind; gnark has dumps of Groth16's proving
keys and of KZG's. The file appears when it is whole.`,
		Args: oneFile,
		RunE: func(c *cobra.Command, args []string) error { return a.keyConvert(c.Context(), f, args[0]) },
	}
	for _, sub := range []*cobra.Command{check, convert} {
		sub.Flags().StringVar(&f.backend, "backend", "cpu", "cpu, cuda, plugin:NAME, plugin:PATH")
		cli.Completes(sub, "backend", cli.BackendNames)
	}
	for _, sub := range []*cobra.Command{info, check} {
		cli.AddFormat(sub, &f.format, cli.Formats)
	}
	convert.Flags().StringVar(&f.form, "to", "", "form to write: "+strings.Join(cli.Texts(keys.Forms()), ", "))
	convert.Flags().StringVar(&f.out, "out", "", "file to write")
	cli.Completes(convert, "to", keys.Forms())
	cli.Completes(c, "kind", keys.Kinds())
	cli.Completes(c, "curve", backend.Curves())
	c.AddCommand(info, check, convert)
}

// oneFile wants the name of one file.
func oneFile(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return cli.Usage(fmt.Errorf("%d files, one is wanted, see %s --help", len(args), c.CommandPath()))
	}
	return nil
}

// as returns what the flags say of a file. It refuses a format that there is not.
func (f *keyFlags) as() (as keys.As, err error) {
	if err := cli.OneOf("format", f.format, cli.Formats...); err != nil {
		return as, err
	}
	if f.kind != "" {
		if err := cli.OneOf("kind", f.kind, cli.Texts(keys.Kinds())...); err != nil {
			return as, err
		}
		as.Kind = keys.Kind(f.kind)
	}
	if f.curve != "" {
		if as.Curve, err = backend.ParseCurve(f.curve); err != nil {
			return as, cli.Usage(err)
		}
	}
	return as, nil
}

// keyInfo tells what a file is.
func (a app) keyInfo(ctx context.Context, f keyFlags, path string) error {
	as, err := f.as()
	if err != nil {
		return err
	}
	var d *keys.Description
	if err := a.ofKey(ctx, path, "reading", func(ctx context.Context, from io.Reader) (err error) {
		d, err = keys.Describe(ctx, from, as)
		return err
	}); err != nil {
		return err
	}
	text := func(w io.Writer) error { return writeKey(w, path, d) }
	return cli.TableOr(f.format, text, func(w io.Writer) error { return cli.WriteJSON(w, d) })(a.Stdout)
}

// keyCheck checks a file's points.
func (a app) keyCheck(ctx context.Context, f keyFlags, path string) error {
	as, err := f.as()
	if err != nil {
		return err
	}
	_, d, err := a.readKey(ctx, f.backend, path, as)
	invalid := err != nil && errors.Is(err, backend.ErrInvalidInput)
	if err != nil && !invalid {
		return err
	}
	if f.format == "json" {
		checked := checkedKey{File: path, Valid: !invalid, Description: d}
		if invalid {
			checked.Problem = cli.OneLine(err)
		}
		err = errors.Join(cli.WriteJSON(a.Stdout, checked), err)
	} else if !invalid {
		points := 0
		for _, p := range d.Parts {
			points += p.Points
		}
		what := fmt.Sprintf("all %d points are", points)
		if points == 0 {
			what = "all points are" // a verifying key's
		}
		_, err = fmt.Fprintf(a.Stdout, "%s: %s, %s, %s: %s on the curve and in the subgroup of order r\nsha256 %s\n",
			path, d.Kind, d.Curve, d.Form, what, d.SHA256)
	}
	if invalid {
		return fmt.Errorf("%w: %w", errBadKey, err)
	}
	return err
}

// keyConvert writes a key in another form.
func (a app) keyConvert(ctx context.Context, f keyFlags, path string) error {
	as, err := f.as()
	switch {
	case err != nil:
		return err
	case f.form == "":
		return cli.Usage(errors.New("--to says in which form: " + strings.Join(cli.Texts(keys.Forms()), ", ")))
	case f.out == "":
		return cli.Usage(errors.New("--out names the file to write"))
	}
	if err := cli.OneOf("to", f.form, cli.Texts(keys.Forms())...); err != nil {
		return err
	}
	out, err := outfile.Create(ctx, f.out)
	if err != nil {
		return err
	}
	defer out.Close()
	k, d, err := a.readKey(ctx, f.backend, path, as)
	if err != nil {
		return err
	}
	var size outfile.Counter
	if err := out.Write(func(w io.Writer) error {
		return errors.Join(keys.Write(k, keys.Form(f.form), io.MultiWriter(w, &size)), backend.Ended(ctx))
	}); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.Stdout, "%s: %s, %s, from %s (%s) to %s (%s)\n", f.out, d.Kind, d.Curve,
		d.Form, units.FormatBytes(uint64(d.Bytes)), f.form, units.FormatBytes(uint64(size)))
	return err
}

// readKey reads and checks a key on a backend.
func (a app) readKey(ctx context.Context, name, path string, as keys.As) (k keys.Key, d *keys.Description, err error) {
	names, err := cli.ParseBackends(name)
	if err != nil {
		return nil, nil, err
	}
	if len(names) != 1 {
		return nil, nil, cli.Usage(errors.New("--backend is one backend here"))
	}
	err = a.ofKey(ctx, path, "checking", func(ctx context.Context, from io.Reader) (err error) {
		e, err := engine.New(ctx, engine.Config{Backend: names[0], Fallbacks: []string{engine.NoFallback}, Open: a.Opener(), Log: a.Logger()})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, e.Close()) }()
		k, d, err = keys.Read(ctx, e, from, as)
		return err
	})
	return k, d, err
}

// ofKey does something with a key's file, and shows how much of it has been read. An error
// about the key names the file.
func (a app) ofKey(ctx context.Context, path, doing string, do func(context.Context, io.Reader) error) error {
	f, err := os.Open(path)
	if err != nil {
		return cli.Usage(err)
	}
	defer f.Close() // read only
	about, err := f.Stat()
	if err != nil {
		return err
	}
	if about.IsDir() {
		return cli.Usage(fmt.Errorf("%s is a folder, a key's file is wanted", path))
	}
	_, err = cli.Watched(ctx, a.App, func(tell bench.Progress, _ func(string)) ([]struct{}, error) {
		from := &told{from: f, tell: func(read int64) {
			const unit = 1 << 20
			tell(fmt.Sprintf("%s %s", doing, filepath.Base(path)), int(read/unit), int(max(about.Size(), read)/unit)+1)
		}}
		return nil, do(ctx, from)
	})
	if err != nil && errors.Is(err, backend.ErrInvalidInput) {
		return fmt.Errorf("%s: %w", path, err)
	}
	return err
}

// told is a reader that tells how much has been read.
type told struct {
	from io.Reader
	read int64
	tell func(read int64)
}

func (t *told) Read(b []byte) (int, error) {
	n, err := t.from.Read(b)
	t.read += int64(n)
	t.tell(t.read)
	return n, err
}

// writeKey writes what a key's file is.
func writeKey(w io.Writer, path string, d *keys.Description) error {
	fmt.Fprintf(w, "%s: %s, %s, %s, %s\nsha256 %s\n", path, d.Kind, d.Curve, d.Form, units.FormatBytes(uint64(d.Bytes)), d.SHA256)
	if len(d.Parts) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	columns := []table.Column{
		{Head: "part", Keep: table.Never}, {Head: "group", Keep: 0}, {Head: "points", Keep: table.Never}, {Head: "size", Keep: table.Never},
	}
	var rows [][]string
	rest := d.Bytes
	for _, p := range d.Parts {
		rows = append(rows, []string{p.Name, strings.ToUpper(p.Group), fmt.Sprint(p.Points), units.FormatBytes(uint64(p.Bytes))})
		rest -= p.Bytes
	}
	rows = append(rows, []string{"all else", "", "", units.FormatBytes(uint64(rest))})
	return table.Write(w, table.Fit(w), false, columns, rows)
}
