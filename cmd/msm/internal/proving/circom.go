package proving

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/circomwitness"
	"github.com/pippin-zk/pippin/cmd/msm/internal/cli"
	"github.com/pippin-zk/pippin/cmd/msm/internal/outfile"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/units"
	"github.com/pippin-zk/pippin/prover/circom"
)

// circomCommand has what works on files of circom and snarkjs.
func (a app) circomCommand(c *cobra.Command) {
	c.Long = `Prove circuits of circom with Groth16: from snarkjs's proving keys (.zkey) and witnesses
(.wtns), on BN254 and BLS12-381. Arguments and files are those of rapidsnark and snarkjs.`
	c.Example = `  msm circom prove circuit.zkey witness.wtns proof.json public.json --backend cuda
  msm circom verify verification_key.json public.json proof.json
  msm circom info circuit.zkey`
	c.Args = cli.OfTheCommands
	c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	c.AddCommand(a.circomProve(), a.circomVerify(), a.circomInfo(), a.circomVkey(), a.circomCalldata(), a.circomServe())
}

// files wants as many arguments as the command's use names.
func files(n int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != n {
			return cli.Usage(fmt.Errorf("%d files, %d are wanted, see %s --help", len(args), n, c.CommandPath()))
		}
		return nil
	}
}

// proveFlags is the command line of msm circom prove.
type proveFlags struct {
	backend     string
	unchecked   bool
	wasm, input string
}

func (a app) circomProve() *cobra.Command {
	var f proveFlags
	c := &cobra.Command{
		Use:   "prove KEY.zkey [WITNESS.wtns] PROOF.json PUBLIC.json",
		Short: "Prove, with a key and a witness, as rapidsnark's prover does",
		Long: `Prove with snarkjs's proving key and a witness, and write the proof and the public signals
byte for byte as snarkjs does. The proof is verified before it is written, and both files
appear when they are whole. WITNESS may be a pipe, or - for stdin. All is well if the
command says nothing.

With --wasm and --input it calculates the witness, which takes longer than circom's C++
calculator does.`,
		Args: func(c *cobra.Command, args []string) error { return f.check(c, args) },
		RunE: func(c *cobra.Command, args []string) error { return a.proveCircom(c.Context(), f, args) },
	}
	c.Flags().StringVar(&f.wasm, "wasm", "", "the circuit's WebAssembly, in the place of a witness")
	c.Flags().StringVar(&f.input, "input", "", "the circuit's inputs, JSON, for --wasm")
	c.Flags().StringVar(&f.backend, "backend", "cpu", "cpu, cuda, daemon, plugin:NAME, plugin:PATH")
	c.Flags().BoolVar(&f.unchecked, "no-point-checks", false, "trust the key's points, which saves time where it is large")
	cli.Completes(c, "backend", cli.BackendNames)
	return c
}

// check wants four files, or three with the flags that stand for a witness.
func (f *proveFlags) check(c *cobra.Command, args []string) error {
	switch {
	case (f.wasm == "") != (f.input == ""):
		return cli.Usage(errors.New("--wasm and --input go together"))
	case f.wasm != "":
		return files(3)(c, args)
	}
	return files(4)(c, args)
}

// proveCircom writes a proof and its public signals.
func (a app) proveCircom(ctx context.Context, f proveFlags, args []string) error {
	key, last := args[0], len(args)-1
	proof, err := outfile.Create(ctx, args[last-1])
	if err != nil {
		return err
	}
	defer proof.Close()
	public, err := outfile.Create(ctx, args[last])
	if err != nil {
		return err
	}
	defer public.Close()
	w, err := f.witness(ctx, args)
	if err != nil {
		return err
	}
	defer w.Wipe()
	p, err := a.proofWith(ctx, f, key, w)
	if err != nil {
		return err
	}
	return writeProof(p, proof, public)
}

