package proving

import (
	"errors"
	"strconv"
	"strings"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/bench/proofs"
	"github.com/pippin-zk/pippin/cmd/msm/internal/cli"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/internal/circuits"
	"github.com/pippin-zk/pippin/internal/proofsystem"
	"github.com/pippin-zk/pippin/internal/units"
)

// What the help says of flags of several measurements.
const (
	ownSetupHelp = "make keys that are not kept yet on the first backend, in place of by gnark"
	keepHelp     = "read keys from files, and write those that are set up"
)

// statementFlags adds the flags that say which circuits, on which curves.
func statementFlags(s *cli.Settings, w *proofs.Statements) {
	systems := cli.Texts(proofsystem.Systems())
	cli.Value(s, &w.System, "system", string(proofsystem.Groth16), strings.Join(systems, ", "), func(text string) (proofsystem.System, error) {
		return proofsystem.System(text), cli.OneOf("system", text, systems...)
	})
	cli.Completes(s.Command, "system", proofsystem.Systems())
	cli.Choice(s, &w.Circuits, "circuit", "mimc", circuits.Names(), circuits.Parse, "")
	help := cli.Names(backend.Curves()) + " (default bn254, and the only one that recursion has)"
	cli.Value(s, &w.Curves, "curve", "", help, func(text string) ([]backend.Curve, error) {
		if text == "" {
			return nil, nil
		}
		return cli.ParseCurves(text)
	})
	cli.Completes(s.Command, "curve", backend.Curves(), "all")
	s.Flags().IntVar(&w.Hashes, "hashes", 256, "length of the chain of hashes that the circuit mimc is")
	s.Flags().IntVar(&w.Squares, "squares", 1<<16, "constraints of the circuit squares")
}

// keptKeyFlags adds the flags that say where keys come from.
func keptKeyFlags(s *cli.Settings, w *proofs.Statements) {
	s.Flags().BoolVar(&w.OwnSetup, "own-setup", false, ownSetupHelp)
	keep := s.Flags().Bool("keep", true, keepHelp)
	s.Read = append(s.Read, func() error { w.NoKeep = !*keep; return nil })
}

func proofMeasurement() cli.Measurement {
	w := &proofs.Proofs{}
	return cli.Measurement{
		Long: `Time Groth16 or PLONK proofs by gnark's own prover and by pippin's on every backend, with
the same key and witness. Every round has one proof by gnark and one on each
backend, in turns; all of them are verified, outside of the time. Keys are set up when a
circuit is proved for the first time, which can take minutes, and kept in files.`,
		Example: `  msm bench prove --circuit mimc --hashes 100
  msm bench prove --circuit ecdsa,sha256-2k --backend cpu,cuda --format json --out record.json
  msm bench prove --circuit recursion --backend cuda
  msm bench prove --system plonk --circuit ecdsa --backend cpu,cuda
  msm bench prove --circuit squares --squares 16777216 --backend cuda --own-setup --keep=false --stock=false`,
		Of: w, Backends: cli.BackendHelp, Count: "timed proofs, after one to warm up", Cached: true,
		Flags: func(s *cli.Settings) {
			statementFlags(s, &w.Statements)
			keptKeyFlags(s, &w.Statements)
			help := "Groth16's merging of equal bases and scalars: auto (where it pays), never" + cli.Several
			cli.Value(s, &w.Merge, "merge", "auto", help, func(text string) ([]report.Merge, error) {
				return cli.ParseList("merge", text, report.Merges(), report.ParseMerge)
			})
			cli.Completes(s.Command, "merge", report.Merges())
			inFlightFlag(s, &w.InFlight)
			stock := s.Flags().Bool("stock", true, "prove by gnark as well, in the same rounds")
			cold := s.Flags().Bool("cold", false, "")
			_ = s.Flags().MarkHidden("cold")
			s.Read = append(s.Read, func() error {
				if w.NoStock = !*stock; *cold {
					return cli.Usage(errors.New("first proofs, with keys from files, have a command: msm bench cold"))
				}
				return nil
			})
		},
	}
}

// inFlightFlag asks for a stream of proofs.
func inFlightFlag(s *cli.Settings, to *int) {
	s.Flags().IntVar(to, "in-flight", 0, "also a stream of proofs, that many at a time; 0 is none")
}

func traceMeasurement() cli.Measurement {
	w := &proofs.Trace{}
	return cli.Measurement{
		Long: `Time Groth16 or PLONK proofs on every backend, and tell of the one whose time is the median
what the prover, a plugin and its device did when. All requests go through gRPC for that,
and the device times its stages, so that proofs take a little longer than with msm bench
prove. msm bench plot --parts draws the record.`,
		Example: `  msm bench trace --circuit mimc --hashes 100 --backend plugin:cpu
  msm bench trace --circuit sha256-2k --backend cuda --own-setup --count 7 --format json --out parts.json
  msm bench plot --parts --plot parts.svg parts.json`,
		Of: w, Backends: cli.BackendHelp, Count: "timed proofs, after one to warm up", Cached: true,
		Start: func(a *cli.App) { w.Opener = a.OpenerWith },
		Flags: func(s *cli.Settings) {
			statementFlags(s, &w.Statements)
			keptKeyFlags(s, &w.Statements)
		},
	}
}

