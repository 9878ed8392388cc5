package bench

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"runtime"
	"sync/atomic"
	"time"

	bls12377 "github.com/consensys/gnark-crypto/ecc/bls12-377"
	kzg377 "github.com/consensys/gnark-crypto/ecc/bls12-377/kzg"
	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	kzg381 "github.com/consensys/gnark-crypto/ecc/bls12-381/kzg"
	"github.com/consensys/gnark-crypto/ecc/bn254"
	kzg254 "github.com/consensys/gnark-crypto/ecc/bn254/kzg"
	bw6761 "github.com/consensys/gnark-crypto/ecc/bw6-761"
	kzg761 "github.com/consensys/gnark-crypto/ecc/bw6-761/kzg"
	"golang.org/x/sync/errgroup"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/curves"
	"github.com/pippin-zk/pippin/internal/layout"
)

// stockPoints returns how long gnark-crypto takes for a step, on all processors; 0 where
// it has no function for it.
func stockPoints(of backend.Element, what string, base, scalars, points, compressed []byte) (time.Duration, error) {
	return [...][2]func(what string, base, scalars, points, compressed []byte) (time.Duration, error){
		backend.BN254: {
			stockOf(bn254.BatchScalarMultiplicationG1, kzg254.ToLagrangeG1, func(r io.Reader) decoder {
				return bn254.NewDecoder(r, bn254.NoSubgroupChecks())
			}),
			stockOf(bn254.BatchScalarMultiplicationG2, nil, func(r io.Reader) decoder { return bn254.NewDecoder(r, bn254.NoSubgroupChecks()) }),
		},
		backend.BLS12377: {
			stockOf(bls12377.BatchScalarMultiplicationG1, kzg377.ToLagrangeG1, func(r io.Reader) decoder {
				return bls12377.NewDecoder(r, bls12377.NoSubgroupChecks())
			}),
			stockOf(bls12377.BatchScalarMultiplicationG2, nil, func(r io.Reader) decoder {
				return bls12377.NewDecoder(r, bls12377.NoSubgroupChecks())
			}),
		},
		backend.BLS12381: {
			stockOf(bls12381.BatchScalarMultiplicationG1, kzg381.ToLagrangeG1, func(r io.Reader) decoder {
				return bls12381.NewDecoder(r, bls12381.NoSubgroupChecks())
			}),
			stockOf(bls12381.BatchScalarMultiplicationG2, nil, func(r io.Reader) decoder {
				return bls12381.NewDecoder(r, bls12381.NoSubgroupChecks())
			}),
		},
		backend.BW6761: {
			stockOf(bw6761.BatchScalarMultiplicationG1, kzg761.ToLagrangeG1, func(r io.Reader) decoder {
				return bw6761.NewDecoder(r, bw6761.NoSubgroupChecks())
			}),
			stockOf(bw6761.BatchScalarMultiplicationG2, nil, func(r io.Reader) decoder { return bw6761.NewDecoder(r, bw6761.NoSubgroupChecks()) }),
		},
	}[of.Curve][of.Group-backend.G1](what, base, scalars, points, compressed)
}

type decoder interface{ Decode(any) error }

func stockOf[P, S any, PP curves.Point[P]](fixed func(*P, []S) []P, lagrange func([]P) ([]P, error),
	decoder func(io.Reader) decoder) func(string, []byte, []byte, []byte, []byte) (time.Duration, error) {
	return func(what string, base, scalars, points, compressed []byte) (time.Duration, error) {
		g, err := layout.View[P](base)
		if err != nil {
			return 0, err
		}
		s, err := layout.View[S](scalars)
		if err != nil {
			return 0, err
		}
		all, err := layout.View[P](points)
		if err != nil {
			return 0, err
		}
		start := time.Now()
		switch {
		case what == FixedBase:
			fixed(&g[0], s)
		case what == Lagrange && lagrange != nil:
			_, err = lagrange(all)
		case what == Subgroup:
			err = inSubgroup[P, PP](all)
		case what == Decompress:
			header := binary.BigEndian.AppendUint32(nil, uint32(len(all)))
			var to []P
			err = decoder(io.MultiReader(bytes.NewReader(header), bytes.NewReader(compressed))).Decode(&to)
		default:
			return 0, nil
		}
		return time.Since(start), err
	}
}

// inSubgroup checks points on all processors.
func inSubgroup[P any, PP curves.Point[P]](all []P) error {
	const part = 256
	var next atomic.Int64
	var g errgroup.Group
	for range runtime.GOMAXPROCS(0) {
		g.Go(func() error {
			for {
				from := int(next.Add(part)) - part
				if from >= len(all) {
					return nil
				}
				for i := range all[from:min(from+part, len(all))] {
					if !PP(&all[from+i]).IsInSubGroup() {
						return fmt.Errorf("%w: point %d by gnark-crypto", ErrWrong, from+i)
					}
				}
			}
		})
	}
	return g.Wait()
}