// witness reads the witness, or calculates it; - is stdin.
func (f *proveFlags) witness(ctx context.Context, args []string) (w circom.Witness, err error) {
	switch {
	case f.wasm != "":
		return f.calculate(ctx)
	case args[1] == "-":
		return circom.ReadWitness(os.Stdin)
	}
	return circom.OpenWitness(args[1])
}

// calculate calculates the witness of --input.
func (f *proveFlags) calculate(ctx context.Context) (w circom.Witness, err error) {
	input, err := os.ReadFile(f.input)
	if err != nil {
		return w, err
	}
	defer clear(input)
	circuit, err := openCircuit(ctx, f.wasm)
	if err != nil {
		return w, err
	}
	defer func() { err = errors.Join(err, circuit.Close()) }()
	b, err := circuit.Calculate(ctx, input)
	if err != nil {
		return w, fmt.Errorf("%s: %w", f.input, err)
	}
	return circom.ParseWitness(b)
}

// openCircuit compiles a circuit's WebAssembly.
func openCircuit(ctx context.Context, path string) (*circomwitness.Circuit, error) {
	wasm, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	c, err := circomwitness.Compile(ctx, wasm)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// proofWith opens a backend and proves with it. Where it dies the CPU proves.
func (a app) proofWith(ctx context.Context, f proveFlags, key string, w circom.Witness) (p *circom.Proof, err error) {
	e, err := a.openOne(ctx, f.backend)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	k, err := circom.OpenKey(key, f.keyOptions(ctx, e)...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, k.Close()) }()
	return k.Prove(ctx, w)
}

// keyOptions are those with which keys are opened.
func (f *proveFlags) keyOptions(ctx context.Context, e *engine.Engine) []circom.KeyOption {
	opts := []circom.KeyOption{circom.WithEngine(e), circom.WithContext(ctx)}
	if f.unchecked {
		opts = append(opts, circom.WithoutPointChecks())
	}
	return opts
}

// openOne opens an engine with the one backend that a flag names.
func (a app) openOne(ctx context.Context, flag string) (*engine.Engine, error) {
	return a.openOneWith(ctx, flag, func(c engine.Config) engine.Config { return c })
}

// openOneWith does so with a configuration that was changed.
func (a app) openOneWith(ctx context.Context, flag string, change func(engine.Config) engine.Config) (*engine.Engine, error) {
	names, err := cli.ParseBackends(flag)
	if err != nil {
		return nil, err
	}
	if len(names) != 1 {
		return nil, cli.Usage(errors.New("--backend is one backend here"))
	}
	return engine.New(ctx, change(engine.Config{Backend: names[0], Open: a.Opener(), Log: a.Logger()}))
}

// writeProof writes both files, each as a whole.
func writeProof(p *circom.Proof, proof, public *outfile.File) error {
	for _, part := range []struct {
		to    *outfile.File
		bytes func() ([]byte, error)
	}{{proof, p.JSON}, {public, p.PublicJSON}} {
		b, err := part.bytes()
		if err != nil {
			return err
		}
		if err := part.to.WriteBytes(b); err != nil {
			return err
		}
	}
	return nil
}

func (a app) circomVerify() *cobra.Command {
	return &cobra.Command{
		Use:   "verify VERIFICATION_KEY.json PUBLIC.json PROOF.json",
		Short: "Verify a proof, as snarkjs and rapidsnark's verifier do",
		Long: `Verify a proof of snarkjs, rapidsnark or this program. There must be as many public signals
as the key has: snarkjs takes those that are left out for 0.`,
		Args: files(3),
		RunE: func(_ *cobra.Command, args []string) error {
			vk, err := readVerifyingKey(args[0])
			if err != nil {
				return err
			}
			p, err := readProof(args[2], args[1])
			if err != nil {
				return err
			}
			if err := vk.Verify(p); err != nil {
				return fmt.Errorf("%s: %w", args[2], err)
			}
			_, err = fmt.Fprintf(a.Stdout, "%s: verified, with %d public signals\n", args[2], len(p.Public))
			return err
		},
	}
}

