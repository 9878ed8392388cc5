package main

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark/backend"
	"github.com/consensys/gnark/backend/groth16"
	"github.com/consensys/gnark/backend/plonk"
	"github.com/consensys/gnark/backend/witness"
	"github.com/consensys/gnark/constraint"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/r1cs"
	"github.com/consensys/gnark/frontend/cs/scs"
	"github.com/consensys/gnark/test/unsafekzg"
)

func init() {
	cases["keys"], cases["options"], cases["beside"] = keysCase, optionsCase, besideCase
	cases["wrong"], cases["digest"] = wrongCase, digestCase
}

// key and proof are what both systems' keys and proofs have.
type key interface {
	io.ReaderFrom
	io.WriterTo
	WriteRawTo(io.Writer) (int64, error)
}

type proof interface {
	WriteRawTo(io.Writer) (int64, error)
}

// statement is a circuit with keys, in one of both systems.
type statement struct {
	id     ecc.ID
	of     frontend.Circuit
	ccs    constraint.ConstraintSystem
	pk     key
	empty  func() key
	w      witness.Witness
	public witness.Witness
	prove  func(pk key, w witness.Witness, opts ...backend.ProverOption) (proof, error)
	verify func(p proof, opts ...backend.VerifierOption) error
}

// statements makes one in each system, for each of the curves.
func statements(curves ...ecc.ID) (all []*statement, err error) {
	for _, id := range curves {
		for _, set := range []func(*statement) error{groth16Statement, plonkStatement} {
			s, err := newStatement(id, &powers{}, assignment(id.ScalarField()), set)
			if err != nil {
				return nil, err
			}
			all = append(all, s)
		}
	}
	return all, nil
}

// newStatement has set make the keys.
func newStatement(id ecc.ID, circuit, assigned frontend.Circuit, set func(*statement) error) (s *statement, err error) {
	s = &statement{id: id, of: circuit}
	if s.w, err = frontend.NewWitness(assigned, id.ScalarField()); err != nil {
		return nil, err
	}
	if s.public, err = s.w.Public(); err != nil {
		return nil, err
	}
	return s, set(s)
}

func groth16Statement(s *statement) (err error) {
	if s.ccs, err = frontend.Compile(s.id.ScalarField(), r1cs.NewBuilder, s.of); err != nil {
		return err
	}
	pk, vk, err := groth16.Setup(s.ccs)
	if err != nil {
		return err
	}
	s.pk, s.empty = pk, func() key { return groth16.NewProvingKey(s.id) }
	s.prove = func(pk key, w witness.Witness, opts ...backend.ProverOption) (proof, error) {
		return groth16.Prove(s.ccs, pk.(groth16.ProvingKey), w, opts...)
	}
	s.verify = func(p proof, opts ...backend.VerifierOption) error {
		return groth16.Verify(p.(groth16.Proof), vk, s.public, opts...)
	}
	return nil
}

func plonkStatement(s *statement) (err error) {
	if s.ccs, err = frontend.Compile(s.id.ScalarField(), scs.NewBuilder, s.of); err != nil {
		return err
	}
	srs, lagrange, err := unsafekzg.NewSRS(s.ccs)
	if err != nil {
		return err
	}
	pk, vk, err := plonk.Setup(s.ccs, srs, lagrange)
	if err != nil {
		return err
	}
	s.pk, s.empty = pk, func() key { return plonk.NewProvingKey(s.id) }
	s.prove = func(pk key, w witness.Witness, opts ...backend.ProverOption) (proof, error) {
		return plonk.Prove(s.ccs, pk.(plonk.ProvingKey), w, opts...)
	}
	s.verify = func(p proof, opts ...backend.VerifierOption) error {
		return plonk.Verify(p.(plonk.Proof), vk, s.public, opts...)
	}
	return nil
}

// proves proves with a key and verifies.
func (s *statement) proves(pk key) error {
	p, err := s.prove(pk, s.w)
	if err != nil {
		return err
	}
	return s.verify(p)
}

