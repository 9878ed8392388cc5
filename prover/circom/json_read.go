package circom

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/consensys/gnark-crypto/ecc"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/curves"
)

// ParseProof reads a proof and its public signals: proof.json and public.json, as snarkjs or
// rapidsnark write them. null is rapidsnark's public.json of a circuit without public signals.
//
// Both functions here are strict. Each name is there once and none is unknown, numbers are
// decimal and below their modulus, points are in their groups, and nothing stands behind the end.
// A file that names no curve is on BN254, the only one of rapidsnark.
// What is not so is backend.ErrInvalidInput, and the error names the place.
func ParseProof(proof, public []byte) (*Proof, error) {
	var f proofFile
	if err := parseObject("proof", proof, []field{
		{"pi_a", &f.A, needed}, {"pi_b", &f.B, needed}, {"pi_c", &f.C, needed}, {"protocol", &f.Protocol, needed}, {"curve", &f.Curve, optional},
	}); err != nil {
		return nil, err
	}
	r, err := newNumbers("proof", f.Protocol, f.Curve)
	if err != nil {
		return nil, err
	}
	p := &Proof{Curve: r.id(), A: r.g1("pi_a", f.A), B: r.g2("pi_b", f.B), C: r.g1("pi_c", f.C)}
	if r.err != nil {
		return nil, r.err
	}
	p.Public, err = parsePublic(public, r.curve)
	return p, err
}

// parsePublic reads a public.json.
func parsePublic(b []byte, c backend.Curve) ([]*big.Int, error) {
	var signals []string
	d := json.NewDecoder(bytes.NewReader(b))
	if err := d.Decode(&signals); err != nil {
		return nil, refuse("public signals: %w", err)
	}
	if err := atEnd(d); err != nil {
		return nil, refuse("public signals: %w", err)
	}
	public := make([]*big.Int, len(signals))
	for i, s := range signals {
		v, err := parseNumber(s, c.ScalarField(), "r")
		if err != nil {
			return nil, refuse("public signal %d: %w", i, err)
		}
		public[i] = v
	}
	return public, nil
}

// ParseVerifyingKey reads a verification_key.json of snarkjs. vk_alphabeta_12, which the other
// values determine, may be missing and is not compared with them.
func ParseVerifyingKey(b []byte) (*VerifyingKey, error) {
	var f keyFile
	public := json.Number("")
	if err := parseObject("verification key", b, []field{
		{"protocol", &f.Protocol, needed}, {"curve", &f.Curve, optional}, {"nPublic", &public, needed},
		{"vk_alpha_1", &f.Alpha, needed}, {"vk_beta_2", &f.Beta, needed}, {"vk_gamma_2", &f.Gamma, needed}, {"vk_delta_2", &f.Delta, needed},
		{"vk_alphabeta_12", &f.AlphaBeta, optional}, {"IC", &f.IC, needed},
	}); err != nil {
		return nil, err
	}
	r, err := newNumbers("verification key", f.Protocol, f.Curve)
	if err != nil {
		return nil, err
	}
	vk := &VerifyingKey{
		Curve: r.id(), Alpha: r.g1("vk_alpha_1", f.Alpha),
		Beta: r.g2("vk_beta_2", f.Beta), Gamma: r.g2("vk_gamma_2", f.Gamma), Delta: r.g2("vk_delta_2", f.Delta),
	}
	for i, p := range f.IC {
		vk.IC = append(vk.IC, r.g1(fmt.Sprintf("IC[%d]", i), p))
	}
	if r.err == nil && public.String() != fmt.Sprint(len(vk.IC)-1) {
		r.refuse("nPublic", fmt.Errorf("%s, but IC has %d points: one more than public signals are wanted", public, len(vk.IC)))
	}
	return vk, r.err
}

// field is a value of an object, and where it goes.
type field struct {
	name string
	to   any
	need need
}

type need bool

const (
	needed   need = true
	optional need = false
)

// parseObject reads an object of these fields. Package json alone would take a name twice, in
// other letters, and one that it does not know.
func parseObject(what string, b []byte, fields []field) error {
	d := json.NewDecoder(bytes.NewReader(b))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return refuse("%s: no JSON object", what)
	}
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return refuse("%s: %w", what, err)
		}
		name, _ := t.(string) // the decoder refuses other keys
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
		switch {
		case i < 0:
			return refuse("%s: %q is no part of it", what, name)
		case seen[name]:
			return refuse("%s: %s is there twice", what, name)
		}
		seen[name] = true
		if err := d.Decode(fields[i].to); err != nil {
			return refuse("%s: %s: %w", what, name, err)
		}
	}
	if _, err := d.Token(); err != nil {
		return refuse("%s: %w", what, err)
	}
	for _, f := range fields {
		if f.need == needed && !seen[f.name] {
			return refuse("%s: %s is missing", what, f.name)
		}
	}
	if err := atEnd(d); err != nil {
		return refuse("%s: %w", what, err)
	}
	return nil
}