func (a app) circomInfo() *cobra.Command {
	format := ""
	c := &cobra.Command{
		Use:   "info KEY.zkey",
		Short: "Tell what a proving key is of: curve, wires, public signals, domain",
		Long: `Tell what a proving key is of. Only its header and its verifying key are read, however
large it is.`,
		Args: files(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := cli.OneOf("format", format, cli.Formats...); err != nil {
				return err
			}
			d, size, err := describe(args[0])
			if err != nil {
				return err
			}
			curve := strings.ReplaceAll(d.Curve.String(), "_", "-")
			i := keyInfo{args[0], "groth16", curve, d.Wires, d.Public, d.Domain, d.Entries, d.Contributed, size}
			return cli.TableOr(format, i.write, func(w io.Writer) error { return cli.WriteJSON(w, i) })(a.Stdout)
		},
	}
	cli.AddFormat(c, &format, cli.Formats)
	return c
}

// keyInfo is what msm circom info tells.
type keyInfo struct {
	File        string `json:"file"`
	Protocol    string `json:"protocol"`
	Curve       string `json:"curve"`
	Wires       int    `json:"wires"`
	Public      int    `json:"public"`
	Domain      int    `json:"domain"`
	Entries     int    `json:"entries"`
	Contributed bool   `json:"contributed"`
	Bytes       int64  `json:"bytes"`
}

func (i *keyInfo) write(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%s: %s, %s, %s\nwires    %d\npublic   %d\ndomain   %d\nentries  %d\n", i.File, i.Protocol, i.Curve,
		units.FormatBytes(uint64(i.Bytes)), i.Wires, i.Public, i.Domain, i.Entries)
	if err == nil && !i.Contributed {
		_, err = fmt.Fprintln(w, "nobody has contributed to this key: whoever made it can prove what is false")
	}
	return err
}

// describe reads the header of a key.
func describe(path string) (*circom.Description, int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close() // read only
	about, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	if !about.Mode().IsRegular() {
		return nil, 0, fmt.Errorf("%w: %s is no regular file", backend.ErrInvalidInput, path)
	}
	d, err := circom.DescribeKey(f, about.Size())
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", path, err)
	}
	return d, about.Size(), nil
}

func (a app) circomVkey() *cobra.Command {
	return &cobra.Command{
		Use:   "vkey KEY.zkey VERIFICATION_KEY.json",
		Short: "Write the verification key of a proving key, as snarkjs does",
		Args:  files(2),
		RunE: func(c *cobra.Command, args []string) error {
			out, err := outfile.Create(c.Context(), args[1])
			if err != nil {
				return err
			}
			defer out.Close()
			d, _, err := describe(args[0])
			if err != nil {
				return err
			}
			b, err := d.VerifyingKey.JSON()
			if err != nil {
				return err
			}
			return out.WriteBytes(b)
		},
	}
}

func (a app) circomCalldata() *cobra.Command {
	return &cobra.Command{
		Use:   "calldata PUBLIC.json PROOF.json",
		Short: "Print a proof as the arguments of a Solidity verifier, as snarkjs does",
		Args:  files(2),
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := readProof(args[1], args[0])
			if err != nil {
				return err
			}
			s, err := p.Calldata()
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(a.Stdout, s)
			return err
		},
	}
}

// readProof reads a proof and its public signals.
func readProof(proof, public string) (*circom.Proof, error) {
	b, err := os.ReadFile(proof)
	if err != nil {
		return nil, err
	}
	signals, err := os.ReadFile(public)
	if err != nil {
		return nil, err
	}
	p, err := circom.ParseProof(b, signals)
	if err != nil {
		return nil, fmt.Errorf("%s with %s: %w", proof, public, err)
	}
	return p, nil
}

// readVerifyingKey reads a verification key.
func readVerifyingKey(path string) (*circom.VerifyingKey, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	vk, err := circom.ParseVerifyingKey(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return vk, nil
}