// keysCase reads keys of both forms into empty ones and proves with them. No byte behind a key is read, and a damaged
// key is refused.
func keysCase() error {
	all, err := statements(snarkCurves...)
	if err != nil {
		return err
	}
	for _, s := range all {
		for _, write := range []func(io.Writer) (int64, error){s.pk.WriteTo, s.pk.WriteRawTo} {
			var file bytes.Buffer
			if _, err := write(&file); err != nil {
				return err
			}
			text := bytes.Clone(file.Bytes())
			file.WriteString("behind")
			pk := s.empty()
			n, err := pk.ReadFrom(&file)
			if err != nil {
				return err
			}
			if n != int64(len(text)) || file.String() != "behind" {
				return fmt.Errorf("%w: %v: %d of %d bytes read, left is %q", errWrong, s.id, n, len(text), file.String())
			}
			if err := s.proves(pk); err != nil {
				return err
			}
			if _, err := s.empty().ReadFrom(bytes.NewReader(text[:len(text)-1])); err == nil {
				return fmt.Errorf("%w: %v: a key without its end is read", errWrong, s.id)
			}
			if _, err := s.empty().ReadFrom(bytes.NewReader(text[:20])); err == nil {
				return fmt.Errorf("%w: %v: the beginning of a key is read", errWrong, s.id)
			}
		}
	}
	return nil
}

// optionsCase proves with another hash for commitments.
func optionsCase() error {
	all, err := statements(ecc.BN254)
	if err != nil {
		return err
	}
	for _, s := range all {
		p, err := s.prove(s.pk, s.w, backend.WithProverHashToFieldFunction(sha256.New()))
		if err != nil {
			return err
		}
		if err := s.verify(p, backend.WithVerifierHashToFieldFunction(sha256.New())); err != nil {
			return err
		}
		if s.verify(p) == nil {
			return fmt.Errorf("%w: the hash makes no difference", errWrong)
		}
	}
	return nil
}

// besideCase proves on all curves and in both systems at a time, twice with each key.
func besideCase() error {
	all, err := statements(snarkCurves...)
	if err != nil {
		return err
	}
	errs := make([]error, 2*len(all))
	var done sync.WaitGroup
	for i := range errs {
		done.Add(1)
		go func() {
			defer done.Done()
			s := all[i/2]
			errs[i] = s.proves(s.pk)
		}()
	}
	done.Wait()
	return errors.Join(errs...)
}

// wrongCase has a witness that does not satisfy the circuit be refused.
func wrongCase() error {
	all, err := statements(ecc.BN254)
	if err != nil {
		return err
	}
	for _, s := range all {
		a := assignment(s.id.ScalarField())
		a.Y = 7
		w, err := frontend.NewWitness(a, s.id.ScalarField())
		if err != nil {
			return err
		}
		if p, err := s.prove(s.pk, w); err == nil || p != nil {
			return fmt.Errorf("%w: a proof of a wrong witness, %v", errWrong, err)
		}
	}
	return nil
}

// same is a reader in the place of crypto/rand's, which reads the same bytes in whatever order it is asked. As a
// number they are below each curve's modulus.
type same struct{}

func (same) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 1
	}
	return len(p), nil
}

// digestCase prints a digest of keys and proofs that are made without randomness.
func digestCase() error {
	rand.Reader = same{}
	all, err := statements(snarkCurves...)
	if err != nil {
		return err
	}
	for _, set := range []func(*statement) error{groth16Statement, plonkStatement} {
		s, err := newStatement(ecc.BN254, &gadgets{}, &gadgets{X: 0xc0ffee11, Y: 1}, set)
		if err != nil {
			return err
		}
		all = append(all, s)
	}
	h := sha256.New()
	for _, s := range all {
		p, err := s.prove(s.pk, s.w)
		if err == nil {
			err = s.verify(p)
		}
		if err != nil {
			return err
		}
		for _, write := range []func(io.Writer) (int64, error){s.pk.WriteRawTo, p.WriteRawTo} {
			if _, err := write(h); err != nil {
				return err
			}
		}
	}
	_, err = fmt.Fprintf(os.Stderr, "digest %x\n", h.Sum(nil))
	return err
}