// atEnd returns an error if anything but white space follows.
func atEnd(d *json.Decoder) error {
	if d.More() {
		return fmt.Errorf("something stands behind its end")
	}
	return nil
}

// jsonReader reads the numbers of one file. The first that is wrong is its error.
type jsonReader struct {
	what  string
	curve backend.Curve
	q     *big.Int
	err   error
}

func newNumbers(what, proto, curve string) (*jsonReader, error) {
	if proto != protocol {
		return nil, fmt.Errorf("%w: %s: protocol %q, this is for %s", backend.ErrUnsupported, what, proto, protocol)
	}
	if curve == "" {
		curve = nameOf(backend.BN254)
	}
	c, ok := curveNamed(curve)
	if !ok {
		return nil, fmt.Errorf("%w: %s: curve %q, this is for bn128 and bls12381", backend.ErrUnsupported, what, curve)
	}
	return &jsonReader{what: what, curve: c, q: c.BaseField()}, nil
}

// curveNamed returns the curve of a name, of which snarkjs takes as many.
func curveNamed(name string) (backend.Curve, bool) {
	switch strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(name)) {
	case "bn128", "bn254", "altbn128":
		return backend.BN254, true
	case "bls12381":
		return backend.BLS12381, true
	}
	return 0, false
}

func (r *jsonReader) id() ecc.ID { return curves.ID(r.curve) }

func (r *jsonReader) refuse(place string, err error) {
	if r.err == nil {
		r.err = refuse("%s: %s: %w", r.what, place, err)
	}
}

// number reads a coordinate.
func (r *jsonReader) number(place, s string) *big.Int {
	v, err := parseNumber(s, r.q, "q")
	if err != nil {
		r.refuse(place, err)
	}
	return v
}

// g1 reads a point of G1.
func (r *jsonReader) g1(place string, v []string) (p G1) {
	switch {
	case slices.Equal(v, G1{X: new(big.Int), Y: new(big.Int)}.texts()):
		return G1{X: new(big.Int), Y: new(big.Int)}
	case len(v) != 3 || v[2] != "1":
		r.refuse(place, fmt.Errorf("no point [x, y, \"1\"]"))
		return p
	}
	p = G1{X: r.number(place+"[0]", v[0]), Y: r.number(place+"[1]", v[1])}
	if r.err != nil {
		return p
	}
	if _, err := groupBytes(r.curve, backend.G1, p.coordinates()); err != nil {
		r.refuse(place, err)
	}
	return p
}

// g2 reads a point of G2.
func (r *jsonReader) g2(place string, v [][]string) (p G2) {
	zero := func() [2]*big.Int { return [2]*big.Int{new(big.Int), new(big.Int)} }
	switch {
	case slices.EqualFunc(v, G2{X: zero(), Y: zero()}.texts(), slices.Equal):
		return G2{X: zero(), Y: zero()}
	case len(v) != 3 || len(v[0]) != 2 || len(v[1]) != 2 || !slices.Equal(v[2], []string{"1", "0"}):
		r.refuse(place, fmt.Errorf("no point [[x0, x1], [y0, y1], [\"1\", \"0\"]]"))
		return p
	}
	for i := range 2 {
		p.X[i] = r.number(fmt.Sprintf("%s[0][%d]", place, i), v[0][i])
		p.Y[i] = r.number(fmt.Sprintf("%s[1][%d]", place, i), v[1][i])
	}
	if r.err != nil {
		return p
	}
	if _, err := groupBytes(r.curve, backend.G2, p.coordinates()); err != nil {
		r.refuse(place, err)
	}
	return p
}

// parseNumber reads a decimal number below a modulus, as a JSON writer would have it: without a
// sign or leading zeros. Long texts are refused before they are read.
func parseNumber(s string, modulus *big.Int, name string) (*big.Int, error) {
	digits := s != "" && !strings.ContainsFunc(s, func(c rune) bool { return c < '0' || c > '9' })
	if !digits || len(s) > 1 && s[0] == '0' {
		return nil, fmt.Errorf("%.40q is no decimal number", s)
	}
	if len(s) > len(modulus.String()) {
		return nil, fmt.Errorf("not below %s", name)
	}
	v, _ := new(big.Int).SetString(s, 10)
	if v.Cmp(modulus) >= 0 {
		return nil, fmt.Errorf("not below %s", name)
	}
	return v, nil
}