func setupMeasurement() cli.Measurement {
	w := &proofs.Setup{}
	return cli.Measurement{
		Long: `Time Groth16 or PLONK set-ups by pippin on every backend, from the constraint system to
both keys. With every key gnark makes a proof and verifies it, outside of the time. The
KZG setup that PLONK needs is made once, before the clock starts. No key is kept.`,
		Example: `  msm bench setup --circuit mimc --hashes 100 --stock
  msm bench setup --system plonk --circuit ecdsa --backend cpu,cuda --count 5
  msm bench setup --circuit sha256-2k --backend cuda --stock --format json --out setup.json`,
		Of: w, Backends: cli.BackendHelp, Count: "timed set-ups, after one to warm up",
		Flags: func(s *cli.Settings) {
			statementFlags(s, &w.Statements)
			s.Flags().BoolVar(&w.Stock, "stock", false, "time gnark's own set-up as well, once")
		},
	}
}

func coldMeasurement() cli.Measurement {
	w := &proofs.Cold{}
	return cli.Measurement{
		Long: `Time the first proof on every backend, from opening the file of a compressed proving
key: the key is read and checked on the backend, loaded, and proved with. The bytes of the
file are in the page cache; constraint system and witness are in memory. Every run reads
the key again, and gnark verifies every proof, outside of the time.

With --start there is one run, from this program's start on: it reads the constraint system
from its file and opens the backend too. A run without --start keeps what it needs.`,
		Example: `  msm bench cold --circuit mimc --hashes 100 --stock
  msm bench cold --circuit mimc --hashes 100 --start
  msm bench cold --circuit sha256-2k --backend cuda --own-setup --stock --format json --out cold.json`,
		Of: w, Backends: cli.BackendHelp, Count: "timed first proofs", Cached: true,
		Flags: func(s *cli.Settings) {
			statementFlags(s, &w.Statements)
			keptKeyFlags(s, &w.Statements)
			s.Flags().BoolVar(&w.Stock, "stock", false, "time gnark's own reader and prover as well, once")
			s.Flags().BoolVar(&w.Start, "start", false,
				"once, from this program's start on: one circuit, curve and backend, with a key that is kept")
		},
	}
}

func ceremonyMeasurement() cli.Measurement {
	w := &proofs.Ceremony{}
	return cli.Measurement{
		Long: `Time the parts of a ceremony for Groth16's keys on BN254, phases 1 and 2: contributions, the
way through a file, verifications, seals, and the beginning for a circuit of squares. With
the keys gnark makes a proof and verifies it, outside of the time.`,
		Example: `  msm bench ceremony --size 2^12 --stock
  msm bench ceremony --size 2^20 --backend cuda --count 3 --format json --out FILE`,
		Of: w, Backends: cli.BackendHelp, Count: cli.AfterWarmUp,
		Flags: func(s *cli.Settings) {
			cli.Numbers(s, &w.Sizes, "size", "2^12", "sizes of the domain, powers of two", units.ParseSize)
			s.Flags().BoolVar(&w.Stock, "stock", false, "time gnark's own as well, once")
		},
	}
}

func cellMeasurement() cli.Measurement {
	w := &proofs.Cells{}
	return cli.Measurement{
		Long: `Time the cells and KZG proofs of blobs by EIP-7594 (PeerDAS), a call for all blobs:
blobs, cells and proofs are bytes in this process, tables are loaded before. go-eth-kzg
computes the same once, on all processors, and every answer is compared with its own, as
are recovered blobs and a commitment outside of the time.
The setup is made of a secret that everybody knows.`,
		Example: `  msm bench cells --blobs 1,4 --backend cpu
  msm bench cells --blobs 1,64 --backend cuda --format json --out FILE`,
		Of: w, Backends: cli.BackendHelp, Count: cli.AfterWarmUp, Seed: "chooses the blobs and the secret of the setup",
		Phases: &w.Phases,
		Flags: func(s *cli.Settings) {
			cli.Numbers(s, &w.Blobs, "blobs", "1,64", "blobs of a call", strconv.Atoi)
			s.Flags().BoolVar(&w.Phases, "phases", false, "show what spaces, programs and the steps on a card take")
		},
	}
}

func circomMeasurement() cli.Measurement {
	w := &proofs.Circom{}
	return cli.Measurement{
		Long: `Time proofs of circom's circuits on every backend, from a .wtns in memory to a verified
proof, with a key that is loaded. Circuits are made, with keys of secrets that everybody
knows: as in those of hashes, most wires are bits. Or a key and a witness are files. gnark
verifies every proof again, outside of the time. With --rapidsnark its program prover
proves in turns, with --snarkjs that one: a process each, which reads the key and does not
verify.`,
		Example: `  msm bench circom --constraints 2^12 --backend cpu
  msm bench circom --key circuit.zkey --witness witness.wtns --backend cuda --rapidsnark ./prover`,
		Of: w, Backends: cli.BackendHelp, Count: cli.AfterWarmUp,
		Flags: func(s *cli.Settings) {
			cli.Numbers(s, &w.Constraints, "constraints", "2^14", "of circuits that are made", units.ParseSize)
			cli.Value(s, &w.Curves, "curve", "bn254", "bn254, bls12-381", cli.ParseCurves)
			s.Flags().StringVar(&w.Key, "key", "", "a .zkey file, in the place of circuits that are made")
			s.Flags().StringVar(&w.Witness, "witness", "", "the .wtns file for --key")
			inFlightFlag(s, &w.InFlight)
			s.Flags().StringVar(&w.Rapidsnark, "rapidsnark", "", "path of rapidsnark's program prover")
			s.Flags().StringVar(&w.Snarkjs, "snarkjs", "", "path of snarkjs")
		},
	}
}
